"""What the page of a study shows, as data: one look at its log, and what can be said of it. Templates make it HTML."""

import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from surest.core.procedure import Running
from surest.core.protocol import Answer, Point
from surest.report.page import Report, arm_cells, state
from surest.report.pictures import has_begun
from surest.result.data import Result
from surest.result.differences import leads_of
from surest.result.questions import question
from surest.result.words import verdict
from surest.search.cells import further
from surest.server.events import is_idle
from surest.server.pages.render import clipped
from surest.study.following import later_arms
from surest.study.log import StoredTicket, times_told
from surest.study.outcome import Progress, last_failures_of, progress_of
from surest.study.study import Study
from surest.text import at_most, percent

MOST_REPLAYED = 20_000  # rewards up to which evidence over time is taken from a replay when a study is first looked at
MOST_POINTS = 400  # points of a curve: more cannot be seen
KEPT = 200  # studies whose curves are kept
LOOKS = 40  # points of a curve that is taken from the cells of a list


class Curves:
    """Evidence over time of the studies that were looked at: replayed once, from then on a point at each look."""

    def __init__(self) -> None:
        self._points: dict[int, list[Point]] = {}
        self._lock = threading.Lock()

    def seen(self, study: Study, told: int, now: Point | None) -> tuple[Point, ...]:
        """The points up to now."""
        with self._lock:
            points = self._points.get(study.id)
        if points is None:
            earlier = replayed(study) if told <= MOST_REPLAYED else ()
            with self._lock:
                points = self._points.setdefault(study.id, list(earlier))
                if len(self._points) > KEPT:
                    del self._points[next(iter(self._points))]
        with self._lock:
            if now is not None and (not points or now.pulls > points[-1].pulls):
                points.append(now)
            if len(points) > MOST_POINTS:
                points[:] = [*points[:-1:2], points[-1]]
            return tuple(points)


def replayed(study: Study) -> tuple[Point, ...]:
    """Evidence over time from the log: by a study of its own, so that nobody waits for it."""
    own = Study(study.store, study.name)
    return _on_items(own) if own.items else own.result(history=True).history


def _on_items(study: Study) -> tuple[Point, ...]:
    """Evidence as the cells of a list came."""
    with study.store.reading() as log:
        arms = log.read_arms(study.id)
        told = [ticket for ticket in log.read_tickets(study.id) if ticket.reward is not None]
    session = study.settings.session([arm.label for arm in arms if arm.added_at == 0])
    for at, labels in later_arms(arms).items():
        session.grow(labels, at)
    points: list[Point] = []
    step = max(len(told) // LOOKS, 1)
    for number, ticket in enumerate(told, 1):
        session.tell_cell(ticket.arm, ticket.item or 0, ticket.reward or 0.0)
        point = point_of(session.running) if number % step == 0 else None
        if point is not None and (not points or point.pulls > points[-1].pulls):
            points.append(point)
    return tuple(points)


def point_of(running: Running[Answer]) -> Point | None:
    """The evidence now, where the algorithm tells it."""
    status = running.status
    if status is None or status.evidence is None or status.threshold is None:
        return None
    return Point(running.pulls, status.evidence, status.threshold)


RECENT = 500  # tickets of the end of a log from which a page tells who works and what came last
LAST = 12  # rows of the log, and items of a list, on the page of a study; all of them are on pages of their own
PAGE = 100  # rows on a page of the log or of the table of cells


class WorkerRow(NamedTuple):
    """Who works: tickets in hand, rewards told lately, and when the last one came."""

    name: str
    out: int
    told: int
    last: float | None


class ArmLine(NamedTuple):
    """A row of the table of arms."""

    cells: list[str]
    chosen: bool
    lead: str  # bounds of the lead over it, or of its lead over the control, where they are known


class CellTable(NamedTuple):
    """Items down, arms across."""

    arms: list[str]
    rows: list[tuple[str, list[str]]]
    items: int  # items with a cell
    total: int


@dataclass(frozen=True)
class StudyLine:
    """A study in the list of all."""

    name: str
    note: str
    question: str
    state: str
    kind: str  # running, paused, decided or ended: what a filter asks for
    verdict: str
    leads: str
    level: str  # the error level so far against the one that was asked for
    share: float | None  # how much of the evidence that a decision needs is there
    told: int
    last: float | None
    arms: Sequence[str]


@dataclass(frozen=True)
class Seen:
    """A study at one moment."""

    study: Study
    progress: Progress
    report: Report
    paused: bool
    now: float
    out: list[StoredTicket]
    recent: list[StoredTicket]
    workers: list[WorkerRow]
    idle: bool  # whether no reward came lately


def look(study: Study, curves: Curves) -> Seen:
    """Look at a study.

    Examples
    --------
    >>> import surest
    >>> study = surest.open_study("memory:doc", "demo", ["a", "b"], 0.1)
    >>> look(study, Curves()).progress.told
    0
    """
    with study.at_one_moment(check=False) as (log, follower, facts):
        progress = progress_of(study, log, follower.look(log), facts)
        out = log.read_tickets(study.id, open_by=math.inf)
        recent = log.read_tickets(study.id, max(facts.tickets - RECENT, 0))
        idle, said = is_idle(log, study.id, facts), last_failures_of(log, study.id, study.labels)
    point = None if progress.finished and progress.told > MOST_REPLAYED else point_of(study.running)
    history = curves.seen(study, progress.told, point)
    result = replace(named(progress.result, study), history=history, health=progress.health)
    result = further(result) if progress.told <= MOST_REPLAYED else result
    return Seen(
        study=study, progress=replace(progress, result=result), report=Report(result, study.name, last_failures=said),
        paused=facts.paused, now=facts.now, out=out, recent=recent[::-1][:LAST],
        workers=workers_of(recent, [ticket for ticket in out if ticket.lease > facts.now]), idle=idle,
    )  # fmt: skip


def named(result: Result, study: Study) -> Result:
    """A result whose items have their keys."""
    if result.listed is None:
        return result
    return replace(result, listed=replace(result.listed, items=tuple(item.key for item in study.items)))


def workers_of(rows: Sequence[StoredTicket], held: Sequence[StoredTicket]) -> list[WorkerRow]:
    """Who told rewards lately or has tickets in hand, the last heard of first."""
    names = {row.worker for row in rows if row.told is not None} | {ticket.worker for ticket in held}
    found = []
    for name in names:
        told = [row.told for row in rows if row.worker == name and row.told is not None]
        out = sum(ticket.worker == name for ticket in held)
        found.append(WorkerRow(name, out, len(told), max(told, default=None)))
    return sorted(found, key=lambda worker: (-(worker.last or math.inf), worker.name))


def line_of(study: Study) -> StudyLine:
    """A study in the list of all."""
    with study.at_one_moment(check=False) as (log, follower, facts):
        progress = progress_of(study, log, follower.look(log), facts)
        last, paused = max(times_told(log, study.id, facts, 20), default=None), facts.paused
    result = named(progress.result, study)
    problem = result.problem
    level, share = level_of(result)
    return StudyLine(
        name=study.name, note=problem.note, question=question(problem), state=state_words(progress, paused),
        kind=state_kind(progress, paused), verdict=verdict(result), leads=leaders(result, progress.in_play),
        level=level, share=share, told=progress.told, last=last, arms=study.labels,
    )  # fmt: skip


def state_kind(progress: Progress, paused: bool) -> str:
    """What a filter asks for."""
    if progress.finished:
        return "decided" if progress.result.certified else "ended"
    return "paused" if paused else "running"


def state_words(progress: Progress, paused: bool) -> str:
    """The state of a study in a word or two."""
    if progress.finished:
        return state(progress.result)
    return "Paused" if paused else "Running"


def leaders(result: Result, in_play: int | None) -> str:
    """Who leads, or who may still be the answer."""
    if not has_begun(result):
        return "–"
    chosen = ", ".join(clipped(label) for label in result.chosen[:5]) or "none"
    more = f" and {len(result.chosen) - 5:,} more" if len(result.chosen) > 5 else ""
    if result.certified or not in_play or in_play <= len(result.chosen):
        return chosen + more
    return f"{chosen}{more} ({in_play:,} of {len(result.labels):,} in play)"


def level_of(result: Result) -> tuple[str, float | None]:
    """The confidence so far against that which was asked for, in words, and as a share of the evidence that is needed.

    Where something is asked of each arm: how many have a verdict.
    """
    if result.certified:
        return percent(1 - result.delta), 1.0
    if result.problem.question.each_arm:
        known, arms = arms_with_verdict(result)
        return f"{known:,} of {arms:,} arms have a verdict", known / max(arms, 1)
    level, wanted = result.achieved_delta if has_begun(result) else 1.0, percent(1 - result.delta)
    if level == 1.0:
        return f"nothing yet, {wanted} wanted", 0.0
    if level is None:
        return "not told before the end", None
    share = 1.0 if level <= 0 else min(max(math.log(level) / math.log(result.delta), 0.0), 1.0)
    return f"{percent(1 - float(at_most(level)) if level > 0 else 1)} so far, {wanted} wanted", share


def arms_with_verdict(result: Result) -> tuple[int, int]:
    """Arms that have a verdict, of those that get one: the control itself gets none."""
    return sum(map(bool, result.verdicts or ())), result.problem.question.judged(len(result.labels))


def arm_lines(report: Report) -> tuple[list[str], list[ArmLine], int]:
    """The table of arms with differences: its head, its rows, and how many arms are left out."""
    head, rows, rest = arm_cells(report)
    result, arms, leads = report.result, report.result.arms, leads_of(report.result)
    ends = {row.arm: f"{arms.number(row.low)} – {arms.number(row.high)}" for row in (leads.rows if leads else ())}
    begun = has_begun(result)
    lines = [ArmLine(cells, begun and place in result.indices, ends.get(place, "")) for place, cells in rows]
    return head, lines, rest


def cell_table(result: Result, *, page: int | None = None) -> CellTable | None:
    """The cells seen so far; without a page, those of the items that came last."""
    if result.listed is None:
        return None
    listed, arms = result.listed, result.arms
    shown = arms.leading(20)
    seen = list(dict.fromkeys(listed.places.tolist()[::-1]))
    chosen = seen[:LAST] if page is None else sorted(seen)[(page - 1) * PAGE : page * PAGE]
    wanted = set(chosen)
    values = {
        (arm, place): value
        for arm, place, value in zip(listed.arms.tolist(), listed.places.tolist(), listed.values.tolist(), strict=True)
        if place in wanted
    }
    rows = [
        (str(listed.items[place]), [f"{values[i, place]:g}" if (i, place) in values else "" for i in shown])
        for place in chosen
    ]
    return CellTable([str(arms.rows[i].label) for i in shown], rows, len(seen), len(listed.items))


def log_page(study: Study, page: int, show: str) -> tuple[list[Any], int]:
    """A page of the log, the newest tickets or events first, and how many pages there are."""
    with study.store.reading() as log:
        facts = study.facts(log)
        total = sum(one.times for one in log.count_events(study.id)) if show == "events" else facts.tickets
        end = max(total - (page - 1) * PAGE, 0)
        read: Callable[[int, int, int], list[Any]] = log.read_events if show == "events" else log.read_tickets
        rows = read(study.id, max(end - PAGE, 0), end)
    return rows[::-1], pages_for(total)


def pages_for(rows: int) -> int:
    """How many pages so many rows take: at least one.

    >>> pages_for(0), pages_for(100), pages_for(101)
    (1, 1, 2)
    """
    return max(math.ceil(rows / PAGE), 1)

"""What pages show of a study, as data: one look at its log, and what can be said of it. Templates make it HTML."""

import json
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from markupsafe import Markup

from surest.core.protocol import Point, Status
from surest.report.page import Report, arm_cells, health, state, summary
from surest.report.pictures import pictures_of
from surest.result.data import Result
from surest.result.leads import leads_of
from surest.result.questions import question
from surest.result.words import has_begun, verdict
from surest.search.cells import further
from surest.server.pages.files import again
from surest.server.pages.render import TEMPLATES, clipped
from surest.server.studies import Served
from surest.study.log import StoredTicket
from surest.study.outcome import Progress, last_failures_of, progress_of
from surest.study.study import Study
from surest.text import at_most, percent, visible

MOST_REPLAYED = 20_000  # rewards up to which evidence over time is taken from a replay when a study is first looked at
MOST_POINTS = 400  # points of a curve: more cannot be seen
RECENT = 500  # tickets of the end of a log from which a page tells who works and what came last
LAST = 12  # rows of the log, and items of a list, on the page of a study; all of them are on pages of their own
PAGE = 100  # rows on a page of the log or of the table of cells
PARTS = ("verdict", "facts", "pictures", "arms", "cells", "work")  # of a study's page, as the template has them


# The page of a study


def evidence_of(served: Served, study: Study, progress: Progress, status: Status | None) -> tuple[Point, ...]:
    """Evidence over time of a study that was looked at: replayed once, from then on a point at each look."""
    seen, points = served.evidence or (None, ())
    if seen != study.id:
        points = again(study).result(history=True).history if progress.told <= MOST_REPLAYED else ()
    pulls = progress.result.pulls
    is_new = not points or pulls > points[-1].pulls
    if is_new and status is not None and status.evidence is not None and status.threshold is not None:
        points = (*points, Point(pulls, status.evidence, status.threshold))
    if len(points) > MOST_POINTS:
        points = (*points[:-1:2], points[-1])
    served.evidence = study.id, points
    return points


@dataclass(frozen=True)
class Shown:
    """The page of a study at one moment: its parts, by id, and what is said of the study in a sentence."""

    study: Study
    progress: Progress
    parts: dict[str, Markup]
    says: str  # short, and changed only when something happened: a screen reader speaks it
    title: str

    def event(self) -> str:
        """As a server-sent event."""
        data = {"parts": self.parts, "says": self.says, "title": self.title, "told": self.progress.told}
        return f"event: parts\ndata: {json.dumps(data)}\n\n"


def shown(study: Study, served: Served, path: str, may_work: bool) -> Shown:
    """Look at a study, and make all parts of its page that may change."""
    with study.at_one_moment(check=False) as (log, follower, facts):
        progress = progress_of(study, log, follower.look(log), facts)
        is_long = progress.told > MOST_REPLAYED
        status = None if progress.finished and is_long else follower.catch_up(log).running.status
        out = log.read_tickets(study.id, open_by=math.inf)
        recent = log.read_tickets(study.id, max(facts.tickets - RECENT, 0))
        failures = last_failures_of(log, study.id, study.labels) if progress.health else {}
    history = evidence_of(served, study, progress, status)
    result = replace(progress.result, history=history, health=progress.health)
    result = result if is_long or result.listed is None else further(result)
    progress = replace(progress, result=result)
    says, said = state_words(progress, facts.paused), verdict(result)
    report = Report(replace(result, forecast=None), study.name, last_failures=failures)  # which is among the facts
    values: dict[str, Any] = {
        "study": study,
        "result": result,
        "progress": progress,
        "path": path,
        "may_work": may_work,
        "paused": facts.paused,
        "now": facts.now,
        "tickets": out,
        "recent": recent[::-1][:LAST],
        "workers": workers_of(recent, [ticket for ticket in out if ticket.lease > facts.now]),
        "state": says if result.certified else f"Not decided: {says[:1].lower()}{says[1:]}",
        "says": said.replace(f"Not decided ({result.reason}). ", ""),
        "summary": summary(report),
        "sure": level_of(result),
        "drawn": pictures_of(result, live=True) if has_begun(result) else None,
        **arm_lines(report),
        "table": None if result.listed is None else cell_table(study, result),
        "paged": False,
        "health": health(report),
    }
    template: Any = TEMPLATES.get_template("parts.html").make_module(values)
    parts = {f"part-{name}": getattr(template, name)() for name in PARTS}
    short = said if progress.finished else in_short(result)
    return Shown(study, progress, parts, f"{says}. {short}", f"{visible(study.name)}: {says} – surest")


def in_short(result: Result) -> str:
    """What of the answer so far changes seldom."""
    if not has_begun(result):
        return "Nothing has been counted yet."
    if result.problem.question.each_arm:
        return f"Arms with a verdict: {' of '.join(map(str, arms_with_verdict(result)))}."
    return f"{leaders(result, None)} {'leads' if len(result.chosen) == 1 else 'lead'}."


def workers_of(rows: Sequence[StoredTicket], held: Sequence[StoredTicket]) -> list[tuple[str, int, int, float | None]]:
    """Who told rewards lately or has tickets in hand, the last heard of first: tickets, rewards, and when the last one came."""
    out, told = Counter(ticket.worker for ticket in held), defaultdict[str, list[float]](list)
    for row in rows:
        if row.told is not None:
            told[row.worker].append(row.told)
    found = [(name, out[name], len(told[name]), max(told[name], default=None)) for name in {*out, *told}]
    return sorted(found, key=lambda worker: (-(worker[-1] or math.inf), worker[0]))


def level_of(result: Result) -> tuple[str, float | None]:
    """The confidence so far against that which was asked for, in words, and as a share of the evidence that is needed.

    Where something is asked of each arm: how many have a verdict.
    """
    delta, level = result.problem.delta, result.achieved_delta
    wanted = percent(1 - delta)
    if result.certified:
        return wanted, 1.0
    if has_begun(result) and result.problem.question.each_arm:
        known, arms = arms_with_verdict(result)
        return f"{known:,} of {arms:,} arms have a verdict", known / max(arms, 1)
    if level == 1.0 or not has_begun(result):
        return f"nothing yet, {wanted} wanted", 0.0
    if level is None:
        return "not told before the end", None
    share = 1.0 if level <= 0 else min(max(math.log(level) / math.log(delta), 0.0), 1.0)
    return f"{percent(1 - float(at_most(level)) if level > 0 else 1)} so far, {wanted} wanted", share


def arms_with_verdict(result: Result) -> tuple[int, int]:
    """Arms that have a verdict, of those that get one: the control itself gets none."""
    return sum(map(bool, result.verdicts or ())), result.problem.question.judged(len(result.labels))


def arm_lines(report: Report) -> dict[str, Any]:
    """The table of arms: its head, its rows, how many arms are left out; of each row whether it is chosen, and its lead.

    That is the bounds of the lead over it, or of its lead over the control, where they are known.
    """
    head, rows, rest = arm_cells(report)
    result, arms = report.result, report.result.arms
    leads = leads_of(result) if result.certified or result.listed is not None else None
    ends = {row.arm: f"{arms.number(row.low)} – {arms.number(row.high)}" for row in (leads.rows if leads else ())}
    chosen = result.indices if has_begun(result) else ()
    lines = [(cells, place in chosen, ends.get(place, "")) for place, cells in rows]
    return {"head": head, "lines": lines, "rest": rest, "has_leads": leads is not None}


def cell_table(study: Study, result: Result, page: int | None = None) -> dict[str, Any] | None:
    """The cells seen so far, items down and arms across; without a page, those of the items that came last."""
    if result.listed is None:
        return None
    listed, arms = result.listed, result.arms
    columns = arms.leading(20)
    seen = list(dict.fromkeys(listed.places.tolist()[::-1]))
    chosen = seen[:LAST] if page is None else sorted(seen)[(page - 1) * PAGE : page * PAGE]
    wanted = set(chosen)
    values = {(arm, place): f"{value:g}" for arm, place, value in listed.cells if place in wanted}
    rows = [(study.items[place].key, [values.get((arm, place), "") for arm in columns]) for place in chosen]
    labels, pages = [str(arms.rows[arm].label) for arm in columns], math.ceil(len(seen) / PAGE)
    return {"arms": labels, "rows": rows, "seen": len(seen), "total": len(study.items), "pages": pages}


# The list of all studies


def line_of(study: Study) -> dict[str, Any]:
    """A study in the list of all."""
    with study.at_one_moment(check=False) as (log, follower, facts):
        progress = progress_of(study, log, follower.look(log), facts)
    result, ended = progress.result, "decided" if progress.result.certified else "ended"
    return {
        "name": study.name,
        "note": result.problem.note,
        "question": question(result.problem),
        "state": state_words(progress, facts.paused),
        "kind": ended if progress.finished else "paused" if facts.paused else "running",  # what a filter asks for
        "leads": leaders(result, progress.in_play),
        "sure": level_of(result),
        "told": progress.told,
        "last": progress.last,
        "arms": study.labels,
    }


def state_words(progress: Progress, paused: bool) -> str:
    """The state of a study in a word or two."""
    return state(progress.result) if progress.finished else "Paused" if paused else "Running"


def leaders(result: Result, in_play: int | None) -> str:
    """Who leads, or who may still be the answer."""
    if not has_begun(result):
        return "–"
    chosen = ", ".join(clipped(label) for label in result.chosen[:5]) or "none"
    more = f" and {len(result.chosen) - 5:,} more" if len(result.chosen) > 5 else ""
    if result.certified or not in_play or in_play <= len(result.chosen):
        return chosen + more
    return f"{chosen}{more} ({in_play:,} of {len(result.labels):,} in play)"


# The log


def log_page(study: Study, page: int, show: str) -> tuple[list[Any], int]:
    """A page of the log, the newest tickets or events first, and how many pages there are."""
    with study.store.reading() as log:
        facts = study.facts(log)
        total = sum(one.times for one in log.count_events(study.id)) if show == "events" else facts.tickets
        end = max(total - (page - 1) * PAGE, 0)
        read: Callable[[int, int, int], list[Any]] = log.read_events if show == "events" else log.read_tickets
        rows = read(study.id, max(end - PAGE, 0), end)
    return rows[::-1], math.ceil(total / PAGE)

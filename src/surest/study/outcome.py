"""How a study stands and what came of it: its progress, health and result, and when its arms came."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from surest.result.data import EvaluationEvent, Result
from surest.study.log import NO_FAILURES, Facts, Log
from surest.study.study import Health, Study, health_of

if TYPE_CHECKING:
    from surest.study.following import Look


def events_of(study: Study, log: Log | None = None) -> tuple[EvaluationEvent, ...]:
    """What was retried, imputed or failed, one by one, and of which reward of its arm; on a list of items, with the item."""
    if log is None:
        with study.store.reading() as log:
            return events_of(study, log)
    events = list(log.read_events(study.id))
    tickets = log.read_tickets(study.id) if events else []
    places, of_arm = list[int](), Counter[int]()
    for ticket in tickets:
        places.append(of_arm[ticket.arm])
        of_arm[ticket.arm] += 1
    return tuple((event.kind, places[event.ticket], event.arm, tickets[event.ticket].item) for event in events)


RECENT = 200  # rewards from which the speed is taken
MOST_OUT = 1000  # open tickets behind which the last rewards are looked for
IDLE_SECONDS = 60.0  # without a reward, after which a study is idle


@dataclass(frozen=True)
class Progress:
    """A study at one moment."""

    name: str
    finished: bool
    result: "Result"  # the verdict, or the answer so far
    told: int  # rewards told, those of the current request included
    out: int  # tickets with workers
    waiting: int  # tickets to be handed out again: failed, or their lease ran out
    request_left: int  # rewards that the current request still lacks
    per_second: float | None  # rewards a second, lately
    in_play: int | None  # how many arms may still be the best, where the algorithm says so
    health: Health
    last: float | None = None  # when the last of the recent rewards came …
    idle: bool = False  # … and whether that was long ago

    @property
    def not_needed(self) -> int:
        """Rewards that were told ahead, and did not count when the search ended."""
        return self.told - self.result.pulls if self.finished and self.result.problem.items is None else 0

    @property
    def seconds_left(self) -> float | None:
        """A guess at the time still needed, where the algorithm makes one."""
        if self.result.forecast is None or not self.per_second:
            return None
        return self.result.forecast / self.per_second

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        measured = "told", "not_needed", "out", "waiting", "request_left", "per_second", "in_play", "seconds_left"
        own = {name: getattr(self, name) for name in ("name", "finished", *measured)}
        return {**own, **self.result.to_dict(), "health": self.health}


def last_failures_of(log: Log, study: int, labels: Sequence[str]) -> dict[str, str]:
    """What an evaluation of each arm said when it last failed, where one did and said something."""
    failed = (one for one in log.count_events(study) if one.kind not in NO_FAILURES and one.reason)
    return {labels[one.arm]: one.reason for one in failed if one.arm < len(labels)}


def progress_of(study: Study, log: Log, look: "Look", facts: Facts) -> Progress:
    """How a study stands, and what is out."""
    times = times_told(log, study.id, facts, RECENT)
    last = max(times, default=None)
    spread = max(times) - min(times) if len(times) > 1 else 0.0
    unneeded = look.finished and look.result.problem.items is None  # of fresh pulls still out, nobody needs the rewards
    return Progress(
        name=study.name,
        finished=look.finished,
        result=look.result,
        told=look.result.evaluations,
        out=0 if unneeded else facts.open - facts.expired,
        waiting=0 if unneeded else facts.expired,
        request_left=look.left,
        per_second=(len(times) - 1) / spread if spread > 0 else None,
        in_play=look.in_play,
        health=health_of(log, study.id, study.labels),
        last=last,
        idle=(last or 0.0) < facts.now - IDLE_SECONDS,
    )


def times_told(log: Log, study: int, facts: Facts, most: int) -> list[float]:
    """When the rewards of about the last so many tickets came."""
    first = facts.tickets - most - min(facts.open, MOST_OUT)
    return [ticket.told for ticket in log.read_tickets(study, max(first, 0)) if ticket.told is not None]


class Addition(NamedTuple):
    """Arms that came together, while a request was under way: after so many rewards, and before so many."""

    labels: tuple[str, ...]
    after: int
    before: int


def additions_of(study: Study) -> list[Addition]:
    """The arms of the beginning, and those of each addition, in order."""
    with study.store.reading() as log:
        study.facts(log)
        arms = log.read_arms(study.id)
        firsts = [request.first for request in log.read_requests(study.id)]
    moments = sorted({arm.added_at for arm in arms})
    after = {at: max((first for first in firsts if first < at), default=0) for at in moments}
    return [Addition(tuple(arm.label for arm in arms if arm.added_at == at), after[at], at) for at in moments]

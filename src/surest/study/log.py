"""What a store of studies must do: `Store` opens transactions, `Log` is what can be done in one.

A study's façade knows nothing else of where studies are kept. `surest.testing.check_store` tries a store of your own against
all of it; `examples/memory_store.py` is a short one, `study.sql` the one that lasts.

A transaction is all or nothing, and a writing one is durable once it has ended without an error. Two writing transactions that
have locked the same study, or read the same tickets, run one after the other. A reading one sees one moment of the store.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Annotated, NamedTuple, Protocol

import msgspec
import numpy as np

from surest.core.protocol import IntArray, Pull, Statistic
from surest.errors import StorageError

NO_FAILURES = ("expired", "interrupted", "retried", "imputed")
"""Kinds of events that are not failures of an evaluation. Failures are failed or timed out, or what a worker calls them."""


Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
ArmNumber = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
Text = Annotated[str, msgspec.Meta(min_length=1, max_length=500, pattern="^[^\\x00]*$")]
Said = Annotated[str, msgspec.Meta(pattern="^[^\\x00]*$")]
"""What an export may say; the types of rows are checked where one is read."""


class StoredStudy(msgspec.Struct, frozen=True):
    """A study as the store knows it."""

    id: int
    name: str
    settings: str


class Arm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An arm, and from which ticket on the algorithm knows it; on a list of items, how many items had a cell then."""

    label: Text
    added_at: Count


class Item(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An item of a study on a list: what people call it, and what its evaluations need to know (JSON), if anything."""

    key: Text
    payload: Said | None = None


class Recorded(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A request as the log has it."""

    first: Count
    total: Count
    statistic: Annotated[str, msgspec.Meta(pattern=f"^({'|'.join(Statistic)})$")]
    runs: str  # arms and times, as `arms_of` reads them

    @property
    def end(self) -> int:
        """The first ticket of the next request."""
        return self.first + self.total


class StoredTicket(msgspec.Struct, frozen=True):
    """A ticket of the log. Its reward is None while it is open: leased until `lease`, and free to be handed out after that."""

    number: int
    arm: int
    item: int | None = None
    reward: float | None = None
    lease: float = 0.0
    attempts: int = 1
    failures: int = 0
    worker: str = ""
    told: float | None = None  # when its reward came
    cost: float | None = None  # what its evaluation cost, where that was measured


class Facts(NamedTuple):
    """A study at one moment."""

    now: float  # the time by the one clock that all workers share, in seconds since 1970
    paused: bool  # whether no tickets are handed out
    arms: int
    tickets: int  # how many were handed out: the first number that was not
    open: int  # tickets without a reward …
    expired: int  # … and those of them whose lease has run out


def plain_text(text: str) -> str:
    """A text that every database and every service takes: without NUL and halves of surrogate pairs.

    >>> plain_text("caf\\udce9")
    'caf?'
    """
    return text.replace("\x00", "\N{REPLACEMENT CHARACTER}").encode(errors="replace").decode()


class Event(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What happened to a ticket."""

    ticket: Count
    arm: ArmNumber
    kind: Said
    reason: Said
    worker: Said
    at: float

    def storable(self) -> "Event":
        """With a reason that every database takes."""
        return msgspec.structs.replace(self, reason=plain_text(self.reason))


class Counted(NamedTuple):
    """How often something happened to tickets of an arm, and the last reason that was given, if any was."""

    arm: int
    kind: str
    times: int
    reason: str


class Log(Protocol):
    """One transaction. `study` is always the number that `add_study` gave."""

    def study_names(self) -> list[str]:
        """All studies, sorted."""

    def find_study(self, name: str) -> StoredStudy | None:
        """A study by its name."""

    def add_study(self, name: str, settings: str, labels: Sequence[str], items: Sequence[Item] = ()) -> int | None:
        """Write a new study with the arms of its beginning; its number, or None if there is one of that name."""

    def delete_study(self, name: str) -> bool:
        """Take a study and all that belongs to it away; False if there is none."""

    def study_facts(self, study: int, *, lock: bool = False) -> Facts | None:
        """The study now; None if it is gone. With `lock`, nobody else can lock it until the transaction ends."""

    def set_paused(self, study: int, paused: bool) -> None:
        """Stop handing out tickets, or go on."""

    def add_arms(self, study: int, labels: Sequence[str], first: int, added_at: int) -> None:
        """Write arms, numbered from `first` on, which count from ticket `added_at` on."""

    def read_arms(self, study: int) -> list[Arm]:
        """All arms, in order."""

    def read_items(self, study: int) -> list[Item]:
        """All items, in order; none where the study has no list."""

    def write_request(self, study: int, request: Recorded) -> None:
        """Write down what the algorithm asks."""

    def read_requests(self, study: int, first: int | None = 0) -> list[Recorded]:
        """The requests from a ticket on, in order; with None the last one alone, if there is one."""

    def read_tickets(
        self, study: int, first: int = 0, end: int | None = None, *, among: Sequence[int] | None = None,
        open_by: float | None = None, most: int | None = None, hold: bool = False,
    ) -> list[StoredTicket]:  # fmt: skip
        """The tickets first … end − 1, or those `among` some numbers that there are, in order, every reward checked.

        `open_by` leaves only those without a reward whose lease ends by then. With `hold` nobody else changes them until the
        transaction ends; with `open_by` as well, those that others hold are left out. Damage is a `StorageError`.
        """

    def add_tickets(self, study: int, tickets: Sequence[StoredTicket]) -> None:
        """Write new tickets. No two of a study have the same arm and item, if it has items."""

    def lease_tickets(self, study: int, numbers: Sequence[int], until: float, worker: str | None = None) -> None:
        """Let the leases of open tickets end at another time; 0 lets them be handed out at once.

        A `worker` has them from now on: each has one attempt more.
        """

    def write_rewards(self, study: int, told: Sequence[StoredTicket]) -> None:
        """Write the rewards, costs and workers of tickets that were read with `hold`, and when they came: now."""

    def write_events(self, study: int, events: Sequence[Event]) -> None:
        """Write down what happened to tickets. Each that is none of `NO_FAILURES` is one more failure of its ticket."""

    def read_events(self, study: int, first: int = 0, end: int | None = None) -> list[Event]:
        """The events first … end − 1, or all from `first` on, in order; counted from 0."""

    def count_events(self, study: int) -> list[Counted]:
        """What happened to tickets by arm and kind, in the order of the last reasons."""


class Store(Protocol):
    """Where studies are kept."""

    @property
    def shown(self) -> str:
        """What people may see of its address: no password."""

    @property
    def one_machine(self) -> bool:
        """Whether all its workers run on this machine, so that it can be seen which of them are gone."""

    def prepare(self, *, create: bool) -> None:
        """Make it ready; with `create`, from nothing if need be. A `UsageError` if it holds no studies and may not be made."""

    def reading(self) -> AbstractContextManager[Log]:
        """A transaction that only reads."""

    def writing(self) -> AbstractContextManager[Log]:
        """A transaction that writes."""

    def check(self, log: Log) -> None:
        """Look for damage, before all of the log is read: a `StorageError` says what was found."""

    def close(self) -> None:
        """Let go of what is open. It opens again when it is needed."""


# --- how requests and rows are written down, whatever the store ---


MOST_ARMS = 10**7
_ARM = Annotated[int, msgspec.Meta(ge=0, lt=MOST_ARMS)]
_TIMES = Annotated[int, msgspec.Meta(ge=1, le=2**63 - 1)]


def runs_of(request: Pull) -> str:
    """What a request pulls, as text: runs of neighbouring arms with the same number of pulls.

    >>> from surest.core.protocol import Statistic
    >>> runs_of(Pull([0, 1, 2, 7], [5, 5, 5, 1], Statistic.MEAN))
    '[[0,2,5],[7,7,1]]'
    """
    runs: list[list[int]] = []
    for arm, times in zip(request.arms.tolist(), request.times.tolist(), strict=True):
        if runs and runs[-1][1] == arm - 1 and runs[-1][2] == times:
            runs[-1][1] = arm
        else:
            runs.append([arm, arm, times])
    return msgspec.json.encode(runs).decode()


def triples_of(runs: str, arms: int = MOST_ARMS) -> list[tuple[int, int, int]]:
    """The runs that `runs_of` wrote: first arm, last arm, pulls of each; refused where no request on so many `arms` has them."""
    try:
        found = msgspec.json.decode(runs, type=list[tuple[_ARM, _ARM, _TIMES]])
    except (msgspec.MsgspecError, RecursionError):
        found = []
    named = sum(last - first + 1 for first, last, _ in found)
    wrong = any(last < first or last >= arms for first, last, _ in found) or not 1 <= named <= arms
    if wrong or sum((last - first + 1) * times for first, last, times in found) >= 2**63:
        raise StorageError(f"the study's log is damaged: {runs!r:.60} are no runs of {arms:,} arms")
    return found


@lru_cache(maxsize=4)  # every ticket of a request needs them
def arms_of(runs: str, arms: int = MOST_ARMS) -> tuple[IntArray, IntArray]:
    """The arms and times that `runs_of` wrote. Not to be written to."""
    triples = np.array(triples_of(runs, arms), dtype=np.int64)
    lengths = triples[:, 1] - triples[:, 0] + 1
    within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    which, times = np.repeat(triples[:, 0], lengths) + within, np.repeat(triples[:, 2], lengths)
    which.flags.writeable = times.flags.writeable = False
    return which, times


def arms_from(which: IntArray, times: IntArray, first: int, end: int) -> IntArray:
    """The arms of the tickets first … end − 1 of a request, which may have far more."""
    ends = np.cumsum(times)
    places = np.arange(first, min(end, int(ends[-1])))
    return which[np.searchsorted(ends, places, side="right")]


# --- what several need of a log ---
def free_places(log: Log, study: int, number: int, most: int) -> list[StoredTicket] | None:
    """The next tickets of the last request, of which `number` is the first; None if all of it is handed out."""
    requests = log.read_requests(study, None)
    if not requests or number >= requests[0].end:
        return None
    at = number - requests[0].first
    chosen = arms_from(*arms_of(requests[0].runs), at, min(at + most, requests[0].total))
    return [StoredTicket(*pair) for pair in enumerate(chosen.tolist(), number)]

"""What a store of studies must do: `Store` opens transactions, `Log` is what can be done in one.

A study's façade knows nothing else of where studies are kept. `surest.testing.check_store` tries a store of your own against
all of it; `study.memory` is the shortest one there is, `study.sql` the one that lasts.

A transaction is all or nothing, and a writing one is durable once it has ended without an error. Two writing transactions that
have locked the same study, or read the same tickets, run one after the other. A reading one sees one moment of the store.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

import msgspec
import numpy as np

from surest.core.protocol import FloatArray, IntArray
from surest.study.records import arms_of

NOBODY: Mapping[int, str] = {}
NO_FAILURES = ("expired", "interrupted", "retried", "imputed")
"""Kinds of events that are not failures of an evaluation. Failures are failed or timed out, or what a worker calls them."""


class StoredStudy(msgspec.Struct, frozen=True):
    """A study as the store knows it."""

    id: int
    name: str
    settings: str


class Arm(msgspec.Struct, frozen=True):
    """An arm, and from which ticket on the algorithm knows it; on a list of items, how many items had a cell then."""

    label: str
    added_at: int


class Item(NamedTuple):
    """An item of a study on a list: what people call it, and what its evaluations need to know (JSON), if anything."""

    key: str
    payload: str | None = None


class Recorded(msgspec.Struct, frozen=True):
    """A request as the log has it."""

    first: int
    total: int
    statistic: str
    runs: str

    @property
    def end(self) -> int:
        """The first ticket of the next request."""
        return self.first + self.total


class Lease(msgspec.Struct, frozen=True):
    """Who takes tickets of a study, and when."""

    study: int
    worker: str
    at: float


class Place(NamedTuple):
    """A ticket's number, and what is to be evaluated."""

    number: int
    arm: int
    item: int | None = None


class StoredTicket(msgspec.Struct, frozen=True):
    """A ticket. Its reward is None while it is open: leased until `lease`, and free to be handed out again after that."""

    number: int
    arm: int
    item: int | None
    reward: float | None
    lease: float
    attempts: int
    failures: int
    worker: str


class History(NamedTuple):
    """A ticket as exports have it."""

    arm: int
    reward: float | None
    attempts: int
    worker: str
    told: float | None
    failures: int
    item: int | None


class Event(NamedTuple):
    """What happened to a ticket."""

    ticket: int
    arm: int
    kind: str
    reason: str
    worker: str
    at: float


class Told(NamedTuple):
    """Told tickets in the order of their numbers, as columns."""

    numbers: IntArray
    arms: IntArray
    items: IntArray
    rewards: FloatArray


class Log(Protocol):
    """One transaction. `study` is always the number that `add_study` gave."""

    def time(self) -> float:
        """The time by the one clock that all workers share, in seconds since 1970."""

    def study_names(self) -> list[str]:
        """All studies, sorted."""

    def find_study(self, name: str) -> StoredStudy | None:
        """A study by its name."""

    def add_study(self, name: str, settings: str, labels: Sequence[str], items: Sequence[Item] = ()) -> int | None:
        """Write a new study with the arms of its beginning; its number, or None if there is one of that name."""

    def delete_study(self, name: str) -> bool:
        """Take a study and all that belongs to it away; False if there is none."""

    def lock_study(self, study: int) -> bool:
        """Keep others from locking it until the transaction ends; False if it is gone."""

    def has_study(self, study: int) -> bool:
        """Whether it is still there."""

    def is_paused(self, study: int) -> bool:
        """Whether no tickets are handed out."""

    def set_paused(self, study: int, paused: bool) -> None:
        """Stop handing out tickets, or go on."""

    def add_arms(self, study: int, labels: Sequence[str], first: int, added_at: int) -> None:
        """Write arms, numbered from `first` on, which count from ticket `added_at` on."""

    def read_arms(self, study: int) -> list[Arm]:
        """All arms, in order."""

    def count_arms(self, study: int) -> int:
        """How many arms there are."""

    def read_items(self, study: int) -> list[Item]:
        """All items, in order; none where the study has no list."""

    def write_request(self, study: int, request: Recorded) -> None:
        """Write down what the algorithm asks."""

    def last_request(self, study: int) -> Recorded | None:
        """The request that is being handed out."""

    def read_requests(self, study: int, first: int = 0) -> list[Recorded]:
        """The requests from a ticket on, in order."""

    def next_ticket(self, study: int) -> int:
        """The first number that was never handed out."""

    def count_open(self, study: int, before: float | None = None) -> int:
        """How many tickets have no reward; with `before`, of those whose lease ran out by then."""

    def open_tickets(self, study: int) -> list[StoredTicket]:
        """The tickets without a reward, in order."""

    def read_tickets(self, study: int, numbers: Sequence[int]) -> dict[int, StoredTicket]:
        """Those tickets that there are, by number. Nobody else changes them until the transaction ends."""

    def lease_fresh(self, lease: Lease, places: Sequence[Place], until: float) -> None:
        """Hand out new tickets. No two tickets of a study have the same arm and item, if it has items."""

    def expired(self, lease: Lease, most: int) -> list[StoredTicket]:
        """Open tickets whose lease has run out, in order and held as `read_tickets` holds them; what others hold is left out."""

    def lease_again(self, lease: Lease, numbers: Sequence[int], until: float) -> None:
        """Hand out open tickets once more: each has one attempt more."""

    def set_leases(self, study: int, numbers: Sequence[int], until: float) -> None:
        """Let the leases of open tickets end at another time; 0 lets them be handed out at once."""

    def count_failure(self, study: int, number: int) -> None:
        """A ticket's evaluation failed once more."""

    def write_rewards(self, study: int, fresh: Mapping[int, float], late: Mapping[int, str] = NOBODY) -> None:
        """Write the rewards of tickets that `read_tickets` has read, and when they came: now.

        `late` names who told those that another worker has now: from then on the ticket is theirs.
        """

    def read_rewards(self, study: int, first: int, end: int) -> tuple[IntArray, FloatArray]:
        """The arms and rewards of the tickets first … end − 1. Damage, or a missing one, is a `StorageError`."""

    def read_told(self, study: int, first: int = 0, among: Sequence[int] = ()) -> Told:
        """The told tickets from `first` on, and those `among` earlier ones."""

    def write_pack(self, study: int, first: int, rewards: FloatArray) -> None:
        """Keep the rewards of consecutive told tickets once more, in a form that is quickly read."""

    def read_packs(self, study: int, first: int) -> FloatArray:
        """The packed rewards from ticket `first` on, without a gap, as far as they go."""

    def packed_to(self, study: int) -> int:
        """The first ticket after the last pack."""

    def read_snapshot(self, study: int, key: str) -> str | None:
        """The text that was kept last, if it was kept under this key; a store may keep none."""

    def write_snapshot(self, study: int, key: str, data: str) -> None:
        """Keep a text under a key, in place of the last one."""

    def told_times(self, study: int, most: int) -> list[float]:
        """When the rewards of the last tickets came."""

    def write_event(self, lease: Lease, number: int, arm: int, kind: str, reason: str) -> None:
        """Write down what happened to a ticket."""

    def count_events(self, study: int) -> list[tuple[int, str, int]]:
        """Arm, kind, and how often; sorted."""

    def last_reasons(self, study: int) -> dict[int, str]:
        """What the last failure of each arm said, where it said something."""

    def read_history(self, study: int, first: int = 0) -> Iterator[Sequence[History]]:
        """The tickets from a number on, in order, a portion at a time, every reward checked."""

    def read_events(self, study: int) -> list[Event]:
        """All events in order."""

    def write_history(self, study: int, tickets: Sequence[History], events: Sequence[Event]) -> None:
        """Put the tickets and events of an export into a new study. Leases have run out."""


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

    def writing(self, *, wait: bool = True) -> AbstractContextManager[Log]:
        """A transaction that writes. Without `wait` it need not begin: a `StorageError` says that others are writing."""

    def check(self, log: Log) -> None:
        """Look for damage, before all of the log is read: a `StorageError` says what was found."""

    def close(self) -> None:
        """Let go of what is open. It opens again when it is needed."""


def free_places(log: Log, study: int, most: int) -> list[Place] | None:
    """The next tickets of the last request; None if all of it is handed out."""
    request, number = log.last_request(study), log.next_ticket(study)
    if request is None or number >= request.end:
        return None
    which, times = arms_of(request.runs)
    places = np.arange(number - request.first, min(number - request.first + most, request.total))
    chosen = which[np.searchsorted(np.cumsum(times), places, side="right")]
    return [Place(*pair) for pair in zip((places + request.first).tolist(), chosen.tolist(), strict=True)]


def answered_to(log: Log, study: int) -> int:
    """The first ticket after the last request up to which every reward has been told."""
    last, reached = log.last_request(study), told_to(log, study)
    if last is None:
        return 0
    if reached >= last.first:
        return last.end if reached >= last.end else last.first
    recent = log.read_requests(study, log.packed_to(study))  # later ones were announced, and may have rewards
    return max(request.first for request in recent if request.first <= reached)


def told_to(log: Log, study: int) -> int:
    """The first ticket that has no reward, handed out or not."""
    handed = log.next_ticket(study)  # first: a ticket that is handed out in between is not taken for told
    opened = log.open_tickets(study)
    return min(handed, opened[0].number) if opened else handed


def rewards_left(log: Log, study: int, position: int, total: int) -> int:
    """Rewards that the request from a ticket on still lacks, of so many."""
    if total == 0:
        return 0
    handed, end = log.next_ticket(study), position + total
    return sum(ticket.number < end for ticket in log.open_tickets(study)) + max(0, end - handed)


def complete_requests(log: Log, study: int, position: int) -> list[Recorded]:
    """The requests from a ticket on, one after the other, of which every reward has been told."""
    reached = told_to(log, study)
    return [request for request in log.read_requests(study, position) if request.end <= reached]


def handed_out_again(log: Log, lease: Lease, tickets: Sequence[StoredTicket], until: float) -> None:
    """Lease tickets that failed or whose worker did not come back in time, and write down why."""
    for ticket in tickets:
        if ticket.lease != 0:
            gone = Lease(lease.study, ticket.worker, lease.at)
            log.write_event(gone, ticket.number, ticket.arm, "expired", "its worker did not come back in time")
        log.write_event(lease, ticket.number, ticket.arm, "retried", "")
    log.lease_again(lease, [ticket.number for ticket in tickets], until)

"""Studies in the memory of one process: for trying out, for tests, and as the shortest store that does all a store must do."""

import copy
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from msgspec.structs import replace

from surest.core.protocol import FloatArray, IntArray
from surest.errors import StorageError
from surest.study.log import (
    NO_FAILURES,
    NOBODY,
    Arm,
    Event,
    History,
    Item,
    Lease,
    Log,
    Place,
    Recorded,
    StoredStudy,
    StoredTicket,
    Told,
)


@dataclass
class _Kept:
    """All of one study."""

    stored: StoredStudy
    arms: list[Arm]
    items: list[Item]
    requests: list[Recorded] = field(default_factory=list)
    tickets: list[StoredTicket] = field(default_factory=list)
    told: dict[int, float] = field(default_factory=dict)
    cells: set[tuple[int, int]] = field(default_factory=set)
    events: list[Event] = field(default_factory=list)
    snapshot: tuple[str, str] = ("", "")
    paused: bool = False


class MemoryStore:
    """Studies that live as long as this object. One transaction at a time.

    >>> from surest import open_study
    >>> study = open_study(MemoryStore(), "demo", ["a", "b"], 0.1, algorithm="naive-best-arm")
    >>> [ticket.label for ticket in study.ask(2)]
    ['a', 'a']
    """

    shown = "memory:"
    one_machine = False

    def __init__(self) -> None:
        self._studies: dict[int, _Kept] = {}
        self._next = 1
        self._lock = threading.RLock()

    def prepare(self, *, create: bool) -> None:
        """It is always ready."""

    @contextmanager
    def reading(self) -> Iterator[Log]:
        """A transaction that only reads."""
        with self._lock:
            yield MemoryLog(self)

    @contextmanager
    def writing(self, *, wait: bool = True) -> Iterator[Log]:
        """A transaction that writes: a copy of what it touches is put back if it fails."""
        with self._lock:
            log = MemoryLog(self)
            before = dict(self._studies)
            try:
                yield log
            except BaseException:
                self._studies = before | log.saved
                for study in log.added:
                    self._studies.pop(study, None)
                raise

    def check(self, log: Log) -> None:
        """Memory is not damaged."""

    def close(self) -> None:
        """Nothing is open."""


class MemoryLog:
    """One transaction."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self.saved: dict[int, _Kept] = {}
        """Studies that were changed, as they were before."""
        self.added: set[int] = set()

    def _of(self, study: int) -> _Kept:
        kept = self._store._studies.get(study)
        return kept if kept is not None else _Kept(StoredStudy(study, "", ""), [], [])

    def _changed(self, study: int) -> _Kept:
        kept = self._store._studies[study]
        if study not in self.saved and study not in self.added:
            self.saved[study] = _Kept(*(copy.copy(getattr(kept, name)) for name in kept.__dataclass_fields__))
        return kept

    def time(self) -> float:
        """This machine's time."""
        return time.time()

    def study_names(self) -> list[str]:
        """All studies, sorted."""
        return sorted(kept.stored.name for kept in self._store._studies.values())

    def find_study(self, name: str) -> StoredStudy | None:
        """A study by its name."""
        return next((k.stored for k in self._store._studies.values() if k.stored.name == name), None)

    def add_study(self, name: str, settings: str, labels: Sequence[str], items: Sequence[Item] = ()) -> int | None:
        """Write a new study; None if there is one of that name."""
        if self.find_study(name) is not None:
            return None
        number, self._store._next = self._store._next, self._store._next + 1
        arms = [Arm(label, 0) for label in labels]
        self._store._studies[number] = _Kept(StoredStudy(number, name, settings), arms, [Item(*i) for i in items])
        self.added.add(number)
        return number

    def delete_study(self, name: str) -> bool:
        """Take a study away."""
        found = self.find_study(name)
        if found is not None:
            self._changed(found.id)
            del self._store._studies[found.id]
        return found is not None

    def lock_study(self, study: int) -> bool:
        """Whether it is still there: all of the store is locked."""
        return study in self._store._studies

    has_study = lock_study

    def is_paused(self, study: int) -> bool:
        """Whether no tickets are handed out."""
        return self._of(study).paused

    def set_paused(self, study: int, paused: bool) -> None:
        """Stop handing out tickets, or go on."""
        self._changed(study).paused = paused

    def add_arms(self, study: int, labels: Sequence[str], first: int, added_at: int) -> None:
        """Write arms, numbered from `first` on."""
        kept = self._changed(study)
        kept.arms[first:] = [Arm(label, added_at) for label in labels]

    def read_arms(self, study: int) -> list[Arm]:
        """All arms, in order."""
        return list(self._of(study).arms)

    def count_arms(self, study: int) -> int:
        """How many arms there are."""
        return len(self._of(study).arms)

    def read_items(self, study: int) -> list[Item]:
        """All items, in order."""
        return list(self._of(study).items)

    def write_request(self, study: int, request: Recorded) -> None:
        """Write down what the algorithm asks."""
        self._changed(study).requests.append(request)

    def last_request(self, study: int) -> Recorded | None:
        """The request that is being handed out."""
        requests = self._of(study).requests
        return requests[-1] if requests else None

    def read_requests(self, study: int, first: int = 0) -> list[Recorded]:
        """The requests from a ticket on, in order."""
        return [request for request in self._of(study).requests if request.first >= first]

    def next_ticket(self, study: int) -> int:
        """The first number that was never handed out."""
        return len(self._of(study).tickets)

    def count_open(self, study: int, before: float | None = None) -> int:
        """How many tickets have no reward; with `before`, of those whose lease ran out by then."""
        return sum(before is None or ticket.lease <= before for ticket in self.open_tickets(study))

    def open_tickets(self, study: int) -> list[StoredTicket]:
        """The tickets without a reward, in order."""
        return [ticket for ticket in self._of(study).tickets if ticket.reward is None]

    def read_tickets(self, study: int, numbers: Sequence[int]) -> dict[int, StoredTicket]:
        """Those tickets that there are, by number."""
        tickets = self._of(study).tickets
        return {number: tickets[number] for number in sorted(set(numbers)) if number < len(tickets)}

    def lease_fresh(self, lease: Lease, places: Sequence[Place], until: float) -> None:
        """Hand out new tickets."""
        kept = self._changed(lease.study)
        for place in places:
            cell = None if place.item is None else (place.arm, place.item)
            if place.number != len(kept.tickets) or cell in kept.cells:
                raise StorageError(f"ticket {place.number} or its cell {cell} was handed out before")
            kept.tickets.append(StoredTicket(*place, None, until, 1, 0, lease.worker))
            if cell is not None:
                kept.cells.add(cell)

    def expired(self, lease: Lease, most: int) -> list[StoredTicket]:
        """Open tickets whose lease has run out, in order."""
        return [ticket for ticket in self.open_tickets(lease.study) if ticket.lease <= lease.at][:most]

    def lease_again(self, lease: Lease, numbers: Sequence[int], until: float) -> None:
        """Hand out open tickets once more."""
        tickets = self._changed(lease.study).tickets
        for number in numbers:
            again = tickets[number].attempts + 1
            tickets[number] = replace(tickets[number], lease=until, worker=lease.worker, attempts=again)

    def set_leases(self, study: int, numbers: Sequence[int], until: float) -> None:
        """Let the leases of open tickets end at another time."""
        tickets = self._changed(study).tickets
        for number in numbers:
            if tickets[number].reward is None:
                tickets[number] = replace(tickets[number], lease=until)

    def count_failure(self, study: int, number: int) -> None:
        """A ticket's evaluation failed once more."""
        tickets = self._changed(study).tickets
        tickets[number] = replace(tickets[number], failures=tickets[number].failures + 1)

    def write_rewards(self, study: int, fresh: Mapping[int, float], late: Mapping[int, str] = NOBODY) -> None:
        """Write rewards, and who told those that another worker has."""
        kept, now = self._changed(study), self.time()
        for number, reward in fresh.items():
            ticket = kept.tickets[number]
            kept.tickets[number] = replace(ticket, reward=reward, worker=late.get(number, ticket.worker))
            kept.told[number] = now

    def read_rewards(self, study: int, first: int, end: int) -> tuple[IntArray, FloatArray]:
        """The arms and rewards of the tickets first … end − 1."""
        tickets = self._of(study).tickets[first:end]
        if len(tickets) != end - first or any(ticket.reward is None for ticket in tickets):
            raise StorageError(f"some of the tickets {first} to {end - 1} have no reward")
        return np.array([t.arm for t in tickets], np.int64), np.array([t.reward for t in tickets], np.float64)

    def read_told(self, study: int, first: int = 0, among: Sequence[int] = ()) -> Told:
        """The told tickets from `first` on, and those `among` earlier ones."""
        chosen = set(among)
        tickets = self._of(study).tickets
        told = [t for t in tickets if t.reward is not None and (t.number >= first or t.number in chosen)]
        return Told(
            np.array([t.number for t in told], np.int64),
            np.array([t.arm for t in told], np.int64),
            np.array([-1 if t.item is None else t.item for t in told], np.int64),
            np.array([t.reward for t in told], np.float64),
        )

    def write_pack(self, study: int, first: int, rewards: FloatArray) -> None:
        """Memory needs none: all is quickly read."""

    def read_packs(self, study: int, first: int) -> FloatArray:
        """There are none."""
        return np.empty(0)

    def packed_to(self, study: int) -> int:
        """There are none."""
        return 0

    def read_snapshot(self, study: int, key: str) -> str | None:
        """The snapshot that was kept last, if it was kept under this key."""
        found, data = self._of(study).snapshot
        return data if found == key else None

    def write_snapshot(self, study: int, key: str, data: str) -> None:
        """Keep a snapshot in place of the last one."""
        self._changed(study).snapshot = (key, data)

    def told_times(self, study: int, most: int) -> list[float]:
        """When the rewards of the last tickets came."""
        told = self._of(study).told
        return [told[number] for number in sorted(told, reverse=True)[:most]]

    def write_event(self, lease: Lease, number: int, arm: int, kind: str, reason: str) -> None:
        """Write down what happened to a ticket."""
        said = reason.replace("\x00", "�").encode(errors="replace").decode()
        self._changed(lease.study).events.append(Event(number, arm, kind, said, lease.worker, lease.at))

    def count_events(self, study: int) -> list[tuple[int, str, int]]:
        """Arm, kind, and how often; sorted."""
        counted = Counter((event.arm, event.kind) for event in self._of(study).events)
        return sorted((arm, kind, number) for (arm, kind), number in counted.items())

    def last_reasons(self, study: int) -> dict[int, str]:
        """What the last failure of each arm said, where it said something."""
        return {
            event.arm: event.reason
            for event in self._of(study).events
            if event.kind not in NO_FAILURES and event.reason
        }

    def read_history(self, study: int, first: int = 0) -> Iterator[Sequence[History]]:
        """The tickets from a number on, in order."""
        kept = self._of(study)
        yield [
            History(t.arm, t.reward, t.attempts, t.worker, kept.told.get(t.number), t.failures, t.item)
            for t in kept.tickets[first:]
        ]

    def read_events(self, study: int) -> list[Event]:
        """All events in order."""
        return list(self._of(study).events)

    def write_history(self, study: int, tickets: Sequence[History], events: Sequence[Event]) -> None:
        """Put the tickets and events of an export into a new study."""
        kept = self._changed(study)
        for number, t in enumerate(tickets):
            kept.tickets.append(StoredTicket(number, t.arm, t.item, t.reward, 0.0, t.attempts, t.failures, t.worker))
            if t.item is not None:
                kept.cells.add((t.arm, t.item))
            if t.told is not None:
                kept.told[number] = t.told
        kept.events.extend(events)

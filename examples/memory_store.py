"""A store of your own, as short as one can be: studies in lists, with all that a store must do.

    python examples/memory_store.py

`surest.study.log` says what each method is for. In earnest, `storage="memory:"` keeps studies in memory.
"""

import copy
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from msgspec.structs import replace

import surest.study.log
from surest.errors import StorageError
from surest.study.log import Arm, Counted, Event, Facts, Item, Log, Recorded, StoredStudy, StoredTicket


@dataclass
class _Kept:
    """All of one study."""

    stored: StoredStudy
    arms: list[Arm]
    items: list[Item]
    requests: list[Recorded] = field(default_factory=list)
    tickets: list[StoredTicket] = field(default_factory=list)
    cells: set[tuple[int, int]] = field(default_factory=set)
    events: list[Event] = field(default_factory=list)
    paused: bool = False


class MemoryStore:
    """Studies that live as long as this object. One transaction at a time.

    Examples
    --------
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
        with self._lock:
            yield MemoryLog(self)

    @contextmanager
    def writing(self) -> Iterator[Log]:
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
        self.saved: dict[int, _Kept] = {}  # studies that were changed, as they were before
        self.added: set[int] = set()

    def _of(self, study: int) -> _Kept:
        kept = self._store._studies.get(study)
        return kept if kept is not None else _Kept(StoredStudy(study, "", ""), [], [])

    def _changed(self, study: int) -> _Kept:
        kept = self._store._studies[study]
        if study not in self.saved and study not in self.added:
            self.saved[study] = _Kept(*(copy.copy(getattr(kept, name)) for name in kept.__dataclass_fields__))
        return kept

    def study_names(self) -> list[str]:
        return sorted(kept.stored.name for kept in self._store._studies.values())

    def find_study(self, name: str) -> StoredStudy | None:
        return next((k.stored for k in self._store._studies.values() if k.stored.name == name), None)

    def add_study(self, name: str, settings: str, labels: Sequence[str], items: Sequence[Item] = ()) -> int | None:
        if self.find_study(name) is not None:
            return None
        number, self._store._next = self._store._next, self._store._next + 1
        arms = [Arm(label, 0) for label in labels]
        self._store._studies[number] = _Kept(StoredStudy(number, name, settings), arms, list(items))
        self.added.add(number)
        return number

    def delete_study(self, name: str) -> bool:
        found = self.find_study(name)
        if found is not None:
            self._changed(found.id)
            del self._store._studies[found.id]
        return found is not None

    def study_facts(self, study: int, *, lock: bool = False) -> Facts | None:
        kept, now = self._store._studies.get(study), time.time()
        if kept is None:
            return None
        leases = [ticket.lease for ticket in kept.tickets if ticket.reward is None]
        expired = sum(lease <= now for lease in leases)
        return Facts(now, kept.paused, len(kept.arms), len(kept.tickets), len(leases), expired)

    def set_paused(self, study: int, paused: bool) -> None:
        self._changed(study).paused = paused

    def add_arms(self, study: int, labels: Sequence[str], first: int, added_at: int) -> None:
        kept = self._changed(study)
        kept.arms[first:] = [Arm(label, added_at) for label in labels]

    def read_arms(self, study: int) -> list[Arm]:
        return list(self._of(study).arms)

    def read_items(self, study: int) -> list[Item]:
        return list(self._of(study).items)

    def write_request(self, study: int, request: Recorded) -> None:
        self._changed(study).requests.append(request)

    def read_requests(self, study: int, first: int | None = 0) -> list[Recorded]:
        requests = self._of(study).requests
        return requests[-1:] if first is None else [request for request in requests if request.first >= first]

    def read_tickets(
        self, study: int, first: int = 0, end: int | None = None, *, among: Sequence[int] | None = None,
        open_by: float | None = None, most: int | None = None, hold: bool = False,
    ) -> list[StoredTicket]:  # fmt: skip
        tickets = self._of(study).tickets
        some = tickets[first:end] if among is None else [tickets[n] for n in sorted({*among}) if n < len(tickets)]
        if open_by is not None:
            some = [ticket for ticket in some if ticket.reward is None and ticket.lease <= open_by]
        return some[:most]

    def add_tickets(self, study: int, tickets: Sequence[StoredTicket]) -> None:
        kept = self._changed(study)
        for ticket in tickets:
            cell = None if ticket.item is None else (ticket.arm, ticket.item)
            if ticket.number != len(kept.tickets) or cell in kept.cells:
                raise StorageError(f"ticket {ticket.number} or its cell {cell} was handed out before")
            kept.tickets.append(ticket)
            if cell is not None:
                kept.cells.add(cell)

    def lease_tickets(self, study: int, numbers: Sequence[int], until: float, worker: str | None = None) -> None:
        tickets = self._changed(study).tickets
        for number in numbers:
            if tickets[number].reward is None:
                tickets[number] = replace(tickets[number], lease=until)
                if worker is not None:
                    again = tickets[number].attempts + 1
                    tickets[number] = replace(tickets[number], worker=worker, attempts=again)

    def write_rewards(self, study: int, told: Sequence[StoredTicket]) -> None:
        kept, now = self._changed(study), time.time()
        for ticket in told:
            kept.tickets[ticket.number] = replace(
                kept.tickets[ticket.number], reward=ticket.reward, cost=ticket.cost, worker=ticket.worker, told=now
            )

    def write_events(self, study: int, events: Sequence[Event]) -> None:
        kept = self._changed(study)
        for event in events:
            kept.events.append(event.storable())
            if event.kind not in surest.study.log.NO_FAILURES and event.ticket < len(kept.tickets):
                ticket = kept.tickets[event.ticket]
                kept.tickets[event.ticket] = replace(ticket, failures=ticket.failures + 1)

    def read_events(self, study: int, first: int = 0, end: int | None = None) -> list[Event]:
        return self._of(study).events[first:end]

    def count_events(self, study: int) -> list[Counted]:
        events = self._of(study).events
        times = Counter((event.arm, event.kind) for event in events)
        last = {(event.arm, event.kind): at for at, event in enumerate(events) if event.reason}
        found = sorted(times, key=lambda key: last.get(key, -1))
        return [Counted(*key, times[key], events[last[key]].reason if key in last else "") for key in found]


if __name__ == "__main__":
    from surest.testing import check_store

    store = MemoryStore()
    print(*check_store(lambda: store), sep="\n")

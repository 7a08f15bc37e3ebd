"""A study on a list of items: what is evaluated is a cell, an arm on an item, and each cell at most once.

The truth of such a study is the set of its told cells. To replay is to run the algorithm and answer each of its requests from
the told cells until one is missing; no requests need to be written down, and any number of workers may evaluate ahead of them.
"""

from collections.abc import Sequence
from typing import Any

from surest.core.session import Session
from surest.drivers.looks import Looks
from surest.errors import StorageError
from surest.study.log import Lease, Log, Place, Store, Told, handed_out_again
from surest.study.replay import later_arms
from surest.study.settings import Settings
from surest.study.snapshot import Look, look_at


class CellsFollower:
    """Follows a study whose requests are blocks of cells."""

    def __init__(self, store: Store, study: int, settings: Settings, items: int) -> None:
        self.store, self.study, self.settings, self.items = store, study, settings, items
        self.session: Session | None = None
        self._arms = 0  # how many the session knows
        self._seen = 0  # tickets below this were told to the session, except …
        self._open: list[int] = []  # … those which were open then
        self._looked: tuple[tuple[Session, int], Look] | None = None  # what the last look saw

    def forget(self) -> None:
        """Begin anew next time."""
        self.session = self._looked = None

    def catch_up(self, log: Log, on_request: Looks | None = None) -> Session:
        """Tell the session the cells that are new."""
        session, self.session = self.session, None  # what fails half-way is started again
        if session is None or log.count_arms(self.study) != self._arms:
            session = self._begun(log, record=False)
        # In this order: rewards may come between two statements, and one that is read twice does no harm.
        still_open, seen = [ticket.number for ticket in log.open_tickets(self.study)], log.next_ticket(self.study)
        self._feed(session, log.read_told(self.study, self._seen, self._open), on_request)
        self._open, self._seen = still_open, seen
        self.session = session
        return session

    def replayed(self, log: Log, *, record: bool, on_request: Looks | None) -> Session:
        """A fresh session that was told all cells; `on_request` looks at the run before each request is answered."""
        self.session = self._begun(log, record=record)
        return self.catch_up(log, on_request)

    def _begun(self, log: Log, *, record: bool) -> Session:
        self.store.check(log)
        arms = log.read_arms(self.study)
        self._seen, self._open, self._arms = 0, [], len(arms)
        session = self.settings.session([arm.label for arm in arms if arm.added_at == 0], record=record)
        for at, labels in later_arms((arm.label, arm.added_at) for arm in arms).items():
            session.grow(labels, at)
        return session

    def _feed(self, session: Any, told: Told, on_request: Looks | None) -> None:
        if len(told.items) and not ((told.items >= 0) & (told.items < self.items)).all():
            raise StorageError("the study's log is damaged: a ticket names an item that the study does not have")
        looked = None
        for arm, item, reward in zip(told.arms.tolist(), told.items.tolist(), told.rewards.tolist(), strict=True):
            if on_request is not None and looked is not session.running.request:
                on_request(session.running)
                looked = session.running.request
            session.tell_cell(arm, item, reward)

    def hand_out(self, log: Log, lease: Lease, most: int, until: float) -> list[Place]:
        """Lease the cells that are wanted most and nobody is busy with."""
        out = {(ticket.arm, ticket.item): ticket for ticket in log.open_tickets(self.study)}
        session: Any = self.catch_up(log)  # after that: a cell that is told meanwhile must not look like a fresh one
        if session.finished:
            return []
        busy = {cell for cell, ticket in out.items() if ticket.lease > lease.at}
        wanted = session.wanted(most, busy)
        held = log.read_tickets(self.study, [out[cell].number for cell in wanted if cell in out])
        again = [ticket for ticket in held.values() if ticket.reward is None and ticket.lease <= lease.at]
        handed_out_again(log, lease, again, until)
        first = log.next_ticket(self.study)
        fresh = [Place(first + i, *cell) for i, cell in enumerate(cell for cell in wanted if cell not in out)]
        log.lease_fresh(lease, fresh, until)
        return [Place(ticket.number, ticket.arm, ticket.item) for ticket in again] + fresh

    def draws(self, log: Log, places: Sequence[Place]) -> list[int | None]:
        """None: a seed is made from a ticket's number."""
        return [None] * len(places)

    def grow(self, log: Log, labels: Sequence[str]) -> int:
        """Refuse arms that cannot be added now, or say after how many items, in the algorithm's order, they take part.

        These are all that have a cell told or handed out: who adds arms may know of it. The new arms catch up on them.
        """
        session = self.catch_up(log)
        out = [(ticket.arm, ticket.item) for ticket in log.open_tickets(self.study) if ticket.item is not None]
        at = session.items_met(out)
        self.session = None  # the arms of one moment come together, and the log says which these are
        session.grow(labels, at)  # refuses, if it must
        return at

    def look(self, log: Log) -> Look:
        """How the study stands. What is known of each cell is soon told to a session: no snapshot is kept."""
        session = self.catch_up(log)
        known = session, session.evaluations  # of a session in step with the log, its cells say all
        if self._looked is None or self._looked[0] != known:
            self._looked = known, look_at(session, None)._replace(left=session.missing)
        return self._looked[1]

    in_step = False  # as far as snapshots go

    def answered(self, log: Log) -> bool:
        """False: no snapshot is kept."""
        return False

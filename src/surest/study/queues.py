"""A study for several workers: each arm has a queue of rewards, and idle workers evaluate ahead of what is asked.

A ticket's place in the queue of its arm is its rank among the tickets of that arm, and a request takes the next rewards of its
arms. So which rewards answer which request follows from the log, and not from when they were told or what else was handed out.
Requests are written down in order, numbered by the rewards that count. A log without tickets ahead has the same numbers.
"""

from collections.abc import Callable, Sequence

import numpy as np

from surest.core.procedure import Running
from surest.core.protocol import Answer
from surest.core.session import Session
from surest.drivers.looks import Looks
from surest.errors import StorageError
from surest.study.log import Lease, Log, Place, Recorded, Store, handed_out_again
from surest.study.replay import Departure, answer_all, check_under_way, requests_ahead, script_of
from surest.study.settings import Settings
from surest.study.snapshot import Look, key_of, look_at, look_of, text_of, unkept


class QueuesFollower:
    """Follows a study whose arms have queues."""

    def __init__(self, store: Store, study: int, settings: Settings) -> None:
        self.store, self.study, self.settings = store, study, settings
        self.session: Session | None = None
        self._scripted = False  # whether the algorithm is told what was asked: it would have asked otherwise
        self._seen = 0  # the session knows the tickets below this …
        self._open: dict[int, int] = {}  # … and of these had no reward: by number, their numbers in the session
        self._unwritten: list[Recorded] = []  # requests that were answered before anybody wrote them down

    def forget(self) -> None:
        """Begin anew next time."""
        self.session = None

    def catch_up(self, log: Log) -> Session:
        """Tell the session what is new, and answer every request whose rewards are all there."""
        try:
            return self._caught_up(log)
        except Departure:
            self._scripted = True
        return self._caught_up(log)

    def _caught_up(self, log: Log) -> Session:
        session, self.session = self.session, None  # what fails half-way is started again
        if session is None:
            session = self._begun(log, record=False)
        self._advance(log, session, None)
        self.session = session
        return session

    def replayed(self, log: Log, *, record: bool, on_request: Looks | None) -> Session:
        """A fresh session in step with the log, every row of which is read and checked."""
        self.session = None
        try:
            session = self._begun(log, record=record)
            self._advance(log, session, on_request)
        except Departure as found:
            self._scripted, ticket = True, found.ticket
            seen = on_request  # what came before the departure was looked at
            session = self._begun(log, record=record)
            self._advance(log, session, None if seen is None else lambda run: run.pulls >= ticket and seen(run))
        self.session = session
        return session

    def _begun(self, log: Log, *, record: bool) -> Session:
        self.store.check(log)
        arms = log.read_arms(self.study)
        script = script_of(log.read_requests(self.study), [arm.added_at for arm in arms]) if self._scripted else ()
        self._seen, self._open, self._unwritten = 0, {}, []
        return self.settings.session([arm.label for arm in arms], record=record, script=script)

    def _advance(self, log: Log, session: Session, on_request: Callable[[Running[Answer]], object] | None) -> None:
        self._read(log, session)
        position = session.running.pulls
        written = log.read_requests(self.study, position)
        self._unwritten += answer_all(session, written, on_request)
        position = session.running.pulls
        check_under_way(session, position, [request for request in written if request.first >= position])

    def _read(self, log: Log, session: Session) -> None:
        """Take in the tickets that are new, and the rewards of those that were open."""
        # In this order: rewards may come between two statements, and a ticket that is read twice is taken for told.
        still_open, seen = log.open_tickets(self.study), log.next_ticket(self.study)
        told = log.read_told(self.study, self._seen, list(self._open))
        arms, rewards = np.full(seen - self._seen, -1), np.full(seen - self._seen, np.nan)
        for ticket in still_open:
            if ticket.number >= self._seen:
                arms[ticket.number - self._seen] = ticket.arm
        new = told.numbers >= self._seen
        arms[told.numbers[new] - self._seen], rewards[told.numbers[new] - self._seen] = (
            told.arms[new],
            told.rewards[new],
        )
        if not ((arms >= 0) & (arms < len(session.labels))).all():
            raise StorageError(
                "the study's log is damaged: a ticket is gone, or names an arm that the study does not have"
            )
        for number, reward in zip(told.numbers[~new].tolist(), told.rewards[~new].tolist(), strict=True):
            session.hear(self._open.pop(number), reward)
        numbers = session.adopt(arms, rewards)
        self._open |= {self._seen + i: numbers[i] for i in np.flatnonzero(np.isnan(rewards)).tolist()}
        self._seen = seen

    def hand_out(self, log: Log, lease: Lease, most: int, until: float) -> list[Place]:
        """Lease tickets that failed or whose lease has run out, then those that are asked for, announced, or likely next."""
        session = self.catch_up(log)
        self._write_requests(log, session)
        if session.finished:
            look = self._look(log, session)
            if look.key is not None:
                log.write_snapshot(self.study, look.key, text_of(look))
            return []
        again = log.expired(lease, most)
        handed_out_again(log, lease, again, until)
        tickets = session.ask(most - len(again)) if most > len(again) else []
        fresh = [Place(number, ticket.arm) for number, ticket in enumerate(tickets, self._seen)]
        log.lease_fresh(lease, fresh, until)
        self._open |= {place.number: ticket.id for place, ticket in zip(fresh, tickets, strict=True)}
        self._seen += len(fresh)
        return [Place(ticket.number, ticket.arm) for ticket in again] + fresh

    def draws(self, log: Log, places: Sequence[Place]) -> list[int | None]:
        """Of tickets that are out: their arm and their place in its queue, as one number."""
        if any(place.number not in self._open for place in places):
            self.catch_up(log)
        return [self._open.get(place.number) for place in places]

    def _write_requests(self, log: Log, session: Session) -> None:
        """Write down what was asked and announced, so that another version can be told."""
        last = log.last_request(self.study)
        end = 0 if last is None else last.end
        known = [*self._unwritten, *([] if session.finished else requests_ahead(session, session.running.pulls))]
        for request in known:
            if request.first >= end:
                log.write_request(self.study, request)
        self._unwritten = []

    def grow(self, log: Log, labels: Sequence[str]) -> int:
        """Refuse arms: where they may be added, arms have no queues."""
        session, self.session = self.catch_up(log), None
        session.grow(labels)  # refuses
        return session.running.pulls

    def look(self, log: Log) -> Look:
        """How the study stands. The log is replayed unless a snapshot says what that gives."""
        if self.session is None:
            labels = [arm.label for arm in log.read_arms(self.study)]
            is_open = [ticket.number for ticket in log.open_tickets(self.study)]
            key = key_of(self.settings, labels, log.next_ticket(self.study), is_open)
            text = None if key is None else log.read_snapshot(self.study, key)
            if text is not None:
                return look_of(text, self.settings, labels)
        return self._look(log, self.catch_up(log))

    def _look(self, log: Log, session: Session) -> Look:
        """How the session stands. Its snapshot is named by the tickets that it knows, and those of them without a reward."""
        key = key_of(self.settings, list(session.labels), self._seen, sorted(self._open))
        return look_at(session, unkept(log, self.study, key))._replace(left=session.missing)

    @property
    def in_step(self) -> bool:
        """Whether the log was replayed here."""
        return self.session is not None

    def answered(self, log: Log) -> bool:
        """False: requests are short."""
        return False

"""A session kept in step with a study's log: the log is replayed once, and from then on only what is new.

Which tickets exist is decided by replaying the log and never by timing. A worker needs the replay only when the algorithm moves
on to its next request: what is handed out next stands in the log, and a reward is told by its ticket's number alone.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from surest.core.protocol import Answer, FloatArray
from surest.errors import StorageError
from surest.study.log import (
    Arm,
    Lease,
    Log,
    Place,
    Recorded,
    Store,
    answered_to,
    complete_requests,
    free_places,
    handed_out_again,
    rewards_left,
)
from surest.study.replay import Departure, check_under_way, later_arms, replay, requests_ahead, script_of
from surest.study.settings import Settings

if TYPE_CHECKING:
    from surest.core.procedure import Running
    from surest.core.session import Session
    from surest.drivers.looks import Looks
    from surest.study.snapshot import Look

Hook = Callable[["Running[Answer]"], object]
"""What looks at a run before a request is answered."""
PACK = 4096
"""Rewards of answered requests that are packed together, so that they are quickly read."""
LARGE = 1000
"""Rewards of a request from which on a snapshot is kept with it: to make one takes as long as some hundred rewards."""


class Follower(Protocol):
    """What a study needs of a session in step with its log: for fresh pulls, queues of them, or cells of a list."""

    def forget(self) -> None:
        """Begin anew next time."""

    def catch_up(self, log: Log) -> "Session":
        """The session, in step with the log."""

    def replayed(self, log: Log, *, record: bool, on_request: "Looks | None") -> "Session":
        """A fresh session in step with the log, every row of which is checked."""

    def hand_out(self, log: Log, lease: Lease, most: int, until: float) -> list[Place]:
        """Lease up to so many tickets: first those to be handed out again, then fresh ones."""

    def draws(self, log: Log, places: Sequence[Place]) -> list[int | None]:
        """Of tickets that are out: what seeds are made from, where that is not their number."""

    def grow(self, log: Log, labels: Sequence[str]) -> int:
        """Refuse arms that cannot be added now, or say from which ticket on they count."""

    def look(self, log: Log) -> "Look":
        """How the study stands."""

    def answered(self, log: Log) -> bool:
        """Whether a long request is now answered, so that a snapshot spares others a replay and costs us little."""

    @property
    def in_step(self) -> bool:
        """Whether the log was replayed here, so that a snapshot of it can be kept."""


def follower_of(store: Store, study: int, settings: Settings, items: int) -> Follower:
    """The kind of session that a study needs."""
    if items:
        from surest.study.cells import CellsFollower

        return CellsFollower(store, study, settings, items)
    if settings.has_queues:
        from surest.study.queues import QueuesFollower

        return QueuesFollower(store, study, settings)
    return Pulls(store, study, settings)


class Pulls:
    """Follows a study whose requests are fresh pulls."""

    def __init__(self, store: Store, study: int, settings: Settings) -> None:
        self.store, self.study, self.settings = store, study, settings
        self.session: Session | None = None
        self.position = 0
        """The log is replayed up to this ticket."""
        self._arms: list[Arm] = []
        self._loose: list[FloatArray] = []  # the rewards from `_packed` up to `position`
        self._packed = 0
        self._scripted = False  # whether the algorithm is told what was asked: it would have asked otherwise

    def forget(self) -> None:
        """Begin anew next time."""
        self.session = None

    def catch_up(self, log: Log) -> "Session":
        """Answer every request whose rewards have all been told."""
        try:
            return self._caught_up(log)
        except Departure:
            self._scripted = True
        return self._caught_up(log)

    def _caught_up(self, log: Log) -> "Session":
        session, self.session = self.session, None  # what fails half-way is started again
        if session is not None and self._overtaken(log, session):
            session = None
        anew = session is None
        if session is None:
            packed = log.read_packs(self.study, 0)
            if not len(packed):  # else all that is read has a checksum of its own, and little of the file is read
                self.store.check(log)
            session = self._begun(log, record=False)
            self._feed_packs(log, session, packed)
        self._feed_rows(log, session, None)
        if anew:
            log.read_told(self.study, self.position)  # what is under way is checked too
        check_under_way(session, self.position, log.read_requests(self.study, self.position))
        self.session = session
        return session

    def replayed(self, log: Log, *, record: bool, on_request: "Looks | None") -> "Session":
        """A fresh session in step with the log: every row is read and checked, and packs against the rows."""
        try:
            return self._replayed(log, record, on_request)
        except Departure as found:
            self._scripted, ticket = True, found.ticket
        seen = on_request  # what came before the departure was looked at
        return self._replayed(log, record, None if seen is None else lambda run: run.pulls >= ticket and seen(run))

    def _replayed(self, log: Log, record: bool, on_request: "Hook | None") -> "Session":
        self.session = None
        self.store.check(log)
        session = self._begun(log, record=record)
        self._feed_rows(log, session, on_request)
        log.read_told(self.study, self.position)  # what is under way is checked too
        packed, rewards = log.read_packs(self.study, 0), np.concatenate([np.empty(0), *self._loose])
        if session.finished:  # it may have come to its end earlier than whoever packed them
            packed = packed[: len(rewards)]
        if not np.array_equal(packed, rewards[: len(packed)]):
            raise StorageError("the study's log is damaged: packed rewards differ from those of their tickets")
        check_under_way(session, self.position, log.read_requests(self.study, self.position))
        self.session = session
        return session

    def _begun(self, log: Log, *, record: bool) -> "Session":
        self._arms, self.position, self._loose, self._packed = log.read_arms(self.study), 0, [], 0
        script = script_of(log.read_requests(self.study), [a.added_at for a in self._arms]) if self._scripted else ()
        first = [arm.label for arm in self._arms if arm.added_at == 0]
        return self.settings.session(first, record=record, script=script)

    def _overtaken(self, log: Log, session: "Session") -> bool:
        """Whether arms were added that should have been known before now: we read while they were being written."""
        if log.count_arms(self.study) != len(self._arms):
            self._arms = log.read_arms(self.study)
        return sum(arm.added_at <= self.position for arm in self._arms) != len(session.labels)

    def _feed_packs(self, log: Log, session: "Session", rewards: FloatArray) -> None:
        """Feed the requests whose rewards are packed."""
        if not len(rewards):
            return
        packed = [request for request in log.read_requests(self.study) if request.end <= len(rewards)]
        self.position = self._replay(session, packed, None, rewards, None)
        self._packed = len(rewards)
        if self.position != len(rewards) and not session.finished:
            raise StorageError("the study's log is damaged: packed rewards do not fit the requests")

    def _feed_rows(self, log: Log, session: "Session", on_request: "Hook | None") -> None:
        """Feed the complete requests that follow."""
        complete = complete_requests(log, self.study, self.position)
        if complete:
            arms, rewards = log.read_rewards(self.study, self.position, complete[-1].end)
            start, self.position = self.position, self._replay(session, complete, arms, rewards, on_request)
            self._loose.append(rewards[: self.position - start])

    def _replay(
        self,
        session: "Session",
        requests: Sequence[Recorded],
        arms: "np.typing.NDArray[np.int64] | None",
        rewards: FloatArray,
        on_request: "Hook | None",
    ) -> int:
        additions = later_arms((arm.label, arm.added_at) for arm in self._arms)
        return replay(session, self.position, requests, arms, rewards, additions, on_request)

    def hand_out(self, log: Log, lease: Lease, most: int, until: float) -> list[Place]:
        """Lease tickets that failed or whose lease has run out, then fresh ones of the current request, or of the next."""
        again = log.expired(lease, most)
        if (again or self._announced) and self.catch_up(log).finished:
            return []  # what is left was announced, and is not needed any more
        handed_out_again(log, lease, again, until)
        handed = [Place(ticket.number, ticket.arm) for ticket in again]
        while len(handed) < most:
            free = free_places(log, self.study, most - len(handed))
            if free is None:  # all that was written down is handed out
                if self._waits(log) or not self.record_next(log):
                    break
                continue
            log.lease_fresh(lease, free, until)
            handed += free
        return handed

    def draws(self, log: Log, places: Sequence[Place]) -> list[int | None]:
        """None: a seed is made from a ticket's number."""
        return [None] * len(places)

    @property
    def _announced(self) -> bool:
        """Whether the algorithm announces requests, as far as that is known without a replay."""
        if self.session is None or self.session.scripted:
            return self.settings.may_announce
        return bool(self.session.running.announced)

    def _waits(self, log: Log) -> bool:
        """Whether the algorithm is known to need rewards that are out, so that there is no need to catch up."""
        if self._announced or log.count_open(self.study) == 0:
            return False
        last = log.last_request(self.study)
        return self.session is None or (last is not None and last.first == self.position)

    def record_next(self, log: Log) -> bool:
        """Write down what the algorithm asks next, or has announced; False where it first needs rewards, and at its end."""
        session = self.catch_up(log)
        last = log.last_request(self.study)
        written = 0 if last is None else last.end
        following = [] if session.finished else requests_ahead(session, self.position)
        request = next((one for one in following if one.first >= written), None)
        if request is not None:
            log.write_request(self.study, request)
        if sum(map(len, self._loose)) >= PACK:
            self._pack(log)
        if session.finished or (request is not None and request.total >= LARGE):
            self._keep(log)
        return request is not None

    def look(self, log: Log) -> "Look":
        """How the study stands. The log is replayed unless a snapshot says what that gives."""
        from surest.study.snapshot import look_at, look_of, unkept

        position = answered_to(log, self.study)
        if self.session is None:
            labels = [arm.label for arm in log.read_arms(self.study) if arm.added_at <= position]
            key = self._key(log, labels, position)
            text = None if key is None else log.read_snapshot(self.study, key)
            if text is not None:
                look = look_of(text, self.settings, labels)
                return look._replace(left=rewards_left(log, self.study, position, look.total))
        session = self.catch_up(log)
        key = self._key(log, session.labels, self._answered(position))
        look = look_at(session, unkept(log, self.study, key))
        return look._replace(left=rewards_left(log, self.study, self.position, look.total))

    @property
    def in_step(self) -> bool:
        """Whether the log was replayed here."""
        return self.session is not None

    def answered(self, log: Log) -> bool:
        """Whether all of a long request was told that the session has not heard of."""
        request = None if self.session is None else self.session.running.request
        if request is None or request.total < LARGE or log.count_open(self.study) > 0:
            return False
        return log.next_ticket(self.study) >= self.position + request.total

    def _answered(self, position: int) -> int:
        """Up to which ticket the session says how the study stands: at its end, up to any that was told."""
        ended = self.session is not None and self.session.finished
        return max(position, self.position) if ended else self.position

    def _key(self, log: Log, labels: Sequence[str], position: int) -> str | None:
        """The name of a snapshot."""
        from surest.study.snapshot import key_of

        last = log.last_request(self.study) if self.settings.may_announce else None
        return key_of(self.settings, list(labels), position, position if last is None else last.end)

    def _keep(self, log: Log) -> None:
        """Keep a snapshot of the session, which is in step with the log."""
        from surest.study.snapshot import look_at, text_of, unkept

        assert self.session is not None
        position = self._answered(answered_to(log, self.study))
        key = unkept(log, self.study, self._key(log, self.session.labels, position))
        if key is not None:
            log.write_snapshot(self.study, key, text_of(look_at(self.session, key)))

    def _pack(self, log: Log) -> None:
        end = log.packed_to(self.study)  # others pack too
        rewards = np.concatenate(self._loose)[max(end - self._packed, 0) :]
        if len(rewards) >= PACK:
            log.write_pack(self.study, self.position - len(rewards), rewards)
        self._loose, self._packed = [], self.position

    def grow(self, log: Log, labels: Sequence[str]) -> int:
        """Refuse arms that cannot be added now, or say from which ticket on they count."""
        session, at = self.catch_up(log), self.position
        if session.running.request is not None:
            recorded = log.last_request(self.study)
            if recorded is None or recorded.first < self.position:
                self.record_next(log)
            at += session.running.request.total
        self.session = None  # it grows before its time, or is not to be used
        session.grow(labels)  # refuses, if it must
        return at

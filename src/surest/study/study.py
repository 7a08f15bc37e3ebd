"""`open_study`: ask and tell on a log in a database, from any process.

Which tickets exist is decided by replaying the log and never by timing. A worker needs the replay only when the algorithm moves
on to its next request: what is handed out next stands in the log, and a reward is told by its ticket's number alone.
"""

import os
import secrets
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, SupportsFloat

import numpy as np
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from surest.core.problem import labels_of, takes_settings
from surest.core.procedure import Running
from surest.core.protocol import Answer, FloatArray
from surest.core.session import Session, Ticket
from surest.drivers.looks import Looks
from surest.drivers.looks import history as history_hook
from surest.errors import RewardError, TicketError, UsageError
from surest.result.data import Result
from surest.study import log
from surest.study.health import Health, Progress, health_of, progress_of
from surest.study.replay import later_arms, next_request, replay
from surest.study.settings import checked_settings, differences, spoken
from surest.study.store import Store


@takes_settings
def open_study(
    storage: str,
    name: str,
    arms: int | Sequence[str] | None = None,
    delta: float | None = None,
    *,
    lease_seconds: float | None = None,
    on_failure: float | None = None,
    retries: int | None = None,
    load_if_exists: bool = True,
    **settings: Any,
) -> "Study":
    """Open a study, or make it: a `Session` whose log is in a database.

    Parameters
    ----------
    storage : str
        ``sqlite:///file.db``, or ``postgresql://user@host/name`` for workers on several machines.
    name : str
        The study's name in that database.
    arms : int or sequence of str, optional
        How many arms, or their labels. Needed to make a study; may be left out to open one.
    delta, **settings
        As for `Session`. Where a study exists they may be left out; what is given must agree with it. An algorithm of one's
        own is named by its file: ``algorithm="file.py:function"``.
    lease_seconds : float
        How long a worker may take. After that its ticket is handed out again. 600 unless told.
    on_failure : float, optional
        The reward as which a failed evaluation counts. Without it, failed evaluations are retried until they succeed.
    retries : int
        How often a failed evaluation is retried before `on_failure` counts.
    load_if_exists : bool
        False refuses to open a study that is there already.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     study = open_study(f"sqlite:///{directory}/studies.db", "demo", ["a", "b"], 0.1, algorithm="naive-best-arm")
    ...     ticket, = study.ask()
    ...     study.tell(ticket.id, 0.75)
    ...     again = open_study(f"sqlite:///{directory}/studies.db", "demo")
    ...     (ticket, again.status().told)
    (Ticket(id=0, arm=0, label='a'), 1)
    """
    handling = {"lease_seconds": lease_seconds, "on_failure": on_failure, "retries": retries}
    given = spoken({"delta": delta, **handling, **settings})
    labels = None if arms is None else _labels(arms)
    storable(name, "a study's name")
    store = Store(storage)
    store.prepare(create=arms is not None)
    with store.reading() as connection:
        found = log.find_study(connection, name)
    if found is None:
        if labels is None:
            raise UsageError(_unknown(store, name) + "; give its arms to make it")
        made_with = checked_settings({"seed": secrets.randbits(32), **given})
        made_with.session(list(labels))  # refuses what the algorithm cannot do, before anything is stored
        with store.writing() as connection:
            made = log.add_study(connection, name, made_with.text(), labels, store.now())
            found = log.find_study(connection, name)
        if made:
            return Study(store, name)
    if not load_if_exists:
        raise UsageError(f"there is already a study {name!r} in {store.shown}; open it with load_if_exists=True")
    study = Study(store, name)
    differ = differences(given, study.settings)
    if labels is not None and labels != study.labels[: len(labels)]:
        differ += f"{', ' if differ else ''}arms {_some(study.labels)}, not {_some(labels)}"
    if differ:
        raise UsageError(f"study {name!r} was made with {differ}; leave these out, or give the study another name")
    return study


class Study:
    """Ask what to evaluate and tell what came of it, from any thread, process or machine. Made by `open_study`."""

    def __init__(self, store: Store, name: str) -> None:
        self.name, self.store = name, store
        with store.reading() as connection:
            row = log.find_study(connection, name)
            if row is None:
                raise UsageError(_unknown(store, name))
            self.id = row.id
            arms = log.read_arms(connection, self.id)
        self.settings = checked_settings(log.parsed(row.settings, f"the settings of study {name!r}"))
        self._arms = arms
        self._session: Session | None = None  # the log, replayed …
        self._position = 0  # … up to this ticket
        self._lock = threading.RLock()  # for the two above

    @property
    def labels(self) -> tuple[str, ...]:
        """The arms' labels, in order."""
        return tuple(arm.label for arm in self._arms)

    @property
    def finished(self) -> bool:
        """Whether there is nothing left to ask: decided, or budget spent."""
        return self._current().finished

    @property
    def running(self) -> Running[Answer]:
        """The procedure as the log has moved it."""
        return self._current().running

    def ask(self, k: int = 1, worker: str | None = None) -> list[Ticket]:
        """Up to k tickets, leased to this worker: first those that failed or whose lease has run out, then fresh ones.

        Fewer, or none, when the algorithm first needs the rewards of those that are out; `finished` tells that from the end.
        """
        if not isinstance(k, int | np.integer) or k < 1:
            raise UsageError(f"asked for {k!r} tickets; ask for at least one")
        who = own_name() if worker is None else worker
        storable(who, "a worker's name")
        with self._writing() as connection:
            lease = log.Lease(self.id, who, connection.execute(sa.select(self.store.now())).scalar_one())
            until = lease.at + self.settings.handling.lease_seconds
            handed = log.lease_again(connection, lease, int(k), until)
            while len(handed) < k:
                free = log.free_places(connection, self.id, int(k) - len(handed))
                if free is None:  # all of the request is handed out
                    if log.count_open(connection, self.id) or not self._record_next(connection):
                        break
                    continue
                handed += log.lease_fresh(connection, lease, free, until)
            if any(arm >= len(self._arms) for _, arm in handed):
                self._arms = log.read_arms(connection, self.id)
        return [Ticket(number, arm, self._arms[arm].label) for number, arm in handed]

    def tell(self, ticket: int, reward: SupportsFloat) -> None:
        """Say what an evaluation gave: on disk when this returns. What cannot be counted is refused, and changes nothing."""
        self._tell([ticket], [reward])

    def tell_all(self, tickets: Sequence[Ticket], rewards: Sequence[SupportsFloat] | FloatArray) -> None:
        """Tell the rewards of several tickets, in the tickets' order: all of them, or none."""
        if len(tickets) != len(rewards):
            raise RewardError(f"{len(tickets)} tickets but {len(rewards)} rewards")
        self._tell([ticket.id for ticket in tickets], rewards)

    def _tell(self, numbers: Sequence[Any], rewards: Sequence[Any] | FloatArray) -> None:
        with self.store.writing() as connection:
            told = log.read_tickets(connection, self.id, [_number(number) for number in numbers])
            fresh: dict[int, float] = {}
            for number, reward in zip(numbers, rewards, strict=True):
                value = self._checked(number, told[int(number)].arm, reward)
                earlier = fresh.get(int(number), told[int(number)].reward)
                if earlier is not None and value != earlier:
                    raise TicketError(
                        f"ticket {number} was already told {earlier} (by worker {told[int(number)].worker!r}); it cannot "
                        f"become {value}. The first reward counts"
                    )
                if earlier is None:
                    fresh[int(number)] = value
            log.write_rewards(connection, self.id, {n: (told[n].arm, v) for n, v in fresh.items()}, self.store.now())

    def fail(self, ticket: int, reason: str = "", reward: SupportsFloat | None = None, *, kind: str = "failed") -> None:
        """Say that an evaluation gave no reward. Its ticket is handed out again, or counts as a stated reward.

        That reward is `reward` or else, once the study's `retries` are used up, its `on_failure`. `kind` is what health calls it.
        """
        with self.store.writing() as connection:
            number = _number(ticket)
            found = log.read_tickets(connection, self.id, [number])[number]
            stated = None if reward is None else self._checked(number, found.arm, reward)
            if found.reward is not None:
                raise TicketError(f"ticket {number} was already told {found.reward}; it cannot fail now ({reason})")
            lease = log.Lease(self.id, found.worker, connection.execute(sa.select(self.store.now())).scalar_one())
            if found.lease != 0:
                log.write_event(connection, lease, number, found.arm, kind, str(reason))
            if stated is None and found.attempts > self.settings.handling.retries:
                stated = self.settings.handling.on_failure
            if stated is None:
                log.give_back(connection, self.id, number)
            else:
                log.write_event(connection, lease, number, found.arm, "imputed", f"counted as {stated}")
                log.write_rewards(connection, self.id, {number: (found.arm, stated)}, self.store.now())

    def add_arms(self, labels: Sequence[str]) -> None:
        """Add arms while the study runs: its algorithm learns of them once its current request is answered.

        Refused by algorithms whose guarantee would not hold.
        """
        with self._writing() as connection:
            session = self._caught_up(connection)
            trial = labels_of((*self.labels, *_labels(labels)))[len(self.labels) :]
            at = self._position
            if session.running.request is not None:
                recorded = log.last_request(connection, self.id)
                if recorded is None or recorded.first < self._position:
                    self._record_next(connection)
                at += session.running.request.total
            session.grow(trial)  # refuses, if it must
            self._session = None  # it grew before its time: replay
            log.add_arms(connection, self.id, trial, len(self.labels), at)
        with self.store.reading() as connection:
            self._arms = log.read_arms(connection, self.id)

    def status(self) -> Progress:
        """How the study stands: who leads, how sure, how much is out, how much longer it may take."""
        with self._reading() as connection:
            session = self._caught_up(connection)
            return progress_of(connection, self.id, self.name, session, self.settings, self.store.now())

    def health(self) -> Health:
        """Failed, retried and expired evaluations by arm, where there were any."""
        with self.store.reading() as connection:
            return health_of(connection, self.id, self.labels)

    def result(self, *, history: bool = False) -> Result:
        """The verdict; before the end, the answer so far, not certified. `history` keeps evidence over time: a replay."""
        looks = history_hook()
        session = self.session(on_request=looks) if history else self._current()
        return replace(session.result(tuple(looks.points)), health=self.health())

    def export(self) -> dict[str, Any]:
        """All of the study as plain data: what ``surest study export`` writes and ``import_study`` reads."""
        from surest.study.transfer import export_study

        return export_study(self)

    def session(self, *, record: bool = False, on_request: Looks | None = None) -> Session:
        """The log, replayed into a fresh session and checked on the way: what `record` keeps can be looked at."""
        with self._reading() as connection:
            self._session, self._position = None, 0
            return self._caught_up(connection, record=record, on_request=on_request)

    def _checked(self, number: int, arm: int, reward: Any) -> float:
        label = self._arms[arm].label if arm < len(self._arms) else arm
        return self.settings.problem.scale.number(reward, f"ticket {number} (arm {label!r})")

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        """The study to ourselves: one process at a time decides what is handed out."""
        with self._lock, self.store.writing() as connection:
            if not log.lock_study(connection, self.id):
                raise UsageError(_unknown(self.store, self.name) + " any more")
            yield connection

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        """The study as it is between two writers: an arm must not be added while we replay past its ticket."""
        with self._lock, self.store.reading() as connection:
            if not log.lock_study(connection, self.id, shared=True):
                raise UsageError(_unknown(self.store, self.name) + " any more")
            yield connection

    def _current(self) -> Session:
        with self._reading() as connection:
            return self._caught_up(connection)

    def _record_next(self, connection: Connection) -> bool:
        """Write down what the algorithm asks next; False at its end."""
        request = next_request(self._caught_up(connection), self._position)
        if request is not None:
            log.write_request(connection, self.id, request)
        return request is not None

    def _caught_up(self, connection: Connection, *, record: bool = False, on_request: Looks | None = None) -> Session:
        """The session in step with the log: every request whose rewards have all been told is answered."""
        session, position = self._session, self._position
        self._session = None  # what fails half-way is started again
        if session is None:
            self.store.check(connection)
            position = 0
            self._arms = log.read_arms(connection, self.id)
            session = self.settings.session([arm.label for arm in self._arms if arm.added_at == 0], record=record)
            log.check_rewards(connection, self.id)
        complete = log.complete_requests(connection, self.id, position)
        if complete:
            end = complete[-1].first + complete[-1].total
            arms, rewards = log.read_rewards(connection, self.id, position, end)
            self._arms = log.read_arms(connection, self.id)
            position = replay(
                session,
                position,
                complete,
                arms,
                rewards,
                later_arms((arm.label, arm.added_at) for arm in self._arms),
                on_request,
            )
        self._session, self._position = session, position
        return session


def list_studies(storage: str) -> list[Study]:
    """All studies of a database, by name."""
    store = Store(storage)
    store.prepare(create=False)
    with store.reading() as connection:
        names = log.study_names(connection)
    return [Study(store, name) for name in names]


def delete_study(storage: str, name: str) -> None:
    """Delete a study and all that was told to it."""
    store = Store(storage)
    store.prepare(create=False)
    with store.writing() as connection:
        if not log.delete_study(connection, name):
            raise UsageError(_unknown(store, name))


def _labels(arms: int | Sequence[str]) -> tuple[str, ...]:
    if isinstance(arms, int | np.integer) and not isinstance(arms, bool) and 1 <= arms <= 10**7:
        return tuple(str(i) for i in range(int(arms)))
    if isinstance(arms, str) or not isinstance(arms, Sequence | np.ndarray) or len(arms) == 0:
        raise UsageError(f"arms are {_short(arms)}; give their number, from 1 on, or a list of their labels")
    for label in arms:
        storable(str(label), "an arm's label")
    return labels_of([str(label) for label in arms])


def storable(text: str, what: str) -> None:
    """Refuse text that a database cannot keep, or a person cannot see."""
    if not isinstance(text, str) or not text.strip() or "\x00" in text or len(text) > 500 or not _encodes(text):
        raise UsageError(f"{what} is {_short(text)}; it must be text of 1 to 500 characters")


def _encodes(text: str) -> bool:
    try:
        return bool(text.encode())
    except UnicodeEncodeError:
        return False


def _number(ticket: Any) -> int:
    if isinstance(ticket, int | np.integer) and 0 <= int(ticket) < 2**63:
        return int(ticket)
    raise TicketError(f"ticket {_short(ticket)} was never handed out; tell the ids that ask() gave")


def _unknown(store: Store, name: str) -> str:
    with store.reading() as connection:
        there = log.study_names(connection)
    return f"there is no study {name!r} in {store.shown} ({f'there are {_some(there)}' if there else 'it holds none'})"


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (f", … ({len(names)} in all)" if len(names) > 5 else "")


def _short(value: object) -> str:
    """A value for a message; a huge one cut."""
    try:
        text = repr(value)
    except ValueError:  # an integer with more digits than Python writes
        return f"an integer of {value.bit_length()} bits" if isinstance(value, int) else "?"
    return text if len(text) <= 60 else text[:57] + "…"


def own_name() -> str:
    """What the log calls this process."""
    return f"{socket.gethostname()}:{os.getpid()}"

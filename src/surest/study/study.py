"""`open_study`: ask and tell on a log in a database, from any process."""

import os
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from math import inf
from typing import TYPE_CHECKING, Any, SupportsFloat

import msgspec
import numpy as np

from surest.core.duels import DUELS, with_pairs
from surest.core.keywords import check_keywords
from surest.core.problem import default_algorithm, labels_of, refuse_unheeded, takes_settings
from surest.core.protocol import Answer, FloatArray
from surest.errors import RewardError, StorageError, TicketError, UnknownStudyError, UsageError
from surest.search.tickets import Ticket
from surest.study.log import Event, Facts, Item, Log, Store, StoredTicket
from surest.study.settings import (
    KNOWN,
    Settings,
    check_opened,
    checked_items,
    checked_labels,
    checked_number,
    checked_settings,
    is_service,
    storable,
    store_of,
    unknown_study,
)
from surest.study.telling import Ask, Call, Failure, Handed, Outcome, Tell, carry_out
from surest.study.workers import gone, own_name

if TYPE_CHECKING:  # what only some calls need is imported there: commands of the shell ask and tell once an evaluation
    from surest.core.procedure import Running
    from surest.result.data import Result
    from surest.search.session import Session
    from surest.search.watching import Looks
    from surest.study.following import Follower
    from surest.study.outcome import Progress

Health = dict[str, dict[str, int]]
"""How often evaluations of an arm failed, timed out, expired, were interrupted, retried, or counted as a stated reward
(imputed)."""
SOUND_SECONDS = 10.0  # for which a study that was looked at for damage is not looked at again


@takes_settings
def open_study(
    storage: str | Store,
    name: str,
    arms: int | Sequence[str] | None = None,
    delta: float | None = None,
    *,
    items: int | Sequence[Any] | None = None,
    lease_seconds: float | None = None,
    on_failure: float | None = None,
    retries: int | None = None,
    load_if_exists: bool = True,
    **settings: Any,
) -> "Study":
    """Open a study, or make it: a `Session` whose log is in a database.

    Parameters
    ----------
    storage : str or Store
        ``sqlite:///file.db``, ``postgresql://user@host/name`` for workers on several machines, ``http://host:8080`` for a
        service (``surest serve``), ``memory:`` for trying out, or a store of your own (`surest.study.log.Store`).
    name : str
        The study's name in that database.
    arms : int or sequence of str, optional
        How many arms, or their labels. Needed to make a study; may be left out to open one.
    items : int or sequence, optional
        A list that all arms are compared on: how many items, their keys, or pairs of a key and what an evaluation needs to know.
        Tickets then name an item too. For algorithms that work on lists.
    delta, **settings
        As for `Session`. Where a study exists they may be left out; what is given must agree with it. Name your own
        algorithm by its file: ``algorithm="file.py:function"``. The file runs only in calls that name it.
    lease_seconds : float
        How long a worker may take. After that its ticket is handed out again. Default 600.
    on_failure : float, optional
        The reward recorded after the last retry. Without it, an evaluation is retried until it succeeds.
    retries : int
        How often a failed evaluation is retried before `on_failure` counts, default 3.
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
    check_keywords({"load_if_exists": load_if_exists, "on_failure": on_failure})
    handling = {"lease_seconds": lease_seconds, "on_failure": on_failure, "retries": retries}
    said = {"delta": delta, **handling, **settings}
    given = {name: value for name, value in said.items() if name in KNOWN and value is not None}
    options = {name: value for name, value in said.items() if name not in KNOWN}
    given |= {"options": options} if options else {}
    if given.get("algorithm") == DUELS:
        arms, given = with_pairs(arms, given)
    labels = None if arms is None else checked_labels(arms)
    listed = checked_items(items)
    given |= {"items": len(listed)} if listed else {}
    if arms is not None:
        refuse_unheeded(given, given.get("items"))
    storable(name, "a study's name")
    if is_service(storage):
        from surest.study.remote import open_remote

        return open_remote(str(storage), name, labels, listed, given, load_if_exists)
    named = given.get("algorithm")
    store = store_of(storage)
    store.prepare(create=arms is not None)
    with store.reading() as log:
        there = log.find_study(name) is not None
        if not there and labels is None:
            raise UnknownStudyError(unknown_study(store, name, log) + "; give its arms to make it")
    if not there and labels is not None:
        import secrets

        asked = checked_settings({"seed": secrets.randbits(32), "algorithm": default_algorithm(given), **given}, named)
        asked.session(list(labels))  # refuses what the algorithm cannot do, before anything is stored
        with store.writing() as log:
            there = log.add_study(name, asked.text(), labels, listed) is None  # others were faster
    study = Study(store, name, named)
    if there:
        check_opened(study, given, labels, listed, load_if_exists)
    return study


class Study:
    """Ask what to evaluate and tell the rewards, from any thread, process or machine. Made by `open_study`."""

    lasting = True

    def __init__(self, store: Store, name: str, named: str | None = None) -> None:
        self.name, self.store = name, store
        with store.reading() as log:
            row = log.find_study(name)
            if row is None:
                raise UnknownStudyError(unknown_study(store, name, log))
            self.labels = tuple(arm.label for arm in log.read_arms(row.id))
            self.items = tuple(log.read_items(row.id))
        self.id = row.id
        try:
            stored = msgspec.json.decode(row.settings)
        except msgspec.DecodeError:
            raise StorageError(f"the database is damaged: the settings of study {name!r} cannot be read") from None
        self._begin(checked_settings(stored, named))

    def _begin(self, settings: Settings) -> None:
        """Settings, and what belongs to one process: a lock, and the session in step with the log. A fork gets its own."""
        self.settings, self.scale, self.seed = settings, settings.problem.scale, settings.problem.seed
        self.lease_seconds, self.on_failure = settings.handling.lease_seconds, settings.handling.on_failure
        self._pid, self._lock = os.getpid(), threading.RLock()
        self._holders: dict[int, str] = {}  # under which names tickets were taken here
        self._follower: Follower | None = None
        self._sound_until = -inf

    def _begin_in_child(self) -> None:
        """A fork begins anew: a thread of its parent may hold the lock, and does so for ever here."""
        if self._pid != os.getpid():
            self._begin(self.settings)

    def facts(self, log: Log, *, lock: bool = False) -> Facts:
        """The study now, with the arms that others added. One that was deleted meanwhile is refused, even if there is another
        one of its name by now."""
        facts = log.study_facts(self.id, lock=lock)
        if facts is None:
            raise UnknownStudyError(unknown_study(self.store, self.name, log) + " any more")
        if facts.arms != len(self.labels):
            self.labels = tuple(arm.label for arm in log.read_arms(self.id))
        return facts

    @contextmanager
    def at_one_moment(
        self, *, write: bool = False, check: bool | None = None
    ) -> Iterator[tuple[Log, "Follower", Facts]]:
        """The study to ourselves, among the threads of this process, and the session that follows its log.

        Where it is written, one process at a time decides what is handed out. With `check` the store looks for damage; with
        False, unless it did so a moment ago: a session in step with the log does not read all of it.
        """
        self._begin_in_child()
        with self._lock:
            if self._follower is None:
                from surest.study.following import Follower

                self._follower = Follower(self.store, self.id, self.settings, len(self.items))
            follower = self._follower
            try:
                with self.store.writing() if write else self.store.reading() as log:
                    facts, began = self.facts(log, lock=write), time.monotonic()
                    if facts.arms != len(follower.arms) > 0:  # others added some
                        follower.forget()
                    if check or (check is False and began >= self._sound_until):
                        self.store.check(log)
                        self._sound_until = began + max(SOUND_SECONDS, 100 * (time.monotonic() - began))
                    yield log, follower, facts
            except BaseException:
                if write:
                    follower.forget()  # it may be ahead of what was not written after all
                raise

    def on_item(self, item: int | None) -> str:
        """What a message says of an item."""
        return "" if item is None else f" on item {self.items[item].key!r:.80}"

    def item_of(self, ticket: Ticket) -> Item | None:
        """The item that a ticket is about; None in a study without a list."""
        return None if ticket.item is None else self.items[ticket.item]

    @property
    def finished(self) -> bool:
        """Whether there is nothing left to ask: decided, or budget spent."""
        with self.at_one_moment() as (log, follower, _):
            return follower.catch_up(log).finished

    @property
    def running(self) -> "Running[Answer]":
        """The procedure as the log has moved it. Nobody but the study may change it."""
        with self.at_one_moment() as (log, follower, _):
            return follower.catch_up(log).running

    _carry_out = carry_out

    def ask(self, k: int = 1, worker: str | None = None) -> list[Ticket]:
        """Up to k tickets, leased to this worker: first those that failed or whose lease has run out, then fresh ones.

        Fewer, or none, when the algorithm first needs the rewards of those that are out; `finished` tells that from the end.
        """
        if not isinstance(k, int | np.integer) or k < 1:
            raise UsageError(f"asked for {k!r} tickets; ask for at least one")
        who = own_name() if worker is None else worker
        storable(who, "a worker's name")
        (handed,) = self._send([Ask(int(k), who, ends=False)])
        assert isinstance(handed, Handed)
        self._holders |= {ticket.id: who for ticket in handed.tickets}
        return handed.tickets

    def tell(self, ticket: int, reward: SupportsFloat | tuple[Any, float | None], *, worker: str | None = None) -> None:
        """Say what an evaluation gave: on disk when this returns. What cannot be counted is refused, and changes nothing."""
        self._tell([ticket], [reward], worker)

    def tell_all(self, tickets: Sequence[Ticket], rewards: Sequence[SupportsFloat] | FloatArray) -> None:
        """Tell the rewards of several tickets, in the tickets' order, in one transaction: all of them, or none."""
        if len(tickets) != len(rewards):
            raise RewardError(f"{len(tickets)} tickets but {len(rewards)} rewards; give one for each")
        self._tell([ticket.id for ticket in tickets], rewards)

    def _tell(self, tickets: Sequence[Any], rewards: Any, worker: str | None = None) -> None:
        numbers = [checked_number(ticket) for ticket in tickets]
        holders = {self._holder(number) for number in numbers} if worker is None else {worker}
        # Of several workers' tickets the log keeps who has them.
        self._send([Tell(numbers, rewards, holders.pop() if len(holders) == 1 else None)])

    def exchange(self, told: Mapping[int, Any], k: int) -> list[Ticket]:
        """Tell rewards, and ask for up to k tickets, in one transaction, as this process. The first reward of a ticket counts."""
        who = own_name()
        tells: list[Call] = [Tell([number], [reward], who) for number, reward in told.items()]
        outcomes = self._send([*tells, *([Ask(k, who, ends=False)] if k else [])], TicketError)
        return outcomes[-1].tickets if outcomes and isinstance(outcomes[-1], Handed) else []

    def _send(self, calls: Sequence[Call], *but: type[Exception]) -> list[Outcome]:
        """Carry out calls. One that is refused is an error, `but` for some.

        Tickets that were told or failed, or that others have, are not held here any more.
        """
        outcomes = self._carry_out(calls)
        for call, outcome in zip(calls, outcomes, strict=True):
            if not isinstance(call, Ask) and (isinstance(outcome, TicketError) or not isinstance(outcome, Exception)):
                self._let_go(call.tickets if isinstance(call, Tell) else [call.ticket])
        for outcome in outcomes:
            if isinstance(outcome, Exception) and not isinstance(outcome, but):
                raise outcome
        return outcomes

    def _holder(self, number: int) -> str:
        """Under which name a ticket was taken here."""
        self._begin_in_child()
        return self._holders.get(number, own_name())

    def _let_go(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            self._holders.pop(number, None)

    def fail(
        self,
        ticket: int,
        reason: str = "",
        reward: SupportsFloat | None = None,
        *,
        kind: str = "failed",
        worker: str | None = None,
    ) -> None:
        """Say that an evaluation gave no reward. Its ticket is handed out again, or counts as a stated reward.

        Parameters
        ----------
        ticket : int
            Its number.
        reason : str
            What went wrong, for the log.
        reward : float, optional
            Count the evaluation as this reward. Without it, it counts as the study's `on_failure` once it has failed more often
            than the study's `retries`.
        kind : str
            What health calls it.
        worker : str, optional
            Who says so: the name given to `ask`, or else this process. Only who holds a ticket can fail it. If the lease ran out
            and another worker has the ticket now, that is a `TicketError`, and nothing changes.
        """
        number = checked_number(ticket)
        who = self._holder(number) if worker is None else worker
        self._send([Failure(number, reason, reward, kind, who)])

    def renew(self, numbers: Sequence[int], worker: str | None = None) -> list[int]:
        """Lengthen the leases of tickets that a worker, or this process, is still busy with; those that it holds.

        This process also lets the leases of processes of this machine that have ended run out.
        """
        takes_over = worker is None and self.store.one_machine  # a SQLite file is used on one machine only
        if not numbers and not takes_over:
            return []
        with self.store.writing() as log:
            at = self.facts(log).now
            ours = [ticket.number for ticket in self._held(log, numbers, worker)] if numbers else []
            if ours:
                log.lease_tickets(self.id, ours, at + self.lease_seconds)
            if takes_over:
                out = [ticket for ticket in log.read_tickets(self.id, open_by=inf) if ticket.lease > at]
                ended = {worker for worker in {ticket.worker for ticket in out} if gone(worker)}
                left = [ticket.number for ticket in out if ticket.worker in ended]
                if left:
                    log.lease_tickets(self.id, left, at)
        return ours

    def give_back(self, numbers: Sequence[int], worker: str | None = None) -> list[int]:
        """Let tickets that a worker, or this process, no longer evaluates be handed out again; those that it held."""
        if not numbers:
            return []
        with self.store.writing() as log:
            at, held = self.facts(log).now, self._held(log, numbers, worker)
            stopped = "interrupted", "its worker was stopped"
            log.write_events(self.id, [Event(t.number, t.arm, *stopped, t.worker, at) for t in held])
            log.lease_tickets(self.id, [ticket.number for ticket in held], 0.0)
        self._let_go(numbers)
        return [ticket.number for ticket in held]

    def _held(self, log: Log, numbers: Sequence[int], worker: str | None) -> list[StoredTicket]:
        """Of some tickets, those that a worker, or this process, holds."""
        found = log.read_tickets(self.id, among=numbers, open_by=inf, hold=True)
        who = own_name() if worker is None else worker
        return [ticket for ticket in found if ticket.worker == who and ticket.lease != 0]

    def add_arms(self, labels: Sequence[str]) -> None:
        """Add arms while the study runs: its algorithm learns of them once its current request is answered.

        Refused by algorithms whose guarantee would not hold.
        """
        with self.at_one_moment(write=True) as (log, follower, _):
            there = self.labels
            grown = labels_of((*there, *checked_labels(labels)))
            trial = grown[len(there) :]
            log.add_arms(self.id, trial, len(there), follower.grow(log, trial))
        self.labels = grown

    @property
    def paused(self) -> bool:
        """Whether `ask` hands out nothing, until `resume` is called."""
        with self.store.reading() as log:  # no session: an algorithm that may not run here can be paused
            return self.facts(log).paused

    def pause(self, paused: bool = True) -> None:
        """Hand out no more tickets, in any process, until `resume` is called. What is out may be told."""
        with self.store.writing() as log:
            self.facts(log, lock=True)
            log.set_paused(self.id, paused)

    def resume(self) -> None:
        """Hand out tickets again."""
        self.pause(False)

    def status(self) -> "Progress":
        """How the study stands: who leads, how sure, how much is out, how much longer it may take."""
        from surest.study.outcome import progress_of

        with self.at_one_moment(check=False) as (log, follower, facts):
            return progress_of(self, log, follower.look(log), facts)

    def health(self) -> Health:
        """Failed, retried and expired evaluations by arm, where there were any."""
        with self.store.reading() as log:
            self.facts(log)
            return health_of(log, self.id, self.labels)

    def result(self, *, history: bool = False, record: bool = False) -> "Result":
        """The verdict; before the end, the answer so far. `history` keeps evidence over time, `record` all rewards: a replay."""
        from surest.search.watching import Looks
        from surest.study.outcome import events_of

        looks = Looks() if history else None
        with self.at_one_moment(check=False) as (log, follower, _):
            session = follower.catch_up(log, anew=history or record, record=record, on_request=looks)
            items = [item.key for item in self.items] or None
            found = session.result(() if looks is None else tuple(looks.points), items=items)
            health, events = health_of(log, self.id, self.labels), events_of(self, log) if record else ()
            found = replace(found, health=health, events=events)
        if found.listed is None or found.listed.items_used < len(self.items):
            return found
        from surest.search.cells import further

        return further(found)

    def export(self) -> dict[str, Any]:
        """All of the study as plain data: what ``surest study export`` writes and ``import_study`` reads."""
        from surest.study.transfer import export_text

        found: dict[str, Any] = msgspec.json.decode(b"".join(export_text(self)))
        return found

    def session(self, *, record: bool = False, on_request: "Looks | None" = None) -> "Session":
        """The log, replayed into a fresh session, every row of it checked on the way: what `record` keeps can be looked at."""
        with self.at_one_moment() as (log, follower, _):
            session = follower.catch_up(log, anew=True, record=record, on_request=on_request)
            follower.forget()  # it is the caller's, who may tell it what the log does not say
            return session

    def __repr__(self) -> str:
        return f"Study({self.name!r}, {len(self.labels):,} arms, in {self.store.shown})"

    def _repr_html_(self) -> str:
        return str(import_module("surest.report.notebook").study_fragment(self))  # found when asked, as by `Result`

    def close(self) -> None:
        """Close the connections to the database. They are opened again when they are needed."""
        self.store.close()


def health_of(log: Log, study: int, labels: Sequence[str]) -> Health:
    """What happened to the tickets of each arm, where anything did."""
    found: Health = defaultdict(dict)
    for arm, kind, times, _ in sorted(log.count_events(study)):
        if not 0 <= arm < len(labels):
            raise StorageError(f"the study's log is damaged: it has an event of arm {arm}, which does not exist")
        found[labels[arm]][kind] = times
    return dict(found)


def list_studies(storage: str | Store) -> list[Study]:
    """All studies of a database, by name."""
    if is_service(storage):
        from surest.study.remote import list_remote

        return list_remote(str(storage))
    store = store_of(storage)
    store.prepare(create=False)
    with store.reading() as log:
        names = log.study_names()
    return [Study(store, name) for name in names]


def delete_study(storage: str | Store, name: str) -> None:
    """Delete a study and all its rewards."""
    if is_service(storage):
        from surest.study.remote import delete_remote

        return delete_remote(str(storage), name)
    store = store_of(storage)
    store.prepare(create=False)
    with store.writing() as log:
        if not log.delete_study(name):
            raise UnknownStudyError(unknown_study(store, name, log))

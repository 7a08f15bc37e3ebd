"""A session kept in step with a study's log: the log is replayed once, and from then on only what is new.

Which rewards answer which request follows from the log, and never from timing:

- Fresh pulls: tickets are numbered in the order of requests.
- Fresh pulls for several workers: a ticket's place in the queue of its arm is its rank among the tickets of that arm, and a
  request takes the next rewards of its arms. So idle workers may evaluate ahead of what is asked.
- A list of items: a ticket is a cell, an arm on an item, and each cell has at most one. No requests need to be written down.

A worker needs the replay only when the algorithm moves on to its next request: what is handed out next stands in the log, and a
reward is told by its ticket's number alone.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, repeat
from math import inf
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np

from surest.core.protocol import Answer, Pull
from surest.errors import StorageError, TicketError, TranscriptError
from surest.study.log import Arm, Event, Facts, Log, Recorded, Store, StoredTicket, arms_of, free_places, runs_of
from surest.study.settings import Settings

if TYPE_CHECKING:
    from surest.algorithms.entry import Script
    from surest.core.procedure import Running
    from surest.result.data import Result
    from surest.search.session import Session

Hook = Callable[["Running[Answer]"], object]  # what looks at a run before a request is answered
PORTION = 50_000  # tickets read at a time


class Look(NamedTuple):
    """How a study stands at one moment."""

    finished: bool
    in_play: int | None  # how many arms may still be the best, where the algorithm says so
    result: "Result"
    left: int  # rewards that the request under way still lacks


class Follower:
    """Follows one study."""

    def __init__(self, store: Store, study: int, settings: Settings, items: int) -> None:
        if items != (settings.problem.items or 0):  # before anything is made of a stated size
            raise StorageError(
                f"the study's log is damaged: it states {settings.problem.items} items and lists {items:,}"
            )
        self.store, self.study, self.settings, self.items = store, study, settings, items
        workers = settings.problem.options.get("workers", 1)  # as stored: the session refuses what is no number
        several = (isinstance(workers, int) and workers > 1) or ".py:" in str(settings.problem.algorithm)
        self.may_announce = several and not items
        """Whether the algorithm may announce requests, as far as that is known without it."""
        self._session: Session | None = None
        self.arms: list[Arm] = []  # those that the session knows, or will know
        self._seen = 0  # the session knows the tickets below this …
        self._open: dict[int, int] = {}  # … and of these had no reward: by number, their numbers in the session
        self._unwritten: list[Recorded] = []  # requests that were answered before anybody wrote them down
        self._checked: list[Recorded] = []  # of the log from the current one on, as they were last seen to fit
        self._later: dict[int, list[str]] = {}  # arms that came later, by the ticket from which on they are known
        self._scripted = False  # whether the algorithm is told what was asked: it would have asked otherwise
        self._looked: tuple[tuple[Session, int], Look] | None = None  # what the last look saw

    def forget(self) -> None:
        """Begin anew next time."""
        self._session = self._looked = None

    def catch_up(
        self, log: Log, *, anew: bool = False, record: bool = False, on_request: Hook | None = None, told: bool = False
    ) -> "Session":
        """The session, told what is new in the log: every request whose rewards are all there is answered.

        `anew` replays all of the log into a fresh session. `on_request` looks at the run before each request is answered. `told`
        says that this is another try, whose algorithm was told all that is in the log.
        """
        session, self._session = None if anew else self._session, None  # what fails half-way is started again
        try:
            if session is None:
                session = self._begun(log, record=record)
            among = log.read_tickets(self.study, among=list(self._open)) if self._open else []
            had = [ticket for ticket in among if ticket.reward is not None]
            if had:
                session.adopt(had, len(self.arms), [self._open.pop(ticket.number) for ticket in had])
            while new := log.read_tickets(self.study, self._seen, self._seen + PORTION):
                numbers = session.adopt(new, len(self.arms))
                self._open |= {t.number: own for t, own in zip(new, numbers, strict=True) if t.reward is None}
                self._seen += len(new)
                if len(new) < PORTION:
                    break
            written = [] if self.items else log.read_requests(self.study, session.running.pulls)
            if not session.tickets.missing:
                self._unwritten += answer_all(session, written, {} if self.items else self._later, on_request)
                written = [one for one in written if one.first >= session.running.pulls]
            if written != self._checked:
                check_under_way(session, written)
                self._checked = written
        except TicketError as error:
            raise StorageError(f"the study's log is damaged: {error}") from None
        except Departure as found:
            if told:
                raise
            self._scripted, ticket, seen = True, found.ticket, on_request  # what came before it was looked at
            again = None if seen is None else lambda run: run.pulls >= ticket and seen(run)
            return self.catch_up(log, record=record, on_request=again, told=True)
        self._session = session
        return session

    def _begun(self, log: Log, *, record: bool) -> "Session":
        self.store.check(log)
        self.arms = log.read_arms(self.study)
        self._seen, self._open, self._unwritten, self._checked = 0, {}, [], []
        script = script_of(log.read_requests(self.study), [a.added_at for a in self.arms]) if self._scripted else ()
        first = [arm.label for arm in self.arms if arm.added_at == 0]
        self._later = later_arms(self.arms) if len(first) < len(self.arms) else {}
        session = self.settings.session(first, record=record, script=script)
        if self.items:
            for at, labels in self._later.items():
                session.grow(labels, at)
        return session

    def hand_out(self, log: Log, asked: Sequence[tuple[str, int]], facts: Facts, until: float) -> list[StoredTicket]:
        """Lease tickets to workers, to each up to so many: first those that failed or whose lease has run out, then fresh ones.

        They come in the order of those who ask: whoever comes first is served first.
        """
        most, at = sum(k for _, k in asked), facts.now
        if self.settings.problem.budget_cost is not None:
            most = min(most, self.catch_up(log).affordable(facts.open - facts.expired))
            if most < 1:
                return []
        fresh: Sequence[StoredTicket] = ()
        if self.items:
            again, fresh = self._wanted_cells(log, most, at)
        else:
            again = log.read_tickets(self.study, open_by=at, most=most, hold=True)
            if (again or self._ahead) and self.catch_up(log).finished:
                if self._session is not None:
                    self._write_requests(log, self._session)
                return []  # what is left was evaluated ahead, and is not needed any more
            if most > len(again):
                fresh = (self._chosen if self._ahead else self._next)(log, most - len(again), facts)
        # Leases of those that failed or whose worker did not come back in time, and why; and of fresh ones.
        takers = chain.from_iterable(repeat(worker, k) for worker, k in asked)
        events, taken = list[Event](), dict[str, list[int]]()
        for t, worker in zip(again, takers, strict=False):
            if t.lease != 0:
                events.append(Event(t.number, t.arm, "expired", "its worker did not come back in time", t.worker, at))
            events.append(Event(t.number, t.arm, "retried", "", worker, at))
            taken.setdefault(worker, []).append(t.number)
        if events:
            log.write_events(self.study, events)
        for worker, numbers in taken.items():
            log.lease_tickets(self.study, numbers, until, worker)
        pairs = zip(fresh, takers, strict=False)
        leased = [msgspec.structs.replace(ticket, lease=until, worker=worker) for ticket, worker in pairs]
        log.add_tickets(self.study, leased)
        return again + leased

    @property
    def _ahead(self) -> bool:
        """Whether tickets are handed out ahead of what is asked, as far as that is known without a replay."""
        return self.may_announce or (self._session is not None and bool(self._session.running.announced))

    def _chosen(self, log: Log, most: int, _: Facts) -> list[StoredTicket]:
        """Tickets that are asked for, announced, or likely next."""
        session = self.catch_up(log)
        self._write_requests(log, session)
        tickets = session.ask(most)
        fresh = [StoredTicket(number, ticket.arm) for number, ticket in enumerate(tickets, self._seen)]
        self._open |= {new.number: ticket.id for new, ticket in zip(fresh, tickets, strict=True)}
        self._seen += len(fresh)
        return fresh

    def _next(self, log: Log, most: int, facts: Facts) -> list[StoredTicket]:
        """The next tickets of the request that is written down, without a replay; at its end, of the one that follows."""
        free = free_places(log, self.study, facts.tickets, most)
        if free is None and not facts.open:  # all that was written down is told
            session = self.catch_up(log)
            self._write_requests(log, session)
            free = None if session.finished else free_places(log, self.study, facts.tickets, most)
        return free or []

    def _write_requests(self, log: Log, session: "Session") -> None:
        """Write down what was asked and announced, so that another version can be told."""
        last = log.read_requests(self.study, None)
        end = last[0].end if last else 0
        for request in [*self._unwritten, *([] if session.finished else requests_ahead(session))]:
            if request.first >= end:
                log.write_request(self.study, request)
        self._unwritten = []

    def _wanted_cells(self, log: Log, most: int, at: float) -> tuple[list[StoredTicket], list[StoredTicket]]:
        """Tickets of the cells that are wanted most and nobody is busy with: those that there are, and fresh ones."""
        out = {(t.arm, t.item or 0): t for t in log.read_tickets(self.study, open_by=inf)}
        session = self.catch_up(log)  # after that: a cell that is told meanwhile must not look like a fresh one
        if session.finished:
            return [], []
        busy = {cell for cell, ticket in out.items() if ticket.lease > at}
        wanted = session.cells.wanted(most, busy, len(busy))
        ours = [out[cell].number for cell in wanted if cell in out]
        again = log.read_tickets(self.study, among=ours, open_by=at, hold=True) if ours else []
        cells = [cell for cell in wanted if cell not in out]
        return again, [StoredTicket(number, *cell) for number, cell in enumerate(cells, self._seen)]

    def draws(self, log: Log, tickets: Sequence[StoredTicket]) -> list[int | None]:
        """Of tickets that are out: what seeds are made from, where that is not their number: arm and place in its queue."""
        if not (self._session or self.catch_up(log)).has_queues:
            return [None] * len(tickets)
        if any(ticket.number not in self._open for ticket in tickets):
            self.catch_up(log)
        return [self._open.get(ticket.number) for ticket in tickets]

    def grow(self, log: Log, labels: Sequence[str]) -> int:
        """Refuse arms that cannot be added now, or say from which ticket on they count.

        On a list of items, after how many items: all that have a cell told or handed out, since who adds arms may know of it.
        """
        session = self.catch_up(log)
        if self.items:
            out = log.read_tickets(self.study, open_by=inf)
            at = session.items_met([(ticket.arm, ticket.item) for ticket in out if ticket.item is not None])
            added: int | None = at
        else:
            self._write_requests(log, session)
            at, added = session.running.pulls, None
            if session.running.request is not None:
                at += session.running.request.total
        self._session = None  # it grows before its time, or is not to be used
        session.grow(labels, added)  # refuses, if it must
        return at

    def look(self, log: Log) -> Look:
        """How the study stands."""
        session = self.catch_up(log)
        known = session, session.evaluations  # of a session in step with the log, its rewards say all
        if self._looked is None or self._looked[0] != known:
            finished, state = session.finished, session.running.status
            left = 0 if finished else session.tickets.missing
            look = Look(finished, None if state is None else state.in_play, session.result(), left)
            self._looked = known, look
        return self._looked[1]


class Departure(TranscriptError):
    """The algorithm asks for something else than the log says, at a ticket. It may be told what was asked, and go on."""

    def __init__(self, message: str, ticket: int) -> None:
        super().__init__(message)
        self.ticket = ticket


def departure(session: "Session", message: str, ticket: int) -> TranscriptError:
    """The log does not fit: a `Departure` where the guarantee of the algorithm holds whatever is pulled when."""
    from surest.algorithms import lookup  # most of what is asked of a study needs none

    may_be_told = lookup(session.problem.algorithm).any_sampling
    return Departure(message, ticket) if may_be_told else TranscriptError(message)


def script_of(requests: Sequence[Recorded], added_at: Sequence[int]) -> "Script":
    """What was asked, for an algorithm that may be told; of each arm the ticket from which on it is known.

    A request names arms that are known, and each arm is pulled as soon as it is: no version has ever asked otherwise.
    """
    script, pulled = [], np.zeros(len(added_at), bool)
    for request in requests:
        arms, times = map(np.copy, arms_of(request.runs, len(added_at)))  # an algorithm may write to its own
        known = np.asarray(added_at) <= request.first
        if known[arms].all():
            pulled[arms] = True
        if not np.array_equal(pulled, known):
            raise TranscriptError(
                f"ticket {request.first}: the log says {request}, but then there were {int(known.sum())} arms, each to be pulled "
                "at once. The log was changed"
            )
        script.append((arms, times, request.statistic))
    return script


def later_arms(arms: Iterable[Arm]) -> dict[int, list[str]]:
    """The labels of arms that came later, by the ticket from which on the algorithm knows them."""
    found: dict[int, list[str]] = {}
    for arm in arms:
        if arm.added_at > 0:
            found.setdefault(arm.added_at, []).append(arm.label)
    return found


def requests_ahead(session: "Session") -> list[Recorded]:
    """What a session now waits on, and what it has announced; at its end, what had been announced."""
    current, found = session.running.request, list[Recorded]()
    for request in (*([current] if isinstance(current, Pull) else []), *session.running.announced):
        found.append(_recorded(request, found[-1].end if found else session.running.pulls))
    return found


def _recorded(request: Pull, first: int) -> Recorded:
    return Recorded(first, request.total, str(request.statistic), runs_of(request))


def check_under_way(session: "Session", written: Sequence[Recorded]) -> None:
    """See that the requests which are being answered are those of the session."""
    asked, position = requests_ahead(session), session.running.pulls
    fits = list(written[: len(asked)]) == asked[: len(written)]  # some are not written down yet, or others have gone on
    if session.finished:  # what had been announced may not be needed any more; a script does not say what was announced
        fits = session.scripted or list(written) == asked[: len(written)]
    if not fits:
        said = f"ticket {position}: the log says {written[0]}, and {session.running.name} otherwise"
        raise departure(session, said, position)


def answer_all(
    session: "Session", written: Sequence[Recorded], additions: Mapping[int, list[str]], on_request: Hook | None = None,
) -> list[Recorded]:  # fmt: skip
    """Answer requests as long as their rewards are there; those which are not among the `written` ones.

    `written` are the requests of the log from the current one on, and each is checked. Their numbers are those of rewards as
    they count. `additions` are arms by the ticket from which on they count. `on_request` looks at the run before each reply.
    """
    found = list[Recorded]()
    for recorded in chain(written, repeat(None)):
        if session.finished or session.tickets.missing:
            break
        request = session.running.request
        asked = _recorded(request, session.running.pulls) if isinstance(request, Pull) else None
        if recorded is not None and recorded != asked:
            raise departure(
                session,
                f"ticket {session.running.pulls}: the log says {recorded}, but replaying it the algorithm asks {asked}. The log "
                f"was changed, or this version of {session.running.name} differs from the one that wrote it",
                session.running.pulls,
            )
        if asked is not None:
            if recorded is None:
                found.append(asked)
            if asked.end in additions:
                session.grow(additions[asked.end])
        if on_request is not None:
            on_request(session.running)
        session.answer()
    return found

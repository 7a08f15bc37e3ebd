"""What workers say of their tickets, written within a transaction: the same rules for one call and for many at once.

What is refused is refused before anything is written, so that others of the same transaction are not touched by it.
"""

from collections.abc import Mapping, Sequence
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from surest.core.protocol import FloatArray
from surest.errors import TicketError, UsageError
from surest.search.tickets import Ticket
from surest.study.log import NO_FAILURES, Event, Log, StoredTicket
from surest.study.settings import check_holder, check_there, checked_number, never, storable
from surest.study.workers import gone, own_name

if TYPE_CHECKING:
    from surest.study.following import Follower
    from surest.study.study import Study


class Failure(NamedTuple):
    """An evaluation that gave no reward: of which ticket, why, as what it counts, what health calls it, and who says so."""

    ticket: Any
    reason: str
    reward: Any
    kind: str
    worker: str


def check_worker(name: str | None) -> None:
    """Refuse the name of a worker that `ask` would refuse: no export that has it could be imported."""
    if name is not None:
        storable(name, "a worker's name")


def write_told(
    study: "Study", log: Log, numbers: Sequence[Any], rewards: Sequence[Any] | FloatArray, worker: str | None = None
) -> list[int]:
    """Write rewards; the tickets that were not told before."""
    check_worker(worker)
    there = held(log, study.id, [checked_number(number) for number in numbers])
    fresh = fresh_rewards(study, there, numbers, rewards)
    told = [told_by(there[number], value, worker or study.holder_of(number)) for number, value in fresh.items()]
    log.write_rewards(study.id, told)
    return list(fresh)


def held(log: Log, study: int, numbers: Sequence[int]) -> dict[int, StoredTicket]:
    """Tickets by number, held until the transaction ends."""
    return {ticket.number: ticket for ticket in log.read_tickets(study, among=numbers, hold=True)}


def told_by(ticket: StoredTicket, reward: float, worker: str | None) -> StoredTicket:
    """A ticket with its reward. If it was handed to somebody else meanwhile, the log names who told it.

    A ticket that was handed out once stays with whoever took it: another process may well tell it.
    """
    late = worker is not None and ticket.attempts > 1
    return replace(ticket, reward=reward, worker=worker if late else ticket.worker)


def fresh_rewards(
    study: "Study",
    told: Mapping[int, StoredTicket],
    numbers: Sequence[Any],
    rewards: Sequence[Any] | FloatArray,
) -> dict[int, float]:
    """The rewards of tickets that were not told before. Another reward than the first is refused."""
    fresh: dict[int, float] = {}
    for number, reward in zip(map(int, numbers), rewards, strict=True):
        if number not in told:
            raise never(number)
        value = _checked(study, told[number], reward)
        earlier = fresh.get(number, told[number].reward)
        if earlier is not None and value != earlier:
            raise TicketError(
                f"ticket {number} was already told {earlier} (by worker {told[number].worker!r}); it cannot "
                f"become {value}. The first reward counts"
            )
        if earlier is None:
            fresh[number] = value
    return fresh


def _checked(study: "Study", ticket: StoredTicket, reward: Any) -> float:
    """A reward as a number within the bounds."""
    label = study.labels[ticket.arm] if ticket.arm < len(study.labels) else ticket.arm
    return study.settings.problem.scale.number(reward, f"ticket {ticket.number} (arm {label!r})")


def write_failure(study: "Study", log: Log, failure: Failure) -> None:
    """Let a ticket be handed out again, or count as a stated reward."""
    number, handling = checked_number(failure.ticket), study.settings.handling
    found = held(log, study.id, [number]).get(number)
    if found is None:
        raise never(failure.ticket)
    storable(failure.kind, "the kind of a failure")
    stated = None if failure.reward is None else _checked(study, found, failure.reward)
    check_holder(found, failure.worker, failure.reason)
    failures, events, at = found.failures, list[Event](), check_there(study, log).now
    if found.lease != 0:  # else it was said before
        events.append(Event(number, found.arm, failure.kind, str(failure.reason), found.worker, at))
        failures += failure.kind not in NO_FAILURES
    if stated is None and failures > handling.retries:
        stated = handling.on_failure
    if stated is None:
        log.lease_tickets(study.id, [number], 0.0)
    else:
        events.append(Event(number, found.arm, "imputed", f"counted as {stated}", found.worker, at))
        log.write_rewards(study.id, [replace(found, reward=stated)])
    log.write_events(study.id, events)


def renew(study: "Study", numbers: Sequence[int], worker: str | None = None) -> list[int]:
    """Lengthen the leases of tickets that this process is still busy with: however long it takes, none is handed out again.

    Returns those that it holds. The others were told, given back, or handed to somebody else.
    """
    if not numbers:
        return []
    with study.store.writing() as log:
        now, held = _held(study, log, numbers, worker)
        ours = [ticket.number for ticket in held]
        log.lease_tickets(study.id, ours, now + study.lease_seconds)
    return ours


def give_back(study: "Study", numbers: Sequence[int], worker: str | None = None) -> list[int]:
    """Let tickets that this process no longer evaluates be handed out again at once. Returns those that it held."""
    if not numbers:
        return []
    with study.store.writing() as log:
        at, ours = _held(study, log, numbers, worker)
        stopped = "interrupted", "its worker was stopped"
        log.write_events(study.id, [Event(t.number, t.arm, *stopped, t.worker, at) for t in ours])
        given = [ticket.number for ticket in ours]
        log.lease_tickets(study.id, given, 0.0)
    return given


def _held(study: "Study", log: Log, numbers: Sequence[int], worker: str | None) -> tuple[float, list[StoredTicket]]:
    """The time, and those of the tickets that a worker, or this process, has: nobody else got them, and they are not told."""
    who = own_name() if worker is None else worker
    now = check_there(study, log).now
    found = log.read_tickets(study.id, among=numbers, open_by=inf, hold=True)
    return now, [ticket for ticket in found if ticket.worker == who and ticket.lease != 0]


def take_over(study: "Study") -> None:
    """Let the leases of processes of this machine that are no more run out now. A SQLite file is used on one machine only."""
    if not study.store.one_machine:
        return
    with study.store.writing() as log:
        at = check_there(study, log).now
        held = [ticket for ticket in log.read_tickets(study.id, open_by=inf) if ticket.lease > at]
        ended = {worker for worker in {ticket.worker for ticket in held} if gone(worker)}
        log.lease_tickets(study.id, [ticket.number for ticket in held if ticket.worker in ended], at)


class Ask(NamedTuple):
    """Up to k tickets for a worker. With `held`, tickets which are leased to it and which it does not know of come first."""

    k: int
    worker: str
    held: frozenset[int] | None = None


class Tell(NamedTuple):
    """What evaluations gave."""

    tickets: Sequence[Any]
    rewards: Sequence[Any]
    worker: str | None = None
    """Who tells them, if that is known."""


class Handed(NamedTuple):
    """What an ask gave: tickets, or why there are none."""

    tickets: list[Ticket]
    finished: bool
    paused: bool


Call = Ask | Tell | Failure
Outcome = Handed | UsageError | int | None
"""Tickets; how many rewards were new; nothing; or why a call was refused."""


def carry_out(study: "Study", calls: Sequence[Call]) -> list[Outcome]:
    """Do what many workers ask, in one transaction; for each call what came of it.

    Rewards are written before anything is handed out: they may be what the algorithm waits for.

    >>> from surest import open_study
    >>> study = open_study("memory:batch", "demo", ["a", "b"], 0.1, algorithm="naive-best-arm")
    >>> first, second = carry_out(study, [Ask(1, "ann"), Ask(1, "bob")])
    >>> carry_out(study, [Tell([0], [0.5]), Tell([0], [0.7]), Tell([1], [0.5])])[::2]
    [1, 1]
    """
    outcomes: list[Outcome] = [None] * len(calls)
    says = [place for place, call in enumerate(calls) if not isinstance(call, Ask)]
    asks = [place for place, call in enumerate(calls) if isinstance(call, Ask)]
    if not asks:
        with study.store.writing() as log:
            _write(study, log, calls, says, outcomes)
        return outcomes
    with study.writing() as (log, follower):
        _write(study, log, calls, says, outcomes)
        for place, handed in zip(asks, _hand_out(study, log, follower, [calls[p] for p in asks]), strict=True):
            outcomes[place] = handed
    return outcomes


def _write(study: "Study", log: Log, calls: Sequence[Any], places: Sequence[int], outcomes: list[Outcome]) -> None:
    """Write rewards and failures. All tickets are read at once and in order, so that no two processes wait for each other."""
    numbers = _numbers(calls)
    told = held(log, study.id, numbers)
    if len(told) < len(numbers):
        check_there(study, log)
    fresh: dict[int, StoredTicket] = {}
    for place in places:
        call = calls[place]
        if isinstance(call, Tell):
            try:
                for number in call.tickets:
                    checked_number(number)
                check_worker(call.worker)
                new = fresh_rewards(study, told, call.tickets, call.rewards)
            except UsageError as refused:
                outcomes[place] = refused
                continue
            outcomes[place] = len(new)
            fresh |= {number: told_by(told[number], value, call.worker) for number, value in new.items()}
            told |= fresh
    log.write_rewards(study.id, list(fresh.values()))
    for place in places:
        call = calls[place]
        if isinstance(call, Failure):
            try:
                write_failure(study, log, call)
            except UsageError as refused:
                outcomes[place] = refused


def _numbers(calls: Sequence[Call]) -> list[int]:
    """The tickets that calls speak of; what is no number is refused later."""
    named: list[Any] = []
    for call in calls:
        if isinstance(call, Tell):
            named.extend(call.tickets)
        elif isinstance(call, Failure):
            named.append(call.ticket)
    return sorted({number for number in named if type(number) is int and 0 <= number < 2**63})


def _hand_out(study: "Study", log: Log, follower: "Follower", asks: Sequence[Any]) -> list[Handed]:
    facts = check_there(study, log)
    until, none = facts.now + study.lease_seconds, None
    found: list[Handed] = []
    for ask in asks:
        stored = [] if ask.held is None else _unheard(study, log, ask, facts.now, until)
        if not stored and none is None and not facts.paused:
            stored = follower.hand_out(log, ask.worker, ask.k, facts.now, until)
        if not stored and none is None:  # nor is there any for those who come after
            none = Handed([], follower.catch_up(log).finished, facts.paused)
        tickets = study.tickets_of(log, follower, stored)
        found.append(Handed(tickets, False, facts.paused) if tickets or none is None else none)
    return found


def _unheard(study: "Study", log: Log, ask: Ask, at: float, until: float) -> list[StoredTicket]:
    """Tickets that a worker was given, and does not know of: the answer to its last ask was lost on the way."""
    assert ask.held is not None
    out = [t for t in log.read_tickets(study.id, open_by=inf) if t.worker == ask.worker and t.lease > at]
    mine = [ticket for ticket in out if ticket.number not in ask.held][: ask.k]
    log.lease_tickets(study.id, [ticket.number for ticket in mine], until)
    return mine

"""What workers ask for and say of their tickets: many calls in one transaction, so that one flush of the disk acknowledges all.

A call that is refused changes nothing, and the others go on. What fails, as a lost connection does, fails for all.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice, repeat
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from surest.core.costs import parted
from surest.errors import TicketError, UsageError
from surest.search.tickets import Ticket
from surest.study.log import NO_FAILURES, Event, Facts, Log, StoredTicket
from surest.study.settings import check_holder, never, storable

if TYPE_CHECKING:
    from surest.study.following import Follower
    from surest.study.study import Study


class Ask(NamedTuple):
    """Up to k tickets for a worker. With `held`, tickets which are leased to it and which it does not know of come first."""

    k: int
    worker: str
    held: frozenset[int] | None = None
    ends: bool = True  # whether the answer is to say if that is the end: to know may take a replay


class Tell(NamedTuple):
    """What evaluations gave."""

    tickets: Sequence[int]
    rewards: Sequence[Any]
    worker: str | None = None  # who tells them, if that is known


class Failure(NamedTuple):
    """An evaluation that gave no reward: of which ticket, why, as what it counts, what health calls it, and who says so."""

    ticket: int
    reason: str
    reward: Any
    kind: str
    worker: str


class Handed(NamedTuple):
    """What an ask gave: tickets, or why there are none."""

    tickets: list[Ticket]
    finished: bool
    paused: bool


Call = Ask | Tell | Failure
Outcome = Handed | Exception | int | None  # tickets; how many rewards were new; nothing; or why a call was refused


def carry_out(study: "Study", calls: Sequence[Call]) -> list[Outcome]:
    """Do what many workers ask, in one transaction; for each call what came of it.

    Rewards are written before anything is handed out: they may be what the algorithm waits for. Where nothing can be handed
    out, since an algorithm fails or a log cannot be replayed, they are written without.
    """
    asks = [call for call in calls if isinstance(call, Ask)]
    others = [call for call in calls if not isinstance(call, Ask)]
    if not asks and study.settings.problem.spread is None:
        with study.store.writing() as log:
            return _write(study, log, others)
    handed: Iterable[Outcome]
    try:
        with study.at_one_moment(write=True) as (log, follower, facts):
            outcomes = _write(study, log, others, follower)
            handed = _hand_out(study, log, follower, study.facts(log) if others else facts, asks)
    except Exception as error:
        if not (asks and others):
            raise
        outcomes, handed = carry_out(study, others), repeat(error)
    found, said = iter(handed), iter(outcomes)
    return [next(found if isinstance(call, Ask) else said) for call in calls]


def _write(
    study: "Study", log: Log, calls: Sequence[Tell | Failure], follower: "Follower | None" = None
) -> list[Outcome]:
    """Write rewards and failures; for a spread, a `follower` knows the other cells of an item.

    All tickets are read at once and in order, so that no two processes wait for each other.
    """
    named = [n for call in calls if isinstance(call, Tell) for n in call.tickets]
    named += [call.ticket for call in calls if isinstance(call, Failure)]
    numbers = sorted(set(named))
    told = {ticket.number: ticket for ticket in log.read_tickets(study.id, among=numbers, hold=True)} if numbers else {}
    if len(told) < len(numbers):
        study.facts(log)  # if it is gone, that is to be said
    outcomes, fresh = list[Outcome](), dict[int, StoredTicket]()
    for call in calls:
        try:
            new = _fresh(study, told, call) if isinstance(call, Tell) else {}
            if new and follower is not None and study.settings.problem.spread is not None:
                both = [*(fresh | new).values()]
                cells = {(t.arm, t.item or 0): study.scale.to_unit(t.reward) for t in both if t.reward is not None}
                follower.catch_up(log).check_spread(cells)
            outcomes.append(len(new) if isinstance(call, Tell) else None)
            fresh |= new
            told |= new
        except UsageError as refused:
            outcomes.append(refused)
    if fresh:
        log.write_rewards(study.id, list(fresh.values()))
    for place, call in enumerate(calls):
        if isinstance(call, Failure):
            try:
                _write_failure(study, log, call)
            except UsageError as refused:
                outcomes[place] = refused
    return outcomes


def _fresh(study: "Study", told: Mapping[int, StoredTicket], call: Tell) -> dict[int, StoredTicket]:
    """The tickets that were not told before, with their rewards. Another reward than the first is refused."""
    if call.worker is not None:  # no export could be imported that has a name which `ask` refuses
        storable(call.worker, "a worker's name")
    fresh: dict[int, StoredTicket] = {}
    for number, reward in zip(call.tickets, call.rewards, strict=True):
        if number not in told:
            raise never(number)
        ticket = fresh.get(number, told[number])
        given, cost = parted(reward, f"ticket {number}") if isinstance(reward, tuple) else (reward, None)
        value = _checked(study, ticket, given)
        if ticket.reward is None:
            # Handed to somebody else meanwhile, the log names who told it; else whoever took it: another may well tell it.
            late = call.worker is not None and ticket.attempts > 1
            fresh[number] = replace(ticket, reward=value, cost=cost, worker=call.worker if late else ticket.worker)
        elif value != ticket.reward:
            raise TicketError(
                f"ticket {number} was already told {ticket.reward} (by worker {ticket.worker!r}); it cannot "
                f"become {value}. The first reward counts"
            )
    return fresh


def _checked(study: "Study", ticket: StoredTicket, reward: Any) -> float:
    """A reward as a number within the bounds."""
    label = study.labels[ticket.arm] if ticket.arm < len(study.labels) else ticket.arm
    return study.scale.number(reward, f"ticket {ticket.number} (arm {label!r})")


def _write_failure(study: "Study", log: Log, failure: Failure) -> None:
    """Let a ticket be handed out again, or count as a stated reward."""
    number, handling = failure.ticket, study.settings.handling
    found = next(iter(log.read_tickets(study.id, among=[number], hold=True)), None)
    if found is None:
        raise never(failure.ticket)
    storable(failure.kind, "the kind of a failure")
    stated = None if failure.reward is None else _checked(study, found, failure.reward)
    check_holder(found, failure.worker, failure.reason)
    failures, events, at = found.failures, list[Event](), study.facts(log).now
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


def _hand_out(study: "Study", log: Log, follower: "Follower", facts: Facts, asks: Sequence[Ask]) -> list[Handed]:
    """Tickets for all who ask, at once: what is handed out is looked for once."""
    until = facts.now + study.lease_seconds
    unheard = [[] if ask.held is None else _unheard(study, log, ask, facts.now, until) for ask in asks]
    wanting = [(ask.worker, ask.k) for ask, stored in zip(asks, unheard, strict=True) if not stored]
    fresh = follower.hand_out(log, wanting, facts, until) if wanting and not facts.paused else []
    labels, left = study.labels, iter(fresh)
    found, ended = list[Handed](), None
    for ask, stored in zip(asks, unheard, strict=True):
        handed = stored or list(islice(left, ask.k))
        draws = follower.draws(log, handed) if follower.may_announce else [None] * len(handed)
        tickets = [Ticket(t.number, t.arm, labels[t.arm], t.item, d) for t, d in zip(handed, draws, strict=True)]
        if not tickets and ask.ends and ended is None:
            ended = follower.catch_up(log).finished
        found.append(Handed(tickets, not tickets and bool(ended), facts.paused))
    return found


def _unheard(study: "Study", log: Log, ask: Ask, at: float, until: float) -> list[StoredTicket]:
    """Tickets that a worker was given, and does not know of: the answer to its last ask was lost on the way."""
    assert ask.held is not None
    out = [t for t in log.read_tickets(study.id, open_by=inf) if t.worker == ask.worker and t.lease > at]
    mine = [ticket for ticket in out if ticket.number not in ask.held][: ask.k]
    log.lease_tickets(study.id, [ticket.number for ticket in mine], until)
    return mine

"""Many calls of workers in one transaction: one flush of the disk acknowledges all of them.

A call that is refused changes nothing, and the others go on. What fails, as a lost connection does, fails for all.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from surest.core.tickets import Ticket
from surest.errors import UsageError
from surest.study.checks import checked_number, storable, ticket_of
from surest.study.following import Follower
from surest.study.log import Lease, Log, Place, StoredTicket
from surest.study.study import Study
from surest.study.telling import Failure, fresh_rewards, late, write_failure


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


def carry_out(study: Study, calls: Sequence[Call]) -> list[Outcome]:
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
    with study._writing() as (log, follower):
        _write(study, log, calls, says, outcomes)
        for place, handed in zip(asks, _hand_out(study, log, follower, [calls[p] for p in asks]), strict=True):
            outcomes[place] = handed
    return outcomes


def _write(study: Study, log: Log, calls: Sequence[Any], places: Sequence[int], outcomes: list[Outcome]) -> None:
    """Write rewards and failures. All tickets are read at once and in order, so that no two processes wait for each other."""
    told = log.read_tickets(study.id, _numbers(calls))
    fresh: dict[int, float] = {}
    tellers: dict[int, str] = {}
    for place in places:
        call = calls[place]
        if isinstance(call, Tell):
            try:
                for number in call.tickets:
                    checked_number(number)
                if call.worker is not None:
                    storable(call.worker, "a worker's name")
                new = fresh_rewards(study, told, call.tickets, call.rewards)
            except UsageError as refused:
                outcomes[place] = refused
                continue
            outcomes[place] = len(new)
            fresh |= new
            tellers |= {} if call.worker is None else dict.fromkeys(new, call.worker)
            told |= {number: replace(told[number], reward=value) for number, value in new.items()}
    log.write_rewards(study.id, fresh, late(told, tellers))
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


def _hand_out(study: Study, log: Log, follower: Follower, asks: Sequence[Any]) -> list[Handed]:
    at, paused = log.time(), log.is_paused(study.id)
    until, none = at + study.lease_seconds, None
    found: list[Handed] = []
    for ask in asks:
        lease = Lease(study.id, ask.worker, at)
        places = [] if ask.held is None else _unheard(study, log, lease, ask, until)
        if not places and none is None and not paused:
            places = follower.hand_out(log, lease, ask.k, until)
        if not places and none is None:  # nor is there any for those who come after
            none = Handed([], follower.catch_up(log).finished, paused)
        if places and max(place.arm for place in places) >= len(study._arms):
            study._arms = log.read_arms(study.id)
        tickets = [
            ticket_of(place, study._arms[place.arm].label, draw)
            for place, draw in zip(places, follower.draws(log, places), strict=True)
        ]
        found.append(Handed(tickets, False, paused) if tickets or none is None else none)
    return found


def _unheard(study: Study, log: Log, lease: Lease, ask: Ask, until: float) -> list[Place]:
    """Tickets that a worker was given, and does not know of: the answer to its last ask was lost on the way."""
    assert ask.held is not None
    held = ask.held

    def lost(ticket: StoredTicket) -> bool:
        return ticket.worker == lease.worker and ticket.lease > lease.at and ticket.number not in held

    mine = [ticket for ticket in log.open_tickets(study.id) if lost(ticket)][: ask.k]
    log.set_leases(study.id, [ticket.number for ticket in mine], until)
    return [Place(ticket.number, ticket.arm, ticket.item) for ticket in mine]

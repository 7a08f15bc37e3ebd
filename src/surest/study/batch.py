"""Many calls of workers in one transaction: one flush of the disk acknowledges all of them.

A call that is refused changes nothing, and the others go on. What fails, as a lost connection does, fails for all.
"""

from collections.abc import Sequence
from math import inf
from typing import Any, NamedTuple

from surest.errors import UsageError
from surest.search.tickets import Ticket
from surest.study.checks import check_there, checked_number
from surest.study.following import Follower
from surest.study.log import Log, StoredTicket
from surest.study.study import Study
from surest.study.telling import Failure, check_worker, fresh_rewards, held, told_by, write_failure


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
    with study.writing() as (log, follower):
        _write(study, log, calls, says, outcomes)
        for place, handed in zip(asks, _hand_out(study, log, follower, [calls[p] for p in asks]), strict=True):
            outcomes[place] = handed
    return outcomes


def _write(study: Study, log: Log, calls: Sequence[Any], places: Sequence[int], outcomes: list[Outcome]) -> None:
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


def _hand_out(study: Study, log: Log, follower: Follower, asks: Sequence[Any]) -> list[Handed]:
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


def _unheard(study: Study, log: Log, ask: Ask, at: float, until: float) -> list[StoredTicket]:
    """Tickets that a worker was given, and does not know of: the answer to its last ask was lost on the way."""
    assert ask.held is not None
    out = [t for t in log.read_tickets(study.id, open_by=inf) if t.worker == ask.worker and t.lease > at]
    mine = [ticket for ticket in out if ticket.number not in ask.held][: ask.k]
    log.lease_tickets(study.id, [ticket.number for ticket in mine], until)
    return mine

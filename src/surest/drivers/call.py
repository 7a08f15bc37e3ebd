"""Let Python functions answer a session's tickets, one after the other."""

import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby
from typing import Any

import numpy as np

from surest.core.procedure import Running
from surest.core.protocol import Answer
from surest.core.session import Session, Ticket
from surest.drivers.interrupts import between_steps
from surest.drivers.seeds import seed_of
from surest.errors import RewardError, UsageError

PORTION = 10_000
"""Tickets taken at a time, at most …"""
BRIEF = 0.05
"""… and, where calls are slow, about so many seconds' worth: the hook is called between portions."""

Work = Callable[[Ticket], tuple[Any, ...]]
"""From a ticket to the function to call and its arguments."""


def work_of(
    functions: Sequence[Callable[..., Any]], seed: int, *, seeded: bool = False, items: Sequence[Any] | None = None
) -> Work:
    """Each arm's function, without arguments; with the ticket's item, if it has one; `seeded`, with a number that is its alone.

    >>> work = work_of([float, abs], 7, items=["1", "2"])
    >>> from surest.core.session import Ticket
    >>> work(Ticket(0, 1, "b"))
    (<built-in function abs>,)
    """

    def with_item(ticket: Ticket) -> tuple[Any, ...]:
        place = getattr(ticket, "item", None)
        item = () if place is None or items is None else (items[place],)
        number = (seed_of(seed, ticket),) if seeded else ()
        return functions[ticket.arm], *item, *number

    if items is not None:
        return with_item
    if seeded:
        return lambda ticket: (functions[ticket.arm], seed_of(seed, ticket))
    return lambda ticket: (functions[ticket.arm],)


def scored(score: Callable[..., Any], arms: Sequence[Any]) -> list[Callable[..., Any]]:
    """Each arm's function, from one that takes the arm and an item.

    >>> [function(10) for function in scored(pow, [2, 3])]
    [1024, 59049]
    """
    return [partial(score, arm) for arm in arms]


def call(
    session: Session,
    functions: Sequence[Callable[..., Any]],
    *,
    vectorised: bool = False,
    seeded: bool = False,
    on_request: Callable[[Running[Answer]], None] | None = None,
) -> None:
    """Answer tickets until the session is finished.

    A function is called without arguments for each reward; `seeded`, with a seed; or, `vectorised`, with a count for so many
    of them.

    >>> import random
    >>> rng = random.Random(1)
    >>> session = Session(2, delta=0.1, algorithm="naive-best-arm")
    >>> call(session, [lambda: rng.random() < 0.9, lambda: rng.random() < 0.1])
    >>> session.result().best
    '0'
    """
    if vectorised and seeded:
        raise UsageError("vectorised callables take a count, seeded ones a seed; choose one")
    work = work_of(functions, session.problem.seed, seeded=seeded)
    portion = PORTION if vectorised or on_request is None else 1
    while not session.finished:
        if on_request is not None:
            on_request(session.running)
        began = time.perf_counter()
        tickets = session.ask(portion)
        if vectorised:
            _many(session, functions, tickets)
        else:
            _singly(session, work, tickets)
        if not vectorised and on_request is not None:
            portion = max(1, portion // 2) if time.perf_counter() - began > BRIEF else min(PORTION, 2 * portion)


def _singly(session: Session, work: Work, tickets: list[Ticket]) -> None:
    tell = session.tell
    for ticket in tickets:
        function, *arguments = work(ticket)
        try:
            reward = function(*arguments)
        except KeyboardInterrupt as interrupt:
            raise between_steps(interrupt) from None
        except Exception as error:
            error.add_note(f"raised by arm {ticket.label!r}, evaluation {ticket.id}")
            raise
        tell(ticket.id, reward)


def _many(session: Session, functions: Sequence[Callable[..., Any]], tickets: list[Ticket]) -> None:
    for arm, group in groupby(tickets, key=lambda ticket: ticket.arm):
        wanted = list(group)
        label = wanted[0].label
        try:
            given = functions[arm](len(wanted))
        except KeyboardInterrupt as interrupt:
            raise between_steps(interrupt) from None
        except Exception as error:
            error.add_note(f"raised by arm {label!r} when asked for {len(wanted)} rewards")
            raise
        rewards = np.asarray(given)
        if rewards.shape != (len(wanted),):
            raise RewardError(
                f"arm {label!r} was asked for {len(wanted)} rewards and returned "
                f"{given!r:.80} of shape {rewards.shape}; a vectorised arm returns so many numbers"
            )
        session.tell_all(wanted, rewards)

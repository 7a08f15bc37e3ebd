"""Python functions as arms: what to call for a ticket, and requests that are answered by calls in this thread."""

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from surest.core.costs import Spent, parted
from surest.core.problem import Problem
from surest.core.procedure import statistic_of
from surest.core.protocol import FloatArray, Pull, Reply
from surest.errors import RewardError, UsageError
from surest.search.tickets import Ticket, check_size
from surest.search.watching import between_steps

PORTION = 10_000
"""Rewards taken at a time, at most."""
BRIEF = 0.05
"""Seconds between two looks, at least, while a request is answered."""

Work = Callable[[Ticket], tuple[Any, ...]]
"""From a ticket to the function to call and its arguments."""


def work_of(
    functions: Sequence[Callable[..., Any]], seed: int, *, seeded: bool = False, items: Sequence[Any] | None = None
) -> Work:
    """Each arm's function, without arguments; with the ticket's item, if it has one; `seeded`, with a number that is its alone.

    >>> work = work_of([float, abs], 7, items=["1", "2"])
    >>> from surest.search.session import Ticket
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


class Calls:
    """Functions that answer requests, one call after the other, in this thread.

    A function is called without arguments for each reward; `seeded`, with a seed; or, `vectorised`, with a count for so many
    of them. `look` is called between calls where they are slow; `name` is the algorithm's, for messages.

    >>> from surest.core.problem import problem_of
    >>> from surest.core.protocol import Statistic
    >>> calls = Calls(problem_of(["a", "b"]), [lambda: 1, lambda: 0.5])
    >>> calls.answer(Pull([0, 1], [2, 1], Statistic.REWARDS)), calls.made
    (array([1. , 1. , 0.5]), 3)
    """

    def __init__(
        self, problem: Problem, functions: Sequence[Callable[..., Any]], *, vectorised: bool = False,
        seeded: bool = False, look: Callable[[], None] | None = None, name: str = "this",
        spent: Spent | None = None,
    ) -> None:  # fmt: skip
        self.problem, self.labels, self.functions, self.look = problem, problem.labels, functions, look
        self.vectorised, self.seeded, self.name = vectorised, seeded, name
        self.spent = problem.spending(told=True) if spent is None else spent
        """What the calls cost."""
        self.made = 0
        """Rewards so far, of requests that are answered or not."""

    def answer(self, request: Pull) -> Reply:
        """The rewards that a request asks for."""
        check_size(request, self.name)
        rewards, first = np.empty(request.total), self.made
        looked = time.perf_counter()
        for arm, times in zip(request.arms.tolist(), request.times.tolist(), strict=True):
            end = self.made + times
            while self.made < end:
                if self.look is not None and time.perf_counter() - looked > BRIEF:
                    self.look()
                    looked = time.perf_counter()
                given = self._called(arm, min(end - self.made, PORTION))
                rewards[self.made - first : self.made - first + len(given)] = given
                self.made += len(given)
        return statistic_of(request, rewards)

    def _called(self, arm: int, most: int) -> list[float] | FloatArray:
        """What a call gives, on [0, 1]: one reward, or `most` of them."""
        label, scale = self.labels[arm], self.problem.scale
        arguments = (most,) if self.vectorised else (ticket_seed(self.problem.seed, self.made),) if self.seeded else ()
        try:
            given = self.functions[arm](*arguments)
        except KeyboardInterrupt as interrupt:
            raise between_steps(interrupt) from None
        except Exception as error:
            asked = f" when asked for {most} rewards" if self.vectorised else f", evaluation {self.made}"
            error.add_note(f"raised by arm {label!r}{asked}")
            raise
        rewards = np.asarray(given) if self.vectorised else [given]
        if self.vectorised and np.shape(rewards) != (most,):
            raise RewardError(
                f"arm {label!r} was asked for {most} rewards and returned "
                f"{given!r:.80} of shape {np.shape(given)}; a vectorised arm returns so many numbers"
            )
        if not self.vectorised and isinstance(given, tuple):
            each = parted(given, f"arm {label!r}")
            rewards = [each.value]
            self.spent.add([arm], [np.nan if each.cost is None else each.cost])
        elif self.problem.cost is not None:
            self.spent.add([arm], [np.nan], len(rewards))
        if isinstance(rewards, np.ndarray) and rewards.dtype.kind in "fiub":
            numbers = rewards.astype(float)
            if ((scale.low <= numbers) & (numbers <= scale.high)).all():
                return scale.to_unit(numbers)
        return [
            scale.to_unit(
                float(reward)
                if isinstance(reward, float | int) and scale.low <= reward <= scale.high  # a message costs time
                else scale.number(reward, f"ticket {self.made + place} (arm {label!r})")
            )
            for place, reward in enumerate(rewards)
        ]


BITS = 31
"""Seeds fit into a signed 32-bit integer: every language and every `--seed` option takes them."""
_MASK = 2**BITS - 1
BELOW = 2**27
"""Seeds that only tickets without a `draw` have."""


def seed_of(seed: int, ticket: Ticket) -> int:
    """The seed of a ticket, made from its `draw`, if it has one, and else from its id.

    The two share no seed: a study of an earlier version, whose tickets had no draw, may go on with tickets that have one.

    >>> seed_of(7, Ticket(2, 0, "a")), seed_of(7, Ticket(5, 0, "a", draw=2)) == ticket_seed(7, 2**31 - 3)
    (881096401, True)
    """
    if ticket.draw is None:
        return ticket_seed(seed, ticket.id)
    if ticket.draw > _MASK - BELOW:
        raise UsageError(f"ticket {ticket.id}: there are only 2^{BITS} different seeds; run without seeds")
    return ticket_seed(seed, _MASK - ticket.draw)


def ticket_seed(seed: int, ticket: int) -> int:
    """The seed of one evaluation. No two of the first 2^31 tickets of a run share one.

    Equal seeds would repeat a reward that was already counted. So this is not a hash: each step (multiplying by an odd number,
    adding, folding the upper bits into the lower) can be undone modulo 2^31.

    >>> [ticket_seed(7, ticket) for ticket in range(3)]
    [1491204788, 1373186087, 881096401]
    >>> len({ticket_seed(7, ticket) for ticket in range(10_000)})
    10000
    """
    if ticket > _MASK:
        raise UsageError(f"ticket {ticket}: there are only 2^{BITS} different seeds; run without seeds")
    x = (ticket * 0x9E3779B1 + _mixed(seed & _MASK) + _mixed(seed >> BITS & _MASK) * 3) & _MASK
    return _mixed(x)


def _mixed(x: int) -> int:
    """Another number below 2^31, a different one for each: neighbours end up far apart."""
    for odd in (0x2C1B3C6D, 0x297A2D39):
        x = ((x ^ (x >> 16)) * odd) & _MASK
    return x ^ (x >> 15)

"""Python functions as arms: what to call for a ticket, and with which seed."""

from collections.abc import Callable, Sequence
from inspect import iscoroutinefunction
from random import Random
from typing import Any

from surest.errors import UsageError
from surest.search.tickets import Ticket

Work = Callable[[Ticket], tuple[Any, ...]]
"""From a ticket to the function to call and its arguments."""


def work_of(
    functions: Sequence[Callable[..., Any]], seed: int, *, seeded: bool = False, items: Sequence[Any] | None = None,
    drawn: bool = False,
) -> Work:  # fmt: skip
    """Each arm's function, without arguments; with the ticket's item, if it has one; `seeded`, with a number that is its alone.

    Where no ticket has an item, one can be `drawn` by the ticket's own seed.
    """

    def work(ticket: Ticket) -> tuple[Any, ...]:
        item = () if items is None or ticket.item is None else (items[ticket.item],)
        if items is not None and drawn:
            item = (Random(seed_of(seed, ticket)).choice(items),)
        number = (seed_of(seed, ticket),) if seeded else ()
        return functions[ticket.arm], *item, *number

    return work


def is_async(function: Callable[..., Any]) -> bool:
    """Whether a function, what it is a part of, or the call of an object is to be awaited."""
    called = getattr(function, "func", function)
    return iscoroutinefunction(called) or iscoroutinefunction(type(called).__call__)


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

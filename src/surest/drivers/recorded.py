"""Let recorded rewards answer a session's tickets: each reward counts once, each arm's in the order of the record."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from surest.core.session import Session
from surest.drivers.call import PORTION

RECORDED_BATCH = 10
"""The least batch on recorded rewards. Fixed: a longer record must continue the same run, however it is looked at."""


@dataclass(frozen=True)
class Fed:
    """How far a record went."""

    used: tuple[int, ...]
    """Rewards of each arm that were counted."""
    missing: dict[int, int]
    """Arms to evaluate next, and how often, in the order in which the algorithm asks; empty if it asks no more."""


def feed(session: Session, recorded: Sequence[Any]) -> Fed:
    """Answer tickets as far as the record goes. What an arm has beyond what was asked of it is there for later requests.

    The algorithm's run is a function of the arms' sequences of rewards. A longer record of the same arms therefore continues
    the same run, and looking at it now and then changes nothing.

    >>> session = Session(["a", "b"], delta=0.1, algorithm="naive-best-arm")
    >>> needed = session.running.request.times[0]
    >>> feed(session, [[1.0] * needed, [0.0]]).missing == {1: needed - 1}
    True
    """
    used, missing = [0] * len(recorded), dict[int, int]()
    while tickets := session.ask(PORTION):
        for ticket in tickets:
            if used[ticket.arm] < len(recorded[ticket.arm]):
                session.tell(ticket.id, recorded[ticket.arm][used[ticket.arm]])
                used[ticket.arm] += 1
            else:
                missing[ticket.arm] = missing.get(ticket.arm, 0) + 1
    return Fed(tuple(used), missing)

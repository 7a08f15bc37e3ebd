"""Let recorded rewards answer a session's tickets: each reward counts once, each arm's in the order of the record."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from surest.algorithms import options_of
from surest.core.problem import Problem
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


class Feeding:
    """A session that is answered from a record, which may grow from one time to the next."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.used = [0] * len(session.running.pulls_per_arm)
        self._waiting: dict[int, list[int]] = {}  # tickets that the record had no reward for, by arm

    def more(self, recorded: Sequence[Any]) -> Fed:
        """Answer tickets as far as the record goes. What counted before must stand at its beginning as it did."""
        waiting, self._waiting = self._waiting, {}
        for arm, numbers in waiting.items():
            for number in numbers:
                self._answer(number, arm, recorded[arm])
        while tickets := self.session.ask(PORTION):
            for ticket in tickets:
                self._answer(ticket.id, ticket.arm, recorded[ticket.arm])
        return Fed(tuple(self.used), {arm: len(numbers) for arm, numbers in self._waiting.items()})

    def _answer(self, ticket: int, arm: int, rewards: Any) -> None:
        if self.used[arm] < len(rewards):
            self.session.tell(ticket, rewards[self.used[arm]])
            self.used[arm] += 1
        else:
            self._waiting.setdefault(arm, []).append(ticket)


def feed(session: Session, recorded: Sequence[Any]) -> Fed:
    """Answer tickets as far as the record goes. What an arm has beyond what was asked of it is there for later requests.

    The algorithm's run is a function of the arms' sequences of rewards. A longer record of the same arms therefore continues
    the same run, and looking at it now and then changes nothing.

    >>> session = Session(["a", "b"], delta=0.1, algorithm="naive-best-arm")
    >>> needed = session.running.request.times[0]
    >>> feed(session, [[1.0] * needed, [0.0]]).missing == {1: needed - 1}
    True
    """
    return Feeding(session).more(recorded)


def with_batch(problem: Problem) -> Problem:
    """The problem with the batches of recorded rewards, where the algorithm has such an option and nothing else is said."""
    least = {"batch": RECORDED_BATCH} if "batch" in options_of(problem.algorithm) else {}
    return msgspec.structs.replace(problem, options={**least, **problem.options})

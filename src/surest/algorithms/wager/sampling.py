"""Where Wager pulls next. This decides how many pulls it takes, never whether its answer is right.

`kernels.sampling` has the rule; among very many arms, `kernels.crowds` has it with arms in the same state taken together.
"""

from typing import NamedTuple

import numpy as np

from surest.core.protocol import BoolArray, FloatArray, IntArray
from surest.evidence.pulls.alike import kinds_of
from surest.evidence.pulls.digest import Digests
from surest.kernels import crowds, sampling


class Seen(NamedTuple):
    """What was seen of all arms."""

    counts: FloatArray
    planned: FloatArray
    """The counts to be, with the pulls that are under way."""
    means: FloatArray
    """With a pseudo-reward that is half 0, half 1; so are the spreads."""
    spreads: FloatArray
    empirical: FloatArray
    before: Digests
    since: Digests

    def kernel(self) -> sampling.Seen:
        """The same as kernels take it."""
        return sampling.Seen(*self[:5], self.before.rows(), self.since.rows())


def plan(leader: int, seen: Seen, rejected: BoolArray, epsilon: float, coins: FloatArray, spared: int) -> IntArray:
    """How often to pull each arm in a batch of ``len(coins)`` pulls: see `kernels.sampling.plan`."""
    return sampling.plan(leader, seen.kernel(), seen.planned.copy(), rejected, epsilon, coins, spared)


def plan_many(
    states: IntArray,
    leader: int,
    seen: Seen,
    rejected: BoolArray,
    epsilon: float,
    coins: FloatArray,
    spared: int,
) -> IntArray:
    """How often to pull each arm: as `plan` says, but for which of several arms in the same of these states is pulled."""
    kernel, moved = seen.kernel(), seen.planned.copy()
    narrow = sampling.narrow_pairs(leader, kernel)
    alike = np.where(narrow, -1 - np.arange(len(narrow)), 2 * states + rejected)  # narrow: told apart by all rewards
    alike[leader] = -1 - leader
    kinds, firsts = kinds_of(alike) if seen.planned is seen.counts else kinds_of(alike, seen.planned)
    rule = crowds.Rule(leader, kernel, moved, rejected, narrow, epsilon)
    return crowds.plan(kinds, firsts, rule, coins, spared)

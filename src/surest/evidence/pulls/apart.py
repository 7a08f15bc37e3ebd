"""How far arms can be below the best one, and how far two arms are apart: for all arms and all times at once.

If arm 1 is a best arm, of mean c, then for every arm i the product of exp A_i(μ_i) and exp B_1(c) is a nonnegative
supermartingale from 1, and so is the mean of these products over all n arms. So with probability at least 1 − δ no product
ever reaches n/δ; then no arm i has a mean below c − g where A_i(x) + B_1(x + g) ≥ log(n/δ) for all x.

Of all n(n − 1) pairs of arms (i, j), with probability at least 1 − δ none has exp A_i(μ_i) · exp B_j(μ_j) ≥ n(n − 1)/δ, ever:
the mean of these products is a nonnegative supermartingale from 1, too. So μ_i − μ_j is larger than any g for which
A_i(x + g) + B_j(x) ≥ log(n(n − 1)/δ) for all x. docs/questions/top.md has the proofs.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from surest.core.protocol import FloatArray, LeadBounds
from surest.evidence.pulls.bars import estimates
from surest.evidence.pulls.digest import Digests
from surest.kernels.differences import shortfall, surely

FEW_ARMS, FEW_CONTENDERS = 100, 10
"""Up to so many arms, and contenders among them, it is told how far below the best the contenders can be."""


def shortfalls(digests: Digests, arms: Sequence[int], delta: float, more: Digests | None = None) -> FloatArray:
    """How far each of `arms` can be below the best mean, at most; any bound, of any arm at any time, is wrong with probability δ.

    The arms, such as contenders, may be chosen after looking at the rewards. `more` are further rewards of the same arms.
    """
    seen = digests.copy()
    if more is not None:
        seen.take(more.copy())
    order = np.argsort(-np.nan_to_num(seen.means, nan=1.0), kind="stable")  # the arms that ask for most come first
    goal = math.log(len(seen.size) / delta)
    told = seen.told()
    return np.array([shortfall(*told, int(i), order, goal) for i in arms])


# --- the leader and the runner-up ---------------------------------------------------------------------------------------


MOST_LEADS = 30  # arms over which a lead is told: as many as a picture shows


def lead_of(digests: Digests, first: int, second: int, delta: float, more: Digests | None = None) -> "Leads":
    """What tells the bounds of μ_first − μ_second, and of the lead over other arms, as things stand now.

    `more` are further rewards of the same arms. The bounds hold for all pairs of arms and all times at once with probability at
    least 1 − δ, so that the pairs may be chosen after looking.
    """
    n, counts, sums = len(digests.size), digests.counts, digests.sums
    if more is not None:
        counts, sums = counts + more.counts, sums + more.sums
    means = np.where(counts > 0, sums / np.maximum(counts, 1), -1.0)
    means[[first, second]] = -np.inf
    most = min(MOST_LEADS - 1, n - 2)
    leading = np.argpartition(-means, most)[:most]
    arms = [first, second, *leading.tolist()]
    kept = digests.of(arms)
    if more is not None:
        kept.take(more.of(arms))
    return Leads(first, tuple(arms[1:]), kept, math.log(n * (n - 1) / delta))


class Leads(NamedTuple):
    """The rewards of an arm and of those over which its lead is told."""

    first: int
    others: tuple[int, ...]
    digests: Digests
    goal: float

    def __call__(self, over: int | None = None) -> LeadBounds:
        """The bounds of the lead over an arm, by default the runner-up."""
        place = 0 if over is None else self.others.index(over)
        return _lead(self.digests.of([0, place + 1]), self.first, self.others[place], self.goal)


def runner_up(means: FloatArray, chosen: Sequence[int]) -> int:
    """The best arm by its mean that was not chosen."""
    others = means.copy()
    others[list(chosen)] = -np.inf
    return int(others.argmax())


def _lead(two: Digests, first: int, second: int, goal: float) -> LeadBounds:
    if not two.counts.all():
        return LeadBounds(first, second, -1.0, 1.0)
    # Roughly where the bounds will be: the search begins a little further out, and comes nearer.
    width = 1.3 * math.sqrt(2.0 * goal * float((estimates(two)[1] / two.counts).sum()))
    low, high = surely(*two.told(), 0, 1, width, goal), -surely(*two.told(), 1, 0, width, goal)
    return LeadBounds(first, second, float(low), float(high))

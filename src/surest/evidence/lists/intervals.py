"""Intervals for an arm's mean on a list of items and for differences of two arms, and evidence that two arms are close.

All are valid at every moment at once, whatever the scores are, because the order of the items is random. What each covers:
`intervals` one arm's mean at level α each, `differences` the mean difference of one pair at level α each. Whoever reads
several, or one that the data chose, divides α by the number of those that might have been read.
"""

from math import inf
from typing import TYPE_CHECKING

import numpy as np

from surest.core.protocol import FloatArray, IntArray
from surest.kernels import lists
from surest.kernels.constants import STEPS, TOLERANCE_ON_LISTS

if TYPE_CHECKING:
    from surest.evidence.lists.scores import Scores


def interval(path: FloatArray, weights: FloatArray, total: float, alpha: float) -> tuple[float, float]:
    """The means on the list that values in [0, 1] on its first items do not refute, each side at α/2.

    >>> low, high = interval(np.ones(40), np.ones(40), 50.0, 0.05)
    >>> bool(0.8 < low < 0.96), high
    (True, 1.0)
    >>> interval(np.array([1.0, 0.0, 1.0]), np.ones(3), 3.0, 0.05)  # all seen: the mean itself
    (0.6666666666666666, 0.6666666666666666)
    """
    return lists.interval(np.ascontiguousarray(path), weights, total, alpha, np.empty(len(path)))


def intervals(
    scores: FloatArray, seen: IntArray, weights: FloatArray, total: float, alpha: float
) -> tuple[FloatArray, FloatArray]:
    """The interval of every arm: a column of `scores` each, of which its first `seen` rows were evaluated.

    >>> low, high = intervals(np.ones((40, 2)), np.array([40, 5]), np.ones(50), 50.0, 0.05)
    >>> bool(low[0] > low[1])
    True
    """
    columns = [interval(scores[:k, j], weights, total, alpha) for j, k in enumerate(seen.tolist())]
    low, high = np.array(columns).reshape(-1, 2).T
    return low, high


def differences(
    leader: int, scores: FloatArray, seen: IntArray, weights: FloatArray, total: float, alpha: float
) -> tuple[FloatArray, FloatArray]:
    """The interval of every arm's difference from the leader (its mean less the leader's), from the items that both saw.

    >>> low, high = differences(0, np.tile([1.0, 0.0], (40, 1)), np.array([40, 40]), np.ones(50), 50.0, 0.05)
    >>> bool(high[1] < -0.5), float(low[1]), float(high[0])
    (True, -1.0, 0.0)
    """
    apart = (1 + scores[: seen[leader]] - scores[: seen[leader], [leader]]) / 2
    low, high = intervals(apart, np.minimum(seen, seen[leader]), weights, total, alpha)
    low, high = 2 * low - 1, 2 * high - 1
    low[leader] = high[leader] = 0.0
    return low, high


class Pairs:
    """The wealths E_(a, j) of one arm a against every j: evidence that j is not better than a by more than ε."""

    def __init__(self, a: int, epsilon: float, n: int, steps: int = STEPS) -> None:
        self.a, self.epsilon = a, epsilon
        self.t = 0
        self.used = 0.0
        self.sums, self.plain, self.squares = np.zeros(n), np.zeros(n), np.zeros(n)
        self.wealth = np.ones((n, 1 + steps))
        self.prior = np.append(0.9, np.full(steps, 0.1 / steps)) if steps else np.ones(1)

    def extend(self, play: IntArray, scores: "Scores", born: IntArray | None = None) -> FloatArray:
        """Count all units so far, and return each arm's wealth; bets on an arm are placed from the unit `born` on."""
        values, weights, total, population = scores.values[: scores.t], scores.weights, scores.total, scores.population
        born = np.zeros(len(self.sums), np.int64) if born is None else born
        given = self.a, self.epsilon, play, values, weights, total, population, born, self.t, self.used
        self.used = lists.bet_on_pairs(*given, self.sums, self.plain, self.squares, self.wealth)
        self.t = scores.t
        if not population:
            late = total - self.used - self.sums[play] - total * self.epsilon <= TOLERANCE_ON_LISTS * total
            self.wealth[play[late]] = inf
        wealth: FloatArray = self.wealth @ self.prior
        return wealth

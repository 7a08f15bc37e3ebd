"""The scores on a list of items that counted so far, and their sums."""

from math import inf, log

import numpy as np

from surest.core.protocol import FloatArray, IntArray
from surest.errors import UsageError
from surest.evidence.lists.units import Estimates
from surest.kernels import lists
from surest.kernels.constants import STEPS, TOLERANCE_ON_LISTS
from surest.kernels.lists import all_inside


class Scores:
    """Scores of arms, unit by unit, in the order in which the units come; an arm may leave off anywhere.

    >>> scores = Scores(2, np.ones(5))
    >>> scores.count(np.array([0, 1]), np.array([1.0, 0.5]))
    >>> scores.count(np.array([1]), np.array([0.5]))
    >>> scores.sums, scores.seen, scores.left
    (array([1., 1.]), array([1, 2]), 3.0)
    """

    def __init__(self, n: int, weights: FloatArray, population: bool = False) -> None:
        self.weights, self.population = weights, population
        self.total = float(len(weights))
        self.t = 0
        self.used = 0.0
        self.values = np.full((min(len(weights), 64), n), np.nan)
        self._estimates = Estimates(weights)
        self.sums, self.plain, self.squares = np.zeros(n), np.zeros(n), np.zeros(n)
        """Weighted sums, plain ones, and those of squares."""
        self.seen = np.zeros(n, np.int64)  # on how many units each arm was evaluated

    @property
    def left(self) -> float:
        """The weight of the units still to come."""
        return self.total - self.used

    @property
    def least(self) -> float:
        """Sums closer than this count as equal."""
        return TOLERANCE_ON_LISTS * self.total

    @property
    def means(self) -> FloatArray:
        """An unbiased estimate of each arm's mean on the list; NaN before its first unit."""
        return self._estimates.of(self.values[: self.t], self.seen, self.plain)

    def place(self, play: IntArray, values: FloatArray) -> tuple[FloatArray, float]:
        """Write the next unit's row, one entry per arm; return it and its weight. Sums and `advance` are left to the caller."""
        if not all_inside(values):
            raise UsageError(f"scores must lie in [0, 1], or in the bounds given; got {values.tolist()}")
        if self.t == len(self.values):
            room = min(len(self.weights) - self.t, self.t)
            self.values = np.concatenate([self.values, np.full((room, self.values.shape[1]), np.nan)])
        row = self.values[self.t]
        row[play] = values
        return row, float(self.weights[self.t])

    def advance(self, play: IntArray) -> None:
        """Go on to the next unit."""
        self.used = self.total if self.t + 1 == len(self.weights) else self.used + float(self.weights[self.t])
        self.t += 1
        self.seen[play] = self.t

    def count(self, play: IntArray, values: FloatArray) -> None:
        """Take in the next unit: a value for every arm of `play`, in that order."""
        _, weight = self.place(play, values)
        self.sums[play] += weight * values
        self.plain[play] += values
        self.squares[play] += values * values
        self.advance(play)

    def grow(self, values: FloatArray) -> None:
        """Take in new arms, whose scores on the units counted so far are `values`, one column per arm."""
        self.sums = np.append(self.sums, self.weights[: self.t] @ values)
        self.plain = np.append(self.plain, values.sum(axis=0))
        self.squares = np.append(self.squares, (values**2).sum(axis=0))
        self.seen = np.append(self.seen, np.full(values.shape[1], self.t))
        blank = np.full((len(self.values), values.shape[1]), np.nan)
        blank[: self.t] = values
        self.values = np.concatenate([self.values, blank], axis=1)

    def intervals(self, alpha: float) -> tuple[FloatArray, FloatArray]:
        """Intervals of the arms' means, each at level α."""
        return intervals(self.values[: self.t], self.seen, self.weights, self._end, alpha)

    def differences(self, arm: int, alpha: float) -> tuple[FloatArray, FloatArray]:
        """Intervals of the arms' means less that of one arm, each at level α."""
        return differences(arm, self.values[: self.t], self.seen, self.weights, self._end, alpha)

    @property
    def _end(self) -> float:
        return np.inf if self.population else self.total


def strength(wealth: float) -> tuple[float, float]:
    """The level at which evidence of this wealth certifies something, and the evidence in nats.

    >>> strength(20.0), strength(0.5), strength(0.0)
    ((0.05, 2.995732273553991), (1.0, -0.6931471805599453), (1.0, -inf))
    """
    return (min(1.0, 1 / wealth), log(wealth)) if wealth > 0 else (1.0, -inf)


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

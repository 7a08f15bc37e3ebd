"""The scores on a list of items that counted so far, and their sums."""

import numpy as np

from surest.core.protocol import FloatArray, IntArray
from surest.errors import UsageError
from surest.evidence.lists.intervals import differences, intervals
from surest.evidence.lists.units import Estimates
from surest.kernels.constants import TOLERANCE_ON_LISTS
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
        self.seen = np.zeros(n, np.int64)
        """On how many units each arm was evaluated."""

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
        """Make the next unit's row, an entry an arm, and tell its weight; `count`, or whoever keeps the sums, comes next."""
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
        """Take in new arms, whose scores on the units counted so far are `values`, a column an arm."""
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

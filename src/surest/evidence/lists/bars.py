"""What scores on a list say of each arm by itself: that its mean is at least a lower bar, and that it is less than an upper one.

With t units counted, of weighted sum S, the mean of the next value X is at most m = (N·bar − S)/(weight left) if the mean on the
list is at most the bar, and at least m if it is at least the bar; for the population m is the bar itself. So 1 + λ(X − m) is
unfavourable in the first case, 1 − λ(X − m) in the second, as long as λ is chosen beforehand. Where m leaves the range of
values, the claim is certain. The values may be scores in [0, 1] or differences from a control in [−1, 1].
"""

from math import inf

import numpy as np

from surest.core.protocol import BoolArray, FloatArray, IntArray
from surest.kernels.constants import CLAIMS, STEPS, TOLERANCE_ON_LISTS, WEIGHTS
from surest.kernels.lists import bet_on_bars


class Bars:
    """Wealths for both claims about each arm, unit by unit; an arm that is left off keeps what it has.

    >>> bars = Bars(2, np.ones(40), (0.5, 0.5))
    >>> for _ in range(25):
    ...     bars.count(np.arange(2), np.array([1.0, 0.4]))
    >>> bars.evidence().round(2)
    array([[  inf,  0.99],
           [ 0.99, 89.28]])
    """

    def __init__(
        self,
        n: int,
        weights: FloatArray,
        bars: tuple[float, float],
        ends: tuple[float, float] = (0.0, 1.0),
        population: bool = False,
    ) -> None:
        self.weights, self.population = weights, population
        self.bars, self.ends = np.array(bars), np.array(ends)
        self.total = float(len(weights))
        self.t = 0
        self.used = 0.0
        self.sums, self.plain, self.squares = np.zeros(n), np.zeros(n), np.zeros(n)
        self.wealth = np.ones((n, CLAIMS, 1 + STEPS))
        self.certain = np.zeros((n, CLAIMS), bool)

    def count(self, play: IntArray, values: FloatArray) -> None:
        """Take in the next unit: a value for every arm of `play`, in that order."""
        row = np.zeros(len(self.sums))
        row[play] = values
        own = self.sums, self.plain, self.squares, self.wealth
        bet_on_bars(play, row, self.t, self.used, self.total, self.population, self.bars, self.ends, *own)
        weight = float(self.weights[self.t])
        self.t += 1
        self.used = self.total if self.t == len(self.weights) else self.used + weight
        self.sums[play] += weight * values
        self.plain[play] += values
        self.squares[play] += values * values
        if not self.population:
            left, least = self.total - self.used, TOLERANCE_ON_LISTS * self.total
            missing = self.total * self.bars - self.sums[play, None]
            self.certain[play, 0] = missing[:, 0] <= self.ends[0] * left + least
            self.certain[play, 1] = missing[:, 1] > self.ends[1] * left + least

    def evidence(self) -> FloatArray:
        """The wealth of each arm's claims as it stands, a row a claim; infinite for what is certain."""
        wealth: FloatArray = (self.wealth @ WEIGHTS).T
        wealth[self.certain.T] = inf
        return wealth

    def nearer(self) -> IntArray:
        """Which of an arm's claims its values speak for; where both are certain, that on whose side of the middle they lie."""
        first, second = self.evidence()
        below: BoolArray = self.plain < float(self.bars.mean()) * self.t
        return np.where(np.isinf(first) & np.isinf(second), below, second > first).astype(np.int64)


def by_any_error(evidence: FloatArray, delta: float) -> BoolArray:
    """The claims (a row each) whose wealth has reached n/δ for n arms: any of them is wrong with probability at most δ.

    >>> by_any_error(np.array([[50.0, 1.0], [0.1, 30.0]]), 0.05)
    array([[ True, False],
           [False, False]])
    """
    reached: BoolArray = evidence >= evidence.shape[1] / delta
    return reached


def by_share(evidence: FloatArray, delta: float) -> BoolArray:
    """The claims (a row each) made so that of each kind the expected share of wrong ones is at most δ: e-BH, row by row.

    Of n wealths, the k largest are claimed if each is at least n/(k·δ). They must be wealths of one moment: the largest
    that each has been so far would not do.

    >>> by_share(np.array([[20.0, 25.0, 1.0], [0.1, 0.1, 70.0]]), 0.1)
    array([[ True,  True, False],
           [False, False,  True]])
    """
    n = evidence.shape[1]
    chosen = np.zeros(evidence.shape, bool)
    for row, wealth in zip(chosen, evidence, strict=True):
        falling = -np.sort(-wealth)
        enough = np.flatnonzero(falling >= n / (np.arange(1, n + 1) * delta))
        if len(enough):
            row[:] = wealth >= falling[enough[-1]]
    return chosen

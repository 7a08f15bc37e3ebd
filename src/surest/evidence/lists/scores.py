"""The scores on a list of items that counted so far, and their sums."""

from math import inf, log

import numpy as np

from surest.core.protocol import FloatArray, IntArray
from surest.errors import UsageError
from surest.evidence.lists.units import shares
from surest.kernels import lists
from surest.kernels.constants import STEPS, TOLERANCE_ON_LISTS
from surest.kernels.lists import all_inside


class Scores:
    """Scores of arms, unit by unit, in the order in which the units come; an arm may leave off anywhere."""

    def __init__(self, n: int, weights: FloatArray, population: bool = False) -> None:
        self.weights, self.population = weights, population
        self.total = float(len(weights))
        self.least = TOLERANCE_ON_LISTS * self.total  # sums closer than this count as equal
        self.t = 0
        self.used, self.left = 0.0, self.total  # the weight of the units counted, and of those still to come
        self.values = np.full((min(len(weights), 64), n), np.nan)
        self._equal = bool(np.ptp(weights) <= 1e-12 * weights.max())
        self._shares: dict[int, FloatArray] = {}  # how much each of the first k units counts in a mean
        self.sums, self.plain, self.squares = np.zeros(n), np.zeros(n), np.zeros(n)
        """Weighted sums, plain ones, and those of squares."""
        self.seen = np.zeros(n, np.int64)  # on how many units each arm was evaluated

    @property
    def means(self) -> FloatArray:
        """An unbiased estimate of each arm's mean on the list; NaN before its first unit."""
        if self._equal:
            return np.asarray(np.where(self.seen > 0, self.plain / np.maximum(self.seen, 1), np.nan))
        seen = self.seen.tolist()
        self._shares = {k: self._shares[k] if k in self._shares else shares(self.weights, k) for k in set(seen)}
        means = [float(self._shares[k] @ self.values[:k, arm]) if k else np.nan for arm, k in enumerate(seen)]
        return np.array([min(max(mean, 0.0), 1.0) for mean in means])

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
        self.left = self.total - self.used
        self.t += 1
        self.seen[play] = self.t

    def count(self, play: IntArray, values: FloatArray) -> None:
        """Take in the next unit: a value for every arm of `play`, in that order."""
        self.place(play, values)
        self.add(play, values)

    def add(self, play: IntArray, values: FloatArray) -> None:
        """Take in the next unit, of which nothing is kept but sums."""
        self.sums[play] += float(self.weights[self.t]) * values
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

    def intervals(
        self, alpha: float, arms: int | None = None, less: int | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Intervals of the means of the first so many arms, default all, each at level α.

        Or of these means `less` that of one of the arms, from the units that both saw.
        """
        values, seen = self.values[: self.t, :arms], self.seen[:arms]
        if less is not None:
            values, seen = (1 + values - values[:, [less]]) / 2, np.minimum(seen, self.seen[less])
        total = inf if self.population else self.total
        paths = [np.ascontiguousarray(values[:k, j]) for j, k in enumerate(seen.tolist())]
        ends = [lists.interval(path, self.weights, total, alpha, np.empty(len(path))) for path in paths]
        low, high = np.array(ends).reshape(-1, 2).T
        if less is not None:
            low, high = 2 * low - 1, 2 * high - 1
            low[less] = high[less] = 0.0
        return low, high


def strength(wealth: float) -> tuple[float, float]:
    """The level at which evidence of this wealth certifies something, and the evidence in nats."""
    return (min(1.0, 1 / wealth), log(wealth)) if wealth > 0 else (1.0, -inf)


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
        return self.wealth @ self.prior

"""Intervals for an arm's mean on a list of items and for differences of two arms, and evidence that two arms are close.

All are valid at every moment at once, whatever the scores are, because the order of the items is random. What each covers:
`intervals` one arm's mean at level α each, `differences` the mean difference of one pair at level α each. Whoever reads
several, or one that the data chose, divides α by the number of those that might have been read.
"""

from math import inf, log, sqrt

import numpy as np

from surest.compiled import compiled
from surest.core.protocol import FloatArray, IntArray
from surest.evidence.item_bets import CAP, MEMORY, PRIOR, STEPS, TOLERANCE, bounded

BISECTIONS = 24
EDGE = 1e-12
"""A mean this close to 0 or 1 is tried first: at the end itself no bet has room."""


@compiled
def bets_of(path: FloatArray, level: float) -> FloatArray:
    """The bets for an interval, each from earlier values alone: those of Waudby-Smith and Ramdas 2024, equation 26."""
    bets = np.empty(len(path))
    total, squares = 0.0, 0.25
    for s in range(len(path)):
        bets[s] = sqrt(2 * level / (squares * log(s + 2.0)))
        total += path[s]
        squares += (path[s] - (0.5 + total) / (s + 2)) ** 2
    return bets


@compiled
def log_wealth(
    path: FloatArray, weights: FloatArray, total: float, mean: float, side: float, bets: FloatArray
) -> float:
    """The evidence that the mean is above (`side` 1) or below (−1) a candidate. `total` is infinite for the population.

    It falls (rises) with the candidate: a bet does not depend on it, but for a cap under which it still does.
    """
    logs, wealth, used, seen = 0.0, 1.0, 0.0, 0.0
    for s in range(len(path)):
        m = (total * mean - seen) / (total - used) if total < inf else mean
        room = m if side > 0 else 1 - m
        if room > 0:
            wealth *= 1 + min(bets[s], CAP / room) * side * (path[s] - min(max(m, 0.0), 1.0))
        if not 1e-100 < wealth < 1e100:
            logs += log(wealth)
            wealth = 1.0
        used += weights[s]
        seen += weights[s] * path[s]
    return logs + log(wealth)


@compiled
def interval(path: FloatArray, weights: FloatArray, total: float, alpha: float) -> tuple[float, float]:
    """The means on the list that values in [0, 1] on its first items do not refute, each side at α/2.

    >>> low, high = interval(np.ones(40), np.ones(40), 50.0, 0.05)
    >>> bool(0.8 < low < 0.96), high
    (True, 1.0)
    >>> interval(np.array([1.0, 0.0, 1.0]), np.ones(3), 3.0, 0.05)  # all seen: the mean itself
    (0.6666666666666666, 0.6666666666666666)
    """
    level = log(2 / alpha)
    bets = bets_of(path, level)
    least, most = 0.0, 1.0
    if total < inf:
        sure, used = 0.0, 0.0
        for s in range(len(path)):
            sure += weights[s] * path[s]
            used += weights[s]
        least, most = sure / total, min((sure + max(total - used, 0.0)) / total, 1.0)
        if most - least <= TOLERANCE:
            return least, most
    low, high = least, most
    inside, outside = most, least
    if log_wealth(path, weights, total, max(least, EDGE), 1.0, bets) >= level:
        for _ in range(BISECTIONS):
            middle = (inside + outside) / 2
            if log_wealth(path, weights, total, middle, 1.0, bets) >= level:
                outside = middle
            else:
                inside = middle
        low = outside
    inside, outside = least, most
    if log_wealth(path, weights, total, min(most, 1 - EDGE), -1.0, bets) >= level:
        for _ in range(BISECTIONS):
            middle = (inside + outside) / 2
            if log_wealth(path, weights, total, middle, -1.0, bets) >= level:
                outside = middle
            else:
                inside = middle
        high = outside
    return low, high


def intervals(
    scores: FloatArray, seen: IntArray, weights: FloatArray, total: float, alpha: float
) -> tuple[FloatArray, FloatArray]:
    """The interval of every arm: a column of `scores` each, of which its first `seen` rows were evaluated.

    >>> low, high = intervals(np.ones((40, 2)), np.array([40, 5]), np.ones(50), 50.0, 0.05)
    >>> bool(low[0] > low[1])
    True
    """
    columns = [
        interval(np.ascontiguousarray(scores[:k, j]), weights, total, alpha) for j, k in enumerate(seen.tolist())
    ]
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


@compiled
def bet_on_pairs(
    a: int,
    epsilon: float,
    play: IntArray,
    scores: FloatArray,
    weights: FloatArray,
    total: float,
    population: bool,
    born: IntArray,
    start: int,
    used: float,
    sums: FloatArray,
    plain: FloatArray,
    squares: FloatArray,
    wealth: FloatArray,
) -> float:
    """Go through the units from `start` on, betting that no arm of `play` is better than arm `a` by more than ε.

    All arrays are of the pairs with `a`, an entry an arm; they are brought up to date. Returns the weight used. Column 0 of
    `wealth` is that of the plug-in bet, the others, if any, those of fixed bets.
    """
    least = TOLERANCE * total
    for s in range(start, len(scores)):
        left = total - used
        for j in play:
            if j == a:
                continue
            slack = left - sums[j] - total * epsilon if not population else 1 - epsilon
            unit = left if not population else 1.0
            if slack <= least and not population:
                wealth[j, :] = inf  # j cannot get further ahead than ε
                continue
            d = scores[s, a] - scores[s, j]
            room = slack / unit  # 1 + m
            if s >= born[j] and s >= born[a] and room < 2:
                surprise = d + 1 - room
                gain = plain[j] / (s + MEMORY) + 1 - room
                stake = max(gain, 0.0) / ((squares[j] + PRIOR) / (s + MEMORY) + gain**2)
                wealth[j, 0] = bounded(wealth[j, 0] * (1 + min(stake, CAP / room) * surprise))
                stake = CAP / room
                for k in range(1, wealth.shape[1]):
                    wealth[j, k] = bounded(wealth[j, k] * (1 + stake * surprise))
                    stake /= 2
            sums[j] += weights[s] * d
            plain[j] += d
            squares[j] += d * d
        used += weights[s]
    return used


class Pairs:
    """The wealths E_(a, j) of one arm a against every j: evidence that j is not better than a by more than ε."""

    def __init__(self, a: int, epsilon: float, n: int, steps: int = STEPS) -> None:
        self.a, self.epsilon = a, epsilon
        self.t = 0
        self.used = 0.0
        self.sums, self.plain, self.squares = np.zeros(n), np.zeros(n), np.zeros(n)
        self.wealth = np.ones((n, 1 + steps))
        self.prior = np.append(0.9, np.full(steps, 0.1 / steps)) if steps else np.ones(1)

    def extend(
        self, play: IntArray, scores: FloatArray, weights: FloatArray, total: float, population: bool, born: IntArray
    ) -> FloatArray:
        """Count all units up to the last row of `scores`, and return each arm's wealth."""
        self.used = bet_on_pairs(
            self.a,
            self.epsilon,
            play,
            scores,
            weights,
            total,
            population,
            born,
            self.t,
            self.used,
            self.sums,
            self.plain,
            self.squares,
            self.wealth,
        )
        self.t = len(scores)
        if not population:
            late = total - self.used - self.sums[play] - total * self.epsilon <= TOLERANCE * total
            self.wealth[play[late]] = inf
        wealth: FloatArray = self.wealth @ self.prior
        return wealth

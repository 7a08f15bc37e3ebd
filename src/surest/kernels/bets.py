"""The wealth of bets on an arm's mean: A(x), B(x) and the bounds that they make. `evidence.pulls.betting` has the formulas."""

import numpy as np

from surest.core.protocol import FloatArray, IntArray
from surest.kernels import digests, libm
from surest.kernels.constants import ALPHA, DECAY, IDLE, RHO


class Rows:
    """The rewards of arms: arm i holds ``values[i, :size[i]]`` (rising) with ``weights[i, :size[i]]``."""

    def __init__(self, values: FloatArray, weights: FloatArray, size: IntArray) -> None:
        self.values, self.weights, self.size = values, weights, size


def growth(rows: Rows, i: int, x: float, alpha: float, is_above: bool) -> tuple[float, float, float]:
    """The log wealth of one bet on arm i, its derivative in x, and the sum whose rounding is the error of the first.

    Each term is computed to a few units in the last place of max(|log(1 + s)|, |s|/(1 + s)), s being what the bet wins,
    times its weight: the third number is the sum of these.
    """
    log, slope, rounded = 0.0, 0.0, 0.0
    for p in range(rows.size[i]):
        value, weight = rows.values[i, p], rows.weights[i, p]
        if is_above:
            step = alpha * (value - x) / x
            rise = -alpha * value / (x * x)
        else:
            step = alpha * (x - value) / (1.0 - x)
            rise = alpha * (1.0 - value) / ((1.0 - x) * (1.0 - x))
        won, part = libm.log1p(step), weight / (1.0 + step)
        log += weight * won
        slope += part * rise
        rounded += max(weight * abs(won), part * abs(step))
    return log, slope, rounded


def terms(count: float, away: float) -> int:
    """How many of the infinitely many bets matter after so many rewards. Leaving out the rest is safe.

    `away` is how far the mean is from the end that the bets are on: 1 − mean for below, mean for above. Near that end a
    single reward may multiply a stake by 1/away, so the bets that neither win nor lose by chance alone are smaller there.
    """
    most = max(count, 2.0)
    halvings = int(libm.log2(most) - libm.log2(min(away + 1.0 / most, 1.0)))
    return 9 + halvings


def mixture(rows: Rows, i: int, bets: int, x: float, is_above: bool) -> tuple[float, float]:
    """A(x) or B(x) of arm i from its first so many bets, and its derivative in x."""
    return mixture_of(rows, i, bets, x, is_above, ALPHA, DECAY, IDLE)


def mixture_of(
    rows: Rows, i: int, bets: int, x: float, is_above: bool, alpha: float, decay: float, idle: float
) -> tuple[float, float]:
    """The same with another largest bet, another ratio of the weights, and another weight on not betting."""
    top, total, slope = libm.log(idle), 1.0, 0.0  # a running log-sum-exp, begun with the idle bet
    log_share, log_decay = libm.log((1.0 - idle) * (1.0 - decay)), libm.log(decay)
    for _ in range(bets):
        log, derivative, _rounded = growth(rows, i, x, alpha, is_above)
        log += log_share
        if log > top:
            shrink = libm.exp(top - log)
            total, slope, top = total * shrink + 1.0, slope * shrink + derivative, log
        else:
            part = libm.exp(log - top)
            total, slope = total + part, slope + part * derivative
        log_share += log_decay
        alpha /= RHO
    return top + libm.log(total), slope / total


def bets_of(counts: FloatArray, sums: FloatArray, i: int, is_above: bool) -> int:
    """The number of bets that matter for arm i."""
    mean = sums[i] / counts[i] if counts[i] > 0 else 0.5
    return terms(counts[i], mean if is_above else 1.0 - mean)


def wide_bets(counts: FloatArray, sums: FloatArray, is_above: bool) -> IntArray:
    """The number of bets that matter for each arm."""
    made = np.empty(len(counts), np.int64)
    result = made
    for i in range(len(counts)):
        result[i] = bets_of(counts, sums, i, is_above)
    return made


def bounds(
    order: IntArray, first: Rows, second: Rows, counts: FloatArray, sums: FloatArray, level: float
) -> tuple[FloatArray, FloatArray]:
    """The levels at which the evidence against each arm's mean reaches `level`: below it, and above it.

    An arm's rewards are those of both sets of rows. One search serves neighbours in `order` with the same rewards.
    """
    n, room = len(order), first.values.shape[1] + second.values.shape[1] + 1
    lows, highs = np.zeros(n), np.ones(n)
    low, high = lows, highs
    kept, weighed, sized = np.empty((2, room)), np.empty((2, room)), np.zeros(2, np.int64)
    values, weights, sizes = kept, weighed, sized
    both, last, now = Rows(kept, weighed, sized), -1, 0
    for k in range(n):
        i = order[k]
        if counts[i] == 0:
            continue
        now, size = 1 - now, 0
        for p in range(first.size[i]):
            size = digests.insert(values, weights, now, size, first.values[i, p], first.weights[i, p])
        for p in range(second.size[i]):
            size = digests.insert(values, weights, now, size, second.values[i, p], second.weights[i, p])
        sizes[now] = size
        if last >= 0 and same(values, weights, sizes):
            low[i], high[i] = low[last], high[last]
        else:
            mean = sums[i] / counts[i]
            low[i] = bound(both, now, terms(counts[i], mean), mean, level, True)
            high[i] = bound(both, now, terms(counts[i], 1.0 - mean), mean, level, False)
        last = i
    return lows, highs


def same(values: FloatArray, weights: FloatArray, sizes: IntArray) -> bool:
    """Whether two rows hold the same atoms."""
    if sizes[0] != sizes[1]:
        return False
    for p in range(sizes[0]):  # noqa: SIM110
        if values[0, p] != values[1, p] or weights[0, p] != weights[1, p]:
            return False
    return True


def bound(rows: Rows, i: int, bets: int, mean: float, level: float, is_above: bool) -> float:
    """Where the mixture passes the level, from outside: it is convex, so Newton's steps do not go beyond."""
    end = 0.0 if is_above else 1.0
    x, log, slope = mean, -libm.inf, 0.0
    for _ in range(50):
        x = 0.5 * (end + x)
        if x == end:
            return end
        log, slope = mixture(rows, i, bets, x, is_above)
        if log >= level:
            break
    if log < level:
        return end
    for _ in range(50):
        closer = x - (log - level) / slope
        if abs(closer - x) <= 1e-9:
            break
        log, slope = mixture(rows, i, bets, closer, is_above)
        if log < level:  # by rounding
            break
        x = closer
    return x

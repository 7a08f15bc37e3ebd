"""What rewards say about a mean: the wealth of someone who bets against it. Valid at every moment.

For rewards X_1 … X_N of one arm, a level x in (0, 1) and a bet α in [0, 1):

    above(x; α) = Π (1 − α + α·X_i/x)             fair or losing while the mean is ≤ x
    below(x; α) = Π (1 − α + α·(1 − X_i)/(1 − x)) fair or losing while the mean is ≥ x

Both are mixed over bets α_k = ALPHA·ρ^−k, k = 0, 1, 2, … with weights that sum to one and never end, so that no gap is too
small; a little weight stays on α = 0. A(x) and B(x) are the logarithms of the two mixtures. By Ville's inequality either
reaches log(1/δ) with probability at most δ, ever, while its claim holds.
"""

import math

import numpy as np
import numpy.typing as npt

from surest.compiled import compiled
from surest.core.protocol import FloatArray, IntArray
from surest.evidence.digest import Digests, insert

ALPHA = 0.98
"""The largest bet; below 1, so that no single reward can ruin."""
RHO = math.sqrt(2.0)
"""The ratio of neighbouring bets."""
DECAY = 0.9
"""The ratio of their weights."""
IDLE = 0.05
"""The weight on not betting: a mixture never falls below it."""


@compiled
def growth(
    values: FloatArray, weights: FloatArray, size: int, x: float, alpha: float, is_above: bool
) -> tuple[float, float, float]:
    """The log wealth of one bet, its derivative in x, and the sum whose rounding is the error of the first.

    Each term is computed to a few units in the last place of max(|log(1 + s)|, |s|/(1 + s)), s being what the bet wins,
    times its weight: the third number is the sum of these.
    """
    log, slope, rounded = 0.0, 0.0, 0.0
    for p in range(size):
        if is_above:
            step = alpha * (values[p] - x) / x
            rise = -alpha * values[p] / (x * x)
        else:
            step = alpha * (x - values[p]) / (1.0 - x)
            rise = alpha * (1.0 - values[p]) / ((1.0 - x) * (1.0 - x))
        won, part = math.log1p(step), weights[p] / (1.0 + step)
        log += weights[p] * won
        slope += part * rise
        rounded += max(weights[p] * abs(won), part * abs(step))
    return log, slope, rounded


@compiled
def terms(count: float, away: float) -> int:
    """How many of the infinitely many bets matter after so many rewards. Leaving out the rest is safe.

    `away` is how far the mean is from the end that the bets are on: 1 − mean for below, mean for above. Near that end a
    single reward may multiply a stake by 1/away, so the bets that neither win nor lose by chance alone are smaller there.
    """
    most = max(count, 2.0)
    return 9 + int(math.log2(most) - math.log2(min(away + 1.0 / most, 1.0)))


@compiled
def mixture(
    values: FloatArray, weights: FloatArray, size: int, bets: int, x: float, is_above: bool
) -> tuple[float, float]:
    """A(x) or B(x) from its first so many bets, and its derivative in x."""
    return mixture_of(values, weights, size, bets, x, is_above, (ALPHA, DECAY, IDLE))


@compiled
def mixture_of(
    values: FloatArray,
    weights: FloatArray,
    size: int,
    bets: int,
    x: float,
    is_above: bool,
    prior: tuple[float, float, float],
) -> tuple[float, float]:
    """The same with another largest bet, another ratio of the weights, and another weight on not betting."""
    alpha, decay, idle = prior
    top, total, slope = math.log(idle), 1.0, 0.0  # a running log-sum-exp, begun with the idle bet
    log_share = math.log((1.0 - idle) * (1.0 - decay))
    for _ in range(bets):
        log, derivative, _ = growth(values, weights, size, x, alpha, is_above)
        log += log_share
        if log > top:
            shrink = math.exp(top - log)
            total, slope, top = total * shrink + 1.0, slope * shrink + derivative, log
        else:
            part = math.exp(log - top)
            total, slope = total + part, slope + part * derivative
        log_share += math.log(decay)
        alpha /= RHO
    return top + math.log(total), slope / total


def above(digests: Digests, x: npt.ArrayLike) -> FloatArray:
    """A(x): the evidence, in nats, that each arm's mean is above x (one level, or one an arm).

    >>> digests = Digests(2)
    >>> digests.add([0, 1], [1.0, 0.0], [20, 20])
    >>> above(digests, 0.5).round(1)
    array([11.3, -1.5])
    """
    return _all_mixtures(digests, x, True)


def below(digests: Digests, x: npt.ArrayLike) -> FloatArray:
    """B(x): the evidence, in nats, that each arm's mean is below x (one level, or one an arm)."""
    return _all_mixtures(digests, x, False)


def _all_mixtures(digests: Digests, x: npt.ArrayLike, is_above: bool) -> FloatArray:
    levels = np.asarray(x, float) + np.zeros(len(digests.size))
    if not ((levels > 0) & (levels < 1)).all():
        raise ValueError(f"a level must lie strictly between 0 and 1, got {x!r}")
    bets = wide_bets(digests.counts, digests.sums, is_above)
    return _mixtures(digests.values, digests.weights, digests.size, bets, levels, is_above)


@compiled
def wide_bets(counts: FloatArray, sums: FloatArray, is_above: bool) -> IntArray:
    """The number of bets that matter for each arm."""
    result = np.empty(len(counts), np.int64)
    for i in range(len(counts)):
        mean = sums[i] / counts[i] if counts[i] > 0 else 0.5
        result[i] = terms(counts[i], mean if is_above else 1.0 - mean)
    return result


@compiled
def _mixtures(
    values: FloatArray, weights: FloatArray, size: IntArray, bets: IntArray, x: FloatArray, is_above: bool
) -> FloatArray:
    result = np.empty(len(size))
    for i in range(len(size)):
        result[i] = mixture(values[i], weights[i], size[i], bets[i], x[i], is_above)[0]
    return result


def confidence_sequence(digests: Digests, delta: float, more: Digests | None = None) -> tuple[FloatArray, FloatArray]:
    """Bounds that hold each arm's mean at all times at once, with probability 1 − δ for each arm (not for all together).

    They are the levels x against which there is not enough evidence: A(x) < log(2/δ) and B(x) < log(2/δ). `more` are
    further rewards of the same arms.

    >>> digests = Digests(1)
    >>> digests.add([0, 0], [1.0, 0.0], [70, 30])
    >>> low, high = confidence_sequence(digests, 0.05)
    >>> (low.round(2), high.round(2))
    (array([0.54]), array([0.84]))
    """
    more = Digests(len(digests.size), 2) if more is None else more
    counts, sums = digests.counts + more.counts, digests.sums + more.sums
    order = np.lexsort((sums, counts))  # arms with the same rewards come one after the other: one search serves them
    rows = (digests.values, digests.weights, digests.size), (more.values, more.weights, more.size)
    return _bounds(order, rows[0], rows[1], counts, sums, math.log(2 / delta))


Rows = tuple[FloatArray, FloatArray, IntArray]


@compiled
def _bounds(
    order: IntArray, first: Rows, second: Rows, counts: FloatArray, sums: FloatArray, level: float
) -> tuple[FloatArray, FloatArray]:
    n, room = len(order), first[0].shape[1] + second[0].shape[1] + 1
    low, high = np.zeros(n), np.ones(n)
    values, weights = np.empty((2, room)), np.empty((2, room))
    sizes, last, now = np.zeros(2, np.int64), -1, 0
    for i in order:
        if counts[i] == 0:
            continue
        now, size = 1 - now, 0
        for rows in (first, second):
            for p in range(rows[2][i]):
                size = insert(values[now], weights[now], size, rows[0][i, p], rows[1][i, p])
        sizes[now] = size
        if last >= 0 and _same(values, weights, sizes):
            low[i], high[i] = low[last], high[last]
        else:
            mean = sums[i] / counts[i]
            low[i] = _bound(values[now], weights[now], size, terms(counts[i], mean), mean, level, True)
            high[i] = _bound(values[now], weights[now], size, terms(counts[i], 1.0 - mean), mean, level, False)
        last = i
    return low, high


@compiled
def _same(values: FloatArray, weights: FloatArray, sizes: IntArray) -> bool:
    if sizes[0] != sizes[1]:
        return False
    size = sizes[0]
    return bool((values[0, :size] == values[1, :size]).all() and (weights[0, :size] == weights[1, :size]).all())


@compiled
def _bound(
    values: FloatArray, weights: FloatArray, size: int, bets: int, mean: float, level: float, is_above: bool
) -> float:
    """Where the mixture passes the level, from outside: it is convex, so Newton's steps do not go beyond."""
    end = 0.0 if is_above else 1.0
    x, log, slope = mean, -np.inf, 0.0
    for _ in range(50):
        x = 0.5 * (end + x)
        if x == end:
            return end
        log, slope = mixture(values, weights, size, bets, x, is_above)
        if log >= level:
            break
    if log < level:
        return end
    for _ in range(50):
        closer = x - (log - level) / slope
        if abs(closer - x) <= 1e-9:
            break
        log, slope = mixture(values, weights, size, bets, closer, is_above)
        if log < level:  # by rounding
            break
        x = closer
    return x

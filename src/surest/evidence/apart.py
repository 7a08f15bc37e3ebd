"""How far arms can be below the best one, and how far two arms are apart: for all arms and all times at once.

If arm 1 is a best arm, of mean c, then for every arm i the product of exp A_i(μ_i) and exp B_1(c) is a nonnegative
supermartingale from 1, and so is the mean of these products over all n arms. So with probability at least 1 − δ no product
ever reaches n/δ; then no arm i has a mean below c − g where A_i(x) + B_1(x + g) ≥ log(n/δ) for all x.

Of all n(n − 1) pairs of arms (i, j), with probability at least 1 − δ none has exp A_i(μ_i) · exp B_j(μ_j) ≥ n(n − 1)/δ, ever:
the mean of these products is a nonnegative supermartingale from 1, too. So μ_i − μ_j is larger than any g for which
A_i(x + g) + B_j(x) ≥ log(n(n − 1)/δ) for all x. docs/questions/top.md has the proofs.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from surest.compiled import compiled
from surest.core.protocol import FloatArray, IntArray, Lead
from surest.evidence.bars import estimates, exceeds, from_outside
from surest.evidence.betting import mixture, wide_bets
from surest.evidence.certificate import Digest, Point, meeting
from surest.evidence.digest import Digests

FEW_ARMS, FEW_CONTENDERS = 100, 10
"""Up to so many arms, and contenders among them, it is told how far below the best the contenders can be."""
CLOSE = 1e-4
"""How much larger than the smallest a returned shortfall may be."""


def shortfalls(digests: Digests, arms: Sequence[int], delta: float, more: Digests | None = None) -> FloatArray:
    """How far each of `arms` can be below the best mean, at most.

    Parameters
    ----------
    digests : Digests
        The rewards of all arms.
    arms : sequence of int
        The arms to tell it of, such as the contenders. They may be chosen after looking at the rewards.
    delta : float
        The probability that any of the bounds, of any arm at any time, is wrong is at most δ.
    more : Digests, optional
        Further rewards of the same arms.

    Examples
    --------
    >>> digests = Digests(3)
    >>> digests.add([0, 0, 1, 1, 2, 2], [1.0, 0.0] * 3, [500, 500, 495, 505, 300, 700])
    >>> shortfalls(digests, [0, 1, 2], 0.1).round(2)
    array([0.08, 0.09, 0.28])
    """
    seen = digests.copy()
    if more is not None:
        seen.take(more.copy())
    bets = wide_bets(seen.counts, seen.sums, True), wide_bets(seen.counts, seen.sums, False)
    order = np.argsort(-np.nan_to_num(seen.means, nan=1.0), kind="stable")  # the arms that ask for most come first
    goal = math.log(len(seen.size) / delta)
    rows = seen.values, seen.weights, seen.size
    return np.array([_shortfall(int(i), order, rows, bets[0], bets[1], goal) for i in arms])


Rows = tuple[FloatArray, FloatArray, IntArray]


@compiled
def _shortfall(i: int, order: IntArray, rows: Rows, up: IntArray, down: IntArray, goal: float) -> float:
    """The smallest gap, to `CLOSE` and not below it, that is refuted against every other arm."""
    smallest = 0.0
    for j in order:
        if j == i:
            continue
        low, high = smallest, smallest  # most arms hold at the gap that the first ones needed
        while high < 1.0 and not _refuted(i, j, high, rows, up[i], down[j], goal):
            low, high = high, min(1.0, 2.0 * high + 1e-3)
        while high - low > CLOSE:
            middle = 0.5 * (low + high)
            if _refuted(i, j, middle, rows, up[i], down[j], goal):
                high = middle
            else:
                low = middle
        smallest = high
    return smallest


@compiled
def _refuted(i: int, j: int, gap: float, rows: Rows, up: int, down: int, goal: float) -> bool:
    """Whether A_i(x) + B_j(x + gap) ≥ goal for all x: the tangents at both ends of a bracket meet below the function."""
    values, weights, size = rows
    end = 1.0 - gap
    left, right = Point(-1.0, 0.0, 0.0, 0.0, 0.0), Point(2.0, 0.0, 0.0, 0.0, 0.0)  # not found yet
    x = 0.5 * end
    for _ in range(60):
        own, fall = mixture(values[i], weights[i], size[i], up, x, True)
        other, rise = mixture(values[j], weights[j], size[j], down, x + gap, False)
        if not own + other >= goal:
            return False
        if fall + rise < 0.0:
            left = Point(x, own + other, fall + rise, 0.0, 0.0)
        else:
            right = Point(x, own + other, fall + rise, 0.0, 0.0)
        bound, _, x = meeting(left, right, end)
        if bound >= goal:
            return True
        if not 0.0 < x < end:
            break
    return False


# --- the leader and the runner-up ---------------------------------------------------------------------------------------


def lead_of(digests: Digests, first: int, second: int, delta: float, more: Digests | None = None) -> Callable[[], Lead]:
    """What tells the bounds of μ_first − μ_second, as things stand now. `more` are further rewards of the same arms.

    The bounds hold for all pairs of arms and all times at once with probability at least 1 − δ, so that the pair may be chosen
    after looking.

    >>> digests = Digests(2)
    >>> digests.add([0, 0, 1, 1], [1.0, 0.0] * 2, [600, 400, 500, 500])
    >>> [round(bound, 3) for bound in lead_of(digests, 0, 1, 0.05)()]
    [0, 1, 0.013, 0.187]
    """
    two, n = _two_of(digests, first, second), len(digests.size)
    if more is not None:
        two.take(_two_of(more, first, second))
    return partial(_lead, two, first, second, math.log(n * (n - 1) / delta))


def runner_up(means: FloatArray, chosen: Sequence[int]) -> int:
    """The best arm by its mean that was not chosen.

    >>> runner_up(np.array([0.5, 0.9, 0.7]), [1])
    2
    """
    others = means.copy()
    others[list(chosen)] = -np.inf
    return int(others.argmax())


def _lead(two: Digests, first: int, second: int, goal: float) -> Lead:
    if not two.counts.all():
        return Lead(first, second, -1.0, 1.0)
    up, down = wide_bets(two.counts, two.sums, True), wide_bets(two.counts, two.sums, False)
    rows = [(two.values[k], two.weights[k], int(two.size[k])) for k in range(2)]
    apart = float(two.means[0] - two.means[1])
    # Roughly where the bounds will be: the search begins a little further out, and comes nearer.
    width = 1.3 * math.sqrt(2.0 * goal * float((estimates(two)[1] / two.counts).sum()))
    low = _least_lead(rows[0], int(up[0]), rows[1], int(down[1]), apart, width, goal)
    high = -_least_lead(rows[1], int(up[1]), rows[0], int(down[0]), -apart, width, goal)
    return Lead(first, second, low, high)


def _two_of(digests: Digests, first: int, second: int) -> Digests:
    two, arms = Digests(2, digests.values.shape[1] - 1), [first, second]
    for name in ("values", "weights", "size", "counts", "sums"):
        getattr(two, name)[:] = getattr(digests, name)[arms]
    return two


@compiled
def _least_lead(
    first: Digest, bets: int, second: Digest, other_bets: int, apart: float, width: float, goal: float
) -> float:
    """The largest gap, to `CLOSE` and not above it, by which one mean surely exceeds another. Evidence is convex in the gap."""
    gap, value, slope, x = -1.0, -np.inf, 0.0, 0.5
    while value < goal:
        gap = apart - width
        if gap <= -1.0:
            return -1.0
        value, slope, x = exceeds(first, bets, second, other_bets, gap, 0.5 * (1.0 - abs(gap)), np.inf)
        width *= 1.5
    return from_outside(first, bets, second, other_bets, gap, value, slope, x, goal)

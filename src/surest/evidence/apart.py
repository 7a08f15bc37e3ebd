"""How far arms can be below the best one: for all arms and all times at once.

If arm 1 is a best arm, of mean c, then for every arm i the product of exp A_i(μ_i) and exp B_1(c) is a nonnegative
supermartingale from 1, and so is the mean of these products over all n arms. So with probability at least 1 − δ no product
ever reaches n/δ; then no arm i has a mean below c − g where A_i(x) + B_1(x + g) ≥ log(n/δ) for all x. docs/questions.md has
the proof.
"""

import math
from collections.abc import Sequence

import numpy as np

from surest.compiled import compiled
from surest.core.protocol import FloatArray, IntArray
from surest.evidence.betting import mixture, wide_bets
from surest.evidence.certificate import Point, meeting
from surest.evidence.digest import Digests

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

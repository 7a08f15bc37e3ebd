"""Is one arm worse than another on a list of items? Evidence on their mean difference, item by item in a random order.

For every value x of a fixed grid there is a wealth that bets that the mean difference is larger than x. With t of N items seen
and S the sum of the differences so far, the next one has a mean of at most m = (N·x − S)/(N − t) if the mean on the list is at
most x (and of at most m = x for a population), so a factor 1 + λ·(D − m), λ ≥ 0 chosen before D is seen, is unfavourable. The
values below the first one that is not refuted are out; upper ends are the lower ends of the negated differences.
docs/gate.md has the theorem and its proof.
"""

from typing import NamedTuple

import numpy as np

from surest.core.protocol import FloatArray
from surest.kernels import lists
from surest.kernels.constants import STEPS

GRID = np.linspace(-1, 1, 401)[1:] * np.abs(np.linspace(-1, 1, 401)[1:])
"""The differences at which there is a wealth, beside 0 and the margin: close together around 0, and above −1, the least."""


def bet_above(path: FloatArray, total: float, mean: float, threshold: float, lean: bool) -> tuple[int, float]:
    """After how many values "the mean of all `total` of them is at most `mean`" is refuted: see `kernels.lists.bet_above`.

    >>> bet_above(np.zeros(80), 100.0, -0.1, 20.0, True)[0], bet_above(np.zeros(80), 100.0, 0.0, 20.0, False)[0]
    (28, -1)
    >>> bet_above(np.ones(2), 3.0, 0.3, 1e9, False)  # what is left cannot undo it
    (2, inf)
    """
    return lists.bet_above(path, total, mean, threshold, lean, np.empty(1 + STEPS))


class Found(NamedTuple):
    """What differences say of their mean."""

    low: float
    high: float
    """All that is not refuted. Each end is wrong, at any time, with probability at most δ."""
    above: int | None
    """After how many items the mean was certified to be above minus the margin."""
    below: int | None
    """After how many items the mean was certified to be below 0."""


def judge(path: FloatArray, total: float, margin: float, delta: float) -> Found:
    """What the differences on the first items of a random order say of the mean difference on all `total` items.

    >>> judge(np.tile([0.0, 0.1], 100), 1000.0, 0.05, 0.05)._replace(low=0, high=0)
    Found(low=0, high=0, above=38, below=None)
    """
    low, above = _end(path, total, -margin, margin, delta)
    high, below = _end(-path, total, 0.0, margin, delta)
    return Found(low, -high, above, below)


def _end(path: FloatArray, total: float, mark: float, margin: float, delta: float) -> tuple[float, int | None]:
    """The lower end: the last value such that it and all below it are refuted; and when that came to be true of `mark`."""
    end, last, at = -1.0, 0, None
    for x in np.unique(np.append(GRID, [mark, 0.0])).tolist():
        after, _ = bet_above(path, total, x, 1 / delta, 0 < margin <= -x)
        if after < 0:
            break
        end, last = x, max(last, after)
        if x == mark:
            at = last
    return end, at

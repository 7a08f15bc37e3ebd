"""Is one arm worse than another on a list of items? Evidence on their mean difference, item by item in a random order.

For every value x of a fixed grid there is a wealth that bets that the mean difference is larger than x. With t of N items seen
and S the sum of the differences so far, the next one has a mean of at most m = (N·x − S)/(N − t) if the mean on the list is at
most x (and of at most m = x for a population), so a factor 1 + λ·(D − m), λ ≥ 0 chosen before D is seen, is unfavourable. Where
the baseline's scores are all known, most of the wealth bets on what remains of D beside a prediction that was made before.
The values below the first one that is not refuted are out; upper ends are the lower ends of the negated differences.
docs/gate.md has the theorem and its proof.
"""

from typing import NamedTuple

import numpy as np

from surest.core.protocol import FloatArray
from surest.kernels import lists
from surest.kernels.constants import LEADS, RIDGE

GRID = np.linspace(-1, 1, 401)[1:] * np.abs(np.linspace(-1, 1, 401)[1:])
"""The differences at which there is a wealth, beside 0 and the margin: close together around 0, and above −1, the least."""
EVERY, FITS = 8, 1000
"""Items after which predictions are made anew; more where the list is so long that it would be more often than so."""
DIRECTIONS = 4  # singular vectors of older rows that predictions use, at most
GAP = 2.0  # what stands for a gap of a row, whose scores are at most 1
UNKNOWN = np.empty((0, 4))  # what is told where nothing is predicted
MIRROR = np.array([0, 1, 3, 2])


def directions(baseline: FloatArray, older: FloatArray) -> FloatArray:
    """What older rows (one each, NaN for gaps) tell of items beside the baseline: a column for each of few directions.

    Any numbers would do that are fixed before the order of the items is drawn. Columns are put in an order of their own and told
    once each, so that items are told the same in whichever order they are given: else, where singular values tie, the order
    would choose the vectors. Six digits are enough, and the same everywhere.
    """
    known = ~np.isnan(older)
    told = np.vstack([baseline, np.where(known, older, GAP)[known.any(axis=1)]])
    (own, *rows), places, counts = np.unique(told, axis=1, return_inverse=True, return_counts=True)
    if not rows:
        return np.empty((len(baseline), 0))
    older, known = np.array(rows), np.array(rows) != GAP
    weights = known * counts
    older = np.where(known, older - ((older * weights).sum(axis=1) / weights.sum(axis=1))[:, None], 0.0)
    own = own - own @ counts / len(baseline)
    if own.any():
        older -= np.outer(older @ (own * counts) / (own * own @ counts), own)
    _, sizes, found = np.linalg.svd(older * np.sqrt(counts), full_matrices=False)
    kept = found[:DIRECTIONS][sizes[:DIRECTIONS] > 1e-9 * max(sizes[0], 1.0)] * np.sqrt(len(baseline) / counts)
    return np.asarray(np.round(kept.T, 6)[places.reshape(-1)])


class Predictions:
    """What is expected of a candidate's differences from a baseline, each told before it is seen.

    `baseline`, NaN where a score is not known, and `more`, a row of further features for each item, are in the order in which
    the items come.
    """

    def __init__(self, baseline: FloatArray, more: FloatArray | None = None) -> None:
        n, there = len(baseline), ~np.isnan(baseline)
        self._ends = np.where(there, baseline, 1.0), np.where(there, baseline, 0.0)
        columns = [
            np.ones(n),
            np.where(there, 2 * baseline - 1, 0.0),
            *(() if more is None else np.asarray(more, float).T),
        ]
        self._features = np.ascontiguousarray(np.column_stack(columns))
        size = len(columns)
        self._sums = np.hstack([RIDGE * np.eye(size), np.zeros((size, 1))])
        self._room, self._told = np.empty((size, size + 1)), np.zeros((n, 4))
        self._every, self._until = max(EVERY, n // FITS), 0

    def extend(self, path: FloatArray) -> FloatArray:
        """The predictions for the first items, whose differences are now known: row t was made from those before it."""
        while self._until < len(path):
            start, end = self._until, min(self._until + self._every, len(self._told))
            own = *self._ends, self._features, self._sums, self._room, self._told
            lists.predict(path, max(start - self._every, 0), start, end, *own)
            self._until = end
        return self._told[: len(path)]


def mirrored(told: FloatArray) -> FloatArray:
    """Predictions for the negated differences."""
    return np.ascontiguousarray(told[:, MIRROR] * np.array([-1, -1, 1, 1])) if len(told) else told


def new_state() -> FloatArray:
    """Room for what a bet knows."""
    return np.empty(2 * len(LEADS) + 3)


def bet_above(
    path: FloatArray, total: float, mean: float, threshold: float, told: FloatArray = UNKNOWN, share: float = 1.0
) -> tuple[int, float]:
    """After how many values "the mean of all `total` of them is at most `mean`" is refuted: see `kernels.lists.bet_above`."""
    return lists.bet_above(path, told, 0, total, mean, threshold, share, new_state())


class Found(NamedTuple):
    """What differences say of their mean."""

    low: float
    high: float  # All that is not refuted. Each end is wrong, at any time, with probability at most δ.
    passed: int | None
    """After how many items the mean was certified to be above minus the margin; for equivalence, below the margin, too."""
    failed: int | None  # after how many items the mean was certified to be below 0; for equivalence, or above


def judge(
    path: FloatArray, total: float, margin: float, delta: float, told: FloatArray = UNKNOWN, share: float = 1.0, *,
    equivalent: bool = False, level: float | None = None,
) -> Found:  # fmt: skip
    """What the differences on the first items of a random order say of the mean difference on all `total` items.

    To pass is wrong with probability at most `level`, default δ; to fail, and each end of the interval, at most δ.
    """
    level = delta if level is None else level
    lower = _Side(path, total, margin, delta, told, share)
    upper = _Side(-path, total, margin, delta, mirrored(told), share)
    if equivalent:
        both, either = [side.refuted(-margin, level) for side in (lower, upper)], (lower, upper)
        passed = None if None in both else max(filter(None, both))
        failed = min(filter(None, [side.refuted(0.0, delta / 2) for side in either]), default=None)
    else:
        passed, failed = lower.refuted(-margin, level), upper.refuted(0.0, delta)
    return Found(lower.end, -upper.end, passed, failed)


class _Side:
    """A lower end: the last value such that it and all below it are refuted; and when that came to be true of each."""

    def __init__(
        self, path: FloatArray, total: float, margin: float, delta: float, told: FloatArray, share: float
    ) -> None:
        self.end, self._delta, self._times, last = -1.0, delta, dict[float, int](), 0
        self._given = path, total, told, share
        for x in np.unique(np.append(GRID, [-margin, 0.0])).tolist():
            after = self._after(x, delta)
            if after < 0:
                break
            self.end, last = x, max(last, after)
            self._times[x] = last

    def _after(self, x: float, level: float) -> int:
        path, total, told, share = self._given
        return bet_above(path, total, x, 1 / level, told, share)[0]

    def refuted(self, mark: float, level: float) -> int | None:
        """After how many items the mark, and all below it, was refuted, itself at a level of its own."""
        at = self._times.get(mark)
        if at is None or level >= self._delta:
            return at
        after = self._after(mark, level)
        return None if after < 0 else max(at, after)

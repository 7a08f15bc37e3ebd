"""The random order in which the items of a list are taken, alone or in clusters, equal or weighted."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from surest.core.protocol import FloatArray, IntArray
from surest.errors import UsageError


@dataclass(frozen=True)
class Units:
    """What is drawn one after another: items, or whole clusters of them."""

    items: IntArray
    """All items, in the order in which they come."""
    starts: IntArray
    """Where each unit begins in `items`, and at last how many items there are."""
    weights: FloatArray
    """Each unit's, of mean 1."""
    inner: FloatArray
    """Each item's weight within its unit, in the order of `items`."""

    def __len__(self) -> int:
        return len(self.weights)

    def of(self, k: int) -> IntArray:
        """The items of the k-th unit."""
        return self.items[self.starts[k] : self.starts[k + 1]]

    def values(self, scores: FloatArray, first: int, end: int) -> FloatArray:
        """The values of units `first` to `end` from scores of arms (rows) on their items: a row a unit, a column an arm."""
        low, high = self.starts[first], self.starts[end]
        if high - low == end - first:  # single items
            return np.asarray(scores, dtype=np.float64).T
        weighted = np.asarray(scores, dtype=np.float64) * self.inner[low:high]
        sums: FloatArray = np.add.reduceat(weighted, self.starts[first:end] - low, axis=1).T
        return sums


def in_random_order(
    items: int,
    rng: np.random.Generator,
    group: Sequence[int] | None = None,
    weights: Sequence[float] | None = None,
) -> Units:
    """Draw units without replacement, each time in proportion to weight, before any score is known.

    With `group`, the items with the same number are one unit: a random order of the items in which each cluster is taken
    whole when its first item comes. A uniform order of clusters of unequal size would be wrong.

    >>> units = in_random_order(5, np.random.default_rng(1), group=[0, 0, 0, 1, 1])
    >>> [units.of(k).tolist() for k in range(2)], units.weights
    ([[3, 4], [0, 1, 2]], array([0.8, 1.2]))
    """
    if items < 1:
        raise UsageError("there are no items; give at least one")
    each = np.ones(items) if weights is None else np.asarray(weights, dtype=np.float64)
    if each.shape != (items,) or not (np.isfinite(each) & (each > 0)).all():
        raise UsageError(f"weights must be {items} finite numbers above 0, one for each item; got {weights!r}")
    if group is None:
        order = rng.permutation(items) if weights is None else np.argsort(rng.exponential(size=items) / each)
        chosen = each[order]
        return Units(order, np.arange(items + 1), chosen * (items / chosen.sum()), np.ones(items))
    if len(group) != items:
        raise UsageError(f"group has {len(group)} entries for {items} items; give one for each item")
    _, cluster = np.unique(np.asarray(group), return_inverse=True)
    size = np.bincount(cluster, weights=each)
    rank = np.empty(len(size), np.int64)
    # Exponential times at rates `size`: the next to come is each cluster with probability in proportion to its weight.
    rank[np.argsort(rng.exponential(size=len(size)) / size)] = np.arange(len(size))
    order = np.argsort(rank[cluster], kind="stable")
    starts = np.append(0, np.cumsum(np.bincount(rank[cluster])))
    in_order = size[np.argsort(rank)]
    return Units(order, starts, in_order * (len(size) / size.sum()), each[order] / size[cluster[order]])

"""The random order in which the items of a list are taken, alone or in clusters, equal or weighted."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from surest.core.protocol import FloatArray, IntArray
from surest.errors import UsageError


@dataclass(frozen=True)
class Units:
    """What is drawn one after another: items, or whole clusters of them."""

    items: IntArray  # all items, in the order in which they come
    starts: IntArray  # where each unit begins in `items`, and at last how many items there are
    weights: FloatArray  # each unit's, of mean 1
    inner: FloatArray  # each item's weight within its unit, in the order of `items`

    def __len__(self) -> int:
        return len(self.weights)

    def values(self, scores: FloatArray, first: int, end: int) -> FloatArray:
        """The values of units `first` to `end`, one row per unit, from the scores of arms (rows) on their items."""
        low, high = self.starts[first], self.starts[end]
        if high - low == end - first:  # single items
            return np.asarray(scores, dtype=np.float64).T
        weighted = np.asarray(scores, dtype=np.float64) * self.inner[low:high]
        return np.add.reduceat(weighted, self.starts[first:end] - low, axis=1).T


def as_they_are(items: int) -> Units:
    """Items alone, of equal weight, in the order of their numbers."""
    return Units(np.arange(items), np.arange(items + 1), np.ones(items), np.ones(items))


def in_random_order(
    items: int, rng: np.random.Generator, group: Sequence[int] | None = None, weights: Sequence[float] | None = None,
) -> Units:  # fmt: skip
    """Draw units without replacement, each time in proportion to weight, before any score is known.

    With `group`, the items with the same number are one unit: a random order of the items in which each cluster is taken
    whole when its first item comes. A uniform order of clusters of unequal size would be wrong.
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


def shares(weights: FloatArray, k: int) -> FloatArray:
    """How much the value of each of the first k units counts in an unbiased estimate of the mean of the list.

    Of equal units each counts alike. Otherwise it is Raj's estimate (S + L·v)/N, with v the value of the last of k units, L the
    weight that was left before it and S the weighted sum before it, averaged over the orders in which the same units may have
    come. Units come as if each had an exponential time of rate w, so this is an average over the time x of the next unit:
    w/N·E[1/(1 − exp(−w·x))], with a density in proportion to exp(−x·weight left)·Π(1 − exp(−w·x)). docs/items.md has a proof.
    """
    total, used = float(weights.sum()), weights[:k]
    left = total - float(used.sum())
    if k == len(weights):
        return np.asarray(used / total)
    if np.ptp(weights) <= 1e-12 * weights.max():
        return np.full(k, 1 / k)

    def slope(log_x: float) -> float:
        times = used * np.exp(log_x)
        return float((times / np.expm1(np.minimum(times, 700))).sum() - left * np.exp(log_x) + 1)

    low, high = -60.0, 60.0
    for _ in range(60):  # the density of log x has one peak
        middle = (low + high) / 2
        low, high = (middle, high) if slope(middle) > 0 else (low, middle)
    step = max(slope(low - 1e-3) - slope(low + 1e-3), 1e-12) / 2e-3
    nodes = low + np.arange(-160, 161) / (4 * np.sqrt(step))  # an integral over a peak, by the rule of trapezoids
    with np.errstate(under="ignore", divide="ignore", over="ignore"):
        heights = [np.log(-np.expm1(-used * x)).sum() - left * x + np.log(x) for x in np.exp(nodes)]
        density = np.exp(np.array(heights) - max(heights))
    counts = np.zeros(k)
    for x, part in zip(np.exp(nodes), density / density.sum(), strict=True):
        if part > 1e-25:
            counts += part / -np.expm1(-used * x)
    return used * counts / total

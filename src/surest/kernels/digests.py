"""Rewards of arms in constant memory: at most so many values each, with weights. Safe: see `evidence.pulls.digest`."""

from surest.core.protocol import FloatArray, IntArray
from surest.kernels import libm


def add_all(
    values: FloatArray, weights: FloatArray, size: IntArray, counts: FloatArray, sums: FloatArray, arms: IntArray,
    rewards: FloatArray, times: FloatArray,
) -> None:  # fmt: skip
    """Put rewards of arms into their digests, each so many times, and count and add them up."""
    for k in range(len(arms)):
        i = arms[k]
        size[i] = insert(values, weights, i, size[i], rewards[k], times[k])
        counts[i] += times[k]
        sums[i] += rewards[k] * times[k]


def merge(
    values: FloatArray, weights: FloatArray, size: IntArray, more_values: FloatArray, more_weights: FloatArray,
    more_size: IntArray,
) -> None:  # fmt: skip
    """Put all atoms of other digests of the same arms into these."""
    for i in range(len(size)):
        for p in range(more_size[i]):
            size[i] = insert(values, weights, i, size[i], more_values[i, p], more_weights[i, p])


def insert(values: FloatArray, weights: FloatArray, i: int, size: int, value: float, weight: float) -> int:
    """Put an atom of row i in its place, then take one away if there is no room for it. Returns the new size."""
    place = size
    while place > 0 and values[i, place - 1] >= value:
        place -= 1
    if place < size and values[i, place] == value:
        weights[i, place] += weight
        return size
    for p in range(size, place, -1):
        values[i, p], weights[i, p] = values[i, p - 1], weights[i, p - 1]
    values[i, place], weights[i, place] = value, weight
    size += 1
    if size < values.shape[1]:
        return size
    return remove_cheapest(values, weights, i, size)


def remove_cheapest(values: FloatArray, weights: FloatArray, i: int, size: int) -> int:
    """Take away the inner atom that loses least, weight·(v − l)·(u − v), sharing its weight among its neighbours."""
    cheapest, least = 1, libm.inf
    for p in range(1, size - 1):
        loss = weights[i, p] * (values[i, p] - values[i, p - 1]) * (values[i, p + 1] - values[i, p])
        if loss < least:
            cheapest, least = p, loss
    low, value, high = values[i, cheapest - 1], values[i, cheapest], values[i, cheapest + 1]
    upper = weights[i, cheapest] * ((value - low) / (high - low))
    weights[i, cheapest + 1] += upper
    weights[i, cheapest - 1] += weights[i, cheapest] - upper
    for p in range(cheapest, size - 1):
        values[i, p], weights[i, p] = values[i, p + 1], weights[i, p + 1]
    return size - 1

"""Where wager-top pulls next: the pair least told apart, of an arm inside of a set and one outside of it.

This decides how many pulls it takes, never whether its answer is right.
"""

import math
from typing import NamedTuple

import numpy as np

from surest.algorithms.wager.sampling import REJECTED, separation, separations
from surest.compiled import compiled
from surest.core.protocol import BoolArray, FloatArray, IntArray

FAR = 100.0
"""Nats beyond which pairs are told apart alike: then those of few pulls come first, where ε is nearly all there is."""


def largest(values: FloatArray, m: int) -> IntArray:
    """The places of the m largest values, in order of place; of equal ones the first.

    >>> largest(np.array([0.2, 0.9, 0.5, 0.5]), 2)
    array([1, 2])
    """
    return np.sort(np.argsort(-values, kind="stable")[:m])


@compiled
def pair_separations(
    inside: IntArray, counts: FloatArray, means: FloatArray, spreads: FloatArray, epsilon: float
) -> FloatArray:
    """The separation of each arm inside from every arm: a row an arm inside; infinite from those inside."""
    result = np.empty((len(inside), len(counts)))
    for row in range(len(inside)):
        result[row] = separations(inside[row], counts, means, spreads, epsilon)
        for i in inside:
            result[row, i] = np.inf
    return result


class Seen(NamedTuple):
    """What sampling goes by."""

    counts: FloatArray
    """How many rewards of each arm count, with those that are under way."""
    means: FloatArray
    spreads: FloatArray
    rows: IntArray
    """Each arm's row in `certified`; −1 where it has none."""
    certified: BoolArray
    """Whether an arm that was nominated is certified against each other."""


@compiled
def plan_pairs(inside: IntArray, outside: IntArray, seen: Seen, epsilon: float, coins: FloatArray) -> IntArray:
    """How often to pull each arm in a batch of ``len(coins)`` pulls.

    Pull by pull: the pair with the smallest key is taken, and one of its arms is pulled, as a coin says that is weighted by
    their parts in the separation. Counts move within the batch, means are held.
    """
    moved, times = seen.counts.copy(), np.zeros(len(seen.counts), np.int64)
    keys, parts = np.empty((len(inside), len(outside))), np.empty((len(inside), len(outside)))
    first = np.zeros(len(inside), np.int64)  # the place of the smallest key in each row
    for row in range(len(inside)):
        for k in range(len(outside)):
            keys[row, k], parts[row, k] = _key(inside[row], outside[k], moved, seen, epsilon)
        first[row] = keys[row].argmin()
    for coin in coins:
        at = 0
        for row in range(1, len(inside)):
            if keys[row, first[row]] < keys[at, first[at]]:
                at = row
        column = first[at]
        pulled = inside[at] if coin < parts[at, column] else outside[column]
        times[pulled] += 1
        moved[pulled] += 1.0
        if coin < parts[at, column]:
            for k in range(len(outside)):
                keys[at, k], parts[at, k] = _key(pulled, outside[k], moved, seen, epsilon)
            first[at] = keys[at].argmin()
        else:
            for row in range(len(inside)):
                keys[row, column], parts[row, column] = _key(inside[row], pulled, moved, seen, epsilon)
                if first[row] == column:  # a key rises with its arms' pulls: only this one may have lost its place
                    first[row] = keys[row].argmin()
    return times


@compiled
def _key(i: int, j: int, moved: FloatArray, seen: Seen, epsilon: float) -> tuple[float, float]:
    """How little arm i is told apart from arm j: the smallest comes first. Also arm i's part in it."""
    means, spreads, row = seen.means, seen.spreads, seen.rows[i]
    apart, part = separation(moved[i], means[i], spreads[i], moved[j], means[j], spreads[j], epsilon)
    rejected = row >= 0 and seen.certified[row, j]
    apart = min(apart, FAR)
    return apart + 0.5 * math.log(moved[i] * moved[j]) + (REJECTED if rejected else 0.0), part

"""Median Elimination (Even-Dar, Mannor, Mansour 2002): halve the arms, more carefully each time."""

from collections.abc import Callable
from math import log

import numpy as np

from surest.core.protocol import FloatArray, IntArray, Procedure, Pull, Statistic, Status, whole


def median_elimination(
    arms: IntArray, epsilon: float, delta: float, *, rng: np.random.Generator, leader: int | None = None
) -> Procedure[int]:
    """An ε-optimal arm, with probability 1 − δ. `leader` is what to name before anything is known."""
    left, epsilon_l, delta_l = arms, epsilon / 4, delta / 2
    leader = int(arms[0]) if leader is None else leader
    while len(left) > 1:
        times = whole(4 / epsilon_l**2 * log(3 / delta_l))
        means = yield Pull(left, times, Statistic.MEAN, leading(leader))
        # differs: the better half by rank, ties at random. "Below the median" drops nothing when all means are equal.
        left = largest(left, means, (len(left) + 1) // 2, rng)
        leader = int(left[0])
        epsilon_l, delta_l = 3 * epsilon_l / 4, delta_l / 2
    return leader


def largest(arms: IntArray, means: FloatArray, keep: int, rng: np.random.Generator) -> IntArray:
    """So many of the arms with the largest means, the largest first, ties at random.

    >>> largest(np.array([4, 5, 6]), np.array([0.1, 0.3, 0.2]), 2, np.random.default_rng(0))
    array([5, 6])
    """
    return arms[np.lexsort((rng.random(len(arms)), -means))[:keep]]


def leading(arm: int) -> Callable[[], Status]:
    """The state of an algorithm that knows its leader and no more."""
    return lambda: Status(leader=arm)

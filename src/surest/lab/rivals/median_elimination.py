"""Median Elimination (Even-Dar, Mannor, Mansour 2002): halve the arms, more carefully each time."""

from math import log

import numpy as np

from surest.algorithms.entry import Entry, certified
from surest.core.protocol import IntArray, Procedure, Pull, Statistic, whole
from surest.lab.rivals.references import EVEN_DAR
from surest.lab.rivals.shared import largest, leading


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


ENTRIES = (
    Entry(
        start=lambda task: certified(
            median_elimination(task.arms, task.epsilon, task.delta, rng=task.rng), "certified ε-optimal"
        ),
        name="median-elimination",
        goal="ε-optimal arm",
        standing="proven",
        reference=EVEN_DAR,
        summary="Drops the worse half, more carefully each time; the cost does not depend on the gaps.",
    ),
)

"""Exponential-Gap Elimination (Karnin, Koren, Somekh 2013): drop arms ε_r below an ε_r/2-optimal one, halving ε_r."""

from math import log

import numpy as np

from surest.algorithms.entry import Entry, certified
from surest.core.protocol import IntArray, Procedure, Pull, Statistic, whole
from surest.lab.rivals.median_elimination import median_elimination
from surest.lab.rivals.references import KARNIN
from surest.lab.rivals.shared import leading


def exponential_gap_elimination(arms: IntArray, delta: float, *, rng: np.random.Generator) -> Procedure[int]:
    """The best arm, with probability 1 − δ."""
    left, r, reference = arms, 1, int(arms[0])
    while len(left) > 1:
        epsilon_r, delta_r = 0.5**r / 4, delta / (50 * r**3)
        times = whole(2 / epsilon_r**2 * log(2 / delta_r))
        means = yield Pull(left, times, Statistic.MEAN, leading(reference))
        guess = int(left[means.argmax()])
        reference = yield from median_elimination(left, epsilon_r / 2, delta_r, rng=rng, leader=guess)
        left = left[means >= means[left == reference] - epsilon_r]
        r += 1
    return int(left[0])


ENTRIES = (
    Entry(
        start=lambda task: certified(exponential_gap_elimination(task.arms, task.delta, rng=task.rng)),
        name="exponential-gap-elimination",
        goal="best arm",
        standing="proven",
        reference=KARNIN,
        summary="Halves the accuracy round by round, around an arm found by median elimination.",
    ),
)

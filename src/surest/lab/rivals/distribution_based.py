"""Distribution-based elimination (Chen, Li 2015): eliminate only when a test finds enough arms to be worth it."""

from math import ceil, log

import numpy as np

from surest.algorithms.entry import Entry, certified
from surest.core.protocol import FloatArray, IntArray, Procedure, Pull, Statistic, whole
from surest.lab.rivals.median_elimination import median_elimination
from surest.lab.rivals.shared import leading


def distribution_based_elimination(arms: IntArray, delta: float, *, rng: np.random.Generator) -> Procedure[int]:
    """The best arm, with probability 1 − δ: whatever the fraction tests say, only `_eliminate` can lose it."""
    left, r, eliminations = arms, 1, 1
    while len(left) > 1:
        epsilon_r, delta_r = 0.5**r, delta / (50 * r**2)
        some = yield from median_elimination(left, epsilon_r / 4, 0.01, rng=rng)
        (mean,) = yield from _uniform_sample(np.array([some]), epsilon_r / 4, delta_r, some)
        low, high = mean - 1.5 * epsilon_r, mean - 1.25 * epsilon_r
        if (yield from _fraction_test(left, low, high, delta_r, 0.4, 0.1, some, rng)):
            delta_h = delta / (50 * eliminations**2)
            good = yield from median_elimination(left, epsilon_r / 4, delta_h, rng=rng)
            (mean,) = yield from _uniform_sample(np.array([good]), epsilon_r / 4, delta_h, good)
            left = yield from _eliminate(left, mean - 0.5 * epsilon_r, mean - 0.25 * epsilon_r, delta_h, good, rng)
            eliminations += 1
        r += 1
    return int(left[0])


def _uniform_sample(arms: IntArray, epsilon: float, delta: float, leader: int) -> Procedure[FloatArray]:
    """Each mean to within ε, with probability 1 − δ (Hoeffding, for rewards in [0, 1])."""
    means: FloatArray = yield Pull(arms, whole(log(2 / delta) / (2 * epsilon**2)), Statistic.MEAN, leading(leader))
    return means


def _fraction_test(
    arms: IntArray,
    low: float,
    high: float,
    delta: float,
    threshold: float,
    slack: float,
    leader: int,
    rng: np.random.Generator,
) -> Procedure[bool]:
    """Whether more than the fraction `threshold` of arms lie below; sure outside ± slack, with probability 1 − δ."""
    draws = ceil(log(2 / delta) * (3 / slack) ** 2 / 2)
    left, seen = rng.multinomial(draws, np.full(len(arms), 1 / len(arms))), 0
    while left.any():  # each drawn arm is estimated afresh each time it is drawn; one request for all that are due
        due = arms[left > 0]
        means = yield from _uniform_sample(due, (high - low) / 2, slack / 3, leader)
        seen += int((means < (low + high) / 2).sum())
        left -= left > 0
    return seen > threshold * draws


def _eliminate(
    arms: IntArray, low: float, high: float, delta: float, leader: int, rng: np.random.Generator
) -> Procedure[IntArray]:
    """Drop arms until few are below `low`; an arm whose mean is `high` or more stays, with probability 1 − δ/10."""
    left, r, middle = arms, 1, (low + high) / 2
    while len(left) > 1:
        delta_r = delta / (10 * 2**r)
        if not (yield from _fraction_test(left, low, middle, delta_r, 0.075, 0.025, leader, rng)):
            break
        means = yield from _uniform_sample(left, (high - middle) / 2, delta_r, leader)
        stay = means >= (middle + high) / 2
        if not stay.any():  # only when an estimate has failed: keep the best guess
            stay = means == means.max()
        left = left[stay]
        r += 1
    return left


ENTRIES = (
    Entry(
        start=lambda task: certified(distribution_based_elimination(task.arms, task.delta, rng=task.rng)),
        name="distribution-based-elimination",
        goal="best arm",
        standing="reconstruction",
        reference="Chen, Li 2015",
        summary="Eliminates only when a test finds enough bad arms; constants for theorems.",
        costly=20,
    ),
)

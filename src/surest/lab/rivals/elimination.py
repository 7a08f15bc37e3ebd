"""Elimination in rounds of fresh samples: each drops arms with more care than the one before."""

from functools import partial
from math import ceil, log

import numpy as np

from surest.algorithms.entry import Entry, certified, started
from surest.core.protocol import FloatArray, IntArray, Procedure, Pull, Statistic, whole
from surest.lab.rivals.shared import EVEN_DAR, KARNIN, largest, leading


# Median Elimination (Even-Dar, Mannor, Mansour 2002): halve the arms, more carefully each time.
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


# Exponential-Gap Elimination (Karnin, Koren, Somekh 2013): drop arms ε_r below an ε_r/2-optimal one, halving ε_r.
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


# Distribution-based elimination (Chen, Li 2015): eliminate only when a test finds enough arms to be worth it.
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
    arms: IntArray, low: float, high: float, delta: float, threshold: float, slack: float, leader: int,
    rng: np.random.Generator,
) -> Procedure[bool]:  # fmt: skip
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
    Entry("median-elimination", started(median_elimination, partial(certified, reason="certified ε-optimal")),
        "ε-optimal arm", "proven", EVEN_DAR,
        "Drops the worse half, more carefully each time; the cost does not depend on the gaps."),
    Entry("exponential-gap-elimination", started(exponential_gap_elimination, certified),
        "best arm", "proven", KARNIN, "Halves the accuracy round by round, around an arm found by median elimination."),
    Entry("distribution-based-elimination", started(distribution_based_elimination, certified),
        "best arm", "reconstruction", "Chen, Li 2015",
        "Eliminates only when a test finds enough bad arms; constants for theorems.", costly=20),
)  # fmt: skip

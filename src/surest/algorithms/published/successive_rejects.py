"""Successive Rejects (Audibert, Bubeck 2010): spend a fixed budget in phases, rejecting the worst arm after each."""

from math import ceil

import numpy as np

from surest.algorithms.published.median_elimination import largest, leading
from surest.core.protocol import IntArray, Procedure, Pull, Statistic
from surest.errors import UsageError


def successive_rejects(arms: IntArray, budget: int, *, rng: np.random.Generator) -> Procedure[int]:
    """The arm that is left."""
    left, sums, done = arms, np.zeros(len(arms)), 0
    for times in phase_ends(len(arms), budget):
        if times > done:
            means = yield Pull(left, times - done, Statistic.MEAN, leading(int(left[sums[left].argmax()])))
            sums[left] += (times - done) * means
            done = times
        left = np.sort(largest(left, sums[left], len(left) - 1, rng))
    return int(left[0])


def phase_ends(n: int, budget: int) -> list[int]:
    """n_1 … n_(K−1): how often an arm has been pulled when phase k ends.

    >>> phase_ends(4, 100)
    [16, 21, 31]
    """
    check_budget(n, budget)
    log_bar = 0.5 + sum(1 / i for i in range(2, n + 1))
    return [ceil((budget - n) / (log_bar * (n + 1 - k))) for k in range(1, n)]


def check_budget(n: int, budget: int) -> None:
    """Refuse a budget that does not go round."""
    if budget <= n:
        raise UsageError(f"a budget of {budget} pulls is too small for {n} arms; give more than one pull an arm")

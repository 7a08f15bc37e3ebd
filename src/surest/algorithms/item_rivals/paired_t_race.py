"""A race with paired t-tests, in the manner of irace (López-Ibáñez et al. 2016) with testType = "t-test"."""

import numpy as np
from scipy.special import stdtr

from surest.algorithms.item_rivals.common import elimination
from surest.core.protocol import Answer, FloatArray, IntArray, Procedure


def paired_t_race(
    arms: IntArray, delta: float, *, items: int, rng: np.random.Generator, first_test: int = 5
) -> Procedure[Answer]:
    """Drop every arm that a paired t-test at level δ finds worse than the leader, after each item from `first_test` on.

    It looks after every item and at every arm, and corrects for neither, as irace does not by default.
    """

    def survivors(scores: FloatArray, play: IntArray) -> IntArray:
        t = len(scores)
        if t < first_test:
            return play
        leader = play[scores[:, play].sum(axis=0).argmax()]
        apart = scores[:, [leader]] - scores[:, play]
        spread = apart.std(axis=0, ddof=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            statistic = np.where(spread > 0, apart.mean(axis=0) / spread * t**0.5, 0.0)
        stays: IntArray = play[2 * (1 - stdtr(t - 1, statistic)) >= delta]
        return stays

    return elimination(arms, items, rng, survivors)

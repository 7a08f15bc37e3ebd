"""A race with paired t-tests, in the manner of irace (López-Ibáñez et al. 2016) with testType = "t-test"."""

import numpy as np

from surest.algorithms.item_rivals.common import elimination
from surest.core.protocol import Answer, FloatArray, IntArray, Procedure
from surest.numerics import student_tail


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
        p_values = np.array([2 * student_tail(t - 1, each) for each in statistic.tolist()])
        stays: IntArray = play[p_values >= delta]
        return stays

    return elimination(arms, items, rng, survivors)

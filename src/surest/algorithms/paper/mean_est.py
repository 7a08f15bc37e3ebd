"""MeanEst (Algorithm 3): an arm's mean to a given accuracy, with as many pulls as its variance asks for."""

from math import log

from surest.algorithms.paper.constants import PRINTED, Constants
from surest.algorithms.paper.var_est import var_est
from surest.core.protocol import FloatArray, IntArray, Procedure, Pull, Statistic, whole


def mean_est(arms: IntArray, epsilon: float, delta: float, *, constants: Constants = PRINTED) -> Procedure[FloatArray]:
    """Every arm's mean to within ε, each with probability 1 − δ (Lemma 2.3)."""
    variance = yield from var_est(arms, delta / constants.mean_est_var_delta, epsilon, constants=constants)  # line 2
    rate = constants.mean_est_square * variance / epsilon**2 + constants.mean_est_linear / epsilon
    means: FloatArray = yield Pull(arms, whole(rate * log(constants.mean_est_log / delta)), Statistic.MEAN)  # line 3
    return means  # line 4

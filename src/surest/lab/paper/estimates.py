"""VarTest, VarEst and MeanEst (Algorithms 2, 1 and 3): an arm's variance, roughly, and its mean to a given accuracy."""

from math import log

import numpy as np

from surest.core.protocol import BoolArray, FloatArray, IntArray, Procedure, Pull, Statistic, whole
from surest.lab.paper.constants import PRINTED, Constants


def var_test(arms: IntArray, tau: float, delta: float, c: float) -> Procedure[BoolArray]:
    """VarTest: whether each arm's variance is above τ.

    Right with probability 1 − δ(τ/σ²)^c where σ² ≥ 2τ, and 1 − δ(σ²/τ)^c where σ² ≤ τ/2 (Lemma 2.1), for c = 80 and
    δ ≤ e^−1.85; the printed proof inverts a ratio, and at its δ = 1/e both claims fail.
    """
    times = whole(c / tau * log(1 / delta))  # line 2
    variance = yield Pull(arms, whole(2.0 * times), Statistic.PAIRS)  # lines 3 and 4
    above: BoolArray = variance > tau  # line 5
    return above


def var_est(arms: IntArray, delta: float, ell: float, *, constants: Constants = PRINTED) -> Procedure[FloatArray]:
    """VarEst: each arm's variance, to within [σ²/4, 2σ²) where σ² > ℓ (Lemma 2.2), as a power of a half above ℓ/2."""
    estimate = np.full(len(arms), np.nan)
    r = 1
    while True:  # line 2
        tau = 0.5**r  # line 3
        left = np.flatnonzero(np.isnan(estimate))
        if tau <= ell:  # line 4, its first half: draws nothing
            estimate[left] = tau
        else:
            above = yield from var_test(arms[left], tau, delta / constants.var_test_delta, constants.var_test_c)
            estimate[left[above]] = tau  # line 5
        if not np.isnan(estimate).any():
            return estimate
        r += 1


def mean_est(arms: IntArray, epsilon: float, delta: float, *, constants: Constants = PRINTED) -> Procedure[FloatArray]:
    """MeanEst: every arm's mean to within ε, each with probability 1 − δ (Lemma 2.3)."""
    variance = yield from var_est(arms, delta / constants.mean_est_var_delta, epsilon, constants=constants)  # line 2
    rate = constants.mean_est_square * variance / epsilon**2 + constants.mean_est_linear / epsilon
    means: FloatArray = yield Pull(arms, whole(rate * log(constants.mean_est_log / delta)), Statistic.MEAN)  # line 3
    return means  # line 4

"""VarEst (Algorithm 1): the order of magnitude of an arm's variance."""

import numpy as np

from surest.algorithms.paper.constants import PRINTED, Constants
from surest.algorithms.paper.var_test import var_test
from surest.core.protocol import FloatArray, IntArray, Procedure


def var_est(arms: IntArray, delta: float, ell: float, *, constants: Constants = PRINTED) -> Procedure[FloatArray]:
    """Each arm's variance, to within [σ²/4, 2σ²) where σ² > ℓ (Lemma 2.2), as a power of a half above ℓ/2."""
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

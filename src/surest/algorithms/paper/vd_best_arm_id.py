"""VD-BestArmId (Algorithm 7): the paper's main algorithm."""

import numpy as np

from surest.algorithms.paper.best_arm_est import best_arm_est
from surest.algorithms.paper.constants import PRINTED, Constants, entry
from surest.algorithms.paper.mean_est import mean_est
from surest.core.protocol import IntArray, Procedure


def vd_best_arm_id(
    arms: IntArray, delta: float, *, rng: np.random.Generator, constants: Constants = PRINTED
) -> Procedure[int]:
    """The best arm, with probability 1 − δ (Theorem 5.1). With two equal best arms it does not end."""
    left, r = arms, 1  # line 2
    while len(left) > 1:  # line 3
        epsilon_r = 0.5**r / constants.main_epsilon  # line 4
        delta_r = delta / (constants.main_delta * r**2)
        accuracy, confidence = epsilon_r / constants.main_parts_epsilon, delta_r / constants.main_parts_delta
        means = yield from mean_est(left, accuracy, confidence, constants=constants)  # line 5
        first = yield from best_arm_est(left, accuracy, confidence, rng=rng, constants=constants)  # line 6
        others = left[left != first]
        second = yield from best_arm_est(others, accuracy, confidence, rng=rng, constants=constants)  # line 7
        if abs(means[left == first] - means[left == second]) > constants.main_stop * epsilon_r:  # line 8
            return first
        left = left[means >= means[left == first] - epsilon_r]  # line 9
        r += 1  # line 10
    return int(left[0])  # line 11


ENTRIES = (
    entry(
        "vd-best-arm-id",
        "best arm",
        "Algorithm 7",
        "Variance-dependent identification, optimal up to doubly logarithmic terms; constants for theorems.",
        vd_best_arm_id,
    ),
)

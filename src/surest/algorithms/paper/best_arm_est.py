"""BestArmEst (Algorithm 4): an ε-optimal arm."""

from math import log

import numpy as np

from surest.algorithms.paper.constants import PRINTED, Constants, entry
from surest.algorithms.paper.iter_elim import iter_elim
from surest.algorithms.paper.naive import naive_best_arm_est
from surest.core.protocol import IntArray, Procedure


def best_arm_est(
    arms: IntArray, epsilon: float, delta: float, *, rng: np.random.Generator, constants: Constants = PRINTED
) -> Procedure[int]:
    """An ε-optimal arm, with probability 1 − δ (Theorem 4.1)."""
    accuracy, confidence = epsilon / constants.best_parts, delta / constants.best_parts
    some = yield from iter_elim(arms, accuracy, confidence, constants=constants)  # line 2
    if 1 / epsilon > log(len(arms)):  # line 3
        some = yield from iter_elim(some, accuracy, confidence, constants=constants)
    return (yield from naive_best_arm_est(some, accuracy, confidence, rng=rng, constants=constants))  # line 4


ENTRIES = (
    entry(
        "best-arm-est",
        "ε-optimal arm",
        "Algorithm 4",
        "Grouped median elimination, the main step of vd-best-arm-id.",
        best_arm_est,
    ),
)

"""EB-TCε (Jourdan, Degenne, Kaufmann 2023): Top Two for an arm within ε of the best, by gaps that ε is added to.

The leader is the arm of the largest mean, the challenger the one with the least (gap + ε)/√(1/N_leader + 1/N_challenger).
"""

from math import log

import numpy as np

from surest.core.protocol import IntArray
from surest.kernels.constants import EB_TC_EPSILON
from surest.lab.stepwise import Stepwise, fresh_state, pullwise
from surest.numerics import minimum, zeta


def eb_tc_epsilon(arms: IntArray, delta: float, *, epsilon: float, rng: np.random.Generator) -> Stepwise:
    """An arm within ε of the best, with probability 1 − δ; β = 1/2, and one ε for sampling and stopping."""
    settings = 2 * calibration(0.5 * log((len(arms) - 1) / delta)), epsilon
    return Stepwise(EB_TC_EPSILON, fresh_state(len(arms), settings, rows=3, rng=rng), "certified ε-optimal")


def calibration(x: float) -> float:
    """C_G of Kaufmann and Koolen (2021): min over ½ < λ ≤ 1 of (g(λ) + x)/λ; about x + ln x.

    >>> round(calibration(3.0), 2)
    4.65
    """

    def at(lam: float) -> float:
        g = 2 * lam - 2 * lam * log(4 * lam) + log(zeta(2 * lam)) - 0.5 * log(1 - lam)
        return float((g + x) / lam)

    return minimum(at, 0.5 + 1e-9, 1 - 1e-9)


ENTRIES = (
    pullwise(
        lambda task: eb_tc_epsilon(task.arms, task.delta, epsilon=task.epsilon, rng=task.rng),
        name="eb-tc-epsilon",
        goal="ε-optimal arm",
        standing="reconstruction",
        reference="Jourdan, Degenne, Kaufmann 2023",
        summary="Top Two for an arm within ε of the best: ε is added to every gap; sub-Gaussian bounds.",
    ),
)

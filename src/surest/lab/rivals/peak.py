"""PEAK (Cho, Gan, Kallus 2024): capital averaged over arms tests "arm a is the best" without a union over arms.

For a vector m of means the average over arms j of ½·K+_j(m_j) + ½·K−_j(m_j) is a fair bet against m. Arm a is out once it
is at least 1/δ for every m in which a is the best.
"""

from math import log

import numpy as np

from surest.core.protocol import IntArray
from surest.kernels.constants import PEAK, POINTS
from surest.lab.rivals.betting_racing import ROWS
from surest.lab.stepwise import Stepwise, fresh_state, pullwise


def peak(arms: IntArray, delta: float, *, rng: np.random.Generator) -> Stepwise:
    """The best arm, with probability 1 − δ."""
    settings = log(1 / delta), len(arms) / delta
    return Stepwise(PEAK, fresh_state(len(arms), settings, rows=ROWS + 2 * (POINTS - 1), rng=rng))


ENTRIES = (
    pullwise(
        lambda task: peak(task.arms, task.delta, rng=task.rng),
        name="peak",
        goal="best arm",
        standing="reconstruction",
        reference="Cho, Gan, Kallus 2024",
        summary="Averages betting capital over arms in place of a union; pulls the leader or the arm least refuted.",
        costly=20,
    ),
)

"""lil-KLUCB (Tánczos, Nowak, Mankoff 2017): KL-LUCB with bounds of the law of the iterated logarithm."""

from math import log

import numpy as np

from surest.core.protocol import IntArray
from surest.kernels.constants import EPOCH_POWER, LIL_KL_UCB
from surest.lab.stepwise import Stepwise, fresh_state, pullwise
from surest.numerics import zeta


def lil_kl_ucb(arms: IntArray, delta: float, *, rng: np.random.Generator, epsilon: float = 0.0) -> Stepwise:
    """An arm within ε of the best, with probability 1 − δ.

    The best arm's upper bound fails with probability δ/2, each other arm's lower bound with δ/(2(n − 1)).
    """
    n = len(arms)
    settings = log(2 / delta), log(2 * (n - 1) / delta), log(zeta(EPOCH_POWER)), epsilon
    return Stepwise(LIL_KL_UCB, fresh_state(n, settings, rng=rng))


ENTRIES = (
    pullwise(
        lambda task: lil_kl_ucb(task.arms, task.delta, epsilon=task.epsilon, rng=task.rng),
        name="lil-kl-ucb",
        goal="either",
        standing="reconstruction",
        reference="Tánczos, Nowak, Mankoff 2017",
        summary="KL-LUCB with iterated-logarithm bounds; constants derived here, not the authors'.",
    ),
)

"""Successive Elimination (Even-Dar, Mannor, Mansour 2002): pull all that is left, drop what is clearly worse."""

from math import log

import numpy as np

from surest.core.protocol import IntArray
from surest.kernels.constants import SUCCESSIVE_ELIMINATION
from surest.lab.rivals.references import EVEN_DAR
from surest.lab.stepwise import Stepwise, fresh_state, pullwise


def successive_elimination(arms: IntArray, delta: float, *, rng: np.random.Generator, c: float = 5.0) -> Stepwise:
    """The best arm, with probability 1 − δ, for c > 4."""
    return Stepwise(SUCCESSIVE_ELIMINATION, fresh_state(len(arms), (log(c * len(arms) / delta),), rng=rng))


ENTRIES = (
    pullwise(
        lambda task: successive_elimination(task.arms, task.delta, rng=task.rng),
        name="successive-elimination",
        goal="best arm",
        standing="proven",
        reference=EVEN_DAR,
        summary="Pulls all arms in turn and drops those that are clearly worse; Hoeffding bounds.",
    ),
)

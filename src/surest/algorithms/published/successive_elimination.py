"""Successive Elimination (Even-Dar, Mannor, Mansour 2002): pull all that is left, drop what is clearly worse."""

from math import log, sqrt

import numpy as np

from surest.algorithms.published.references import EVEN_DAR
from surest.algorithms.stepwise import TOTAL, State, Stepwise, empirical_best, everyone, fresh_state, pullwise
from surest.compiled import compiled
from surest.core.protocol import IntArray

LOG_INVERSE = 0
"""A place in the settings."""


def successive_elimination(arms: IntArray, delta: float, *, rng: np.random.Generator, c: float = 5.0) -> Stepwise:
    """The best arm, with probability 1 − δ, for c > 4."""
    return Stepwise(_decide, fresh_state(len(arms), {LOG_INVERSE: log(c * len(arms) / delta)}, rng=rng))


@compiled
def _decide(state: State) -> int:
    if state.marks[TOTAL] == 0:
        return everyone(state)
    best = empirical_best(state)
    t = state.counts[best]  # every arm in play has as many pulls
    radius = sqrt((state.settings[LOG_INVERSE] + 2 * log(t)) / t)
    left = 0
    for arm in range(len(state.counts)):
        if state.active[arm]:
            state.active[arm] = (state.sums[best] - state.sums[arm]) / t < 2 * radius
            left += state.active[arm]
    return everyone(state) if left > 1 else 0


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

"""LUCB1 (Kalyanakrishnan, Tewari, Auer, Stone 2012): pull the leader and the arm most likely to overtake it."""

from math import log

import numpy as np

from surest.algorithms.stepwise import TOTAL, State, Stepwise, empirical_best, everyone, fresh_state, pullwise
from surest.compiled import compiled
from surest.core.protocol import IntArray
from surest.evidence.intervals import hoeffding

LOG_INVERSE, EPSILON = 0, 1
"""Places in the settings."""


def lucb(arms: IntArray, delta: float, *, rng: np.random.Generator, epsilon: float = 0.0) -> Stepwise:
    """An arm within ε of the best, with probability 1 − δ."""
    settings = {LOG_INVERSE: log(1.25 * len(arms) / delta), EPSILON: epsilon}
    return Stepwise(_decide, fresh_state(len(arms), settings, rng=rng))


@compiled
def _decide(state: State) -> int:
    total = state.marks[TOTAL]
    if total == 0:
        return everyone(state)
    log_inverse = state.settings[LOG_INVERSE] + 4 * log(total)  # ln((5/4)·n·t⁴/δ)
    leader = empirical_best(state)
    challenger, top = -1, -1.0
    for arm in range(len(state.counts)):
        upper = state.sums[arm] / state.counts[arm] + hoeffding(state.counts[arm], log_inverse)
        if arm != leader and upper > top:
            challenger, top = arm, upper
    lower = state.sums[leader] / state.counts[leader] - hoeffding(state.counts[leader], log_inverse)
    state.pick[0], state.pick[1] = leader, challenger
    return 0 if top - lower <= state.settings[EPSILON] else 2


ENTRIES = (
    pullwise(
        lambda task: lucb(task.arms, task.delta, epsilon=task.epsilon, rng=task.rng),
        name="lucb",
        goal="either",
        standing="proven",
        reference="Kalyanakrishnan, Tewari, Auer, Stone 2012",
        summary="Pulls the leader and its most optimistic rival; Hoeffding bounds.",
    ),
)

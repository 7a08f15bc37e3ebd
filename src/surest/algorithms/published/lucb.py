"""LUCB1 (Kalyanakrishnan, Tewari, Auer, Stone 2012): pull the leader and the arm most likely to overtake it.

For the m best arms: of the m largest means the arm of the least lower bound, and of the others that of the largest upper one.
"""

from math import inf, log

import numpy as np

from surest.algorithms.stepwise import (
    CHOSEN,
    TOTAL,
    State,
    Stepwise,
    empirical_top,
    everyone,
    fresh_state,
    named,
    pullwise,
)
from surest.compiled import compiled
from surest.core.protocol import IntArray
from surest.core.question import BEST, Question
from surest.evidence.intervals import hoeffding

LOG_INVERSE, EPSILON, TOP = 0, 1, 2
"""Places in the settings."""


def lucb(
    arms: IntArray, delta: float, *, rng: np.random.Generator, epsilon: float = 0.0, question: Question = BEST
) -> Stepwise:
    """An arm within ε of the best, or m arms within ε of the m-th best, with probability 1 − δ."""
    settings = {LOG_INVERSE: log(1.25 * len(arms) / delta), EPSILON: epsilon, TOP: question.top}
    return Stepwise(_decide, fresh_state(len(arms), settings, rng=rng), top=named(question))


@compiled
def _decide(state: State) -> int:
    total = state.marks[TOTAL]
    if total == 0:
        return everyone(state)
    log_inverse = state.settings[LOG_INVERSE] + 4 * log(total)  # ln((5/4)·n·t⁴/δ)
    empirical_top(state, int(state.settings[TOP]))
    weakest, challenger, lower, top = -1, -1, inf, -1.0
    for arm in range(len(state.counts)):
        mean, radius = state.sums[arm] / state.counts[arm], hoeffding(state.counts[arm], log_inverse)
        chosen = state.memory[CHOSEN, arm] > 0
        if chosen and mean - radius < lower:
            weakest, lower = arm, mean - radius
        if not chosen and mean + radius > top:
            challenger, top = arm, mean + radius
    state.pick[0], state.pick[1] = weakest, challenger
    return 0 if top - lower <= state.settings[EPSILON] else 2


ENTRIES = (
    pullwise(
        lambda task: lucb(task.arms, task.delta, epsilon=task.epsilon, rng=task.rng, question=task.question),
        name="lucb",
        goal="either",
        standing="proven",
        reference="Kalyanakrishnan, Tewari, Auer, Stone 2012",
        summary="Pulls the leader and its most optimistic rival; Hoeffding bounds.",
        answers=("best", "top"),
    ),
)

"""Racing on betting confidence sequences (Waudby-Smith, Ramdas 2024): pull all that is left, drop what is surely worse."""

from math import log

import numpy as np

from surest.algorithms.published.capital import ABOVE, BELOW, POINTS, ROWS, bet_on
from surest.algorithms.stepwise import TOTAL, State, Stepwise, empirical_best, everyone, fresh_state, pullwise
from surest.compiled import compiled
from surest.core.protocol import IntArray

LOG_INVERSE = 0
"""A place in the settings: ln(n/δ)."""


def betting_racing(arms: IntArray, delta: float, *, rng: np.random.Generator) -> Stepwise:
    """The best arm, with probability 1 − δ: n one-sided bets at δ/n each."""
    return Stepwise(_decide, fresh_state(len(arms), {LOG_INVERSE: log(len(arms) / delta)}, rows=ROWS, rng=rng))


@compiled
def _decide(state: State) -> int:
    if state.marks[TOTAL] == 0:
        return everyone(state)
    level = state.settings[LOG_INVERSE]
    bet_on(state, level)
    empirical_best(state)
    surely = -1  # the largest point that some arm's mean is surely above
    for arm in range(len(state.counts)):
        if state.active[arm]:
            while surely + 1 < POINTS and state.memory[ABOVE + surely + 1, arm] >= level:
                surely += 1
    left = 0
    for arm in range(len(state.counts)):
        if state.active[arm]:
            # K− rises in m: the arm is surely below `surely` if it is surely below any point up to there
            state.active[arm] = surely < 0 or state.memory[BELOW + surely, arm] < level
            left += state.active[arm]
    empirical_best(state)
    return everyone(state) if left > 1 else 0


ENTRIES = (
    pullwise(
        lambda task: betting_racing(task.arms, task.delta, rng=task.rng),
        name="betting-racing",
        goal="best arm",
        standing="proven",
        reference="Waudby-Smith, Ramdas 2024",
        summary="Pulls all arms in turn and drops those that betting confidence sequences put below another.",
        costly=20,
    ),
)

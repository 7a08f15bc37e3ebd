"""PEAK (Cho, Gan, Kallus 2024): capital averaged over arms tests "arm a is the best" without a union over arms.

For a vector m of means the average over arms j of ½·K+_j(m_j) + ½·K−_j(m_j) is a fair bet against m. Arm a is out once it
is at least 1/δ for every m in which a is the best.
"""

from math import exp, log

import numpy as np

from surest.algorithms.published.capital import ABOVE, BELOW, POINTS, ROWS, bet_on
from surest.algorithms.stepwise import (
    ASKED,
    TOTAL,
    State,
    Stepwise,
    empirical_best,
    everyone,
    fresh_state,
    pullwise,
    random_below,
)
from surest.compiled import compiled
from surest.core.protocol import IntArray

LOG_INVERSE, NEEDED = 0, 1
"""Places in the settings: ln 1/δ, and n/δ, which the sum over arms must reach."""
CELLS, LEAST = ROWS, ROWS + POINTS - 1
"""Rows of memory: an arm's capital between neighbouring points, not above it; the least of it in this cell and those below."""


def peak(arms: IntArray, delta: float, *, rng: np.random.Generator) -> Stepwise:
    """The best arm, with probability 1 − δ."""
    settings = {LOG_INVERSE: log(1 / delta), NEEDED: len(arms) / delta}
    return Stepwise(_decide, fresh_state(len(arms), settings, rows=ROWS + 2 * (POINTS - 1), rng=rng))


@compiled
def _decide(state: State) -> int:
    if state.marks[TOTAL] == 0:
        return everyone(state)
    needed, memory, n = state.settings[NEEDED], state.memory, len(state.counts)
    bet_on(state, state.settings[LOG_INVERSE])
    for i in range(state.marks[ASKED]):
        arm, least = state.pick[i], 2 * needed  # more than is needed is never looked at
        for g in range(POINTS - 1):  # K+ falls and K− rises between two points
            above, below = memory[ABOVE + g + 1, arm], memory[BELOW + g, arm]
            memory[CELLS + g, arm] = min(0.5 * (exp(min(above, 99.0)) + exp(min(below, 99.0))), 2 * needed)
            least = min(least, memory[CELLS + g, arm])
            memory[LEAST + g, arm] = least
    together = np.zeros(POINTS - 1)
    for arm in range(n):
        together += memory[LEAST : LEAST + POINTS - 1, arm]
    leader, challenger, weakest, left = empirical_best(state), -1, np.inf, 0
    for arm in range(n):
        if state.active[arm]:
            own = memory[CELLS : CELLS + POINTS - 1, arm] - memory[LEAST : LEAST + POINTS - 1, arm]
            capital = (together + own).min()  # all means that make this arm the best
            state.active[arm] = arm == leader or capital < needed
            left += state.active[arm]
            if arm != leader and capital < weakest:
                challenger, weakest = arm, capital
    if left == 1:
        return 0
    state.pick[0] = leader if random_below(state.noise, 2) == 0 else challenger
    return 1


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

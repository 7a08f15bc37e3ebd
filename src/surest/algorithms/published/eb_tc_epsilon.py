"""EB-TCε (Jourdan, Degenne, Kaufmann 2023): Top Two for an arm within ε of the best, by gaps that ε is added to.

The leader is the arm of the largest mean, the challenger the one with the least (gap + ε)/√(1/N_leader + 1/N_challenger).
"""

from math import inf, log, sqrt

import numpy as np

from surest.algorithms.stepwise import TOTAL, State, Stepwise, empirical_best, everyone, first_of, fresh_state, pullwise
from surest.compiled import compiled
from surest.core.protocol import IntArray
from surest.numerics import minimum, zeta

LEVEL, EPSILON = 0, 1
"""Places in the settings: what of the threshold does not grow, and ε."""
LED, OWN, CLOSE = 0, 1, 2
"""Rows of memory: how often an arm was the leader; how often it was then pulled; minus its distance from the leader."""
VARIANCE = 0.25
"""Rewards in [0, 1] are sub-Gaussian with this variance proxy; the paper writes 1."""


def eb_tc_epsilon(arms: IntArray, delta: float, *, epsilon: float, rng: np.random.Generator) -> Stepwise:
    """An arm within ε of the best, with probability 1 − δ; β = 1/2, and one ε for sampling and stopping."""
    settings = {LEVEL: 2 * calibration(0.5 * log((len(arms) - 1) / delta)), EPSILON: epsilon}
    return Stepwise(_decide, fresh_state(len(arms), settings, rows=3, rng=rng), "certified ε-optimal")


def calibration(x: float) -> float:
    """C_G of Kaufmann and Koolen (2021): min over ½ < λ ≤ 1 of (g(λ) + x)/λ; about x + ln x.

    >>> round(calibration(3.0), 2)
    4.65
    """

    def at(lam: float) -> float:
        g = 2 * lam - 2 * lam * log(4 * lam) + log(zeta(2 * lam)) - 0.5 * log(1 - lam)
        return float((g + x) / lam)

    return minimum(at, 0.5 + 1e-9, 1 - 1e-9)


@compiled
def _decide(state: State) -> int:
    total, n = state.marks[TOTAL], len(state.counts)
    if total == 0:
        return everyone(state)
    leader, close = empirical_best(state), state.memory[CLOSE]
    mean = state.sums[leader] / state.counts[leader]
    for arm in range(n):
        gap = mean - state.sums[arm] / state.counts[arm] + state.settings[EPSILON]
        close[arm] = -gap / sqrt(VARIANCE * (1 / state.counts[leader] + 1 / state.counts[arm]))
    close[leader] = -inf
    challenger = first_of(close, n, leader, state.noise)
    if -close[challenger] >= sqrt(2 * (state.settings[LEVEL] + 4 * log(4 + log(total / 2)))):
        return 0
    state.memory[LED, leader] += 1
    if state.memory[OWN, leader] <= state.memory[LED, leader] / 2:  # tracking in place of a coin
        state.memory[OWN, leader] += 1
        state.pick[0] = leader
    else:
        state.pick[0] = challenger
    return 1


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

"""UGapE (Gabillon, Ghavamzadeh, Lazaric 2012): shrink the gap between the best guess and what could beat it."""

from math import log

import numpy as np

from surest.algorithms.published.gap_index import estimated_h1, smallest_gap
from surest.algorithms.published.references import GABILLON
from surest.algorithms.published.shared import H1, check_budget, told_h1
from surest.algorithms.stepwise import LEADER, TOTAL, State, Stepwise, everyone, fresh_state, pullwise
from surest.compiled import compiled
from surest.core.protocol import FloatArray, IntArray
from surest.evidence.intervals import empirical_bernstein, hoeffding

KIND, CONSTANT, LIMIT = 0, 1, 2
"""Places in the settings: which radius, ln(4n/δ) or a in it, and the ε or the budget at which to stop."""
HOEFFDING, BERNSTEIN, BUDGET, ADAPTIVE = 0.0, 1.0, 2.0, 3.0
"""Kinds of radius."""
RADIUS, SMALLEST = 0, 1
"""Rows of memory: each arm's radius; in place 0, the smallest gap index so far."""


def ugape(
    arms: IntArray, delta: float, *, rng: np.random.Generator, epsilon: float = 0.0, variance: bool = False
) -> Stepwise:
    """UGapEc: an arm within ε of the best, with probability 1 − δ; `variance` takes empirical Bernstein bounds."""
    kind = BERNSTEIN if variance else HOEFFDING
    settings = {KIND: kind, CONSTANT: log(4 * len(arms) / delta), LIMIT: epsilon}
    return Stepwise(_decide, fresh_state(len(arms), settings, rows=2, rng=rng))


def ugape_b(arms: IntArray, budget: int, *, rng: np.random.Generator, h1: float | None) -> Stepwise:
    """UGapEb: spend the budget; a = (T − K)/(16·H1), and with `h1` None H1 is estimated as it goes."""
    n = len(arms)
    kind = ADAPTIVE if h1 is None else BUDGET
    check_budget(n, budget)
    a = (budget - n) / 16
    settings = {KIND: kind, CONSTANT: a if h1 is None else a / h1, LIMIT: budget}
    state = fresh_state(n, settings, rows=2, rng=rng)
    state.memory[SMALLEST, 0] = np.inf
    return Stepwise(_decide, state, "fixed budget", certified=False)


@compiled
def _decide(state: State) -> int:
    total, n, kind, limit = state.marks[TOTAL], len(state.counts), state.settings[KIND], state.settings[LIMIT]
    if total == 0 or (kind == BERNSTEIN and total == n):
        return everyone(state)
    radius = state.memory[RADIUS]
    _radii(state, radius)
    guess, gap, rival = smallest_gap(state, radius)
    if kind < BUDGET:
        state.marks[LEADER] = guess
        if gap <= limit:
            return 0
    else:
        if gap <= state.memory[SMALLEST, 0]:  # UGapEb answers the guess whose gap index was smallest
            state.memory[SMALLEST, 0], state.marks[LEADER] = gap, guess
        if total >= limit:
            return 0
    state.pick[0] = guess if radius[guess] >= radius[rival] else rival
    return 1


@compiled
def _radii(state: State, radius: FloatArray) -> None:
    kind, constant = state.settings[KIND], state.settings[CONSTANT]
    if kind == ADAPTIVE:
        constant /= estimated_h1(state)
    log_inverse = constant + 3 * log(state.marks[TOTAL])  # ln(4Kt³/δ)
    for arm in range(len(state.counts)):
        count = state.counts[arm]
        if kind == HOEFFDING:
            radius[arm] = hoeffding(count, log_inverse)
        elif kind == BERNSTEIN:
            spread = state.squares[arm] - state.sums[arm] * state.sums[arm] / count
            radius[arm] = empirical_bernstein(max(spread, 0.0) / (count - 1), count, log_inverse)
        else:
            radius[arm] = np.sqrt(constant / count)


ENTRIES = (
    pullwise(
        lambda task: ugape(task.arms, task.delta, epsilon=task.epsilon, rng=task.rng),
        name="ugape",
        goal="either",
        standing="proven",
        reference=GABILLON,
        summary="Shrinks the gap between the best guess and what could beat it.",
    ),
    pullwise(
        lambda task: ugape(task.arms, task.delta, epsilon=task.epsilon, rng=task.rng, variance=True),
        name="ugape-v",
        goal="either",
        standing="proven",
        reference=GABILLON,
        summary="ugape with empirical Bernstein bounds: arms of small variance need fewer pulls.",
    ),
    pullwise(
        lambda task, *, h1=None: ugape_b(task.arms, task.budget, rng=task.rng, h1=told_h1("ugape-b", h1)),
        name="ugape-b",
        goal="fixed budget",
        standing="proven",
        reference=GABILLON,
        summary="ugape for a fixed budget; must be told H1 = Σ 1/gap².",
        options={"h1": H1},
        told_h1=True,
    ),
    pullwise(
        lambda task: ugape_b(task.arms, task.budget, rng=task.rng, h1=None),
        name="ugape-b-adaptive",
        goal="fixed budget",
        standing="heuristic",
        reference=GABILLON,
        summary="ugape-b with the hardness estimated as it goes; no proof.",
    ),
)

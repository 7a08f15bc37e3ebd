"""lil'UCB (Jamieson, Malloy, Nowak, Bubeck 2014): optimism with bounds of the law of the iterated logarithm."""

from math import sqrt

import numpy as np

from surest.algorithms.published.references import LIL_UCB
from surest.algorithms.stepwise import ASKED, LEADER, TOTAL, State, Stepwise, everyone, first_of, fresh_state, pullwise
from surest.compiled import compiled
from surest.core.protocol import FloatArray, IntArray
from surest.evidence.intervals import iterated_log, lil_factor

EPSILON, BETA, LEVEL, STOP, UNION_LEVEL = 0, 1, 2, 3, 4
"""Places in the settings: ε, β and δ' of the authors; λ, or 0 for the stop of LUCB; the level of the bounds of that stop."""
INDEX, UPPER, LOWER = 0, 1, 2
"""Rows of memory."""


def lil_ucb(arms: IntArray, delta: float, *, rng: np.random.Generator, lucb_stop: bool = False) -> Stepwise:
    """The best arm, with probability 1 − δ: ε = 0.01, β = 1, λ = 9 and the authors' δ'.

    It stops when one arm has λ times the pulls of all others; with `lucb_stop`, when one arm's lower bound reaches the
    others' upper ones. differs: from about 5/δ arms on δ' is smaller than the authors', so that λ = 9 is covered by a proof
    for every number of arms (docs/rivals.md).
    """
    n, epsilon, beta = len(arms), 0.01, 1.0
    c = lil_factor(epsilon)
    level = min((sqrt(1 + delta) - 1) ** 2 / (4 * c), delta / (3 * c * n))
    stop = 0.0 if lucb_stop else ((2 + beta) / beta) ** 2
    settings = {EPSILON: epsilon, BETA: beta, LEVEL: level, STOP: stop, UNION_LEVEL: delta / (c * n)}
    return Stepwise(_decide, fresh_state(n, settings, rows=3, rng=rng))


def lil_ucb_heuristic(arms: IntArray, delta: float, *, rng: np.random.Generator) -> Stepwise:
    """The constants of the authors' experiments: ε = 0, β = 1/2, λ = 1 + 10/n, δ' = δ/5. No theorem covers them."""
    n = len(arms)
    settings = {EPSILON: 0.0, BETA: 0.5, LEVEL: delta / 5, STOP: 1 + 10 / n, UNION_LEVEL: 1.0}
    return Stepwise(_decide, fresh_state(n, settings, rows=3, rng=rng))


@compiled
def _decide(state: State) -> int:
    if state.marks[TOTAL] == 0:
        return everyone(state)
    epsilon, beta, level = state.settings[EPSILON], state.settings[BETA], state.settings[LEVEL]
    stop, union_level = state.settings[STOP], state.settings[UNION_LEVEL]
    index, upper, lower = state.memory[INDEX], state.memory[UPPER], state.memory[LOWER]
    for i in range(state.marks[ASKED]):  # only these arms' bounds have changed
        arm = state.pick[i]
        mean, count = state.sums[arm] / state.counts[arm], state.counts[arm]
        index[arm] = mean + (1 + beta) * iterated_log(count, level, epsilon)
        if stop == 0:
            radius = iterated_log(count, union_level, epsilon)
            upper[arm], lower[arm] = mean + radius, mean - radius
        elif count > state.counts[state.marks[LEADER]]:
            state.marks[LEADER] = arm
    if _settled(state, stop, upper, lower):
        return 0
    state.pick[0] = first_of(index, len(state.counts), -1, state.noise)
    return 1


@compiled
def _settled(state: State, stop: float, upper: FloatArray, lower: FloatArray) -> bool:
    n = len(state.counts)
    if stop > 0:
        most = state.counts[state.marks[LEADER]]
        return bool(most >= 1 + stop * (state.marks[TOTAL] - most))
    leader = lower[:n].argmax()
    state.marks[LEADER] = leader
    for arm in range(n):  # noqa: SIM110 - the compiler knows no all()
        if arm != leader and upper[arm] > lower[leader]:
            return False
    return True


ENTRIES = (
    pullwise(
        lambda task: lil_ucb(task.arms, task.delta, rng=task.rng),
        name="lil-ucb",
        goal="best arm",
        standing="proven",
        reference=LIL_UCB,
        summary="Optimism with iterated-logarithm bounds; stops when one arm has nine times the pulls of all others.",
    ),
    pullwise(
        lambda task: lil_ucb(task.arms, task.delta, rng=task.rng, lucb_stop=True),
        name="lil-ucb-lucb-stop",
        goal="best arm",
        standing="proven",
        reference=LIL_UCB,
        summary="lil-ucb, stopped when one arm's lower bound reaches the others' upper ones.",
    ),
    pullwise(
        lambda task: lil_ucb_heuristic(task.arms, task.delta, rng=task.rng),
        name="lil-ucb-heuristic",
        goal="best arm",
        standing="heuristic",
        reference=LIL_UCB,
        summary="lil-ucb with the constants of its authors' experiments; no proof.",
        heuristic_of="lil-ucb",
    ),
)

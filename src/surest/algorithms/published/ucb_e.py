"""UCB-E (Audibert, Bubeck 2010): spend a fixed budget on the arms of the largest mean + √(a/pulls)."""

import numpy as np

from surest.algorithms.published.references import AUDIBERT
from surest.algorithms.published.shared import H1, check_budget, phase_ends, told_h1
from surest.algorithms.stepwise import TOTAL, State, Stepwise, empirical_best, everyone, fresh_state, pullwise
from surest.compiled import compiled
from surest.core.protocol import IntArray

EXPLORATION, BUDGET, ADAPTIVE, PHASES = 0, 1, 2, 3
"""Places in the settings: a, the budget, whether a is estimated, and from there on the totals at which phases end."""


def ucb_e(arms: IntArray, budget: int, *, rng: np.random.Generator, h1: float) -> Stepwise:
    """The arm of the largest mean; a = (25/36)·(T − K)/H1 with the H1 = Σ 1/gap² that the caller knows."""
    check_budget(len(arms), budget)
    a = 25 / 36 * (budget - len(arms)) / h1
    state = fresh_state(len(arms), {EXPLORATION: a, BUDGET: budget, ADAPTIVE: False}, rng=rng)
    return Stepwise(_decide, state, "fixed budget", certified=False)


def ucb_e_adaptive(arms: IntArray, budget: int, *, rng: np.random.Generator) -> Stepwise:
    """The same with a = T/H2, H2 estimated at the ends of the phases of Successive Rejects."""
    n, ends = len(arms), phase_ends(len(arms), budget)
    totals = [sum(ends[:k]) + (n - k) * ends[k] for k in range(n - 1)]  # pulls of Successive Rejects after phase k + 1
    settings = {EXPLORATION: budget / n, BUDGET: budget, ADAPTIVE: True}
    state = fresh_state(n, settings | {PHASES + k: total for k, total in enumerate(totals)}, rng=rng)
    return Stepwise(_decide, state, "fixed budget", certified=False)


@compiled
def _decide(state: State) -> int:
    total, n, settings = state.marks[TOTAL], len(state.counts), state.settings
    if total == 0:
        return everyone(state)
    empirical_best(state)
    if total >= settings[BUDGET]:
        return 0
    if settings[ADAPTIVE]:
        for phase in range(n - 1):
            if total == settings[PHASES + phase]:
                settings[EXPLORATION] = settings[BUDGET] / _estimated_h2(state, phase + 1)
    choice, top = 0, -1.0
    for arm in range(n):
        index = state.sums[arm] / state.counts[arm] + np.sqrt(settings[EXPLORATION] / state.counts[arm])
        if index > top:
            choice, top = arm, index
    state.pick[0] = choice
    return 1


@compiled
def _estimated_h2(state: State, phase: int) -> float:
    """The largest i/gap_i² of the `phase` largest gaps, gaps in rising order; none is taken below 1/√t."""
    n = len(state.counts)
    means = np.sort(state.sums / state.counts)[::-1]
    largest = 0.0
    for i in range(n - phase, n):
        gap = means[0] - means[i]
        largest = max(largest, (i + 1) / max(gap * gap, 1 / state.marks[TOTAL]))
    return largest


ENTRIES = (
    pullwise(
        lambda task, *, h1=None: ucb_e(task.arms, task.budget, rng=task.rng, h1=told_h1("ucb-e", h1)),
        name="ucb-e",
        goal="fixed budget",
        standing="proven",
        reference=AUDIBERT,
        summary="Optimism for a fixed budget; must be told H1 = Σ 1/gap².",
        options={"h1": H1},
        told_h1=True,
    ),
    pullwise(
        lambda task: ucb_e_adaptive(task.arms, task.budget, rng=task.rng),
        name="ucb-e-adaptive",
        goal="fixed budget",
        standing="heuristic",
        reference=AUDIBERT,
        summary="ucb-e with the hardness estimated as it goes; no proof.",
    ),
)

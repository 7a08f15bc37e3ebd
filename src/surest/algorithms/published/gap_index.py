"""The gap index of UGapE (Gabillon, Ghavamzadeh, Lazaric 2012), and its estimate of how hard the arms are."""

import numpy as np

from surest.algorithms.stepwise import TOTAL, State
from surest.compiled import compiled
from surest.core.protocol import FloatArray


@compiled
def smallest_gap(state: State, radius: FloatArray) -> tuple[int, float, int]:
    """The arm k of the smallest B_k = max over i ≠ k of U_i, less L_k; B_k; and the i of that maximum."""
    first, second, top, next_top = -1, -1, -np.inf, -np.inf
    for arm in range(len(state.counts)):
        upper = state.sums[arm] / state.counts[arm] + radius[arm]
        if upper > top:
            second, next_top, first, top = first, top, arm, upper
        elif upper > next_top:
            second, next_top = arm, upper
    guess, gap = -1, np.inf
    for arm in range(len(state.counts)):
        lower = state.sums[arm] / state.counts[arm] - radius[arm]
        value = (next_top if arm == first else top) - lower
        if value < gap:
            guess, gap = arm, value
    return guess, gap, second if guess == first else first


@compiled
def estimated_h1(state: State) -> float:
    """Σ 1/gap² of the empirical means; gaps are not taken below 1/√t."""
    top, next_top = -1.0, -1.0
    for arm in range(len(state.counts)):
        mean = state.sums[arm] / state.counts[arm]
        if mean > top:
            next_top, top = top, mean
        elif mean > next_top:
            next_top = mean
    total = 0.0
    for arm in range(len(state.counts)):
        mean = state.sums[arm] / state.counts[arm]
        gap = max(top - mean, top - next_top)
        total += 1 / max(gap * gap, 1 / state.marks[TOTAL])
    return total

"""KL-Racing (Kaufmann, Kalyanakrishnan 2013) and Chernoff-Racing (Garivier, Kaufmann 2016): drop the worst when sure."""

import numpy as np

from surest.algorithms.published.kl_lucb import rate_settings
from surest.algorithms.stepwise import LEADER, TOTAL, State, Stepwise, empirical_best, everyone, fresh_state
from surest.compiled import compiled
from surest.core.protocol import IntArray
from surest.evidence.divergence import kl, kl_lower, kl_upper
from surest.evidence.intervals import kl_rate


def kl_racing(arms: IntArray, delta: float, *, rng: np.random.Generator, heuristic: bool = False) -> Stepwise:
    """The best arm, with probability 1 − δ; `heuristic` takes the rate of the authors' experiments."""
    return Stepwise(_decide, fresh_state(len(arms), (*rate_settings(len(arms), delta, heuristic), 0.0), rng=rng))


def chernoff_racing(arms: IntArray, delta: float, *, rng: np.random.Generator) -> Stepwise:
    """Racing on the likelihood ratio of the best and the worst arm, with the heuristic rate."""
    return Stepwise(_decide, fresh_state(len(arms), (*rate_settings(len(arms), delta, True), 1.0), rng=rng))


@compiled
def _decide(state: State) -> int:
    if state.marks[TOTAL] == 0:
        return everyone(state)
    best, worst = empirical_best(state), _worst(state)
    if _beaten(state, best, worst):
        state.active[worst] = False
    asked = everyone(state)
    if asked == 1:
        state.marks[LEADER] = state.pick[0]
        return 0
    return asked


@compiled
def _worst(state: State) -> int:
    """The arm in play with the smallest sum; the last of several."""
    worst = -1
    for arm in range(len(state.counts)):
        if state.active[arm] and (worst < 0 or state.sums[arm] <= state.sums[worst]):
            worst = arm
    return worst


@compiled
def _beaten(state: State, best: int, worst: int) -> bool:
    count = state.counts[best]  # all arms in play have as many pulls
    high, low = state.sums[best] / count, state.sums[worst] / count
    rate = kl_rate(state.marks[TOTAL], state.settings[0], state.settings[1])
    if state.settings[2] == 0:
        return bool(kl_lower(high, rate / count) > kl_upper(low, rate / count))
    middle = (high + low) / 2
    return bool(high > low and count * (kl(high, middle) + kl(low, middle)) > rate)

"""Track-and-Stop (Garivier, Kaufmann 2016), D-tracking: pull in the proportions that end soonest, as far as one knows."""

from math import log, sqrt

import numpy as np

from surest.algorithms.rivals.optimal_weights import tracked_weights
from surest.algorithms.stepwise import LEADER, TOTAL, State, Stepwise, below, everyone, fresh_state
from surest.compiled import compiled
from surest.evidence.divergence import kl
from surest.protocol import IntArray

WEIGHTS = 0
"""A row of memory; the next ones belong to `tracked_weights`."""


def track_and_stop(arms: IntArray, delta: float, *, rng: np.random.Generator, heuristic: bool = False) -> Stepwise:
    """The best arm, with probability 1 − δ: threshold ln(2t(K − 1)/δ), or the heuristic ln((1 + ln t)/δ)."""
    settings = (log(1 / delta) if heuristic else log(2 * (len(arms) - 1) / delta), float(heuristic))
    return Stepwise(_decide, fresh_state(len(arms), settings, rows=4, rng=rng))


@compiled
def _decide(state: State) -> int:
    total, n = state.marks[TOTAL], len(state.counts)
    if total == 0:
        return everyone(state)
    best, ties, fewest = 0, 1, 0
    for arm in range(1, n):
        lead = state.sums[arm] * state.counts[best] - state.sums[best] * state.counts[arm]
        if lead > 0:
            best, ties = arm, 1
        elif lead == 0:
            ties += 1
            if below(state.noise, ties) == 0:
                best = arm
        if state.counts[arm] < state.counts[fewest]:
            fewest = arm
    state.marks[LEADER] = best
    if ties > 1:  # several best ones: pull one of them
        state.pick[0] = best
        return 1
    growth = log(1 + log(total)) if state.settings[1] > 0 else log(total)
    if evidence(state, best) > state.settings[0] + growth:
        return 0
    if state.counts[fewest] <= max(sqrt(total) - n / 2, 0.0):  # forced exploration; arm 0 counts like any other
        state.pick[0] = fewest
        return 1
    weights = state.memory[WEIGHTS]
    tracked_weights(state, best, weights)
    choice = 0
    for arm in range(1, n):
        if total * weights[arm] - state.counts[arm] > total * weights[choice] - state.counts[choice]:
            choice = arm
    state.pick[0] = choice
    return 1


@compiled
def evidence(state: State, best: int) -> float:
    """The smallest generalised likelihood ratio of the best arm against another, in nats."""
    least = np.inf
    mean, count = state.sums[best] / state.counts[best], state.counts[best]
    for arm in range(len(state.counts)):
        if arm != best:
            other = state.sums[arm] / state.counts[arm]
            middle = (state.sums[best] + state.sums[arm]) / (count + state.counts[arm])
            ratio = count * kl(mean, middle) + state.counts[arm] * kl(other, middle)
            least = min(least, ratio)
    return least

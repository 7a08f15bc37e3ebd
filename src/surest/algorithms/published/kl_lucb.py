"""KL-LUCB (Kaufmann, Kalyanakrishnan 2013): LUCB with Chernoff bounds, which rewards near 0 or 1 make short."""

import numpy as np

from surest.algorithms.published.exploration import OWN, rate_of, rate_settings
from surest.algorithms.published.references import GARIVIER, KAUFMANN
from surest.algorithms.stepwise import (
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
from surest.evidence.kernels import kl, kl_upper, surely_above

EPSILON = OWN
"""A place in the settings, after those of the rate."""


def kl_lucb(
    arms: IntArray, delta: float, *, rng: np.random.Generator, epsilon: float = 0.0, heuristic: bool = False
) -> Stepwise:
    """An arm within ε of the best, with probability 1 − δ; `heuristic` takes a smaller rate (see `exploration`)."""
    settings = rate_settings(len(arms), delta, heuristic) | {EPSILON: epsilon}
    return Stepwise(_decide, fresh_state(len(arms), settings, rng=rng))


@compiled
def _decide(state: State) -> int:
    if state.marks[TOTAL] == 0:
        return everyone(state)
    rate = rate_of(state)
    leader = empirical_best(state)
    challenger = most_optimistic(state, leader, rate)
    upper = kl_upper(state.sums[challenger] / state.counts[challenger], rate / state.counts[challenger])
    state.pick[0], state.pick[1] = leader, challenger
    mean, count = state.sums[leader] / state.counts[leader], state.counts[leader]
    return 0 if surely_above(mean, rate / count, upper - state.settings[EPSILON]) else 2


@compiled
def most_optimistic(state: State, leader: int, rate: float) -> int:
    """The arm with the largest upper bound, the leader apart, one at random where several have it.

    A bound costs several logarithms; that an arm's bound is not above the largest so far is seen from two.
    """
    best, top, ties = -1, -1.0, 1
    n = len(state.counts)
    first = state.pick[1] if total_rounds(state) > 0 else 0  # last time's challenger often is this time's
    for i in range(n):
        arm = first + i if first + i < n else first + i - n
        if arm == leader:
            continue
        mean, count = state.sums[arm] / state.counts[arm], state.counts[arm]
        if mean < top < 1 and count * kl(mean, top) > rate:
            continue
        upper = kl_upper(mean, rate / count)
        if upper > top:
            best, top, ties = arm, upper, 1
        elif upper == top:
            ties += 1
            if random_below(state.noise, ties) == 0:
                best = arm
    return best


@compiled
def total_rounds(state: State) -> int:
    """Rounds after the first, in which every arm was pulled."""
    return int(state.marks[TOTAL] - len(state.counts))


ENTRIES = (
    pullwise(
        lambda task: kl_lucb(task.arms, task.delta, epsilon=task.epsilon, rng=task.rng),
        name="kl-lucb",
        goal="either",
        standing="proven",
        reference=KAUFMANN,
        summary="LUCB with Chernoff bounds, shorter for means near 0 or 1.",
    ),
    pullwise(
        lambda task: kl_lucb(task.arms, task.delta, epsilon=task.epsilon, rng=task.rng, heuristic=True),
        name="kl-lucb-heuristic",
        goal="either",
        standing="heuristic",
        reference=f"{KAUFMANN}; {GARIVIER}",
        summary="kl-lucb with the rate ln((1 + ln t)/δ) of Garivier and Kaufmann 2016, section 6; no proof.",
        heuristic_of="kl-lucb",
    ),
)

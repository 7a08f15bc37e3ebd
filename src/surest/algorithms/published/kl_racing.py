"""KL-Racing (Kaufmann, Kalyanakrishnan 2013) and Chernoff-Racing (Garivier, Kaufmann 2016): drop the worst when sure."""

import numpy as np

from surest.algorithms.published.exploration import OWN, rate_of, rate_settings
from surest.algorithms.published.references import GARIVIER, KAUFMANN
from surest.algorithms.stepwise import LEADER, TOTAL, State, Stepwise, empirical_best, everyone, fresh_state, pullwise
from surest.compiled import compiled
from surest.core.protocol import IntArray
from surest.evidence.kernels import kl, kl_lower, kl_upper

LIKELIHOOD = OWN
"""A place in the settings, after those of the rate: whether arms are compared by a likelihood ratio, not by bounds."""


def kl_racing(arms: IntArray, delta: float, *, rng: np.random.Generator, heuristic: bool = False) -> Stepwise:
    """The best arm, with probability 1 − δ; `heuristic` takes a smaller rate (see `exploration`)."""
    settings = rate_settings(len(arms), delta, heuristic) | {LIKELIHOOD: False}
    return Stepwise(_decide, fresh_state(len(arms), settings, rng=rng))


def chernoff_racing(arms: IntArray, delta: float, *, rng: np.random.Generator) -> Stepwise:
    """Racing on the likelihood ratio of the best and the worst arm, with the heuristic rate."""
    settings = rate_settings(len(arms), delta, heuristic=True) | {LIKELIHOOD: True}
    return Stepwise(_decide, fresh_state(len(arms), settings, rng=rng))


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
    rate = rate_of(state)
    if not state.settings[LIKELIHOOD]:
        return bool(kl_lower(high, rate / count) > kl_upper(low, rate / count))
    middle = (high + low) / 2
    return bool(high > low and count * (kl(high, middle) + kl(low, middle)) > rate)


ENTRIES = (
    pullwise(
        lambda task: kl_racing(task.arms, task.delta, rng=task.rng),
        name="kl-racing",
        goal="best arm",
        standing="proven",
        reference=KAUFMANN,
        summary="Pulls all arms in turn, drops the worst when it is sure.",
    ),
    pullwise(
        lambda task: kl_racing(task.arms, task.delta, rng=task.rng, heuristic=True),
        name="kl-racing-heuristic",
        goal="best arm",
        standing="heuristic",
        reference=f"{KAUFMANN}; {GARIVIER}",
        summary="kl-racing with the rate ln((1 + ln t)/δ) of Garivier and Kaufmann 2016, section 6; no proof.",
        heuristic_of="kl-racing",
    ),
    pullwise(
        lambda task: chernoff_racing(task.arms, task.delta, rng=task.rng),
        name="chernoff-racing",
        goal="best arm",
        standing="heuristic",
        reference=GARIVIER,
        summary="Racing on likelihood ratios with the rate ln((1 + ln t)/δ); no proof.",
    ),
)

"""Track-and-Stop (Garivier, Kaufmann 2016), D-tracking: pull in the proportions that end soonest, as far as one knows."""

from math import log, sqrt

import numpy as np

from surest.algorithms.published.optimal_weights import ENTROPY, GLOBAL, ROWS, note, track
from surest.algorithms.published.references import GARIVIER
from surest.algorithms.stepwise import (
    ASKED,
    LEADER,
    TOTAL,
    State,
    Stepwise,
    everyone,
    fresh_state,
    pullwise,
    random_below,
)
from surest.compiled import compiled
from surest.core.protocol import FloatArray, IntArray

LEVEL, HEURISTIC = 0, 1
"""Places in the settings: what of the threshold does not grow; whether the rest grows as ln(1 + ln t), not as ln t."""
SAME = 1e-5
"""Means so close count as equal: their divergence, about 1e-10, is lost in rounding, and so would be the weights."""


def track_and_stop(arms: IntArray, delta: float, *, rng: np.random.Generator, heuristic: bool = False) -> Stepwise:
    """The best arm, with probability 1 − δ: threshold ln(2t(K − 1)/δ), or the heuristic ln((1 + ln t)/δ)."""
    level = log(1 / delta) if heuristic else log(2 * (len(arms) - 1) / delta)
    state = fresh_state(len(arms), {LEVEL: level, HEURISTIC: heuristic}, rows=ROWS, rng=rng)
    state.memory[GLOBAL, 1] = -1
    return Stepwise(_decide, state)


@compiled
def _decide(state: State) -> int:
    total, n = state.marks[TOTAL], len(state.counts)
    if total == 0:
        return everyone(state)
    for i in range(state.marks[ASKED]):
        arm = state.pick[i]
        note(state.memory, arm, state.sums[arm] / state.counts[arm])
    best, ties, fewest = 0, 1, 0
    for arm in range(1, n):
        lead = state.sums[arm] / state.counts[arm] - state.sums[best] / state.counts[best]
        if lead > SAME:
            best, ties = arm, 1
        elif lead >= -SAME:
            ties += 1
            if random_below(state.noise, ties) == 0:
                best = arm
        if state.counts[arm] < state.counts[fewest]:
            fewest = arm
    state.marks[LEADER] = best
    if ties > 1:  # several best ones: pull one of them
        state.pick[0] = best
        return 1
    growth = log(1 + log(total)) if state.settings[HEURISTIC] else log(total)
    hint = int(state.memory[GLOBAL, 2])
    weak = unbeaten(state.sums, state.counts, state.memory[ENTROPY], best, state.settings[LEVEL] + growth, hint)
    if weak < 0:
        return 0
    state.memory[GLOBAL, 2] = weak
    if state.counts[fewest] <= max(sqrt(total) - n / 2, 0.0):  # forced exploration; arm 0 counts like any other
        state.pick[0] = fewest
        return 1
    track(state.memory, n, best)
    weights = state.memory[0]
    choice = 0
    for arm in range(1, n):
        if total * weights[arm] - state.counts[arm] > total * weights[choice] - state.counts[choice]:
            choice = arm
    state.pick[0] = choice
    return 1


@compiled
def unbeaten(sums: FloatArray, counts: IntArray, entropy: FloatArray, best: int, threshold: float, hint: int) -> int:
    """An arm against which the best one's generalised likelihood ratio, in nats, is not above the threshold; −1 if none.

    `entropy` is −H of the means. The search begins at `hint`: what was unbeaten a pull ago mostly still is.
    """
    n = len(counts)
    for i in range(n):
        arm = hint + i if hint + i < n else hint + i - n
        if arm != best:
            total, count = sums[best] + sums[arm], counts[best] + counts[arm]
            middle = total / count
            common = total * log(middle) + (count - total) * log(1 - middle)
            if not counts[best] * entropy[best] + counts[arm] * entropy[arm] - common > threshold:
                return arm
    return -1


ENTRIES = (
    pullwise(
        lambda task: track_and_stop(task.arms, task.delta, rng=task.rng),
        name="track-and-stop",
        goal="best arm",
        standing="proven",
        reference=GARIVIER,
        summary="Tracks the optimal proportions of pulls; likelihood-ratio stop.",
    ),
    pullwise(
        lambda task: track_and_stop(task.arms, task.delta, rng=task.rng, heuristic=True),
        name="track-and-stop-heuristic",
        goal="best arm",
        standing="heuristic",
        reference=GARIVIER,
        summary="track-and-stop with the threshold ln((1 + ln t)/δ) of its authors' experiments; no proof.",
        heuristic_of="track-and-stop",
    ),
)

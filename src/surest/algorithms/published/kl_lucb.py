"""KL-LUCB (Kaufmann, Kalyanakrishnan 2013): LUCB with Chernoff bounds, which rewards near 0 or 1 make short.

For the m best arms: of the m largest means the arm of the least lower bound, and of the others that of the largest upper one.
"""

from functools import partial
from typing import Any

import numpy as np

from surest.algorithms.entry import Task
from surest.algorithms.published.exploration import OWN, rate_of, rate_settings
from surest.algorithms.published.references import GARIVIER, KAUFMANN
from surest.algorithms.stepwise import (
    CHOSEN,
    LEADER,
    TOTAL,
    State,
    Stepwise,
    empirical_top,
    everyone,
    fresh_state,
    named,
    pullwise,
    random_below,
)
from surest.compiled import compiled
from surest.core.protocol import IntArray
from surest.core.question import BEST, Question
from surest.evidence.kernels import kl, kl_lower, kl_upper, surely_above

EPSILON, TOP = OWN, OWN + 1
"""Places in the settings, after those of the rate."""


def kl_lucb(
    arms: IntArray,
    delta: float,
    *,
    rng: np.random.Generator,
    epsilon: float = 0.0,
    question: Question = BEST,
    heuristic: bool = False,
) -> Stepwise:
    """An arm within ε of the best, or m arms within ε of the m-th best, with probability 1 − δ.

    `heuristic` takes a smaller rate (see `exploration`).
    """
    settings = rate_settings(len(arms), delta, heuristic) | {EPSILON: epsilon, TOP: question.top}
    return Stepwise(_decide, fresh_state(len(arms), settings, rng=rng), top=named(question))


@compiled
def _decide(state: State) -> int:
    if state.marks[TOTAL] == 0:
        return everyone(state)
    rate = rate_of(state)
    empirical_top(state, int(state.settings[TOP]))
    weakest, challenger = least_sure(state, rate), most_optimistic(state, rate)
    upper = kl_upper(state.sums[challenger] / state.counts[challenger], rate / state.counts[challenger])
    state.pick[0], state.pick[1] = weakest, challenger
    mean, count = state.sums[weakest] / state.counts[weakest], state.counts[weakest]
    return 0 if surely_above(mean, rate / count, upper - state.settings[EPSILON]) else 2


@compiled
def least_sure(state: State, rate: float) -> int:
    """Of the arms chosen that with the least lower bound, one at random where several have it."""
    if state.settings[TOP] == 1:
        return int(state.marks[LEADER])
    weakest, least, ties = -1, 2.0, 1
    for arm in range(len(state.counts)):
        if state.memory[CHOSEN, arm] == 0:
            continue
        lower = kl_lower(state.sums[arm] / state.counts[arm], rate / state.counts[arm])
        if lower < least:
            weakest, least, ties = arm, lower, 1
        elif lower == least:
            ties += 1
            if random_below(state.noise, ties) == 0:
                weakest = arm
    return weakest


@compiled
def most_optimistic(state: State, rate: float) -> int:
    """Of the other arms that with the largest upper bound, one at random where several have it.

    A bound costs several logarithms; that an arm's bound is not above the largest so far is seen from two.
    """
    best, top, ties = -1, -1.0, 1
    n = len(state.counts)
    first = state.pick[1] if total_rounds(state) > 0 else 0  # last time's challenger often is this time's
    for i in range(n):
        arm = first + i if first + i < n else first + i - n
        if state.memory[CHOSEN, arm] > 0:
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


def _build(task: Task, heuristic: bool = False) -> Stepwise:
    given: dict[str, Any] = {"epsilon": task.epsilon, "rng": task.rng, "question": task.question}
    return kl_lucb(task.arms, task.delta, heuristic=heuristic, **given)


ENTRIES = (
    pullwise(
        _build,
        name="kl-lucb",
        goal="either",
        standing="proven",
        reference=KAUFMANN,
        summary="LUCB with Chernoff bounds, shorter for means near 0 or 1.",
        answers=("best", "top"),
    ),
    pullwise(
        partial(_build, heuristic=True),
        name="kl-lucb-heuristic",
        goal="either",
        standing="heuristic",
        reference=f"{KAUFMANN}; {GARIVIER}",
        summary="kl-lucb with the rate ln((1 + ln t)/δ) of Garivier and Kaufmann 2016, section 6; no proof.",
        answers=("best", "top"),
        heuristic_of="kl-lucb",
    ),
)

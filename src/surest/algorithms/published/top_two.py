"""Top Two, EB-TCI (Jourdan, Degenne, Baudry, de Heide, Kaufmann 2022), for any rewards in [0, 1].

The leader is the arm of the largest mean; the challenger has the smallest transport cost W + ln(its pulls), W being the
least count·K_inf of both arms together over all common means u. Stop when W exceeds the threshold for every other arm.
"""

from math import log

import numpy as np

from surest.algorithms.published.references import GARIVIER, JOURDAN
from surest.algorithms.published.transport import ROWS, absorb_atoms, leader_share, transport
from surest.algorithms.stepwise import (
    ASKED,
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

LEVEL, DIRECTED, HEURISTIC = 0, 1, 2
"""Places in the settings: what of the threshold does not grow; whether the coin is weighted by information; whether the
threshold is the one that nobody has proved."""
COST, LOG_COUNT, GLOBAL, BASE = 0, 1, 2, 3
"""Rows of memory: W of each arm against the leader; ln of its pulls; that leader, in place 0; the arms' rewards."""
COIN = 1 << 30


def top_two(
    arms: IntArray,
    delta: float,
    *,
    rng: np.random.Generator,
    information_directed: bool = False,
    heuristic: bool = False,
) -> Stepwise:
    """The best arm, with probability 1 − δ; threshold ln((K − 1)/δ) + 2·ln(1 + t/2) + 2.

    The leader is pulled with probability β = 1/2 or, `information_directed` (You, Qin, Wang, Yang 2023), with
    probability equal to its part of the transport cost. `heuristic`: threshold ln((1 + ln t)/δ), without a proof.
    """
    level = log(1 / delta) if heuristic else log((len(arms) - 1) / delta) + 2
    settings = {LEVEL: level, DIRECTED: information_directed, HEURISTIC: heuristic}
    return Stepwise(_decide, fresh_state(len(arms), settings, rows=BASE + ROWS, rng=rng))


@compiled
def _decide(state: State) -> int:
    total, n = state.marks[TOTAL], len(state.counts)
    if total == 0:
        return everyone(state)
    absorb_atoms(state, BASE)
    cost, log_count = state.memory[COST], state.memory[LOG_COUNT]
    for i in range(state.marks[ASKED]):
        log_count[state.pick[i]] = log(state.counts[state.pick[i]])
    leader = empirical_best(state)
    fresh = state.memory[GLOBAL, 0] != leader or state.marks[ASKED] > 1 or state.pick[0] == leader
    state.memory[GLOBAL, 0] = leader
    challenger, least, smallest = -1, np.inf, np.inf
    for arm in range(n):
        if arm == leader:
            continue
        if fresh or arm == state.pick[0]:  # a cost changes only when one of its two arms is pulled
            cost[arm] = transport(state, BASE, leader, arm)
        least = min(least, cost[arm])
        key = cost[arm] + log_count[arm]
        if key < smallest:
            challenger, smallest = arm, key
    growth = log(1 + log(total)) if state.settings[HEURISTIC] else 2 * log(1 + total / 2)
    if least > state.settings[LEVEL] + growth:
        return 0
    beta = leader_share(state, BASE, leader, challenger) if state.settings[DIRECTED] else 0.5
    state.pick[0] = leader if random_below(state.noise, COIN) < beta * COIN else challenger
    return 1


ENTRIES = (
    pullwise(
        lambda task: top_two(task.arms, task.delta, rng=task.rng),
        name="top-two",
        goal="best arm",
        standing="proven",
        reference=JOURDAN,
        summary="Pulls the leader or its closest challenger, by a fair coin; K_inf.",
    ),
    pullwise(
        lambda task: top_two(task.arms, task.delta, rng=task.rng, information_directed=True),
        name="top-two-ids",
        goal="best arm",
        standing="proven",
        reference=f"{JOURDAN}; You, Qin, Wang, Yang 2023",
        summary="top-two with a coin weighted by what either pull would tell.",
    ),
    pullwise(
        lambda task: top_two(task.arms, task.delta, rng=task.rng, heuristic=True),
        name="top-two-heuristic",
        goal="best arm",
        standing="heuristic",
        reference=f"{JOURDAN}; {GARIVIER}",
        summary="top-two with the threshold ln((1 + ln t)/δ), which nobody has proved.",
        heuristic_of="top-two",
    ),
    pullwise(
        lambda task: top_two(task.arms, task.delta, rng=task.rng, information_directed=True, heuristic=True),
        name="top-two-ids-heuristic",
        goal="best arm",
        standing="heuristic",
        reference=f"{JOURDAN}; You, Qin, Wang, Yang 2023; {GARIVIER}",
        summary="top-two-ids with the threshold ln((1 + ln t)/δ), which nobody has proved.",
        heuristic_of="top-two-ids",
    ),
)

"""Top Two, EB-TCI (Jourdan, Degenne, Baudry, de Heide, Kaufmann 2022), for any rewards in [0, 1].

The leader is the arm of the largest mean; the challenger has the smallest transport cost W + ln(its pulls), W being the
least count·K_inf of both arms together over all common means u. Stop when W exceeds the threshold for every other arm.
"""

from math import log

import numpy as np

from surest.algorithms.stepwise import ASKED, TOTAL, State, Stepwise, below, empirical_best, everyone, fresh_state
from surest.algorithms.rivals.transport import ATOMS, absorb_atoms, transport
from surest.compiled import compiled
from surest.protocol import IntArray

COST, SHARE = 0, 1
"""Rows of memory: W of each arm against the leader, and the leader's part of it. Place 0 of row 2: that leader."""
COIN = 1 << 30


def top_two(arms: IntArray, delta: float, *, rng: np.random.Generator, information_directed: bool = False) -> Stepwise:
    """The best arm, with probability 1 − δ; threshold ln((K − 1)/δ) + 2·ln(1 + t/2) + 2.

    The leader is pulled with probability β = 1/2 or, `information_directed` (You, Qin, Wang, Yang 2023), with
    probability equal to its part of the transport cost.
    """
    settings = (log((len(arms) - 1) / delta) + 2, float(information_directed))
    state = fresh_state(len(arms), settings, rows=3 + 3 + 2 * ATOMS, rng=rng)
    state.memory[2, 0] = -1
    return Stepwise(_decide, state)


@compiled
def _decide(state: State) -> int:
    total, n = state.marks[TOTAL], len(state.counts)
    absorb_atoms(state, 3)
    if total == 0:
        return everyone(state)
    leader = empirical_best(state)
    cost, share = state.memory[COST], state.memory[SHARE]
    fresh = state.memory[2, 0] != leader or state.marks[ASKED] > 1 or state.pick[0] == leader
    state.memory[2, 0] = leader
    challenger, least, smallest = -1, np.inf, np.inf
    for arm in range(n):
        if arm == leader:
            continue
        if fresh or arm == state.pick[0]:  # a cost changes only when one of its two arms is pulled
            cost[arm], share[arm] = transport(state, 3, leader, arm)
        least = min(least, cost[arm])
        key = cost[arm] + log(state.counts[arm])
        if key < smallest:
            challenger, smallest = arm, key
    if least > state.settings[0] + 2 * log(1 + total / 2):
        return 0
    beta = share[challenger] if state.settings[1] > 0 else 0.5
    state.pick[0] = leader if below(state.noise, COIN) < beta * COIN else challenger
    return 1

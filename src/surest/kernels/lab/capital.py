"""Capital that bets on an arm's mean being elsewhere (Waudby-Smith, Ramdas 2024), at every point of a grid of means.

K+(m) = Π (1 + min(λ_t, c/m)·(X_t − m)) bets that the mean is above m, K−(m) = Π (1 − min(λ_t, c/(1−m))·(X_t − m)) that it
is below; λ_t is known before X_t. K+ falls in m and K− rises, so what a grid point tells holds on one side of it.

Rows of memory: 0, Σ (X − running mean)²; from 1 on, ln K+ at each point; from 1 + POINTS on, ln K− at each point.
"""

import numpy as np

from surest.kernels import libm
from surest.kernels.lab import rules
from surest.kernels.lab.constants import ASKED, POINTS, TRUNCATION
from surest.kernels.lab.rules import Views


def bet_on(state: Views, log_inverse: float) -> None:
    """Let every arm's fresh reward win or lose; λ_t = √(2·ln(1/α)/(σ̂²·t·ln(1 + t))), σ̂² of the rewards before it."""
    for i in range(state.marks[ASKED]):
        arm, reward = state.pick[i], state.fresh[i]
        t = state.counts[arm]
        variance = (0.25 + state.memory[0, arm]) / t  # with one reward of variance ¼ before the first
        bet = libm.sqrt(2 * log_inverse / (variance * t * libm.log(1 + t)))
        for g in range(POINTS):
            m = g / (POINTS - 1.0)
            up = bet if bet * m <= TRUNCATION else TRUNCATION / m
            down = bet if bet * (1 - m) <= TRUNCATION else TRUNCATION / (1 - m)
            state.memory[1 + g, arm] += libm.log(1 + up * (reward - m))
            state.memory[1 + POINTS + g, arm] += libm.log(1 - down * (reward - m))
        apart = reward - (0.5 + state.sums[arm]) / (t + 1)
        state.memory[0, arm] += apart * apart


def betting_racing(state: Views) -> int:
    """Racing on betting confidence sequences. Settings: ln(n/δ)."""
    level, n = state.settings[0], len(state.counts)
    bet_on(state, level)
    rules.empirical_best(state)
    surely = -1  # the largest point that some arm's mean is surely above
    for arm in range(n):
        if state.active[arm]:
            while surely + 1 < POINTS and state.memory[1 + surely + 1, arm] >= level:
                surely += 1
    left = 0
    for arm in range(n):
        if state.active[arm]:
            # K− rises in m: the arm is surely below `surely` if it is surely below any point up to there
            state.active[arm] = surely < 0 or state.memory[1 + POINTS + surely, arm] < level
            left += state.active[arm]
    rules.empirical_best(state)
    return rules.everyone(state) if left > 1 else 0


def peak(state: Views) -> int:
    """PEAK. Settings: ln 1/δ, and n/δ, which the sum over arms must reach.

    Further rows of memory: an arm's capital between neighbouring points, not above it; the least of it in this cell and those
    below.
    """
    needed, memory, n = state.settings[1], state.memory, len(state.counts)
    cells, lowest, size = 1 + 2 * POINTS, 1 + 2 * POINTS + POINTS - 1, POINTS - 1
    bet_on(state, state.settings[0])
    for i in range(state.marks[ASKED]):
        arm, least = state.pick[i], 2 * needed  # more than is needed is never looked at
        for g in range(size):  # K+ falls and K− rises between two points
            above, below = memory[1 + g + 1, arm], memory[1 + POINTS + g, arm]
            memory[cells + g, arm] = min(0.5 * (libm.exp(min(above, 99.0)) + libm.exp(min(below, 99.0))), 2 * needed)
            least = min(least, memory[cells + g, arm])
            memory[lowest + g, arm] = least
    together = np.zeros(size)
    for arm in range(n):
        for g in range(size):
            together[g] += memory[lowest + g, arm]
    leader, challenger, weakest, left = rules.empirical_best(state), -1, libm.inf, 0
    for arm in range(n):
        if state.active[arm]:
            capital = libm.inf  # of all means that make this arm the best
            for g in range(size):
                capital = min(capital, together[g] + (memory[cells + g, arm] - memory[lowest + g, arm]))
            state.active[arm] = arm == leader or capital < needed
            left += state.active[arm]
            if arm != leader and capital < weakest:
                challenger, weakest = arm, capital
    if left == 1:
        return 0
    state.pick[0] = leader if rules.random_below(state, 2) == 0 else challenger
    return 1

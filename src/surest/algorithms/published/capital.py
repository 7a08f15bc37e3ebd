"""Capital that bets on an arm's mean being elsewhere (Waudby-Smith, Ramdas 2024), at every point of a grid of means.

K+(m) = Π (1 + min(λ_t, c/m)·(X_t − m)) bets that the mean is above m, K−(m) = Π (1 − min(λ_t, c/(1−m))·(X_t − m)) that it
is below; λ_t is known before X_t. K+ falls in m and K− rises, so what a grid point tells holds on one side of it.
"""

from math import log, sqrt

from surest.algorithms.stepwise import ASKED, State
from surest.compiled import compiled

POINTS = 1001
"""The grid: 0, 0.001, …, 1, as fine as in its authors' program."""
TRUNCATION = 0.5
"""c: the most that a bet may stake, as a share."""
SPREAD, ABOVE, BELOW = 0, 1, 1 + POINTS
"""Rows of memory: Σ (X − running mean)²; ln K+ at each point; ln K− at each point."""
ROWS = 1 + 2 * POINTS


@compiled
def bet_on(state: State, log_inverse: float) -> None:
    """Let every arm's fresh reward win or lose; λ_t = √(2·ln(1/α)/(σ̂²·t·ln(1 + t))), σ̂² of the rewards before it."""
    for i in range(state.marks[ASKED]):
        arm, reward = state.pick[i], state.fresh[i]
        t = state.counts[arm]
        variance = (0.25 + state.memory[SPREAD, arm]) / t  # with one reward of variance ¼ before the first
        bet = sqrt(2 * log_inverse / (variance * t * log(1 + t)))
        for g in range(POINTS):
            m = g / (POINTS - 1)
            up = bet if bet * m <= TRUNCATION else TRUNCATION / m
            down = bet if bet * (1 - m) <= TRUNCATION else TRUNCATION / (1 - m)
            state.memory[ABOVE + g, arm] += log(1 + up * (reward - m))
            state.memory[BELOW + g, arm] += log(1 - down * (reward - m))
        mean = (0.5 + state.sums[arm]) / (t + 1)
        state.memory[SPREAD, arm] += (reward - mean) ** 2

"""Averaging over all opponents, as PEAK does (Cho, Gan, Kallus 2024, arXiv 2402.06122).

The wealth against arm j is the average, over all other arms o, of a wealth against "o is not better than j". differs: PEAK
has fresh rewards; here the margins are those of a list without replacement, as in `race`, so that only the averaging differs.
"""

import numpy as np

from surest.algorithms.item_rivals.common import elimination
from surest.core.protocol import Answer, FloatArray, IntArray, Procedure
from surest.evidence.item_bets import CAP, MEMORY, PRIOR, TINY, TOLERANCE


def averaged_opponents(arms: IntArray, delta: float, *, items: int, rng: np.random.Generator) -> Procedure[Answer]:
    """Drop arm j when its average wealth reaches 1/δ; the wealth of a pair is frozen when either arm is out."""
    n = len(arms)
    sums, squares, wealth = np.zeros((n, n)), np.zeros((n, n)), np.ones((n, n))  # entry (j, o): bets that o is better

    def survivors(scores: FloatArray, play: IntArray) -> IntArray:
        pairs = np.ix_(play, play)
        t, left = len(scores) - 1, items - len(scores) + 1
        d = scores[-1, play][None, :] - scores[-1, play][:, None]
        room = np.maximum(1 - sums[pairs] / left, 1e-12)  # 1 + m
        gain = sums[pairs] / (t + MEMORY) + 1 - room
        stake = np.clip(gain / ((squares[pairs] + PRIOR) / (t + MEMORY)), 0, CAP / room)
        stake[(room >= 2) | (room <= TOLERANCE * items / left)] = 0.0
        wealth[pairs] *= 1 + stake * (d + 1 - room)
        wealth[wealth < TINY] = 0.0  # lost: smaller products would be rounded up, again and again
        sums[pairs] += d
        squares[pairs] += d**2
        average = (wealth[play].sum(axis=1) - 1) / (n - 1)
        out = (average >= 1 / delta) | (sums[pairs].max(axis=1) > left - 1 + TOLERANCE * items)
        return play if out.all() else play[~out]

    return elimination(arms, items, rng, survivors)

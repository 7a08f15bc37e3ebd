"""Covariance-adaptive elimination, after Saad, Blanchard and Verzelen (NeurIPS 2023), for bounded rewards.

A reconstruction: that arms are queried together and dropped by an empirical Bernstein bound on the difference with any arm in
play is theirs. Assumed here: the bound of Maurer and Pontil 2009 (differences have range 2), and a union over all ordered
pairs and over time by δ/(n(n − 1)·t(t + 1)). Rewards are theirs fresh; on a list without replacement they are the items.
"""

from math import log

import numpy as np

from surest.algorithms.item_rivals.common import elimination
from surest.core.protocol import Answer, FloatArray, IntArray, Procedure
from surest.evidence.intervals import empirical_bernstein


def covariance_adaptive(arms: IntArray, delta: float, *, items: int, rng: np.random.Generator) -> Procedure[Answer]:
    """Drop an arm when another one in play is better by more than the bound for their difference."""
    n = len(arms)
    products, sums = np.zeros((n, n)), np.zeros(n)

    def survivors(scores: FloatArray, play: IntArray) -> IntArray:
        t, now = len(scores), scores[-1, play]
        products[np.ix_(play, play)] += now[:, None] * now
        sums[play] += now
        if t < 2:
            return play
        level = log(2 * n * (n - 1) * t * (t + 1) / delta)
        own = products[play, play]
        apart = (sums[play][None, :] - sums[play][:, None]) / t  # entry (j, o): how much better o is
        second = (own[None, :] + own[:, None] - 2 * products[np.ix_(play, play)]) / t
        variance = np.maximum(second - apart**2, 0.0) * t / (t - 1)
        radius = np.sqrt(2 * variance * level / t) + 2 * empirical_bernstein(0.0, t, level)
        return play[~(apart > radius).any(axis=1)]

    return elimination(arms, items, rng, survivors)

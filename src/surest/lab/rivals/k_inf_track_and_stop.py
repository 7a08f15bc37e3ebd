"""K_inf Track-and-Stop (Agrawal, Juneja, Glynn 2020): the optimal proportions for rewards in [0, 1], in batches.

Proportions and the stop both come from the empirical laws themselves, by K_inf, and not from 0/1 laws of the same means.
"""

from math import ceil, log, sqrt

import numpy as np

from surest.algorithms.entry import Entry, certified, started
from surest.arms.finite import FiniteArms, finite_arms
from surest.core.protocol import Atoms, FloatArray, IntArray, Procedure, Pull, Statistic
from surest.lab.characteristic import characteristic, padded
from surest.lab.divergence import k_inf_above, k_inf_below
from surest.lab.rivals.shared import leading

FIRST, GROWTH = 10, 10
"""The first batch pulls each arm so often; a later one is a GROWTH-th of all pulls so far, but no smaller than n arms."""
STEPS = 25
"""Halvings of the range of a common mean: to 3e-8 of it, which changes the least value in its fifteenth digit."""


def k_inf_track_and_stop(arms: IntArray, delta: float, *, rng: np.random.Generator) -> Procedure[int]:
    """The best arm, with probability 1 − δ."""
    n = len(arms)
    rewards: list[tuple[FloatArray, FloatArray]] = [(np.empty(0), np.empty(0))] * n
    counts, times, best = np.zeros(n, np.int64), np.full(n, FIRST), 0
    while True:
        pulled = np.flatnonzero(times)
        atoms = yield Pull(arms[pulled], times[pulled], Statistic.ATOMS, leading(int(arms[best])))
        for k, arm in enumerate(pulled.tolist()):
            rewards[arm] = _merged(rewards[arm], atoms, k)
        counts += times
        laws = finite_arms(rewards)
        best = int(laws.means.argmax())
        needed = log((n - 1) / delta) + 2 + np.log(counts[best] + 1) + np.log(counts + 1)
        cost = transport_costs(laws, counts, best)
        if (np.delete(cost, best) > np.delete(needed, best)).all():
            return int(arms[best])
        times = batch(counts, characteristic(laws).weights, rng)


def transport_costs(laws: FiniteArms, counts: IntArray, best: int) -> FloatArray:
    """For each arm j: inf over x of N_best·K⁻(law of best, x) + N_j·K⁺(law of j, x), in nats; 0 for the best itself."""
    values, probabilities = padded(laws)
    own = values[best : best + 1], probabilities[best : best + 1]
    low, high = np.minimum(laws.means, laws.means[best]), np.full(len(laws), laws.means[best])
    one = other = None  # the last slopes, from which the next search starts
    for _ in range(STEPS):  # the sum is convex in x; its slope says on which side the least value is
        x = (low + high) / 2
        one, other = k_inf_below(*own, x, one).slope, k_inf_above(values, probabilities, x, other).slope
        rising = counts * other > counts[best] * one
        low, high = np.where(rising, low, x), np.where(rising, x, high)
    costs = counts[best] * k_inf_below(*own, low).value + counts * k_inf_above(values, probabilities, low).value
    costs[best] = 0.0
    return np.asarray(costs)


def batch(counts: IntArray, weights: FloatArray, rng: np.random.Generator) -> IntArray:
    """How often to pull each arm next: first what arms lack of the root of all pulls, the rest at random by the weights."""
    n, total = len(counts), int(counts.sum())
    size = max(n, ceil(total / GROWTH))
    times: IntArray = np.ceil(np.maximum(sqrt(total + size) - counts, 0.0)).astype(np.int64)
    if times.sum() >= size:
        return times
    shares = np.full(n, 1 / n) if np.isnan(weights).any() else weights / weights.sum()
    return np.asarray(times + rng.multinomial(size - times.sum(), shares))


def _merged(kept: tuple[FloatArray, FloatArray], atoms: Atoms, k: int) -> tuple[FloatArray, FloatArray]:
    """An arm's distinct rewards and how often each came, with those of a reply's k-th arm."""
    part = slice(atoms.start[k], atoms.start[k + 1])
    values, where = np.unique(np.concatenate([kept[0], atoms.values[part]]), return_inverse=True)
    return values, np.bincount(where, np.concatenate([kept[1], atoms.counts[part]])).astype(np.float64)


ENTRIES = (
    Entry("k-inf-track-and-stop", started(k_inf_track_and_stop, certified),
        "best arm", "reconstruction", "Agrawal, Juneja, Glynn 2020; Agrawal, Koolen, Juneja 2021",
        "Track-and-Stop for any rewards in [0, 1]: proportions and stop by K_inf of the empirical laws.", costly=20),
)  # fmt: skip

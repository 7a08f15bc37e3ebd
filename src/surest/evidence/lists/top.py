"""What scores on a list say about the m best arms: a wealth against every set of m arms.

Before each unit, for a set T, o is the strongest undecided arm outside and j the weakest undecided arm inside, by the units so
far. With D = v_o − v_j, T's wealth is multiplied by 1 + λ(D − m), m = −(S_o − S_j)/(weight left). If T is a set of m best arms,
μ_o ≤ μ_j whichever pair was taken, so its wealth reaches 1/δ with probability at most δ. docs/questions.md has the proof.
"""

from itertools import combinations
from math import inf

import numpy as np

from surest.core.protocol import FloatArray, IntArray
from surest.evidence.lists.scores import Scores
from surest.kernels.constants import CAP, MEMORY, PRIOR, STEPS, WEIGHTS
from surest.kernels.lists import all_doubted, boundary, pay


def pair_factors(
    scores: Scores, stronger: IntArray, weaker: IntArray, cross: FloatArray, values: FloatArray
) -> FloatArray:
    """What a bet on each stronger arm against each weaker one pays on a unit: (stronger, weaker, bet).

    All that is chosen rests on the units counted so far: `values` (an entry an arm) are those of the next one.
    """
    o, j = stronger[:, None], weaker[None, :]
    t, left = scores.t, inf if scores.population else scores.left
    lead = scores.sums[o] - scores.sums[j]
    margin = -lead / left
    free = (margin < 1) & (left - lead > scores.least)
    room = np.where(free, 1 + margin, 1.0)
    gain = (scores.plain[o] - scores.plain[j]) / (t + MEMORY) - margin
    moment = (scores.squares[o] - 2 * cross[o, j] + scores.squares[j] + PRIOR) / (t + MEMORY)
    stakes = [np.minimum(np.maximum(gain / moment, 0.0), CAP / room)]
    stakes += [CAP / room * 0.5**k for k in range(STEPS)]
    surprise = values[o] - values[j] - margin
    return np.stack([np.where(free, 1 + stake * surprise, 1.0) for stake in stakes], axis=-1)


class Sets:
    """A wealth against every set of m of n arms."""

    def __init__(self, scores: Scores, n: int, m: int, level: float) -> None:
        self.scores, self.n, self.m, self.level = scores, n, m, level
        self.sets = np.array(list(combinations(range(n), m)), dtype=np.int64)
        self.alive = np.arange(len(self.sets))
        self.wealth = np.ones((len(self.sets), 1 + STEPS))
        self.cross = np.zeros((n, n))
        self.exact = True
        """Whether every set that is out could not have been right any more."""
        self.refuted = inf
        """The least wealth against a set that is out."""

    def members(self) -> IntArray:
        """In how many of the sets that are alive each arm is."""
        return np.bincount(self.sets[self.alive].ravel(), minlength=self.n)

    def count(self, play: IntArray, values: FloatArray) -> None:
        """Take in the next unit: a value for every undecided arm."""
        scores, row = self.scores, np.zeros(self.n)
        row[play] = values
        order = play[np.argsort(-scores.sums[play], kind="stable")]
        weakest, strongest = self._boundary(order)
        factors = pair_factors(scores, order[: strongest.max() + 1], order, self.cross, row)
        pay(self.alive, strongest, weakest, factors, self.wealth)
        scores.count(play, values)
        self.cross += row[:, None] * row
        self._drop(play)

    def _boundary(self, order: IntArray) -> tuple[IntArray, IntArray]:
        """For each set that is alive: the places in `order` of its weakest member, and of the strongest other arm."""
        rank = np.full(self.n, -1)
        rank[order] = np.arange(len(order))
        weakest, strongest = np.empty_like(self.alive), np.empty_like(self.alive)
        boundary(self.sets, self.alive, rank, weakest, strongest, np.zeros(self.n + 1, np.int64))
        return weakest, strongest

    def _drop(self, play: IntArray) -> None:
        """Take out the sets whose wealth suffices, and those that cannot be right any more."""
        scores, wealth = self.scores, self.current()
        certain = np.zeros(len(wealth), bool)
        slack = scores.left + scores.least
        if not scores.population and np.ptp(scores.sums[play]) > slack:
            order = play[np.argsort(-scores.sums[play], kind="stable")]
            weakest, strongest = self._boundary(order)
            certain = scores.sums[order[strongest]] - scores.sums[order[weakest]] > slack
        out = certain | (wealth >= self.level)
        if not out.any():
            return
        if out.all():  # one must remain to be named
            out[np.where(certain, inf, wealth).argmin()] = False
        self.exact &= bool(certain[out].all())
        self.refuted = min(self.refuted, float(wealth[out & ~certain].min(initial=inf)))
        self.alive = self.alive[~out]

    def current(self) -> FloatArray:
        """The wealth against each set that is alive."""
        wealth: FloatArray = self.wealth[self.alive] @ WEIGHTS
        return wealth

    def decided(self) -> tuple[IntArray, IntArray]:
        """The arms that are in every set that is alive, and those that are in none."""
        held = self.members()
        return np.flatnonzero(held == len(self.alive)), np.flatnonzero(held == 0)

    def against_others(self, named: IntArray) -> float:
        """The least wealth against any set but the one named; when all is seen, sets that are alive are as right as that one."""
        if self.scores.t == len(self.scores.weights) and not self.scores.population:
            return self.refuted
        mine = (self.sets[self.alive] == np.sort(named)).all(axis=1)
        return min(self.refuted, float(self.current()[~mine].min(initial=inf)))

    def close_enough(self, named: IntArray, needed: FloatArray) -> bool:
        """Whether the set named may be named, where `needed` is what pairs of arms leave to the wealth."""
        wealth = np.zeros(len(self.sets))
        wealth[self.alive] = self.current()
        return all_doubted(self.sets, self.alive, wealth, named, needed, np.zeros((2, self.n), np.int64))

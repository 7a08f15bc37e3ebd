"""What scores on a list say about the m best arms where there are too many sets of m: a wealth for every pair of arms.

In m(n − m) pairs an arm outside of the m best meets one of them. If none of these is ever wrongly decided, an arm among the m
best is beaten by fewer than m arms, and any other arm beats fewer than n − m: so counts of duels decide arm by arm.
"""

from math import inf

import numpy as np

from surest.core.protocol import FloatArray, IntArray
from surest.evidence.lists.scores import Pairs, Scores


class Duels:
    """For every pair of arms a wealth that speaks for the first being better, over the number of pairs that could be wrong."""

    def __init__(self, scores: Scores, n: int, m: int, level: float) -> None:
        self.scores, self.n, self.m, self.level = scores, n, m, level
        self.pairs = [Pairs(a, 0.0, n) for a in range(n)]
        self.wealth = np.full((n, n), 1.0 / (m * (n - m)))
        self.now = self.wealth.copy()  # the wealths at this moment; `wealth` has the most that each has been
        self.near = np.zeros((n, n), bool)
        """Of which pairs it was certified, at some moment, that the second is not better by more than ε."""
        self.inside, self.outside = np.zeros(n, bool), np.zeros(n, bool)
        self.exact = True  # whether no duel that is decided could have ended otherwise

    def count(self, play: IntArray, values: FloatArray) -> None:
        """Take in the next unit: a value for every undecided arm."""
        scores = self.scores
        scores.count(play, values)
        for a in play.tolist():
            self.now[a, play] = self.pairs[a].extend(play, scores)[play] / (self.m * (self.n - self.m))
        self.wealth = np.maximum(self.wealth, self.now)
        if scores.t < len(scores.weights):  # at the end sums tell, and arms with equal ones beat each other
            self._decide()

    def _decide(self) -> None:
        """See which arms are in and which are out: an arm that is in counts as better than all undecided ones."""
        beats = self.wealth >= self.level
        self.exact &= bool(np.isinf(self.wealth[beats]).all())
        np.fill_diagonal(beats, False)
        while True:
            ins = ((beats | self.outside[None, :]).sum(axis=1) >= self.n - self.m) & ~self.outside
            outs = ((beats | self.inside[:, None]).sum(axis=0) >= self.m) & ~self.inside
            if (ins == self.inside).all() and (outs == self.outside).all():
                return
            self.inside, self.outside = ins, outs

    def decided(self) -> tuple[IntArray, IntArray]:
        """The arms that are among the m best, and those that are not."""
        return np.flatnonzero(self.inside), np.flatnonzero(self.outside)

    @property
    def refuted(self) -> float:
        """The least wealth by which a duel is decided."""
        return inf if self.exact else self.level

    def against_others(self, named: IntArray) -> float:
        """The least wealth by which an arm named is better than one that is not, where that is not settled by others."""
        open_in = named[~self.inside[named]]
        others = np.setdiff1d(np.flatnonzero(~self.outside), named)
        return min(self.refuted, float(self.wealth[np.ix_(open_in, others)].min(initial=inf)))

    def close_enough(self, named: IntArray, needed: FloatArray) -> bool:
        """Whether the set named may be named, where `needed` is what pairs of arms leave to the wealth at this moment.

        Only the sum of both at one moment is fair: the most of one and the present of the other are not.
        """
        self.near |= (self.now >= needed) | (self.wealth >= self.level)
        open_in = named[~self.inside[named]]
        others = np.setdiff1d(np.flatnonzero(~self.outside), named)
        return bool(self.near[np.ix_(open_in, others)].all())

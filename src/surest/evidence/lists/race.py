"""What scores on a shared list of items say: a wealth against each arm, valid because the order of the items is random.

Units are drawn one after another without replacement, in proportion to their weights. A unit is an item, or a cluster of
items, whose weight is its size. Weights are scaled to mean 1, so that they sum to N, the number of units. For an arm j and an
opponent o that was chosen before the unit, with D = v_o − v_j and S the weighted sum of D so far, the mean of D is at most

    m = −S / (weight left)      if j is a best arm of the list, and
    m = 0                       if j is a best arm of the population from which the items were drawn at random,

so a bet that D − m is positive is unfavourable, and wealth against a best arm reaches 1/δ with probability at most δ.
docs/items.md has the theorem and its proof.
"""

import numpy as np

from surest.core.protocol import FloatArray
from surest.evidence.lists.scores import Scores
from surest.kernels.constants import HUGE, OPPONENTS, STEPS, WEIGHTS
from surest.kernels.lists import Bets, add, judge, leading, products, settle

NEVER = 10 * HUGE  # a threshold that wealth cannot reach
_BETS = Bets()  # room that one call of a kernel at a time uses


class Standings:
    """Sums, wealths and the scores themselves, item by item, of arms on one list.

    `n` arms go through `total` units; `weights` are the units' in the order in which they come, of mean 1. With
    `population`, the question is about what the items were drawn from.
    """

    def __init__(
        self, n: int, weights: FloatArray, delta: float, *, share: float = 1.0, population: bool = False
    ) -> None:
        self.scores = Scores(n, weights, population)
        self.play = np.arange(n)
        self.wealth = np.ones((n, 1 + STEPS))
        self.share = share  # the part of the prior that these wealths have; the rest is for pairs of arms
        self.most = np.full(n, share)
        """The largest value of share·wealth so far, frozen when an arm is out; infinite for arms that cannot catch up."""
        self.threshold = np.full(n, 1 / delta)
        self.certain = np.zeros(n, bool)
        self.born = np.zeros(n, np.int64)  # from which unit on bets are placed against each arm
        self._cross = np.zeros((0, n))
        self._slots = np.full(n, -1)
        self._top = np.zeros(OPPONENTS + 1, np.int64)
        self._lead()

    def current(self) -> FloatArray:
        """Each arm's wealth as it stands: the evidence that it is not a best arm."""
        wealth: FloatArray = self.wealth @ WEIGHTS
        return wealth

    def count(self, values: FloatArray) -> None:
        """Take in the next unit: a value for every arm of `play`, in that order. Bets are placed before they are looked at."""
        scores, top = self.scores, self._top[: self._tops]
        row, weight = scores.place(self.play, values)
        left = np.inf if scores.population else scores.left
        sums, plain, squares, cross = scores.sums, scores.plain, scores.squares, self._cross[self._slots[top]]
        own = scores.seen, self.wealth, _BETS
        settle(row, self.play, top, sums, plain, cross, squares, scores.t, left, scores.least, *own)
        add(row, weight, self.play, self._slots, sums, plain, squares, self._cross)
        scores.advance(self.play)
        self._drop()
        self._lead()

    def _drop(self) -> None:
        """Take out the arms whose wealth has reached its threshold, and those that cannot catch up."""
        scores = self.scores
        slack = np.inf if scores.population else scores.left + scores.least
        if judge(self.play, self.wealth, self.share, scores.sums, slack, self.threshold, self.most, self.certain):
            stays = self.most[self.play] < self.threshold[self.play]
            if not stays.any():  # all at once: one must remain to be named
                stays[self.most[self.play].argmin()] = True
            self.play = self.play[stays]

    def _lead(self) -> None:
        """Find the arms that may be opponents at the next item, and see that their cross products are known."""
        self._tops = leading(self.play, self.scores.sums, self._top)
        self.leader = int(self._top[0])  # the arm in play with the largest sum, the first of equals
        for arm in self._top[: self._tops]:
            if self._slots[arm] < 0:
                self._know(int(arm))

    def _know(self, arm: int) -> None:
        """Begin to keep an arm's cross products with all others; what was counted already is summed up once."""
        free = np.flatnonzero(~np.isin(np.arange(len(self._cross)), self._slots[self.play]))
        if len(free) == 0:
            self._cross = np.concatenate([self._cross, np.zeros((OPPONENTS + 1, len(self._slots)))])
            free = np.array([len(self._cross) - 1])
        slot = int(free[0])
        self._slots[self._slots == slot] = -1  # of an arm that is out
        products(arm, self.play, self.scores.values[: self.scores.t], self._cross[slot])
        self._slots[arm] = slot

    def grow(self, values: FloatArray, delta: float) -> None:
        """Take in new arms, whose scores on the units counted so far are `values`, one column per arm.

        Their wealths begin now: to bet on items that were seen when they were chosen is not allowed. They are out at 1/delta.
        """
        more, n, t = values.shape[1], len(self.born), self.scores.t
        self.scores.grow(values)
        self.wealth = np.concatenate([self.wealth, np.ones((more, 1 + STEPS))])
        self.most = np.append(self.most, np.full(more, self.share))
        self.threshold = np.append(self.threshold, np.full(more, 1 / delta if delta > 0 else NEVER))
        self.certain = np.append(self.certain, np.zeros(more, bool))
        self.born = np.append(self.born, np.full(more, t))
        self.play = np.append(self.play, np.arange(n, n + more))
        self._cross, self._slots = np.zeros((0, n + more)), np.full(n + more, -1)
        self._drop()
        self._lead()

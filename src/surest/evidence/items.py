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

from surest.compiled import compiled
from surest.core.protocol import BoolArray, FloatArray, IntArray
from surest.errors import UsageError
from surest.evidence.item_bets import HUGE, OPPONENTS, STEPS, TOLERANCE, WEIGHTS, leading, settle

NEVER = 10 * HUGE
"""A threshold that wealth cannot reach."""


@compiled
def add(
    values: FloatArray,
    weight: float,
    play: IntArray,
    slots: IntArray,
    sums: FloatArray,
    plain: FloatArray,
    squares: FloatArray,
    cross: FloatArray,
) -> None:
    """Bring the sums up to date with the values of a unit; `slots` are the rows of `cross` of the arms that have one."""
    for j in play:
        sums[j] += weight * values[j]
        plain[j] += values[j]
        squares[j] += values[j] ** 2
        if slots[j] >= 0 and values[j] != 0:
            for k in play:
                cross[slots[j], k] += values[j] * values[k]


@compiled
def products(arm: int, play: IntArray, scores: FloatArray, row: FloatArray) -> None:
    """Write the sums of an arm's scores times those of each arm in play into `row`."""
    row[:] = 0.0
    for s in range(len(scores)):
        own = scores[s, arm]
        if own != 0:
            for k in play:
                row[k] += own * scores[s, k]


@compiled
def judge(
    play: IntArray,
    wealth: FloatArray,
    share: float,
    sums: FloatArray,
    slack: float,
    threshold: FloatArray,
    most: FloatArray,
    certain: BoolArray,
) -> bool:
    """Raise `most`, the largest share·wealth so far, mark arms that are behind by more than `slack`; is any arm out?"""
    best = -np.inf
    for j in play:
        best = max(best, sums[j])
    out = False
    for j in play:
        mixed = 0.0
        for k in range(1 + STEPS):
            mixed += WEIGHTS[k] * wealth[j, k]
        most[j] = max(most[j], share * mixed)
        if best - sums[j] > slack:
            certain[j] = True
            most[j] = np.inf
        out = out or most[j] >= threshold[j]
    return out


@compiled
def all_inside(values: FloatArray) -> bool:
    """Whether values lie in [0, 1], up to rounding: a mean of several may be 1 + 1e-16."""
    inside = True
    for value in values:
        inside = inside and -TOLERANCE <= value <= 1 + TOLERANCE
    return inside


class Standings:
    """Sums, wealths and the scores themselves, item by item, of arms on one list.

    `n` arms go through `total` units; `weights` are the units' in the order in which they come, of mean 1. With
    `population`, the question is about what the items were drawn from.

    >>> standings = Standings(2, np.ones(3), delta=0.2)
    >>> standings.count(np.array([1.0, 0.0]))
    >>> standings.count(np.array([1.0, 0.0]))
    >>> standings.play, standings.certain
    (array([0]), array([False,  True]))
    """

    def __init__(
        self, n: int, weights: FloatArray, delta: float, *, share: float = 1.0, population: bool = False
    ) -> None:
        self.weights, self.population = weights, population
        self.total = float(len(weights))
        self.t = 0
        self.used = 0.0
        self.play = np.arange(n)
        self.sums, self.plain, self.squares = np.zeros(n), np.zeros(n), np.zeros(n)
        self.wealth = np.ones((n, 1 + STEPS))
        self.share = share
        """The part of the prior that these wealths have; the rest is for pairs of arms."""
        self.most = np.full(n, share)
        """The largest value of share·wealth so far, frozen when an arm is out; infinite for arms that cannot catch up."""
        self.threshold = np.full(n, 1 / delta)
        self.certain = np.zeros(n, bool)
        self.born = np.zeros(n, np.int64)
        """From which unit on bets are placed against each arm."""
        self.seen = np.zeros(n, np.int64)
        """On how many units each arm was evaluated."""
        self.scores = np.full((min(len(weights), 64), n), np.nan)
        self._cross = np.zeros((0, n))
        self._slots = np.full(n, -1)
        self._top = np.zeros(OPPONENTS + 1, np.int64)
        self._lead()

    @property
    def left(self) -> float:
        """The weight of the units still to come."""
        return self.total - self.used

    @property
    def least(self) -> float:
        """Sums closer than this count as equal."""
        return TOLERANCE * self.total

    @property
    def leader(self) -> int:
        """The arm in play with the largest sum, the first of equals."""
        return int(self._top[0])

    def current(self) -> FloatArray:
        """Each arm's wealth as it stands: the evidence that it is not a best arm."""
        wealth: FloatArray = self.wealth @ WEIGHTS
        return wealth

    def count(self, values: FloatArray) -> None:
        """Take in the next unit: a value for every arm of `play`, in that order. Bets are placed before they are looked at."""
        if not all_inside(values):
            raise UsageError(f"scores must lie in [0, 1], or in the bounds given; got {values.tolist()}")
        if self.t == len(self.scores):
            room = min(len(self.weights) - self.t, self.t)
            self.scores = np.concatenate([self.scores, np.full((room, self.scores.shape[1]), np.nan)])
        row, top = self.scores[self.t], self._top[: self._tops]
        row[self.play] = values
        left = np.inf if self.population else self.left
        sums, plain, squares, cross = self.sums, self.plain, self.squares, self._cross[self._slots[top]]
        settle(row, self.play, top, sums, plain, cross, squares, self.t, left, self.least, self.seen, self.wealth)
        weight = float(self.weights[self.t])
        self.t += 1
        self.used = self.total if self.t == len(self.weights) else self.used + weight
        self.seen[self.play] = self.t
        add(row, weight, self.play, self._slots, sums, plain, squares, self._cross)
        self._drop()
        self._lead()

    def _drop(self) -> None:
        """Take out the arms whose wealth has reached its threshold, and those that cannot catch up."""
        slack = np.inf if self.population else self.left + self.least
        if judge(self.play, self.wealth, self.share, self.sums, slack, self.threshold, self.most, self.certain):
            stays = self.most[self.play] < self.threshold[self.play]
            if not stays.any():  # all at once: one must remain to be named
                stays[self.most[self.play].argmin()] = True
            self.play = self.play[stays]

    def _lead(self) -> None:
        """Find the arms that may be opponents at the next item, and see that their cross products are known."""
        self._tops = leading(self.play, self.sums, self._top)
        for arm in self._top[: self._tops]:
            if self._slots[arm] < 0:
                self._know(int(arm))

    def _know(self, arm: int) -> None:
        """Begin to keep an arm's cross products with all others; what was counted already is summed up once."""
        free = np.flatnonzero(~np.isin(np.arange(len(self._cross)), self._slots[self.play]))
        if len(free) == 0:
            self._cross = np.concatenate([self._cross, np.zeros((OPPONENTS + 1, len(self.sums)))])
            free = np.array([len(self._cross) - 1])
        slot = int(free[0])
        self._slots[self._slots == slot] = -1  # of an arm that is out
        products(arm, self.play, self.scores[: self.t], self._cross[slot])
        self._slots[arm] = slot

    def grow(self, values: FloatArray, delta: float) -> None:
        """Take in new arms, whose scores on the units counted so far are `values`, a column an arm.

        Their wealths begin now: to bet on items that were seen when they were chosen is not allowed. They are out at 1/delta.
        """
        more = values.shape[1]
        new = np.arange(len(self.sums), len(self.sums) + more)
        weights = self.weights[: self.t]
        self.sums = np.append(self.sums, weights @ values)
        self.plain = np.append(self.plain, values.sum(axis=0))
        self.squares = np.append(self.squares, (values**2).sum(axis=0))
        self.wealth = np.concatenate([self.wealth, np.ones((more, 1 + STEPS))])
        self.most = np.append(self.most, np.full(more, self.share))
        self.threshold = np.append(self.threshold, np.full(more, 1 / delta if delta > 0 else NEVER))
        self.certain = np.append(self.certain, np.zeros(more, bool))
        self.born = np.append(self.born, np.full(more, self.t))
        self.seen = np.append(self.seen, np.full(more, self.t))
        self.scores = np.concatenate([self.scores, np.full((len(self.scores), more), np.nan)], axis=1)
        self.scores[: self.t, new] = values
        self.play = np.append(self.play, new)
        self._cross, self._slots = np.zeros((0, len(self.sums))), np.full(len(self.sums), -1)
        self._drop()
        self._lead()

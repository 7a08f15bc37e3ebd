"""What scores on a shared list of items say: a wealth against each arm, valid because the order of the items is random.

Items are drawn one after another without replacement, with probability in proportion to their weights (all equal, as a
rule); a cluster of items is one unit, whose weight is its size. Weights are scaled to mean 1, so that they sum to N, the number of units. For an arm
j and an opponent o that was chosen before the item, with D = v_o − v_j and S the weighted sum of D so far, the mean of D is at most

    m = −S / (weight left)      if j is a best arm of the list, and
    m = 0                       if j is a best arm of the population from which the items were drawn at random,

so a bet that D − m is positive is unfavourable, and wealth against a best arm reaches 1/δ with probability at most δ.
docs/items.md has the theorem and its proof.
"""

import numpy as np

from surest.compiled import compiled
from surest.core.protocol import FloatArray, IntArray
from surest.errors import UsageError

OPPONENTS = 4
"""At most so many arms are bet on against one arm, at one item."""
STEPS = 8
"""The fixed bets beside the portfolio: CAP·2^−k, k = 0 … STEPS − 1, on the leading opponent."""
FIXED = 0.02
"""The part of the wealth that the fixed bets begin with."""
CAP = 0.9
"""The largest part of the wealth that one item can take."""
MEMORY = 10.0
PRIOR = 1.5
"""Second moments of differences are shrunk as if MEMORY items had come before, of PRIOR in sum."""
LEAST_SHRINKAGE, MOST_SHRINKAGE = 8.0, 300.0
SWEEPS = 12
TOLERANCE = 1e-9
"""Sums that differ by less than this times N may be equal: .8 + .9 + .1 + .2 is not 2 in floating point."""
TINY, HUGE, NEVER = 1e-290, 1e290, 1e300
"""What wealth is cut to below and above, and a threshold that it cannot reach."""


@compiled
def leading(play: IntArray, sums: FloatArray, top: IntArray) -> int:
    """Write the arms in play with the largest sums into `top`, by falling sum, the first of equals first; return how many.

    >>> top = np.zeros(3, np.int64)
    >>> leading(np.array([0, 2, 3, 4]), np.array([1.0, 9.0, 2.0, 2.0, 0.0]), top), top
    (3, array([2, 3, 0]))
    """
    count = 0
    for j in play:
        k = count
        while k > 0 and sums[top[k - 1]] < sums[j]:
            k -= 1
        if k < len(top):
            count = min(count + 1, len(top))
            for i in range(count - 1, k, -1):
                top[i] = top[i - 1]
            top[k] = j
    return count


@compiled
def shrinkage(
    play: IntArray, leader: int, plain: FloatArray, seen: IntArray, cross: FloatArray, squares: FloatArray, t: int
) -> float:
    """By how many items a mean difference is shrunk: half the variance of differences over the spread of the arms' means.

    Arms that lie far apart for their noise are taken at their word early; arms that lie close are not. The spread is that
    of all arms, those that are out with the means that they had. `cross` is the leader's row.
    """
    if t < 2 or len(play) < 2:
        return MEMORY
    pooled = PRIOR / MEMORY
    for j in play:
        if j != leader:
            difference = (plain[leader] - plain[j]) / t
            pooled += max((squares[leader] - 2 * cross[j] + squares[j]) / t - difference**2, 0.0)
    pooled /= len(play)
    mean = (plain / seen).mean()
    spread = ((plain / seen - mean) ** 2).sum() / (len(plain) - 1)
    beyond = spread - pooled / (2 * t)
    if beyond <= pooled / (2 * MOST_SHRINKAGE):
        return MOST_SHRINKAGE
    return max(pooled / (2 * beyond), LEAST_SHRINKAGE)


@compiled
def portfolio(gains: FloatArray, moments: FloatArray, room: FloatArray, count: int, stakes: FloatArray) -> None:
    """The stakes λ ≥ 0 that maximise g'λ − λ'Mλ/2, scaled down where an item could take more than CAP of the wealth."""
    for i in range(count):
        stakes[i] = 0.0
    for _ in range(SWEEPS if count > 1 else 1):
        for i in range(count):
            rest = gains[i]
            for k in range(count):
                if k != i:
                    rest -= moments[i, k] * stakes[k]
            stakes[i] = max(rest / moments[i, i], 0.0)
    used = 0.0
    for i in range(count):
        used += stakes[i] * room[i]
    if used > CAP:
        for i in range(count):
            stakes[i] *= CAP / used


@compiled
def bets_against(
    j: int,
    top: IntArray,
    sums: FloatArray,
    plain: FloatArray,
    cross: FloatArray,
    squares: FloatArray,
    t: int,
    left: float,
    shrink: float,
    least: float,
    opponents: IntArray,
    margins: FloatArray,
    stakes: FloatArray,
) -> int:
    """Choose whom to bet on against arm j at the next item, and how much, from earlier items alone; return how many.

    `cross[x, y]` is Σ v_x·v_y for x the x-th arm of `top`. `left` is the weight of the items to come, infinite for the
    population. Nobody is bet on whose lead leaves j less than `least` to catch up.
    """
    gains = np.empty(OPPONENTS)
    room = np.empty(OPPONENTS)
    where = np.empty(OPPONENTS, np.int64)
    count = 0
    for k in range(len(top)):
        o = top[k]
        if o == j:
            continue
        lead = sums[o] - sums[j]
        margin = -lead / left
        if margin >= 1 or left - lead <= least:
            break
        gain = (plain[o] - plain[j]) / (t + shrink) - margin
        if count > 0 and gain <= 0:
            break
        opponents[count] = o
        margins[count] = margin
        where[count] = k
        gains[count] = gain
        room[count] = 1 + margin
        count += 1
        if count == OPPONENTS:
            break
    moments = np.empty((OPPONENTS, OPPONENTS))
    for i in range(count):
        for k in range(i + 1):
            both = cross[where[i], opponents[k]] - cross[where[i], j] - cross[where[k], j] + squares[j]
            prior = PRIOR if i == k else PRIOR / 2
            moments[i, k] = (both + prior) / (t + MEMORY)
            moments[k, i] = moments[i, k]
    portfolio(gains, moments, room, count, stakes)
    return count


@compiled
def bounded(wealth: float) -> float:
    """Wealth that a number can hold: what is too small is lost, what is too large is not counted; both are safe."""
    return 0.0 if wealth < TINY else min(wealth, HUGE)


@compiled
def settle(
    values: FloatArray,
    play: IntArray,
    top: IntArray,
    sums: FloatArray,
    plain: FloatArray,
    cross: FloatArray,
    squares: FloatArray,
    t: int,
    left: float,
    least: float,
    seen: IntArray,
    wealth: FloatArray,
) -> None:
    """Place the bets against every arm in play by what was counted, then look at `values` (an entry an arm) and pay.

    Column 0 of `wealth` is the portfolio's, the others those of the fixed bets. Sums are brought up to date afterwards, by `add`.
    """
    opponents = np.empty(OPPONENTS, np.int64)
    margins = np.empty(OPPONENTS)
    stakes = np.empty(OPPONENTS)
    shrink = shrinkage(play, top[0], plain, seen, cross[0], squares, t)
    for j in play:
        count = bets_against(j, top, sums, plain, cross, squares, t, left, shrink, least, opponents, margins, stakes)
        if count == 0:
            continue
        factor = 1.0
        for i in range(count):
            factor += stakes[i] * (values[opponents[i]] - values[j] - margins[i])
        wealth[j, 0] = bounded(wealth[j, 0] * factor)
        surprise = values[opponents[0]] - values[j] - margins[0]
        stake = CAP / (1 + margins[0])
        for k in range(STEPS):
            wealth[j, 1 + k] = bounded(wealth[j, 1 + k] * (1 + stake * surprise))
            stake /= 2


WEIGHTS = np.append(1 - FIXED, np.full(STEPS, FIXED / STEPS))
"""What the portfolio and the fixed bets begin with."""


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
        if not ((values >= -TOLERANCE) & (values <= 1 + TOLERANCE)).all():  # a mean of several may round to 1 + 1e-16
            raise UsageError(f"scores must lie in [0, 1], or in the bounds given; got {values.tolist()}")
        row = np.full(len(self.sums), np.nan)
        row[self.play] = values
        top = self._top[: self._tops]
        cross = self._cross[self._slots[top]]
        left = np.inf if self.population else self.left
        weight = self.weights[self.t]
        settle(
            row,
            self.play,
            top,
            self.sums,
            self.plain,
            cross,
            self.squares,
            self.t,
            left,
            self.least,
            self.seen,
            self.wealth,
        )
        self._add(row, values, weight)
        self._drop()
        self._lead()

    def _add(self, row: FloatArray, values: FloatArray, weight: float) -> None:
        if self.t == len(self.scores):
            room = min(len(self.weights) - self.t, self.t)
            self.scores = np.concatenate([self.scores, np.full((room, self.scores.shape[1]), np.nan)])
        self.scores[self.t] = row
        self.t += 1
        self.used = self.total if self.t == len(self.weights) else self.used + weight
        play = self.play
        self.seen[play] = self.t
        self.sums[play] += weight * values
        self.plain[play] += values
        self.squares[play] += values**2
        known = np.flatnonzero((self._slots >= 0) & ~np.isnan(row))
        slots = self._slots[known]
        self._cross[slots[:, None], play] += row[known, None] * values

    def _drop(self) -> None:
        """Take out the arms whose wealth has reached its threshold, and those that cannot catch up."""
        play = self.play
        np.maximum.at(self.most, play, self.share * self.current()[play])
        if not self.population:
            behind = self.sums[play].max() - self.sums[play] > self.left + self.least
            self.certain[play[behind]] = True
            self.most[play[behind]] = np.inf
        stays = self.most[play] < self.threshold[play]
        if not stays.any():  # all at once: one must remain to be named
            stays[self.most[play].argmin()] = True
        self.play = play[stays]

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
        past = self.scores[: self.t]
        self._cross[slot] = past[:, arm] @ np.where(np.isnan(past), 0.0, past)
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

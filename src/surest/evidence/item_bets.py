"""Whom to bet on against an arm at the next item, and how much: from earlier items alone. What is chosen here decides how
soon weak arms are out; it cannot make an answer wrong, as long as a stake is not negative and an item cannot take all wealth.
"""

import numpy as np

from surest.compiled import compiled
from surest.core.protocol import FloatArray, IntArray

OPPONENTS = 4
"""At most so many arms are bet on against one arm, at one item."""
STEPS = 8
"""The fixed bets beside the portfolio: CAP·2^−k, k = 0 … STEPS − 1, on the leading opponent."""
FIXED = 0.02
"""The part of the wealth that the fixed bets begin with."""
WEIGHTS = np.append(1 - FIXED, np.full(STEPS, FIXED / STEPS))
"""What the portfolio and the fixed bets begin with."""
CAP = 0.9
"""The largest part of the wealth that one item can take."""
MEMORY = 10.0
PRIOR = 1.5
"""Second moments of differences are shrunk as if MEMORY items had come before, of PRIOR in sum."""
LEAST_SHRINKAGE, MOST_SHRINKAGE = 8.0, 300.0
SWEEPS = 12
TOLERANCE = 1e-9
"""Sums that differ by less than this times N may be equal: .8 + .9 + .1 + .2 is not 2 in floating point."""
TINY, HUGE = 1e-290, 1e290
"""Wealth below the one is lost, wealth above the other is not counted. Near 1e-308 a product may be rounded up to what it was,
again and again: a lost bet would cost nothing."""


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
    mean = 0.0
    for j in range(len(plain)):
        mean += plain[j] / seen[j] / len(plain)
    spread = 0.0
    for j in range(len(plain)):
        spread += (plain[j] / seen[j] - mean) ** 2 / (len(plain) - 1)
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
    """Wealth that a number can hold: what is too small is lost, what is too large is not counted; both are safe.

    >>> bounded(1e-300), bounded(0.5), bounded(1e300)
    (0.0, 0.5, 1e+290)
    """
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

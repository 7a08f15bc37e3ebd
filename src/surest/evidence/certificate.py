"""The certificate: how sure it is that an arm j is not the best, given a nominee a whose fresh rewards speak for it.

Every arm has its rewards *before* the latest nomination and those *since*. If j is a best arm with mean c, then

    M = (1 − w)·exp B_j(c) + w·Σ_k π_k·S_k

is a nonnegative supermartingale that starts at most at 1. Slot k holds S_k = exp B_j(c) until nomination k, and for ever if j
itself is nominated there; otherwise, from the nomination on, S_k = exp B_j(c) at that moment, times what the slot's own bets
make of the rewards since: those of the nominee (above c) and those of j (below c). At the nomination data were seen, so the
slot's bets are placed where these data want them. That is allowed, as bets on rewards to come, and it is cheap: a slot pays
for a handful of bets, not for all that might have been. Hence

    C(a, j) = inf over x of log( base_j·exp B_j(x) + w·π_k·exp B_j^before(x)·J(x) )

with base_j = (1 − w) + w·Σ_{k>K} π_k + w·(shares of j's own slots) is at most log M, and reaches log(1/δ) with probability at
most δ. For ε > 0 the nominee is bet on at x and arm j at x + ε. docs/wager.md has the proof.
"""

import math
from typing import NamedTuple

import numpy as np

from surest.compiled import compiled
from surest.core.protocol import FloatArray, IntArray
from surest.evidence.betting import ALPHA, DECAY, IDLE, RHO, growth

DOWN, UP = 12, 6
"""A slot's bets on an arm: its guess times ρ^−DOWN … ρ^UP."""
LOWEST = 1.0 / (RHO * RHO) ** (DOWN // 2)
"""ρ^−DOWN. A constant, because Python and machine code do not round powers alike."""
WAIT = 0.4
"""B's weight on not betting, here: against a close rival, wide bets only lose while there is no nominee."""
SCALE, RATIO = 0.6, 0.5
"""How the weights fall with a common change of scale of both guesses, and with a change of their ratio."""
TOLERANCE = 1e-6
"""How far below the infimum a returned value may be, in nats, beside what rounding may have added. It is never above."""
UNIT = 2.0**-53
"""The relative error of one rounded operation."""
NEGLIGIBLE = 50.0
"""Nats by which a summand is behind the largest one when it no longer matters."""
DOUBTFUL = 0.1
"""Nats of rounding beyond which a slope is not used."""
MOST_REWARDS = 2.0**53
"""From here on a float no longer counts one by one."""


def _joint_weights() -> FloatArray:
    steps = np.arange(-DOWN, UP + 1)
    together, apart = np.add.outer(steps, steps) / 2, np.subtract.outer(steps, steps)
    weights = SCALE ** np.abs(together) * RATIO ** np.abs(apart)
    joint: FloatArray = weights * ((1 - IDLE) / weights.sum())
    return joint


JOINT = _joint_weights()
"""The weight of each pair (bet on the nominee, bet on the challenger); the rest, IDLE, bets nothing."""


Digest = tuple[FloatArray, FloatArray, int]
"""An arm's rewards: values, weights, number of atoms."""
Digests = tuple[FloatArray, FloatArray, IntArray]
"""The same of all arms."""


class Pair(NamedTuple):
    """What the certificate of a nominee against one challenger rests on."""

    before: Digest
    """The challenger's rewards before the nomination, …"""
    since: Digest
    """… and since."""
    nominee: Digest
    """The nominee's since."""
    bets: int
    """How many of the wide mixture's bets to count."""
    base: float
    share: float
    """w·π_k."""
    guess_nominee: float
    """The slot's bets on the nominee are placed around this, …"""
    guess: float
    """… and those on the challenger around this."""
    among: float = 1.0
    """How many arms share the wide mixture: 1 where the best arm is asked for, m where the m best are."""


@compiled
def log_value(x: float, epsilon: float, pair: Pair) -> tuple[float, float, float, float]:
    """The function of x whose infimum is the certificate, its derivative, and the rounding errors that both may have.

    It is convex: a log of log-convex summands.
    """
    before, since, nominee = pair.before, pair.since, pair.nominee
    y = x + epsilon
    # B^before and B, by one pass over the bets
    early_top, early, early_slope, early_doubt = math.log(WAIT), 1.0, 0.0, 0.0
    full_top, full, full_slope, full_doubt = math.log(WAIT), 1.0, 0.0, 0.0
    log_share, alpha = math.log((1.0 - WAIT) * (1.0 - DECAY) / pair.among), ALPHA
    for _ in range(pair.bets):
        log, slope, rounded = growth(before[0], before[1], before[2], y, alpha, False)
        more, more_slope, more_rounded = growth(since[0], since[1], since[2], y, alpha, False)
        early_doubt = _larger_doubt(early_doubt, rounded, log_share + log - early_top)
        full_doubt = _larger_doubt(full_doubt, rounded + more_rounded, log_share + log + more - full_top)
        early_top, early, early_slope = _accumulate(early_top, early, early_slope, log_share + log, slope)
        full_top, full, full_slope = _accumulate(full_top, full, full_slope, log_share + log + more, slope + more_slope)
        log_share += math.log(DECAY)
        alpha /= RHO
    joint, joint_rise, joint_fall, joint_doubt = _log_joint(x, y, pair)
    early_slope, full_slope = early_slope / early, full_slope / full
    first = math.log(pair.base) + full_top + math.log(full)
    second = math.log(pair.share) + early_top + math.log(early) + joint
    top = max(first, second)
    a, b = math.exp(first - top), math.exp(second - top)
    rise = (a * full_slope + b * (early_slope + joint_rise)) / (a + b)
    fall = b * joint_fall / (a + b)
    value = top + math.log(a + b)
    doubt = max(
        _larger_doubt(0.0, full_doubt, first - top), _larger_doubt(0.0, early_doubt + joint_doubt, second - top)
    )
    doubt = UNIT * ((before[2] + since[2] + nominee[2] + 10) * doubt + 4.0 * (abs(first) + abs(second)) + rise - fall)
    bend = (rise - fall) * (3.0 * doubt + 100.0 * UNIT) if doubt < DOUBTFUL else np.inf
    return value, rise + fall, doubt, bend


@compiled
def _log_joint(x: float, y: float, pair: Pair) -> tuple[float, float, float, float]:
    """log J, over all pairs of bets; the rising and the falling part of its derivative; the sum that was rounded."""
    since, nominee = pair.since, pair.nominee
    steps = DOWN + UP + 1
    up, up_slope, up_rounded = np.empty(steps), np.empty(steps), np.empty(steps)
    down, down_slope, down_rounded = np.empty(steps), np.empty(steps), np.empty(steps)
    scale = LOWEST
    for k in range(steps):
        bet, other_bet = min(pair.guess_nominee * scale, ALPHA), min(pair.guess * scale, ALPHA)
        up[k], up_slope[k], up_rounded[k] = growth(nominee[0], nominee[1], nominee[2], x, bet, True)
        down[k], down_slope[k], down_rounded[k] = growth(since[0], since[1], since[2], y, other_bet, False)
        scale *= RHO
    # The largest is taken out on each side, whatever its sign: then the sum cannot vanish.
    up_top, down_top, up_doubt, down_doubt = up.max(), down.max(), 0.0, 0.0
    for k in range(steps):
        up_doubt = _larger_doubt(up_doubt, up_rounded[k], up[k] - up_top)
        down_doubt = _larger_doubt(down_doubt, down_rounded[k], down[k] - down_top)
        up[k], down[k] = math.exp(up[k] - up_top), math.exp(down[k] - down_top)
    total, rise, fall = 0.0, 0.0, 0.0
    for k in range(steps):
        row, row_slope = 0.0, 0.0
        for m in range(steps):
            part = JOINT[k, m] * down[m]
            row += part
            row_slope += part * down_slope[m]
        total += up[k] * row
        rise += up[k] * row_slope
        fall += up[k] * up_slope[k] * row
    bets, idle = up_top + down_top + math.log(total), math.log(IDLE)
    top = max(bets, idle)
    placed, kept = math.exp(bets - top), math.exp(idle - top)
    part = placed / (placed + kept)
    return top + math.log(placed + kept), part * rise / total, part * fall / total, up_doubt + down_doubt


@compiled
def _larger_doubt(doubt: float, rounded: float, behind: float) -> float:
    """Only summands that matter may spoil a sum: those not far behind the largest."""
    return max(doubt, rounded) if behind > -NEGLIGIBLE else doubt


@compiled
def _accumulate(top: float, total: float, slope: float, log: float, derivative: float) -> tuple[float, float, float]:
    """Add exp(log) to the sum total·exp(top), and its part of the slope."""
    if log > top:
        shrink = math.exp(top - log)
        return log, total * shrink + 1.0, slope * shrink + derivative
    part = math.exp(log - top)
    return top, total + part, slope + part * derivative


@compiled
def certificate(start: float, goal: float, epsilon: float, pair: Pair) -> tuple[float, float]:
    """A lower bound of the infimum over all of (0, 1 − ε), and where the search ended: a good start for the next one.

    The search stops as soon as the bound reaches `goal`, or a value of the function is below it (then what is returned is
    the bound so far, possibly −∞); with an infinite goal it goes on until the bound is within `TOLERANCE` of a value.
    What rounding may have added is taken off; where rewards are too many to be counted, the bound is −∞.
    """
    end = 1.0 - epsilon
    x = min(max(start, 1e-9 * end), end * (1.0 - 1e-9))
    if not countable(pair):
        return -np.inf, x
    left, right = Point(-1.0, 0.0, 0.0, 0.0, 0.0), Point(2.0, 0.0, 0.0, 0.0, 0.0)  # not found yet
    bound, exact, least = -np.inf, -np.inf, np.inf
    for _ in range(200):
        value, slope, doubt, bend = log_value(x, epsilon, pair)
        if not (abs(value) < np.inf and abs(slope) < np.inf):
            return -np.inf, 0.5 * end
        least = min(least, value)
        if abs(slope) <= bend < np.inf:  # flat, as far as can be seen: no end of a bracket
            low, high = max(left.x, 0.0), min(right.x, end)
            bound = max(bound, value - doubt - (abs(slope) + bend) * max(x - low, high - x))
            x = 0.5 * (x + (low if x - low > high - x else high))
        else:
            if slope < 0.0:
                left = Point(x, value, slope, doubt, bend)
            else:
                right = Point(x, value, slope, doubt, bend)
            exact, safe, x = meeting(left, right, end)
            bound = max(bound, safe)
        if bound >= goal or (least < goal and goal < np.inf) or least - max(bound, exact) <= TOLERANCE:
            break
        if not 0.0 < x < end or x == left.x or x == right.x:
            break
    return bound, x


class Point(NamedTuple):
    """The function at one place, as computed, with the errors that its value and its slope may have."""

    x: float
    value: float
    slope: float
    doubt: float
    bend: float


@compiled
def meeting(left: Point, right: Point, end: float) -> tuple[float, float, float]:
    """Where the tangents at both ends of a bracket meet: a bound, that bound less all rounding, and where to look next.

    While one end is open, where the other end's tangent meets the end of the interval. Convexity makes it a bound.
    """
    if left.x < 0.0:
        exact = right.value - right.slope * right.x
        return exact, exact - right.doubt - right.bend * right.x, 0.5 * right.x
    if right.x > 1.0:
        rest = end - left.x
        exact = left.value + left.slope * rest
        return exact, exact - left.doubt - left.bend * rest, left.x + 0.5 * rest
    width = right.x - left.x
    gap = left.value - right.value + right.slope * width  # ≥ 0 by convexity
    meet = min(left.x + max(gap, 0.0) / (right.slope - left.slope), right.x)
    exact = left.value + left.slope * (meet - left.x)
    safe = exact - max(left.doubt, right.doubt) - max(left.bend, right.bend) * width
    return exact, safe, min(max(meet, left.x + 0.02 * width), right.x - 0.02 * width)


@compiled
def countable(pair: Pair) -> bool:
    """Whether the rewards of both arms are few enough that adding one to their number is exact."""
    for _, weights, size in (pair.before, pair.since, pair.nominee):
        total = 0.0
        for p in range(size):
            total += weights[p]
        if not total < MOST_REWARDS:
            return False
    return True

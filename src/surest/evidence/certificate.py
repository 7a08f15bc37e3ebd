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
"""How far below the infimum a returned value may be, in nats. It is never above."""


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


class Evidence(NamedTuple):
    """What the certificates of a nominee against all others rest on: a `Pair` an arm."""

    nominee: int
    prices: FloatArray
    """Evidence needed against each arm beyond the goal."""
    before: Digests
    since: Digests
    bets: IntArray
    base: FloatArray
    share: float
    guesses_nominee: FloatArray
    guesses: FloatArray


@compiled
def log_value(x: float, epsilon: float, pair: Pair) -> tuple[float, float]:
    """The function of x whose infimum is the certificate, and its derivative. It is convex: a log of log-convex summands."""
    before, since, nominee = pair.before, pair.since, pair.nominee
    y = x + epsilon
    # B^before and B, by one pass over the bets
    early_top, early, early_slope = math.log(WAIT), 1.0, 0.0
    full_top, full, full_slope = math.log(WAIT), 1.0, 0.0
    log_share, alpha = math.log((1.0 - WAIT) * (1.0 - DECAY)), ALPHA
    for _ in range(pair.bets):
        log, slope = growth(before[0], before[1], before[2], y, alpha, False)
        more, more_slope = growth(since[0], since[1], since[2], y, alpha, False)
        early_top, early, early_slope = _accumulate(early_top, early, early_slope, log_share + log, slope)
        full_top, full, full_slope = _accumulate(full_top, full, full_slope, log_share + log + more, slope + more_slope)
        log_share += math.log(DECAY)
        alpha /= RHO
    # J, over all pairs of bets
    steps = DOWN + UP + 1
    up, up_slope, down, down_slope = np.empty(steps), np.empty(steps), np.empty(steps), np.empty(steps)
    up_top, down_top = 0.0, 0.0
    scale = LOWEST
    for k in range(steps):
        up[k], up_slope[k] = growth(nominee[0], nominee[1], nominee[2], x, min(pair.guess_nominee * scale, ALPHA), True)
        down[k], down_slope[k] = growth(since[0], since[1], since[2], y, min(pair.guess * scale, ALPHA), False)
        up_top, down_top = max(up_top, up[k]), max(down_top, down[k])
        scale *= RHO
    for k in range(steps):
        up[k], down[k] = math.exp(up[k] - up_top), math.exp(down[k] - down_top)
    joint, joint_slope = IDLE * math.exp(-up_top - down_top), 0.0
    for k in range(steps):
        for m in range(steps):
            part = JOINT[k, m] * up[k] * down[m]
            joint += part
            joint_slope += part * (up_slope[k] + down_slope[m])
    first = math.log(pair.base) + full_top + math.log(full)
    second = math.log(pair.share) + early_top + math.log(early) + up_top + down_top + math.log(joint)
    top = max(first, second)
    a, b = math.exp(first - top), math.exp(second - top)
    slope = (a * full_slope / full + b * (early_slope / early + joint_slope / joint)) / (a + b)
    return top + math.log(a + b), slope


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
    the bound so far, possibly −∞); with an infinite goal it goes on until the bound is within `TOLERANCE` of a value. The
    bound is where the tangents at both ends of a bracket meet; while one end is open, where the other end's tangent meets
    the end of the interval. Convexity makes it a bound whatever the search does.
    """
    end = 1.0 - epsilon
    left, left_value, left_slope = -1.0, 0.0, 0.0
    right, right_value, right_slope = 2.0, 0.0, 0.0
    x, bound, least = min(max(start, 1e-9 * end), end * (1.0 - 1e-9)), -np.inf, np.inf
    for _ in range(200):
        value, slope = log_value(x, epsilon, pair)
        least = min(least, value)
        if slope < 0.0:
            left, left_value, left_slope = x, value, slope
        else:
            right, right_value, right_slope = x, value, slope
        if left < 0.0:
            bound, x = right_value - right_slope * right, right * 0.5
        elif right > 1.0:
            bound, x = left_value + left_slope * (end - left), left + (end - left) * 0.5
        else:
            gap = left_value - right_value + right_slope * (right - left)  # ≥ 0 by convexity
            meet = left + gap / max(right_slope - left_slope, 1e-300)
            bound = left_value + left_slope * (meet - left)
            margin = 0.02 * (right - left)
            x = min(max(meet, left + margin), right - margin)
        if bound >= goal or (least < goal and goal < np.inf) or least - bound <= TOLERANCE:
            break
        if not 0.0 < x < end:
            break
    return bound, x


@compiled
def _against(j: int, start: float, goal: float, epsilon: float, evidence: Evidence) -> tuple[float, float]:
    """The certificate of the nominee against arm j, less the arm's price."""
    before, since, nominee, price = evidence.before, evidence.since, evidence.nominee, evidence.prices[j]
    pair = Pair(
        (before[0][j], before[1][j], before[2][j]),
        (since[0][j], since[1][j], since[2][j]),
        (since[0][nominee], since[1][nominee], since[2][nominee]),
        evidence.bets[j],
        evidence.base[j],
        evidence.share,
        evidence.guesses_nominee[j],
        evidence.guesses[j],
    )
    bound, minimiser = certificate(start, goal + price, epsilon, pair)
    return bound - price, minimiser


@compiled
def raise_certificates(
    certified: FloatArray, minimisers: FloatArray, todo: IntArray, goal: float, epsilon: float, evidence: Evidence
) -> None:
    """Compute the certificates of the nominee against the arms `todo`, and keep the largest seen so far in `certified`."""
    for j in todo:
        bound, minimisers[j] = _against(j, minimisers[j], goal, epsilon, evidence)
        certified[j] = max(certified[j], bound)


@compiled
def smallest_epsilon(
    least: float, doubtful: IntArray, goal: float, minimisers: FloatArray, evidence: Evidence
) -> float:
    """The smallest ε ≥ `least`, to 1e-4 and not below it, at which the nominee is certified against all of `doubtful`."""
    smallest = least
    for j in doubtful:
        low, high = smallest, smallest  # most arms hold at the ε that the first ones needed
        while high < 1.0 and not _against(j, minimisers[j], goal, high, evidence)[0] >= goal:
            low, high = high, min(1.0, 2.0 * high + 1e-3)
        while high - low > 1e-4:
            middle = 0.5 * (low + high)
            if _against(j, minimisers[j], goal, middle, evidence)[0] >= goal:
                high = middle
            else:
                low = middle
        smallest = high
    return smallest

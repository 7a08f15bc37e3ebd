"""How far two arms are apart, and how an arm stands to a bar. `evidence.pulls.bars` and `apart` have the formulas."""

import numpy as np

from surest.core.protocol import FloatArray, IntArray
from surest.kernels import bets, certificates, libm
from surest.kernels.bets import Rows
from surest.kernels.certificates import Point
from surest.kernels.constants import BAR_ALPHA, BAR_DECAY, BAR_IDLE, BOUNDS, CLOSE, NEAR


def weigh(
    rows: Rows, counts: FloatArray, sums: FloatArray, arms: IntArray, low: float, high: float
) -> tuple[FloatArray, FloatArray]:
    """A(low) and B(high) of some arms, with the bets that suit a bar."""
    aboves, belows = np.empty(len(arms)), np.empty(len(arms))
    above, below = aboves, belows
    for k in range(len(arms)):
        i = arms[k]
        up, down = bets.bets_of(counts, sums, i, True), bets.bets_of(counts, sums, i, False)
        above[k] = bets.mixture_of(rows, i, up, low, True, BAR_ALPHA, BAR_DECAY, BAR_IDLE)[0]
        below[k] = bets.mixture_of(rows, i, down, high, False, BAR_ALPHA, BAR_DECAY, BAR_IDLE)[0]
    return aboves, belows


def exceeds(
    rows: Rows, counts: FloatArray, sums: FloatArray, i: int, j: int, gap: float, start: float, goal: float
) -> tuple[float, float, float]:
    """The evidence that arm i's mean is above arm j's and `gap`: a lower bound of inf over x of A_i(x + gap) + B_j(x).

    Also its derivative in the gap, and where the search ended: a good start for the next one. The search stops as soon as
    the bound reaches `goal`, or a value is below it (what is returned is then the bound so far, possibly −∞); with an
    infinite goal it goes on until the bound is within `NEAR` of a value. The function is convex.
    """
    up_bets, down_bets = bets.bets_of(counts, sums, i, True), bets.bets_of(counts, sums, j, False)
    end, up, down = 1.0 - abs(gap), max(gap, 0.0), max(-gap, 0.0)
    x = min(max(start, 1e-9 * end), end * (1.0 - 1e-9))
    left, right = Point(-1.0), Point(2.0)  # not found yet
    bound, least, rise = -libm.inf, libm.inf, 0.0
    for _ in range(200):
        own, own_slope = bets.mixture(rows, i, up_bets, x + up, True)
        other, slope = bets.mixture(rows, j, down_bets, x + down, False)
        if own + other < least:  # where all rewards are 0, A is flat and the least value is at the end, x = 0
            least, rise = own + other, own_slope if own_slope < 0.0 else -slope
        if own_slope + slope < 0.0:
            left.put(x, own + other, own_slope + slope, 0.0, 0.0)
        else:
            right.put(x, own + other, own_slope + slope, 0.0, 0.0)
        safe, _safer, x = certificates.meeting(left, right, end)
        bound = max(bound, safe)
        if bound >= goal or (least < goal and goal < libm.inf) or least - bound <= NEAR:
            break
        if not 0.0 < x < end or x == left.x or x == right.x:
            break
    return bound, rise, x


def compare(
    rows: Rows, counts: FloatArray, sums: FloatArray, arms: IntArray, control: int, low: float, high: float,
    starts: FloatArray, goal: float,
) -> tuple[FloatArray, FloatArray]:  # fmt: skip
    """For some arms: the evidence that their means are above the control's and `low`, and below the control's and `high`.

    Where it is known that it does not reach the goal, it may be less than it is. `starts` has two rows, of where a search
    begins; where it ended is put there.
    """
    betters, worses = np.empty(len(arms)), np.empty(len(arms))
    better, worse = betters, worses
    for k in range(len(arms)):
        i = arms[k]
        better[k], _slope, starts[0, i] = exceeds(rows, counts, sums, i, control, low, starts[0, i], goal)
        worse[k], _slope, starts[1, i] = exceeds(rows, counts, sums, control, i, -high, starts[1, i], goal)
    return betters, worses


def surely(rows: Rows, counts: FloatArray, sums: FloatArray, i: int, j: int, width: float, level: float) -> float:
    """The largest gap, to `BOUNDS` and not above it, by which arm i's mean surely exceeds arm j's.

    From outside, as the evidence is convex in the gap: the search begins `width` below the gap seen and goes further out, or, if
    that is 0, halfway to −1, again and again.
    """
    apart = float(sums[i] / counts[i] - sums[j] / counts[j])
    gap, value, slope, x = apart, -libm.inf, 0.0, 0.5
    for _ in range(30):
        gap = apart - width if width > 0.0 else 0.5 * (gap - 1.0)
        if gap <= -1.0:
            return -1.0
        value, slope, x = exceeds(rows, counts, sums, i, j, gap, 0.5 * (1.0 - abs(gap)), libm.inf)
        if value >= level:
            break
        width *= 1.5
    if value < level:
        return -1.0
    for _ in range(30):
        closer = gap - (value - level) / slope
        if not closer - gap > BOUNDS:
            break
        value, slope, x = exceeds(rows, counts, sums, i, j, closer, x, libm.inf)
        if value < level:  # by rounding
            break
        gap = closer
    return gap


def differences(
    rows: Rows, counts: FloatArray, sums: FloatArray, control: int, level: float
) -> tuple[FloatArray, FloatArray]:
    """Bounds of each arm's mean less the control's: the differences against which the evidence is less than `level` nats."""
    lows, highs = np.full(len(counts), -1.0), np.full(len(counts), 1.0)
    low, high = lows, highs
    for i in range(len(counts)):
        if i == control:
            low[i], high[i] = 0.0, 0.0
        elif counts[i] > 0 and counts[control] > 0:
            low[i] = surely(rows, counts, sums, i, control, 0.0, level)
            high[i] = -surely(rows, counts, sums, control, i, 0.0, level)
    return lows, highs


def shortfall(rows: Rows, counts: FloatArray, sums: FloatArray, i: int, order: IntArray, goal: float) -> float:
    """The smallest gap, to `CLOSE` and not below it, that is refuted against every other arm: A_i(x) + B_j(x + gap) ≥ goal."""
    smallest = 0.0
    for k in range(len(order)):
        j = order[k]
        if j == i:
            continue
        low, high = smallest, smallest  # most arms hold at the gap that the first ones needed
        while high < 1.0 and not refuted(rows, counts, sums, i, j, high, goal):
            low, high = high, min(1.0, 2.0 * high + 1e-3)
        while high - low > CLOSE:
            middle = 0.5 * (low + high)
            if refuted(rows, counts, sums, i, j, middle, goal):
                high = middle
            else:
                low = middle
        smallest = high
    return smallest


def refuted(rows: Rows, counts: FloatArray, sums: FloatArray, i: int, j: int, gap: float, goal: float) -> bool:
    """Whether arm i is surely not so far below arm j."""
    return exceeds(rows, counts, sums, i, j, -gap, 0.5 * (1.0 - gap), goal)[0] >= goal

"""Certificates of a nominee against other arms: C(a, j), an infimum of a convex function. `evidence.certificates` has the
formulas.
"""

import numpy as np

from surest.core.protocol import FloatArray, IntArray
from surest.kernels import bets, libm
from surest.kernels.bets import Rows
from surest.kernels.constants import ALPHA, DECAY, IDLE, JOINT, JOINT_BETS, LOWEST, RHO, WAIT

TOLERANCE = 1e-6
"""How far below the infimum a returned value may be, in nats, beside what rounding may have added. It is never above."""
UNIT = 2.0**-53  # the relative error of one rounded operation
NEGLIGIBLE = 50.0  # nats by which a summand is behind the largest one when it no longer matters
DOUBTFUL = 0.1  # nats of rounding beyond which a slope is not used
MOST_REWARDS = 2.0**53  # from here on a float no longer counts one by one

UP, UP_SLOPE, UP_ROUNDED, DOWN, DOWN_SLOPE, DOWN_ROUNDED = 0, 1, 2, 3, 4, 5
"""Rows of `Evidence.work`: what each of a slot's bets has won on the nominee, and on the challenger."""


class Evidence:
    """What the certificates of a nominee against all others rest on."""

    def __init__(
        self, nominee: int, prices: FloatArray, before: Rows, since: Rows, bets: IntArray, base: FloatArray,
        share: float, guesses_nominee: FloatArray, guesses: FloatArray, among: float = 1.0,
        accounts: FloatArray | None = None,
    ) -> None:  # fmt: skip
        self.nominee, self.prices, self.before, self.since, self.bets = nominee, prices, before, since, bets
        self.base, self.share, self.guesses_nominee, self.guesses = base, share, guesses_nominee, guesses
        self.among = among
        self.accounts = np.full(len(prices), -np.inf) if accounts is None else accounts
        self.work = np.empty((6, JOINT_BETS))


class Point:
    """A convex function at one place, as computed, with the errors that its value and its slope may have."""

    def __init__(self, x: float) -> None:
        self.x = x
        self.value = self.slope = self.doubt = self.bend = 0.0

    def put(self, x: float, value: float, slope: float, doubt: float, bend: float) -> None:
        """Move it."""
        self.x, self.value, self.slope, self.doubt, self.bend = x, value, slope, doubt, bend


def log_value(x: float, epsilon: float, evidence: Evidence, j: int) -> tuple[float, float, float, float]:
    """The function of x whose infimum is the certificate, its derivative, and the rounding errors that both may have.

    It is convex: a log of log-convex summands.
    """
    before, since, nominee = evidence.before, evidence.since, evidence.nominee
    y = x + epsilon
    # B^before and B, by one pass over the bets
    early_top, early, early_slope, early_doubt = libm.log(WAIT), 1.0, 0.0, 0.0
    full_top, full, full_slope, full_doubt = libm.log(WAIT), 1.0, 0.0, 0.0
    log_share, alpha = libm.log((1.0 - WAIT) * (1.0 - DECAY) / evidence.among), ALPHA
    log_decay = libm.log(DECAY)
    for _ in range(evidence.bets[j]):
        log, slope, rounded = bets.growth(before, j, y, alpha, False)
        more, more_slope, more_rounded = bets.growth(since, j, y, alpha, False)
        early_doubt = larger_doubt(early_doubt, rounded, log_share + log - early_top)
        full_doubt = larger_doubt(full_doubt, rounded + more_rounded, log_share + log + more - full_top)
        early_top, early, early_slope = accumulate(early_top, early, early_slope, log_share + log, slope)
        full_top, full, full_slope = accumulate(full_top, full, full_slope, log_share + log + more, slope + more_slope)
        log_share += log_decay
        alpha /= RHO
    joint, joint_rise, joint_fall, joint_doubt = log_joint(x, y, evidence, j)
    early_slope, full_slope = early_slope / early, full_slope / full
    first = libm.log(evidence.base[j]) + full_top + libm.log(full)
    second = libm.log(evidence.share) + early_top + libm.log(early) + joint
    top = max(first, second)
    a, b = libm.exp(first - top), libm.exp(second - top)
    rise = (a * full_slope + b * (early_slope + joint_rise)) / (a + b)
    fall = b * joint_fall / (a + b)
    value = top + libm.log(a + b)
    doubt = max(larger_doubt(0.0, full_doubt, first - top), larger_doubt(0.0, early_doubt + joint_doubt, second - top))
    atoms = before.size[j] + since.size[j] + since.size[nominee]
    doubt = UNIT * ((atoms + 10) * doubt + 4.0 * (abs(first) + abs(second)) + rise - fall)
    bend = (rise - fall) * (3.0 * doubt + 100.0 * UNIT) if doubt < DOUBTFUL else libm.inf
    return value, rise + fall, doubt, bend


def log_joint(x: float, y: float, evidence: Evidence, j: int) -> tuple[float, float, float, float]:
    """log J, over all pairs of bets; the rising and the falling part of its derivative; the sum that was rounded."""
    since, nominee, work, joint = evidence.since, evidence.nominee, evidence.work, JOINT
    scale, up_top, down_top = LOWEST, -libm.inf, -libm.inf
    for k in range(JOINT_BETS):
        bet, other_bet = min(evidence.guesses_nominee[j] * scale, ALPHA), min(evidence.guesses[j] * scale, ALPHA)
        work[UP, k], work[UP_SLOPE, k], work[UP_ROUNDED, k] = bets.growth(since, nominee, x, bet, True)
        work[DOWN, k], work[DOWN_SLOPE, k], work[DOWN_ROUNDED, k] = bets.growth(since, j, y, other_bet, False)
        up_top, down_top = max(up_top, work[UP, k]), max(down_top, work[DOWN, k])
        scale *= RHO
    # The largest is taken out on each side, whatever its sign: then the sum cannot vanish.
    up_doubt, down_doubt = 0.0, 0.0
    for k in range(JOINT_BETS):
        up_doubt = larger_doubt(up_doubt, work[UP_ROUNDED, k], work[UP, k] - up_top)
        down_doubt = larger_doubt(down_doubt, work[DOWN_ROUNDED, k], work[DOWN, k] - down_top)
        work[UP, k], work[DOWN, k] = libm.exp(work[UP, k] - up_top), libm.exp(work[DOWN, k] - down_top)
    total, rise, fall = 0.0, 0.0, 0.0
    for k in range(JOINT_BETS):
        row, row_slope = 0.0, 0.0
        for m in range(JOINT_BETS):
            part = joint[k, m] * work[DOWN, m]
            row += part
            row_slope += part * work[DOWN_SLOPE, m]
        total += work[UP, k] * row
        rise += work[UP, k] * row_slope
        fall += work[UP, k] * work[UP_SLOPE, k] * row
    placed_log, idle = up_top + down_top + libm.log(total), libm.log(IDLE)
    top = max(placed_log, idle)
    placed, kept = libm.exp(placed_log - top), libm.exp(idle - top)
    part = placed / (placed + kept)
    return top + libm.log(placed + kept), part * rise / total, part * fall / total, up_doubt + down_doubt


def larger_doubt(doubt: float, rounded: float, behind: float) -> float:
    """Only summands that matter may spoil a sum: those not far behind the largest."""
    return max(doubt, rounded) if behind > -NEGLIGIBLE else doubt


def accumulate(top: float, total: float, slope: float, log: float, derivative: float) -> tuple[float, float, float]:
    """Add exp(log) to the sum total·exp(top), and its part of the slope."""
    if log > top:
        shrink = libm.exp(top - log)
        return log, total * shrink + 1.0, slope * shrink + derivative
    part = libm.exp(log - top)
    return top, total + part, slope + part * derivative


def certificate(start: float, goal: float, epsilon: float, evidence: Evidence, j: int) -> tuple[float, float]:
    """A lower bound of the infimum over all of (0, 1 − ε), and where the search ended: a good start for the next one.

    The search stops as soon as the bound reaches `goal`, or a value of the function is below it (then what is returned is
    the bound so far, possibly −∞); with an infinite goal it goes on until the bound is within `TOLERANCE` of a value.
    What rounding may have added is taken off; where rewards are too many to be counted, the bound is −∞.
    """
    end = 1.0 - epsilon
    x = min(max(start, 1e-9 * end), end * (1.0 - 1e-9))
    before, since = evidence.before, evidence.since
    if not (countable(before, j) and countable(since, j) and countable(since, evidence.nominee)):
        return -libm.inf, x
    left, right = Point(-1.0), Point(2.0)  # not found yet
    bound, exact, least = -libm.inf, -libm.inf, libm.inf
    for _ in range(200):
        value, slope, doubt, bend = log_value(x, epsilon, evidence, j)
        if not (abs(value) < libm.inf and abs(slope) < libm.inf):
            return -libm.inf, 0.5 * end
        least = min(least, value)
        if abs(slope) <= bend < libm.inf:  # flat, as far as can be seen: no end of a bracket
            low, high = max(left.x, 0.0), min(right.x, end)
            bound = max(bound, value - doubt - (abs(slope) + bend) * max(x - low, high - x))
            x = 0.5 * (x + (low if x - low > high - x else high))
        else:
            if slope < 0.0:
                left.put(x, value, slope, doubt, bend)
            else:
                right.put(x, value, slope, doubt, bend)
            exact, safe, x = meeting(left, right, end)
            bound = max(bound, safe)
        if bound >= goal or (least < goal and goal < libm.inf) or least - max(bound, exact) <= TOLERANCE:
            break
        if not 0.0 < x < end or x == left.x or x == right.x:
            break
    return bound, x


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


def countable(rows: Rows, i: int) -> bool:
    """Whether the rewards of an arm are few enough that adding one to their number is exact."""
    total = 0.0
    for p in range(rows.size[i]):
        total += rows.weights[i, p]
    return total < MOST_REWARDS


def against(
    j: int, start: float, goal: float, epsilon: float, evidence: Evidence, is_quick: bool
) -> tuple[float, float]:
    """The certificate of the nominee against arm j, with the arm's account, less its price.

    Quick: −∞ if a look at `start` shows that it fails.
    """
    price, account = evidence.prices[j], evidence.accounts[j]
    if account >= goal + price:
        return account - price, start
    lacking = goal + price + libm.log1p(-libm.exp(account - goal - price)) if goal < libm.inf else goal
    if is_quick and log_value(start, epsilon, evidence, j)[0] < lacking:
        return -libm.inf, start  # a good start next time too
    bound, minimiser = certificate(start, lacking, epsilon, evidence, j)
    return log_sum(bound, account) - price, minimiser


def log_sum(x: float, y: float) -> float:
    """log(exp x + exp y), less what rounding may have added; x itself if y is −∞."""
    top, low = max(x, y), min(x, y)
    if low == -libm.inf:
        return top
    total = top + libm.log1p(libm.exp(low - top))
    return total - 8.0 * UNIT * (abs(top) + abs(low) + 1.0)


def most_reached(arms: IntArray, starts: FloatArray, level: float, epsilon: float, evidence: Evidence) -> float:
    """What the smallest certificate against these arms can be at most, by one look each; −∞ as soon as one is below `level`."""
    most = libm.inf
    for j in arms:
        reached = log_sum(log_value(starts[j], epsilon, evidence, j)[0], evidence.accounts[j])
        most = min(most, reached - evidence.prices[j])
        if most < level:
            return -libm.inf
    return most


def raise_certificates(
    certified: FloatArray, minimisers: FloatArray, todo: IntArray, goal: float, epsilon: float, evidence: Evidence
) -> None:
    """Compute the certificates of the nominee against the arms `todo`, and keep the largest seen so far in `certified`.

    There is none of the nominee against itself: the theorem does not speak of one.
    """
    for j in todo:
        if j == evidence.nominee:
            continue
        bound, minimisers[j] = against(j, minimisers[j], goal, epsilon, evidence, False)
        if bound > certified[j]:
            certified[j] = bound


def bounds_against(
    arms: IntArray, starts: FloatArray, goal: float, epsilon: float, evidence: Evidence
) -> tuple[FloatArray, FloatArray]:
    """Certificates of the nominee against arms, and starts for the next search."""
    bounds_made, minimisers_made = np.empty(len(arms)), np.empty(len(arms))
    bounds, minimisers = bounds_made, minimisers_made
    for k in range(len(arms)):
        bounds[k], minimisers[k] = against(arms[k], starts[k], goal, epsilon, evidence, goal < libm.inf)
    return bounds_made, minimisers_made


def raise_weakest(
    certified: FloatArray, minimisers: FloatArray, todo: IntArray, goal: float, epsilon: float, evidence: Evidence
) -> None:
    """As `raise_certificates`, only as far as it takes to know which certificates reach the goal, and the smallest one.

    It is quickest if the smallest come first.
    """
    least = libm.inf
    for j in todo:
        bound, minimisers[j] = against(j, minimisers[j], goal, epsilon, evidence, False)
        if bound < goal and least < libm.inf:
            bound, minimisers[j] = against(j, minimisers[j], least, epsilon, evidence, False)
        if bound < min(goal, least):
            bound, minimisers[j] = against(j, minimisers[j], libm.inf, epsilon, evidence, False)
        certified[j] = max(certified[j], bound)
        least = min(least, certified[j])


def smallest_epsilon(
    least: float, doubtful: IntArray, goal: float, minimisers: FloatArray, evidence: Evidence
) -> float:
    """The smallest ε ≥ `least`, to 1e-4 and not below it, at which the nominee is certified against all of `doubtful`."""
    smallest = least
    for j in doubtful:
        low, high = smallest, smallest  # most arms hold at the ε that the first ones needed
        while high < 1.0 and not against(j, minimisers[j], goal, high, evidence, False)[0] >= goal:
            low, high = high, min(1.0, 2.0 * high + 1e-3)
        while high - low > 1e-4:
            middle = 0.5 * (low + high)
            if against(j, minimisers[j], goal, middle, evidence, False)[0] >= goal:
                high = middle
            else:
                low = middle
        smallest = high
    return smallest

"""Evidence for a verdict on each arm: above a bar or below it, better than a control or not. Valid at every moment.

**A bar.** exp A_i(x) is fair or losing while arm i's mean is at most x, exp B_i(x) while it is at least x (evidence/betting.py).
The first, at the bar less ε, speaks for "above", the second, at the bar and ε, for "below".

**A control.** exp(A_i(x + g) + B_0(x)) at x = μ_0 is fair or losing while μ_i ≤ μ_0 + g. Nobody knows μ_0, so the smallest value
over all x counts: it speaks for μ_i > μ_0 + g. With the parts of both arms exchanged it speaks against.

An arm has one wrong verdict at most: which one, its mean decides. So both directions together cost what one does.

**The share of wrong verdicts.** Let E_i be the wealth of arm i for "above" at one moment, and R the arms declared above. If
for every set S of arms, which may be those that lie below,

    mean of E_i over S ≥ |R ∩ S| / (δ·|R|),

then the expected share of wrong ones in R is at most δ: for the true S the mean of E_i has expectation at most 1. It must be
the wealth at that moment: the largest wealth so far is not fair. docs/questions.md has the proofs.
"""

import numpy as np

from surest.compiled import compiled
from surest.core.protocol import BoolArray, FloatArray, IntArray
from surest.evidence.betting import mixture, mixture_of, terms
from surest.evidence.certificate import Digest, Point, meeting
from surest.evidence.digest import Digests

PRIOR = (0.8, 0.88, 0.01)
"""The bets at a bar: the largest one, the ratio of their weights, and the weight on not betting. At one fixed level less needs
to be kept back than where a level is searched for: 3 to 7 % fewer pulls on 20 arms between 0.3 and 0.7."""
LARGEST = 600.0
"""Wealth is counted up to exp of this, so that sums of it stay finite. To count less is safe."""
NEAR = 1e-6
"""How far a returned infimum may be below the true one, in nats. It is never above."""
BOUNDS = 1e-4
"""How far a returned bound of a difference may be outside of the true one."""


def weigh(digests: Digests, arms: IntArray, low: float, high: float) -> tuple[FloatArray, FloatArray]:
    """A(low) and B(high) of some arms: the evidence, in nats, that their means are above `low`, and below `high`.

    >>> digests = Digests(2)
    >>> digests.add([0, 1], [1.0, 0.0], [20, 20])
    >>> above, below = weigh(digests, np.arange(2), 0.5, 0.5)
    >>> above.round(1), below.round(1)
    (array([ 9.7, -1.6]), array([-1.6,  9.7]))
    """
    return _weigh((digests.values, digests.weights, digests.size), digests.counts, digests.sums, arms, low, high)


@compiled
def _weigh(
    rows: tuple[FloatArray, FloatArray, IntArray],
    counts: FloatArray,
    sums: FloatArray,
    arms: IntArray,
    low: float,
    high: float,
) -> tuple[FloatArray, FloatArray]:
    above, below = np.empty(len(arms)), np.empty(len(arms))
    for k in range(len(arms)):
        i = arms[k]
        mean = sums[i] / counts[i] if counts[i] > 0 else 0.5
        up, down = terms(counts[i], mean), terms(counts[i], 1.0 - mean)
        above[k] = mixture_of(rows[0][i], rows[1][i], rows[2][i], up, low, True, PRIOR)[0]
        below[k] = mixture_of(rows[0][i], rows[1][i], rows[2][i], down, high, False, PRIOR)[0]
    return above, below


def estimates(digests: Digests) -> tuple[FloatArray, FloatArray]:
    """Every arm's mean and variance, with a pseudo-reward that is half 0, half 1. They guide sampling and prove nothing.

    >>> digests = Digests(1)
    >>> digests.add([0], [1.0], [3])
    >>> [part.tolist() for part in estimates(digests)]
    [[0.875], [0.109375]]
    """
    inside = np.arange(digests.values.shape[1]) < digests.size[:, None]
    squares = np.where(inside, digests.weights * digests.values**2, 0.0).sum(axis=1)
    means = (digests.sums + 0.5) / (digests.counts + 1)
    return means, (squares + 0.5) / (digests.counts + 1) - means**2


# --- the share of wrong verdicts ----------------------------------------------------------------------------------------


def share_needs(evidence: FloatArray, up: BoolArray, delta: float) -> FloatArray:
    """The evidence for "above" that each arm above the bar needs so that all of these can be declared; infinite for the others.

    With k such arms, the one of the r-th smallest wealth needs (n − k + 2r − 1)/(δ·k), and 1/δ at least: the sums of the r
    smallest are then what `allowed` asks for. What is left of the others' wealth counts for the first.

    >>> np.exp(share_needs(np.array([9.0, 1.0, -9.0, -9.0]), np.array([True, True, False, False]), 0.1)).round(2)
    array([25., 15., inf, inf])
    """
    needs, n, k = np.full(len(evidence), np.inf), len(evidence), int(up.sum())
    if k > 0:
        ranked = np.flatnonzero(up)[np.argsort(evidence[up], kind="stable")]
        wealth = (n - k + 2.0 * np.arange(1, k + 1) - 1) / (delta * k)
        wealth[0] -= np.minimum(wealth_of(evidence[~up]), 1 / (delta * k)).sum()
        needs[ranked] = np.log(np.maximum(wealth, 1 / delta))
    return needs


def share_verdicts(above: FloatArray, below: FloatArray, up: BoolArray, delta: float) -> IntArray:
    """A verdict an arm, such that the share of wrong ones is at most δ in expectation: among all, and among those above.

    `above` and `below` are each arm's evidence, at this moment, in nats; `up` says which of the two counts. Declared are
    the most arms D such that each has a wealth of n/(δ·|D|), and such that those above are `allowed`.

    >>> above, below = np.log([60.0, 31.0, 12.0, 0.1, 0.1]), np.log([0.1, 0.1, 0.1, 9.0, 40.0])
    >>> share_verdicts(above, below, above > below, 0.1)
    array([ 1,  1,  0,  0, -1])
    """
    evidence, n = np.where(up, above, below), len(above)
    wealth, inside = wealth_of(above), np.ones(n, np.bool_)
    while inside.any():
        ranked = -np.sort(-evidence[inside])
        enough = np.flatnonzero(ranked >= np.log(n / (delta * np.arange(1, len(ranked) + 1))))
        if not len(enough):
            return np.zeros(n, np.int64)
        kept = inside & (evidence >= ranked[enough[-1]])
        kept &= ~up | _most_allowed(wealth, kept & up, delta)
        if (kept == inside).all():
            break
        inside = kept
    return np.where(inside, np.where(up, 1, -1), 0)


def wealth_of(evidence: FloatArray) -> FloatArray:
    """Wealth from evidence in nats, capped."""
    result: FloatArray = np.exp(np.minimum(evidence, LARGEST))
    return result


def _most_allowed(wealth: FloatArray, of: BoolArray, delta: float) -> BoolArray:
    """The most of these arms that may be declared: those of largest wealth."""
    ranked = np.flatnonzero(of)
    ranked = ranked[np.argsort(-wealth[ranked], kind="stable")]
    for k in range(len(ranked), 0, -1):
        inside = np.zeros(len(wealth), np.bool_)
        inside[ranked[:k]] = True
        if allowed(wealth, inside, delta):
            return inside
    return np.zeros(len(wealth), np.bool_)


def allowed(wealth: FloatArray, inside: BoolArray, delta: float) -> bool:
    """Whether these arms may be declared: whether for every set S the mean wealth in it is at least |R ∩ S|/(δ·|R|).

    Of all S with r arms inside, the worst has the r of least wealth, and of those outside all whose wealth is less than
    what is needed.

    >>> allowed(np.array([40.0, 30.0, 0.0, 0.0]), np.array([True, True, False, False]), 0.1)
    True
    >>> allowed(np.array([40.0, 14.0, 0.0, 0.0]), np.array([True, True, False, False]), 0.1)
    False
    """
    least, others = np.sort(wealth[inside]), np.sort(wealth[~inside])
    r = np.arange(1, len(least) + 1)
    need = r / (delta * max(len(least), 1))
    more = np.searchsorted(others, need)
    total = np.cumsum(least) + np.append(0.0, np.cumsum(others))[more]
    return bool((total >= (r + more) * need).all())


# --- against a control --------------------------------------------------------------------------------------------------


@compiled
def exceeds(
    first: Digest, bets: int, second: Digest, other_bets: int, gap: float, start: float, goal: float
) -> tuple[float, float, float]:
    """The evidence that one arm's mean is above another's and `gap`: a lower bound of inf over x of A(x + gap) + B(x).

    Also its derivative in the gap, and where the search ended: a good start for the next one. The search stops as soon as
    the bound reaches `goal`, or a value is below it (what is returned is then the bound so far, possibly −∞); with an
    infinite goal it goes on until the bound is within `NEAR` of a value. The function is convex.
    """
    end, up, down = 1.0 - abs(gap), max(gap, 0.0), max(-gap, 0.0)
    x = min(max(start, 1e-9 * end), end * (1.0 - 1e-9))
    left, right = Point(-1.0, 0.0, 0.0, 0.0, 0.0), Point(2.0, 0.0, 0.0, 0.0, 0.0)  # not found yet
    bound, least, rise = -np.inf, np.inf, 0.0
    for _ in range(200):
        own, own_slope = mixture(first[0], first[1], first[2], bets, x + up, True)
        other, slope = mixture(second[0], second[1], second[2], other_bets, x + down, False)
        if own + other < least:  # where all rewards are 0, A is flat and the least value is at the end, x = 0
            least, rise = own + other, own_slope if own_slope < 0.0 else -slope
        if own_slope + slope < 0.0:
            left = Point(x, own + other, own_slope + slope, 0.0, 0.0)
        else:
            right = Point(x, own + other, own_slope + slope, 0.0, 0.0)
        safe, _, x = meeting(left, right, end)
        bound = max(bound, safe)
        if bound >= goal or (least < goal and goal < np.inf) or least - bound <= NEAR:
            break
        if not 0.0 < x < end or x == left.x or x == right.x:
            break
    return bound, rise, x


@compiled
def _row(digests: tuple[FloatArray, FloatArray, IntArray], i: int) -> Digest:
    return digests[0][i], digests[1][i], digests[2][i]


@compiled
def _bets(counts: FloatArray, sums: FloatArray, i: int, is_above: bool) -> int:
    mean = sums[i] / counts[i] if counts[i] > 0 else 0.5
    return terms(counts[i], mean if is_above else 1.0 - mean)


@compiled
def compare(
    rows: tuple[FloatArray, FloatArray, IntArray],
    counts: FloatArray,
    sums: FloatArray,
    arms: IntArray,
    control: int,
    gaps: tuple[float, float],
    starts: FloatArray,
    goal: float,
) -> tuple[FloatArray, FloatArray]:
    """For some arms: the evidence that their means are above the control's and gaps[0], and below the control's and gaps[1].

    Where it is known that it does not reach the goal, it may be less than it is. `starts` has two rows, of where a search
    begins; where it ended is put there.
    """
    better, worse = np.empty(len(arms)), np.empty(len(arms))
    control_up, control_down = _bets(counts, sums, control, True), _bets(counts, sums, control, False)
    control_row = _row(rows, control)
    for k in range(len(arms)):
        i = arms[k]
        row, up, down = _row(rows, i), _bets(counts, sums, i, True), _bets(counts, sums, i, False)
        better[k], _, starts[0, i] = exceeds(row, up, control_row, control_down, gaps[0], starts[0, i], goal)
        worse[k], _, starts[1, i] = exceeds(control_row, control_up, row, down, -gaps[1], starts[1, i], goal)
    return better, worse


@compiled
def _surely(first: Digest, bets: int, second: Digest, other_bets: int, apart: float, level: float) -> float:
    """The largest gap by which one arm's mean surely exceeds another's: from outside, as the evidence is convex in the gap."""
    gap, value, slope, x = apart, -np.inf, 0.0, 0.5
    for _ in range(30):
        gap = 0.5 * (gap - 1.0)
        value, slope, x = exceeds(first, bets, second, other_bets, gap, 0.5 * (1.0 - abs(gap)), np.inf)
        if value >= level:
            break
    return -1.0 if value < level else from_outside(first, bets, second, other_bets, gap, value, slope, x, level)


@compiled
def from_outside(
    first: Digest,
    bets: int,
    second: Digest,
    other_bets: int,
    gap: float,
    value: float,
    slope: float,
    x: float,
    level: float,
) -> float:
    """The largest gap at which the evidence of `exceeds` is still `level`, from a smaller gap, its value, slope and place."""
    for _ in range(30):
        closer = gap - (value - level) / slope
        if not closer - gap > BOUNDS:
            break
        value, slope, x = exceeds(first, bets, second, other_bets, closer, x, np.inf)
        if value < level:  # by rounding
            break
        gap = closer
    return gap


def differences(digests: Digests, control: int, level: float) -> tuple[FloatArray, FloatArray]:
    """Bounds of each arm's mean less the control's: the differences against which the evidence is less than `level` nats.

    >>> digests = Digests(2)
    >>> digests.add([0, 0, 1, 1], [0.0, 1.0, 0.0, 1.0], [50, 50, 10, 90])
    >>> low, high = differences(digests, 0, 3.0)
    >>> low.round(2), high.round(2)
    (array([0.  , 0.19]), array([0. , 0.6]))
    """
    rows = (digests.values, digests.weights, digests.size)
    return _differences(rows, digests.counts, digests.sums, control, level)


@compiled
def _differences(
    rows: tuple[FloatArray, FloatArray, IntArray], counts: FloatArray, sums: FloatArray, control: int, level: float
) -> tuple[FloatArray, FloatArray]:
    low, high = np.full(len(counts), -1.0), np.full(len(counts), 1.0)
    control_up, control_down = _bets(counts, sums, control, True), _bets(counts, sums, control, False)
    control_row = _row(rows, control)
    for i in range(len(counts)):
        if i == control:
            low[i], high[i] = 0.0, 0.0
        elif counts[i] > 0 and counts[control] > 0:
            row, apart = _row(rows, i), sums[i] / counts[i] - sums[control] / counts[control]
            low[i] = _surely(row, _bets(counts, sums, i, True), control_row, control_down, apart, level)
            high[i] = -_surely(control_row, control_up, row, _bets(counts, sums, i, False), -apart, level)
    return low, high

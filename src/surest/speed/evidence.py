"""What times of several commands, measured in blocks, say about which is faster. The theorem and its proof: docs/fastest.md.

Times have no bounds, and a machine drifts. So a pilot fixes a range for each pair of commands before anything counts, and times
beyond it count as its ends. Each pair is compared within blocks, by a mixture of bets whose stakes stay the same from block to
block. Stakes that follow the data would certify a weighted average in which a drift can choose the weights.
"""

import math
from bisect import bisect_left

import numpy as np

from surest.core.protocol import BoolArray, FloatArray, IntArray
from surest.errors import UsageError
from surest.numerics import beta_share, log_beta

PILOT = 5  # runs of each command that fix the ranges and do not count
INNER = 4.0
"""The spread of a pilot is its longest less its shortest time, but at most so many times that of the three in the middle: one
outlier should not make a range too wide to decide in."""
BELOW, ABOVE = 1.0, 2.0
"""A command's range reaches so many spreads of its pilot below and above its median there. Unusually long times are commoner than
unusually short ones."""
LEAST_MARGIN = 0.03  # the range reaches to either side by at least this part of the median more than the tolerance does
MOMENT = 1e-9  # seconds that never matter: two commands of no measurable time are equal
STAKES = 0.95 * 0.5 ** np.arange(6)  # the constant stakes, in parts of the largest that one block cannot ruin
LOG_SHARES = np.log([0.7, 0.06, 0.06, 0.06, 0.06, 0.06])
"""Which part of the wealth each begins with: most of it for commands that are far apart, which should not run long."""
FASTER = 0.9  # the part of the error that is kept for "faster"; the rest is for "close"
EARLY, FAR = 3, 1.5
"""A command whose first EARLY runs of the pilot were all more than FAR times as long as the quickest one's median needs no more
of them."""
OFTEN, MOSTLY = 10, 0.6
"""The machine has changed when in more than the part MOSTLY of the blocks both times of a pair lay beyond its range, at the same
end. That is looked at every OFTEN blocks."""
ALL_ABOVE = 0.25  # the part of the wealth that bets that all quotients lie on one side: bounds are finite sooner
FIRST = 0.9
"""The part of the error that is kept for "the first of the pilot is faster than …". The others share the rest."""


def clip_range(pilot: FloatArray, tolerance: float, slack: float = MOMENT, wider: float = 1.0) -> tuple[float, float]:
    """Between which times a command's runs count as they are. Two commands may differ by the tolerance and `slack` seconds."""
    ordered = np.sort(pilot[~np.isnan(pilot)])
    middle, inner = float(np.median(ordered)), INNER if len(ordered) == PILOT else math.inf
    spread = wider * float(min(ordered[-1] - ordered[0], inner * max(ordered[-2] - ordered[1], MOMENT)))
    least = (LEAST_MARGIN + tolerance) * middle + 1.5 * slack
    return max(middle - max(BELOW * spread, least), 0.0), middle + max(ABOVE * spread, least)


def pair_ranges(
    pilot: FloatArray, tolerance: float, slack: float = MOMENT, wider: float = 1.0
) -> tuple[FloatArray, FloatArray]:
    """The range in which each pair is compared, the same for both: it holds the ranges of both. `pilot` has one row per run.

    Against one that is far slower, a command's range ends at the shortest time of that one (of all, if it is hopeless), or where
    its own does, or half above its own median: what the other takes beyond that does not matter, and in a narrow range few
    blocks tell.
    """
    ends = np.array([clip_range(column, tolerance, slack, wider) for column in pilot.T])
    low, high = np.minimum.outer(ends[:, 0], ends[:, 0]), np.maximum.outer(ends[:, 1], ends[:, 1])
    medians, far = np.nanmedian(pilot, axis=0), cut_short(pilot)
    shortest = np.where(far, np.nanmin(pilot[:, far], initial=math.inf), np.nanmin(pilot, axis=0))
    apart = ~far[:, np.newaxis] & (far | (medians > FAR * medians[:, np.newaxis]))
    end = np.maximum.outer(np.maximum(ends[:, 1], (FAR + tolerance) * medians + 2 * slack), shortest)
    low = np.where(apart, ends[:, :1], np.where(apart.T, ends[:, 0], low))
    high = np.where(apart, end, np.where(apart.T, end.T, high))
    return low, high


def nominee_weights(pilot: FloatArray) -> FloatArray:
    """The share of the error with which each command may be called faster than the others, by its rank in the pilot."""
    n = pilot.shape[1]
    ranks = np.arange(2.0, n + 1)
    by_rank = np.append(FIRST, (1 - FIRST) / (ranks * (ranks - 1)) / (1 - 1 / n))
    weights = np.empty(n)
    weights[np.argsort(np.nanmedian(pilot, axis=0), kind="stable")] = by_rank
    return weights


def log_factors(gains: FloatArray, most_lost: FloatArray) -> FloatArray:
    """The logarithm of 1 + λ·gain for each constant stake, λ = stake/most_lost: what one block does to each wealth."""
    return np.log1p(STAKES * (gains / most_lost)[..., np.newaxis])


def block_factors(
    times: FloatArray, low: FloatArray, high: FloatArray, tolerance: float, slack: float, far: BoolArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """What one block does to each pair's wealths: those for "i is faster than j", and those for "i is close to j".

    Where both times lie beyond the range at the same end, nothing is gained: they would count as equal, whatever they are.
    All commands that are `far` slower are one opponent of each other command, which takes as long as the quickest of them: what
    is faster than that is faster than each.
    """
    own = np.clip(times[..., np.newaxis], low, high)
    other, longer = np.swapaxes(own, -1, -2), 1 + tolerance
    opponent = other
    if far is not None and far.any():
        opponent = np.where(~far[:, np.newaxis] & far, other[..., far].min(axis=-1, keepdims=True), other)
    faster = log_factors(opponent - own, high - low)
    gains = np.where(both_beyond(times, low, high), 0.0, longer * other + slack - own)
    return faster, log_factors(gains, high - longer * low - slack)


def both_beyond(times: FloatArray, low: FloatArray, high: FloatArray) -> BoolArray:
    """Whether both times of a pair lie beyond its range, at the same end: then the block does not tell them apart."""
    one, two = times[..., np.newaxis], times[..., np.newaxis, :]
    return (np.minimum(one, two) > high) | (np.maximum(one, two) < low)


def log_mixture(log_wealth: FloatArray) -> FloatArray:
    """The logarithm of the wealth over all stakes (the last axis), each with its share."""
    mixture: FloatArray = np.logaddexp.reduce(log_wealth + LOG_SHARES, axis=-1)
    return mixture


def evidence_needed(pilot: FloatArray, delta: float) -> tuple[FloatArray, FloatArray]:
    """From how many nats on "i is faster than j" is said, and "i is close to j". All hopeless commands are one opponent."""
    n, far = pilot.shape[1], cut_short(pilot)
    opponents = np.where(far, n - 1, n - far.sum() if far.any() else n - 1)
    faster = np.log(opponents / (FASTER * delta * nominee_weights(pilot)))
    return np.broadcast_to(faster[:, np.newaxis], (n, n)), np.full(
        (n, n), math.log(n * (n - 1) / ((1 - FASTER) * delta))
    )


def cut_short(pilot: FloatArray) -> BoolArray:
    """Which commands did not run in all of a pilot."""
    return np.asarray(np.isnan(pilot).any(axis=0))


def hopeless(pilot: FloatArray) -> BoolArray:
    """Which commands were far slower in all runs of a pilot so far than the quickest one was in the median."""
    found: BoolArray = pilot.min(axis=0) > FAR * np.median(pilot, axis=0).min()
    return found


class Comparisons:
    """All pairs of commands, compared block by block.

    ``faster[i, j]`` says that i is faster than j, ``close[i, j]`` that i takes at most 1 + tolerance times as long as j, and
    `slack` seconds. All such statements ever made are right together with probability at least 1 − δ: on average over the
    blocks in which both had run when it was made, and for times clipped to ``low[i, j]`` … ``high[i, j]``.
    """

    def __init__(
        self, pilot: FloatArray, delta: float, tolerance: float, slack: float = 0.0, share: float = 1.0,
        wider: float = 1.0,
    ) -> None:  # fmt: skip
        n = pilot.shape[1]
        self.hopeless = cut_short(pilot)
        """Commands that were far slower than another one in the pilot: they run only until that is certain."""
        self.pilot, self.delta, self.tolerance, self.slack = pilot, delta, tolerance, slack + MOMENT
        self.level = delta * share
        """The part of δ that is at stake here; the rest is kept for other stretches of blocks."""
        self.low, self.high = pair_ranges(pilot, tolerance, self.slack, wider)
        self.faster_needs, self.close_needs = evidence_needed(pilot, self.level)
        self._faster = np.zeros((n, n, len(STAKES)))
        self._close = np.zeros((n, n, len(STAKES)))
        self._beyond: IntArray = np.zeros((n, n), dtype=np.int64)
        self.faster: BoolArray = np.zeros((n, n), dtype=bool)
        self.close: BoolArray = np.zeros((n, n), dtype=bool)
        self.blocks: list[FloatArray] = []  # the times of each block, NaN for a command that did not run
        self.runs: IntArray = np.zeros(n, dtype=np.int64)  # how many runs of each command count

    @property
    def n(self) -> int:
        """How many commands there are."""
        return len(self.faster)

    def count(self, times: FloatArray) -> None:
        """Count one block: the time of each command, NaN for those that did not run."""
        if not (np.isnan(times) | ((times >= 0) & (times < math.inf))).all():
            raise UsageError(f"times are {times.tolist()}; a time is a number of seconds ≥ 0")
        self.blocks.append(times)
        ran = ~np.isnan(times)
        self.runs += ran
        both = np.logical_and.outer(ran, ran)
        faster, close = block_factors(times, self.low, self.high, self.tolerance, self.slack, self.hopeless)
        self._faster += np.where(both[..., np.newaxis], faster, 0.0)
        self._close += np.where(both[..., np.newaxis], close, 0.0)
        self._beyond += both_beyond(times, self.low, self.high)
        different = ~np.eye(self.n, dtype=bool)
        self.faster |= (self.faster_evidence >= self.faster_needs) & both & different
        self.close |= ((self.close_evidence >= self.close_needs) & both & different) | self.faster

    @property
    def faster_evidence(self) -> FloatArray:
        """How much speaks for "i is faster than j", in nats."""
        return log_mixture(self._faster)

    @property
    def close_evidence(self) -> FloatArray:
        """How much speaks for "i takes at most 1 + tolerance times as long as j", in nats."""
        return log_mixture(self._close)

    def towards(self, i: int) -> float:
        """How far evidence has come, from 0 to 1, to name command i: where it is weakest."""
        faster, close = self.faster_evidence / self.faster_needs, self.close_evidence / self.close_needs
        best = np.maximum(faster[i], np.minimum(close[i], close[:, i]))
        return float(np.where(self.settled[i], 1.0, np.clip(best, 0.0, 1.0)).min())

    @property
    def settled(self) -> BoolArray:
        """Whether i is known to be faster than j, or equal to it within the tolerance. Every command is equal to itself."""
        return self.faster | (self.close & self.close.T) | np.eye(self.n, dtype=bool)

    def has_changed(self) -> bool:
        """Whether times lie elsewhere than in the pilot, for a pair that is not settled."""
        if not self.blocks or len(self.blocks) % OFTEN:
            return False
        return bool(((self._beyond > MOSTLY * len(self.blocks)) & ~self.settled & ~self.settled.T).any())

    @property
    def times(self) -> FloatArray:
        """The times that count, one row per block and one column per command."""
        return np.array(self.blocks) if self.blocks else np.empty((0, self.n))

    def ratio(self, i: int, j: int) -> tuple[float, float, float]:
        """The median over blocks of j's time over i's, between its confidence bounds. All pairs' bounds hold together.

        They need no range, so the blocks of the pilot count as well.
        """
        both = np.vstack([self.pilot, self.times])[:, [i, j]]
        both = both[~np.isnan(both).any(axis=1)]
        return median_interval(ratios(both[:, 1], both[:, 0]), 2 * self.level / (self.n * (self.n - 1)))


def ratios(over: FloatArray, under: FloatArray) -> FloatArray:
    """Quotients of times; of two times that are zero, 1."""
    found: FloatArray = np.full(len(over), math.inf)
    np.divide(over, under, out=found, where=under > 0)
    found[(over == 0) & (under == 0)] = 1.0
    return found


def median_interval(values: FloatArray, error: float) -> tuple[float, float, float]:
    """A lower bound, the sample's median, an upper bound: the true median lies between them at all times, but for `error`.

    It needs no range: it counts how many values lie above a number. With too few values the bounds are 0 and infinity.
    """
    t = len(values)
    if t == 0:
        return 0.0, math.nan, math.inf
    k = least_count(t, error / 2)
    ordered = np.sort(values)
    if k is None:
        return 0.0, float(np.median(values)), math.inf
    return float(ordered[t - k]), float(np.median(values)), float(ordered[k - 1])


def least_count(t: int, error: float) -> int | None:
    """How many of t values above a number show, at all times but for `error`, that the median is above it; None if t cannot.

    The wealth after k such values is a part of 2·∫ over p in (½, 1) of (2p)^k·(2 − 2p)^(t − k), and the rest of 2^t if k = t.
    """

    def log_wealth(k: int) -> float:
        share = beta_share(t - k + 1, k + 1, 0.5)
        mixed = (t + 1) * math.log(2) + log_beta(k + 1, t - k + 1) + math.log((1 - ALL_ABOVE) * share)
        return float(np.logaddexp(mixed, t * math.log(2) + math.log(ALL_ABOVE))) if k == t else mixed

    counts = range(t // 2, t + 1)
    first = bisect_left(counts, -math.log(error), key=log_wealth)  # the more, the wealthier
    return counts[first] if first < len(counts) else None


def fewest_blocks(n: int, delta: float) -> int:
    """The number of blocks from which the bounds of a ratio are finite, whatever the times."""
    t = 1
    while least_count(t, delta / (n * (n - 1))) is None:
        t += 1
    return t

"""Where Wager pulls next. This decides how many pulls it takes, never whether its answer is right."""

import math
from typing import NamedTuple

import numpy as np

from surest.algorithms.wager.transport import Digests, transport
from surest.compiled import compiled
from surest.core.protocol import BoolArray, FloatArray, IntArray

OPTIMISM = 4.5
"""Nats by which the sampling leader is judged optimistically."""
NARROW = 1.5
"""Where a Bernoulli arm of the same mean has so many times an arm's variance, the level between two arms is searched for."""
KNOWN = 10
"""Pulls from which on all rewards of an arm may be looked at, …"""
NARROW_GROWTH, NARROWEST = 0.05, 6.0
"""… which pays at first for moderately narrow arms too, and after many pulls only where the ratio is larger than this."""
GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0
REJECTED = 4.0
"""Nats by which a rejected arm comes later. It stays eligible: the rejection may have been false."""


@compiled
def divergence(mean: float, spread: float, x: float) -> float:
    """Roughly the nats that one pull of an arm yields against the claim that its mean lies beyond x.

    For Bernoulli arms it is their Kullback-Leibler divergence. An arm of smaller variance is worth `spread` = μ(1 − μ)/σ²
    times as much, but no more than a constant one.
    """
    if x == mean:
        return 0.0
    kl = 0.0
    if mean > 0.0:
        kl += mean * math.log(mean / x)
    if mean < 1.0:
        kl += (1.0 - mean) * math.log((1.0 - mean) / (1.0 - x))
    kl *= spread
    most = math.log((1.0 - mean) / (1.0 - x)) if x > mean else math.log(mean / x)
    if kl <= 0.0 or most <= 0.0:
        return 0.0
    return 1.0 / (1.0 / kl + (1.0 - 1.0 / spread) / most)


@compiled
def _least(
    count: float,
    mean: float,
    spread: float,
    other_count: float,
    other_mean: float,
    other_spread: float,
    epsilon: float,
) -> float:
    """The level at which both divergences together are least, by golden section: they are not parabolas."""
    low, high = max(other_mean - epsilon, 1e-9), min(mean, 1.0 - epsilon - 1e-9)
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_left, at_right = -1.0, -1.0  # not computed
    for _ in range(15):
        if at_left < 0.0:
            at_left = count * divergence(mean, spread, left)
            at_left += other_count * divergence(other_mean, other_spread, left + epsilon)
        if at_right < 0.0:
            at_right = count * divergence(mean, spread, right)
            at_right += other_count * divergence(other_mean, other_spread, right + epsilon)
        if at_left < at_right:
            high, right, at_right = right, left, at_left
            left, at_left = high - GOLDEN * (high - low), -1.0
        else:
            low, left, at_left = left, right, at_right
            right, at_right = low + GOLDEN * (high - low), -1.0
    return 0.5 * (low + high)


@compiled
def separation(
    count: float,
    mean: float,
    spread: float,
    other_count: float,
    other_mean: float,
    other_spread: float,
    epsilon: float,
) -> tuple[float, float]:
    """Roughly the nats by which the first arm is seen not to be worse than the other by ε, and the first arm's part in them."""
    first, second = count * spread, other_count * other_spread
    if mean <= other_mean - epsilon:
        return 0.0, second / (first + second)  # by the variances of the two estimates
    x = (first * mean + second * (other_mean - epsilon)) / (first + second)
    if epsilon > 0.0:  # both levels stay inside (0, 1)
        x = max(x, 0.1 * min(mean, other_mean))
        x = min(x, 1.0 - 0.1 * min(1.0 - mean, 1.0 - other_mean) - epsilon)
    if x <= 0.0:
        return np.inf, second / (first + second)  # ε is nearly all there is
    if max(spread, other_spread) > NARROW:
        x = _least(count, mean, spread, other_count, other_mean, other_spread, epsilon)
    own, others = count * divergence(mean, spread, x), other_count * divergence(other_mean, other_spread, x + epsilon)
    if own + others <= 0.0:
        return 0.0, second / (first + second)
    return own + others, own / (own + others)


@compiled
def separations(arm: int, counts: FloatArray, means: FloatArray, spreads: FloatArray, epsilon: float) -> FloatArray:
    """The separation of one arm from every other, which may be better by ε; infinite for itself."""
    result = np.empty(len(counts))
    for j in range(len(counts)):
        result[j] = separation(counts[arm], means[arm], spreads[arm], counts[j], means[j], spreads[j], epsilon)[0]
    result[arm] = np.inf
    return result


@compiled
def update_optimistic(
    optimistic: FloatArray, arms: IntArray, counts: FloatArray, means: FloatArray, spreads: FloatArray
) -> None:
    """Upper bounds of the means of `arms`: where their divergence reaches `OPTIMISM` nats."""
    for i in arms:
        low, high = means[i], 1.0
        for _ in range(30):
            x = 0.5 * (low + high)
            if counts[i] * divergence(means[i], spreads[i], x) < OPTIMISM:
                low = x
            else:
                high = x
        optimistic[i] = low


class Seen(NamedTuple):
    """What was seen of all arms."""

    counts: FloatArray
    planned: FloatArray
    """The counts to be, with the pulls that are under way."""
    means: FloatArray
    """With a pseudo-reward that is half 0, half 1; so are the spreads."""
    spreads: FloatArray
    empirical: FloatArray
    before: Digests
    since: Digests


@compiled
def narrow_pairs(a: int, seen: Seen) -> BoolArray:
    """Where all rewards of an arm and of arm `a` should be looked at, and suffice for it."""
    known = np.minimum(seen.counts, seen.counts[a])
    least = np.minimum(NARROWEST, 1.0 + NARROW_GROWTH * known)
    narrow: BoolArray = (np.maximum(seen.spreads, seen.spreads[a]) > least) & (known >= KNOWN)
    return narrow


@compiled
def _key(
    j: int, leader: int, moved: FloatArray, means: FloatArray, spreads: FloatArray, rejected: BoolArray, epsilon: float
) -> tuple[float, float]:
    """How little arm j is told apart from the leader: the smallest comes first. Also the leader's part in it."""
    apart, part = separation(moved[leader], means[leader], spreads[leader], moved[j], means[j], spreads[j], epsilon)
    return apart + math.log(moved[j]) + (REJECTED if rejected[j] else 0.0), part


@compiled
def _narrow_key(
    j: int, leader: int, moved: FloatArray, seen: Seen, rejected: BoolArray, epsilon: float
) -> tuple[float, float]:
    """The same, by all rewards of both arms."""
    counts, spreads = seen.counts, seen.spreads
    scales = moved[leader] / counts[leader], moved[j] / counts[j]
    apart, part, _, _ = transport(
        leader, j, counts, seen.empirical, scales[0], scales[1], seen.before, seen.since, epsilon
    )
    if apart <= 0.0:  # by the variances of the two estimates
        first, second = moved[leader] * spreads[leader], moved[j] * spreads[j]
        part = second / (first + second)
    return apart + math.log(moved[j]) + (REJECTED if rejected[j] else 0.0), part


@compiled
def best_bets(a: int, seen: Seen, epsilon: float, own: FloatArray, others: FloatArray) -> None:
    """Raise bets on arm `a` and against each other to those that would have won most so far, where an arm is narrow."""
    narrow = narrow_pairs(a, seen)
    for j in range(len(own)):
        if j != a and narrow[j]:
            apart, _, bet, other = transport(
                a, j, seen.counts, seen.empirical, 1.0, 1.0, seen.before, seen.since, epsilon
            )
            if apart > 0.0:
                own[j], others[j] = max(own[j], bet), max(others[j], other)


@compiled
def plan(leader: int, seen: Seen, rejected: BoolArray, epsilon: float, coins: FloatArray, spared: int) -> IntArray:
    """How often to pull each arm in a batch of ``len(coins)`` pulls.

    Pull by pull: the challenger is the arm least told apart from the leader, and the leader or the challenger is pulled, as
    a coin says that is weighted by their parts in the separation. Counts move within the batch, means are held. Keys only
    rise then, so a lazy heap finds the same challenger as a search of all arms: the smallest stored key is computed anew,
    and if it rose the arm goes back.

    The first `spared` pulls go to an arm that looks bad on few pulls, by a key in which being told apart counts half: an
    unlucky best arm would otherwise wait for e^separation times its pulls.
    """
    n, means, spreads = len(seen.counts), seen.means, seen.spreads
    narrow, moved = narrow_pairs(leader, seen), seen.planned.copy()
    times = np.zeros(n, np.int64)
    keys, arms = np.empty(n - 1), np.empty(n - 1, np.int64)
    size, starved, least = 0, leader, np.inf
    for j in range(n):
        if j != leader:
            if narrow[j]:
                key, _ = _narrow_key(j, leader, moved, seen, rejected, epsilon)
            else:
                key, _ = _key(j, leader, moved, means, spreads, rejected, epsilon)
            keys[size], arms[size] = key, j
            flat = keys[size] + math.log(moved[j])
            if flat < least:
                starved, least = j, flat
            size += 1
    times[starved] += spared
    moved[starved] += spared
    for p in range(size // 2 - 1, -1, -1):
        _sift(keys, arms, p)
    for coin in coins[spared:]:
        while True:
            j = arms[0]
            if narrow[j]:
                key, part = _narrow_key(j, leader, moved, seen, rejected, epsilon)
            else:
                key, part = _key(j, leader, moved, means, spreads, rejected, epsilon)
            if not key > keys[0]:
                break
            keys[0] = key
            _sift(keys, arms, 0)
        pulled = leader if coin < part else j
        times[pulled] += 1
        moved[pulled] += 1.0
    return times


@compiled
def _sift(keys: FloatArray, arms: IntArray, place: int) -> None:
    """Let the entry at `place` sink to where the heap is in order."""
    key, arm, size = keys[place], arms[place], len(keys)
    while 2 * place + 1 < size:
        child = 2 * place + 1
        if child + 1 < size and keys[child + 1] < keys[child]:
            child += 1
        if keys[child] >= key:
            break
        keys[place], arms[place] = keys[child], arms[child]
        place = child
    keys[place], arms[place] = key, arm

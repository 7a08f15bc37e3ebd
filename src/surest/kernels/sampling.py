"""Where Wager pulls next, among few arms: keys, a heap, a batch. `algorithms.wager.sampling` says what for.

For arms of small variance the mean and the variance say too little: what a bet may win depends on where the rewards lie in
[0, 1]. So `transport` looks at the rewards themselves: the cost of the nearest laws with equal means. An arm gets half a
reward of the worst kind beside its own (0 for the leader, 1 for a challenger): few rewards must not look like certainty, or an
arm would be starved for ever.
"""

import numpy as np

from surest.core.protocol import BoolArray, FloatArray, IntArray
from surest.kernels import libm
from surest.kernels.bets import Rows
from surest.kernels.constants import HALF, NARROWEST, REJECTED

OPTIMISM = 4.5  # nats by which the sampling leader is judged optimistically
NARROW = 1.5
"""Where a Bernoulli arm of the same mean has so many times an arm's variance, the level between two arms is searched for."""
KNOWN = 10  # pulls from which on all rewards of an arm may be looked at, …
NARROW_GROWTH = 0.05
"""… which pays at first for moderately narrow arms too, and after many pulls only where the ratio is larger than `NARROWEST`."""
GOLDEN = (libm.sqrt(5.0) - 1.0) / 2.0
FAR = 100.0
"""Nats beyond which pairs are told apart alike: then those of few pulls come first, where ε is nearly all there is."""
SEARCH_STEPS = 40  # a search for bets ends after so many steps, …
LAST_MOVE = 1e-4  # … or with a step that is smaller than this, in proportion


class Seen:
    """What was seen of all arms."""

    def __init__(
        self, counts: FloatArray, planned: FloatArray, means: FloatArray, spreads: FloatArray, empirical: FloatArray,
        before: Rows, since: Rows,
    ) -> None:  # fmt: skip
        self.counts, self.planned, self.means, self.spreads = counts, planned, means, spreads
        self.empirical, self.before, self.since = empirical, before, since


def divergence(mean: float, spread: float, x: float) -> float:
    """Roughly the nats that one pull of an arm yields against the claim that its mean lies beyond x.

    For Bernoulli arms it is their Kullback-Leibler divergence. An arm of smaller variance is worth `spread` = μ(1 − μ)/σ²
    times as much, but no more than a constant one.
    """
    if x == mean:
        return 0.0
    ones = libm.log(mean / x) if mean > 0.0 else 0.0
    zeros = libm.log((1.0 - mean) / (1.0 - x)) if mean < 1.0 else 0.0
    kl, most = (mean * ones + (1.0 - mean) * zeros) * spread, zeros if x > mean else ones
    if kl <= 0.0 or most <= 0.0:
        return 0.0
    return 1.0 / (1.0 / kl + (1.0 - 1.0 / spread) / most)


def least_level(
    count: float, mean: float, spread: float, other_count: float, other_mean: float, other_spread: float, epsilon: float
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


def separation(
    count: float, mean: float, spread: float, other_count: float, other_mean: float, other_spread: float, epsilon: float
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
        return libm.inf, second / (first + second)  # ε is nearly all there is
    if max(spread, other_spread) > NARROW:
        x = least_level(count, mean, spread, other_count, other_mean, other_spread, epsilon)
    own, others = count * divergence(mean, spread, x), other_count * divergence(other_mean, other_spread, x + epsilon)
    if own + others <= 0.0:
        return 0.0, second / (first + second)
    return own + others, own / (own + others)


def separations(arm: int, counts: FloatArray, means: FloatArray, spreads: FloatArray, epsilon: float) -> FloatArray:
    """The separation of one arm from every other, which may be better by ε; infinite for itself."""
    made = np.empty(len(counts))
    result = made
    for j in range(len(counts)):
        result[j] = separation(counts[arm], means[arm], spreads[arm], counts[j], means[j], spreads[j], epsilon)[0]
    result[arm] = libm.inf
    return made


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


# --- by all rewards -----------------------------------------------------------------------------------------------------


def added(
    rows: Rows, arm: int, scale: float, x: float, bet: float, is_above: bool, slope: float, curve: float, spread: float
) -> tuple[float, float, float]:
    """Σ s/(1 + bet·s), Σ s²/(1 + bet·s)² and Σ 1/(1 + bet·s)² over an arm's rewards, added to what is given.

    s is what each is ahead of x.
    """
    for p in range(rows.size[arm]):
        won = rows.values[arm, p] - x if is_above else x - rows.values[arm, p]
        share = 1.0 / (1.0 + bet * won)
        weight = scale * rows.weights[arm, p]
        slope += weight * won * share
        curve += weight * (won * share) * (won * share)
        spread += weight * share * share
    return slope, curve, spread


def best_bet(
    arm: int, before: Rows, since: Rows, scale: float, x: float, is_above: bool, start: float
) -> tuple[float, float]:
    """The bet on an arm's mean being beyond x that would have won most, and how it moves with x."""
    low, high = 0.0, 1.0 / x if is_above else 1.0 / (1.0 - x)
    bet = start if low < start < high else 0.5 * high
    bend, worst = 0.0, -x if is_above else x - 1.0
    for _ in range(SEARCH_STEPS):
        share = 1.0 / (1.0 + bet * worst)
        slope, curve, spread = HALF * worst * share, HALF * worst * share * (worst * share), HALF * share * share
        slope, curve, spread = added(before, arm, scale, x, bet, is_above, slope, curve, spread)
        slope, curve, spread = added(since, arm, scale, x, bet, is_above, slope, curve, spread)
        bend = spread / curve
        if slope > 0.0:
            low = bet
        else:
            high = bet
        move = bet + slope / curve
        previous, bet = bet, move if low < move < high else 0.5 * (low + high)
        if abs(bet - previous) <= LAST_MOVE * bet:
            break
    return bet, bend


def gained(rows: Rows, arm: int, scale: float, x: float, bet: float, is_above: bool, total: float) -> float:
    """What a bet on an arm's rewards would have won, in nats, added to `total`."""
    for p in range(rows.size[arm]):
        won = rows.values[arm, p] - x if is_above else x - rows.values[arm, p]
        total += scale * rows.weights[arm, p] * libm.log1p(bet * won)
    return total


def gain(arm: int, before: Rows, since: Rows, scale: float, x: float, bet: float, is_above: bool) -> float:
    """What a bet would have won, in nats, with the reward of the worst kind."""
    total = HALF * libm.log1p(bet * (-x if is_above else x - 1.0))
    total = gained(before, arm, scale, x, bet, is_above, total)
    return max(gained(since, arm, scale, x, bet, is_above, total), 0.0)


def transport(
    leader: int, j: int, seen: Seen, leader_scale: float, scale: float, epsilon: float
) -> tuple[float, float, float, float]:
    """The nats by which the leader is seen not to be worse than arm j by ε, the leader's part, and the bets on both.

    Zero nats where it is not seen. The weights of both arms' rewards are multiplied by the scales. The sum of both gains
    is least where both bets, times the weights, are equal.
    """
    counts, means, before, since = seen.counts, seen.empirical, seen.before, seen.since
    ours, theirs = leader_scale * counts[leader] + HALF, scale * counts[j] + HALF
    high = leader_scale * counts[leader] * means[leader] / ours
    low = (scale * counts[j] * means[j] + HALF) / theirs - epsilon
    low, high = max(low, 1e-9), min(high, 1.0 - epsilon - 1e-9)
    if low >= high:
        return 0.0, 0.5, 0.0, 0.0
    x, bet, other = 0.5 * (low + high), 0.0, 0.0
    for _ in range(SEARCH_STEPS):
        bet, bend = best_bet(leader, before, since, leader_scale, x, True, bet)
        other, other_bend = best_bet(j, before, since, scale, x + epsilon, False, other)
        slope, curve = theirs * other - ours * bet, theirs * other_bend + ours * bend
        if slope < 0.0:
            low = x
        else:
            high = x
        move = x - slope / curve
        move = move if low < move < high else 0.5 * (low + high)
        # The bets suit this x: a search that ends here must not move on without them.
        if abs(slope) <= 0.01 * ours * bet or abs(move - x) <= LAST_MOVE * (high - low):
            break
        x = move
    own = gain(leader, before, since, leader_scale, x, bet, True)
    others = gain(j, before, since, scale, x + epsilon, other, False)
    if own + others <= 0.0:
        return 0.0, 0.5, 0.0, 0.0
    return own + others, own / (own + others), bet * x, other * (1.0 - x - epsilon)


def is_narrow(a: int, j: int, seen: Seen) -> bool:
    """Whether all rewards of arm j and of arm `a` should be looked at, and suffice for it."""
    known = min(seen.counts[j], seen.counts[a])
    least = min(NARROWEST, 1.0 + NARROW_GROWTH * known)
    return bool(max(seen.spreads[j], seen.spreads[a]) > least and known >= KNOWN)


def narrow_pairs(a: int, seen: Seen) -> BoolArray:
    """Where all rewards of an arm and of arm `a` should be looked at, and suffice for it."""
    made = np.empty(len(seen.counts), np.bool_)
    narrow = made
    for j in range(len(seen.counts)):
        narrow[j] = is_narrow(a, j, seen)
    return made


def key_of(
    j: int, leader: int, moved: FloatArray, seen: Seen, is_rejected: bool, epsilon: float
) -> tuple[float, float]:
    """How little arm j is told apart from the leader: the smallest comes first. Also the leader's part in it."""
    means, spreads = seen.means, seen.spreads
    apart, part = separation(moved[leader], means[leader], spreads[leader], moved[j], means[j], spreads[j], epsilon)
    return apart + libm.log(moved[j]) + (REJECTED if is_rejected else 0.0), part


def narrow_key(
    j: int, leader: int, moved: FloatArray, seen: Seen, is_rejected: bool, epsilon: float
) -> tuple[float, float]:
    """The same, by all rewards of both arms."""
    counts, spreads = seen.counts, seen.spreads
    apart, part, _bet, _other = transport(
        leader, j, seen, moved[leader] / counts[leader], moved[j] / counts[j], epsilon
    )
    if apart <= 0.0:  # by the variances of the two estimates
        first, second = moved[leader] * spreads[leader], moved[j] * spreads[j]
        part = second / (first + second)
    return apart + libm.log(moved[j]) + (REJECTED if is_rejected else 0.0), part


def best_bets(a: int, seen: Seen, epsilon: float, own: FloatArray, others: FloatArray) -> None:
    """Raise bets on arm `a` and against each other to those that would have won most so far, where an arm is narrow."""
    for j in range(len(own)):
        if j != a and is_narrow(a, j, seen):
            apart, _part, bet, other = transport(a, j, seen, 1.0, 1.0, epsilon)
            if apart > 0.0:
                own[j], others[j] = max(own[j], bet), max(others[j], other)


def plan(
    leader: int, seen: Seen, moved: FloatArray, rejected: BoolArray, epsilon: float, coins: FloatArray, spared: int,
    costs: FloatArray,
) -> IntArray:  # fmt: skip
    """How often to pull each arm in a batch of ``len(coins)`` pulls. `moved`, the counts to be, is used up.

    Where `costs` has the cost of a pull of each arm, evidence per cost counts: the parts are divided by the costs.

    Pull by pull: the challenger is the arm least told apart from the leader, and the leader or the challenger is pulled, as
    a coin says that is weighted by their parts in the separation. Counts move within the batch, means are held. Keys only
    rise then, so a lazy heap finds the same challenger as a search of all arms: the smallest stored key is computed anew,
    and if it rose the arm goes back.

    The first `spared` pulls go to an arm that looks bad on few pulls, by a key in which being told apart counts half: an
    unlucky best arm would otherwise wait for e^separation times its pulls.
    """
    n = len(seen.counts)
    made, narrow = np.zeros(n, np.int64), narrow_pairs(leader, seen)
    times, keys, arms = made, np.empty(n - 1), np.empty(n - 1, np.int64)
    size, starved, least = 0, leader, libm.inf
    for j in range(n):
        if j != leader:
            if narrow[j]:
                key, _part = narrow_key(j, leader, moved, seen, rejected[j], epsilon)
            else:
                key, _part = key_of(j, leader, moved, seen, rejected[j], epsilon)
            keys[size], arms[size] = key, j
            flat = key + libm.log(moved[j])
            if flat < least:
                starved, least = j, flat
            size += 1
    times[starved] += spared
    moved[starved] += spared
    for p in range(size // 2 - 1, -1, -1):
        sift(keys, arms, size, p)
    for at in range(spared, len(coins)):
        while True:
            j = arms[0]
            if narrow[j]:
                key, part = narrow_key(j, leader, moved, seen, rejected[j], epsilon)
            else:
                key, part = key_of(j, leader, moved, seen, rejected[j], epsilon)
            if not key > keys[0]:
                break
            keys[0] = key
            sift(keys, arms, size, 0)
        if len(costs) > 0:
            part = part * costs[j] / (part * costs[j] + (1.0 - part) * costs[leader])
        pulled = leader if coins[at] < part else j
        times[pulled] += 1
        moved[pulled] += 1.0
    return made


def sift(keys: FloatArray, arms: IntArray, size: int, place: int) -> None:
    """Let the entry at `place` of a heap of `size` sink to where the heap is in order."""
    key, arm = keys[place], arms[place]
    while 2 * place + 1 < size:
        child = 2 * place + 1
        if child + 1 < size and keys[child + 1] < keys[child]:
            child += 1
        if keys[child] >= key:
            break
        keys[place], arms[place] = keys[child], arms[child]
        place = child
    keys[place], arms[place] = key, arm


# --- pairs of an arm inside of a set and one outside of it --------------------------------------------------------------


def pair_separations(
    inside: IntArray, counts: FloatArray, means: FloatArray, spreads: FloatArray, epsilon: float
) -> FloatArray:
    """The separation of each arm inside from every arm: a row an arm inside; infinite from those inside."""
    made = np.empty((len(inside), len(counts)))
    result = made
    for row in range(len(inside)):
        i = inside[row]
        for j in range(len(counts)):
            result[row, j] = separation(counts[i], means[i], spreads[i], counts[j], means[j], spreads[j], epsilon)[0]
        for k in range(len(inside)):
            result[row, inside[k]] = libm.inf
    return made


def plan_pairs(
    inside: IntArray, outside: IntArray, moved: FloatArray, means: FloatArray, spreads: FloatArray,
    rejected: BoolArray, epsilon: float, coins: FloatArray,
) -> IntArray:  # fmt: skip
    """How often to pull each arm in a batch of ``len(coins)`` pulls. `moved`, the counts to be, is used up.

    Pull by pull: the pair with the smallest key is taken, and one of its arms is pulled, as a coin says that is weighted by
    their parts in the separation. Counts move within the batch, means are held. `rejected` has a row an arm inside.
    """
    made, rows, columns = np.zeros(len(moved), np.int64), len(inside), len(outside)
    times, keys, parts = made, np.empty((rows, columns)), np.empty((rows, columns))
    first = np.zeros(rows, np.int64)  # the place of the smallest key in each row
    for row in range(rows):
        for k in range(columns):
            keys[row, k], parts[row, k] = pair_key(
                inside[row], outside[k], moved, means, spreads, rejected[row, outside[k]], epsilon
            )
        first[row] = smallest(keys, row)
    for coin in coins:
        at = 0
        for row in range(1, rows):
            if keys[row, first[row]] < keys[at, first[at]]:
                at = row
        column = first[at]
        pulled = inside[at] if coin < parts[at, column] else outside[column]
        times[pulled] += 1
        moved[pulled] += 1.0
        if coin < parts[at, column]:
            for k in range(columns):
                keys[at, k], parts[at, k] = pair_key(
                    pulled, outside[k], moved, means, spreads, rejected[at, outside[k]], epsilon
                )
            first[at] = smallest(keys, at)
        else:
            for row in range(rows):
                keys[row, column], parts[row, column] = pair_key(
                    inside[row], pulled, moved, means, spreads, rejected[row, pulled], epsilon
                )
                if first[row] == column:  # a key rises with its arms' pulls: only this one may have lost its place
                    first[row] = smallest(keys, row)
    return made


def pair_key(
    i: int, j: int, moved: FloatArray, means: FloatArray, spreads: FloatArray, is_rejected: bool, epsilon: float
) -> tuple[float, float]:
    """How little arm i is told apart from arm j: the smallest comes first. Also arm i's part in it."""
    apart, part = separation(moved[i], means[i], spreads[i], moved[j], means[j], spreads[j], epsilon)
    apart = min(apart, FAR)
    return apart + 0.5 * libm.log(moved[i] * moved[j]) + (REJECTED if is_rejected else 0.0), part


def smallest(keys: FloatArray, row: int) -> int:
    """The place of the smallest key of a row, the first of equals."""
    place = 0
    for k in range(1, keys.shape[1]):
        if keys[row, k] < keys[row, place]:
            place = k
    return place

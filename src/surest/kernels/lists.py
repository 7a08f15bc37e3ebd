"""Bets on a shared list of items, in a random order: against each arm, on bars, on pairs, against sets of arms.

The modules of `evidence.lists` have the formulas and say what each wealth is evidence for.
"""

import numpy as np

from surest.core.protocol import BoolArray, FloatArray, IntArray
from surest.kernels import libm
from surest.kernels.constants import (
    CAP,
    HUGE,
    LEAD_WEIGHTS,
    LEADS,
    LEAST_LEAD,
    MEMORY,
    OPPONENTS,
    PRIOR,
    STEPS,
    TINY,
    TOLERANCE_ON_LISTS,
    WEIGHTS,
)

CLAIMS = 2  # of each arm: 0, that its mean is at least the lower bar; 1, that it is less than the upper one
LEAST_SHRINKAGE, MOST_SHRINKAGE = 8.0, 300.0
SWEEPS = 12
LEAST_ROOM = 1e-6  # what remains of a difference beside its prediction is bet on where it can lose more than this
BISECTIONS = 24  # of an interval's ends
EDGE = 1e-12  # a mean this close to 0 or 1 is tried first: at the end itself no bet has room


def bounded(wealth: float) -> float:
    """Wealth that a number can hold: what is too small is lost, what is too large is not counted; both are safe."""
    return 0.0 if wealth < TINY else min(wealth, HUGE)


# --- against each arm ---------------------------------------------------------------------------------------------------
class Bets:
    """Whom to bet on against one arm, and how much: room for what `bets_against` chooses."""

    def __init__(self) -> None:
        self.opponents, self.where = np.empty(OPPONENTS, np.int64), np.empty(OPPONENTS, np.int64)
        self.margins, self.stakes = np.empty(OPPONENTS), np.empty(OPPONENTS)
        self.gains, self.room = np.empty(OPPONENTS), np.empty(OPPONENTS)
        self.moments = np.empty((OPPONENTS, OPPONENTS))


def leading(play: IntArray, sums: FloatArray, top: IntArray) -> int:
    """Write the arms in play with the largest sums into `top`, by falling sum, the first of equals first; return how many."""
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


def shrinkage(
    play: IntArray, leader: int, plain: FloatArray, seen: IntArray, cross: FloatArray, squares: FloatArray, t: int
) -> float:
    """By how many items a mean difference is shrunk: half the variance of differences over the spread of the arms' means.

    Arms that lie far apart for their noise are taken at their word early; arms that lie close are not. The spread is that
    of all arms, those that are out with the means that they had. The first row of `cross` is the leader's.
    """
    if t < 2 or len(play) < 2:
        return MEMORY
    pooled = PRIOR / MEMORY
    for j in play:
        if j != leader:
            difference = (plain[leader] - plain[j]) / t
            pooled += max((squares[leader] - 2 * cross[0, j] + squares[j]) / t - difference * difference, 0.0)
    pooled /= len(play)
    mean, n = 0.0, len(plain)
    for j in range(n):
        mean += plain[j] / seen[j] / n
    spread = 0.0
    for j in range(n):
        spread += (plain[j] / seen[j] - mean) * (plain[j] / seen[j] - mean) / (n - 1)
    beyond = spread - pooled / (2 * t)
    if beyond <= pooled / (2 * MOST_SHRINKAGE):
        return MOST_SHRINKAGE
    return max(pooled / (2 * beyond), LEAST_SHRINKAGE)


def portfolio(bets: Bets, count: int) -> None:
    """The stakes λ ≥ 0 that maximise g'λ − λ'Mλ/2, scaled down where an item could take more than CAP of the wealth."""
    stakes = bets.stakes
    for i in range(count):
        stakes[i] = 0.0
    for _ in range(SWEEPS if count > 1 else 1):
        for i in range(count):
            rest = bets.gains[i]
            for k in range(count):
                if k != i:
                    rest -= bets.moments[i, k] * stakes[k]
            stakes[i] = max(rest / bets.moments[i, i], 0.0)
    used = 0.0
    for i in range(count):
        used += stakes[i] * bets.room[i]
    if used > CAP:
        for i in range(count):
            stakes[i] *= CAP / used


def bets_against(
    j: int, top: IntArray, sums: FloatArray, plain: FloatArray, cross: FloatArray, squares: FloatArray, t: int,
    left: float, shrink: float, least: float, bets: Bets,
) -> int:  # fmt: skip
    """Choose whom to bet on against arm j at the next item, and how much, from earlier items alone; return how many.

    `cross[x, y]` is Σ v_x·v_y for x the x-th arm of `top`. `left` is the weight of the items to come, infinite for the
    population. Nobody is bet on whose lead leaves j less than `least` to catch up.
    """
    count, where, opponents = 0, bets.where, bets.opponents
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
        opponents[count], where[count] = o, k
        bets.margins[count], bets.gains[count], bets.room[count] = margin, gain, 1 + margin
        count += 1
        if count == OPPONENTS:
            break
    for i in range(count):
        for k in range(i + 1):
            both = cross[where[i], opponents[k]] - cross[where[i], j] - cross[where[k], j] + squares[j]
            prior = PRIOR if i == k else PRIOR / 2
            bets.moments[i, k] = (both + prior) / (t + MEMORY)
            bets.moments[k, i] = bets.moments[i, k]
    portfolio(bets, count)
    return count


def settle(
    values: FloatArray, play: IntArray, top: IntArray, sums: FloatArray, plain: FloatArray, cross: FloatArray,
    squares: FloatArray, t: int, left: float, least: float, seen: IntArray, wealth: FloatArray, bets: Bets,
) -> None:  # fmt: skip
    """Place the bets against every arm in play by what was counted, then look at `values` (one per arm) and pay.

    Column 0 of `wealth` is the portfolio's, the others those of the fixed bets. Sums are brought up to date afterwards, by `add`.
    """
    shrink = shrinkage(play, top[0], plain, seen, cross, squares, t)
    for j in play:
        count = bets_against(j, top, sums, plain, cross, squares, t, left, shrink, least, bets)
        if count == 0:
            continue
        factor = 1.0
        for i in range(count):
            factor += bets.stakes[i] * (values[bets.opponents[i]] - values[j] - bets.margins[i])
        wealth[j, 0] = bounded(wealth[j, 0] * factor)
        surprise = values[bets.opponents[0]] - values[j] - bets.margins[0]
        stake = CAP / (1 + bets.margins[0])
        for k in range(STEPS):
            wealth[j, 1 + k] = bounded(wealth[j, 1 + k] * (1 + stake * surprise))
            stake /= 2


def add(
    values: FloatArray, weight: float, play: IntArray, slots: IntArray, sums: FloatArray, plain: FloatArray,
    squares: FloatArray, cross: FloatArray,
) -> None:  # fmt: skip
    """Bring the sums up to date with the values of a unit; `slots` are the rows of `cross` of the arms that have one."""
    for j in play:
        value = values[j]
        sums[j] += weight * value
        plain[j] += value
        squares[j] += value * value
        if slots[j] >= 0 and value != 0:
            for k in play:
                cross[slots[j], k] += value * values[k]


def products(arm: int, play: IntArray, scores: FloatArray, row: FloatArray) -> None:
    """Write the sums of an arm's scores times those of each arm in play into `row`."""
    row[:] = 0.0
    for s in range(len(scores)):
        own = scores[s, arm]
        if own != 0:
            for k in play:
                row[k] += own * scores[s, k]


def judge(
    play: IntArray, wealth: FloatArray, share: float, sums: FloatArray, slack: float, threshold: FloatArray,
    most: FloatArray, certain: BoolArray,
) -> bool:  # fmt: skip
    """Raise `most`, the largest share·wealth so far, mark arms that are behind by more than `slack`; is any arm out?"""
    best, out = -libm.inf, False
    for j in play:
        best = max(best, sums[j])
    for j in play:
        mixed = 0.0
        for k in range(1 + STEPS):
            mixed += WEIGHTS[k] * wealth[j, k]
        most[j] = max(most[j], share * mixed)
        if best - sums[j] > slack:
            certain[j] = True
            most[j] = libm.inf
        out = out or most[j] >= threshold[j]
    return out


def all_inside(values: FloatArray) -> bool:
    """Whether values lie in [0, 1], up to rounding: a mean of several may be 1 + 1e-16."""
    for value in values:  # noqa: SIM110
        if not -TOLERANCE_ON_LISTS <= value <= 1 + TOLERANCE_ON_LISTS:
            return False
    return True


# --- on bars ------------------------------------------------------------------------------------------------------------
def bet_on_bars(
    play: IntArray, values: FloatArray, t: int, used: float, total: float, population: bool, bars: FloatArray,
    ends: FloatArray, sums: FloatArray, plain: FloatArray, squares: FloatArray, wealth: FloatArray,
) -> None:  # fmt: skip
    """Place both bets on every arm of `play` by what was counted, then look at its value (one per arm) and pay.

    `bars` are the lower and the upper one, `ends` those of the values. Column 0 of `wealth` is that of the plug-in bet, the
    others those of fixed bets.
    """
    for j in play:
        for claim in range(CLAIMS):
            bar, sign = bars[claim], 1.0 - 2.0 * claim
            m = bar if population else (total * bar - sums[j]) / (total - used)
            room = sign * (m - ends[claim])  # the most that a value can fall behind
            if room <= TOLERANCE_ON_LISTS or sign * (m - ends[1 - claim]) >= 0:
                continue
            apart = sign * (values[j] - m)
            gain = sign * ((plain[j] - t * bar) / (t + MEMORY) + bar - m)
            second = (squares[j] - 2 * bar * plain[j] + t * bar * bar + PRIOR) / (t + MEMORY) + gain * gain
            stake = min(max(gain, 0.0) / second, CAP / room)
            wealth[j, claim, 0] = bounded(wealth[j, claim, 0] * (1 + stake * apart))
            stake = CAP / room
            for k in range(1, 1 + STEPS):
                wealth[j, claim, k] = bounded(wealth[j, claim, k] * (1 + stake * apart))
                stake /= 2


# --- on pairs of arms ---------------------------------------------------------------------------------------------------
def pair_wealth(
    i: int, j: int, gap: float, scores: FloatArray, units: int, weights: FloatArray, total: float, population: bool,
    wealth: FloatArray,
) -> float:  # fmt: skip
    """Q_ij at one gap after so many units: evidence that j is not better than i by more than that; infinite if it is certain."""
    steps = len(wealth)
    for k in range(steps):
        wealth[k] = 1.0 / steps
    lead, used = 0.0, 0.0
    for s in range(units):
        left = total - used
        apart = scores[s, i] - scores[s, j]
        room = 1.0 if population else (left - lead) / left  # at gap 0
        behind = gap if population else (lead + total * gap) / left  # −m
        if room <= TOLERANCE_ON_LISTS or behind >= 1:
            return libm.inf
        stake = CAP / room
        for k in range(steps):
            wealth[k] = bounded(wealth[k] * (1 + stake * (apart + behind)))
            stake /= 2
        lead += weights[s] * apart
        used += weights[s]
    if not population and total - used - lead - total * gap <= TOLERANCE_ON_LISTS * total:
        return libm.inf
    mixed = 0.0
    for k in range(steps):
        mixed += wealth[k]
    return mixed


def all_within(
    gap: float, contenders: IntArray, rivals: IntArray, missing: FloatArray, seen: IntArray, scores: FloatArray,
    weights: FloatArray, total: float, population: bool, wealth: FloatArray,
) -> bool:  # fmt: skip
    """Whether no contender is worse by more than the gap than any rival: `missing` is what each rival's pairs must have.

    `wealth` is room for one pair's.
    """
    for j in rivals:
        for i in contenders:
            if i != j and not (
                pair_wealth(i, j, gap, scores, seen[j], weights, total, population, wealth) >= missing[j]
            ):
                return False
    return True


def bet_on_pairs(
    a: int, epsilon: float, play: IntArray, scores: FloatArray, weights: FloatArray, total: float, population: bool,
    born: IntArray, start: int, used: float, sums: FloatArray, plain: FloatArray, squares: FloatArray,
    wealth: FloatArray,
) -> float:  # fmt: skip
    """Go through the units from `start` on, betting that no arm of `play` is better than arm `a` by more than ε.

    All arrays are of the pairs with `a`, one entry per arm; they are brought up to date. Returns the weight used. Column 0 of
    `wealth` is that of the plug-in bet, the others, if any, those of fixed bets.
    """
    least = TOLERANCE_ON_LISTS * total
    for s in range(start, len(scores)):
        left = total - used
        for j in play:
            if j == a:
                continue
            slack = left - sums[j] - total * epsilon if not population else 1 - epsilon
            unit = left if not population else 1.0
            if slack <= least and not population:
                for k in range(wealth.shape[1]):
                    wealth[j, k] = libm.inf  # j cannot get further ahead than ε
                continue
            d = scores[s, a] - scores[s, j]
            room = slack / unit  # 1 + m
            most = CAP / room if room > 0 else libm.inf
            if s >= born[j] and s >= born[a] and room < 2:
                surprise = d + 1 - room
                gain = plain[j] / (s + MEMORY) + 1 - room
                stake = max(gain, 0.0) / ((squares[j] + PRIOR) / (s + MEMORY) + gain * gain)
                wealth[j, 0] = bounded(wealth[j, 0] * (1 + min(stake, most) * surprise))
                stake = most
                for k in range(1, wealth.shape[1]):
                    wealth[j, k] = bounded(wealth[j, k] * (1 + stake * surprise))
                    stake /= 2
            sums[j] += weights[s] * d
            plain[j] += d
            squares[j] += d * d
        used += weights[s]
    return used


# --- intervals ----------------------------------------------------------------------------------------------------------
def bets_of(path: FloatArray, level: float, bets: FloatArray) -> None:
    """Write the bets for an interval, each from earlier values alone: those of Waudby-Smith and Ramdas 2024, equation 26."""
    total, squares = 0.0, 0.25
    for s in range(len(path)):
        bets[s] = libm.sqrt(2 * level / (squares * libm.log(s + 2.0)))
        total += path[s]
        apart = path[s] - (0.5 + total) / (s + 2)
        squares += apart * apart


def log_wealth(
    path: FloatArray, weights: FloatArray, total: float, mean: float, side: float, bets: FloatArray
) -> float:
    """The evidence that the mean is above (`side` 1) or below (−1) a candidate. `total` is infinite for the population.

    It falls (rises) with the candidate: a bet does not depend on it, but for a cap under which it still does.
    """
    logs, wealth, used, seen = 0.0, 1.0, 0.0, 0.0
    for s in range(len(path)):
        m = (total * mean - seen) / (total - used) if total < libm.inf else mean
        room = m if side > 0 else 1 - m
        if room > 0:
            wealth *= 1 + min(bets[s], CAP / room) * side * (path[s] - min(max(m, 0.0), 1.0))
        if not 1e-100 < wealth < 1e100:
            logs += libm.log(wealth)
            wealth = 1.0
        used += weights[s]
        seen += weights[s] * path[s]
    return logs + libm.log(wealth)


def interval(
    path: FloatArray, weights: FloatArray, total: float, alpha: float, bets: FloatArray
) -> tuple[float, float]:
    """The means on the list that values in [0, 1] on its first items do not refute, each side at α/2. `bets` is room."""
    level = libm.log(2 / alpha)
    bets_of(path, level, bets)
    least, most = 0.0, 1.0
    if total < libm.inf:
        sure, used = 0.0, 0.0
        for s in range(len(path)):
            sure += weights[s] * path[s]
            used += weights[s]
        least, most = sure / total, min((sure + max(total - used, 0.0)) / total, 1.0)
        if most - least <= TOLERANCE_ON_LISTS:
            return least, most
    low = refuted_end(path, weights, total, most, least, max(least, EDGE), 1.0, level, bets)
    high = refuted_end(path, weights, total, least, most, min(most, 1 - EDGE), -1.0, level, bets)
    return low, high


def refuted_end(
    path: FloatArray, weights: FloatArray, total: float, inside: float, outside: float, first: float, side: float,
    level: float, bets: FloatArray,
) -> float:  # fmt: skip
    """The end of an interval: the last mean from `outside` on, where `first` is tried instead, that is refuted."""
    if not log_wealth(path, weights, total, first, side, bets) >= level:
        return outside
    for _ in range(BISECTIONS):
        middle = (inside + outside) / 2
        if log_wealth(path, weights, total, middle, side, bets) >= level:
            outside = middle
        else:
            inside = middle
    return outside


# --- one arm and another ------------------------------------------------------------------------------------------------
def predict(
    path: FloatArray, counted: int, start: int, end: int, most: FloatArray, least: FloatArray, features: FloatArray,
    sums: FloatArray, room: FloatArray, told: FloatArray,
) -> None:  # fmt: skip
    """Write predictions for the items from `start` to `end` into `told`, by ridge regression on the items before `start`.

    `path` has a candidate's differences from a baseline, whose scores are known to lie from `least` to `most`; a prediction is
    cut to what the difference can be. `features` has one row per item. `sums` are the normal equations of the first `counted`
    items, and are brought up to date. A row of `told`: the prediction for the item, the sum of those for it and all later
    ones, and by how much a difference, or its negative, can at most fall short of its prediction on any of these. `room` has
    the shape of `sums`.
    """
    size = features.shape[1]
    for s in range(counted, start):
        for i in range(size):
            for k in range(size):
                sums[i, k] += features[s, i] * features[s, k]
            sums[i, size] += features[s, i] * path[s]
    for i in range(size):
        for k in range(size + 1):
            room[i, k] = sums[i, k]
    for i in range(size):  # Gauss; the ridge keeps pivots away from 0
        for j in range(i + 1, size):
            factor = room[j, i] / room[i, i]
            for k in range(i, size + 1):
                room[j, k] -= factor * room[i, k]
    for i in range(size - 1, -1, -1):
        for k in range(i + 1, size):
            room[i, size] -= room[i, k] * room[k, size]
        room[i, size] /= room[i, i]
    total, up, down = 0.0, 0.0, 0.0
    for s in range(len(most) - 1, start - 1, -1):
        guess = 0.0
        for k in range(size):
            guess += features[s, k] * room[k, size]
        guess = min(max(guess, -most[s]), 1 - least[s])
        total += guess
        up, down = max(up, guess + most[s]), max(down, 1 - least[s] - guess)
        if s < end:
            told[s, 0], told[s, 1], told[s, 2], told[s, 3] = guess, total, up, down


def bet_above(
    path: FloatArray, told: FloatArray, start: int, total: float, mean: float, threshold: float, share: float,
    state: FloatArray,
) -> tuple[int, float]:  # fmt: skip
    """After how many values "the mean of all `total` of them is at most `mean`" is refuted, −1 if it is not; and the wealth then.

    Values lie in [−1, 1]. `total` is infinite for a population. `share` of the wealth bets on the values themselves; the rest on
    what remains of them beside their predictions, if `told` (see `predict`) has any. Each is spread over several leads by which
    the mean may be larger: multiples of what half of a list can show, or of how far `mean` is below "no difference", as a change
    rarely makes more of a difference than the margin that people choose for it. `state` is what it was after `start` values.
    """
    first, both, predicted = len(LEADS), 2 * len(LEADS), len(told) > 0
    if start == 0:
        state[:both], state[both:] = 1.0, 0.0
    lead = max(-mean, LEAST_LEAD, 2 / libm.sqrt(total))
    n, mixed = len(path), share + (1 - share) * predicted
    for t in range(start, n + 1):
        room, slack, left, gap = 1 + mean, 1.0, 1.0, lead  # room is 1 + m
        if total < libm.inf:
            left = total - t
            slack = total * mean - state[both] + left
            if slack < -TOLERANCE_ON_LISTS * total:
                return t, libm.inf
            room = slack / max(left, 1.0)
            gap = lead * total / max(left, 1.0)  # of the items to come, if the whole list's mean is larger by the lead
        if t == n:
            break
        if slack > TOLERANCE_ON_LISTS and 0 < room < 2:
            bet(state, 0, path[t] + 1 - room, room, (state[both + 1] + PRIOR) / (t + MEMORY), gap)
        if predicted:
            rest = path[t] - told[t, 0]
            m = (total * mean - state[both] - told[t, 1]) / left
            if told[t, 2] + m > LEAST_ROOM:
                bet(state, first, rest - m, told[t, 2] + m, (state[both + 2] + PRIOR) / (t + MEMORY), gap)
            state[both + 2] += rest * rest
        mixed = 0.0
        for k in range(first):
            mixed += LEAD_WEIGHTS[k] * (share * state[k] + (1 - share) * predicted * state[first + k])
        if mixed >= threshold:
            return t + 1, mixed
        for k in range(both if predicted else first):
            state[k] = bounded(state[k])
        state[both] += path[t]
        state[both + 1] += path[t] * path[t]
    return -1, mixed


def bet(wealth: FloatArray, at: int, surprise: float, room: float, second: float, gap: float) -> None:
    """Stake as if the mean were larger than it may be, by each lead times `gap`, and pay: a value is larger by `surprise`.

    `at` is where the wealth begins. A value is at least by −`room` larger; `second` is the second moment of values."""
    for k in range(len(LEADS)):
        gain = LEADS[k] * gap
        wealth[at + k] *= 1 + min(gain / (second + gain * gain), CAP / room) * surprise


# --- against sets of arms -----------------------------------------------------------------------------------------------
def boundary(
    sets: IntArray, alive: IntArray, rank: IntArray, weakest: IntArray, strongest: IntArray, inside: IntArray
) -> None:
    """For each set that is alive: the ranks of its weakest undecided member, and of the strongest undecided other arm.

    `rank` is each arm's place among the undecided ones, the best 0; −1 for an arm that is decided. `inside`, zeros with a
    place more than there are arms, is room.
    """
    for k in range(len(alive)):
        last, first = -1, 0
        for p in range(sets.shape[1]):
            place = rank[sets[alive[k], p]]
            if place >= 0:
                inside[place] = 1
                last = max(last, place)
        while inside[first] == 1:
            first += 1
        weakest[k], strongest[k] = last, first
        for p in range(sets.shape[1]):
            place = rank[sets[alive[k], p]]
            if place >= 0:
                inside[place] = 0


def pay(alive: IntArray, strongest: IntArray, weakest: IntArray, factors: FloatArray, wealth: FloatArray) -> None:
    """Multiply the wealths against every set that is alive by the factors of its pair: (stronger, weaker, bet)."""
    for k in range(len(alive)):
        for bet in range(wealth.shape[1]):
            factor = factors[strongest[k], weakest[k], bet]
            wealth[alive[k], bet] = bounded(wealth[alive[k], bet] * factor)


def all_doubted(
    sets: IntArray, alive: IntArray, wealth: FloatArray, named: IntArray, needed: FloatArray, inside: IntArray
) -> bool:
    """Whether each set that is alive has, for every arm i named that it lacks and every j that it has instead, the wealth
    that the pair (i, j) needs. `inside`, two rows of zeros with a place for each arm, is room."""
    for arm in named:
        inside[1, arm] = 1
    for s in alive:
        for p in range(sets.shape[1]):
            inside[0, sets[s, p]] = 1
        for i in named:
            if inside[0, i] == 0:
                for p in range(sets.shape[1]):
                    j = sets[s, p]
                    if not (inside[1, j] == 1 or wealth[s] >= needed[i, j]):
                        return False
        for p in range(sets.shape[1]):
            inside[0, sets[s, p]] = 0
    return True

"""Paired bets: an account against every arm, which wins when another arm does better in the same request.

Before a request each of its arms j gets an opponent o, another arm of it, a level x and two stakes A and B. With m_o and m_j
pulls of both in the request, m_o·A = m_j·B, and j's account is multiplied by

    1 + A·(X − x)  for each reward X of o,    1 − B·(Y − x)  for each reward Y of j.

While no arm is better than j, nobody can expect to win, wherever x is. docs/wager.md has the proof.
"""

import numpy as np

from surest.core.protocol import BoolArray, FloatArray, IntArray
from surest.kernels import libm
from surest.kernels.constants import (
    GAP_PRIOR,
    GAPS,
    LARGEST_STAKE,
    LEAST_LEVEL,
    LEAST_RATIO,
    MANY_GAPS,
    POOLED,
    POOLED_COINS,
    POOLED_LONG,
    RATIOS,
    RHO,
    ROUNDED,
)


def place(
    arms: IntArray, times: IntArray, counts: FloatArray, sums: FloatArray, squares: FloatArray, is_open: BoolArray
) -> tuple[IntArray, FloatArray, FloatArray]:
    """The opponents of the arms of a request, the levels and the stakes B; no stake (0) against arms that are not open.

    All follows from the rewards before the request. The opponent is the arm of the largest mean among the others. The gap
    between both may be any of `GAPS`, more or less likely by their means; the stake suits these gaps as likely as they are.

    >>> arms, sums = np.arange(3), np.array([35.0, 30.0, 10.0])
    >>> opponents, levels, stakes = place(arms, np.ones(3, np.int64), np.full(3, 50.0), sums, sums, np.ones(3, bool))
    >>> opponents, levels.round(2), stakes.round(2)
    (array([1, 0, 0]), array([0.65, 0.65, 0.45]), array([0.08, 0.14, 0.91]))
    """
    opponents_made = np.full(len(arms), -1, np.int64)
    levels_made, stakes_made = np.zeros(len(arms)), np.zeros(len(arms))
    opponents, levels, stakes = opponents_made, levels_made, stakes_made
    first, second = -1, -1
    for k in range(len(arms)):
        a = arms[k]
        if counts[a] == 0.0:
            continue
        if first < 0 or sums[a] / counts[a] > sums[arms[first]] / counts[arms[first]]:
            first, second = k, first
        elif second < 0 or sums[a] / counts[a] > sums[arms[second]] / counts[arms[second]]:
            second = k
    if second < 0:
        return opponents_made, levels_made, stakes_made
    common = common_variance(counts, sums, squares)
    for k in range(len(arms)):
        other = second if k == first else first
        j, o = arms[k], arms[other]
        if counts[j] == 0.0 or not is_open[j]:
            continue
        coins = sums[j] == squares[j] and sums[o] == squares[o]
        pooled = max(POOLED_COINS * len(counts), POOLED) if coins else POOLED
        own = variance(counts[j], sums[j], squares[j], common, pooled)
        its = variance(counts[o], sums[o], squares[o], common, pooled)
        rivals = 0.0  # how many others might as well lead: the largest of several means is often a lucky one
        for place_of in range(len(arms)):
            i = arms[place_of]
            if counts[i] > 0.0 and i != o and i != j:
                ahead = sums[o] / counts[o] - sums[i] / counts[i]
                spread = its / counts[o] + variance(counts[i], sums[i], squares[i], common, pooled) / counts[i]
                rivals += libm.exp(-0.5 * ahead * ahead / spread)
        error = (own / counts[j] + its / counts[o]) * (1.0 + 0.5 * libm.log1p(rivals))
        gap, square = likely_gap(sums[o] / counts[o] - sums[j] / counts[j], error, libm.sqrt(own + its))
        ratio = 1.0 * times[other] / times[k]
        low, high = sums[j] / counts[j], sums[o] / counts[o]
        coins = coins and sums[o] < counts[o]  # one that never failed may be certain, and is no coin then
        level = inside((ratio * high + low) / (1.0 + ratio) if coins else (high + ratio * low) / (1.0 + ratio))
        opponents[k], levels[k], stakes[k] = o, level, suited(gap, square, its, own, ratio, level, coins)
    return opponents_made, levels_made, stakes_made


def suited(gap: float, square: float, its: float, own: float, ratio: float, level: float, coins: bool) -> float:
    """The stake B against an arm of variance `own`, where its opponent is pulled `ratio` times as often.

    Where all rewards are 0 or 1 (`coins`), the level is the mean of both arms' rewards, and the denominator below is their
    variance around it, times 1 + 1/ratio: the bets are those of the likelihood ratio. Other rewards have the level and the
    stake at which the second moment of what is won is smallest.
    """
    best = gap / ((its + own / ratio if coins else its / ratio + own) + square / (1.0 + ratio))
    return min(best, min(LARGEST_STAKE / (1.0 - level), ratio * LARGEST_STAKE / level))


def leader_ratio(
    leader: int, closest: int, others: float, counts: FloatArray, sums: FloatArray, squares: FloatArray
) -> float:
    """How many times as often as each of the others to pull the leader: what tells it from the closest one soonest.

    `others` is what a pull of each of them costs together, in pulls of the leader: their number, where all cost the same.

    >>> counts, ones = np.full(2, 50.0), np.array([49.0, 45.0])
    >>> round(leader_ratio(0, 1, 1, counts, ones, ones), 2), round(leader_ratio(0, 1, 1, counts, ones, ones**2 / 50), 2)
    (1.0, 5.66)
    """
    common = common_variance(counts, sums, squares)
    coins = sums[closest] == squares[closest] and sums[leader] == squares[leader]
    pooled = max(POOLED_COINS * len(counts), POOLED) if coins else POOLED
    own = variance(counts[closest], sums[closest], squares[closest], common, pooled)
    its = variance(counts[leader], sums[leader], squares[leader], common, pooled)
    low, high = sums[closest] / counts[closest], sums[leader] / counts[leader]
    gap, square = likely_gap(high - low, own / counts[closest] + its / counts[leader], libm.sqrt(own + its))
    own = variance(counts[closest], sums[closest], squares[closest], common, POOLED_LONG)
    its = variance(counts[leader], sums[leader], squares[leader], common, POOLED_LONG)
    bottom = max(0.5 * (low + high - gap), 0.5 / (counts[closest] + 1.0))
    top = min(0.5 * (low + high + gap), 1.0 - 0.5 / (counts[leader] + 1.0))
    ratio, best, found = LEAST_RATIO, -libm.inf, 1.0
    for _ in range(RATIOS):
        above, below = gap * ratio / (1.0 + ratio), gap / (1.0 + ratio)
        if coins:
            level = (ratio * top + bottom) / (1.0 + ratio)
            rate = ratio * divergence(top, level) + divergence(bottom, level)
        else:
            stake = suited(gap, square, its, own, ratio, inside(0.5 * (low + high + gap) - above), False)
            rate = ratio * grown(stake / ratio, above, its) + grown(stake, below, own)
        if rate / (ratio + others) > best:
            best, found = rate / (ratio + others), ratio
        ratio *= RHO
    return found


def divergence(p: float, q: float) -> float:
    """The nats that the likelihood ratio of coins p and q wins on a toss of the first."""
    return p * libm.log(p / q) + (1.0 - p) * libm.log((1.0 - p) / (1.0 - q))


def grown(stake: float, ahead: float, spread: float) -> float:
    """Roughly the nats that a stake wins on a reward that is ahead of the level by so much, with such a variance."""
    factor = 1.0 + stake * ahead
    return libm.log(factor) - 0.5 * (stake / factor) * (stake / factor) * spread


def inside(level: float) -> float:
    """A level that is not at an end, where no stake has room."""
    return min(max(level, LEAST_LEVEL), 1.0 - LEAST_LEVEL)


def common_variance(counts: FloatArray, sums: FloatArray, squares: FloatArray) -> float:
    """The variance of all arms' rewards around their arms' means, with a pseudo-reward that is half 0, half 1."""
    scatter, freedom = 0.25, 1.0
    for i in range(len(counts)):
        if counts[i] > 0.0:
            scatter += max(squares[i] - sums[i] * sums[i] / counts[i], 0.0)
            freedom += counts[i] - 1.0
    return scatter / freedom


def variance(count: float, total: float, squares: float, common: float, weight: float) -> float:
    """An arm's variance, as if it had `weight` rewards more, of the variance that is common to all arms."""
    return (max(squares - total * total / count, 0.0) + weight * common) / (count + weight)


def likely_gap(gap: float, error: float, unit: float) -> tuple[float, float]:
    """The mean of a gap and of its square, given one that was seen with a variance of `error`, and that it is positive."""
    top = -libm.inf
    for k in range(MANY_GAPS):
        away = gap - unit * GAPS[k]
        top = max(top, GAP_PRIOR[k] - away * away / (2.0 * error))
    total, mean, square = 0.0, 0.0, 0.0
    for k in range(MANY_GAPS):
        one = unit * GAPS[k]
        part = libm.exp(GAP_PRIOR[k] - (gap - one) * (gap - one) / (2.0 * error) - top)
        total += part
        mean += part * one
        square += part * one * one
    return mean / total, square / total


def settle(
    accounts: FloatArray, arms: IntArray, times: IntArray, opponents: IntArray, levels: FloatArray, stakes: FloatArray,
    rewards: FloatArray,
) -> None:  # fmt: skip
    """Pay out, into the logarithms of the accounts: `rewards` are those of a request, arm after arm.

    What rounding may have added is taken off.
    """
    begin = 0
    for k in range(len(arms)):
        if stakes[k] > 0.0:
            other, its_begin = 0, 0
            while arms[other] != opponents[k]:
                its_begin += times[other]
                other += 1
            many = times[k] + times[other]
            on_it = stakes[k] * times[k] / times[other]
            log, moved = paid(rewards, begin, times[k], -stakes[k], levels[k])
            more, more_moved = paid(rewards, its_begin, times[other], on_it, levels[k])
            moved += more_moved + stakes[k]  # that both stakes are in proportion is rounded, too
            accounts[arms[k]] += log + more - ROUNDED * (many * moved + abs(accounts[arms[k]]))
        begin += times[k]


def paid(rewards: FloatArray, begin: int, many: int, stake: float, level: float) -> tuple[float, float]:
    """Σ log(1 + stake·(X − level)) over some rewards, and the sum that bounds its rounding."""
    log, moved = 0.0, 0.0
    for p in range(begin, begin + many):
        won = stake * (rewards[p] - level)
        step = libm.log1p(won)
        log += step
        moved += abs(step) + abs(won) / (1.0 + won)
    return log, moved

"""Paired bets: an account against every arm, which wins when another arm does better in the same request.

Before a request each of its arms j gets an opponent o, another arm of it, and a stake λ. The rewards of both, in the order in
which they were asked for, are cut into as many groups as the arm of fewer pulls has pulls, and j's account is multiplied by

    1 + λ·(mean of o's group − mean of j's group)

for each. While no arm is better than j, nobody can expect to win. docs/wager.md has the proof.
"""

import numpy as np

from surest.core.protocol import BoolArray, FloatArray, IntArray
from surest.kernels import libm
from surest.kernels.constants import GAP_PRIOR, GAPS, LARGEST_STAKE, MANY_GAPS, POOLED, ROUNDED


def place(
    arms: IntArray, times: IntArray, counts: FloatArray, sums: FloatArray, squares: FloatArray, is_open: BoolArray
) -> tuple[IntArray, FloatArray]:
    """The opponents of the arms of a request, and the stakes against them; none (0) against arms that are not open.

    All follows from the rewards before the request. The opponent is the arm of the largest mean among the others. The gap
    between both may be any of `GAPS`, more or less likely by their means; the stake suits these gaps as likely as they are.

    >>> arms, sums = np.arange(3), np.array([35.0, 30.0, 10.0])
    >>> place(arms, np.ones(3, np.int64), np.full(3, 50.0), sums, sums, np.ones(3, bool))
    (array([1, 0, 0]), array([0.06481686, 0.11744577, 0.76611859]))
    """
    opponents_made, stakes_made = np.full(len(arms), -1, np.int64), np.zeros(len(arms))
    opponents, stakes = opponents_made, stakes_made
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
        return opponents_made, stakes_made
    scatter, freedom = 0.25, 1.0  # with a pseudo-reward that is half 0, half 1
    for i in range(len(counts)):
        if counts[i] > 0.0:
            scatter += scattered(counts[i], sums[i], squares[i])
            freedom += counts[i] - 1.0
    pooled = POOLED * scatter / freedom
    for k in range(len(arms)):
        other = second if k == first else first
        j, o = arms[k], arms[other]
        if counts[j] == 0.0 or not is_open[j]:
            continue
        groups = min(times[k], times[other])
        own = (scattered(counts[j], sums[j], squares[j]) + pooled) / (counts[j] + POOLED)
        its = (scattered(counts[o], sums[o], squares[o]) + pooled) / (counts[o] + POOLED)
        gap, error = sums[o] / counts[o] - sums[j] / counts[j], own / counts[j] + its / counts[o]
        mean, square = likely_gap(gap, error, libm.sqrt(own + its))
        variance = groups * (own / times[k] + its / times[other])
        opponents[k], stakes[k] = o, min(mean / (variance + square), LARGEST_STAKE)
    return opponents_made, stakes_made


def scattered(count: float, total: float, squares: float) -> float:
    """Σ (X − mean)² of an arm."""
    return max(squares - total * total / count, 0.0)


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
    accounts: FloatArray, arms: IntArray, times: IntArray, opponents: IntArray, stakes: FloatArray, rewards: FloatArray
) -> None:
    """Pay out, into the logarithms of the accounts: `rewards` are those of a request, arm after arm, as they were asked for.

    What rounding may have added is taken off.
    """
    begin = 0
    for k in range(len(arms)):
        if stakes[k] > 0.0:
            other, its_begin = 0, 0
            while arms[other] != opponents[k]:
                its_begin += times[other]
                other += 1
            groups, log, moved = min(times[k], times[other]), 0.0, 0.0
            for g in range(groups):
                won = stakes[k] * (
                    group_mean(rewards, its_begin, times[other], g, groups)
                    - group_mean(rewards, begin, times[k], g, groups)
                )
                step = libm.log1p(won)
                log += step
                moved += abs(step) + abs(won)
            accounts[arms[k]] += log - ROUNDED * (groups * moved + abs(accounts[arms[k]]))
        begin += times[k]


def group_mean(rewards: FloatArray, begin: int, many: int, g: int, groups: int) -> float:
    """The mean of the g-th of so many groups of neighbouring rewards, of sizes that differ by one at most."""
    low, high = begin + g * many // groups, begin + (g + 1) * many // groups
    total = 0.0
    for p in range(low, high):
        total += rewards[p]
    return total / (high - low)

"""Rules of published algorithms that decide pull by pull, and the loop that runs one of them on rewards drawn beforehand.

A rule names the next arms in ``state.pick`` and returns how many they are, 0 to stop. Its settings are in ``state.settings``, in
the order that its docstring says. `lab.rivals` has what they are, and whose.
"""

import numpy as np

from surest.core.protocol import FloatArray, IntArray
from surest.kernels import libm
from surest.kernels.lab import capital, divergence, rules, top_two, tracking
from surest.kernels.lab.constants import (
    ASKED,
    BETTING_RACING,
    CHOSEN,
    EB_TC_EPSILON,
    EPOCH_POWER,
    EPOCH_RATIO,
    KL_LUCB,
    KL_RACING,
    LEADER,
    LIL_KL_UCB,
    LIL_UCB,
    LUCB,
    PEAK,
    PEEKING_Z_TEST,
    REFILL,
    SPENT,
    STOPPED,
    SUCCESSIVE_ELIMINATION,
    TOP_TWO,
    TOTAL,
    TRACK_AND_STOP,
    UCB_E,
    VARIANCE,
)
from surest.kernels.lab.rules import Views


def decide(rule: int, state: Views) -> int:
    """What a rule decides: how many arms it has put into ``state.pick``, 0 to stop. At first each arm is pulled."""
    if state.marks[TOTAL] == 0:
        return rules.everyone(state)
    if rule == LUCB:
        return lucb(state)
    if rule == KL_LUCB:
        return kl_lucb(state)
    if rule == LIL_KL_UCB:
        return lil_kl_ucb(state)
    if rule == LIL_UCB:
        return lil_ucb(state)
    if rule == KL_RACING:
        return kl_racing(state)
    if rule == SUCCESSIVE_ELIMINATION:
        return successive_elimination(state)
    if rule == TRACK_AND_STOP:
        return tracking.track_and_stop(state)
    if rule == TOP_TWO:
        return top_two.top_two(state)
    if rule == EB_TC_EPSILON:
        return eb_tc_epsilon(state)
    if rule == UCB_E:
        return ucb_e(state)
    if rule == BETTING_RACING:
        return capital.betting_racing(state)
    if rule == PEAK:
        return capital.peak(state)
    if rule == PEEKING_Z_TEST:
        return peeking_z_test(state)
    return ugape(state)


def advance(
    rule: int, state: Views, rewards: FloatArray, used: IntArray, drawn: IntArray, progress: IntArray, log: IntArray,
) -> int:  # fmt: skip
    """Decide and consume rewards until it stops, the budget is spent, or an arm has none left.

    `progress` holds: arms picked and not yet pulled, the budget, rounds, the arm that needs rewards. `log`, unless
    empty, receives the arms in the order in which they were pulled.
    """
    while True:
        asked = progress[0]
        if asked == 0:
            asked = decide(rule, state)
            if asked == 0:
                return STOPPED
            state.marks[ASKED] = asked
            progress[0] = asked
            if state.marks[TOTAL] + asked > progress[1]:
                return SPENT
        for i in range(asked):
            if used[state.pick[i]] == drawn[state.pick[i]]:
                progress[3] = state.pick[i]
                return REFILL
        for i in range(asked):
            arm = state.pick[i]
            state.fresh[i] = rewards[arm, used[arm]]
            used[arm] += 1
            if len(log) > 0:
                log[state.marks[TOTAL] + i] = arm
        rules.absorb(state)
        progress[0] = 0
        progress[2] += 1


def lucb(state: Views) -> int:
    """LUCB1. Settings: ln(1.25·n/δ), ε, m."""
    log_inverse = state.settings[0] + 4 * libm.log(state.marks[TOTAL])  # ln((5/4)·n·t⁴/δ)
    rules.empirical_top(state, int(state.settings[2]))
    weakest, challenger, lower, top = -1, -1, libm.inf, -1.0
    for arm in range(len(state.counts)):
        mean, radius = state.sums[arm] / state.counts[arm], divergence.hoeffding(state.counts[arm], log_inverse)
        chosen = state.memory[CHOSEN, arm] > 0
        if chosen and mean - radius < lower:
            weakest, lower = arm, mean - radius
        if not chosen and mean + radius > top:
            challenger, top = arm, mean + radius
    state.pick[0], state.pick[1] = weakest, challenger
    return 0 if top - lower <= state.settings[1] else 2


def kl_lucb(state: Views) -> int:
    """KL-LUCB. Settings: those of the rate (`rules.rate_of`), ε, m."""
    rate = rules.rate_of(state)
    rules.empirical_top(state, int(state.settings[3]))
    weakest, challenger = least_sure(state, rate), most_optimistic(state, rate)
    upper = divergence.kl_upper(state.sums[challenger] / state.counts[challenger], rate / state.counts[challenger])
    state.pick[0], state.pick[1] = weakest, challenger
    mean, count = state.sums[weakest] / state.counts[weakest], state.counts[weakest]
    return 0 if divergence.surely_above(mean, rate / count, upper - state.settings[2]) else 2


def least_sure(state: Views, rate: float) -> int:
    """Of the arms chosen that with the least lower bound, one at random where several have it."""
    if state.settings[3] == 1:
        return int(state.marks[LEADER])
    weakest, least, ties = -1, 2.0, 1
    for arm in range(len(state.counts)):
        if state.memory[CHOSEN, arm] == 0:
            continue
        lower = divergence.kl_lower(state.sums[arm] / state.counts[arm], rate / state.counts[arm])
        if lower < least:
            weakest, least, ties = arm, lower, 1
        elif lower == least:
            ties += 1
            if rules.random_below(state, ties) == 0:
                weakest = arm
    return weakest


def most_optimistic(state: Views, rate: float) -> int:
    """Of the other arms that with the largest upper bound, one at random where several have it.

    A bound costs several logarithms; that an arm's bound is not above the largest so far is seen from two.
    """
    best, top, ties, n = -1, -1.0, 1, len(state.counts)
    first = state.pick[1] if state.marks[TOTAL] > n else 0  # last time's challenger often is this time's
    for i in range(n):
        arm = first + i if first + i < n else first + i - n
        if state.memory[CHOSEN, arm] > 0:
            continue
        mean, count = state.sums[arm] / state.counts[arm], state.counts[arm]
        if mean < top < 1 and count * divergence.kl(mean, top) > rate:
            continue
        upper = divergence.kl_upper(mean, rate / count)
        if upper > top:
            best, top, ties = arm, upper, 1
        elif upper == top:
            ties += 1
            if rules.random_below(state, ties) == 0:
                best = arm
    return best


def lil_kl_ucb(state: Views) -> int:
    """lil-KLUCB. Settings: ln(1/level) of the upper and the lower bounds, ln ζ(`EPOCH_POWER`), ε. Row 0: upper bounds."""
    log_upper, log_lower, log_zeta = state.settings[0], state.settings[1], state.settings[2]
    for i in range(state.marks[ASKED]):  # only these arms' bounds have changed
        arm = state.pick[i]
        mean, count = state.sums[arm] / state.counts[arm], state.counts[arm]
        level = divergence.kl_iterated_log(count, log_upper, EPOCH_RATIO, EPOCH_POWER, log_zeta) / count
        state.memory[0, arm] = divergence.kl_upper(mean, level)
    leader = rules.empirical_best(state)
    challenger = rules.first_of(state, 0, len(state.counts), leader)
    state.pick[0], state.pick[1] = leader, challenger
    mean, count = state.sums[leader] / state.counts[leader], state.counts[leader]
    level = divergence.kl_iterated_log(count, log_lower, EPOCH_RATIO, EPOCH_POWER, log_zeta) / count
    return 0 if divergence.surely_above(mean, level, state.memory[0, challenger] - state.settings[3]) else 2


def lil_ucb(state: Views) -> int:
    """lil'UCB. Settings: ε, β and δ' of the authors; λ, or 0 for the stop of LUCB; the level of the bounds of that stop.

    Rows of memory: the index, upper and lower bounds.
    """
    epsilon, beta, level = state.settings[0], state.settings[1], state.settings[2]
    stop, union_level = state.settings[3], state.settings[4]
    for i in range(state.marks[ASKED]):  # only these arms' bounds have changed
        arm = state.pick[i]
        mean, count = state.sums[arm] / state.counts[arm], state.counts[arm]
        state.memory[0, arm] = mean + (1 + beta) * divergence.iterated_log(count, level, epsilon)
        if stop == 0:
            radius = divergence.iterated_log(count, union_level, epsilon)
            state.memory[1, arm], state.memory[2, arm] = mean + radius, mean - radius
        elif count > state.counts[state.marks[LEADER]]:
            state.marks[LEADER] = arm
    if lil_settled(state, stop):
        return 0
    state.pick[0] = rules.first_of(state, 0, len(state.counts), -1)
    return 1


def lil_settled(state: Views, stop: float) -> bool:
    """Whether one arm has λ times the pulls of all others, or a lower bound that reaches the others' upper ones."""
    n, leader = len(state.counts), 0
    if stop > 0:
        most = state.counts[state.marks[LEADER]]
        return bool(most >= 1 + stop * (state.marks[TOTAL] - most))
    for arm in range(1, n):
        if state.memory[2, arm] > state.memory[2, leader]:
            leader = arm
    state.marks[LEADER] = leader
    for arm in range(n):  # noqa: SIM110
        if arm != leader and state.memory[1, arm] > state.memory[2, leader]:
            return False
    return True


def kl_racing(state: Views) -> int:
    """KL-Racing. Settings: those of the rate, and whether arms are compared by a likelihood ratio, not by bounds."""
    best, worst = rules.empirical_best(state), -1
    for arm in range(len(state.counts)):  # the arm in play with the smallest sum; the last of several
        if state.active[arm] and (worst < 0 or state.sums[arm] <= state.sums[worst]):
            worst = arm
    if beaten(state, best, worst):
        state.active[worst] = False
    asked = rules.everyone(state)
    if asked == 1:
        state.marks[LEADER] = state.pick[0]
        return 0
    return asked


def beaten(state: Views, best: int, worst: int) -> bool:
    """Whether the worst arm is surely worse than the best one."""
    count = state.counts[best]  # all arms in play have as many pulls
    high, low = state.sums[best] / count, state.sums[worst] / count
    rate = rules.rate_of(state)
    if not state.settings[2]:
        return bool(divergence.kl_lower(high, rate / count) > divergence.kl_upper(low, rate / count))
    middle = (high + low) / 2
    return bool(high > low and count * (divergence.kl(high, middle) + divergence.kl(low, middle)) > rate)


def successive_elimination(state: Views) -> int:
    """Successive Elimination. Settings: ln(c·n/δ)."""
    best = rules.empirical_best(state)
    t = state.counts[best]  # every arm in play has as many pulls
    radius = libm.sqrt((state.settings[0] + 2 * libm.log(t)) / t)
    left = 0
    for arm in range(len(state.counts)):
        if state.active[arm]:
            state.active[arm] = (state.sums[best] - state.sums[arm]) / t < 2 * radius
            left += state.active[arm]
    return rules.everyone(state) if left > 1 else 0


def eb_tc_epsilon(state: Views) -> int:
    """EB-TCε. Settings: what of the threshold does not grow, and ε.

    Rows of memory: how often an arm was the leader; how often it was then pulled; minus its distance from the leader.
    """
    total, n, memory = state.marks[TOTAL], len(state.counts), state.memory
    leader = rules.empirical_best(state)
    mean = state.sums[leader] / state.counts[leader]
    for arm in range(n):
        gap = mean - state.sums[arm] / state.counts[arm] + state.settings[1]
        memory[2, arm] = -gap / libm.sqrt(VARIANCE * (1.0 / state.counts[leader] + 1.0 / state.counts[arm]))
    memory[2, leader] = -libm.inf
    challenger = rules.first_of(state, 2, n, leader)
    if -memory[2, challenger] >= libm.sqrt(2 * (state.settings[0] + 4 * libm.log(4 + libm.log(total / 2.0)))):
        return 0
    memory[0, leader] += 1
    if memory[1, leader] <= memory[0, leader] / 2:  # tracking in place of a coin
        memory[1, leader] += 1
        state.pick[0] = leader
    else:
        state.pick[0] = challenger
    return 1


def ucb_e(state: Views) -> int:
    """UCB-E. Settings: a, the budget, whether a is estimated, and from there on the totals at which phases end."""
    total, n, settings = state.marks[TOTAL], len(state.counts), state.settings
    rules.empirical_best(state)
    if total >= settings[1]:
        return 0
    if settings[2]:
        for phase in range(n - 1):
            if total == settings[3 + phase]:
                settings[0] = settings[1] / estimated_h2(state, phase + 1)
    choice, top = 0, -1.0
    for arm in range(n):
        index = state.sums[arm] / state.counts[arm] + libm.sqrt(settings[0] / state.counts[arm])
        if index > top:
            choice, top = arm, index
    state.pick[0] = choice
    return 1


def estimated_h2(state: Views, phase: int) -> float:
    """The largest i/gap_i² of the `phase` largest gaps, gaps in rising order; none is taken below 1/√t."""
    n = len(state.counts)
    means = np.empty(n)
    for arm in range(n):
        means[arm] = state.sums[arm] / state.counts[arm]
    rising = np.sort(means)
    largest = 0.0
    for i in range(n - phase, n):
        gap = rising[n - 1] - rising[n - 1 - i]
        largest = max(largest, (i + 1) / max(gap * gap, 1.0 / state.marks[TOTAL]))
    return largest


def ugape(state: Views) -> int:
    """UGapE. Settings: which radius (0 Hoeffding, 1 Bernstein, 2 for a budget, 3 the same with H1 estimated), ln(4n/δ) or a in
    it, and the ε or the budget at which to stop. Rows of memory: radii; in place 0, the smallest gap index so far.
    """
    total, n, kind, limit = state.marks[TOTAL], len(state.counts), state.settings[0], state.settings[2]
    if kind == 1 and total == n:
        return rules.everyone(state)
    set_radii(state)
    guess, gap, rival = smallest_gap(state)
    if kind < 2:
        state.marks[LEADER] = guess
        if gap <= limit:
            return 0
    else:
        if gap <= state.memory[1, 0]:  # UGapEb answers the guess whose gap index was smallest
            state.memory[1, 0], state.marks[LEADER] = gap, guess
        if total >= limit:
            return 0
    state.pick[0] = guess if state.memory[0, guess] >= state.memory[0, rival] else rival
    return 1


def set_radii(state: Views) -> None:
    """Put each arm's radius into row 0."""
    kind, constant = state.settings[0], state.settings[1]
    if kind == 3:
        constant /= estimated_h1(state)
    log_inverse = constant + 3 * libm.log(state.marks[TOTAL])  # ln(4Kt³/δ)
    for arm in range(len(state.counts)):
        count = state.counts[arm]
        if kind == 0:
            radius = divergence.hoeffding(count, log_inverse)
        elif kind == 1:
            spread = state.squares[arm] - state.sums[arm] * state.sums[arm] / count
            radius = divergence.empirical_bernstein(max(spread, 0.0) / (count - 1), count, log_inverse)
        else:
            radius = libm.sqrt(constant / count)
        state.memory[0, arm] = radius


def smallest_gap(state: Views) -> tuple[int, float, int]:
    """The arm k of the smallest B_k = max over i ≠ k of U_i, less L_k; B_k; and the i of that maximum."""
    first, second, top, next_top = -1, -1, -libm.inf, -libm.inf
    for arm in range(len(state.counts)):
        upper = state.sums[arm] / state.counts[arm] + state.memory[0, arm]
        if upper > top:
            second, next_top, first, top = first, top, arm, upper
        elif upper > next_top:
            second, next_top = arm, upper
    guess, gap = -1, libm.inf
    for arm in range(len(state.counts)):
        lower = state.sums[arm] / state.counts[arm] - state.memory[0, arm]
        value = (next_top if arm == first else top) - lower
        if value < gap:
            guess, gap = arm, value
    return guess, gap, second if guess == first else first


def estimated_h1(state: Views) -> float:
    """Σ 1/gap² of the empirical means; gaps are not taken below 1/√t."""
    top, next_top = -1.0, -1.0
    for arm in range(len(state.counts)):
        mean = state.sums[arm] / state.counts[arm]
        if mean > top:
            next_top, top = top, mean
        elif mean > next_top:
            next_top = mean
    total = 0.0
    for arm in range(len(state.counts)):
        mean = state.sums[arm] / state.counts[arm]
        gap = max(top - mean, top - next_top)
        total += 1 / max(gap * gap, 1.0 / state.marks[TOTAL])
    return total


def peeking_z_test(state: Views) -> int:
    """A z-test after every round, until one is significant: invalid. Settings: the critical value, pulls before a look."""
    best = rules.empirical_best(state)
    if state.marks[TOTAL] < state.settings[1] * len(state.counts):
        return rules.everyone(state)
    count = state.counts[best]
    for arm in range(len(state.counts)):
        error = libm.sqrt((variance_of(state, best) + variance_of(state, arm)) / count)
        if arm != best and (state.sums[best] - state.sums[arm]) / count <= state.settings[0] * error:
            return rules.everyone(state)
    return 0


def variance_of(state: Views, arm: int) -> float:
    """The unbiased variance of an arm's rewards."""
    count = state.counts[arm]
    return float(max(state.squares[arm] - state.sums[arm] * state.sums[arm] / count, 0.0) / (count - 1))

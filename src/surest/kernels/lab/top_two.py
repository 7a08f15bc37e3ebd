"""Top Two for laws on [0, 1] (Jourdan, Degenne, Baudry, de Heide, Kaufmann 2022): two arms' rewards brought to a common mean.

An arm's rewards are kept as at most `ATOMS` values with weights. A value that finds no place is split between its two
neighbours so that the mean stays: ln(1 − λ(x − u)) is concave in x, so K_inf falls and a certificate stays valid.

Rows of memory: 0, the cost W of each arm against the leader; 1, ln of its pulls; 2, that leader, in place 0; 3, an arm's
number of atoms; 4, whether another value than 0 and 1 came; 5, for rewards of 0 and 1 alone, −count·H(mean); from 6 on values,
then weights.
"""

from surest.core.protocol import FloatArray
from surest.kernels import libm
from surest.kernels.lab import divergence, rules
from surest.kernels.lab.constants import ASKED, ATOMS, COIN, TOTAL
from surest.kernels.lab.rules import Views


def top_two(state: Views) -> int:
    """Pull the leader or its closest challenger.

    Settings: what of the threshold does not grow; whether the coin is weighted by information; whether the threshold is the
    one that nobody has proved.
    """
    total, n = state.marks[TOTAL], len(state.counts)
    absorb_atoms(state)
    memory = state.memory
    for i in range(state.marks[ASKED]):
        memory[1, state.pick[i]] = libm.log(state.counts[state.pick[i]])
    leader = rules.empirical_best(state)
    fresh = memory[2, 0] != leader or state.marks[ASKED] > 1 or state.pick[0] == leader
    memory[2, 0] = leader
    challenger, least, smallest = -1, libm.inf, libm.inf
    for arm in range(n):
        if arm == leader:
            continue
        if fresh or arm == state.pick[0]:  # a cost changes only when one of its two arms is pulled
            memory[0, arm] = transport(state, leader, arm)
        least = min(least, memory[0, arm])
        key = memory[0, arm] + memory[1, arm]
        if key < smallest:
            challenger, smallest = arm, key
    growth = libm.log(1 + libm.log(total)) if state.settings[2] else 2 * libm.log(1 + total / 2.0)
    if least > state.settings[0] + growth:
        return 0
    beta = leader_share(state, leader, challenger) if state.settings[1] else 0.5
    state.pick[0] = leader if rules.random_below(state, COIN) < beta * COIN else challenger
    return 1


def absorb_atoms(state: Views) -> None:
    """Put the fresh rewards into their arms' atoms."""
    for i in range(state.marks[ASKED]):
        arm = state.pick[i]
        add(state.memory, arm, state.fresh[i])
        mean = state.sums[arm] / state.counts[arm]
        entropy = mean * libm.log(mean) + (1 - mean) * libm.log(1 - mean) if 0 < mean < 1 else 0.0
        state.memory[5, arm] = state.counts[arm] * entropy


def add(memory: FloatArray, arm: int, reward: float) -> None:
    """Put one reward into an arm's atoms."""
    size, values, weights = int(memory[3, arm]), 6, 6 + ATOMS
    if size == 0:  # 0 and 1 always have a place
        memory[values, arm], memory[values + 1, arm], size = 0.0, 1.0, 2
    if 0 < reward < 1:
        memory[4, arm] = 1
    at = 0
    while memory[values + at, arm] < reward:
        at += 1
    if memory[values + at, arm] == reward:
        memory[weights + at, arm] += 1
    elif size < ATOMS:
        for k in range(size, at, -1):
            memory[values + k, arm], memory[weights + k, arm] = (
                memory[values + k - 1, arm],
                memory[weights + k - 1, arm],
            )
        memory[values + at, arm], memory[weights + at, arm] = reward, 1.0
        size += 1
    else:
        below, above = memory[values + at - 1, arm], memory[values + at, arm]
        part = (reward - below) / (above - below)
        memory[weights + at, arm] += part
        memory[weights + at - 1, arm] += 1 - part
    memory[3, arm] = size


def transport(state: Views, high: int, low: int) -> float:
    """min over u of N_high·K_inf(below u) + N_low·K_inf(above u), not above it."""
    memory = state.memory
    if memory[4, high] == 0 and memory[4, low] == 0:  # rewards of 0 and 1: K_inf is kl
        total, count = state.sums[high] + state.sums[low], state.counts[high] + state.counts[low]
        u = total / count
        if not 0 < u < 1:
            return 0.0
        entropies = memory[5, high] + memory[5, low]
        return float(max(entropies - total * libm.log(u) - (count - total) * libm.log(1 - u), 0.0))
    u, slack = common_mean(state, high, low)
    return max(mirrored(memory, high, u)[0] + direct(memory, low, u)[0] - slack, 0.0)


def leader_share(state: Views, high: int, low: int) -> float:
    """The part of the transport cost that the first arm pays."""
    u, _slack = common_mean(state, high, low)
    if state.memory[4, high] == 0 and state.memory[4, low] == 0:
        down = state.counts[high] * divergence.kl(state.sums[high] / state.counts[high], u)
        up = state.counts[low] * divergence.kl(state.sums[low] / state.counts[low], u)
    else:
        down, up = mirrored(state.memory, high, u)[0], direct(state.memory, low, u)[0]
    return down / (down + up) if down + up > 0 else 0.5


def common_mean(state: Views, high: int, low: int) -> tuple[float, float]:
    """The u of the least cost, and how much above the minimum the cost there may be."""
    memory = state.memory
    if memory[4, high] == 0 and memory[4, low] == 0:
        return (state.sums[high] + state.sums[low]) / (state.counts[high] + state.counts[low]), 0.0
    left, right = state.sums[low] / state.counts[low], state.sums[high] / state.counts[high]
    # The slope of a convex function changes its sign at the minimum: false position, halving the end that stays (Illinois).
    falls, rises = -mirrored(memory, high, left)[1], direct(memory, low, right)[1]
    u, slack, side = left, 0.0, 0
    for _ in range(60):
        u = (left * rises - right * falls) / (rises - falls)
        if not left < u < right:
            u = 0.5 * (left + right)
        down, fall = mirrored(memory, high, u)
        up, rise = direct(memory, low, u)
        slope = rise - fall
        if slope > 0:
            right, rises = u, slope
            falls, side = (falls / 2 if side > 0 else falls), 1
        else:
            left, falls = u, slope
            rises, side = (rises / 2 if side < 0 else rises), -1
        slack = abs(slope) * (right - left)
        if slack <= 1e-9 * (down + up):
            break
    return u, slack


def direct(memory: FloatArray, arm: int, u: float) -> tuple[float, float]:
    """K_inf of an arm's rewards, times their number, and its derivative."""
    return divergence.k_inf(
        memory[6 : 6 + ATOMS, arm], memory[6 + ATOMS : 6 + 2 * ATOMS, arm], int(memory[3, arm]), u, False
    )


def mirrored(memory: FloatArray, arm: int, u: float) -> tuple[float, float]:
    """The same of 1 − rewards."""
    return divergence.k_inf(
        memory[6 : 6 + ATOMS, arm], memory[6 + ATOMS : 6 + 2 * ATOMS, arm], int(memory[3, arm]), 1 - u, True
    )

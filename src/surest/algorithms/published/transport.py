"""Two arms' rewards brought to a common mean: the transport cost of Top Two for laws on [0, 1].

An arm's rewards are kept as at most `ATOMS` values with weights. A value that finds no place is split between its two
neighbours so that the mean stays: ln(1 − λ(x − u)) is concave in x, so K_inf falls and a certificate stays valid.
"""

from math import log

from surest.algorithms.stepwise import ASKED, State
from surest.compiled import compiled
from surest.core.protocol import FloatArray
from surest.evidence.kernels import k_inf, kl

ATOMS = 64
SIZE, BETWEEN, ENTROPY = 0, 1, 2
"""Rows of an arm's record, from row `base` of memory on: how many atoms; whether another value than 0 and 1 came; for
rewards of 0 and 1 alone, −count·H(mean). Values follow, then weights."""
ROWS = 3 + 2 * ATOMS


@compiled
def absorb_atoms(state: State, base: int) -> None:
    """Put the fresh rewards into their arms' atoms."""
    for i in range(state.marks[ASKED]):
        arm = state.pick[i]
        _add(state.memory, base, arm, state.fresh[i])
        mean = state.sums[arm] / state.counts[arm]
        entropy = mean * log(mean) + (1 - mean) * log(1 - mean) if 0 < mean < 1 else 0.0
        state.memory[base + ENTROPY, arm] = state.counts[arm] * entropy


@compiled
def _add(memory: FloatArray, base: int, arm: int, reward: float) -> None:
    values, weights = memory[base + 3 : base + 3 + ATOMS, arm], memory[base + 3 + ATOMS : base + 3 + 2 * ATOMS, arm]
    size = int(memory[base + SIZE, arm])
    if size == 0:  # 0 and 1 always have a place
        values[0], values[1], size = 0.0, 1.0, 2
    if 0 < reward < 1:
        memory[base + BETWEEN, arm] = 1
    at = 0
    while values[at] < reward:
        at += 1
    if values[at] == reward:
        weights[at] += 1
    elif size < ATOMS:
        for k in range(size, at, -1):
            values[k], weights[k] = values[k - 1], weights[k - 1]
        values[at], weights[at] = reward, 1.0
        size += 1
    else:
        part = (reward - values[at - 1]) / (values[at] - values[at - 1])
        weights[at] += part
        weights[at - 1] += 1 - part
    memory[base + SIZE, arm] = size


@compiled
def transport(state: State, base: int, high: int, low: int) -> float:
    """min over u of N_high·K_inf(below u) + N_low·K_inf(above u), not above it."""
    memory = state.memory
    if memory[base + BETWEEN, high] == 0 and memory[base + BETWEEN, low] == 0:  # rewards of 0 and 1: K_inf is kl
        total, count = state.sums[high] + state.sums[low], state.counts[high] + state.counts[low]
        u = total / count
        if not 0 < u < 1:
            return 0.0
        entropies = memory[base + ENTROPY, high] + memory[base + ENTROPY, low]
        return float(max(entropies - total * log(u) - (count - total) * log(1 - u), 0.0))
    u, slack = _common_mean(state, base, high, low)
    return max(_mirrored(memory, base, high, u)[0] + _direct(memory, base, low, u)[0] - slack, 0.0)


@compiled
def leader_share(state: State, base: int, high: int, low: int) -> float:
    """The part of the transport cost that the first arm pays."""
    u, _ = _common_mean(state, base, high, low)
    if state.memory[base + BETWEEN, high] == 0 and state.memory[base + BETWEEN, low] == 0:
        down = state.counts[high] * kl(state.sums[high] / state.counts[high], u)
        up = state.counts[low] * kl(state.sums[low] / state.counts[low], u)
    else:
        down, up = _mirrored(state.memory, base, high, u)[0], _direct(state.memory, base, low, u)[0]
    return down / (down + up) if down + up > 0 else 0.5


@compiled
def _common_mean(state: State, base: int, high: int, low: int) -> tuple[float, float]:
    """The u of the least cost, and how much above the minimum the cost there may be."""
    memory = state.memory
    if memory[base + BETWEEN, high] == 0 and memory[base + BETWEEN, low] == 0:
        return (state.sums[high] + state.sums[low]) / (state.counts[high] + state.counts[low]), 0.0
    left, right = state.sums[low] / state.counts[low], state.sums[high] / state.counts[high]
    # The slope of a convex function changes its sign at the minimum: false position, halving the end that stays (Illinois).
    falls, rises = -_mirrored(memory, base, high, left)[1], _direct(memory, base, low, right)[1]
    u, slack, side = left, 0.0, 0
    for _ in range(60):
        u = (left * rises - right * falls) / (rises - falls)
        if not left < u < right:
            u = 0.5 * (left + right)
        down, fall = _mirrored(memory, base, high, u)
        up, rise = _direct(memory, base, low, u)
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


@compiled
def _direct(memory: FloatArray, base: int, arm: int, u: float) -> tuple[float, float]:
    size, first = int(memory[base + SIZE, arm]), base + 3
    values, weights = memory[first : first + size, arm], memory[first + ATOMS : first + ATOMS + size, arm]
    return k_inf(values, weights, size, u)


@compiled
def _mirrored(memory: FloatArray, base: int, arm: int, u: float) -> tuple[float, float]:
    size, first = int(memory[base + SIZE, arm]), base + 3
    values, weights = memory[first : first + size, arm], memory[first + ATOMS : first + ATOMS + size, arm]
    return k_inf(1 - values, weights, size, 1 - u)

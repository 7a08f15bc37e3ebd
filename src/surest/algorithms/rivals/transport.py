"""Two arms' rewards brought to a common mean: the transport cost of Top Two for laws on [0, 1].

An arm's rewards are kept as at most `ATOMS` values with weights. A value that finds no place is split between its two
neighbours so that the mean stays: ln(1 − λ(x − u)) is concave in x, so K_inf falls and a certificate stays valid.
"""

from surest.algorithms.stepwise import ASKED, State
from surest.compiled import compiled
from surest.evidence.divergence import k_inf, kl
from surest.protocol import FloatArray

ATOMS = 64
SIZE, BINARY = 0, 1
"""Rows of an arm's record, from row `base` of memory on: how many atoms, and whether another value than 0 and 1 came.
Values follow from row base + 3 on, weights behind them."""


@compiled
def absorb_atoms(state: State, base: int) -> None:
    """Put the fresh rewards into their arms' atoms."""
    for i in range(state.marks[ASKED]):
        _add(state.memory, base, state.pick[i], state.fresh[i])


@compiled
def _add(memory: FloatArray, base: int, arm: int, reward: float) -> None:
    values, weights = memory[base + 3 : base + 3 + ATOMS, arm], memory[base + 3 + ATOMS : base + 3 + 2 * ATOMS, arm]
    size = int(memory[base + SIZE, arm])
    if size == 0:  # 0 and 1 always have a place
        values[0], values[1], size = 0.0, 1.0, 2
    if 0 < reward < 1:
        memory[base + BINARY, arm] = 1
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
def transport(state: State, base: int, high: int, low: int) -> tuple[float, float]:
    """min over u of N_high·K_inf(below u) + N_low·K_inf(above u), and the first term's share of it."""
    first, second = state.sums[high] / state.counts[high], state.sums[low] / state.counts[low]
    if first <= second:
        return 0.0, 0.5
    memory = state.memory
    if memory[base + BINARY, high] == 0 and memory[base + BINARY, low] == 0:  # rewards of 0 and 1: K_inf is kl
        u = (state.sums[high] + state.sums[low]) / (state.counts[high] + state.counts[low])
        down, up = state.counts[high] * kl(first, u), state.counts[low] * kl(second, u)
        return down + up, down / (down + up)
    left, right = second, first
    down, up, above = 0.0, 0.0, 0.0
    for _ in range(60):  # the slope of a convex function changes its sign at the minimum
        u = 0.5 * (left + right)
        down, fall = _mirrored(memory, base, high, u)
        up, rise = _direct(memory, base, low, u)
        if rise > fall:
            right = u
        else:
            left = u
        above = abs(rise - fall) * (right - left)  # the value here is at most so much above the minimum
        if above < 1e-9 * (down + up):
            break
    whole = down + up
    return max(whole - above, 0.0), down / whole if whole > 0 else 0.5


@compiled
def _direct(memory: FloatArray, base: int, arm: int, u: float) -> tuple[float, float]:
    values, weights = memory[base + 3 : base + 3 + ATOMS, arm], memory[base + 3 + ATOMS : base + 3 + 2 * ATOMS, arm]
    return k_inf(values, weights, int(memory[base + SIZE, arm]), u)


@compiled
def _mirrored(memory: FloatArray, base: int, arm: int, u: float) -> tuple[float, float]:
    values, weights = memory[base + 3 : base + 3 + ATOMS, arm], memory[base + 3 + ATOMS : base + 3 + 2 * ATOMS, arm]
    return k_inf(1 - values, weights, int(memory[base + SIZE, arm]), 1 - u)

"""What rules that decide pull by pull know, and what several of them do. `lab.stepwise` says how they are run."""

from surest.core.protocol import BoolArray, FloatArray, IntArray, Words
from surest.kernels.constants import WORD
from surest.kernels.lab import divergence
from surest.kernels.lab.constants import ASKED, CHOSEN, LEADER, NOISE, TOTAL


class Views:
    """The arrays of an `lab.stepwise.State`."""

    def __init__(
        self, counts: IntArray, sums: FloatArray, squares: FloatArray, active: BoolArray, pick: IntArray,
        fresh: FloatArray, marks: IntArray, memory: FloatArray, settings: FloatArray, noise: Words,
    ) -> None:  # fmt: skip
        self.counts, self.sums, self.squares, self.active, self.pick = counts, sums, squares, active, pick
        self.fresh, self.marks, self.memory, self.settings, self.noise = fresh, marks, memory, settings, noise


def absorb(state: Views) -> None:
    """Count the fresh rewards."""
    asked = state.marks[ASKED]
    for i in range(asked):
        arm, reward = state.pick[i], state.fresh[i]
        state.counts[arm] += 1
        state.sums[arm] += reward
        state.squares[arm] += reward * reward
    state.marks[TOTAL] += asked


def everyone(state: Views) -> int:
    """Ask for one pull of every arm in play."""
    asked = 0
    for arm in range(len(state.counts)):
        if state.active[arm]:
            state.pick[asked] = arm
            asked += 1
    return asked


def random_below(state: Views, bound: int) -> int:
    """A random whole number from 0 to bound − 1 (xorshift64*; the bias is below bound/2^53)."""
    x = int(state.noise[0])
    x ^= x >> 12
    x ^= (x << 25) & WORD
    x ^= x >> 27
    state.noise[0] = x
    mixed = (x * NOISE) & WORD
    below = int(float(mixed >> 11) / 9007199254740992.0 * bound)
    return below


def empirical_best(state: Views) -> int:
    """The arm in play with the largest mean, one of them at random where several have it; it becomes the leader."""
    best, top, ties = -1, -1.0, 1
    for arm in range(len(state.counts)):
        if not state.active[arm]:
            continue
        mean = state.sums[arm] / state.counts[arm]
        if mean > top:
            best, top, ties = arm, mean, 1
        elif mean == top:
            ties += 1
            if random_below(state, ties) == 0:
                best = arm
    state.marks[LEADER] = best
    return best


def empirical_top(state: Views, m: int) -> None:
    """Mark the m arms in play with the largest means in the row `CHOSEN`, ties at random; the best becomes the leader."""
    n = len(state.counts)
    for arm in range(state.memory.shape[1]):
        state.memory[CHOSEN, arm] = 0.0
    leader = empirical_best(state)
    state.memory[CHOSEN, leader] = 1.0
    for rank in range(2, m + 1):
        for arm in range(n):  # the next best is the best of those not marked yet
            state.active[arm] = state.memory[CHOSEN, arm] == 0.0
        state.memory[CHOSEN, empirical_best(state)] = rank
    for arm in range(n):
        state.active[arm] = True
    state.marks[LEADER] = leader


def first_of(state: Views, row: int, n: int, other_than: int) -> int:
    """The arm with the largest of n values of a row of memory, one at random where several have it.

    `other_than` (−1: none) is passed over.
    """
    values, first, ties = state.memory, -1, 1
    for arm in range(n):
        if arm == other_than:
            continue
        if first < 0 or values[row, arm] > values[row, first]:
            first, ties = arm, 1
        elif values[row, arm] == values[row, first]:
            ties += 1
            if random_below(state, ties) == 0:
                first = arm
    return first


def rate_of(state: Views) -> float:
    """The exploration rate of KL-LUCB and KL-Racing as things stand. Settings: ln(1/level) and α of `kl_rate`, in this order."""
    return divergence.kl_rate(state.marks[TOTAL], state.settings[0], state.settings[1])

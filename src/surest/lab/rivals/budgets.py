"""Algorithms that spend a fixed budget, and certify nothing."""

import numpy as np

from surest.algorithms.entry import Entry, started
from surest.core.protocol import Answer, IntArray, Procedure, Pull, Statistic
from surest.errors import UsageError
from surest.kernels.lab.constants import UCB_E
from surest.lab.rivals.shared import AUDIBERT, H1, KARNIN, check_budget, largest, leading, phase_ends, told_h1
from surest.lab.stepwise import Stepwise, fresh_state, pullwise


def spent(procedure: Procedure[int]) -> Procedure[Answer]:
    """The arm that a procedure returns after a fixed budget, which certifies nothing."""
    return Answer((yield from procedure), certified=False, reason="fixed budget")


# Sequential Halving (Karnin, Koren, Somekh 2013): spend a fixed budget in log2 n rounds, keeping half after each.
def sequential_halving(arms: IntArray, budget: int, *, rng: np.random.Generator) -> Procedure[int]:
    """The arm that is left. Each round compares fresh rewards, as the analysis does."""
    left, rounds = arms, (len(arms) - 1).bit_length()  # ⌈log2 n⌉
    if budget < len(arms) * rounds:
        raise UsageError(
            f"a budget of {budget} pulls is too small for {len(arms)} arms; sequential halving needs {len(arms) * rounds}"
        )
    while len(left) > 1:
        times = budget // (len(left) * rounds)
        means = yield Pull(left, times, Statistic.MEAN, leading(int(left[0])))
        left = largest(left, means, (len(left) + 1) // 2, rng)
    return int(left[0])


# Successive Rejects (Audibert, Bubeck 2010): spend a fixed budget in phases, rejecting the worst arm after each.
def successive_rejects(arms: IntArray, budget: int, *, rng: np.random.Generator) -> Procedure[int]:
    """The arm that is left."""
    left, sums, done = arms, np.zeros(len(arms)), 0
    for times in phase_ends(len(arms), budget):
        if times > done:
            means = yield Pull(left, times - done, Statistic.MEAN, leading(int(left[sums[left].argmax()])))
            sums[left] += (times - done) * means
            done = times
        left = np.sort(largest(left, sums[left], len(left) - 1, rng))
    return int(left[0])


# UCB-E (Audibert, Bubeck 2010): spend a fixed budget on the arms of the largest mean + √(a/pulls).
def ucb_e(arms: IntArray, budget: int, *, rng: np.random.Generator, h1: float | None = None) -> Stepwise:
    """The arm of the largest mean; a = (25/36)·(T − K)/H1 with the H1 = Σ 1/gap² that the caller knows."""
    hardness = told_h1("ucb-e", h1)
    check_budget(len(arms), budget)
    a = 25 / 36 * (budget - len(arms)) / hardness
    state = fresh_state(len(arms), (a, budget, False), rng=rng)
    return Stepwise(UCB_E, state, "fixed budget", certified=False)


def ucb_e_adaptive(arms: IntArray, budget: int, *, rng: np.random.Generator) -> Stepwise:
    """The same with a = T/H2, H2 estimated at the ends of the phases of Successive Rejects."""
    n, ends = len(arms), phase_ends(len(arms), budget)
    totals = [sum(ends[:k]) + (n - k) * ends[k] for k in range(n - 1)]  # pulls of Successive Rejects after phase k + 1
    state = fresh_state(n, (budget / n, budget, True, *totals), rng=rng)
    return Stepwise(UCB_E, state, "fixed budget", certified=False)


ENTRIES = (
    Entry("sequential-halving", started(sequential_halving, spent),
        "fixed budget", "proven", KARNIN, "Spends the budget in log2 n rounds and keeps the better half after each."),
    Entry("successive-rejects", started(successive_rejects, spent),
        "fixed budget", "proven", AUDIBERT, "Spends the budget in phases and rejects the worst arm after each."),
    pullwise("ucb-e", ucb_e, "fixed budget", "proven", AUDIBERT,
        "Optimism for a fixed budget; must be told H1 = Σ 1/gap².", options={"h1": H1}, told_h1=True),
    pullwise("ucb-e-adaptive", ucb_e_adaptive,
        "fixed budget", "heuristic", AUDIBERT, "ucb-e with the hardness estimated as it goes; no proof."),
)  # fmt: skip

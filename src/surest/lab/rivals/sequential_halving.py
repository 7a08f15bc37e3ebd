"""Sequential Halving (Karnin, Koren, Somekh 2013): spend a fixed budget in log2 n rounds, keeping half after each."""

import numpy as np

from surest.algorithms.entry import Entry, spent
from surest.core.protocol import IntArray, Procedure, Pull, Statistic
from surest.errors import UsageError
from surest.lab.rivals.references import KARNIN
from surest.lab.rivals.shared import largest, leading


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


ENTRIES = (
    Entry(
        start=lambda task: spent(sequential_halving(task.arms, task.budget, rng=task.rng)),
        name="sequential-halving",
        goal="fixed budget",
        standing="proven",
        reference=KARNIN,
        summary="Spends the budget in log2 n rounds and keeps the better half after each.",
    ),
)

"""Sequential Halving (Karnin, Koren, Somekh 2013): spend a fixed budget in log2 n rounds, keeping half after each."""

import numpy as np

from surest.algorithms.published.median_elimination import largest, leading
from surest.core.protocol import IntArray, Procedure, Pull, Statistic
from surest.errors import UsageError


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

"""GroupElim (Algorithm 6): median elimination within groups of arms of similar variance."""

import numpy as np

from surest.algorithms.paper.constants import PRINTED, Constants
from surest.algorithms.paper.mean_est import mean_est
from surest.algorithms.paper.naive import ceil_log2
from surest.algorithms.paper.var_est import var_est
from surest.core.protocol import IntArray, Procedure


def group_elim(
    arms: IntArray, epsilon: float, delta: float, *, constants: Constants = PRINTED
) -> Procedure[tuple[IntArray, IntArray]]:
    """The arms that stay active, and the recycle bin: one of them is ε-optimal, with probability 1 − δ (Theorem 4.2)."""
    buckets = ceil_log2(2 / epsilon)  # line 2: N
    variance = yield from var_est(
        arms, delta / (constants.group_var_delta * buckets**2), epsilon, constants=constants
    )  # line 3
    # line 4: 2^−j < σ̂² ≤ 2^(−j+1). σ̂² = 2^−r = ½·2^(1−r) exactly, so j = r + 1, which frexp finds without rounding.
    bucket = 2 - np.frexp(variance)[1]
    active, recycled = [], []
    for j in range(1, buckets + 1):  # line 5
        members = arms[bucket == j]
        if len(members) >= 2:  # line 6
            means = yield from mean_est(
                members,
                epsilon / constants.group_epsilon,
                delta / (constants.group_delta * buckets),
                constants=constants,
            )  # line 7
            active.append(members[_upper_half(means)])  # lines 8 to 10
        else:
            recycled.append(members)  # line 12
    empty = np.empty(0, np.int64)
    return np.concatenate([empty, *active]), np.concatenate([empty, *recycled])  # line 13


def _upper_half(means: np.ndarray[tuple[int], np.dtype[np.float64]]) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """The places of the ⌈m/2⌉ largest means, the earlier first among equals.

    The paper drops the means below the median. With ties that may drop none, and IterElim need not end; this keeps its
    lemma |T_j| ≤ ⅔|B_j| true always, and is the same where there are no ties.
    """
    keep = np.argsort(-means, kind="stable")[: (len(means) + 1) // 2]
    return np.sort(keep)

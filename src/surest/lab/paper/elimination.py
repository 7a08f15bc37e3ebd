"""What drops arms: NaiveBestArm (Algorithm 9, Corollary 3.2), and GroupElim, IterElim, BestArmEst (Algorithms 6, 5, 4)."""

from math import log

import numpy as np

from surest.core.protocol import FloatArray, IntArray, Procedure
from surest.lab.paper.constants import PRINTED, Constants
from surest.lab.paper.estimates import mean_est, var_est


def naive_best_arm(arms: IntArray, delta: float, *, constants: Constants = PRINTED) -> Procedure[int]:
    """Variance-dependent elimination with a union bound over the arms.

    NaiveBestArm: the best arm, with probability 1 − δ (Theorem 3.1).
    """
    left, r = arms, 1  # line 2
    while len(left) > 1:  # line 3
        left = yield from _round(left, r, delta, constants)  # lines 4 to 7
        r += 1  # line 8
    return int(left[0])  # line 9


def naive_best_arm_est(
    arms: IntArray, epsilon: float, delta: float, *, rng: np.random.Generator, constants: Constants = PRINTED
) -> Procedure[int]:
    """naive-best-arm, stopped once every survivor is ε-optimal.

    NaiveBestArmEst: an ε-optimal arm, with probability 1 − δ (Corollary 3.2). The paper says O(ln 1/ε) rounds. An arm that
    survives round r has a gap of at most 2^−(r−1), so ⌈log2 1/ε⌉ + 1 are enough.
    """
    left = arms
    rounds = 0 if epsilon >= 1 else ceil_log2(1 / epsilon) + 1
    for r in range(1, rounds + 1):
        if len(left) == 1:
            break
        left = yield from _round(left, r, delta, constants)
    return int(rng.choice(left))  # "randomly output an arm"


def _round(left: IntArray, r: int, delta: float, constants: Constants) -> Procedure[IntArray]:
    epsilon_r = 0.5**r  # line 4
    delta_r = delta / (constants.naive_delta * r**2)
    accuracy, confidence = epsilon_r / constants.naive_epsilon, delta_r / len(left)
    means = yield from mean_est(left, accuracy, confidence, constants=constants)  # line 5
    survivors: IntArray = left[means >= means.max() - epsilon_r]  # lines 6 and 7
    return survivors


def ceil_log2(x: float) -> int:
    """⌈log2 x⌉, exactly.

    >>> [ceil_log2(x) for x in (1.0, 1.5, 2.0, 2.0000000000000004, 8.0)]
    [0, 1, 1, 2, 3]
    """
    mantissa, exponent = np.frexp(x)  # x = mantissa·2^exponent, mantissa in [½, 1)
    return int(exponent) - int(mantissa == 0.5)


def group_elim(
    arms: IntArray, epsilon: float, delta: float, *, constants: Constants = PRINTED
) -> Procedure[tuple[IntArray, IntArray]]:
    """GroupElim, median elimination within groups of arms of similar variance: the active arms, and the recycle bin.

    One of them is ε-optimal, with probability 1 − δ (Theorem 4.2).
    """
    buckets = ceil_log2(2 / epsilon)  # line 2: N
    share = delta / (constants.group_var_delta * buckets**2)
    variance = yield from var_est(arms, share, epsilon, constants=constants)  # line 3
    # line 4: 2^−j < σ̂² ≤ 2^(−j+1). σ̂² = 2^−r = ½·2^(1−r) exactly, so j = r + 1, which frexp finds without rounding.
    bucket = 2 - np.frexp(variance)[1]
    accuracy, confidence = epsilon / constants.group_epsilon, delta / (constants.group_delta * buckets)
    active, recycled = [arms[:0]], [arms[:0]]
    for j in range(1, buckets + 1):  # line 5
        members = arms[bucket == j]
        if len(members) >= 2:  # line 6
            means = yield from mean_est(members, accuracy, confidence, constants=constants)  # line 7
            active.append(members[_upper_half(means)])  # lines 8 to 10
        else:
            recycled.append(members)  # line 12
    return np.concatenate(active), np.concatenate(recycled)  # line 13


def _upper_half(means: FloatArray) -> IntArray:
    """The places of the ⌈m/2⌉ largest means, the earlier first among equals.

    The paper drops the means below the median. With ties that may drop none, and IterElim need not end; this keeps its
    lemma |T_j| ≤ ⅔|B_j| true always, and is the same where there are no ties.
    """
    return np.sort(np.argsort(-means, kind="stable")[: (len(means) + 1) // 2])


def iter_elim(arms: IntArray, epsilon: float, delta: float, *, constants: Constants = PRINTED) -> Procedure[IntArray]:
    """IterElim: O((ln |S|)² ln 1/ε) arms, one of them ε-optimal, with probability 1 − δ (Theorem 4.3)."""
    beta, decay = constants.iter_beta, constants.iter_decay  # line 2
    active, recycled, r = arms, [arms[:0]], 0  # line 3
    while len(active) > constants.iter_stop:  # line 4
        epsilon_r = beta**r * (1 - beta) * epsilon
        delta_r = decay**r * (1 - decay) * delta
        active, bin_ = yield from group_elim(active, epsilon_r, delta_r, constants=constants)  # line 5
        recycled.append(bin_)  # line 6
        r += 1  # line 7
    return np.sort(np.concatenate([active, *recycled]))  # line 8


def best_arm_est(
    arms: IntArray, epsilon: float, delta: float, *, rng: np.random.Generator, constants: Constants = PRINTED
) -> Procedure[int]:
    """Grouped median elimination, the main step of vd-best-arm-id.

    BestArmEst: an ε-optimal arm, with probability 1 − δ (Theorem 4.1).
    """
    accuracy, confidence = epsilon / constants.best_parts, delta / constants.best_parts
    some = yield from iter_elim(arms, accuracy, confidence, constants=constants)  # line 2
    if 1 / epsilon > log(len(arms)):  # line 3
        some = yield from iter_elim(some, accuracy, confidence, constants=constants)
    return (yield from naive_best_arm_est(some, accuracy, confidence, rng=rng, constants=constants))  # line 4

"""NaiveBestArm (Algorithm 9, Appendix E) and NaiveBestArmEst (Corollary 3.2): reject arms round by round, with a union
bound over arms."""

import numpy as np

from surest.algorithms.paper.constants import PRINTED, Constants, entry
from surest.algorithms.paper.mean_est import mean_est
from surest.core.protocol import IntArray, Procedure


def naive_best_arm(arms: IntArray, delta: float, *, constants: Constants = PRINTED) -> Procedure[int]:
    """The best arm, with probability 1 − δ (Theorem 3.1)."""
    left, r = arms, 1  # line 2
    while len(left) > 1:  # line 3
        left = yield from _round(left, r, delta, constants)  # lines 4 to 7
        r += 1  # line 8
    return int(left[0])  # line 9


def naive_best_arm_est(
    arms: IntArray, epsilon: float, delta: float, *, rng: np.random.Generator, constants: Constants = PRINTED
) -> Procedure[int]:
    """An ε-optimal arm, with probability 1 − δ (Corollary 3.2).

    The paper says O(ln 1/ε) rounds. An arm that survives round r has a gap of at most 2^−(r−1), so ⌈log2 1/ε⌉ + 1 are enough.
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
    means = yield from mean_est(
        left, epsilon_r / constants.naive_epsilon, delta_r / len(left), constants=constants
    )  # line 5
    survivors: IntArray = left[means >= means.max() - epsilon_r]  # lines 6 and 7
    return survivors


def ceil_log2(x: float) -> int:
    """⌈log2 x⌉, exactly.

    >>> [ceil_log2(x) for x in (1.0, 1.5, 2.0, 2.0000000000000004, 8.0)]
    [0, 1, 1, 2, 3]
    """
    mantissa, exponent = np.frexp(x)  # x = mantissa·2^exponent, mantissa in [½, 1)
    return int(exponent) - int(mantissa == 0.5)


ENTRIES = (
    entry(
        "naive-best-arm",
        "best arm",
        "section 3",
        "Variance-dependent elimination with a union bound over the arms.",
        naive_best_arm,
    ),
    entry(
        "naive-best-arm-est",
        "ε-optimal arm",
        "Corollary 3.2",
        "naive-best-arm, stopped once every survivor is ε-optimal.",
        naive_best_arm_est,
    ),
)

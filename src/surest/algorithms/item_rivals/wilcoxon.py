"""The rule of Optuna's WilcoxonPruner (Optuna 3.6): arm after arm, each stopped when it looks worse than the best so far."""

from statistics import NormalDist

import numpy as np

from surest.core.protocol import Answer, Cells, FloatArray, IntArray, Procedure


def wilcoxon_pruner(
    arms: IntArray,
    delta: float,
    *,
    items: int,
    rng: np.random.Generator,
    p_threshold: float = 0.1,
    n_startup_steps: int = 2,
) -> Procedure[Answer]:
    """Each arm goes through the items until a signed-rank test against the best complete arm gives p < `p_threshold`.

    The test is made after every item, and its threshold is Optuna's default; δ is not used.
    """
    order = rng.permutation(items)
    best = np.asarray((yield Cells(arms[:1], order)))[0]
    named = 0
    for j in range(1, len(arms)):
        scores: list[float] = []
        for t in range(items):
            reply = yield Cells(arms[j : j + 1], order[t : t + 1], order[t + 1 :])
            scores.append(float(reply[0, 0]))
            if len(scores) >= n_startup_steps and _prune(np.array(scores), best, p_threshold):
                break
        else:
            if sum(scores) > best.sum():
                best, named = np.array(scores), j
    return Answer(int(arms[named]), reason="all arms pruned or complete")


def _prune(scores: FloatArray, best: FloatArray, threshold: float) -> bool:
    if scores.mean() >= best.mean():  # an arm whose average is the best is never pruned
        return False
    return bool(signed_rank(scores - best[: len(scores)]) < threshold)


def signed_rank(d: FloatArray) -> float:
    """The p-value of "the differences tend to be negative", zeros split between both signs, by the normal approximation.

    differs: Optuna asks SciPy, which is exact for at most 50 differences without ties or zeros.

    >>> round(signed_rank(np.array([-1.0, -1, 0, 1, -1, -1])), 3)
    0.091
    """
    _, place, ties = np.unique(np.abs(d), return_inverse=True, return_counts=True)
    ranks = (np.cumsum(ties) - (ties - 1) / 2)[place]  # equal ones share the mean of their ranks
    n = len(d)
    above = ranks[d > 0].sum() + ranks[d == 0].sum() / 2
    variance = n * (n + 1) * (2 * n + 1) / 24 - (ties**3 - ties).sum() / 48
    return NormalDist().cdf((above - n * (n + 1) / 4) / variance**0.5)

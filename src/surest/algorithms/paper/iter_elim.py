"""IterElim (Algorithm 5): GroupElim again and again, until few arms are active."""

import numpy as np

from surest.algorithms.paper.constants import PRINTED, Constants
from surest.algorithms.paper.group_elim import group_elim
from surest.core.protocol import IntArray, Procedure


def iter_elim(arms: IntArray, epsilon: float, delta: float, *, constants: Constants = PRINTED) -> Procedure[IntArray]:
    """O((ln |S|)² ln 1/ε) arms, one of them ε-optimal, with probability 1 − δ (Theorem 4.3)."""
    beta, decay = constants.iter_beta, constants.iter_decay  # line 2
    active, recycled, r = arms, [np.empty(0, np.int64)], 0  # line 3
    while len(active) > constants.iter_stop:  # line 4
        epsilon_r = beta**r * (1 - beta) * epsilon
        delta_r = decay**r * (1 - decay) * delta
        active, bin_ = yield from group_elim(active, epsilon_r, delta_r, constants=constants)  # line 5
        recycled.append(bin_)  # line 6
        r += 1  # line 7
    return np.sort(np.concatenate([active, *recycled]))  # line 8

"""What rewards say about a mean: the wealth of someone who bets against it. Valid at every moment.

For rewards X_1 … X_N of one arm, a level x in (0, 1) and a bet α in [0, 1):

    above(x; α) = Π (1 − α + α·X_i/x)             fair or losing while the mean is ≤ x
    below(x; α) = Π (1 − α + α·(1 − X_i)/(1 − x)) fair or losing while the mean is ≥ x

Both are mixed over bets α_k = ALPHA·ρ^−k, k = 0, 1, 2, … with weights that sum to one and never end, so that no gap is too
small; a little weight stays on α = 0. A(x) and B(x) are the logarithms of the two mixtures. By Ville's inequality either
reaches log(1/δ) with probability at most δ, ever, while its claim holds.
"""

import math

import numpy as np

from surest.core.protocol import FloatArray
from surest.evidence.pulls.digest import Digests
from surest.kernels import bets


def confidence_sequence(digests: Digests, delta: float, more: Digests | None = None) -> tuple[FloatArray, FloatArray]:
    """Bounds that hold each arm's mean at all times at once, with probability 1 − δ for each arm (not for all together).

    They are the levels x against which does not exist enough evidence: A(x) < log(2/δ) and B(x) < log(2/δ). `more` are
    further rewards of the same arms.
    """
    more = Digests(len(digests.size), 2) if more is None else more
    counts, sums = digests.counts + more.counts, digests.sums + more.sums
    order = np.lexsort((sums, counts))  # arms with the same rewards come one after the other: one search serves them
    return bets.bounds(order, digests.rows(), more.rows(), counts, sums, math.log(2 / delta))

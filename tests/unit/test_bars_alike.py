"""The evidence for verdicts has the same bits as plain Python and as machine code."""

import numpy as np
import pytest

from surest.evidence import apart, bars
from unit.test_kernels_alike import both, ledger


@pytest.mark.parametrize("seed", range(3))
def test_verdicts_on_each_arm_are_alike(seed: int) -> None:
    book, rng = ledger(seed)
    n, digests = len(book.counts), book.before
    rows = (digests.values, digests.weights, digests.size)
    gap = float(rng.random() - 0.5)
    both(bars._weigh, rows, digests.counts, digests.sums, np.arange(n), 0.4, 0.6)
    for goal in (3.0, np.inf):
        starts = rng.random((2, n))
        both(bars.compare, rows, digests.counts, digests.sums, np.arange(1, n), 0, (gap, 0.1), starts, goal)
    both(bars._differences, rows, digests.counts, digests.sums, 0, 4.0)
    own, other = ((values[k], weights[k], int(size[k])) for values, weights, size in [rows] for k in (0, 1))
    both(apart._least_lead, own, 12, other, 12, float(digests.means[0] - digests.means[1]), 0.3, 4.0)

"""race-cheapest and wager-cheapest: errors at the edge, and every door."""

import numpy as np

from statistical.list_tables import played
from surest.evidence.cheapest import Cheapest


def test_errors_at_the_edge_are_rare() -> None:
    """The right answer is at the very edge of ε, and a cheaper arm lies just beyond it."""
    n, delta = 100, 0.3
    rows = [np.arange(n) < 70, np.arange(n) < 60, np.arange(n) % 100 < 59, np.arange(n) < 30]
    table, prices = np.array(rows, float), np.array([9.0, 5.0, 3.0, 1.0])
    wrong = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        shuffled = np.array([rng.permutation(row) for row in table])
        wrong += played(Cheapest(prices, n, delta, 0.1, 0.0), shuffled, rng.permutation(n)).named != 1
    assert wrong <= 12 + 8  # δ of 40, and three standard deviations

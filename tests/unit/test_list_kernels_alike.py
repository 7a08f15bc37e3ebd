"""Plain Python and machine code give the same bits: the kernels of questions on lists."""

import numpy as np
import pytest

from surest.evidence import item_apart, item_bars, item_top
from surest.evidence.item_bets import STEPS
from unit.test_kernels_alike import RUNS, both


@pytest.mark.parametrize("seed", range(RUNS))
def test_bets_on_lists_are_alike(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, t = 4, int(rng.integers(1, 30))
    scores = rng.random((t, n)).round(seed % 3)
    sums, squares = scores.sum(axis=0), (scores * scores).sum(axis=0)
    bars, ends = np.array([0.45, 0.55]), np.array([0.0, 1.0])
    wealth = rng.random((n, 2, 1 + STEPS)) + 0.5
    for population in (False, True):
        given = np.arange(n), rng.random(n), t, float(t), 40.0, population
        both(item_bars.bet_on_bars, *given, bars, ends, sums, sums.copy(), squares, wealth)
        for gap in (0.0, 0.1, 0.9):
            both(item_apart.pair_wealth, 0, 1, gap, scores, t, np.ones(40), 40.0, population, np.empty(STEPS))
            rest = np.full(n, t), scores, np.ones(40), 40.0, population
            both(item_apart.all_within, gap, np.arange(3), np.arange(n), np.full(n, 2.0), *rest)


@pytest.mark.parametrize("seed", range(RUNS))
def test_sets_are_alike(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sets = np.array([[0, 1], [0, 2], [1, 3], [2, 3]])
    alive, rank = np.array([0, 1, 3]), rng.permutation(4)
    weakest, strongest = np.zeros(3, np.int64), np.zeros(3, np.int64)
    both(item_top.boundary, sets, alive, rank, weakest, strongest)
    wealth = rng.random((4, 9))
    both(item_top.pay, alive, strongest, weakest, rng.random((4, 4, 9)), wealth)
    for needed in (0.0, 0.5, 2.0):
        both(item_top.all_doubted, sets, alive, wealth[:, 0].copy(), np.array([0, 1]), np.full((4, 4), needed), 4)

"""The theorems of docs/questions.md on lists, exactly: over all orders of a small table, the mean of each wealth is at most 1.

Each mistake that the theorems forbid is put into the source and must push a mean above 1.
"""

from itertools import permutations
from types import ModuleType

import numpy as np
import pytest

from statistical.race_mutants import mistakes_of, mutant_of
from surest.errors import UsageError
from surest.evidence.lists import bars as item_bars
from surest.evidence.lists import top as item_top
from surest.evidence.lists.scores import Scores
from surest.evidence.lists.top import Top
from surest.kernels.constants import STEPS, WEIGHTS
from surest.kernels.lists import pair_wealth


def mean_wealth_against_the_first(table: np.ndarray, m: int, delta: float, module: ModuleType = item_top) -> float:
    """The wealth against the set of the first m arms, frozen when it is out, in the mean over all orders."""
    n, total = table.shape
    wealth = []
    for order in permutations(range(total)):
        top = Top(n, m, np.ones(total), delta)
        top.evidence = module.Sets(top.scores, n, m, 1 / delta)
        for item in order:
            if 0 not in top.evidence.alive or len(top.play) == 0:
                break
            top.count(table[top.play, item])
        wealth.append(float(top.evidence.wealth[0] @ WEIGHTS))
    return float(np.mean(wealth))


def with_the_best_first(table: np.ndarray) -> np.ndarray:
    return table[np.argsort(-table.sum(axis=1), kind="stable")]


@pytest.mark.parametrize("delta", [1e-9, 0.3, 0.6])
def test_the_mean_wealth_against_a_right_set_is_at_most_one(delta: float) -> None:
    rng = np.random.default_rng(1)
    tables = [rng.integers(0, 2, (n, 4)).astype(float) for n in (3, 4, 4, 5, 5)] + [rng.random((4, 4))]
    means = [mean_wealth_against_the_first(with_the_best_first(table), 2, delta) for table in tables]
    assert max(means) <= 1 + 1e-9
    assert max(means) > 0.9  # near the bound: a rule that never bets would pass


MISTAKES, BAR_MISTAKES = mistakes_of("the best arms"), mistakes_of("bars")


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_bet_against_a_set_that_knows_too_much_is_noticed(mistake: str) -> None:
    rng, module = np.random.default_rng(2), mutant_of(item_top, *MISTAKES[mistake])
    tables = [with_the_best_first(rng.integers(0, 2, (4, 4)).astype(float)) for _ in range(6)]
    assert max(mean_wealth_against_the_first(table, 2, 0.05) for table in tables) <= 1 + 1e-9
    assert max(mean_wealth_against_the_first(table, 2, 0.05, module) for table in tables) > 1.02


def mean_claims(
    values: np.ndarray, bars: tuple[float, float], ends: tuple[float, float], module: ModuleType = item_bars
) -> tuple[np.ndarray, np.ndarray]:
    """The means over all orders of the wealths of both claims about each arm, and of the largest that they have been."""
    n, total = values.shape
    last, largest = [], []
    for order in permutations(range(total)):
        claims, most = module.Bars(n, np.ones(total), bars, ends), np.zeros((n, 2))
        for item in order:
            claims.count(np.arange(n), values[:, item])
            most = np.maximum(most, claims.wealth @ WEIGHTS)
        last.append(claims.wealth @ WEIGHTS)
        largest.append(most)
    return np.mean(last, axis=0), np.mean(largest, axis=0)


def test_the_mean_wealth_of_a_wrong_claim_is_at_most_one_and_the_largest_so_far_is_more() -> None:
    """So e-BH may be fed with wealths of one moment, and not with their maxima."""
    rng = np.random.default_rng(3)
    nearest = 0.0
    for values, ends in (
        (rng.integers(0, 3, (6, 5)) / 2, (0.0, 1.0)),
        (rng.integers(-1, 2, (6, 5)) / 1.0, (-1.0, 1.0)),
    ):
        for j, mean in enumerate(values.mean(axis=1)):
            for low, high in ((mean, mean), (mean + 0.04, mean - 0.04)):
                now, largest = mean_claims(values[[j]], (low, high), ends)
                assert now.max() <= 1 + 1e-9
                nearest = max(nearest, now.max())
                if 0 < low < 1 and np.ptp(values[j]) > 0:
                    assert largest.max() > 1.02
    assert nearest > 0.9


@pytest.mark.parametrize("mistake", BAR_MISTAKES)
def test_a_bet_on_a_claim_that_knows_too_much_is_noticed(mistake: str) -> None:
    values = np.array([[1.0, 0, 1, 0, 0], [1.0, 1, 0, 1, 0]])
    module = mutant_of(item_bars, *BAR_MISTAKES[mistake])
    worst = [mean_claims(values[[j]], (values[j].mean(),) * 2, (0.0, 1.0), module)[0].max() for j in range(2)]
    assert max(worst) > 1.02


def test_the_mean_wealth_of_a_pair_is_at_most_one_where_the_true_gap_is_larger() -> None:
    rng, checked = np.random.default_rng(4), 0
    for _ in range(30):
        table = rng.integers(0, 3, (2, 5)) / 2
        true = table[1].mean() - table[0].mean()
        for gap in (0.0, true / 2, true - 0.01):
            if 0 <= gap < true:
                checked += 1
                scores = (table[:, order].T.copy() for order in permutations(range(5)))
                rest = 5, np.ones(5), 5.0, False, np.empty(STEPS)
                assert np.mean([pair_wealth(0, 1, gap, some, *rest) for some in scores]) <= 1 + 1e-9
    assert checked > 20


def test_scores_outside_of_the_bounds_are_refused() -> None:
    with pytest.raises(UsageError, match=r"\[0, 1\]"):
        Scores(1, np.ones(3)).count(np.arange(1), np.array([1.5]))


def test_a_pair_speaks_the_more_the_larger_the_gap() -> None:
    """Its stakes do not depend on the gap: only then is the smallest gap that suffices a bound."""
    scores = (np.random.default_rng(5).random((40, 2)) < 0.5).astype(float)
    rest = scores, 40, np.ones(100), 100.0, False, np.empty(STEPS)
    wealth = [pair_wealth(0, 1, gap, *rest) for gap in np.linspace(0, 1, 60)]
    assert wealth == sorted(wealth)
    assert wealth[0] < 20 < wealth[-1]


def test_a_bet_that_has_lost_all_does_not_come_back() -> None:
    """Products near 1e-323 would be rounded up to what they were, and losing would be free."""
    apart = np.append(np.tile([0.5, -0.5], 5_000), np.ones(1_200))
    scores, wealth = np.stack([0.5 + apart / 2, 0.5 - apart / 2], axis=1), np.empty(STEPS)
    pair_wealth(0, 1, 0.0, scores, len(apart), np.ones(len(apart)), np.inf, True, wealth)
    exact = np.log1p(np.outer(0.9 / 2.0 ** np.arange(STEPS), apart)).sum(axis=1) - np.log(STEPS)
    assert (wealth <= np.exp(exact + 1e-9)).all()

"""The theorem of docs/items.md, exactly: over all orders of a small table, the mean wealth against a best arm is at most 1.

Each mistake that the theorem forbids is put into the source and must push that mean above 1.
"""

from itertools import permutations
from types import ModuleType

import numpy as np
import pytest

from statistical.list_tables import played
from statistical.race_mutants import mistakes_of, mutant
from surest.evidence.lists import race as items
from surest.evidence.lists.scores import Pairs, Scores

CURRENT_IN_MARGIN = np.array([[0, 1, 1], [1, 1, 0], [1, 0, 1], [1, 0, 0]], dtype=float)
CURRENT_IN_STAKE = np.array([[1, 1, 0, 1, 0], [0, 1, 1, 0, 1], [0, 1, 1, 0, 0]], dtype=float)
LEADER_AFTERWARDS = np.array([[0, 0, 0, 1, 1], [0, 0, 1, 0, 1], [0, 1, 0, 1, 0], [0, 1, 0, 0, 0]], dtype=float)
TABLES = [CURRENT_IN_MARGIN, CURRENT_IN_STAKE, LEADER_AFTERWARDS]


def best_wealths(table: np.ndarray, delta: float, module: ModuleType = items) -> list[float]:
    """For each best arm: its wealth, frozen when it is out, in the mean over all orders of the items."""
    n, total = table.shape
    best = np.flatnonzero(table.sum(axis=1) >= table.sum(axis=1).max() - 1e-9)
    sums, orders = np.zeros(len(best)), 0
    for order in permutations(range(total)):
        sums += played(module.Standings(n, np.ones(total), delta), table, order).current()[best]
        orders += 1
    return [float(mean) for mean in sums / orders]


@pytest.mark.parametrize("delta", [1e-9, 0.3, 0.6])
def test_the_mean_wealth_against_a_best_arm_is_at_most_one(delta: float) -> None:
    """Where only bets can take an arm out, and where the wealth is frozen early."""
    rng = np.random.default_rng(2)
    tables = [*TABLES, *(rng.integers(0, 2, (n, 4)).astype(float) for n in (2, 3, 5, 6)), rng.random((4, 4))]
    means = [mean for table in tables for mean in best_wealths(table, delta)]
    assert max(means) <= 1 + 1e-9
    assert max(means) > 0.9  # near the bound: a rule that never bets would pass


@pytest.mark.slow
def test_the_mean_wealth_against_a_best_arm_is_at_most_one_on_many_tables() -> None:
    rng = np.random.default_rng(3)
    means = []
    for k in range(400):
        n, total = int(rng.integers(2, 8)), int(rng.integers(2, 6))
        table = rng.integers(0, 2 + k % 3, (n, total)) / (1 + k % 3) if k % 4 else rng.random((n, total))
        means += best_wealths(table.astype(float), float(rng.choice([1e-9, 0.2, 0.5])))
    assert max(means) <= 1 + 1e-9


def test_clusters_come_in_proportion_to_their_size_and_a_uniform_order_of_them_is_noticed() -> None:
    """Arm 0 is best because of one large cluster: each order with its probability, margins by the weight that is left."""
    values = np.array([[1, 0, 0, 0.5, 0], [0, 1, 1, 0.5, 1]])
    weights = np.array([3.0, 0.5, 0.5, 0.5, 0.5])
    mean = uniform = 0.0
    for order in permutations(range(5)):
        left, chance = 5.0, 1.0
        for item in order:
            chance *= weights[item] / left
            left -= weights[item]
        standings = played(items.Standings(2, weights[list(order)], 0.6), values, order)
        mean += chance * float(standings.current()[0])
        uniform += float(standings.current()[0]) / 120
    assert mean <= 1 + 1e-9
    assert uniform > 1.05


def counted(rows: np.ndarray, total: int) -> Scores:
    """The scores of all arms on the first of `total` items, a row an item."""
    scores = Scores(rows.shape[1], np.ones(total))
    for row in rows:
        scores.count(np.arange(len(row)), row)
    return scores


def pair_means(table: np.ndarray, a: int, epsilon: float) -> np.ndarray:
    """The mean over all orders of E_(a, j) at the end, for every j; inf once j cannot be better by more than ε."""
    n, total = table.shape
    every = [
        Pairs(a, epsilon, n).extend(np.arange(n), counted(np.ascontiguousarray(table[:, order].T), total))
        for order in permutations(range(total))
    ]
    return np.mean(every, axis=0)


def test_the_mean_wealth_of_a_pair_is_at_most_one_where_the_regret_is_larger_than_epsilon() -> None:
    rng = np.random.default_rng(4)
    checked = 0
    for _ in range(30):
        table = rng.integers(0, 3, (3, 5)) / 2
        regret = table.mean(axis=1) - table[0].mean()
        for epsilon in (0.0, 0.05, 0.15):
            worse = regret > epsilon + 1e-9
            if worse.any():
                checked += 1
                assert pair_means(table, 0, epsilon)[worse].max() <= 1 + 1e-9
    assert checked > 20


MISTAKES = mistakes_of("race, seen over all orders")
SHOWN_BY = dict(zip(MISTAKES, [*TABLES, LEADER_AFTERWARDS], strict=True))
ANY_OPPONENT = (  # cross products with any arm, so that anybody can be an opponent
    ("cross[where[i], opponents[k]]", "all_products[opponents[i], opponents[k]]"),
    ("- cross[where[i], j] - cross[where[k], j]", "- all_products[opponents[i], j] - all_products[opponents[k], j]"),
)


def mistaken(mistake: str) -> ModuleType:
    """The evidence with bets that know the item."""
    known = (
        ("def bets_against(\n    j: int,", "def bets_against(\n    now: FloatArray, j: int,"),
        ("bets_against(j, top", "bets_against(values, j, top"),
    )
    module = mutant(*MISTAKES[mistake], *known, *ANY_OPPONENT)
    _with_all_products(module)
    return module


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_bet_that_knows_the_item_is_noticed(mistake: str) -> None:
    table, module, sound = SHOWN_BY[mistake], mistaken(mistake), mutant(*ANY_OPPONENT)
    _with_all_products(sound)
    assert max(best_wealths(table, 0.05, sound)) <= 1 + 1e-9
    assert max(best_wealths(table, 0.05, module)) > 1.02


def _with_all_products(module: ModuleType) -> None:
    """Let a mutant see all cross products, and the arms by what it should not know."""
    count = module.Standings.count

    def counting(self: items.Standings, values: np.ndarray) -> None:
        past = np.nan_to_num(self.scores.values[: self.scores.t])
        module.__dict__["all_products"] = past.T @ past
        module.__dict__["leading_now"] = lambda sums: [self.play[np.argmax(sums[self.play])]]
        count(self, values)

    module.Standings.count = counting

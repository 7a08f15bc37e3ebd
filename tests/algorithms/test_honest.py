"""The winner's honest mean: unbiased on all orders of small tables, covered by its interval, kept through budgets and studies."""

import sys
from collections.abc import Sequence
from itertools import permutations
from typing import Any

import numpy as np
import pytest

import surest
from statistical.list_tables import ended
from surest.algorithms.honest import honest
from surest.core.protocol import Cells
from surest.evidence.honest import mean_interval

ROWS = np.array([[1, 0, 1, 0, 1, 0], [0, 1, 1, 0, 1, 1]], float)
ITEMS = (range(6), [1.0] * 6)
WEIGHTED = (range(5), [1.0, 2.0, 5.0, 0.5, 1.0])


def over_all_orders(group: Sequence[int], weights: list[float], k: int, mistake: str = "") -> np.ndarray:
    """For each order of the clusters its probability, the true mean of the winner, named after half of them, and its estimate."""
    each, sizes, found = np.array(weights), np.bincount(group, weights=weights), []
    clustered = () if group is ITEMS[0] else (False, list(group), weights)
    for order in permutations(range(len(sizes))):
        left = np.append(sizes[list(order)], 0.0)[::-1].cumsum()[::-1][:-1]
        chance = float(np.prod(sizes[list(order)] / left))  # drawn in proportion to weight, one after another
        in_order = [item for unit in order for item in range(len(group)) if group[item] == unit]
        first = sum(group[item] in order[: len(sizes) // 2] for item in in_order)
        winner = int((ROWS[:, in_order[:first]] @ each[in_order[:first]]).argmax())
        if mistake == "what is solved comes first":
            in_order[first:] = sorted(in_order[first:], key=lambda item: -ROWS[winner, item])

        def named_after_half(winner: int = winner, in_order: list[int] = in_order, first: int = first) -> object:
            yield Cells([0, 1], in_order[:first], in_order[first:])
            return surest.Answer(winner)

        said, low, *_ = ended(honest(named_after_half(), k, 0.1, len(group), *clustered), ROWS).estimate  # type: ignore[arg-type]
        row = ROWS[winner, : len(group)]
        assert low <= said + 1e-9
        if mistake == "items count alike":
            said = (row[in_order[:first]].sum() + (len(row) - first) * row[in_order[first : first + k]].mean()) / len(
                row
            )
        found.append((chance, float(row @ each / each.sum()), said))
    return np.array(found).T


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize(
    ("group", "weights"), [ITEMS, WEIGHTED, ([0, 0, 1, 2, 3, 4], [1.0] * 6), ([0, 1, 1, 2, 3, 4], [1.0, 2, 3, 1, 4, 1])]
)
def test_the_estimate_is_unbiased_over_all_orders(
    group: Sequence[int], weights: list[float], k: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if group is ITEMS[0]:  # intervals take nearly all the time of 720 estimates
        monkeypatch.setattr(sys.modules["surest.algorithms.honest"], "mean_interval", lambda *_: (0.0, 1.0))
    chance, truth, said = over_all_orders(group, weights, k)
    assert chance @ said == pytest.approx(chance @ truth, abs=1e-12 if group is ITEMS[0] else 1e-6)
    if group is ITEMS[0] and k == 3:
        assert said == pytest.approx(truth)


@pytest.mark.parametrize(
    ("mistake", "case", "k"),
    [("what is solved comes first", ITEMS, 2), ("items count alike", WEIGHTED, 1), ("items count alike", WEIGHTED, 2)],
)
def test_a_mistake_would_be_seen(mistake: str, case: Any, k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["surest.algorithms.honest"], "mean_interval", lambda *_: (0.0, 1.0))
    chance, truth, said = over_all_orders(*case, k, mistake)
    assert abs(chance @ said - chance @ truth) > (0.05 if case is ITEMS else 0.01)


def test_an_interval_never_claims_more_than_is_known() -> None:
    """Near the end of a list, and for nearly constant rewards, values between those of the grid must not get lost."""
    rng = np.random.default_rng(2)
    values = rng.random(5000)
    low, high = mean_interval(values[:-2], 0.05, np.ones(4998), 5000)
    assert low <= values.mean() <= high <= low + 3 / 5000
    sample = 0.33327 + 1e-5 * rng.random(6_000)
    low, high = mean_interval(sample, 0.05)
    assert low <= 0.333275 <= high < low + 0.01


@pytest.mark.parametrize("kind", ["pulls", "a list", "a list with weights"])
def test_intervals_cover(kind: str) -> None:
    rng, missed = np.random.default_rng(5), 0
    for _ in range(50):
        if kind == "pulls":
            truth, given = 0.3, ((rng.random(40) < 0.3).astype(float), 0.2)
        else:
            weights = np.ones(60) if kind == "a list" else rng.exponential(size=60)
            values = np.repeat([0.0, 1.0], [40, 20]) if kind == "a list" else (weights > 1).astype(float)
            order = np.argsort(rng.exponential(size=60) / weights)[:40]  # heavy ones come early, and are good
            truth, given = values @ weights / weights.sum(), (values[order], 0.2, weights[order], float(weights.sum()))
        low, high = mean_interval(*given)
        missed += not low <= truth <= high
    assert missed <= 10 + 8  # 20 % of 50, and three standard deviations
    assert high - low < 0.5
    assert mean_interval(np.zeros(50), 0.05)[0] == 0
    assert 0 < mean_interval(np.zeros(50), 0.05)[1] < 0.15

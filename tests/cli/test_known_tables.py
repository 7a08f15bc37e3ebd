"""A table is answered with all that it says, also where it has gaps: every question, and every way to fill them.

`pages/tables.txt` has what is said.
"""

import itertools
from typing import Any

import numpy as np
import pytest

import surest
from surest.core.problem import problem_of
from surest.evidence.lists.units import shares
from surest.result.known import known


@pytest.mark.parametrize("minimise", [False, True])
@pytest.mark.parametrize("question", [{}, {"top": 2}, {"above": 0.5}, {"control": "1"}, {"epsilon": 0.2}])
def test_every_question_is_answered_by_the_means(question: dict[str, Any], minimise: bool) -> None:
    rng, minimise = np.random.default_rng(3), minimise and "above" not in question  # which does not go with it
    for trial in range(60):
        n, items = int(rng.integers(3, 6)), int(rng.integers(1, 9))
        weights = rng.integers(1, 4, items).astype(float) if trial % 2 else np.ones(items)
        values = rng.integers(0, 3, (n, items)) / 2
        asked = problem_of(
            [str(k) for k in range(n)], items=items, minimise=minimise, weights=weights.tolist(), **question
        )
        result = known(asked, range(items), values)
        scores = (1 - 2 * minimise) * (values @ weights)
        np.testing.assert_allclose(result.means, values @ weights / weights.sum())
        assert result.exact
        if "above" in question:
            bar = (1 - 2 * minimise) * 0.5 * weights.sum()
            assert result.indices == tuple(np.flatnonzero(scores >= bar - 1e-9))
        elif "control" in question:
            assert result.indices == tuple(np.flatnonzero(scores > scores[1] + 1e-9))
        else:
            m = question.get("top", 1)
            last = np.sort(scores)[-m]
            assert len(result.indices) == m
            assert scores[list(result.indices)].min() >= last - 1e-9
            assert result.contender_indices == tuple(np.flatnonzero(scores >= last - 1e-9))
            assert result.reason.endswith("tied") == (len(result.contender_indices) > m)


@pytest.mark.parametrize("question", [{}, {"top": 2}, {"above": 0.5}, {"control": "1"}])
def test_what_gaps_cannot_change_is_right_however_they_are_filled(question: dict[str, Any]) -> None:
    rng = np.random.default_rng(7)
    decided = 0
    for _ in range(150):
        values = rng.integers(0, 2, (3, 4)).astype(float)
        values.ravel()[rng.permutation(12)[: rng.integers(1, 4)]] = np.nan
        asked = problem_of(["0", "1", "2"], items=4, **question)
        counted = surest.evaluate(dict(zip("012", values, strict=True)), seed=1, **question)
        assert counted.listed is not None
        assert counted.listed.missing is not None
        sure = counted.exact and "missing" in counted.reason
        decided += sure
        holes = np.argwhere(np.isnan(values))
        for filling in itertools.product((0.0, 1.0), repeat=len(holes)):
            filled = values.copy()
            filled[tuple(holes.T)] = filling
            truth = known(asked, range(4), filled)
            lead = counted.lead
            if lead is not None:
                apart = truth.means[int(lead.arm)] - truth.means[int(lead.over)]
                assert lead.low - 1e-9 <= apart <= lead.high + 1e-9
            if question.keys() <= {"top"}:
                assert not set(counted.listed.out) & set(truth.contender_indices or ())
                assert not sure or set(counted.indices) <= set(truth.contender_indices or ())
            elif sure:
                assert counted.verdicts == truth.verdicts
    assert decided > 10, "the test sees answers that gaps do not change"


WEIGHTS = ([3.0, 1, 1, 1], [1.0, 1, 1], [100.0, 1, 2, 0.5], [1.0, 2, 3, 4])


@pytest.mark.parametrize("weights", WEIGHTS, ids=str)
def test_means_of_weighted_items_are_unbiased_and_possible(weights: list[float]) -> None:
    """Over all orders, each with its probability; and never outside of what the items to come leave possible."""
    each = np.array(weights) * len(weights) / sum(weights)
    values, n = np.random.default_rng(1).random(len(each)), len(each)
    expected = np.zeros(n)
    for order in itertools.permutations(range(n)):
        ordered, scores, left, chance = each[list(order)], values[list(order)], float(n), 1.0
        for weight in ordered:
            chance, left = chance * weight / left, left - weight
        for k in range(1, n + 1):
            estimate = float(shares(ordered, k) @ scores[:k])
            sure = float(ordered[:k] @ scores[:k]) / n
            assert sure - 1e-12 <= estimate <= sure + float(ordered[k:].sum()) / n + 1e-12
            expected[k - 1] += chance * estimate
    np.testing.assert_allclose(expected, float(each @ values) / n, atol=1e-10)
    if len(set(weights)) == 1:
        np.testing.assert_array_equal(shares(each, 2), [0.5, 0.5])

"""A table is answered with all that it says: exactly where it is complete, and as far as it goes where it has gaps."""

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import surest
from surest.core.problem import problem_of
from surest.evidence.lists.units import shares
from surest.report.notebook import to_fragment
from surest.report.page import Report, to_html
from surest.report.report import read_report
from surest.result.known import known

WRONG = 92
"""Random tables before the first that misleads a search."""


def coins(rng: np.random.Generator, means: dict[str, float], items: int = 300) -> dict[str, dict[str, float]]:
    return {a: {f"q{i}": float(v) for i, v in enumerate(rng.random(items) < p)} for a, p in means.items()}


def test_a_table_that_misleads_a_search_is_answered_right() -> None:
    """The first of many random tables on which the search, in its order, ends with an arm that is not the best."""
    rng = np.random.default_rng(8)
    for _ in range(WRONG + 1):
        table = coins(rng, {"a": 0.6, "b": 0.6, "c": 0.47})
    best = max(table, key=lambda arm: sum(table[arm].values()))
    assert surest.evaluate(table, simulate=True).best != best
    result = surest.evaluate(table)
    assert (result.best, result.exact) == (best, True)
    assert f"would have ended after {result.needed} of these 900 evaluations" in str(result)
    assert "with a wrong answer, which happens with probability at most 0.05." in str(result)
    assert result.to_dict()["needed_wrong"] is True
    assert result.population is not None
    assert best in result.population.contenders, "the best of a sample is not said to be out"


def test_neither_order_nor_seed_matters() -> None:
    table = coins(np.random.default_rng(1), {"a": 0.5, "b": 0.55}, 60)
    turned = {arm: dict(reversed(row.items())) for arm, row in table.items()}
    said = set()
    for given, seed in itertools.product((table, turned), (None, 1, 2)):
        found = surest.evaluate(given, seed=seed).to_dict()
        said.add(json.dumps([found[key] for key in ("arm", "reason", "means", "lead", "evaluations", "contenders")]))
    assert len(said) == 1


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


def test_a_population_has_the_verdict_that_is_told_beside_that_on_the_list() -> None:
    table = coins(np.random.default_rng(2), {"a": 0.5, "b": 0.5, "c": 0.5})
    result, alone = surest.evaluate(table), surest.evaluate(table, target="population")
    assert result.population is not None
    assert (alone.certified, alone.contenders) == (result.population.certified, result.population.contenders)
    np.testing.assert_array_equal(alone.means, result.means)
    further = "All 3 arms may still be the best on further items like these"
    for page in (to_html(Report(result)), to_fragment(result)):
        assert further in page
    assert surest.evaluate(table, weights=[1.0, 2.0] * 150).population is None, "no sample of equal items"


@pytest.mark.parametrize("question", [{}, {"top": 2}, {"above": 0.3}, {"control": "c"}])
def test_further_items_have_their_own_verdict(question: dict[str, Any]) -> None:
    result = surest.evaluate(coins(np.random.default_rng(2), {"a": 0.9, "b": 0.5, "c": 0.1}), **question)
    assert result.population is not None
    assert (result.population.certified, result.population.exact) == (True, False)
    assert " on further items like these" in str(result)
    again = read_report(json.dumps(result.to_dict())).result
    assert str(again).split("\n\n")[0] == str(result).split("\n\n")[0]


def test_gaps_leave_what_is_known() -> None:
    rng, missing = np.random.default_rng(5), np.random.default_rng(6).permutation(250)[:35]
    frame = pd.DataFrame((rng.random((50, 5)) < [0.6, 0.6, 0.5, 0.5, 0.1]).astype(float), columns=list("abcde"))
    frame = frame.mask(np.isin(np.arange(250), missing).reshape(50, 5))
    result = surest.evaluate(frame)
    np.testing.assert_allclose(result.means, frame.mean())
    assert result.listed is not None
    listed = result.listed
    assert listed.complete is not None
    assert (listed.missing, listed.complete.best) == (35, frame.dropna().mean().idxmax())
    again = read_report(json.dumps(result.to_dict())).result
    assert str(again).split("\n\n")[0] == str(result).split("\n\n")[0].rpartition("\n")[0], "but what to evaluate next"


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


def test_means_and_leads_on_clusters_are_about_the_claim() -> None:
    """The means of all items are .4125 and .4250; means of an item each, as they came, were .67 and .3."""
    table = {"a": dict(enumerate([0.9] * 100 + [0.25] * 300)), "b": dict(enumerate([0.2] * 100 + [0.5] * 300))}
    group = [0] * 100 + list(range(1, 301))
    for seed, more in itertools.product(range(3), ({}, {"control": "b", "margin": 0.1})):
        result = surest.evaluate(table, group=group, seed=seed, simulate=True, **more)
        np.testing.assert_allclose(result.means, [0.4125, 0.425], atol=1e-3)
        assert result.intervals is not None
        low, high = result.intervals
        assert ((low <= result.means) & (result.means <= high)).all()
        assert result.lead is not None
        assert abs(result.lead.difference) == pytest.approx(0.0125, abs=1e-3)
        assert result.lead.low <= result.lead.difference <= result.lead.high
    whole = surest.evaluate({"a": [1.0, 0, 0, 0], "b": [0.0, 1, 1, 1]}, weights=[3, 1, 1, 1], simulate=True)
    np.testing.assert_allclose(whole.means, 0.5)


@pytest.mark.parametrize("items", ["question", "id", "fold", "", None])
def test_a_wide_file_is_read_as_its_data_frame_is(items: str | None, tmp_path: Path) -> None:
    rng, path = np.random.default_rng(4), tmp_path / "wide.csv"
    frame = pd.DataFrame(rng.random((40, 3)) < [0.9, 0.5, 0.2], columns=["GPT", "Claude 3", "b"])
    if items == "question":
        frame.insert(0, items, [f"what is {i}?" for i in range(40)])
    elif items == "id":
        frame.insert(0, items, [i % 2 + i / 100 for i in range(40)])
    elif items == "fold":  # as an arm it would be out of range, or, with bounds of 0 and 100, the best
        frame.insert(0, items, range(1, 41))
    frame.to_csv(path, index=items == "")
    result = surest.evaluate(path)
    assert result.labels == ("GPT", "Claude 3", "b")
    by_frame = surest.evaluate(frame)
    assert (result.best, result.labels, result.exact) == (by_frame.best, by_frame.labels, True)
    assert result.means.tolist() == by_frame.means.tolist()

"""Quantiles that real searches agree with, and guesses. `pages/plans.txt` has what plans say."""

import random
from pathlib import Path

import numpy as np
import pytest

import surest
from surest.core.problem import problem_of
from surest.search.plan import _fixed_sample, _list
from visiting import Visitor, serving


def agree(planned: surest.search.plan.Plan, real: list[int]) -> None:
    """The share of real runs below each quantile is that of the quantile, up to three standard deviations of 500 runs each."""
    for level, at in planned.quantiles.items():
        share, deviation = np.mean([needed <= at for needed in real]), np.sqrt(2 * level * (1 - level) / 500)
        assert abs(share - level) <= 3 * deviation + 0.002, (level, at, share)


@pytest.mark.slow
def test_quantiles_agree_with_500_real_runs() -> None:
    real = []
    for seed in range(500):
        rng = random.Random(f"real {seed}")
        arms = {name: lambda p=p, rng=rng: rng.random() < p for name, p in {"a": 0.7, "b": 0.4, "c": 0.4}.items()}
        real.append(surest.identify(arms, seed=10_000 + seed, progress=False).pulls)
    agree(surest.plan(arms=3, baseline=0.4, lift=0.3, runs=500, seconds=None), real)
    table = _list(4, 300, 0.7, 0.1, 0.8).draw(7)
    rows = dict(zip(table.labels, table.values.tolist(), strict=True))
    real = [surest.evaluate(rows, simulate=True, seed=20_000 + seed, progress=False).evaluations for seed in range(500)]
    agree(surest.plan(table, runs=500, seconds=None), real)


def test_a_guess_at_a_list_is_what_was_guessed() -> None:
    table = _list(5, 1000, 0.7, 0.04, 0.8).draw(1)
    means = table.values.mean(axis=1)
    assert means == pytest.approx([0.7, 0.66, 0.66, 0.66, 0.66])
    assert (table.values[1:] == table.values[0]).mean() == pytest.approx(0.8)
    gap, fixed = _fixed_sample(table, problem_of(5, items=1000), 0.8)
    # McNemar's test by hand: z of 0.05 / 4 and of 0.8, a fifth of the pairs differ
    assert (gap, fixed) == (
        pytest.approx(0.04),
        5 * np.ceil((2.24140 + 0.84162) ** 2 * (0.2 - 0.04**2) / 0.04**2).clip(max=1000),
    )
    gap, fixed = _fixed_sample(surest.bernoulli([0.12, 0.11]), problem_of(2), 0.8)
    assert fixed == 2 * np.ceil((1.644854 + 0.841621) ** 2 * (0.12 * 0.88 + 0.11 * 0.89) / 0.01**2)


def test_the_form_of_a_new_study_plans(tmp_path: Path) -> None:
    with serving(f"sqlite:///{tmp_path}/s.db") as address:
        visitor = Visitor(address)
        assert "How many evaluations" in visitor.get("/new").words
        form = {"name": "n", "arms": "a\nb", "guess": "0.2", "lead": "0.5", "plan": "yes"}
        assert "searches by wager" in visitor.send("/new", "/new", **form).words
    assert surest.list_studies(f"sqlite:///{tmp_path}/s.db") == []

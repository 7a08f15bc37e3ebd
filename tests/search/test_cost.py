"""Bounds and pulls per cost. `pages/costs.txt` has what is counted and told of costs."""

import json

import numpy as np
import pytest

import surest
from calling import in_process


def test_bounds_per_cost(capsys: pytest.CaptureFixture[str]) -> None:
    """The best share by brute force, for two arms: T* per cost with Σ w·c in the place of Σ w."""
    from surest.lab.characteristic import characteristic
    from surest.lab.divergence import k_inf_above, k_inf_below

    levels, laws = (
        np.linspace(0.4501, 0.4999, 500),
        (np.array([[0.0, 1.0]]), np.array([[0.5, 0.5]]), np.array([[0.55, 0.45]])),
    )
    below = np.array([float(k_inf_below(laws[0], laws[1], np.array([x])).value[0]) for x in levels])
    above = np.array([float(k_inf_above(laws[0], laws[2], np.array([x])).value[0]) for x in levels])
    brute = min((10 * w + (1 - w)) / (w * below + (1 - w) * above).min() for w in np.linspace(0.01, 0.99, 981))
    assert characteristic(surest.bernoulli([0.5, 0.45]), np.array([10.0, 1.0])).time == pytest.approx(brute, rel=1e-3)
    status, out, _ = in_process(capsys)("bounds", "bernoulli:0.5,0.45", "--cost", "1=10", "--cost", "2=1", "--json")
    assert (status, json.loads(out)["cost_t_star"]) == (0, pytest.approx(brute, rel=1e-3))


def test_wager_samples_by_evidence_per_cost() -> None:
    """A leader that costs ten times as much is pulled less often, and the search is cheaper."""
    arms = surest.bernoulli([0.6, *[0.35] * 7])
    cost = dict(zip(arms.labels, [10.0] + [1.0] * 7, strict=True))
    shares, spent = [], []
    for costs in (None, cost):
        found = [surest.identify(arms, cost=costs, seed=seed, progress=False) for seed in range(12)]
        assert all(one.best == arms.labels[0] for one in found)
        shares.append(np.mean([one.pulls_per_arm[0] / one.pulls for one in found]))
        spent.append(np.mean([10 * one.pulls_per_arm[0] + one.pulls_per_arm[1:].sum() for one in found]))
    assert shares[1] < 0.7 * shares[0]
    assert spent[1] < spent[0]

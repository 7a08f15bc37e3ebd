"""What evaluations cost: known beforehand or measured, limited by a budget, kept in studies and exports, told everywhere."""

import json
from pathlib import Path

import numpy as np
import pytest

import surest
from asking import answered
from calling import in_process
from surest.errors import UsageError
from surest.study.transfer import export_text
from visiting import Visitor, call, serving


def test_studies_keep_costs_through_kills_exports_and_http(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/s.db"
    study = surest.open_study(url, "s", ["a", "b"], cost_unit="$", budget_cost=4, algorithm="naive-best-arm")
    study.tell(study.ask()[0].id, (1, 0.75))
    with serving(url) as address:
        ticket, other = study.ask(2)
        call(address, "POST", "/api/studies/s/tell", ticket=ticket.id, reward=1, cost=0.5)
        call(address, "POST", "/api/studies/s/tell", tickets=[other.id], rewards=[0], costs=[0.25])
        remote = surest.open_study(address, "s")
        remote.tell(remote.ask()[0].id, surest.Scored(1, 0.5))
        assert "$2.00" in Visitor(address).get("/studies/s").words
    resumed = surest.open_study(url, "s")
    assert resumed.result().cost == 2
    answered(resumed, lambda ticket: (1, 0.5))
    assert (resumed.result().cost, resumed.result().reason) == (4, "budget spent")
    document = b"".join(export_text(resumed))
    name = surest.import_study(f"sqlite:///{tmp_path}/t.db", document)
    copied = surest.open_study(f"sqlite:///{tmp_path}/t.db", name)
    assert copied.result().cost == 4
    assert copied.finished
    assert b"".join(export_text(copied)) == document
    damaged = document.replace(b",null,0.75]", b",null,-1.0]")
    assert damaged != document
    with pytest.raises(UsageError, match="not an exported study"):
        surest.import_study("memory:", damaged, "u")


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

"""What evaluations cost: known beforehand or measured, limited by a budget, kept in studies and exports, told everywhere."""

import asyncio
import json
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surest
from asking import answered
from calling import in_process
from surest.core.procedure import Running
from surest.errors import RewardError, UsageError
from surest.integrations import eval_logs
from surest.report.report import read_report
from surest.report.terminal import View
from surest.study.transfer import export_text
from visiting import Visitor, call, serving

PRICES = {"large": 0.03, "small": 0.001}
ITEMS = list(range(200))


def score(arm: str, item: int) -> float:
    return float((item * 7919) % 10 < (7 if arm == "large" else 5))


def priced(arm: str, item: int) -> surest.Scored:
    return surest.Scored(score(arm, item), PRICES[arm] * (1 + item % 2))


def test_known_costs_are_counted_at_every_door(tmp_path: Path) -> None:
    simulated = surest.identify(surest.bernoulli([0.9, 0.2]), cost=0.5, seed=1)
    assert simulated.cost == 0.5 * simulated.pulls
    inline = surest.identify({"large": lambda: 1, "small": lambda: 0}, cost=PRICES, seed=1)
    many = surest.identify(
        {"large": lambda: 1, "small": lambda: 0}, cost=PRICES, seed=1, executor=ThreadPoolExecutor(2), in_flight=2
    )
    for found in (inline, many):
        assert found.cost == pytest.approx(found.cost_by_arm.sum())
        assert found.cost_by_arm / [0.03, 0.001] == pytest.approx(np.round(found.cost_by_arm / [0.03, 0.001]))
    assert inline.cost_by_arm == pytest.approx(inline.pulls_per_arm * [0.03, 0.001])
    listed = surest.evaluate(["large", "small"], ITEMS, score=score, cost=PRICES, cost_unit="$", seed=1)
    assert listed.cost == pytest.approx(listed.pulls_per_arm @ [0.03, 0.001])
    assert listed.cost_of_all == pytest.approx(200 * 0.031)
    assert f"${listed.cost:.2f} of about $6.20" in str(listed)
    assert "spent" in str(listed.arms)
    table = {arm: {item: score(arm, item) for item in ITEMS} for arm in PRICES}
    known = surest.evaluate(table, cost=PRICES, cost_unit="$", seed=1)
    assert known.cost == pytest.approx(6.2)
    assert known.needed is not None
    assert f"${known.listed.needed_cost:.2f} of about $6.20" in str(known)


def test_measured_costs_count_instead_of_prices() -> None:
    found = surest.evaluate(["large", "small"], ITEMS, score=priced, seed=1, cost={"large": 9, "small": 9})
    own = [sum(PRICES[arm] * (1 + item % 2) for item in row) for arm, row in found.table.items()]
    assert found.cost_by_arm == pytest.approx(own)

    async def later(arm: str, item: int) -> tuple[float, float]:
        return tuple(priced(arm, item))

    again = asyncio.run(surest.aevaluate(["large", "small"], ITEMS, score=later, seed=1, in_flight=1))
    assert again.cost_by_arm == pytest.approx(own)
    repeated = surest.evaluate(["large", "small"], ITEMS, score=priced, seed=1, repeats=3)
    assert repeated.cost_by_arm == pytest.approx([3 * each for each in own])
    session = surest.Session(["a", "b"], algorithm="naive-best-arm")
    tickets = session.ask(3)
    session.tell_all(tickets[:2], [(1, 0.25), surest.Scored(0, 0.5)])
    session.tell(tickets[2].id, (1, 0.125))
    assert session.result().cost == 0.875
    with pytest.raises(TypeError):
        surest.identify({"a": lambda: 1, "b": lambda: 0}, seed=1).cost + 1  # type: ignore[operator]


@pytest.mark.parametrize("cost", [-1, float("nan"), float("inf"), "free", True])
def test_what_is_no_cost_is_refused(cost: Any) -> None:
    with pytest.raises(RewardError, match="cost of"):
        surest.identify({"a": lambda: (1, cost), "b": lambda: 0})
    session = surest.Session(2)
    with pytest.raises(RewardError, match="cost of ticket 0"):
        session.tell(session.ask()[0].id, (1, cost))
    assert session.evaluations == 0


def test_a_budget_of_cost_is_not_exceeded_where_costs_are_known() -> None:
    arms = {"large": lambda: 1, "small": lambda: 1}
    doors = [
        surest.identify(arms, cost=PRICES, budget_cost=0.5, seed=1),
        surest.identify(surest.bernoulli([0.5, 0.5]), cost=0.01, budget_cost=0.5, seed=1),
        surest.identify(arms, cost=PRICES, budget_cost=0.5, seed=1, executor=ThreadPoolExecutor(2)),
        surest.evaluate(["large", "small"], ITEMS, score=lambda a, i: i % 2, cost=PRICES, budget_cost=0.5),
        surest.evaluate({"a": [1, 0] * 50, "b": [0, 1] * 50}, cost=0.01, budget_cost=0.5, simulate=True),
    ]
    for found in doors:
        assert not found.certified
        assert found.reason == "budget spent"
        assert 0.4 < found.cost <= 0.5 * (1 + 1e-9)
        assert "budget spent" in str(found)
    assert surest.identify(arms, budget_cost=20, seed=1).cost == 20  # 1 each, unless stated
    measured = surest.identify({"a": lambda: (1, 0.1), "b": lambda: (1, 0.1)}, budget_cost=5, seed=1)
    assert measured.cost == pytest.approx(5)


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


def test_a_cost_in_the_database_is_sealed(tmp_path: Path) -> None:
    study = surest.open_study(f"sqlite:///{tmp_path}/s.db", "s", ["a", "b"])
    study.tell(study.ask()[0].id, (1, 0.75))
    study.store.close()
    with sqlite3.connect(tmp_path / "s.db") as database:
        database.execute("UPDATE surest_tickets SET cost = 0.5")
    with pytest.raises(surest.errors.StorageError, match="not what was written"):
        surest.open_study(f"sqlite:///{tmp_path}/s.db", "s").result()


def test_json_and_reports_have_costs(tmp_path: Path) -> None:
    found = surest.evaluate(["large", "small"], ITEMS, score=score, cost=PRICES, cost_unit="$", seed=1)
    data = found.to_dict()
    assert (data["cost"], data["cost_by_arm"]) == (found.cost, found.cost_by_arm.tolist())
    assert (data["cost_of_all"], data["prices"]) == (found.cost_of_all, PRICES)
    found.report(tmp_path / "r.json")
    again = read_report((tmp_path / "r.json").read_bytes()).result
    assert (again.cost, again.cost_of_all, again.problem.cost) == (found.cost, found.cost_of_all, PRICES)
    found.report(tmp_path / "r.md")
    text = (tmp_path / "r.md").read_text().replace("\\$", "$")
    assert f", ${found.cost:.2f}\n" in text
    assert "without stopping early: 400 evaluations, about $6.20" in text
    session = surest.Session(["a", "b"], cost=2, cost_unit="tokens", budget_cost=100)
    session.tell(session.ask()[0].id, 1)
    running: Running[Any] = session.running
    assert View(session.labels, session.scale).facts(running, None)["spent"] == "2 tokens of at most 100 tokens"


def test_logs_have_costs(tmp_path: Path) -> None:
    def result(prompt: int, test: int, cost: float) -> dict[str, Any]:
        who = {"id": f"model-{prompt}"}
        return {
            "promptIdx": prompt, "testIdx": test, "score": 1 - prompt, "success": True, "vars": {"q": test}, "cost": cost,
            "provider": who, "prompt": {"raw": "say {{q}}"}, "tokenUsage": {"total": 30}, "latencyMs": 100,
        }  # fmt: skip

    rows = [result(p, t, 0.01 * (p + 1)) for p in range(2) for t in range(20)]
    (tmp_path / "out.json").write_text(json.dumps({"results": {"results": rows}}))
    table = eval_logs.table([tmp_path / "out.json"])
    assert (table.costs, table.cost_unit) == (pytest.approx((0.01, 0.02)), "$")
    assert "of about $0.60" in str(surest.evaluate(table))

    def log(model: str) -> dict[str, Any]:
        usage = {model: {"total_tokens": 50}, "judge": {"total_tokens": 10}}
        samples = [
            {"id": i, "input": "q", "target": "t", "scores": {"match": {"value": "C"}}, "model_usage": usage}
            for i in range(5)
        ]
        return {"status": "success", "eval": {"model": model, "task": "t"}, "samples": samples}

    for model in ("x", "y"):
        (tmp_path / f"{model}.json").write_text(json.dumps(log(model)))
    table = eval_logs.table([tmp_path / "x.json", tmp_path / "y.json"])
    assert (table.costs, table.cost_unit) == ((60.0, 60.0), "tokens")


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

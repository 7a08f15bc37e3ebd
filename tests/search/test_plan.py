"""Plans: quantiles that real searches agree with, from guesses, tables, studies and sources."""

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surest
from calling import Run
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


def test_plans_from_sources(tmp_path: Path) -> None:
    few: dict[str, Any] = {"runs": 20, "seed": 1}
    rewards = {"a": [1, 1, 1, 0] * 30, "b": [0, 0, 1, 0] * 30}
    table = {arm: dict(enumerate(row)) for arm, row in rewards.items()}
    study = surest.open_study(f"sqlite:///{tmp_path}/s.db", "s", ["a", "b"])
    for ticket in study.ask(60):
        study.tell(ticket.id, ticket.arm)
    gaps = dict(table, c=dict.fromkeys(range(60), 1.0))
    (tmp_path / "t.csv").write_text(
        "arm,item,value\n" + "".join(f"{a},{i},{v}\n" for a, r in table.items() for i, v in r.items())
    )
    (tmp_path / "r.csv").write_text("arm,value\n" + "".join(f"{a},{v}\n" for a, r in rewards.items() for v in r))
    totals = {"a": {"successes": 80, "trials": 100}, "b": {"successes": 20, "trials": 100}}
    made = {
        kind: surest.plan(source, **few).to_dict()["rows"][0]
        for kind, source in {
            "rewards": rewards, "table": table, "study": study, "gaps": gaps, "totals": totals,
            "arms": surest.bernoulli([0.75, 0.25]),
            "text": "bernoulli:0.75,0.25", "table file": tmp_path / "t.csv", "reward file": str(tmp_path / "r.csv"),
        }.items()
    }  # fmt: skip
    assert made["rewards"] == made["arms"] == made["text"] == made["reward file"]
    assert "on rewards drawn from recorded ones" in surest.plan(tmp_path / "r.csv", **few).about
    assert made["table"]["of_all"] == made["table file"]["of_all"] == 240
    assert made["gaps"]["of_all"] == 360
    assert all(row["evaluations"][0] > 5 for row in made.values())
    listed = surest.open_study("memory:", "l", ["a", "b"], items=50)
    for ticket in listed.ask(40):
        listed.tell(ticket.id, ticket.arm)
    assert surest.plan(listed, **few).rows[0].whole == 100


def test_what_a_plan_says(run: Run) -> None:
    money: dict[str, Any] = {"cost": 0.5, "cost_unit": "$", "budget": 60, "budget_cost": 1e6}
    planned = surest.plan(arms=2, baseline=0.2, lift=0.5, rate="100/day", runs=30, seed=1, **money)
    assert planned.within(60) == (planned.rows[0].evaluations <= 60).mean()
    assert planned.rows[0].cost.tolist() == (planned.rows[0].evaluations / 2).tolist()
    text = str(planned)
    assert "Simulation: 30 searches by wager" in text
    assert "100% of the searches end within $1,000,000.00." in text
    assert "days" in text or " h" in text
    several = surest.plan(arms=2, baseline=0.2, lift=[0.3, 0.5], runs=20)
    assert [row.gap for row in several.rows] == pytest.approx([0.3, 0.5])
    assert several.rows[0].quantiles()[1] > several.rows[1].quantiles()[1]
    assert several.plot().get_yscale() == "log"
    said = run("plan --arms 2 --baseline 0.2 --lift 0.3 --lift 0.5 --runs 20 --seed 0 --plot p.png --json")
    assert (said.status, Path("p.png").exists()) == (0, True)
    assert said.json == json.loads(json.dumps(several.to_dict()))
    never = surest.plan("bernoulli:0.5,0.5", budget=10, runs=2, epsilon=0.3)
    assert never.rows[0].fixed != never.rows[0].fixed  # no gap, no test


def test_small_is_good_where_rewards_are_costs(tmp_path: Path) -> None:
    """The arm of 0.1 is the best, whatever says so; a file of totals, too."""
    totals, rewards = tmp_path / "totals.csv", tmp_path / "rewards.csv"
    totals.write_text("arm,clicks,impressions\na,9,10\nb,1,10\nc,8,10\n")
    often = {"a": 9, "b": 1, "c": 8}
    rewards.write_text("arm,value\n" + "".join(f"{arm},{int(k < n)}\n" for arm, n in often.items() for k in range(10)))
    good = surest.plan("bernoulli:0.1,0.9,0.2", runs=20, seed=1).rows[0]
    for source in ("bernoulli:0.9,0.1,0.8", surest.bernoulli([0.9, 0.1, 0.8]), totals, rewards):
        (row,) = surest.plan(source, runs=20, seed=1, minimise=True).rows
        assert (row.gap, row.evaluations.tolist()) == (pytest.approx(0.7), good.evaluations.tolist())


def test_the_form_of_a_new_study_plans(tmp_path: Path) -> None:
    with serving(f"sqlite:///{tmp_path}/s.db") as address:
        visitor = Visitor(address)
        assert "How many evaluations" in visitor.get("/new").words
        form = {"name": "n", "arms": "a\nb", "guess": "0.2", "lead": "0.5", "plan": "yes"}
        assert "searches by wager" in visitor.send("/new", "/new", **form).words
    assert surest.list_studies(f"sqlite:///{tmp_path}/s.db") == []

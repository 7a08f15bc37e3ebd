"""race-cheapest and wager-cheapest: errors at the edge, and every door."""

from pathlib import Path

import numpy as np
import pytest

import surest
from calling import in_process
from statistical.list_tables import played
from surest.errors import UsageError
from surest.evidence.cheapest import Cheapest


def test_errors_at_the_edge_are_rare() -> None:
    """The right answer is at the very edge of ε, and a cheaper arm lies just beyond it."""
    n, delta = 100, 0.3
    rows = [np.arange(n) < 70, np.arange(n) < 60, np.arange(n) % 100 < 59, np.arange(n) < 30]
    table, prices = np.array(rows, float), np.array([9.0, 5.0, 3.0, 1.0])
    wrong = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        shuffled = np.array([rng.permutation(row) for row in table])
        wrong += played(Cheapest(prices, n, delta, 0.1, 0.0), shuffled, rng.permutation(n)).named != 1
    assert wrong <= 12 + 8  # δ of 40, and three standard deviations


def test_at_every_door(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(3)
    table = {arm: (rng.random(300) < p).astype(float) for arm, p in {"large": 0.8, "mid": 0.78, "tiny": 0.3}.items()}
    cost = {"large": 9.0, "mid": 3.0, "tiny": 1.0}
    asked = {"cheapest": 0.15, "cost": cost, "seed": 2}
    found = surest.evaluate(list(table), range(300), score=lambda arm, item: table[arm][item], **asked)
    assert (found.chosen, found.certified, found.algorithm) == (("mid",), True, "race-cheapest")
    assert "Arm mid is the cheapest within 0.15 of the best on these 300 items" in str(found)
    known = surest.evaluate(table, **asked)
    assert (known.exact, known.chosen, known.needed is None) == (True, ("mid",), False)
    kept = surest.evaluate(
        list(table), range(300), score=lambda a, i: table[a][i], storage=f"sqlite:///{tmp_path}/s.db", name="s", **asked
    )
    assert kept.chosen == ("mid",)
    kept.report(tmp_path / "r.html")
    assert kept.plot("costs").get_ylabel() == "mean so far"
    pulled = surest.identify(surest.bernoulli([0.9, 0.85, 0.2], labels=list(table)), slack=0.1, **asked)
    assert (pulled.chosen, pulled.algorithm) == (("mid",), "wager-cheapest")
    assert "is within 0.25 of the best, and no arm within 0.15 of the best is cheaper" in str(pulled)
    short = surest.identify(surest.bernoulli([0.9, 0.85, 0.2], labels=list(table)), budget=9, **asked)
    assert "would be named so far" in str(short)
    data = found.to_dict()
    assert (data["question"], data["chosen"], data["cheapest"]) == ("cheapest", ["mid"], 0.15)
    rows = "".join(f"{arm},{item},{value}\n" for arm, row in table.items() for item, value in enumerate(row))
    (tmp_path / "t.csv").write_text("arm,item,value\n" + rows)
    words = ["--cheapest", "0.15", *(f"--cost={arm}={price}" for arm, price in cost.items())]
    status, out, _ = in_process(capsys)("evaluate", str(tmp_path / "t.csv"), *words)
    assert status == 0
    assert "mid is the cheapest" in " ".join(out.split())
    planned = surest.plan({arm: dict(enumerate(row)) for arm, row in table.items()}, runs=3, **asked)
    assert planned.rows[0].evaluations.max() <= 900
    for wrong in ({"cheapest": 0.1}, {**asked, "epsilon": 0.1}, {**asked, "top": 1}, {"slack": 0.1, "cost": cost}):
        with pytest.raises(UsageError):
            surest.evaluate(table, **wrong)

"""Decisions on the cheapest arm that is good enough: the verifier finds them valid; mistakes are seen."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surest
import surest_verify
from calling import in_process
from decision.decisions import table_of


def search(seed: int) -> surest.Result:
    """A search with everything about it drawn at random: on a list, a sample or a complete table, or by fresh pulls."""
    rng = np.random.default_rng([5, seed])
    n, total = int(rng.integers(1, 6)), int(rng.integers(2, 120))
    table = table_of(seed % 4, n, total, rng)
    near, slack, high = float(rng.choice([0, 0.05, 0.2])), float(rng.choice([0, 0.1])), float(rng.choice([1, 60]))
    settings: dict[str, Any] = {
        "cheapest": near * high,
        "slack": slack * high,
        "cost": {str(arm): float(rng.integers(1, 4)) for arm in range(n)},
        "delta": float(rng.choice([0.05, 0.3])),
    }
    settings |= {"seed": seed, "bounds": (0.0, high), "minimise": high > 1}
    arms, table = [str(arm) for arm in range(n)], table * high
    if rng.random() < 0.3:
        settings["budget"] = int(rng.integers(1, n * total + 1))
    match seed // 4 % 4:
        case 0:
            pulled = {arm: lambda row=row: float(rng.choice(row)) for arm, row in zip(arms, table, strict=True)}
            return surest.identify(pulled, record=True, **{"budget": 300, **settings})
        case 1:
            return surest.evaluate(dict(zip(arms, table.tolist(), strict=True)), **settings)
        case 2:
            settings["target"] = "population"
    return surest.evaluate(arms, range(total), score=lambda arm, item: table[int(arm), item], **settings)


@pytest.mark.parametrize("seed", range(48))
def test_a_decision_is_valid(seed: int, tmp_path: Path) -> None:
    result = search(seed)
    said = surest_verify.verify(str(tmp_path / "d.jsonl"), result.write_decision(tmp_path / "d.jsonl"))
    assert ("the cheapest arm" in said[-2]) or ("is cheaper" in said[-2])


def test_imputed_scores_are_told_and_the_command_writes_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def score(arm: str, item: int) -> float:
        if (item, arm) == (4, "a"):
            raise RuntimeError("no answer")
        return float(item % 10 < (9 if arm == "a" else 3))

    asked: dict[str, Any] = {"cheapest": 0.1, "cost": {"a": 2.0, "b": 1.0}, "seed": 1}
    found = surest.evaluate(["a", "b"], range(60), score=score, retries=0, on_failure=0.0, **asked)
    said = surest_verify.verify(str(tmp_path / "d.jsonl"), found.write_decision(tmp_path / "d.jsonl"))
    assert ("imputed" in said[-2]) == bool(found.events)
    path = tmp_path / "t.csv"
    path.write_text("item,a,b\n" + "".join(f"q{i},{i % 10 < 9:d},{i % 10 < 3:d}\n" for i in range(60)))
    words = ["--cheapest", "0.1", "--cost=a=2", "--cost=b=1", "--decision", str(tmp_path / "e.jsonl")]
    status, out, _ = in_process(capsys)("evaluate", str(path), *words)
    assert status == 0
    assert "surest-verify" in out
    assert "certain" in surest_verify.verify(str(tmp_path / "e.jsonl"))[-2]


def test_a_decision_follows_an_estimate_too(tmp_path: Path) -> None:
    for asked in ({}, {"cheapest": 0.1, "cost": {"a": 2.0, "b": 1.0}}):
        found = surest.evaluate(
            ["a", "b"],
            range(200),
            score=lambda arm, i: float(i % 10 < (9 if arm == "a" else 3)),
            estimate=30,
            seed=1,
            **asked,
        )
        assert found.estimated is not None
        assert surest_verify.verify(str(tmp_path / "d.jsonl"), found.write_decision(tmp_path / "d.jsonl"))

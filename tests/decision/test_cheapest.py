"""Decisions on the cheapest arm that is good enough: the verifier finds them valid, and what was tampered with not."""

from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surest
import surest_verify
from calling import in_process
from decision.listed import Line, lines_of, refusal, table_of
from surest.decision.write import decision_of
from surest.evidence.cheapest import Cheapest
from surest_verify_lists import cheapest_sentence

Change = Callable[[list[Line]], Any]


def search(seed: int) -> surest.Result:
    """A search with everything about it drawn at random: on a list, a sample or a complete table, or by fresh pulls."""
    rng = np.random.default_rng([5, seed])
    n, total = int(rng.integers(1, 6)), int(rng.integers(2, 120))
    table = table_of(seed % 4, n, total, rng)
    near, slack, high = float(rng.choice([0, 0.05, 0.2])), float(rng.choice([0, 0.1])), float(rng.choice([1, 60]))
    settings: dict[str, Any] = {
        "cheapest": near * high, "slack": slack * high, "cost": {str(arm): float(rng.integers(1, 4)) for arm in range(n)},
        "seed": seed, "delta": float(rng.choice([0.05, 0.3])), "bounds": (0.0, high), "minimise": high > 1,
    }  # fmt: skip
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


def best_of_four(**settings: Any) -> surest.Result:
    rng = np.random.default_rng(3)
    table = (rng.random((4, 300)) < np.array([[0.9], [0.8], [0.78], [0.2]])).astype(float)
    asked = {"cheapest": 0.2, "cost": dict(zip("abcd", (9.0, 5.0, 3.0, 1.0), strict=True)), "seed": 1, **settings}
    return surest.evaluate(list("abcd"), range(300), score=lambda arm, item: table["abcd".index(arm), item], **asked)


def claimed(**fields: Any) -> Change:
    """Change fields of the claim, with words that fit."""

    def change(lines: list[Line]) -> None:
        lines[-1]["claim"].update(fields)
        lines[-1]["words"] = cheapest_sentence(lines[0], lines[-1]["claim"])

    return change


def setting(name: str, value: Any) -> Change:
    """Change a setting, with words that fit."""

    def change(lines: list[Line]) -> None:
        lines[0][name] = value
        lines[-1]["claim"]["delta"] = lines[0]["delta"]
        lines[-1]["words"] = cheapest_sentence(lines[0], lines[-1]["claim"])

    return change


NOT_VALID: dict[str, Change] = {
    "another arm": claimed(arms=[1], contenders=[1]),
    "two arms": claimed(arms=[1, 2]),
    "other contenders": claimed(contenders=[1, 2]),
    "it is certain": claimed(exact=True),
    "another price": setting("prices", [9.0, 2.0, 3.0, 1.0]),
    "a price less": setting("prices", [9.0, 5.0, 3.0]),
    "a smaller distance": setting("within", 0.05),
    "a larger distance": setting("within", 0.9),
    "a smaller δ": setting("delta", 1e-4),
    "another seed": setting("seed", "2"),
    "another direction": setting("minimise", True),
    "a score changed": lambda lines: lines[9]["values"].__setitem__(0, 1 - lines[9]["values"][0]),
    "a line dropped": lambda lines: lines.pop(6),
    "the last line dropped": lambda lines: lines.pop(-2),
    "a line twice": lambda lines: lines.insert(6, deepcopy(lines[6])),
    "lines swapped": lambda lines: lines.insert(5, lines.pop(6)),
    "an arm left out": lambda lines: lines[4].update(arms=[0, 1, 2], values=lines[4]["values"][:3]),
    "an event that is hidden": lambda lines: lines.insert(
        3, {"kind": "event", "what": "imputed", "arm": 0, "times": 1}
    ),
    "fewer counted": lambda lines: lines[-1].update(counted=[1, 1, 1, 1]),
    "other words": lambda lines: lines[-1].update(words="c is free"),
}


@pytest.mark.parametrize("change", NOT_VALID)
def test_what_was_tampered_with_is_not_valid(change: str, tmp_path: Path) -> None:
    result = best_of_four()
    assert (result.chosen, result.certified, result.exact) == (("c",), True, False)
    lines = lines_of(decision_of(result))
    assert refusal(lines, tmp_path / "d.jsonl") == ""
    NOT_VALID[change](lines)
    assert refusal(lines, tmp_path / "d.jsonl").startswith("line ")


def test_what_is_open_cannot_be_said_to_be_decided(tmp_path: Path) -> None:
    lines = lines_of(decision_of(best_of_four(budget=40)))
    assert refusal(lines, tmp_path / "d.jsonl") == ""
    for fields in ({"certified": True, "contenders": lines[-1]["claim"]["arms"]}, {"contenders": [2]}):
        changed = deepcopy(lines)
        claimed(**fields)(changed)
        assert refusal(changed, tmp_path / "d.jsonl").startswith("line ")


@pytest.mark.parametrize("mistake", ["the sum twice", "no slack", "a stake that knows the item"])
def test_a_mistake_in_the_search_would_be_seen(mistake: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    limits, factors = Cheapest._limits, Cheapest._factors
    if mistake == "the sum twice":
        monkeypatch.setattr(Cheapest, "_limits", lambda self, o, j, c: 2 * limits(self, o, j, c))
    elif mistake == "no slack":
        monkeypatch.setattr(Cheapest, "_limits", lambda self, o, j, c: limits(self, o, j, min(c, -0.02)))
    else:
        monkeypatch.setattr(Cheapest, "_factors", lambda *given: np.maximum(factors(*given), 1.0))
    lines = lines_of(decision_of(best_of_four()))
    assert refusal(lines, tmp_path / "d.jsonl").startswith("line ")


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

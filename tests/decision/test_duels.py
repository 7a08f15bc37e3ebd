"""Decisions by duels: surest-verify finds them valid, and every change of a line not."""

import random
import subprocess
import sys
from pathlib import Path

import pytest

import surest
from decisions import parsed, rechained
from surest_verify import Invalid, verify

STRENGTH = {"a": 8.0, "b": 2.0, "c": 1.0}


def judge_of(seed: int):
    rng = random.Random(seed)
    return lambda a, b: rng.random() < STRENGTH[a] / (STRENGTH[a] + STRENGTH[b])


def rps(first: str, second: str) -> str:
    return second if {"rock": "paper", "paper": "scissors", "scissors": "rock"}[first] == second else first


CASES = {
    "winner": lambda: surest.duel(list(STRENGTH), judge_of(1), seed=1, record=True),
    "strict": lambda: surest.duel(list(STRENGTH), judge_of(2), seed=1, record=True, strict=True),
    "epsilon": lambda: surest.duel(list(STRENGTH), judge_of(3), seed=1, record=True, epsilon=0.1),
    "top": lambda: surest.duel(list(STRENGTH), judge_of(4), seed=1, record=True, top=2),
    "ranked": lambda: surest.duel(list(STRENGTH), judge_of(5), seed=1, record=True, rank=True),
    "none": lambda: surest.duel(["rock", "paper", "scissors"], rps, seed=1, record=True),
    "open": lambda: surest.duel(list(STRENGTH), judge_of(1), seed=1, record=True, budget=15),
    "recorded": lambda: surest.duel([("a", "b", 1), ("c", "a", 0), ("b", "c", 1)] * 30, record=True),
    "imputed": lambda: surest.duel(
        list(STRENGTH), lambda a, b: None if random.random() < 0.2 else a, seed=1, record=True, retries=0, on_failure=0.5,
        budget=30,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_decision_is_valid(case: str, tmp_path: Path) -> None:
    result, path = CASES[case](), tmp_path / "d.jsonl"
    known_by = result.write_decision(path)
    said = verify(str(path), known_by)
    assert any("duels" in line for line in said)


def set_claim(name: str, value: object):
    return lambda lines: lines[-2]["claim"].__setitem__(name, value)


@pytest.mark.parametrize(
    "change",
    [
        set_claim("arms", [1]),
        set_claim("proven", True),
        set_claim("none", True),
        set_claim("contenders", [0, 1]),
        set_claim("groups", [[0], [1], [2]]),
        set_claim("delta", 0.001),
        lambda lines: lines[0].__setitem__("delta", 1e-6),
        lambda lines: lines[-2].__setitem__("words", "a wins"),
        lambda lines: lines.pop(-3),
        lambda lines: lines[1]["bets"][0].__setitem__(0, 1.9),
        lambda lines: next(x for x in lines if x["kind"] == "rewards")["arms"].__setitem__(0, 5),
        lambda lines: [x.__setitem__("values", [[0.5] for _ in x["values"]]) for x in lines if x["kind"] == "rewards"],
    ],
)
def test_what_is_changed_is_not_valid(change, tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    CASES["winner"]().write_decision(path)
    lines = parsed(path.read_bytes().splitlines())
    change(lines)
    path.write_bytes(b"".join(rechained(lines)))
    with pytest.raises(Invalid):
        verify(str(path))


def test_the_checker_imports_nothing_of_surest() -> None:
    code = "import sys, surest_verify_duels; assert not any(m.partition('.')[0] in ('surest', 'numpy') for m in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)

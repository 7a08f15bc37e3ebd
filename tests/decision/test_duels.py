"""Decisions by duels: surest-verify finds them valid; tampering.txt has changes that are not."""

import random
from pathlib import Path

import pytest

import surest
from surest_verify import verify

STRENGTH = {"a": 8.0, "b": 2.0, "c": 1.0}


def judge_of(seed: int):
    rng = random.Random(seed)
    return lambda a, b: rng.random() < STRENGTH[a] / (STRENGTH[a] + STRENGTH[b])


def rps(first: str, second: str) -> str:
    return second if {"rock": "paper", "paper": "scissors", "scissors": "rock"}[first] == second else first


def often_silent(first: str, second: str) -> str | None:
    return None if random.random() < 0.2 else first


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
        list(STRENGTH), often_silent, seed=1, record=True, budget=30, on_failure=0.5, retries=0
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_decision_is_valid(case: str, tmp_path: Path) -> None:
    result, path = CASES[case](), tmp_path / "d.jsonl"
    known_by = result.write_decision(path)
    said = verify(str(path), known_by)
    assert any("duels" in line for line in said)

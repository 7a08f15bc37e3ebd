"""Decisions with everything about them drawn at random are valid as they are written; and of what there is none."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surest
import surest_verify
from decision.decisions import (
    DUELS,
    KINDS,
    challenges,
    cheapest_search,
    drawn_gate,
    known_gate,
    lines_of,
    made,
    refusal,
    search,
    table_of,
)
from surest.errors import UsageError
from surest.result.words import KNOWN

ENDS = "certified", "certified ε-optimal", "all items seen", "budget spent"
GATES = {("pass", True), ("pass", False), ("fail", True), ("fail", False), ("undecided", False)}
DECIDED = {*product(("promoted", "rejected"), (0, 1), (0, 1))}
ASKED: tuple[dict[str, Any], ...] = (
    {},
    {"margin": 0.0, "equivalent": 0.12},
    {"delta": 0.2},
    {"predict": False, "history": None},
)
Kind = tuple[Any, ...]
DRAWN: dict[str, tuple[Callable[[], Iterable[Any]], Callable[[Any, list[Any]], Kind], set[Kind]]] = {
    "lists": (
        lambda: map(search, range(60)),
        lambda result, lines: (result.algorithm, result.reason),
        {(algorithm, reason) for algorithm in ("race", "race-top") for reason in ENDS}
        | {("race", "exact: tied"), ("race", KNOWN)},
    ),
    "spreads": (
        lambda: (search(seed, spreads=True) for seed in range(60)),
        lambda result, lines: (result.reason, "spread" in lines[0]),
        {(reason, True) for reason in ENDS} | {(KNOWN, False)},
    ),
    "gates": (lambda: map(drawn_gate, range(84)), lambda gate, lines: (gate.verdict, gate.exact), GATES),
    "gates with predictions": (
        lambda: (known_gate(seed, **more) for seed in range(6) for more in ASKED),
        lambda gate, lines: (gate.equivalent, lines[0]["baseline"] != [], gate.share < 1),
        {(False, True, True), (True, True, True), (False, False, False)},
    ),
    "challenges": (
        lambda: (one for seed in range(40) for one in challenges(seed)),
        lambda found, lines: (found.verdict, lines[-1]["claim"]["exact"], bool(lines[0]["known"])),
        DECIDED | {("undecided", False, True)},
    ),
    "the cheapest": (
        lambda: map(cheapest_search, range(48)),
        lambda result, lines: (result.problem.target, result.listed is None, "is cheaper" in lines[-1]["words"]),
        {("items", True, True), ("items", True, False), ("items", False, False), ("population", False, False)},
    ),
    "duels": (lambda: (make() for make in DUELS.values()), lambda result, lines: (), {()}),
}
"""Decisions, what kind one is, and the kinds that there must be."""


@pytest.mark.parametrize("name", DRAWN)
def test_decisions_of_every_kind_are_valid(name: str) -> None:
    decided, kind_of, wanted = DRAWN[name]
    kinds = set[Kind]()
    for found in decided():
        lines = lines_of(found)
        assert refusal(lines) == ""
        kinds.add(kind_of(found, lines))
        if name == "spreads":
            rests = f"two arms differ by at most {found.problem.spread!r} on every item"
            assert (rests in lines[-1]["words"]) == ("spread" in lines[0]) == (not found.reason.startswith(KNOWN))
    assert kinds >= wanted


@pytest.mark.slow
def test_thousands_of_decisions_are_valid() -> None:
    """docs/verify.md has the counts."""
    pulled = (made(kind, seed) for kind in KINDS for seed in range(1_000, 1_100))
    assert not any(refusal(lines_of(found)) for found in (*pulled, *map(search, range(100, 1_100))))


# --- what there is no decision for ----------------------------------------------------------------------------------------

ARMS = {"a": [1.0] * 60, "b": [0.0] * 60}
TABLE = np.array([[1.0, 1, 1, 0], [0, 0, 1, 0]])


def without_scores() -> surest.Result:
    result = surest.evaluate(table_of(1, 3, 40, np.random.default_rng(2)), seed=1)
    return replace(result, listed=replace(result.listed, values=np.full(len(result.listed.values), np.nan)))


REFUSED: dict[str, Callable[[], Any]] = {
    "with clusters": lambda: surest.evaluate(TABLE, seed=1, group=[0, 0, 1, 1]),
    "with weights": lambda: surest.evaluate(TABLE, seed=1, weights=[1.0, 1.0, 1.0, 2.0]),
    "with a reserve": lambda: surest.evaluate(TABLE, seed=1, reserve=0.1),
    "no checker for race-above": lambda: surest.evaluate(TABLE, seed=1, above=0.5),
    "no checker for race-control": lambda: surest.evaluate(TABLE, seed=1, control=0),
    "no checker for lucb": lambda: surest.identify(ARMS, seed=1, algorithm="lucb", record=True),
    "record=True": lambda: surest.identify(ARMS, seed=1),
    "where the search is run": without_scores,
    "two items have the same name": lambda: surest.evaluate({"a": {1: 0.5, "1": 0.5}, "b": {1: 0.0, "1": 1.0}}, seed=1),
    "same name in the file": lambda: surest.gate({1: 0.5, "1": 0.5}, {1: 0.5, "1": 0.5}),
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_there_is_no_decision_for(message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=message):
        REFUSED[message]().write_decision(tmp_path / "d.jsonl")


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be written"):
        surest.identify(ARMS, seed=1, record=True).write_decision(tmp_path / "no folder" / "decision.jsonl")


def test_where_there_was_nothing_to_decide_there_is_no_file(tmp_path: Path) -> None:
    champion = surest.Champion(lambda arm, item: 0.5, range(9), progress=(seen := []).append)
    first, again = champion.challenge("a"), champion.challenge("a")
    for found in (first, again):
        with pytest.raises(UsageError, match="there is no decision to write: "):
            found.write_decision(tmp_path / "d.jsonl")
    last = champion.challenge("b")
    with pytest.raises(UsageError, match="under way"):
        seen[0].write_decision(tmp_path / "d.jsonl")
    assert last.write_decision(tmp_path / "d.jsonl") in surest_verify.verify(str(tmp_path / "d.jsonl"))[-1]
    assert "fought" not in last.to_dict()


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

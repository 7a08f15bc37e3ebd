"""Decisions with everything about them drawn at random are valid as they are written; and of what there is none."""

from collections.abc import Callable, Iterable
from itertools import product
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

import surest
import surest_verify
from decision.decisions import (
    DUELS,
    KINDS,
    against_known,
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
from pages import same_as_kept
from surest.decision.pulls import decision_on_pulls
from surest.decision.write import decision_of
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
WITH_KNOWN: tuple[dict[str, Any], ...] = (
    {},
    {"margin": 0.0},
    {"budget": 60},
    {"total": 12, "delta": 1e-9},
    {"total": 40, "delta": 0.2},
)
Kind = tuple[Any, ...]
DRAWN: dict[str, tuple[Callable[[], Iterable[Any]], Callable[[Any, list[Any]], Kind], set[Kind]]] = {
    "fresh rewards": (
        lambda: (made(kind, seed) for kind in KINDS for seed in range(4)),
        lambda result, lines: (lines[0]["version"], any(line["kind"] == "stakes" for line in lines)),
        {(1, False), (3, True)},
    ),
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
    "known controls": (
        lambda: (against_known(seed, **more) for seed in range(8) for more in WITH_KNOWN),
        lambda result, lines: (result.certified, result.exact, lines[0]["features"][0] != []),
        {*product((True,), (True, False), (True, False)), (False, False, True), (False, False, False)},
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
def test_decisions_of_every_kind_are_valid(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(surest_verify, "TOLERANCE", 1e-9)  # nats by which its evidence may differ from the library's
    decided, kind_of, wanted = DRAWN[name]
    kinds = set[Kind]()
    for found in decided():
        lines = lines_of(found)
        assert refusal(lines) == ""
        kinds.add(kind_of(found, lines))
        claim = lines[-1]["claim"]
        if isinstance(found, surest.Result):
            named = claim["arms"] if "arms" in claim else [arm for arm, k in enumerate(claim["verdicts"]) if k == 1]
            assert (claim["certified"], named) == (found.certified, sorted(found.indices))
        if name == "fresh rewards" and not (found.certified or found.epsilon):
            assert claim["contenders"] == list(found.contender_indices or ())
        if name == "spreads":
            rests = f"two arms differ by at most {found.problem.spread!r} on every item"
            assert (rests in lines[-1]["words"]) == ("spread" in lines[0]) == (not found.reason.startswith(KNOWN))
    assert kinds >= wanted


@pytest.mark.slow
def test_thousands_of_decisions_are_valid() -> None:
    """docs/verify.md has the counts."""
    pulled = (made(kind, seed) for kind in KINDS for seed in range(1_000, 1_100))
    assert not any(refusal(lines_of(found)) for found in (*pulled, *map(search, range(100, 1_100))))


# --- what is said, and when ---------------------------------------------------------------------------------------------


def test_a_later_decision_begins_with_the_lines_of_an_earlier_one() -> None:
    table = table_of(0, 5, 80, np.random.default_rng(1))
    early, late = (
        decision_of(surest.evaluate(table, seed=1, budget=budget, simulate=True)).lines for budget in (100, 200)
    )
    assert early[:-2] == late[: len(early) - 2]
    whole = made("growing", 4)
    problem, transcript = whole.problem, whole.transcript
    later = decision_of(whole).lines
    for answered in (0, 1, 20, len(transcript) // 2, len(transcript) - 1):
        additions = [addition for addition in whole.additions if addition[0] < answered]
        there = len(problem.labels) - sum(more for at, more in whole.additions if at >= answered)
        then = msgspec.structs.replace(problem, labels=problem.labels[:there])
        earlier = decision_on_pulls(then, transcript[:answered], additions, whole.events).lines
        assert refusal(earlier) == ""
        assert earlier[:-2] == later[: len(earlier) - 2]


def test_items_that_are_alike_are_predicted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a race of ten arms on 3,000 items took more work than its file may."""
    known, used = [float(item % 3 > 0) for item in range(2000)], list[float]()
    for more in ([[0.0]] * 2000, [[1e-9 * item] for item in range(2000)]):
        monkeypatch.setattr(surest_verify.Work, "left", 1e9)
        rows = surest_verify.predicted([0.5 - score for score in known], known, more)
        used.append(1e9 - surest_verify.Work.left)
    assert len(rows) == 2000
    assert used[0] < 0.12 * used[1]


@pytest.mark.usefixtures("run")
def test_what_is_said_when(request: pytest.FixtureRequest) -> None:
    same_as_kept(Path(__file__).with_name("said.txt"), request, names=globals())

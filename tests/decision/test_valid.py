"""Decisions with everything about them drawn at random are valid as they are written; and of what there is none."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
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
    best_of_four,
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
from surest.decision.pulls import decision_on_pulls
from surest.decision.two import decision_of_gate
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


def test_an_early_file_of_a_gate_fixes_what_could_be_chosen_afterwards() -> None:
    """Bounds, δ, margin, seed and list stand in the first line, before any score is known."""
    old = {f"q{i}": float(i % 3 > 0) for i in range(60)}
    settings: dict[str, Any] = {"margin": 0.1, "delta": 0.1, "seed": "c", "bounds": (0.0, 2.0)}
    early, late = (decision_of_gate(surest.gate(old, new, **settings)).lines for new in ({}, old))
    assert (len(early), early[0]) == (3, late[0])
    for other in ({"bounds": (0.0, 1.0)}, {"delta": 0.2}, {"margin": 0.2}, {"seed": "d"}):
        assert decision_of_gate(surest.gate(old, old, **settings | other)).lines[0] != early[0]


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


@pytest.mark.parametrize("margin", [0.1, 0.3, 0.7])
def test_a_difference_that_is_the_margin_passes(margin: float) -> None:
    """Neither sums nor differences are whole numbers of anything here, and all are rounded."""
    old = {f"q{i}": 0.8 + 0.01 * (i % 7) for i in range(70)}
    gate = surest.gate(old, {item: score - margin for item, score in old.items()}, margin)
    assert (gate.verdict, gate.exact, refusal(lines_of(gate))) == ("pass", True, "")


@pytest.mark.parametrize("more", [0.0, 1e-6])
def test_an_arm_that_can_still_tie_is_not_out(more: float) -> None:
    """It is behind by the spread on half of the items; on the others it is ahead by the spread, or by a bit less."""
    order, table = surest_verify.random_order([1, 2], 20), np.full((2, 20), 0.3)
    table[0, order[:10]], table[1, order[10:]] = 0.4 + more, 0.4  # 0.4 - 0.3 is more than 0.1 in doubles
    lines = lines_of(surest.evaluate(table, seed=1, delta=1e-9, simulate=True, spread=0.1 + more))
    assert refusal(lines) == ""
    assert lines[-1]["claim"]["contenders"] == ([0] if more else [0, 1])
    assert lines[-1]["counted"] == ([11, 11] if more else [20, 20])


def test_items_that_are_alike_are_predicted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a race of ten arms on 3,000 items took more work than its file may."""
    known, used = [float(item % 3 > 0) for item in range(2000)], list[float]()
    for more in ([[0.0]] * 2000, [[1e-9 * item] for item in range(2000)]):
        monkeypatch.setattr(surest_verify.Work, "left", 1e9)
        rows = surest_verify.predicted([0.5 - score for score in known], known, more)
        used.append(1e9 - surest_verify.Work.left)
    assert len(rows) == 2000
    assert used[0] < 0.12 * used[1]


def test_a_spread_as_wide_as_the_range_is_none() -> None:
    assert lines_of(best_of_four(spread=1.0))[0] == lines_of(best_of_four())[0]


def test_imputed_scores_are_told_alike_whoever_ran_the_search(tmp_path: Path) -> None:
    def seconds(arm: str, item: int) -> float:
        if item % 11 == len(arm):
            raise ValueError("no answer")
        return float((item * 7 + 13 * len(arm)) % 60)

    given: dict[str, Any] = {"score": seconds, "seed": 3, "on_failure": 60.0, "bounds": (0, 60), "minimise": True}
    with ThreadPoolExecutor(3) as pool:
        ahead = surest.evaluate(["a", "bb", "ccc"], range(60), **given, executor=pool, in_flight=6)
    kept = surest.evaluate(["a", "bb", "ccc"], range(60), **given, storage=f"sqlite:///{tmp_path}/s.db", name="s")
    (known_by,) = {result.write_decision(tmp_path / "d.jsonl") for result in (ahead, kept)}
    said = surest_verify.verify(str(tmp_path / "d.jsonl"), known_by)
    assert "18 'imputed'" in said[-3]
    assert "smallest mean of 3 arms on these 60 items" in said[-2]
    assert "18 of them were imputed, not measured" in said[-2]


def test_imputed_scores_of_a_gate_are_told() -> None:
    items = [f"q{i}" for i in range(12)]
    study = surest.open_study("memory:", "s", ["old", "new"], items=items, retries=0, on_failure=1.0)
    while not study.finished:
        for ticket in study.ask(2):
            study.fail(ticket.id) if ticket.label == "new" else study.tell(ticket.id, 0.5)
    gate = surest.gate("old", "new", 0.4, 0.3, table=study)
    both, lines = sum(old == old and new == new for _, old, new in gate.scores), lines_of(gate)
    assert f"; {both} of them were imputed, not measured" in lines[-1]["words"]
    assert lines[-1]["claim"]["events"] == {"failed": both, "imputed": both}
    assert gate.notes == (f"{both} items of new with a score that was not measured but imputed",)
    assert refusal(lines) == ""
    assert "other things were imputed" in refusal([line for line in lines if line.get("what") != "imputed"])


def test_a_decision_follows_an_estimate_too() -> None:
    score = lambda arm, item: float(item % 10 < (9 if arm == "a" else 3))  # noqa: E731
    for asked in ({}, {"cheapest": 0.1, "cost": {"a": 2.0, "b": 1.0}}):
        found = surest.evaluate(["a", "b"], range(200), score=score, estimate=30, seed=1, **asked)
        assert found.estimated is not None
        assert refusal(lines_of(found)) == ""

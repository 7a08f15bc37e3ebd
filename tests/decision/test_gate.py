"""Decisions of the gate: valid as they are written, the same evidence as the library's, and mistakes are noticed."""

from math import log
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest

import surest
import surest_verify as verifier
from decision.decisions import known_gate, lines_of, refusal
from statistical.race_mutants import mutant_of
from surest.decision.two import decision_of_gate
from surest.evidence.lists.gate import UNKNOWN, bet_above, new_state
from surest.kernels import lists
from surest_verify import verify


def test_decisions_of_the_second_version_are_valid() -> None:
    """They had no predictions, and nothing of what the first line has had since."""
    for seed in range(3):
        lines = lines_of(known_gate(seed, predict=False, history=None))
        lines[0] = {name: value for name, value in lines[0].items() if name not in verifier.KNOWN_BEFORE} | {
            "version": 2
        }
        assert refusal(lines) == ""
        lines[0]["version"] = 3
        assert "does not have the fields" in refusal(lines)


def test_an_early_file_fixes_what_could_be_chosen_afterwards() -> None:
    """Bounds, δ, margin, seed and list stand in the first line, before any score is known."""
    old = {f"q{i}": float(i % 3 > 0) for i in range(60)}
    settings: dict[str, Any] = {"margin": 0.1, "delta": 0.1, "seed": "c", "bounds": (0.0, 2.0)}
    early, late = (decision_of_gate(surest.gate(old, new, **settings)).lines for new in ({}, old))
    assert len(early) == 3
    assert early[0] == late[0]
    for other in ({"bounds": (0.0, 1.0)}, {"delta": 0.2}, {"margin": 0.2}, {"seed": "d"}):
        assert decision_of_gate(surest.gate(old, old, **settings | other)).lines[0] != early[0]


def test_a_gate_whose_list_is_only_a_number_is_valid() -> None:
    gate = surest.gate([0.0, 1.0] * 40, [1.0, 1.0] * 40, items=200, shuffled=True, margin=0.1)
    assert gate.verdict == "pass"
    assert not gate.exact
    assert refusal(lines_of(gate)) == ""


@pytest.mark.parametrize("seed", range(12))
def test_the_evidence_is_the_librarys_and_never_above_the_exact_value(seed: int) -> None:
    rng = np.random.default_rng([4, seed])
    total, level, lean = int(rng.integers(4, 120)), float(rng.choice([-0.03, -0.1, 0.0])), bool(seed % 2)
    old, new = rng.integers(0, 11, (2, total)) / 10 if seed % 3 else rng.random((2, total))
    lean, size = lean and level < 0, 0 if seed % 4 == 0 else total
    pairs = [(x, y) for x, y in zip(new.tolist(), old.tolist(), strict=True)]
    mine, true = list(verifier.bets_above(pairs, size, level, 0.98, lean)), exact_wealths(pairs, size, level, lean)
    for t in range(1, total + 1):
        after, wealth = bet_above((new - old)[:t], float(size or np.inf), level, 1e300, lean)
        if after >= 0:
            break
        assert abs(log(mine[t]) - log(wealth)) < 1e-9
        assert mine[t] <= true[t]
        assert mpmath.log(true[t] / mine[t]) < 1e-12


def exact_wealths(pairs: list[tuple[float, float]], total: int, level: float, lean: bool) -> list[Any]:
    """The wealths of docs/gate.md in 50 digits. Stakes are doubles, as the rule gives them."""
    found, wealth, seen, squares, ahead = [mpmath.mpf(1)], [mpmath.mpf(1)] * 9, 0.0, 0.0, mpmath.mpf(0)
    with mpmath.workdps(50):
        for t, (x, y) in enumerate(pairs):
            m = (total * mpmath.mpf(level) - ahead) / (total - t) if total else mpmath.mpf(level)
            room, surprise = float(1 + m), mpmath.mpf(x) - mpmath.mpf(y) - m
            if 1e-9 * total < room * (total - t if total else 1) and room < 2:
                second = (squares + 1.5) / (t + 10)
                gain = seen / (t + (min(max(second / level**2, 10.0), 300.0) if lean else 10.0)) + 1 - room
                stakes = [min(max(gain, 0.0) / (second + gain**2), 0.9 / room), *(0.9 / room / 2**k for k in range(8))]
                wealth = [w * (1 + stake * surprise) for w, stake in zip(wealth, stakes, strict=True)]
            ahead, seen, squares = ahead + mpmath.mpf(x) - mpmath.mpf(y), seen + x - y, squares + (x - y) ** 2
            found.append(mpmath.mpf("0.98") * wealth[0] + mpmath.mpf("0.0025") * mpmath.fsum(wealth[1:]))
    return found


def test_what_is_certain_is_exact() -> None:
    """A difference far below the range is a difference: this passed once, for certain, at a margin of 0."""
    old, new = dict.fromkeys("abcd", 900.0), dict.fromkeys("abcd", 100.0)
    gate = surest.gate(old, new, bounds=(0, 1e13))
    lines = lines_of(gate)
    assert (gate.verdict, gate.exact, refusal(lines)) == ("fail", True, "")
    lines[-1]["claim"]["verdict"] = "pass"
    lines[-1]["words"] = verifier.sentence(lines[0], lines[-1]["claim"])
    assert "does not suffice" in refusal(lines)


@pytest.mark.parametrize("margin", [0.1, 0.3, 0.7])
def test_a_difference_that_is_the_margin_passes(margin: float) -> None:
    """Neither sums nor differences are whole numbers of anything here, and all are rounded."""
    old = {f"q{i}": 0.8 + 0.01 * (i % 7) for i in range(70)}
    gate = surest.gate(old, {item: score - margin for item, score in old.items()}, margin)
    assert (gate.verdict, gate.exact) == ("pass", True)
    assert refusal(lines_of(gate)) == ""


def test_imputed_scores_of_a_study_are_told(tmp_path: Path) -> None:
    study = surest.open_study(
        f"sqlite:///{tmp_path}/s.db", "s", ["old", "new"], items=[f"q{i}" for i in range(12)], retries=0, on_failure=1.0
    )
    while not study.finished:
        for ticket in study.ask(2):
            if ticket.label == "new":
                study.fail(ticket.id, "no answer")
            else:
                study.tell(ticket.id, 0.5)
    gate, path = surest.gate("old", "new", 0.4, 0.3, table=study), tmp_path / "gate.jsonl"
    said = verify(str(path), gate.write_decision(path))
    both = sum(old == old and new == new for _, old, new in gate.scores)
    assert f"; {both} of them were imputed, not measured" in said[-2]
    assert said[-3] == f"Events: {both} 'failed', {both} 'imputed'"
    assert gate.notes == (f"{both} items of new with a score that was not measured but imputed",)
    lines = [line for line in lines_of(gate) if line.get("what") != "imputed"]
    assert "other things were imputed" in refusal(lines)


def test_a_bet_that_has_lost_all_does_not_come_back() -> None:
    """Bets that lose a little for long: products near 1e-323 would be rounded up to what they were, and losing be free."""
    apart = np.append(np.tile([0.5, -0.5], 5_000), np.ones(1_200))
    assert np.log1p(0.9 * apart).sum() < -300  # of the boldest stake alone
    wealth = [1.0] * 9
    for d in apart.tolist():
        wealth = verifier.paid(wealth, [1 + 0.9 * d] * 9)
    assert wealth == [0.0] * 9
    alone = mutant_of(lists, ("mixed += WEIGHTS[k] * (share * state[k]", "mixed += (k == 1) * (share * state[k]"))
    assert alone.bet_above(apart, UNKNOWN, 0, np.inf, 0.0, np.inf, False, 1.0, new_state()) == (-1, 0.0)


def test_a_baseline_that_is_known_in_part_is_not_predicted_from() -> None:
    half = surest.gate(
        {f"q{i}": 1.0 for i in range(90)}, {f"q{i}": 1.0 for i in range(50)}, 0.3, items=100, shuffled=True
    )
    lines = lines_of(half)
    assert (half.share, lines[0]["predicted"], lines[0]["baseline"]) == (0.3, True, [])
    assert (half.verdict, refusal(lines)) == ("pass", "")

"""Decisions of challenges: valid as they are written; what was tampered with, or rests on a mistake, is not."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surest
import surest_verify
from decision.decisions import lines_of, refusal, table_of
from surest.errors import UsageError


def challenges(seed: int) -> list[surest.Challenge]:
    """Challenges with everything about them drawn at random, each with what is known of the champion by then."""
    rng = np.random.default_rng([41, seed])
    candidates, total, settings = int(rng.integers(3, 8)), int(rng.integers(3, 300)), dict[str, Any]()
    table, width = table_of(seed % 3, candidates, total, rng), 1.0
    if rng.random() < 0.3:
        table, width = 6 * table - 2, 6.0
        settings = {"bounds": (-2.0, 4.0), "minimise": bool(rng.random() < 0.5)}
    if rng.random() < 0.3:
        settings["budget"] = int(rng.integers(1, total))
    settings |= {"delta": float(rng.choice([0.05, 0.2])), "worth": width * float(rng.choice([0, 0.02, 0.1]))}
    champion = surest.Champion(lambda arm, item: float(table[arm, item]), range(total), seed=seed, **settings)
    return [champion.challenge(arm) for arm in range(candidates)][1:]


def test_decisions_of_every_kind_are_valid() -> None:
    kinds = Counter[tuple[Any, ...]]()
    for found in [one for seed in range(40) for one in challenges(seed)]:
        lines = lines_of(found)
        assert refusal(lines) == ""
        kinds[found.verdict, lines[-1]["claim"]["exact"], bool(lines[0]["known"])] += 1
    decided = {(verdict, exact, known) for verdict in ("promoted", "rejected") for exact in (0, 1) for known in (0, 1)}
    assert kinds.keys() >= decided | {("undecided", False, True)}


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

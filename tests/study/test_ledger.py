"""A ledger of gates: levels are spent when a gate begins, whoever writes, whatever is killed; the same order is the same gate."""

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import surest
from calling import ran
from surest.errors import UsageError
from surest.study.ledger import Ledger, share

OLD = {f"q{i}": float(i % 3 > 0) for i in range(120)}


WRITER = """
import sys
from surest.study.ledger import Ledger
book = Ledger("team.db")
for k in range(int(sys.argv[1]), int(sys.argv[1]) + 30):
    entry = book.begin(("seed", k), "settings", ("old", f"new {k}"), 0.05, str(k), resumes=False)
    entry.end("pass" if k % 2 else "fail", [[1.0, float(k)]])
"""


def test_two_writers_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "team.db"
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, first], cwd=tmp_path) for first in ("0", "100")]
    assert [writer.wait(100) for writer in writers] == [0, 0]
    rows = Ledger(path).rows()
    assert [row.number for row in rows] == list(range(1, 61))
    assert {row.seed for row in rows} == {str(k + j) for k in (0, 100) for j in range(30)}
    assert sum(row.verdict == "pass" for row in rows) == 30
    assert all(0.05 * share(row.number) <= row.level <= 0.05 * share(row.number) * row.number for row in rows)


def test_a_gate_that_is_killed_has_spent_its_level(tmp_path: Path) -> None:
    code = (
        "import os, signal, surest\n"
        "def die(item):\n    os.kill(os.getpid(), signal.SIGKILL)\n"
        "surest.gate([1.0] * 50, die, 0.1, seed='a', ledger='team.db')\n"
    )
    assert ran("-c", code, cwd=tmp_path).status == -signal.SIGKILL
    book = Ledger(tmp_path / "team.db")
    assert [(row.number, row.verdict, row.counted) for row in book.rows()] == [(1, "undecided", 0)]
    with pytest.raises(UsageError, match="another seed"):  # evaluated anew, in an order that is known by now
        surest.gate([1.0] * 50, lambda item: 1.0, 0.1, seed="a", ledger=book)
    assert surest.gate([1.0] * 50, lambda item: 1.0, 0.1, seed="b", ledger=book).level == 0.05 * share(2)


def test_the_same_order_is_the_same_gate_as_long_as_its_scores_are(tmp_path: Path) -> None:
    book = Ledger(tmp_path / "team.db")
    order = [name for name, *_ in surest.gate(OLD, {}, seed="c").scores]

    def look(count: int, **more: Any) -> surest.Gate:
        settings: dict[str, Any] = {"margin": 0.1, "seed": "c", "ledger": book, **more}
        return surest.gate(OLD, {name: OLD[name] for name in order[:count]}, **settings)

    levels = [look(count).level for count in (0, 5, 40, 120)]
    assert len(set(levels)) == 1
    (row,) = book.rows()
    assert (row.verdict, row.counted, row.level) == ("pass", 120, levels[0])
    for wrong in ({"margin": 0.2}, {"minimise": True}, {"equivalent": 0.1, "margin": 0.0}):
        with pytest.raises(UsageError, match="and other settings"):
            look(10, **wrong)
    with pytest.raises(UsageError, match="other scores on the same items"):
        surest.gate(OLD, dict.fromkeys(order, 1.0), 0.1, seed="c", ledger=book)
    for seed in "cd":
        with pytest.raises(UsageError, match=r"is for 0\.05; a ledger has one delta$"):
            look(10, seed=seed, delta=0.1)
    with pytest.raises(UsageError, match="give a seed"):
        surest.gate(OLD, OLD, 0.1, ledger=book)
    assert len(book.rows()) == 1


def test_a_ledger_that_is_not_there_is_not_made_by_looking_at_it(tmp_path: Path) -> None:
    for name in ("team.db", "sqlite:///team.db"):
        said = ran("-m", "surest", "gate", "--ledger", name, "--show", cwd=tmp_path)
        assert (said.status, "there is no ledger team.db" in said.err) == (2, True)
    assert list(tmp_path.iterdir()) == []


def test_a_pass_needs_the_level_and_a_failure_delta(tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path}/s.db"
    surest.open_study(storage, "s", ["a", "b"])  # a ledger may be in the storage of studies
    alone, booked = (surest.gate(OLD, OLD.get, 0.1, seed="e", ledger=ledger) for ledger in (None, storage))
    assert booked.items_counted > alone.items_counted
    assert f"wrong with probability at most {booked.level:.4g}" in str(booked)
    assert booked.notes[-1].startswith(f"gate 1 of {storage}: it passes at level 0.0247")
    assert booked.write_decision(tmp_path / "d.jsonl")
    assert ran("-m", "surest_verify", tmp_path / "d.jsonl").status == 0
    worse = dict.fromkeys(OLD, 0.0)
    alone, booked = (surest.gate(OLD, worse.get, 0.1, seed="f", ledger=ledger) for ledger in (None, storage))
    assert booked.items_counted == alone.items_counted
    assert [row.verdict for row in Ledger(storage).rows()] == ["pass", "fail"]
    assert surest.open_study(storage, "s").status().told == 0


@pytest.mark.parametrize("how", [{"shuffled": True}, {"target": "population"}])
def test_a_list_that_may_grow_has_no_ledger(tmp_path: Path, how: dict[str, Any]) -> None:
    """Each look at it would be a gate of its own, on items that counted before."""
    scores = {f"q{i}": float(i % 2) for i in range(40)}
    with pytest.raises(UsageError, match="a ledger requires"):
        surest.gate(scores, scores, ledger=tmp_path / "ledger.db", **how)
    assert not (tmp_path / "ledger.db").exists()


def test_a_seed_serves_one_list(tmp_path: Path) -> None:
    """The same seed puts lists that are nearly as long in nearly the same order, which is known once a gate has begun."""
    book, longer = Ledger(tmp_path / "team.db"), {**OLD, "another": 1.0}
    halves = [{item for _, item in surest.gate(row, {}, seed="c").wanted[:60]} for row in (OLD, longer)]
    assert len(halves[0] & halves[1]) > 40, "were they independent, some 30"
    surest.gate(OLD, {}, seed="c", ledger=book)
    with pytest.raises(UsageError, match="had the seed 'c' for a list of another length"):
        surest.gate(longer, {}, seed="c", ledger=book)
    assert [row.seed for row in book.rows()] == ["c"]
    assert surest.gate(longer, {}, seed="d", ledger=book).level == 0.05 * share(2)

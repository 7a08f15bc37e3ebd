"""A ledger of gates, whoever writes, and whatever is killed. `pages/ledgers.txt` has what it says."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

import surest
from calling import ran
from surest.errors import UsageError
from surest.study.ledger import Ledger, share

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

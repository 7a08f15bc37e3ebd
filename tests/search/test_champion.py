"""A champion that is killed. `pages/champions.txt` has what is said of champions and their challengers."""

import signal
from pathlib import Path

import pytest

import surest
from calling import ran
from surest.errors import UsageError
from surest.study.ledger import Ledger, share

KILLED = """
import os, signal, surest
calls = 0
def score(candidate, item):
    global calls
    calls += 1
    if calls > 21:
        os.kill(os.getpid(), signal.SIGKILL)
    return float(candidate["rate"] > item % 7 / 7)
champion = surest.Champion(score, range(300), storage="c.db", worth=0.05)
champion.challenge({"rate": 0.5})
champion.challenge({"rate": 0.9})
"""


def test_a_kill_loses_neither_champion_nor_scores_nor_the_level_spent(tmp_path: Path) -> None:
    assert ran("-c", KILLED, cwd=tmp_path).status == -signal.SIGKILL
    calls = []

    def again(candidate: dict[str, float], item: int) -> float:
        calls.append((candidate["rate"], item))
        return float(candidate["rate"] > item % 7 / 7)

    champion = surest.Champion(again, range(300), storage=tmp_path / "c.db", worth=0.05)
    assert champion.best == {"rate": 0.5}
    before = champion.known
    assert len(before) == 10
    found = champion.challenge({"rate": 0.9})
    assert (found.number, found.level, found.promoted) == (2, 0.05 * share(2), True)
    assert not {item for rate, item in calls if rate == 0.5} & set(before)
    other = surest.Champion(again, range(300), storage=f"sqlite:///{tmp_path}/c.db")
    assert (other.best, other.known) == ({"rate": 0.9}, champion.known)
    assert [row.verdict for row in Ledger(tmp_path / "c.db").rows()] == ["undecided", "pass"]
    for wrong in ({"items": range(299)}, {"delta": 0.1}, {"bounds": (0, 2)}):
        with pytest.raises(UsageError, match=f"has other {next(iter(wrong))}"):
            surest.Champion(again, **{"items": range(300), **wrong}, storage=tmp_path / "c.db")
    with pytest.raises(UsageError, match="not plain data"):
        other.challenge(object())

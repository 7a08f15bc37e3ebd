"""A champion and its challengers on several workers, and when it is killed. `pages/champions.txt` has what is said of them."""

import asyncio
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import surest
from calling import ran
from surest.errors import UsageError
from surest.study.ledger import Ledger, share

ITEMS = [f"q{i}" for i in range(400)]


def score(candidate: Any, item: str) -> float:
    """Right on a share of the items."""
    return float((int(item[1:]) * 0.618) % 1 < candidate)


def test_async_and_executors_find_the_same_in_batches() -> None:
    async def slowly(who: float, item: str) -> float:
        await asyncio.sleep(0)
        return score(who, item)

    async def all_of() -> list[surest.Challenge]:
        champion = surest.Champion(slowly, ITEMS, worth=0.05, seed=1, in_flight=7)
        return [await champion.achallenge(who) for who in (0.5, 0.3, 0.8)]

    awaited = asyncio.run(all_of())
    with ThreadPoolExecutor(3) as pool:
        pooled = surest.Champion(score, ITEMS, worth=0.05, seed=1, in_flight=7, executor=pool)
        alone = surest.Champion(score, ITEMS, worth=0.05, seed=1)
        for other, who in zip(awaited, (0.5, 0.3, 0.8), strict=True):
            one, two = alone.challenge(who), pooled.challenge(who)
            assert one.verdict == two.verdict == other.verdict
            assert one.items_counted == two.items_counted == other.items_counted
            assert one.evaluations <= two.evaluations == other.evaluations
    with pytest.raises(UsageError, match="achallenge"):
        surest.Champion(slowly, ITEMS).challenge(0.5)
    with pytest.raises(UsageError, match=r"champion\.challenge"):
        asyncio.run(surest.Champion(score, ITEMS).achallenge(0.5))


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

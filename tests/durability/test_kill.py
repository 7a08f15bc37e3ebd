"""SIGKILL at random moments loses nothing, counts nothing twice, and changes nothing of what the study comes to."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
import support

from surest.study.study import open_study


@pytest.mark.parametrize("long", [False, pytest.param(True, marks=(pytest.mark.slow, pytest.mark.timeout(1800)))])
def test_kills(storage: str, tmp_path: Path, long: bool) -> None:
    times = 10 if not long else 200 if storage.startswith("sqlite") else 50
    acknowledged = tmp_path / "acknowledged"
    longest = 0.06 if storage.startswith("sqlite") else 0.15  # seconds until the kill
    rounds = 8 * times  # of some seven rewards each; a worker stops after 16, so that none ends before it is killed
    killed = int(support.finish(support.python("kills", storage, acknowledged, times, longest, rounds)))
    study = open_study(storage, "s")
    rewards = support.rewards_of(study)
    told = [line.split() for line in acknowledged.read_text().splitlines()]
    assert len({ticket for ticket, _ in told}) == len(told), "a ticket was acknowledged twice"
    assert all(rewards[int(ticket)] == float(reward) for ticket, reward in told), "an acknowledged reward was lost"
    assert study.finished
    replayed = study.session(record=True)
    assert replayed.running.pulls == len(rewards)
    assert support.transcript(replayed) == support.transcript(support.undisturbed(study, rewards))
    if storage.startswith("sqlite"):
        with closing(sqlite3.connect(tmp_path / "study.db")) as base:
            assert base.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert killed == times, "a kill came after the end"
    # Where the kills hit: between an ask and its tell, and between a reward's commit and its acknowledgement.
    orphans = sum(of.get("retried", 0) for of in study.health().values())
    unacknowledged = len(rewards) - len(told)
    kind = storage.partition(":")[0]
    print(
        f"{kind}: {killed} kills, {len(rewards)} rewards, {orphans} tickets orphaned, {unacknowledged} told but not acknowledged"
    )
    assert orphans >= times // 4, "each fourth kill comes between an ask and its tell"

"""Whoever works on a study, through whatever door, and whoever is killed: it comes to the course of one worker."""

import contextlib
import json
import random
import sqlite3
import time
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
import support
from support import ASKED, reward_of

from asking import answered, transcript
from surest.errors import TicketError
from surest.search.session import Session
from surest.search.tickets import Ticket
from surest.study.study import Study, open_study
from surest.study.transfer import import_study
from visiting import serving
from waiting import together

LONG = (pytest.mark.slow, pytest.mark.timeout(1800))
MANY = [pytest.param(workers, 40, marks=LONG) for workers in (1, 2, 8, 32)]
ARMS = 3


def work(study: Study, chance: random.Random) -> None:
    """Tell rewards in any order; let some evaluations fail, and some never come back."""
    held: list[Ticket] = []
    while not study.finished:
        held += study.ask(chance.randrange(1, 6))
        if not held:
            time.sleep(0.02)  # until a lease runs out
        chance.shuffle(held)
        for _ in range(chance.randrange(len(held) + 1)):
            ticket, fate = held.pop(), chance.random()
            with contextlib.suppress(TicketError):
                if fate < 0.1:
                    study.fail(ticket.id, "no luck")
                elif fate < 0.9:
                    study.tell(ticket.id, reward_of(ticket))


@pytest.mark.parametrize("kind", ASKED)
def test_the_course_is_that_of_one_worker_whatever_comes_when(storage: str, kind: str) -> None:
    """Three work at once, one of them here and two through a service each."""
    study = open_study(storage, "s", ARMS, lease_seconds=0.3, **ASKED[kind])
    with serving(storage) as one, serving(storage) as two:
        doors = enumerate((storage, one, two))
        together(*(partial(work, open_study(door, "s"), random.Random(number)) for number, door in doors))
    course = transcript(study.session(record=True).running)
    assert course == transcript(answered(Session(ARMS, record=True, **ASKED[kind]), reward_of).running)
    assert study.result().evaluations == study.status().told >= study.result().pulls
    assert study.health()
    again = open_study(storage, import_study(storage, json.dumps(study.export()), "again"))
    assert (transcript(again.session(record=True).running), again.ask(5)) == (course, [])


def check_acknowledged(study: Study, logs: list[Path]) -> tuple[int, int]:
    """Nothing that was acknowledged is lost or was told twice. How many rewards there are, and were acknowledged."""
    told = [line.split() for log in logs for line in log.read_text().splitlines()]
    rewards = support.rewards_of(study)
    assert len({ticket for ticket, _ in told}) == len(told), "a ticket was acknowledged twice"
    assert all(rewards[int(ticket)] == float(reward) for ticket, reward in told), "an acknowledged reward was lost"
    assert study.finished
    support.check_course(study)
    return len(rewards), len(told)


@pytest.mark.parametrize("long", [False, pytest.param(True, marks=LONG)])
@pytest.mark.parametrize("kind", ["pulls", "queues"])
def test_kills(storage: str, tmp_path: Path, kind: str, long: bool) -> None:
    """SIGKILL at random moments loses nothing, counts nothing twice, and changes nothing of what the study comes to."""
    times = 10 if not long else 200 if storage.startswith("sqlite") else 50
    acknowledged = tmp_path / "acknowledged"
    longest = 0.06 if storage.startswith("sqlite") else 0.15  # seconds until the kill
    rounds = 4 * times  # of some seven rewards each; a worker stops after 16, so that none ends before it is killed
    killed = int(support.finish(support.python("kills", storage, acknowledged, times, longest, kind, rounds)))
    study = open_study(storage, "s")
    rewards, told = check_acknowledged(study, [acknowledged])
    if storage.startswith("sqlite"):
        with closing(sqlite3.connect(tmp_path / "study.db")) as base:
            assert base.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert killed == times, "a kill came after the end"
    # Where the kills hit: between an ask and its tell, and between a reward's commit and its acknowledgement.
    orphans = sum(of.get("retried", 0) for of in study.health().values())
    print(f"{killed} kills, {rewards} rewards, {orphans} tickets orphaned, {rewards - told} told but not acknowledged")
    assert orphans >= times // 4, "each fourth kill comes between an ask and its tell"


@pytest.mark.parametrize(("workers", "rounds"), [(4, 12), *MANY])
def test_processes_share_a_study(storage: str, tmp_path: Path, workers: int, rounds: int) -> None:
    logs = [tmp_path / f"acknowledged-{i}" for i in range(workers)]
    for process in [support.python("work", storage, log, rounds) for log in logs]:
        support.finish(process)
    study = open_study(storage, "s")
    rewards, told = check_acknowledged(study, logs)
    assert (rewards, study.health()) == (told, {}), "a ticket was lost"


@pytest.mark.parametrize("rounds", [2, pytest.param(100, marks=LONG)])
def test_eight_processes_open_a_new_database_at_once(
    storage: str, tmp_path: Path, rounds: int, request: pytest.FixtureRequest
) -> None:
    urls = "-"
    if not storage.startswith("sqlite"):
        server: support.Server = request.getfixturevalue("server")
        made = [server.database(f"{tmp_path.parent.name}-{tmp_path.name}-{i}") for i in range(rounds)]
        urls = str(tmp_path / "urls")
        Path(urls).write_text("\n".join(made))
    assert int(support.finish(support.python("openers", tmp_path, rounds, 8, urls))) == 0

"""An executor at work on a study."""

import os
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import surest
from surest import open_study
from surest.core.procedure import Running
from surest.errors import EvaluationError, RewardError, Stop
from surest.search.desk import Desk
from surest.search.executor import drive
from surest.search.session import Ticket
from surest.study.memory import MemoryStore
from surest.study.sql import SqlStore
from surest.study.study import Study
from surest.study.workers import own_name
from waiting import until

LEASE = 40.0


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return open_study(f"sqlite:///{tmp_path}/s.db", "s", ["a", "b"], 0.2, seed=1, batch=4, lease_seconds=LEASE)


def test_what_was_told_or_failed_is_not_held_here_any_more(study: Study) -> None:
    """A worker that lasts asks for millions of tickets."""
    first, second = study.ask(2, "ann")
    study.tell(first.id, 0.5)
    study.fail(second.id, "no reason")
    assert not study._holders


def test_workers_lengthen_the_leases_of_what_is_under_way(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    renewed: list[list[int]] = []
    monkeypatch.setattr("surest.search.desk.RENEWALS", 10 * LEASE)
    monkeypatch.setattr(Study, "renew", lambda study, numbers: renewed.append(numbers))

    def arm(ticket: Ticket) -> float:
        if ticket.id == 0:
            until(lambda: [0] in renewed, "the lease of the one evaluation under way is lengthened")
        return ticket.arm

    with ThreadPoolExecutor(2) as pool:
        drive(Desk(study), lambda ticket: (arm, ticket), pool, 2)
    assert [0] in renewed
    assert (study.health(), study.result().best) == ({}, "b")


def test_the_tickets_of_ended_processes_are_handed_out_at_once_and_those_of_others_are_not(study: Study) -> None:
    heard, told = os.pipe()
    ended = os.fork()
    if ended == 0:
        os.write(told, own_name().encode())
        os._exit(0)
    theirs = os.read(heard, 500).decode()
    os.waitpid(ended, 0)
    os.close(heard)
    os.close(told)
    in_another_container = f"{theirs[:-8]}{int(theirs[-8:], 16) ^ 1:08x}"
    for name in (theirs, own_name(), in_another_container, f"elsewhere{theirs}", f"{socket.gethostname()}:{ended}"):
        study.ask(1, name)
    study.renew([])
    assert [ticket.id for ticket in study.ask(10)] == [0]
    assert study.health() == {"a": {"expired": 1, "retried": 1}}


def test_whatever_ends_the_work_its_tickets_are_given_back(study: Study) -> None:
    def stop(running: Running[object]) -> None:
        if study.status().told >= 3:
            raise Stop("enough")

    with ThreadPoolExecutor(1) as pool:
        with pytest.raises(Stop):
            drive(Desk(study, on_request=stop), lambda t: (time.sleep, 0.3) if t.id > 2 else (float, 1), pool, 3)
        assert study.status().out == 0
        with pytest.raises(RewardError):
            drive(Desk(study), lambda t: (float, 7), pool, 1)
        assert study.status().out == 0
        with pytest.raises(EvaluationError, match="failed 2 times"):
            drive(Desk(study, retries=1), lambda t: (float, "x"), pool, 1)
        assert (study.status().out, study.status().told) == (0, 3)


def test_what_ends_together_is_written_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores that have ended, and the next ask, are one transaction."""
    written, writing = [], SqlStore.writing

    def counted(store: SqlStore, **how: bool) -> Any:
        written.append(store)
        return writing(store, **how)

    monkeypatch.setattr(SqlStore, "writing", counted)
    kept = {"storage": f"sqlite:///{tmp_path}/s.db", "name": "s"}
    with ThreadPoolExecutor(8) as pool:
        arms = {"a": lambda item: item % 2, "b": lambda item: (item + 1) % 2}
        result = surest.evaluate(arms, range(60), executor=pool, in_flight=8, seed=1, **kept)
    table = surest.open_study(**kept).session().result(items=range(60)).table
    assert result.evaluations == sum(map(len, table.values()))
    assert len(written) <= result.evaluations


def test_quick_evaluations_share_a_transaction_and_slow_ones_take_no_more_than_they_need(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    study = open_study(MemoryStore(), "quick", ["a", "b"], 0.1, algorithm="naive-best-arm", seed=1)
    exchange, now, asked = study.exchange, [0.0], []

    def slowly(told, k: int):
        now[0] += 1.0
        asked.append((len(told), k))
        return exchange(told, k)

    monkeypatch.setattr("surest.search.desk.time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(study, "exchange", slowly)
    desk = Desk(study)
    for seconds in [0.0] * 6 + [5.0] * 6:
        now[0] += seconds
        for ticket in desk.ask(4):
            desk.tell(ticket, 0.5)
    assert asked == [(0, 4), (4, 8), (8, 12), (12, 16), (16, 4), (4, 4)]
    desk.give_back([])
    progress = study.status()
    assert (progress.told, progress.out) == (48, 0)

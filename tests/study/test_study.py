"""Studies: what is refused, what is handed out again, what is counted, and what another process sees."""

import json
import os
import shutil
import signal
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surest
from asking import answered
from calling import ran
from pages import same_as_kept
from surest.algorithms import REGISTRY, Entry, Task
from surest.core.protocol import Answer, Procedure, Pull, Statistic
from surest.errors import StorageError, TicketError, TranscriptError
from surest.report.page import to_html
from surest.report.report import report_of_study
from surest.study.sql import VERSION_TABLE
from surest.study.study import Study, delete_study, list_studies, open_study
from surest.study.transfer import import_study
from surest.study.workers import own_name
from visiting import serving

ROOT = Path(__file__).parents[2]


def leader_of_all(task: Task, rounds: int = 4) -> Procedure[Answer]:
    """Pull every arm there is twice a round; the best mean wins. It heeds arrivals."""
    sums = np.zeros(0)
    for _ in range(rounds):
        n = len(task.arms) + sum(task.arrivals)
        sums = np.append(sums, np.zeros(n - len(sums)))
        sums += yield Pull(np.arange(n), 2, Statistic.MEAN)
    return Answer(int(sums.argmax()))


def toy(start: Callable[..., Procedure[Answer]], name: str = "toy", growing: bool = False) -> Entry:
    facts = {"goal": "best arm", "standing": "heuristic", "reference": "tests", "summary": "", "options": None}
    return Entry(name=name, start=start, growing=growing, **facts)


@pytest.fixture(autouse=True)
def toys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, growing in (("toy", False), ("growing-toy", True)):
        monkeypatch.setitem(REGISTRY, name, toy(leader_of_all, name, growing))


@pytest.fixture
def storage(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/study.db"


def moved(storage: str, seconds: float) -> None:
    """As if every lease had been given earlier."""
    with closing(sqlite3.connect(storage.removeprefix("sqlite:///"))) as base, base:
        base.execute("UPDATE surest_tickets SET lease = lease - ? WHERE lease > 0", [seconds])


@pytest.mark.parametrize("page", sorted(Path(__file__).parent.glob("doors/*.txt")), ids=lambda page: page.stem)
@pytest.mark.parametrize("door", ["sqlite", "http"])
def test_a_study_is_used_in_the_same_way_at_every_door(
    page: Path, door: str, storage: str, request: pytest.FixtureRequest
) -> None:
    """In a database, or through a service on it."""
    make(storage)
    with serving(storage) if door == "http" else nullcontext(storage) as where:

        def fresh() -> str:
            """The store, without the studies of earlier parts."""
            for study in list_studies(storage):
                delete_study(storage, study.name)
            return where

        instead = {"sqlite:///…/study.db": "WHERE", where: "WHERE", own_name(): "WORKER"}
        instead |= {") any more": ")", " (arm 'b')": ""}
        tools = {"surest": surest, "answered": answered, "to_html": to_html, "report_of_study": report_of_study}
        names = {**globals(), **tools, "fresh": fresh, "move_time": partial(moved, storage)}
        same_as_kept(page, request, names=names, instead=instead)


def make(storage: str, **settings: Any) -> Study:
    return open_study(storage, "s", ["a", "b"], 0.1, **{"algorithm": "toy", "seed": 1, **settings})


def answer(study: Study, k: int = 1) -> None:
    for ticket in study.ask(k):
        study.tell(ticket.id, 0.9 if ticket.label == "b" else 0.1)


def test_rewards_are_told_by_number_from_another_process(storage: str) -> None:
    study = make(storage)
    (ticket,) = study.ask()
    # The toy algorithm is unknown there: telling needs none.
    code = f"import surest; surest.open_study({storage!r}, 's').tell({ticket.id}, 0.25)"
    assert ran("-c", code).status == 0
    assert study.status().told == 1
    study.tell(ticket.id, 0.25)  # again, and harmless
    with pytest.raises(TicketError, match=r"already told 0.25 .* cannot become 0.5"):
        study.tell(ticket.id, 0.5)


def test_what_is_refused(storage: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    documents, elsewhere = {}, f"sqlite:///{tmp_path}/elsewhere.db"
    for algorithm in ("toy", "growing-toy"):
        study = open_study(storage, algorithm, ["a", "b"], 0.1, algorithm=algorithm, seed=1)
        for tickets in (4, 1):
            answer(study, tickets)
        documents[algorithm] = json.dumps(study.export())

    def made(**wrong: Any) -> Study:
        return open_study(storage, **{"name": "t", "arms": ["a", "b"], "delta": 0.1, "algorithm": "toy", **wrong})

    def imported(change: str, algorithm: str = "toy") -> str:
        exec(change, {"d": (document := json.loads(documents[algorithm]))})
        return import_study(elsewhere, json.dumps(document))

    names = {"made": made, "imported": imported}
    same_as_kept(Path(__file__).with_name("refused.txt"), request, names=names, mistaken=True)
    assert [study.name for study in list_studies(storage)] == ["growing-toy", "toy"]
    assert not (tmp_path / "elsewhere.db").exists()


def test_tables_of_the_first_version_become_those_of_a_new_file_and_of_a_newer_one_are_left_alone(
    storage: str, tmp_path: Path
) -> None:
    make(storage)
    shutil.copy(ROOT / "tests/durability/fixtures/v1.sqlite", tmp_path / "old.db")
    assert list_studies(f"sqlite:///{tmp_path}/old.db")
    files = [storage.removeprefix("sqlite:///"), f"{tmp_path}/old.db"]
    one, other = (schema_of(path) for path in files)
    assert one == other
    assert {"surest_packs", "surest_snapshots"} < {*one}
    with closing(sqlite3.connect(files[0])) as connection, connection:
        connection.execute(f"UPDATE {VERSION_TABLE} SET version_num = '9999'")
    with pytest.raises(StorageError, match="newer surest"):
        open_study(storage, "s")


def schema_of(path: str) -> dict[str, Any]:
    how = "SELECT name, sql LIKE '%WITHOUT ROWID%', sql LIKE '%AUTOINCREMENT%' FROM sqlite_master ORDER BY name"
    with closing(sqlite3.connect(path)) as connection:
        kinds = connection.execute(how).fetchall()
        columns = {row[0]: sorted(connection.execute(f"PRAGMA table_info({row[0]})"), key=str) for row in kinds}
        return {row[0]: (row[1:], sorted(c[1:] for c in columns[row[0]])) for row in kinds}


def test_another_version_of_the_algorithm_is_noticed(storage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    study = make(storage)
    answer(study, 4)

    def other(task: Task) -> Procedure[Answer]:
        yield Pull(task.arms, 3, Statistic.MEAN)
        return Answer(0)

    monkeypatch.setitem(REGISTRY, "toy", toy(other))
    with pytest.raises(TranscriptError, match="the log says"):
        open_study(storage, "s").status()


def test_arms_that_others_added_are_not_overlooked(storage: str) -> None:
    """A reader that replays past a request before it sees the arms that came with it begins anew."""
    study = make(storage, algorithm="growing-toy")
    reader = open_study(storage, "s")
    answer(study, 4)
    assert reader.status().told == 4  # the first request is answered
    with study.store.writing() as log:  # as a transaction that began before the last reward does
        log.add_arms(study.id, ["c"], 2, 4)
    tickets = reader.ask(10)
    assert [ticket.label for ticket in tickets] == ["a", "a", "b", "b", "c", "c"]
    reader.fail(tickets[-1].id, "no")
    assert (study.health(), study.status().health) == ({"c": {"failed": 1}}, {"c": {"failed": 1}})
    assert study.labels == ("a", "b", "c")


def test_a_forked_child_does_not_wait_for_a_lock_of_its_parent(storage: str) -> None:
    study = make(storage)
    answer(study, 3)
    held, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with study._lock:
            held.set()
            leave.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    child = os.fork()
    if child == 0:
        signal.alarm(200)
        try:
            os._exit(0 if study.status().told == 3 and study.ask() else 1)
        finally:
            os._exit(2)
    leave.set()
    thread.join()
    assert (os.waitpid(child, 0)[1], study.status().told) == (0, 3)


def test_to_ask_and_tell_imports_little(storage: str) -> None:
    code = (
        "import sys; from surest.study.study import open_study\n"
        f"s = open_study({storage!r}, 's', ['a', 'b'], 0.1, algorithm='naive-best-arm')\n"
        "(t,) = s.ask(); s.tell(t.id, 0.5)\n"
        "print([name for name in ('asyncio', 'psycopg', 'surest.report', 'surest.study.transfer') if name in sys.modules])"
    )
    assert ran("-c", code).out == "[]\n"

"""A look at a study uses what the last replay said, and only as long as a replay would say the same."""

import json
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from surest.core.procedure import Running
from surest.core.session import Ticket
from surest.errors import Stop, StorageError
from surest.study import following, snapshot
from surest.study.study import Study, open_study
from surest.study.work import work_on

SETTINGS = {"algorithm": "naive-best-arm", "seed": 1}


class Replayed(Exception):
    """The log was replayed."""


@pytest.fixture
def storage(tmp_path: Path) -> str:
    """A study with one request answered and the next one under way."""
    storage = f"sqlite:///{tmp_path}/s.db"
    study = open_study(storage, "s", 20, 0.05, **SETTINGS)  # type: ignore[arg-type]
    request = study.running.request
    assert request is not None
    first = request.total
    assert first >= snapshot.LEAST
    told(study, first)
    told(study, 10)
    return storage


def told(study: Study, number: int) -> None:
    """Evaluate so many tickets."""
    tickets = study.ask(number)
    assert len(tickets) == number
    study.tell_all(tickets, [(ticket.id * 7919 % 101 + ticket.arm) / 121 for ticket in tickets])


@pytest.fixture
def no_replay(storage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise Replayed

    monkeypatch.setattr(following.Pulls, "_caught_up", refuse)


def said(study: Study) -> str:
    return json.dumps({**study.status().to_json(), "per_second": 0, "seconds_left": 0})


def test_a_snapshot_says_what_a_replay_says(storage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from_snapshot, exported = said(open_study(storage, "s")), open_study(storage, "s").export()
    monkeypatch.setattr(snapshot, "LEAST", 10**9)  # no study is so long
    assert from_snapshot == said(open_study(storage, "s"))
    assert exported == open_study(storage, "s").export()


@pytest.mark.usefixtures("no_replay")
def test_a_look_needs_no_replay(storage: str) -> None:
    study = open_study(storage, "s")
    before = study.status()
    told(study, 5)
    after = study.status()
    assert (after.told, after.request_left) == (before.told + 5, before.request_left - 5)
    assert study.export()["result"]["pulls"] == before.result.pulls


@pytest.mark.usefixtures("no_replay")
def test_an_answered_request_is_replayed(storage: str) -> None:
    study = open_study(storage, "s")
    told(study, study.status().request_left)
    with pytest.raises(Replayed):
        study.status()


def test_who_has_replayed_the_log_spares_others_a_replay(storage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    study = open_study(storage, "s")
    assert not study.finished  # a replay
    left = study.status().request_left
    told(study, left)  # the last of them keeps a snapshot
    monkeypatch.setattr(following.Pulls, "_caught_up", lambda *_: pytest.fail("the log was replayed"))
    assert open_study(storage, "s").status().result.pulls > left


def test_a_worker_that_ends_spares_others_a_replay(storage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def arm(ticket: Ticket) -> tuple[object, ...]:
        return (float, (ticket.id * 7919 % 101 + ticket.arm) / 121)

    def stop(running: Running[object]) -> None:
        if running.pulls > before:
            raise Stop

    study = open_study(storage, "s")
    before = study.running.pulls
    left = study.status().request_left - 3
    told(study, left)
    monkeypatch.setattr(following, "LARGE", 10**9)  # so that only its end keeps a snapshot
    with ThreadPoolExecutor(1) as pool, pytest.raises(Stop):
        work_on(study, arm, pool, in_flight=1, on_request=stop)
    monkeypatch.setattr(following.Pulls, "_caught_up", lambda *_: pytest.fail("the log was replayed"))
    assert open_study(storage, "s").status().result.pulls > before


@pytest.mark.usefixtures("no_replay")
@pytest.mark.parametrize("what", ["code", "settings"])
def test_other_code_and_other_settings_replay(storage: str, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    study = open_study(storage, "s")
    if what == "code":
        monkeypatch.setattr(snapshot, "code_digest", lambda: "other")
    else:
        monkeypatch.setattr(type(study.settings), "text", lambda _: "other")
    with pytest.raises(Replayed):
        study.status()


def test_a_damaged_snapshot_is_noticed(storage: str) -> None:
    with sqlite3.connect(storage.removeprefix("sqlite:///")) as connection:
        connection.execute("UPDATE surest_snapshots SET data = replace(data, 'true', 'false') || ' '")
    connection.close()
    with pytest.raises(StorageError, match="snapshot is not what was written"):
        open_study(storage, "s").status()


def test_a_look_keeps_a_snapshot_but_waits_for_nobody(storage: str) -> None:
    study = open_study(storage, "s")
    told(study, study.status().request_left)  # whose replay has no snapshot yet
    other = sqlite3.connect(storage.removeprefix("sqlite:///"), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    before = time.monotonic()
    open_study(storage, "s").status()
    assert time.monotonic() - before < 30  # others are waited for 120 seconds
    kept = "SELECT key FROM surest_snapshots"
    earlier = other.execute(kept).fetchall()
    other.execute("ROLLBACK")
    open_study(storage, "s").status()
    assert other.execute(kept).fetchall() != earlier
    other.close()

"""Studies: what is refused, what is handed out again, what is counted, and what another process sees."""

import json
import os
import random
import shutil
import signal
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from calling import ran
from surest.algorithms import REGISTRY, Entry, Task
from surest.core.protocol import Answer, Procedure, Pull, Statistic
from surest.errors import RewardError, StorageError, TicketError, TranscriptError, UnknownStudyError, UsageError
from surest.result.words import health_line
from surest.study.sql import VERSION_TABLE
from surest.study.study import Study, delete_study, list_studies, open_study
from surest.study.telling import Tell, carry_out
from surest.study.transfer import export_text, import_study
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


@pytest.fixture(params=["sqlite", "http"])
def anywhere(request: pytest.FixtureRequest, storage: str) -> Iterator[str]:
    """A database, or a service on it: a study is used in the same way."""
    if request.param == "sqlite":
        yield storage
    else:
        with serving(storage) as address:
            yield address


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


def test_an_expired_ticket_is_handed_out_again_and_its_leases_are_no_failures(anywhere: str, storage: str) -> None:
    study = make(anywhere, on_failure=0.0, retries=1, lease_seconds=1000)
    first, second = study.ask(2, worker="one")
    assert study.status().out == 2
    move_time(storage, 2000)
    assert study.status().waiting == 2
    assert [ticket.id for ticket in study.ask(3, worker="two")] == [first.id, second.id, 2]
    assert study.health() == {"a": {"expired": 2, "retried": 2}}
    assert health_line(study.result().health or {}) == "health: a: 2 expired, 2 retried"
    study.tell(second.id, 0.5)  # whoever comes first
    move_time(storage, 2000)
    assert study.ask()[0] == first
    study.fail(first.id, "once")
    assert study.status().told == 1  # handed out three times, failed once
    assert study.ask()[0] == first
    study.fail(first.id, "twice")
    assert (study.export()["tickets"][0][1:3], study.export()["tickets"][0][5]) == ([0.0, 4], 2)


def move_time(storage: str, seconds: float) -> None:
    """As if every lease had been given earlier."""
    with closing(sqlite3.connect(storage.removeprefix("sqlite:///"))) as base, base:
        base.execute("UPDATE surest_tickets SET lease = lease - ? WHERE lease > 0", [seconds])


def test_a_failed_evaluation_is_retried(anywhere: str) -> None:
    study = make(anywhere)
    (ticket,) = study.ask()
    study.fail(ticket.id, "out of memory \x00 \udcff")
    study.fail(ticket.id, "said twice")
    assert study.ask() == [ticket]
    study.fail(ticket.id, "again")
    assert study.ask() == [ticket]
    study.tell(ticket.id, 1)
    with pytest.raises(TicketError, match="cannot fail now"):
        study.fail(ticket.id)
    assert study.status().health == {"a": {"failed": 2, "retried": 2}}
    assert "out of memory" in study.export()["events"][0]["reason"]


def test_a_failed_evaluation_counts_as_a_stated_reward(anywhere: str) -> None:
    study = make(anywhere, on_failure=0.0)
    first, second = study.ask(2)
    for _ in range(3):
        study.fail(first.id)
        assert study.ask()[0] == first
    study.fail(first.id)  # retried three times: now it counts
    study.fail(second.id, reward=0.25)
    assert [ticket[1] for ticket in study.export()["tickets"]] == [0.0, 0.25]
    assert study.health() == {"a": {"failed": 5, "imputed": 2, "retried": 3}}
    with pytest.raises(RewardError):
        study.fail(study.ask()[0].id, reward=2)
    assert study.health()["a"]["failed"] == 5


def test_what_is_a_reward_is_kept_to_the_bit(storage: str) -> None:
    study, rewards = make(storage), [-0.0, True, np.float32(0.5), np.bool_(False), 5e-324, 1, np.int64(0)]
    for reward in rewards:
        (ticket,) = study.ask()
        study.tell(np.int64(ticket.id), reward)
    kept = [ticket[1] for ticket in open_study(storage, "s").export()["tickets"]]
    assert (kept, any(np.signbit(kept))) == ([float(reward) for reward in rewards], False)


def test_a_ticket_never_handed_out_is_refused(storage: str) -> None:
    study = make(storage)
    study.ask()
    for ticket in (-1, 1, 2**63, 10**400, "0", 0.0, None):
        with pytest.raises(TicketError, match="never handed out"):
            study.tell(ticket, 0.5)  # type: ignore[arg-type]


def test_several_rewards_are_told_together_or_not_at_all(anywhere: str) -> None:
    study = make(anywhere)
    tickets = study.ask(3)
    study.tell(tickets[1].id, 0.5)
    with pytest.raises(TicketError):
        study.tell_all(tickets, [0.1, 0.2, 0.3])
    with pytest.raises(RewardError):
        study.tell_all(tickets, [0.1, 0.5, "much"])
    assert study.status().told == 1
    study.tell_all([*tickets, tickets[0]], [0.1, 0.5, 0.3, 0.1])
    assert [ticket[1] for ticket in study.export()["tickets"]] == [0.1, 0.5, 0.3]


def test_a_study_is_opened_with_what_it_was_made_with(anywhere: str) -> None:
    study = make(anywhere, budget=12, rounds=3)
    assert open_study(anywhere, "s").settings == study.settings
    assert open_study(anywhere, "s", ["a", "b"], 0.1, budget=12, rounds=3).labels == ("a", "b")
    with pytest.raises(UsageError, match=r"made with delta 0.1, not 0.2, .*arms a, b, not a, c"):
        open_study(anywhere, "s", ["a", "c"], 0.2)
    with pytest.raises(UsageError, match="already a study 's'"):
        open_study(anywhere, "s", ["a", "b"], load_if_exists=False)
    with pytest.raises(UsageError, match=r"no study 't' .*there are s"):
        open_study(anywhere, "t")


WRONG: list[dict[str, Any]] = [
        {"delta": 2}, {"delta": float("nan")}, {"bounds": (1, 0)}, {"bounds": (-1e308, 1e308)}, {"bounds": (0, 1, 2)},
        {"budget": -1}, {"algorithm": "nonsense"}, {"lease_seconds": 0}, {"lease_seconds": float("inf")},
        {"on_failure": 7}, {"retries": -1}, {"arms": 0}, {"arms": []}, {"arms": "ab"}, {"arms": ["a", "a"]},
        {"arms": ["a", ""]}, {"arms": ["a\x00", "b"]}, {"arms": ["a", "x\n7 fake"]}, {"arms": ["a", "x\r"]},
        {"arms": ["\ud800", "b"]}, {"name": ""}, {"name": "x" * 501},
        {"name": 7}, {"seed": "x"}, {"option": object()}, {"epsilon": -1}, {"arms": {"a": 1}},
]  # fmt: skip


def test_what_no_study_can_be_made_with_is_refused_and_leaves_none(storage: str) -> None:
    make(storage)
    for wrong in WRONG:
        with pytest.raises(UsageError):
            open_study(storage, **{"name": "t", "arms": ["a", "b"], "delta": 0.1, "algorithm": "toy", **wrong})
    assert [study.name for study in list_studies(storage)] == ["s"]


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


def test_arms_are_refused_by_algorithms_that_cannot_take_them(anywhere: str) -> None:
    study = make(anywhere)
    with pytest.raises(UsageError, match="cannot take in new arms"):
        study.add_arms(["c"])
    assert open_study(anywhere, "s").labels == ("a", "b")
    assert not any(entry.growing for name, entry in REGISTRY.items() if name.endswith("best-arm"))


def test_wager_takes_in_arms_if_a_part_of_delta_was_kept_for_them(anywhere: str) -> None:
    with pytest.raises(UsageError, match="reserve"):
        open_study(anywhere, "none kept", ["a", "b"], 0.1).add_arms(["c"])
    study = open_study(anywhere, "kept", ["a", "b"], 0.1, reserve=0.1)
    chance = random.Random(3)
    while not study.finished:
        for ticket in study.ask(20):
            study.tell(ticket.id, float(chance.random() < {"a": 0.4, "b": 0.3, "c": 0.9}[ticket.label]))
        if len(study.labels) == 2 and study.status().told > 30:
            study.add_arms(["c"])
    again = open_study(anywhere, "kept").result()
    assert (again.best, again.certified) == ("c", True)


def test_arms_are_added_while_a_study_runs(anywhere: str, storage: str) -> None:
    study = make(anywhere, algorithm="growing-toy")
    other = open_study(anywhere, "s")
    answer(study, 3)
    study.add_arms(["c"])
    with pytest.raises(UsageError, match="two arms are called 'c'"):
        study.add_arms(["c"])
    answer(other, 100)  # the request under way is finished without it
    assert [ticket.label for ticket in other.ask(100)] == ["a", "a", "b", "b", "c", "c"]
    move_time(storage, 10_000)
    while not study.finished:
        answer(study)
    assert study.result().pulls_per_arm.tolist() == [8, 8, 6]
    replayed = open_study(anywhere, "s")
    assert replayed.result().pulls_per_arm.tolist() == other.result().pulls_per_arm.tolist() == [8, 8, 6]
    with pytest.raises(UsageError, match="has ended"):
        study.add_arms(["d"])
    import_study(anywhere, json.dumps(study.export()), "copy")
    assert open_study(anywhere, "copy").result().pulls_per_arm.tolist() == [8, 8, 6]


def test_an_export_is_imported_and_goes_on(anywhere: str, tmp_path: Path) -> None:
    elsewhere = f"sqlite:///{tmp_path}/elsewhere.db"
    study = make(elsewhere)
    answer(study, 4)
    answer(study)
    study.ask()
    assert json.loads(b"".join(export_text(study))) == study.export()
    import_study(anywhere, json.dumps(study.export()))
    moved = open_study(anywhere, "s")
    assert moved.status().waiting == 1
    while not moved.finished:
        answer(moved)
    assert moved.result().best == "b"
    with pytest.raises(UsageError, match="already a study"):
        import_study(anywhere, json.dumps(study.export()))


CHANGES: list[Callable[[Any], object]] = [
    lambda d: d["tickets"][0].__setitem__(1, 1.5),
    lambda d: d["tickets"][0].__setitem__(0, 1),
    lambda d: d["tickets"].pop(2),
    lambda d: d["tickets"].append([1, None, 1, "w", None]),
    lambda d: d["requests"].pop(),
    lambda d: d["requests"][0].__setitem__("total", 5),
    lambda d: d["requests"].append(d["requests"][-1]),
    lambda d: d["settings"].__setitem__("algorithm", "vd-best-arm-id"),
    lambda d: d["arms"].append({"label": "c", "added_at": 0}),
    lambda d: d["arms"].append({"label": "c", "added_at": 4}),
    lambda d: d.__setitem__("format", "surest-study-3"),
    lambda d: d["tickets"][0].__setitem__(2, 2**31 - 1),
    lambda d: d["tickets"][0].__setitem__(5, 1),
    lambda d: d["tickets"][0].__setitem__(6, 0),
    lambda d: d.__setitem__("items", [{"key": "x"}]),
    lambda d: d.__setitem__("more", 1),
]


def test_a_changed_export_is_refused(storage: str, tmp_path: Path) -> None:
    elsewhere, boundary = f"sqlite:///{tmp_path}/elsewhere.db", "in the middle of a request"
    late = [lambda d, at=at: d["arms"].append({"label": "c", "added_at": at}) for at in (1, 3, 5, 9)]
    cases = [*((change, "toy", None) for change in CHANGES), *((change, "growing-toy", boundary) for change in late)]
    documents = {}
    for algorithm in ("toy", "growing-toy"):
        study = open_study(storage, algorithm, ["a", "b"], 0.1, algorithm=algorithm, seed=1)
        answer(study, 4)
        answer(study)
        documents[algorithm] = json.dumps(study.export())
    for change, algorithm, said in cases:
        document = json.loads(documents[algorithm])
        change(document)
        with pytest.raises(UsageError, match=said):
            import_study(elsewhere, json.dumps(document))
    assert not (tmp_path / "elsewhere.db").exists()


def test_a_deleted_study_is_gone_for_all(anywhere: str, storage: str) -> None:
    study = make(anywhere)
    (ticket,) = study.ask()
    delete_study(anywhere, "s")
    with pytest.raises(UnknownStudyError):
        study.ask()
    again = make(anywhere)
    if anywhere == storage:  # a service knows studies by their names
        with pytest.raises(UsageError, match="any more"):
            study.tell(ticket.id, 0.5)
        with pytest.raises(UsageError, match="any more"):
            study.ask()
    assert again.status().told == 0
    assert [one.name for one in list_studies(anywhere)] == ["s"]
    with pytest.raises(UsageError):
        delete_study(anywhere, "t")


def test_only_who_holds_a_ticket_can_fail_it(anywhere: str, storage: str) -> None:
    study = make(anywhere, on_failure=0.0, retries=0, lease_seconds=1000)
    late, present = open_study(anywhere, "s"), open_study(anywhere, "s")
    (ticket,) = late.ask(1, "late")
    move_time(storage, 2000)
    assert present.ask(1, "present") == [ticket]
    for call in (
        lambda: late.fail(ticket.id, "too late"),
        lambda: late.fail(ticket.id, "too late", reward=0.5),
        lambda: study.fail(ticket.id, "not mine"),
        lambda: study.fail(ticket.id, "not mine", worker="late"),
    ):
        with pytest.raises(TicketError, match="only who holds a ticket can fail it"):
            call()
    assert (study.status().told, study.health()) == (0, {"a": {"expired": 1, "retried": 1}})
    present.tell(ticket.id, 0.75)
    assert study.export()["tickets"][0][1] == 0.75
    (other,) = study.ask(1, "named")
    open_study(anywhere, "s").fail(other.id, "from elsewhere", worker="named")
    assert study.export()["tickets"][1][1] == 0.0


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


def test_an_export_of_the_first_format_is_imported(storage: str) -> None:
    study = make(storage, on_failure=0.0, retries=3)
    (ticket,) = study.ask()
    study.fail(ticket.id, "no")
    document = study.export() | {"format": "surest-study-1"}
    document["tickets"] = [ticket[:5] for ticket in document["tickets"]]
    del document["items"]
    import_study(storage, json.dumps(document), "copy")
    assert open_study(storage, "copy").export()["tickets"][0][5] == 1


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


def test_who_tells_has_a_name_that_a_log_can_keep(storage: str) -> None:
    study = make(storage)
    (ticket,) = study.ask(1, "one")
    names: list[Any] = ["", "two\nlines", "\0", "\ud800", "x" * 501, 5]
    *refused, told = carry_out(
        study, [*(Tell([ticket.id], [1.0], name) for name in names), Tell([ticket.id], [0.5], "one")]
    )
    assert (["a worker's name is " in str(error) for error in refused], told) == ([True] * len(names), 1)
    with pytest.raises(UsageError, match="a worker's name is "):
        study.tell(ticket.id, 1.0, worker=names[0])


def test_options_that_somebody_else_stored_are_checked_too() -> None:
    study = open_study("memory:stored", "s", ["a", "b"], 0.1, seed=1)
    for workers in ([1], "four", None, {}, True, -1, 2.5):
        settings = {**study.settings.plain(), "options": {"workers": workers}}
        with study.store.writing() as log:
            log.add_study(f"stored {workers}", json.dumps(settings), ["a", "b"], [])
        with pytest.raises(UsageError, match="workers"):
            open_study("memory:stored", f"stored {workers}").status()


@pytest.mark.parametrize("items", [None, 5])
def test_a_paused_study_hands_out_nothing_whoever_asks(anywhere: str, items: int | None) -> None:
    study = open_study(anywhere, "s", ["a", "b"], 0.1, items=items)
    other = open_study(anywhere, "s")
    (ticket,) = study.ask()
    other.pause()
    assert study.paused
    assert study.ask(3) == []
    assert not study.finished
    study.tell(ticket.id, 0.5)
    assert study.status().told == 1, "what is out may be told"
    study.resume()
    assert not other.paused
    assert other.ask()

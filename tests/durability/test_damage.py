"""A full disk, a read-only file, a damaged database, a lost server: a clear message, and what was acknowledged is still there."""

import contextlib
import json
import random
import resource
import shutil
import sqlite3
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
import support

from calling import in_process, ran
from pages import same_as_kept
from surest.errors import StorageError, SurestError
from surest.search.session import Ticket
from surest.study.study import SOUND_SECONDS, Study, open_study

HERE = Path(__file__).parent
LONG = (pytest.mark.slow, pytest.mark.timeout(1200))


def told_study(storage: str, rewards: int = 60, name: str = "s") -> Study:
    study = open_study(storage, name, 3, 0.1, algorithm=support.TELLTALE, seed=1)
    for _ in range(rewards):
        (ticket,) = study.ask()
        study.tell(ticket.id, random.Random(ticket.id).random())
    return study


def fill(study: Study) -> tuple[list[Ticket], StorageError]:
    """Ask and tell until the disk is full; what was acknowledged, and the error."""
    acknowledged: list[Ticket] = []
    while True:
        try:
            asked = study.ask(500)
            for ticket in asked:
                study.tell(ticket.id, 0.25)
                acknowledged.append(ticket)
        except StorageError as error:
            return acknowledged, error


def test_a_database_that_may_not_grow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    storage = f"sqlite:///{tmp_path}/study.db"
    study = open_study(storage, "s", 3, 0.1, algorithm=support.TELLTALE, rounds=10**6)
    with study.store.writing() as connection:
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count={pages + 4}")
    acknowledged, error = fill(study)
    assert "no room left" in str(error)
    assert "whatever was acknowledged before is kept" in str(error)
    assert len(acknowledged) > 20
    rewards = support.rewards_of(open_study(storage, "s"))
    assert [rewards[ticket.id] for ticket in acknowledged] == [0.25] * len(acknowledged)
    with study.store.writing() as connection:  # once there is room, the same study goes on
        connection.execute(f"PRAGMA max_page_count={10 * pages}")
    told = study.status().told
    if not study.status().out:
        study.ask()
    study.tell(told, 0.75)
    assert support.rewards_of(study)[told] == 0.75


def test_a_file_size_limit(tmp_path: Path) -> None:
    code = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "sys.path[:0] = sys.argv[1:3]; import test_damage; test_damage.support.register();"
        "study = test_damage.told_study(sys.argv[3], 5);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, resource.RLIM_INFINITY));"
        "acknowledged, error = test_damage.fill(study); print(len(acknowledged)); print(error)"
    )
    storage = f"sqlite:///{tmp_path}/study.db"
    said = ran("-c", code, HERE, HERE.parent, storage)
    assert said.status == 0, said.err
    number, message = said.out.splitlines()
    assert "whatever was acknowledged before is kept" in message
    assert open_study(storage, "s").status().told == 5 + int(number)
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY


def test_a_read_only_file(tmp_path: Path) -> None:
    # root may write everywhere, until a new program begins without CAP_DAC_OVERRIDE: PR_CAPBSET_DROP is 24
    code = "import ctypes, os, sys; ctypes.CDLL(None).prctl(24, 1, 0, 0, 0); os.execv(sys.argv[1], sys.argv[1:])"
    path, storage = tmp_path / "study.db", f"sqlite:///{tmp_path}/study.db"
    told_study(storage).close()
    path.chmod(0o444)
    tmp_path.chmod(0o555)
    said = ran("-c", code, sys.executable, "-m", "surest", "study", "tell", "s", "0", "0.5", "--storage", storage)
    tmp_path.chmod(0o755)
    path.chmod(0o644)
    assert (said.status, "Traceback" in said.err) == (1, False)
    assert "read-only" in said.err or "cannot be opened" in said.err
    assert open_study(storage, "s").status().told == 60


def test_a_truncated_file(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    storage = f"sqlite:///{path}"
    told_study(storage).close()
    assert not path.with_name(path.name + "-wal").exists(), "everything is in one file"
    whole = path.read_bytes()
    told = [random.Random(i).random() for i in range(60)]
    for length in range(len(whole) - 4095, len(whole), 500):  # zeros are read in place of the rest of a page
        path.write_bytes(whole[:length])
        with contextlib.suppress(StorageError):
            assert support.rewards_of(open_study(storage, "s")) == told
        remove(path)
    for length in [1, 50, 99, 100, 1000, 4096, 5000, *range(8192, len(whole) - 4095, 4096)]:
        path.write_bytes(whole[:length])
        with pytest.raises(SurestError) as caught:
            open_study(storage, "s").status()
        assert "damaged" in str(caught.value), length
        remove(path)
    path.write_bytes(b"")
    with pytest.raises(SurestError, match="holds no studies"):
        open_study(storage, "s")


def remove(path: Path) -> None:
    for end in ("", "-wal", "-shm"):
        path.with_name(path.name + end).unlink(missing_ok=True)


def test_what_sqlite_does_not_notice_surest_does(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    path, copy = tmp_path / "study.db", tmp_path / "changed.db"
    told_study(f"sqlite:///{path}").close()

    def changed(*statements: str) -> Study:
        shutil.copy(path, copy)
        for statement in statements:
            support.change(copy, *statement.split("; "))
        return open_study(f"sqlite:///{copy}", "s")

    same_as_kept(HERE / "damage.txt", request, names={"changed": changed}, mistaken=True)


def test_a_lost_server(server: support.Server, tmp_path: Path) -> None:
    storage = server.database(tmp_path.name + "-lost")
    study = told_study(storage, 20)
    (ticket,) = study.ask()
    server.stop("immediate")
    try:
        for call in (study.ask, study.status, lambda: study.tell(ticket.id, 0.5)):
            with pytest.raises(StorageError, match="connection could not be made or was lost"):
                call()
    finally:
        server.start()
    study.tell(ticket.id, 0.5)  # the same object goes on
    rewards = support.rewards_of(study)
    assert rewards == [*(random.Random(i).random() for i in range(20)), 0.5]


def test_a_connection_cut_in_the_middle(server: support.Server, tmp_path: Path) -> None:
    import psycopg

    storage = server.database(tmp_path.name + "-cut")
    study = told_study(storage, 5)
    (ticket,) = study.ask()

    def cut_off() -> None:
        with psycopg.connect(storage, autocommit=True) as other, study.store.writing() as connection:
            own = connection.execute("select pg_backend_pid()").fetchone()[0]
            connection.execute("update surest_tickets set reward = 0.9, seal = 1 where id = 5")
            other.execute("select pg_terminate_backend(%s)", [own])
            connection.execute("select 1")

    with pytest.raises(StorageError, match="lost"):
        cut_off()
    study.tell(ticket.id, 0.1)
    assert support.rewards_of(study)[5] == 0.1


def measured(command: str, text: str) -> object:
    """What a command says that was measured or follows from it: who told something when, and how fast, are left out."""
    data = json.loads(text)
    if command == "export":
        data["tickets"] = [[*row[:3], *row[5:]] for row in data["tickets"]]
        return data
    return {key: data[key] for key in data if key not in ("per_second", "seconds_left", "seconds", "out", "waiting")}


@pytest.mark.parametrize(("rewards", "damages"), [(1_200, 25), pytest.param(3_031, 400, marks=LONG)])
def test_damage_is_told_by_whatever_shows_a_study(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], rewards: int, damages: int
) -> None:
    """Change a few bytes of a closed study, many of them where SQLite keeps the books of its pages."""
    run, path, scratch = in_process(capsys), tmp_path / "study.db", tmp_path / "damaged.db"
    study = open_study(f"sqlite:///{path}", "s", 5, 1e-9, seed=1, batch=50)
    draw, told = random.Random(3), 0
    while told < rewards:
        tickets = study.ask(rewards - told, worker="w")
        study.tell_all(tickets, [float(draw.random() < 0.5) for _ in tickets])
        told += len(tickets)
    study.status()  # which leaves a snapshot
    study.close()

    def said() -> dict[str, tuple[int, str]]:
        where = ["s", "--storage", f"sqlite:///{scratch}"]
        lines = {"export": [], "status": ["--json"], "result": ["--json"]}
        found = {command: run("study", command, *where, *more) for command, more in lines.items()}
        assert not [error for _, _, error in found.values() if "a fault of surest" in error or "Traceback" in error]
        return {command: (status, text) for command, (status, text, _) in found.items()}

    whole = path.read_bytes()
    scratch.write_bytes(whole)
    expected, noticed, refused = said(), 0, 0
    written = [place for place, byte in enumerate(whole) if byte]
    for _ in range(damages):
        changed, place = bytearray(whole), draw.randrange(len(whole))
        if draw.random() < 0.6:
            place = place // 4096 * 4096 + int(120 * draw.random() ** 2)
        match draw.randrange(4):
            case 0:  # most of a small database is empty space
                changed[draw.choice(written)] ^= 1 << draw.randrange(8)
            case 1:
                changed[place : place + draw.choice([1, 4, 16, 512])] = b""
                changed = bytearray(bytes(changed) + bytes(len(whole) - len(changed)))
            case _:
                changed[place] = draw.randrange(256)
        remove(scratch)
        scratch.write_bytes(changed)
        found = said()
        for command, (status, text) in found.items():
            before = expected[command]
            if status == before[0]:
                assert measured(command, text) == measured(command, before[1]), (command, place)
            else:
                assert status in (1, 2), command
        noticed += any(status != expected[command][0] for command, (status, _) in found.items())
        refused += found["export"][0] != 0
    assert noticed >= damages // 3, "damages that nobody could notice show nothing"
    print(f"{damages} damages: {noticed} noticed, {refused} exports refused, the rest equal, none silent")


def test_a_refused_export_leaves_the_file_as_it_was(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, path, backup = in_process(capsys), tmp_path / "study.db", tmp_path / "backup.json"
    study = told_study(f"sqlite:///{path}")
    export = ("study", "export", "s", "--storage", f"sqlite:///{path}", "--output", str(backup))
    assert run(*export)[0] == 0
    good = backup.read_bytes()
    with study.store.writing() as log:
        log.execute("DELETE FROM surest_tickets WHERE id >= 50")
        log.execute("INSERT INTO surest_tickets SELECT study, 70, arm, reward, lease, attempts, worker, told, seal, failures, "
                    "item, cost FROM surest_tickets WHERE id = 3")  # fmt: skip
    study.close()
    status, _, error = run(*export)
    assert (status, "some tickets are gone" in error, backup.read_bytes()) == (1, True, good)
    assert {file.name for file in tmp_path.iterdir() if file.suffix == ".json"} == {"backup.json"}


def test_a_study_that_stays_open_notices_later_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a service has one: its session needs nothing of what is damaged, and its connection remembers pages as they were."""
    path = tmp_path / "study.db"
    told_study(f"sqlite:///{path}").close()
    study = open_study(f"sqlite:///{path}", "s")
    assert study.status().told == 60
    with contextlib.closing(sqlite3.connect(path)) as base:
        (root,) = base.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'surest_tickets'").fetchone()
    with path.open("r+b") as file:
        file.seek(4096 * (root - 1) + 3)  # how many cells the page has
        file.write(b"\xff\xff")
    assert study.status().told == 60, "it was looked at just now"
    monkeypatch.setattr("surest.study.study.time", SimpleNamespace(monotonic=lambda: time.monotonic() + SOUND_SECONDS))
    for call in (study.status, study.result, study.export):
        with pytest.raises(StorageError, match="damaged"):
            call()

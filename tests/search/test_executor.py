"""Callables on threads and processes, and async ones: the same transcript, whatever the timing and whoever dies."""

import asyncio
import importlib
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest

import surest
from arms_for_workers import ARMS, MIDDLE, Killing, high, low, middle
from asking import transcript
from surest.errors import EvaluationError, UsageError
from surest.result.data import Result
from surest.search.call import ticket_seed
from surest.study.memory import MemoryStore
from waiting import PATIENCE, until

SETTINGS = {"seed": 5, "seeded": True, "record": True, "batch": 128}


def run(executor: Executor | Callable[[], Executor] | None, arms=ARMS, **settings) -> Result:
    return surest.identify(arms, 0.05, executor=executor, **{**SETTINGS, **settings})


def awaited(arms=ARMS, **settings) -> Result:
    """The same in tasks of an event loop, whose arms take longer for good rewards."""

    def slowly(function: Callable[[int], float]) -> Callable[[int], Awaitable[float]]:
        async def evaluation(seed: int) -> float:
            value = function(seed)
            await asyncio.sleep(0.004 * value if value and value == value else 0)
            return value

        return evaluation

    arms = {label: slowly(arm) for label, arm in arms.items()}
    return asyncio.run(surest.aidentify(arms, 0.05, **{**SETTINGS, **settings}))


def pooled(arms=ARMS, **settings) -> Result:
    with ThreadPoolExecutor(4) as pool:
        return run(pool, arms, **settings)


def kept(arms=ARMS, **settings) -> Result:
    """The same with all rewards in a study."""
    return pooled(arms, storage=MemoryStore(), name="s", **settings)


@pytest.fixture(scope="module")
def sequential() -> list[tuple[object, ...]]:
    result = run(None)
    assert (result.best, result.certified) == ("high", True)
    return transcript(result)


def test_the_order_of_completion_does_not_matter(sequential: list[tuple[object, ...]]) -> None:
    """64 in flight, good rewards come late: counted as they come, they would be another transcript."""
    finished = []

    def slow_when_good(function: Callable[[int], float]) -> Callable[[int], float]:
        def evaluation(seed: int) -> float:
            value = function(seed)
            time.sleep(0.02 * value + 0.0001 * (seed % 7))
            finished.append(seed)
            return value

        return evaluation

    with ThreadPoolExecutor(64) as pool:
        result = run(pool, {label: slow_when_good(arm) for label, arm in ARMS.items()}, in_flight=64)
    assert transcript(result) == sequential
    asked = [ticket_seed(5, ticket) for ticket in range(result.pulls)]
    assert sorted(finished) == sorted(asked)
    assert finished != asked
    assert transcript(awaited(in_flight=64)) == sequential


def test_no_more_than_in_flight_are_under_way_and_no_fewer_while_there_is_work() -> None:
    calls, under_way, most, lock = 0, 0, 0, threading.Lock()
    five = threading.Barrier(5)

    def watched(seed: int) -> float:
        nonlocal calls, under_way, most
        with lock:
            calls, under_way = calls + 1, under_way + 1
            most, early = max(most, under_way), 4 < calls <= 9  # the first request is for four
        if early:
            five.wait(PATIENCE)  # broken where there are never five at a time
        time.sleep(0.002)
        with lock:
            under_way -= 1
        return seed % 2

    with ThreadPoolExecutor(32) as pool:
        run(pool, {"a": watched, "b": watched}, in_flight=5, budget=200)
    assert most == 5
    calls, under_way, most = 0, 0, 0

    async def awaited_one(seed: int) -> float:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0.001)
        under_way -= 1
        return seed % 2

    asyncio.run(surest.aidentify([awaited_one, awaited_one], in_flight=7, budget=300, **SETTINGS))
    assert most == 7


def test_on_request_is_called_before_each_request_and_while_nothing_is_done() -> None:
    rounds = []

    def slow(seed: int) -> float:
        until(lambda: len(rounds) >= 4, "the hook is called while nothing is done")
        return low(seed)

    with ThreadPoolExecutor(2) as pool:
        result = run(pool, ARMS | {"low": slow}, on_request=lambda running: rounds.append(running.rounds))
    assert (rounds, set(rounds)) == (sorted(rounds), set(range(result.rounds)))
    assert rounds.count(0) >= 4


def test_a_broken_pool_is_replaced_where_a_function_makes_pools(
    tmp_path: Path, sequential: list[tuple[object, ...]]
) -> None:
    made = []

    def pools() -> Executor:
        made.append(ProcessPoolExecutor(2, mp_context=get_context("forkserver")))
        return made[-1]

    result = run(pools, ARMS | {"middle": Killing(tmp_path / "killed", MIDDLE)}, in_flight=8)
    assert (tmp_path / "killed").exists()
    assert (transcript(result), len(made)) == (sequential, 2)
    for pool in made:
        pool.shutdown()


def test_a_broken_pool_that_cannot_be_replaced_is_an_error_that_names_the_arms(tmp_path: Path) -> None:
    with (
        ProcessPoolExecutor(1, mp_context=get_context("forkserver")) as pool,
        pytest.raises(EvaluationError, match=r"(?s)executor broke.*'deadly'.*give a function that makes one"),
    ):
        run(pool, {"deadly": Killing(tmp_path / "killed", 0.5), "low": low}, in_flight=2)


def test_dask_workers_that_cannot_import_an_arm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that gets what it cannot load drops the connection, and Dask waits for ever: this must not come to that."""
    distributed = pytest.importorskip("distributed", reason="DASK IS NOT INSTALLED: pip install 'surest[dask]'")
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        (tmp_path / "arms_out_of_reach.py").write_text("def good():\n    return 1\n\n\ndef bad():\n    return 0\n")
        monkeypatch.syspath_prepend(tmp_path)
        module = importlib.import_module("arms_out_of_reach")
        arms = {"good": module.good, "bad": module.bad}
        with pytest.raises(UsageError, match=r"cannot load arm 'good': ModuleNotFoundError.*upload_file"):
            surest.identify(arms, executor=client.get_executor())
        client.upload_file(str(tmp_path / "arms_out_of_reach.py"))
        assert surest.identify(arms, executor=client.get_executor(pure=False), seed=1).best == "good"


FAILURES = {"OSError: connection lost": OSError("connection lost"), "SystemExit: 3": SystemExit(3)}
FAILURES |= {"the score is nan": float("nan"), "the score is nan ": np.float32("nan"), "the score is None": None}


class Flaky:
    """Fails, the first `failures` times that it is called with each seed."""

    def __init__(self, function: Callable[[int], float], failures: int, how: object) -> None:
        self.function, self.failures, self.how = function, failures, how
        self.calls: dict[int, int] = {}

    def __call__(self, seed: int) -> float:
        self.calls[seed] = self.calls.get(seed, 0) + 1
        if seed % 5 == 0 and self.calls[seed] <= self.failures:
            if isinstance(self.how, BaseException):
                raise self.how
            return self.how  # type: ignore[return-value]
        return self.function(seed)


@pytest.mark.parametrize(
    ("run_on", "said"),
    [(run_on, said) for run_on in (pooled, awaited, kept) for said in FAILURES if (run_on, said[0]) != (awaited, "S")],
)
def test_failed_evaluations_are_retried_named_or_counted(
    run_on: Callable[..., Result], said: str, sequential: list[tuple[object, ...]]
) -> None:
    how = FAILURES[said]
    result = run_on(ARMS | {"middle": Flaky(middle, 3, how)}, on_failure=0.0)
    assert (transcript(result), "imputed" in result.health["middle"]) == (sequential, False), "retries come first"
    arm = Flaky(middle, 10**9, how)
    with pytest.raises(EvaluationError, match=rf"arm 'middle': .* failed 3 times.*{said.strip()}") as caught:
        run_on(ARMS | {"middle": arm}, retries=2)
    assert isinstance(caught.value.__cause__, OSError) == isinstance(how, OSError)
    assert max(arm.calls.values()) == 3
    result = run_on(ARMS | {"high": Flaky(high, 10**9, how)}, on_failure=0.0)
    assert result.health["high"]["failed"] == 4 * result.health["high"]["imputed"] > 0
    as_zero = run(None, ARMS | {"high": lambda seed: 0.0 if seed % 5 == 0 else high(seed)})
    assert transcript(result) == transcript(as_zero)

"""Async functions as arms."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

import surest
from arms_for_workers import ARMS, low
from asking import transcript
from surest.errors import EvaluationError, RewardError
from surest.result.data import Result

SETTINGS = {"seed": 5, "seeded": True, "record": True, "batch": 128}


def run(arms: object, **settings: object) -> Result:
    return asyncio.run(surest.aidentify(arms, **{**SETTINGS, **settings}))


def delayed(function: Callable[[int], float]) -> Callable[[int], Awaitable[float]]:
    async def evaluation(seed: int) -> float:
        value = function(seed)
        await asyncio.sleep(0.004 * value)
        return value

    return evaluation


def test_the_transcript_is_that_of_the_same_functions_called_in_turn() -> None:
    result = run({label: delayed(arm) for label, arm in ARMS.items()}, in_flight=64)
    assert transcript(result) == transcript(surest.identify(ARMS, **SETTINGS))
    assert (result.best, result.certified) == ("high", True)
    assert result.seconds > 0


def test_no_more_than_in_flight_are_under_way() -> None:
    under_way, most = 0, 0

    async def watched(seed: int) -> float:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0.001)
        under_way -= 1
        return seed % 2

    run([watched, watched], in_flight=7, budget=300)
    assert most == 7


def test_failures_are_retried_then_named_or_counted() -> None:
    failed = []

    async def flaky(seed: int) -> float:
        if seed not in failed:
            failed.append(seed)
            raise TimeoutError("the judge did not answer")
        return low(seed)

    async def broken(seed: int) -> float:
        raise TimeoutError("the judge did not answer")

    steady = delayed(ARMS["high"])
    result = run({"low": flaky, "high": steady}, retries=1)
    assert transcript(result) == transcript(surest.identify({"low": low, "high": ARMS["high"]}, **SETTINGS))
    with pytest.raises(EvaluationError, match=r"arm 'broken': .*failed 4 times.*TimeoutError: the judge"):
        run({"broken": broken, "high": steady})
    assert run({"broken": broken, "high": steady}, on_failure=0).best == "high"


def test_what_is_under_way_is_cancelled_when_the_run_ends_early() -> None:
    ends = []

    async def endless(seed: int) -> float:
        try:
            await asyncio.sleep(3600)
        finally:
            ends.append(seed)
        return 0.0

    async def bad(seed: int) -> float:
        await asyncio.sleep(0.01)
        return 2.0

    with pytest.raises(RewardError, match="arm 'bad'"):
        run({"endless": endless, "bad": bad}, in_flight=4)
    assert len(ends) == 2

    begun = asyncio.Semaphore(0)

    async def announced(seed: int) -> float:
        begun.release()
        return await endless(seed)

    async def abandoned() -> None:
        run = asyncio.create_task(surest.aidentify([announced, announced], in_flight=3, **SETTINGS))
        for _ in range(3):
            await begun.acquire()
        run.cancel()
        await run

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(abandoned())
    assert len(ends) == 2 + 3

"""The front door: what it takes as arms and rewards, and what it says of what it cannot take."""

import decimal
import random
import time
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

import surest
from surest.arms.finite import bernoulli
from surest.errors import Stop
from surest.search.loading import module_of_file
from transcripts import ROOT


def coin(p: float, kind: Callable[[bool], Any] = bool, seed: int = 0) -> Callable[[], Any]:
    rng = random.Random(f"{seed} {p}")
    return lambda: kind(rng.random() < p)


@pytest.mark.parametrize("kind", [bool, int, np.bool_, np.int64, np.float16, np.uint8, np.array, decimal.Decimal])
def test_rewards_of_every_kind(kind: Callable[[bool], Any]) -> None:
    result = surest.identify({"a": coin(0.2, kind), "b": coin(0.9, kind)}, seed=1)
    assert (result.best, result.certified) == ("b", True)


@pytest.mark.parametrize(
    "arms",
    [
        [coin(0.1), coin(0.9)],
        (coin(0.1), coin(0.9)),
        MappingProxyType({0: coin(0.1), 1: coin(0.9)}),
        [[0, 0, 0, 1], [1, 1, 1, 0]],
        np.array([[False, False], [True, True]]),
        {0: np.float32([0.25]), 1: range(1, 2)},
        bernoulli([0.1, 0.9]),
        bernoulli([0.1, 0.9]).simulate(3),
    ],
    ids=["list", "tuple", "mapping", "lists", "matrix", "arrays", "simulated", "bandit"],
)
def test_arms_of_every_kind(arms: object) -> None:
    recorded = not hasattr(arms, "labels") and not callable(arms[0])
    result = surest.identify(arms, 0.1, seed=1, resample=recorded)
    assert (str(result.best), result.index, result.certified, result.resampled) == ("1", 1, True, recorded)
    assert str(result).startswith("Simulation: rewards were drawn, with replacement") == recorded
    assert result.pulls == result.pulls_per_arm.sum() > 0


def test_vectorised_arms_get_a_count() -> None:
    rng, asked = np.random.default_rng(1), []

    def arm(p: float) -> Callable[[int], Any]:
        def several(count: int) -> Any:
            asked.append(count)
            return rng.random(count) < p

        return several

    result = surest.identify([arm(0.5), arm(0.42)], vectorised=True, seed=1)
    assert (result.best, sum(asked)) == ("0", result.pulls)
    assert len(asked) < result.pulls / 2


@pytest.mark.parametrize("vectorised", [False, True])
def test_an_exception_propagates_with_the_arms_name(vectorised: bool) -> None:
    def broken(*_: int) -> float:
        raise ZeroDivisionError("by nothing")

    good: Callable[..., Any] = (lambda k: [1] * k) if vectorised else (lambda: 1)
    with pytest.raises(ZeroDivisionError, match="by nothing") as raised:
        surest.identify({"good": good, "broken": broken}, vectorised=vectorised)
    assert any("arm 'broken'" in note for note in raised.value.__notes__)


@pytest.mark.parametrize("arms", [[coin(0.5), coin(0.5)], bernoulli([0.5, 0.5])], ids=["callables", "bandit"])
def test_a_hook_may_stop_the_search(arms: object) -> None:
    def patience(running: Any) -> None:
        if running.pulls > 200:
            raise Stop("lunch")

    result = surest.identify(arms, seed=1, on_request=patience)
    assert (result.certified, result.reason) == (False, "lunch")
    assert result.pulls > 200
    assert "Not decided (lunch)" in str(result)
    assert 0 < result.achieved_delta <= 1
    assert result.intervals is not None


def test_an_arm_may_stop_the_search() -> None:
    def stopping() -> float:
        raise Stop

    result = surest.identify([coin(0.5), stopping], on_request=lambda running: None)
    assert (result.reason, result.pulls) == ("stopped", 0)


def test_the_hook_is_called_between_slow_calls() -> None:
    seen = []

    def slow() -> float:
        time.sleep(0.03)
        return 0.5

    surest.identify([slow, slow], budget=12, on_request=lambda running: seen.append(running.pulls))
    assert len(seen) >= 4


def test_a_seed_repeats_with_and_without_a_hook() -> None:
    runs = [
        surest.identify([coin(0.5), coin(0.45)], seed=5, budget=3000, on_request=hook, record=True)
        for hook in (None, lambda running: None)
    ]
    assert runs[0].pulls_per_arm.tolist() == runs[1].pulls_per_arm.tolist()
    assert all(a.same_as(b) for (a, _), (b, _) in zip(runs[0].transcript, runs[1].transcript, strict=True))


@pytest.mark.filterwarnings("ignore:Using `httpx`")  # of Starlette
@pytest.mark.parametrize("walk", ["identify", "evaluate", "tell"])
def test_walks_are_short(walk: str) -> None:
    """Distinct functions and files of surest that a call runs through: what a newcomer has to read."""
    walks = module_of_file(str(ROOT / "benchmarks" / "walks.py"), "walks")
    walked, (functions, files) = getattr(walks, walk)(), walks.MOST[walk]
    assert len(walked) <= functions
    assert len({file for file, _ in walked}) <= files

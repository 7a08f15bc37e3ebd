"""The front door: what it takes as arms and rewards, and what it says of what it cannot take."""

import random
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType, MappingProxyType
from typing import Any

import numpy as np
import pytest

import surest
from surest.arms.finite import bernoulli
from surest.errors import RewardError, Stop, UsageError


def coin(p: float, kind: Callable[[bool], Any] = bool, seed: int = 0) -> Callable[[], Any]:
    rng = random.Random(f"{seed} {p}")
    return lambda: kind(rng.random() < p)


@pytest.mark.parametrize("kind", [bool, int, float, np.bool_, np.int64, np.float32, np.float64, np.uint8])
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
    assert (str(result.best), result.index, result.certified) == ("1", 1, True)
    assert result.resampled == recorded
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
    assert len(asked) < result.pulls / 3


@pytest.mark.parametrize(
    ("arms", "words"),
    [
        ([], "no arms"),
        ({}, "no arms"),
        (np.empty((0, 3)), "no arms"),
        (7, "arms are 7 (int)"),
        ("abc", "arms are 'abc', and there is no such file"),
        (None, "arms are None"),
        (iter([coin(0.5)]), "list_iterator"),
        ({"f": coin(0.5), "x": [0.5]}, "arm 'f' is a callable and arm 'x' is not"),
        ([0.5, 0.4], "arm '0' is 0.5 (float)"),
        ({"a": [0.5], "b": []}, "arm 'b' is [] (list)"),
        ({"a": [0.5], "b": "text"}, "arm 'b' is 'text' (str)"),
        ({"a": [0.5], "b": ["0.5"]}, "arm 'b'"),
        ({"a": [0.5], "b": None}, "arm 'b' is None"),
        ({"a": [0.5], "b": [[0.5]]}, "arm 'b'"),
        ({"a": [0.5], "b": [0.5, 1.5]}, "recorded reward 1.5 for arm 'b' is not a number in [0, 1]; state"),
        ({"a": [0.5], "b": [0.5, np.nan]}, "recorded reward nan for arm 'b'"),
        ({1: [0.5], "1": [0.4]}, "two arms are called '1'"),
        ({1: coin(0.5), "1": coin(0.4)}, "two arms are called '1'"),
    ],
)
def test_arms_that_cannot_be(arms: object, words: str) -> None:
    with pytest.raises(UsageError) as refused:
        surest.identify(arms)
    assert words in str(refused.value).replace("np.float64(1.5)", "1.5").replace("np.float64(nan)", "nan")


@pytest.mark.parametrize("bad", [float("nan"), None, "0.7", 1.01, -1, np.float64("nan"), [0.5], float("inf"), 1 + 0j])
def test_a_bad_reward_names_its_arm_and_value(bad: object) -> None:
    with pytest.raises(RewardError) as refused:
        surest.identify({"good": lambda: 0.5, "broken": lambda: bad})
    assert f"reward {bad!r} for ticket" in str(refused.value)
    assert "(arm 'broken') is not a number in [0, 1]" in str(refused.value)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (lambda k: [0.5] * (k + 1), "asked for 2 rewards and returned [0.5, 0.5, 0.5] of shape (3,)"),
        (lambda k: None, "returned None of shape ()"),
        (lambda k: 0.5, "returned 0.5 of shape ()"),
        (lambda k: [0.5, float("nan")][:k], "nan) for ticket"),
        (lambda k: [0.5, None][:k], "reward None for ticket"),
        (lambda k: ["0.5"] * k, "'0.5'"),
        (lambda k: np.full(k, 2), "(2) for ticket"),
    ],
)
def test_bad_rewards_of_a_vectorised_arm(given: Callable[[int], Any], words: str) -> None:
    with pytest.raises(RewardError) as refused:
        surest.identify({"good": lambda k: [1] * k, "broken": given}, vectorised=True)
    assert words in str(refused.value)
    assert "arm 'broken'" in str(refused.value)


@pytest.mark.parametrize("vectorised", [False, True])
def test_an_exception_propagates_with_the_arms_name(vectorised: bool) -> None:
    def broken(*_: int) -> float:
        raise ZeroDivisionError("by nothing")

    good: Callable[..., Any] = (lambda k: [1] * k) if vectorised else (lambda: 1)
    with pytest.raises(ZeroDivisionError, match="by nothing") as raised:
        surest.identify({"good": good, "broken": broken}, vectorised=vectorised)
    assert any("arm 'broken'" in note for note in raised.value.__notes__)


def test_a_callable_of_the_wrong_form_is_named() -> None:
    with pytest.raises(UsageError, match=r"arm 'two' takes count, but arms are called without arguments.*seeded=True"):
        surest.identify({"one": lambda: 1, "two": lambda count: [1] * count})


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


@pytest.mark.parametrize("bounds", [(1, 0), (0, 0), None, (0, float("inf")), 3])
def test_bounds_that_are_no_range(bounds: Any) -> None:
    with pytest.raises(UsageError, match="the lower first"):
        surest.identify([coin(0.5), coin(0.4)], bounds=bounds)


def test_epsilon_is_in_the_rewards_units_for_every_kind_of_arms() -> None:
    rewards = {"a": [0.0, 100.0], "b": [0.0, 100.0, 100.0]}
    rng = random.Random(1)
    callables = {label: (lambda values=values: rng.choice(values)) for label, values in rewards.items()}
    for arms in (rewards, callables):
        result = surest.identify(arms, epsilon=30.0, bounds=(0, 100), seed=1, resample=arms is rewards)
        assert result.certified
        assert result.pulls < 1500
        assert re.search(r"^Arm [ab] is within 30 of the best", str(result), re.MULTILINE)


def test_the_smallest_mean_is_found_whatever_the_arms_are() -> None:
    recorded_costs = {"slow": [50, 60, 40], "quick": [5, 0, 10]}
    by_array = surest.identify(recorded_costs, bounds=(0, 60), minimise=True, seed=1, resample=True)
    rng = np.random.default_rng(1)
    calls = {label: lambda own=own: float(rng.choice(own)) for label, own in recorded_costs.items()}
    by_call = surest.identify(calls, bounds=(0, 60), minimise=True, seed=1)
    simulated = surest.identify(bernoulli([0.9, 0.2]), minimise=True, seed=1)
    for found in (by_array, by_call, simulated):
        assert found.certified
        assert found.index == 1
        assert found.minimise
    assert by_array.means == pytest.approx([50, 5], abs=10)
    assert by_call.means == pytest.approx([50, 5], abs=10)
    assert simulated.means == pytest.approx([0.9, 0.2], abs=0.3)


def test_what_cannot_be_turned_round_is_refused() -> None:
    class Bandit:
        labels = ("a", "b")

        def answer(self, request: object) -> object:
            raise AssertionError

    with pytest.raises(UsageError, match="minimise goes with"):
        surest.identify(Bandit(), minimise=True)


def test_the_walk_of_identify_is_short() -> None:
    """Distinct functions and files of surest that a search on two functions runs through: what a newcomer has to read."""
    root, seen = str(Path(surest.__file__).parent), set[tuple[str, str]]()

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(root) and not code.co_name.startswith("<"):
            seen.add((code.co_filename, code.co_qualname))

    def search() -> surest.Result:
        rng = random.Random(0)
        return surest.identify({"old": lambda: rng.random() < 0.3, "new": lambda: rng.random() < 0.6}, seed=1)

    search()  # imports are no part of it
    sys.setprofile(note)
    try:
        search()
    finally:
        sys.setprofile(None)
    walked = {name for name in seen if "/kernels/" not in name[0]}  # compiled or not
    assert (len(walked) <= 137, len({file for file, _ in walked}) <= 30) == (True, True)

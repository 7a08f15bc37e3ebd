"""Ctrl-C loses nothing. `pages/watching.txt` has what is seen of a search."""

import os
import pickle
import random
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import surest
from surest.arms.finite import bernoulli
from surest.errors import UsageError
from surest.search.executor import LOOK


class Pressed:
    """An arm that presses Ctrl-C at its nth call."""

    def __init__(self, at: int, pause: float = 0.0) -> None:
        self.at, self.calls, self.pause = at, 0, pause

    def __call__(self, item: object = None) -> float:
        self.calls += 1
        if self.calls == self.at:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(self.pause)
        return 0.5

    def many(self, count: int) -> list[float]:
        return [self() for _ in range(count)]


class Raising(Pressed):
    """An arm that raises Ctrl-C's exception itself, as a library with its own handler does."""

    def __call__(self, item: object = None) -> float:
        self.calls += 1
        if self.calls == self.at:
            raise KeyboardInterrupt
        return 0.5


@pytest.mark.parametrize(("arm", "threads"), [(Pressed, 0), (Raising, 0), (Raising, 2)])
def test_an_interrupt_ends_with_the_answer_so_far_and_loses_nothing(arm: type[Pressed], threads: int) -> None:
    how = {"executor": ThreadPoolExecutor(threads), "in_flight": 2} if threads else {}
    with pytest.raises(surest.Interrupted, match=r"Rewards are not kept without storage=… and name=…\.") as stop:
        surest.identify({"a": arm(30), "b": lambda: 0.5}, **how)
    assert isinstance(stop.value, KeyboardInterrupt)
    assert (stop.value.result.reason, stop.value.result.certified) == ("interrupted", False)
    assert 29 + (arm is Pressed) <= stop.value.result.evaluations < 500
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    again = pickle.loads(pickle.dumps(stop.value))  # as a pool of processes does
    assert (str(again), again.result.evaluations) == (str(stop.value), stop.value.result.evaluations)
    with pytest.raises(surest.Interrupted) as stop:
        surest.evaluate({"a": arm(30), "b": lambda item: 0.4 + 0.2 * (item % 2)}, range(10_000), seed=1, **how)
    assert stop.value.result.evaluations >= 29
    with pytest.raises(surest.Interrupted) as stop:
        surest.identify({"a": arm(200).many, "b": lambda count: [0.5] * count}, vectorised=True)
    assert stop.value.result.evaluations > 0


def test_a_search_from_python_is_kept_and_goes_on(tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path}/studies.db"
    rng = random.Random(3)
    arms = {1: lambda: rng.random() < 0.3, "two": lambda: rng.random() < 0.7, "pressed": Pressed(20, LOOK)}
    with pytest.raises(surest.Interrupted) as stop:  # a study is looked at now and then
        surest.identify(arms, storage=storage, name="buttons", seed=1)
    before = stop.value.result.evaluations
    assert before >= 20
    assert surest.open_study(storage, "buttons").status().told == before
    result = surest.identify(arms, storage=storage, name="buttons", seed=1)
    assert (result.best, result.certified) == ("two", True)
    calls = arms["pressed"].calls
    assert surest.identify(arms, storage=storage, name="buttons").evaluations == result.evaluations
    assert arms["pressed"].calls == calls
    with pytest.raises(UsageError, match="go together"):
        surest.identify(arms, storage=storage)
    with pytest.raises(UsageError, match="simulated arms need no executor, storage"):
        surest.identify(bernoulli([0.9, 0.1]), storage=storage, name="other")

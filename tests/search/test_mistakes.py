"""What Python callers are told of their mistakes. `tests/cli/mistakes` has those of the command line."""

import asyncio
import math
import random
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from syrupy.assertion import SnapshotAssertion

import surest
from calling import refused
from surest.search.call import ticket_seed
from surest.testing import check_algorithm

SCORES = {f"q{i}": 1.0 for i in range(9)}
POOL = ThreadPoolExecutor(1)


def arm() -> float:
    return 0.5


async def one(*_: object) -> float:
    return 1.0


class Bandit:
    labels = ("a", "b")

    def answer(self, request: object) -> object:
        raise AssertionError


def each(function: Callable[..., Any], values: Iterable[Any], name: str = "") -> list[Callable[[], Any]]:
    """A call for each value: as the only argument, or as the keyword of that name, or as keywords if it is a dict."""
    given = ({name: value} if name else value for value in values)
    return [partial(function, **value) if isinstance(value, dict) else partial(function, value) for value in given]


def identify(**settings: Any) -> object:
    return surest.identify({"a": arm, "b": arm}, **settings)


def aidentify(arms: Any, **settings: Any) -> object:
    return asyncio.run(surest.aidentify(arms, **settings))


DOORS = {
    "identify": identify,
    "aidentify": lambda **settings: aidentify([one, one], **settings),
    "Session": partial(surest.Session, ["a", "b"]),
    "open_study": partial(surest.open_study, "memory:", "s", ["a", "b"]),
}
MEANT_OTHERWISE: list[dict[str, Any]] = [
    *({"minimize": True}, {"epsilom": 0.1}, {"n_jobs": 2}, {"random_state": 1}, {"clip": True}, {"bathc": 4}),
    *({"delta": "0.05"}, {"budget": "1e4"}, {"seed": np.random.default_rng(1)}, {"seed": random.Random(1)}),
    {"bounds": 60},
]
ARMS: list[Any] = [
    *([], np.empty((0, 3)), 7, "abc", "rewards.csv", None, iter([arm]), [0.5, 0.4], [[85.0], [2]]),
    *([lambda: 85.0, lambda: 2], [one, one], [lambda: one(), lambda: one()], [lambda x: x, arm], [lambda: None, arm]),
    *([lambda: np.ones(3), arm], [lambda: "0.7", arm], [lambda: 1 + 0j, arm], [lambda: -math.inf, arm]),
]
LABELLED: list[Any] = [
    *({"f": arm, "x": [0.5]}, {"a": [0.5], "b": []}, {"a": [0.5], "b": "text"}, {"a": [0.5], "b": ["0.5"]}),
    *(
        {"a": [0.5], "b": None},
        {"a": [0.5], "b": [[0.5]]},
        {"a": [0.5], "b": [0.5, 1.5]},
        {"a": [0.5], "b": [math.nan]},
    ),
    *({1: [0.5], "1": [0.4]}, {1: arm, "1": arm}, {"one": arm, "two": lambda count: [1] * count}),
]
VECTORISED = [
    *(lambda k: [0.5] * (k + 1), lambda k: None, lambda k: 0.5, lambda k: [0.5, math.nan][:k]),
    *(lambda k: [0.5, None][:k], lambda k: ["0.5"] * k, lambda k: np.full(k, 2)),
]
CONTROL = {"control": "a"}
QUESTIONS: list[dict[str, Any]] = [
    *({"top": 1, "above": 0.5}, {"top": 2}, {"top": 0}, {"top": "3"}, {"above": 1.5}, {"above": math.nan}),
    *({"above": 0.5, "minimise": True}, {"control": "z"}, {"margin": 0.1}, {**CONTROL, "margin": -1}),
    *({**CONTROL, "margin": 2}, {"error": "fdr"}, {"above": 0.5, "error": "both"}),
    {"top": 1, "algorithm": "naive-best-arm"},
]
BOUNDS = [(1, 1), (2, 1), (0, math.inf), (math.nan, 1), (0,), None, ("a", "b"), (-1e308, 1e308), 3]
TABLE = {"a": {"q": 1.0}, "b": {"q": 0.0}}
TWICE = pd.DataFrame([("a", "q", 1.0), ("a", "q", 0.0)], columns=["arm", "item", "value"])
FAR = pd.DataFrame({"a": [0.5] * 5, "b": [0.5, 0.5, 0.5, 7.0, 9.0]})
EVALUATE: list[tuple[Any, ...]] = [
    *((["a", "b"], [1]), ({"a": 1.0, "b": 2.0}, [1]), ({"a": len}, []), ({}, [1]), ({"a": one}, [1])),
    *(([[0.5, 2.0], [0.1, 0.2]],), ([1.0, 2.0],), ([[1, "x"], [0, 1]],), ("no-such-file.csv",), (TWICE,), (FAR,)),
    *(({"a": lambda i: 7.0, "b": lambda i: 0.0}, [1]), ({"a": float, "b": float}, "abc")),
    *(({"a": float, "b": float}, {"q": 1}), ({"a": float, "b": float}, {1}), ({"a": float, "b": float}, 100)),
    *(({"a": lambda item: 1.0, "b": lambda item: 0.0},), ({"a": lambda x, y: 1.0, "b": lambda x, y: 0.0}, [1])),
]
ON_LISTS: list[dict[str, Any]] = [
    *({"score": len}, {"storage": "memory:"}, {"group": [1, 2]}, {"on_failure": 7.0}),
    *({"delta": 2}, {"target": "people"}, {"algorithm": "wager"}, {"epsilom": 0.1}),
]
GATES: list[dict[str, Any]] = [
    *({"margin": -0.1}, {"margin": 1.0}, {"margin": math.nan}, {"delta": 0.0}, {"target": "all"}, {"bounds": (1, 0)}),
    *({"table": TABLE}, {"candidate": TWICE}, {"candidate": pd.Series([1.0, 0.0], index=["a", "a"])}),
    *({"candidate": 3}, {"candidate": {"q1": "good"}}, {"candidate": {"q1": math.inf}}, {"candidate": "nowhere.csv"}),
    *({"candidate": {"q1": 3.0}}, {"items": 8}, {"items": ["q1", "q1"]}, {"items": 20}, {"baseline": {}}),
    *({"margin": 0.1, "equivalent": 0.1}, {"equivalent": 0}, {"equivalent": 2}),
    *({"shuffled": True, "seed": 1}, {"target": "population", "items": 10, "shuffled": True}),
    *({"candidate": {**SCORES, "new": 1.0}, "strict": True}, {"candidate": {"other": 1.0}, "common": True}),
]
FASTEST: list[dict[str, Any]] = [
    *({"delta": math.nan}, {"delta": 0}, {"tolerance": math.nan}, {"tolerance": -0.1}, {"tolerance": 0}),
    *({"max_runs": 5}, {"warmup": -1}, {"seed": -1}, {"prepare": ["true"] * 3}, {"shell": "no-such-shell"}),
]
GUESS = {"arms": 2, "baseline": 0.1, "lift": 0.1}
PLANS: list[dict[str, Any]] = [
    *({}, {"arms": 2}, {**GUESS, "arms": 1}, {**GUESS, "baseline": 0.95}, {**GUESS, "rate": "5 a day"}),
    *({**GUESS, "power": 1.5}, {**GUESS, "delta": 3}, {"arms": 2, "items": 100, "score": 0.7, "gap": 0.3}),
    *({"source": "bernoulli:0.5,0.4", "arms": 2}, {"source": {"a": arm, "b": arm}}),
    {"source": {"a": {1: 1}, "b": {2: 1}}},
]
STORAGES = ["", "x", "sqlite://", "sqlite:///:memory:", "mysql://h/d", "::", "sqlite:////no/where/x.db", 5]
MISTAKES: dict[str, list[Callable[[], Any]]] = {
    **{f"settings of {name}": each(door, MEANT_OTHERWISE) for name, door in DOORS.items()},
    "bounds": [call for name in ("identify", "Session") for call in each(DOORS[name], BOUNDS, "bounds")],
    "questions": [*each(DOORS["Session"], QUESTIONS), lambda: surest.identify(surest.bernoulli([0.5]), top=1)],
    "controls": [partial(surest.Session, list("012345"), control="c")],
    "arms": [*each(surest.identify, ARMS), *(partial(surest.identify, arms) for arms in LABELLED)],
    "arms of several rewards": [
        partial(surest.identify, {"good": lambda k: [1] * k, "broken": arm}, vectorised=True) for arm in VECTORISED
    ],
    "arms and settings": [
        partial(identify, seeded=True),
        partial(identify, vectorised=True),
        partial(identify, algorithm="race", items=20),
        partial(identify, algorithm="race"),
        partial(identify, items=20),
        partial(identify, storage="memory:"),
        partial(identify, shuffle=1),
        partial(surest.identify, Bandit(), minimise=True),
        partial(surest.identify, surest.bernoulli([0.9, 0.1]), storage="memory:", name="s"),
        partial(surest.identify, pd.DataFrame({"x": ["a", "b"], "y": [1, 0]})),
        partial(surest.identify, pd.Series([1.0, 0.0])),
        partial(check_algorithm, "race"),
    ],
    "async arms": [
        *each(aidentify, [[lambda x: one(), one], [[1.0], [0.5]], [lambda: 1, lambda: 0], [arm, one], "text", [0.5]]),
        partial(aidentify, [one, one], in_flight=0),
    ],
    "executors": [
        *each(partial(identify, executor=POOL), [0, -1, 1.5], "in_flight"),
        partial(identify, executor=POOL, retries=-1),
        partial(identify, executor=POOL, on_failure=2.0),
        partial(identify, executor=POOL, vectorised=True),
        partial(surest.identify, [[0.1], [0.2]], executor=POOL),
        partial(identify, retries=2),
        partial(identify, executor=4),
        partial(ticket_seed, 0, 2**31),
    ],
    "sessions": [
        *each(surest.Session, [["a", "a"], 0, [], [1, "1"]]),
        *each(surest.Session(2).ask, [0, -1, 1.5, "2", None]),
    ],
    "evaluate": [
        *(partial(surest.evaluate, *given) for given in EVALUATE),
        *each(partial(surest.evaluate, {"a": lambda i: 0.5, "b": lambda i: 0.0}, [1]), ON_LISTS),
        partial(surest.evaluate, TABLE, on_failure=0.0),
    ],
    "gate": [lambda given=given: surest.gate(**{"baseline": SCORES, "candidate": SCORES, **given}) for given in GATES],
    "plan": each(surest.plan, PLANS),
    "champion": [partial(surest.Champion, *given) for given in ((max, []), (max, 5), (None, [1]))],
    "storage": [partial(surest.open_study, url, "s", 2) for url in STORAGES],
    "fastest": [
        *each(partial(surest.fastest, ["true", "false"]), FASTEST),
        *each(surest.fastest, [[], ["true"], "true", 7, ["true", ""], ["true", "'"], ["true", "no-such-program-x 1"]]),
        partial(surest.fastest, ["true", ""], shell="none"),
        partial(surest.fastest, ["true", "no-such-program-x"], ignore_failure=True),
    ],
}


@pytest.mark.parametrize("kind", MISTAKES)
@pytest.mark.filterwarnings("ignore:coroutine")
def test_mistakes_are_named_with_what_is_allowed(kind: str, snapshot: SnapshotAssertion) -> None:
    said = refused(*MISTAKES[kind])
    assert said.count("\n") == len(MISTAKES[kind]), "each in one line"
    assert said == snapshot

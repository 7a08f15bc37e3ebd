"""Every setting at every door: a wrong type, a value out of range and a door that would not heed it are refused."""

import asyncio
import inspect
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import click
import pytest

import surest
from calling import Run
from surest.cli import cli
from surest.core.problem import ITEMS_ONLY, SETTINGS
from surest.errors import SurestError
from visiting import serving

BAD: dict[str, tuple[Any, ...]] = {
    "delta": ("soon", -3, 0, 1, True, [0.1]),
    "epsilon": ("soon", -3, float("inf"), True),
    "top": ("soon", -3, 0, 1.5, True),
    "above": ("soon", -3, 7, True),
    "control": ("nobody", -3),
    "margin": ("soon", -3, 0.1, True),
    "cheapest": ("soon", -3, 7, True, 0.1),
    "slack": ("soon", -3, 0.1, True),
    "error": ("soon", -3, True),
    "budget": ("soon", -3, 1.5, True),
    "estimate": ("soon", -3, 0, 1.5, True),
    "cost": ("soon", -3, True, {"a": 1}, {"a": 1, "b": -1}, float("inf"), 10**400),
    "budget_cost": ("soon", -3, float("inf"), True),
    "cost_unit": (-3, True, "two\nlines"),
    "algorithm": ("soon", -3),
    "bounds": ("soon", -3, (1, 0), (0, "x")),
    "minimise": ("soon", -3),
    "seed": ("soon", 1.5, True),
    "target": ("soon", -3, True),
    "repeats": ("soon", -3, 0, 1.5, True),
    "spread": ("soon", -3, 0, float("inf"), True),
    "note": (-3, True, ["x"]),
}
"""Of each setting: values of another type, and values that it cannot have."""
GOOD = {"target": "population", "repeats": 3, "spread": 0.5}
"""Values that a door must refuse which does not heed them."""
ITEMS = list(range(20))


def score(arm: str, item: int) -> float:
    return float(arm == "a")


def later(value: float | str) -> Callable[..., Any]:
    async def call(*_: object) -> float | str:
        return value

    return call


OWN = {"gate": {"margin": (0.1,), "seed": ("soon",)}, "Champion": {"seed": ("soon",)}}
"""What is fine there: any text is the seed of an order, and a gate has a margin without naming a control."""
FLAG, FUNCTION = ("soon", -3, 1.5, ["x"], None), ("soon", -3, 1.5, ["x"])
WHOLE, SHARE = ("soon", -3, 1.5, ["x"], True, float("inf")), ("soon", -3, 1.5, ["x"], True, float("nan"))
KEYWORDS: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("vectorised", "seeded", "resample", "finished", "history", "record", "simulate"), FLAG),
    **dict.fromkeys(("strict", "rank", "predict", "shuffled", "common", "load_if_exists", "ignore_failure"), FLAG),
    **dict.fromkeys(("on_request", "progress", "executor", "score", "clock", "on_block"), FUNCTION),
    **dict.fromkeys(("columns", "shell", "name", "storage", "ledger"), (-3, 1.5, ["x"])),
    **dict.fromkeys(("retries", "runs", "warmup", "min_runs", "workers", "arms"), WHOLE),
    **dict.fromkeys(("in_flight", "max_runs"), (*WHOLE, 0)),
    **dict.fromkeys(("baseline", "lift", "gap", "agreement", "power", "tolerance"), SHARE),
    **dict.fromkeys(("each", "seconds", "rate", "worth", "lease_seconds"), ("soon", -3, ["x"], True, float("nan"))),
    **dict.fromkeys(("setup", "prepare", "cleanup"), (-3, 1.5, True)),
    "shuffle": ("soon", -3, 1.5, ["x"]),
    "equivalent": ("soon", -3, 0, 7, ["x"], True),
    "on_failure": ("soon", -3, ["x"], float("nan")),
    "items": (-3, 1.5, True),
    "table": (-3, 1.5),
    "scorer": ("soon", -3),
    "by": ("soon", -3, True),
}
"""Keywords that are no settings of a problem: values of another type, and values that they cannot have."""
POOL = {"executor": ThreadPoolExecutor(1), "progress": False}
EVERY = " ".join(SETTINGS)
FRESH = " ".join(name for name in SETTINGS if name not in ITEMS_ONLY)
OF_DUELS, OF_GATES = "delta epsilon top budget note seed", "delta margin bounds minimise target seed"
LISTED = EVERY.replace("repeats ", "")


def door(function: Callable[..., Any], *arms: Any, heeds: str = FRESH, **given: Any) -> tuple[Any, Any, str]:
    """A door, a call of it with keywords, and the settings that it heeds."""

    def call(**keywords: Any) -> Any:
        found = function(*arms, **{**given, **keywords})
        return asyncio.run(found) if inspect.iscoroutine(found) else found

    return function, call, heeds


DOORS = {
    "identify": door(surest.identify, {"a": int, "b": lambda: 1.0}, **POOL),
    "identify arrays": door(surest.identify, {"a": [1.0] * 50, "b": [0.0] * 50}),
    "identify simulated": door(surest.identify, surest.bernoulli([0.9, 0.1])),
    "aidentify": door(surest.aidentify, {"a": later(1.0), "b": later(1.0)}, budget=9),
    "Session": door(surest.Session, ["a", "b"]),
    "open_study": door(surest.open_study, "memory:", "s", ["a", "b"]),
    "evaluate": door(surest.evaluate, ["a", "b"], ITEMS, score=score, heeds=EVERY, **POOL),
    "evaluate a table": door(surest.evaluate, {"a": [1.0] * 20, "b": [0.0] * 20}, heeds=LISTED),
    "aevaluate": door(surest.aevaluate, ["a", "b"], ITEMS, score=later(1.0), heeds=EVERY),
    "Session on items": door(surest.Session, ["a", "b"], items=20, heeds=EVERY),
    "open_study on items": door(surest.open_study, "memory:", "s", ["a", "b"], items=20, heeds=EVERY),
    "gate": door(surest.gate, [1.0] * 9, [0.0] * 9, heeds=OF_GATES),
    "gate functions": door(surest.gate, [1.0] * 9, lambda item: 0.0, heeds=OF_GATES, **POOL),
    "agate": door(surest.agate, [1.0] * 9, later(0.0), heeds=OF_GATES),
    "duel": door(surest.duel, ["a", "b"], lambda *_: "a", heeds=OF_DUELS, **POOL),
    "recorded duels": door(surest.duel, [("a", "b", 1)] * 9, heeds=OF_DUELS),
    "aduel": door(surest.aduel, ["a", "b"], later("a"), heeds=OF_DUELS),
    "plan": door(surest.plan, arms=2, baseline=0.1, lift=0.8, runs=1, heeds=EVERY),
    "plan a list": door(surest.plan, arms=2, items=9, score=0.8, gap=0.1, runs=1, heeds=EVERY),
    "Champion": door(surest.Champion, score, ITEMS, heeds="delta bounds minimise seed budget"),
    "fastest": door(surest.fastest, {"a": int, "b": str}, max_runs=6, heeds="delta seed"),
}
FINE = {"gate": ("history",), "gate functions": ("history",), "agate": ("history",), "plan": ("rate",)}
"""What is not tried: tables of older scores are whatever `evaluate` takes."""
COMMANDS = {
    "identify": "identify rows.csv",
    "evaluate": "evaluate table.csv",
    "study create": "study create s --storage memory: --arm a --arm b",
    "plan": "plan bernoulli:0.9,0.1 --runs=1",
    "duel": "duel duels.csv",
    "gate": "gate table.csv --baseline=a --candidate=b",
    "fastest": "fastest true false --max-runs=6",
}


SHOWN = " picture page decision as_json quiet"
COLUMNS = "arm_column value_column successes_column trials_column follow"
RUN_COMMANDS = "clip workers timeout retries on_failure study" + SHOWN
TWO, PLAYERS = "--command 'a=echo 1' --command 'b=echo 0'", "--arm a --arm b"
OF_TABLES = "arm_column item_column value_column scorer"
GATED = (
    "margin delta equivalent history predict baseline candidate study items target bounds minimise seed shuffled common"
)
MODES: dict[str, tuple[str, str]] = {
    "identify commands": (f"identify {TWO}", "commands " + RUN_COMMANDS),
    "identify functions": ("identify arms.py:arms", "vectorised study" + SHOWN),
    "identify totals": ("identify totals.csv", f"{COLUMNS} sum_rows" + SHOWN),
    "identify rewards": (
        "identify rows.csv",
        f"{COLUMNS} instance resample shuffle suggest labels finished clip" + SHOWN,
    ),
    "identify simulated": ("identify bernoulli:0.9,0.1", "instance" + SHOWN),
    "evaluate commands": (f"evaluate --items items.txt {TWO}", "items commands " + RUN_COMMANDS),
    "evaluate a table": ("evaluate table.csv", f"suggest {OF_TABLES} simulate clip" + SHOWN),
    "recorded duels": ("duel duels.csv", "strict rank columns shuffle" + SHOWN),
    "judged duels": (
        f"duel --judge 'echo {{first}} {{second}}' {PLAYERS}",
        f"strict rank labels judge items {RUN_COMMANDS}",
    ),
    "gate --speed": ("gate --speed true false", "margin delta seed markdown speed by max_runs as_json"),
    "gate --show": ("gate --ledger l.db --show", "ledger show as_json"),
    "gate": (
        "gate old.csv new.csv",
        f"{GATED} strict suggest {OF_TABLES} ledger show flips markdown speed decision as_json",
    ),
}
"""Ways to use a command, and which of its options each of them heeds, apart from settings of a problem."""
FILES = {
    "arms.py": "arms = {'a': lambda: 1, 'b': lambda: 0}\n",
    "rows.csv": "arm,value\n" + "a,1\nb,0\n" * 40,
    "totals.csv": "arm,clicks,impressions\na,1,9\nb,9,9\n",
    "table.csv": "arm,item,value\n" + "".join(f"a,{i},1\nb,{i},0\n" for i in range(20)),
    "duels.csv": "first,second,score\n" + "a,b,1\n" * 9,
    "items.txt": "1\n2\n",
    "old.csv": "item,value\n1,1\n",
    "new.csv": "item,value\n1,1\n",
}


@pytest.fixture
def in_folder(run: Run) -> Run:
    """Runs commands in a folder with files for them."""
    for name, text in FILES.items():
        Path(name).write_text(text)
    return run


@pytest.mark.parametrize("mode", MODES)
def test_commands_refuse_options_that_they_would_ignore(mode: str, in_folder: Run) -> None:
    line, heeded = MODES[mode][0], set(MODES[mode][1].split())
    command = cli.get_command(click.Context(cli), line.split()[0])
    assert command is not None
    shared = () if command.name == "gate" else (*SETTINGS, "options")  # heeded however such a command is used
    options = [one for one in command.params if isinstance(one, click.Option) and one.name not in shared]
    assert heeded <= {one.name for one in options}
    for one in options:
        if one.name in heeded or one.name == "help":
            continue
        value = one.type.choices[0] if isinstance(one.type, click.Choice) else "1"
        said = in_folder(line, one.opts[0] if one.is_flag else f"{one.opts[0]}={value}")
        assert (said.status, one.opts[0] in said.err) == (2, True), (one.name, said)


def test_every_setting_is_tried() -> None:
    assert set(BAD) == set(SETTINGS)
    assert set(GOOD) == set(ITEMS_ONLY)


@pytest.mark.parametrize("door", DOORS)
def test_python_refuses_what_a_setting_cannot_be_and_what_a_door_would_not_heed(door: str) -> None:
    function, call, heeded = DOORS[door]
    for name, values in BAD.items():
        own = OWN.get(function.__name__.removeprefix("a"), {}).get(name, ())
        here = name in heeded.split()
        for value in (*values, *(() if here else [GOOD.get(name, 1)])):
            if value in own:
                continue
            with pytest.raises((SurestError, TypeError), match=rf"(?i)\b{name}\b") as refused:
                call(**{name: value})
            assert not isinstance(refused.value, surest.Interrupted)
            assert isinstance(refused.value, SurestError) or not here, (name, value)
    for name in GOOD if heeded == FRESH else ():
        with pytest.raises(SurestError, match=f"{name} requires a list of items"):
            call(**{name: GOOD[name]})


@pytest.mark.parametrize("door", DOORS)
def test_every_keyword_of_every_door_refuses_what_it_cannot_be(door: str) -> None:
    """A keyword that is new at a door has to be added to the table above, and is then tried at all doors that take it."""
    function, call, _ = DOORS[door]
    keywords = [name for name, p in inspect.signature(function).parameters.items() if p.kind is p.KEYWORD_ONLY]
    for name in keywords:
        if name in SETTINGS or name in FINE.get(door, ()):
            continue
        for value in KEYWORDS[name]:
            with pytest.raises(SurestError, match=rf"(?i)\b{name}\b"):
                call(**{name: value})


@pytest.mark.parametrize("door", COMMANDS)
@pytest.mark.parametrize("name", SETTINGS)
def test_commands_refuse_what_a_setting_cannot_be(door: str, name: str, in_folder: Run) -> None:
    for value in BAD[name]:
        any_text = name in ("note", "cost_unit") or (door, name) == ("gate", "seed")
        if any_text or isinstance(value, bool | dict):  # on a command line, "True" is a text
            continue
        text = ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
        if (name, text) == ("delta", "0.1") or value in OWN.get(door, {}).get(name, ()):
            continue
        status, _, said = in_folder(COMMANDS[door], f"--{name.replace('_', '-')}={text}")
        assert (status, name in said.replace("-", "_")) == (2, True), (value, said)


def test_the_service_refuses_what_a_setting_cannot_be(tmp_path: Path) -> None:
    with serving(f"sqlite:///{tmp_path}/s.db") as address:

        def made(study: str, settings: dict[str, Any]) -> int:
            body = json.dumps({"name": study, "arms": ["a", "b"], "settings": settings}).encode()
            try:
                with urlopen(Request(f"{address}/api/studies", body, {"Content-Type": "application/json"})) as answer:
                    return int(answer.status)
            except HTTPError as refused:
                return refused.code

        assert made("good", {"delta": 0.1}) == 201
        for name, values in {**BAD, **{name: (value,) for name, value in GOOD.items()}}.items():
            for value in values:
                assert 400 <= made("bad", {name: value}) < 500, (name, value)

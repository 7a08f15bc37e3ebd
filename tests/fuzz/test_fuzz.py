"""Anything may come in: it is accepted, or refused with an error of ours that leaves everything as it was. Never a traceback."""

import contextlib
import copy
import io
import json
import math
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from calling import Run
from surest.errors import RewardError, SurestError, TicketError, UsageError
from surest.search.session import Session
from surest.study.memory import MemoryStore
from surest.study.study import Study, list_studies, open_study
from surest.study.transfer import import_study

MANY, FEW = 200, 40
quick = settings(max_examples=MANY, deadline=None, derandomize=True)
LATER = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
slow_ones = settings(max_examples=FEW, deadline=None, derandomize=True, suppress_health_check=LATER)

CSV = b'instance,arm,value,count\none,a,0.5,3\none,"b, c",1,2\r\none,b,0.25,1\ntwo,a,1e-3,7\n'
kinds = st.sampled_from(["set", "insert", "delete", "cut", "repeat"])
edits = st.lists(st.tuples(kinds, st.integers(0, 10**6), st.binary(max_size=6)), min_size=1, max_size=6)


def edited(whole: bytes, changes: list[tuple[str, int, bytes]]) -> bytes:
    for kind, place, put in changes:
        at = place % (len(whole) + 1)
        match kind:
            case "set":
                whole = whole[:at] + put + whole[at + len(put) :]
            case "insert":
                whole = whole[:at] + put + whole[at:]
            case "delete":
                whole = whole[:at] + whole[at + len(put) :]
            case "cut":
                whole = whole[:at]
            case "repeat":
                whole = whole[:at] + whole[max(0, at - 20) : at] * 2 + whole[at:]
    return whole


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as directory:
        yield Path(directory)


numbers = st.one_of(
    st.floats(),
    st.integers(),
    st.sampled_from([0.0, -0.0, 1.0, math.nextafter(1, 2), math.nextafter(0, -1), 5e-324, 10**400, -(10**400), True]),
    st.floats(width=32).map(np.float32),
    st.fractions(),
    st.decimals(),
    st.complex_numbers(),
)
anything = st.one_of(numbers, st.text(max_size=5), st.binary(max_size=5), st.none(), st.lists(st.floats(), max_size=2))


@quick
@given(reward=anything, bounds=st.sampled_from([(0.0, 1.0), (-3.0, 7.5), (1e-300, 2e-300)]), also=anything)
def test_rewards_of_a_session(reward: Any, bounds: tuple[float, float], also: Any) -> None:
    session = Session(3, 0.1, algorithm="naive-best-arm", bounds=bounds)
    tickets = session.ask(2)
    try:
        session.tell(tickets[0].id, reward)
    except RewardError:
        assert session.pending == 2
    else:
        assert bounds[0] <= float(reward) <= bounds[1]
        assert session.pending == 1
    before = session.pending
    try:
        session.tell_all(tickets, [reward, also])
    except (RewardError, TicketError):
        assert session.pending == before
    with contextlib.suppress(TicketError, RewardError):
        session.tell(reward, 0.5)  # as a ticket


def state(study: Study) -> dict[str, Any]:
    return {key: value for key, value in study.export().items() if key != "result"}


@slow_ones
@given(reward=anything)
def test_rewards_of_a_study(place: Path, reward: Any) -> None:
    study = open_study(f"sqlite:///{place}/rewards.db", "s", 3, 0.1, algorithm="naive-best-arm", lease_seconds=1e-6)
    ticket = study.ask(1, worker="w")[0]
    before = state(study)
    try:
        study.tell(ticket.id, reward)
    except RewardError:
        assert state(study) == before
    else:
        assert state(study)["tickets"][ticket.id][1] == float(reward)


def exported(place: Path) -> bytes:
    study = open_study(f"sqlite:///{place}/exported.db", "s", ["a", "b"], 0.1, algorithm="naive-best-arm", seed=1)
    if not study.status().told:
        tickets = study.ask(12, worker="w")
        study.tell_all(tickets[2:], [random.Random(t.id).random() for t in tickets[2:]])
        study.fail(tickets[0].id, "no")
    return json.dumps(study.export()).encode()


def check_export(place: Path, changes: list[tuple[str, int, bytes]]) -> None:
    storage = f"sqlite:///{place}/imports.db"
    open_study(storage, "other", 2, 0.1, algorithm="naive-best-arm")
    before = {study.name for study in list_studies(storage)}
    try:
        name = import_study(storage, edited(exported(place), changes))
    except UsageError:
        assert {study.name for study in list_studies(storage)} == before
    else:
        open_study(storage, name).session()


test_json_exports = slow_ones(given(changes=edits)(check_export))
test_many_json_exports = pytest.mark.slow(settings(slow_ones, max_examples=1000)(given(changes=edits)(check_export)))


def documents() -> list[Any]:
    """Exports of studies of each kind: fresh pulls, queues, and a list of items."""
    found = [open_study("memory:fuzz", "n", 2, 0.1, algorithm="naive-best-arm", seed=1).export()]
    kinds: list[dict[str, Any]] = [{"batch": 8}, {"workers": 3}, {"items": [("q1", {"x": 1}), "q2", "q3", "q4"]}]
    for number, more in enumerate(kinds):
        study = open_study("memory:fuzz", f"s{number}", ["a", "b"], 0.1, seed=1, on_failure=0.0, **more)
        for _ in range(3):
            tickets = study.ask(5, worker="w")
            for ticket in tickets[1:]:
                study.tell(ticket.id, random.Random(ticket.id).random())
            if tickets:
                study.fail(tickets[0].id, "no", worker="w")
        study.ask(2, worker="w")
        found.append(study.export())
    return found


STRANGE: list[Any] = [
    [0, 10**400], None, True, 0, -1, 1, 2, 7, 40, 400_000_000, 2**31, 2**53, 2**63 - 1, 2**63, 2**64, -(2**63), 10**400,
    0.5, -0.0, 1e-300,
    1e30, 1e308, "", "nope", "null", "[[0,1]]", "[[0,1,1e30]]", "[[0,1,99999999999999999999]]", "[[1,0,1]]", "[[0,0,-1]]",
    "[[0,99999999,1]]", "[]", "[" * 100_000, "{}", "wager", "race", "tally", "mine.py:f", "\x00", "\ud800", "a\tb", [], {},
    [[]], [0, 1], {"workers": 10**12}, {"batch": 2**62}, {"reserve": 1e-320}, {"x": "y"}, [None],
]  # fmt: skip
"""What may stand in the place of any value of an export."""


def check_imports(number: int, seed: int) -> int:
    """Change a value or two of exports, anywhere: each is imported or refused as a mistake; how many were imported."""
    rng, originals, taken = random.Random(seed), documents(), 0
    for _ in range(number):
        document = copy.deepcopy(rng.choice(originals))
        for _ in range(rng.choice([1, 1, 2])):
            spot: Any = document
            while True:
                keys = list(spot) if isinstance(spot, dict) else list(range(len(spot)))
                key = rng.choice(keys)
                if not isinstance(spot[key], dict | list) or not spot[key] or rng.random() < 0.1:
                    break
                spot = spot[key]
            change = rng.random()
            if change < 0.1:
                del spot[key]
            elif change < 0.2 and isinstance(spot, list):
                spot.insert(key, copy.deepcopy(spot[key]))
            else:
                spot[key] = copy.deepcopy(rng.choice(STRANGE))
            if not document:
                break
        store = MemoryStore()
        try:
            name = import_study(store, json.dumps(document))
        except UsageError:
            continue
        open_study(store, name).session()
        taken += 1
    return taken


def test_json_exports_with_other_values() -> None:
    assert 10 < check_imports(400, 1) < 200


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_20000_json_exports_with_other_values() -> None:
    print(check_imports(20_000, 2), "of 20,000 were imported, the rest refused")


@pytest.mark.parametrize("stated", [400_000_000, 2**63, 5, 3, None])
def test_items_that_are_stated_are_those_that_are_listed(stated: int | None) -> None:
    document = documents()[-1]
    document["settings"]["items"] = stated
    with pytest.raises(UsageError, match=r"states .* items and lists 4|settings cannot be stored|setting items is"):
        import_study(MemoryStore(), json.dumps(document))


KNOWN = """
study create list ask tell fail status result export import delete identify algorithms s t 0 1 2 0.5 nan inf -1 -0.0
1.0000000000000002 1e400 0x1 --json --arm a b --arms 2 --delta --epsilon --budget --seed --algorithm naive-best-arm
bernoulli:0.9,0.1 --reward --worker -k --yes -- --bounds 0,1 1,0 --lease-seconds --on-failure --retries --name
--storage sqlite:///x.db sqlite:// postgresql://nobody@127.0.0.1:1/x --help -h --version --quiet --instance data.csv
"""
letters = st.characters(blacklist_characters="/\x00", blacklist_categories=["Cs"])
words = st.one_of(st.sampled_from(KNOWN.split()), st.text(letters, max_size=6))
verbs = st.sampled_from(["ask", "tell", "fail", "status", "result", "create"])
about_a_study = st.tuples(verbs, st.lists(words, max_size=5)).map(lambda line: ["study", line[0], "s", *line[1]])
lines = st.one_of(st.lists(words, max_size=8), about_a_study)


def check_line(run: Run, place: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]) -> None:
    monkeypatch.chdir(place)
    monkeypatch.setenv("SUREST_STORAGE", "sqlite:///lines.db")
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    (place / "data.csv").write_bytes(CSV)
    study = open_study("sqlite:///lines.db", "s", ["a", "b"], 0.1, algorithm="naive-best-arm", seed=1)
    before = state(study)
    status, _, errors = run("", *(argument for argument in arguments if argument not in ("--debug", "--output")))
    assert status in (0, 1, 2, 3, 4, 130), errors
    assert "surest: a fault of surest" not in errors
    assert "Traceback" not in errors
    if status in (1, 2, 130):
        assert errors
        with contextlib.suppress(SurestError):
            assert state(open_study("sqlite:///lines.db", "s")) == before


test_command_lines = settings(slow_ones, max_examples=100)(given(arguments=lines)(check_line))
test_many_command_lines = pytest.mark.slow(settings(slow_ones, max_examples=1000)(given(arguments=lines)(check_line)))

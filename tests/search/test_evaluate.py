"""`evaluate` and `aevaluate`: every form of arms and tables, and what must hold whatever the form."""

import asyncio
import signal
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import surest
from calling import ran
from surest import aevaluate, evaluate
from surest.result.data import Result

LABELS, ITEMS = ("kind", "terse", "wordy"), tuple(f"q{i}" for i in range(120))
RNG = np.random.default_rng(11)
TABLE = (RNG.random((3, 120)) < np.array([[0.8], [0.5], [0.3]])).astype(float)
CELLS = {arm: {item: float(TABLE[a, i]) for i, item in enumerate(ITEMS)} for a, arm in enumerate(LABELS)}
LONG = [(arm, item, value) for arm, row in CELLS.items() for item, value in row.items()]


class Counted:
    """Scores from the table, and how often each cell was evaluated."""

    def __init__(self) -> None:
        self.calls: Counter[tuple[str, str]] = Counter()
        self.lock = threading.Lock()

    def __call__(self, arm: str, item: str) -> float:
        with self.lock:
            self.calls[arm, item] += 1
        return CELLS[arm][item]

    def of(self, arm: str) -> Callable[[str], float]:
        return lambda item: self(arm, item)


def same(one: Result, other: Result) -> None:
    assert (one.best, one.certified, one.reason) == (other.best, other.certified, other.reason)
    assert one.evaluations == other.evaluations
    np.testing.assert_array_equal(one.pulls_per_arm, other.pulls_per_arm)
    np.testing.assert_allclose(one.means, other.means)


def bounds_hold(result: Result, truth: Any, arms: Any = slice(None), tolerance: float = 1e-9) -> None:
    """Each mean lies in its interval, and what lies between it and the chosen arm's in that of their difference."""
    for bounds, about in ((result.intervals, truth), (result.differences, truth - truth[result.index])):
        assert bounds is not None
        low, high = bounds
        assert (low[arms] <= about[arms] + tolerance).all()
        assert (about[arms] <= high[arms] + tolerance).all()


@pytest.fixture(scope="module")
def reference() -> Result:
    return evaluate(CELLS, seed=3, simulate=True)


def csv_file(folder: Path) -> str:
    path = folder / "scores.csv"
    path.write_text("arm,item,value\n" + "".join(f"{a},{i},{v}\n" for a, i, v in LONG))
    return str(path)


FORMS: dict[str, Callable[[Path], Any]] = {
    "long DataFrame": lambda folder: pd.DataFrame(LONG, columns=["arm", "item", "value"]),
    "wide DataFrame": lambda folder: pd.DataFrame(CELLS),
    "lists": lambda folder: {arm: list(row.values()) for arm, row in CELLS.items()},
    "CSV": csv_file,
    "path": lambda folder: Path(csv_file(folder)),
    "polars": lambda folder: pl.DataFrame(LONG, schema=["arm", "item", "value"], orient="row"),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_table_gives_the_same(form: str, tmp_path: Path, reference: Result) -> None:
    same(evaluate(FORMS[form](tmp_path), seed=3, simulate=True), reference)


def test_an_array_has_numbers_as_labels(reference: Result) -> None:
    result = evaluate(TABLE, seed=3, simulate=True)
    assert (result.best, result.evaluations, result.labels) == (0, reference.evaluations, (0, 1, 2))


def test_functions_and_labels_evaluate_no_cell_twice(reference: Result) -> None:
    for given in ("functions", "labels"):
        counted = Counted()
        arms: Any = {arm: counted.of(arm) for arm in LABELS} if given == "functions" else list(LABELS)
        result = evaluate(arms, ITEMS, seed=3, score=None if given == "functions" else counted)
        same(result, reference)
        assert max(counted.calls.values()) == 1
        assert counted.calls.total() == result.evaluations < result.cells == 360
        assert {(a, i): v for a, row in result.table.items() for i, v in row.items()} == {
            (a, i): CELLS[a][i] for a, i in counted.calls
        }


def test_threads_and_async_functions_come_to_the_same(reference: Result) -> None:
    counted = Counted()
    with ThreadPoolExecutor(4) as pool:
        result = evaluate(list(LABELS), ITEMS, score=counted, seed=3, executor=pool, in_flight=4)
    assert (result.best, result.pulls, max(counted.calls.values())) == (reference.best, reference.pulls, 1)
    assert counted.calls.total() <= result.cells

    async def score(arm: str, item: str) -> float:
        await asyncio.sleep(0)
        return counted(arm, item)

    counted.calls.clear()
    result = asyncio.run(aevaluate(list(LABELS), ITEMS, score=score, seed=3, in_flight=4))
    assert (result.best, result.pulls, max(counted.calls.values())) == (reference.best, reference.pulls, 1)


def test_what_a_result_tells(reference: Result) -> None:
    bounds_hold(reference, TABLE.mean(axis=1), tolerance=0)
    low, high = reference.differences
    assert (low[0], high[0], reference.contenders) == (0, 0, ("kind",))
    assert reference.achieved_delta <= 0.05
    assert (reference.epsilon_certified, reference.items_used < 120, reference.exact) == (0, True, False)


def test_small_is_good_and_bounds_are_units(reference: Result) -> None:
    """The same table in seconds, of which few are good."""
    seconds = {arm: {item: 60 * (1 - value) for item, value in row.items()} for arm, row in CELLS.items()}
    result = evaluate(seconds, seed=3, minimise=True, bounds=(0, 60), simulate=True)
    assert (result.best, result.evaluations) == (reference.best, reference.evaluations)
    np.testing.assert_allclose(result.means, 60 * (1 - reference.means))
    bounds_hold(result, 60 * (1 - TABLE.mean(axis=1)))


KEPT = """
import os, signal, sys
from surest import evaluate

def score(arm, item):
    with open("calls", "a+") as file:
        file.write(f"{arm} {item}\\n")
        file.seek(0)
        if sys.argv[1] == "dies" and len(file.readlines()) == 7:
            os.kill(os.getpid(), signal.SIGKILL)
    return float(arm == "b") if item % 3 else 0.5

kept = {"storage": "sqlite:///kept.db", "name": "kept"}
result = evaluate(["a", "b"], range(400), score=score, epsilon=0.0, delta=1e-9, **kept)
print(result.best, result.certified, result.evaluations, flush=True)
"""


def test_a_killed_run_goes_on_where_it_was(tmp_path: Path) -> None:
    assert ran("-c", KEPT, "dies", cwd=tmp_path).status == -signal.SIGKILL
    done = ran("-c", KEPT, "lives", cwd=tmp_path)
    best, certified, evaluations = done.out.split()
    assert (best, certified) == ("b", "True"), done.err
    asked = Counter((tmp_path / "calls").read_text().splitlines())
    assert max(asked.values()) <= 2
    assert asked.total() == int(evaluations) + 1, "only the cell under way was evaluated again"


def test_bounds_of_an_arm_that_was_made_by_what_was_met_hold() -> None:
    """A late arm that is 0 on all items met and 1 on the rest: bets on the items met would be wrong every time."""
    rng = np.random.default_rng(3)
    for seed in range(20):
        rows = {"a": rng.random(40), "b": rng.random(40)}
        session = surest.Session(["a", "b"], delta=0.05, items=40, reserve=0.5, seed=seed)
        met: set[int] = set()
        while not session.finished:
            for ticket in session.ask():
                assert ticket.item is not None
                met.add(ticket.item)
                session.tell(ticket.id, rows[ticket.label][ticket.item])
            if len(met) == 20 and "c" not in session.labels:
                rows["c"] = np.array([float(item not in met) for item in range(40)])
                session.grow(["c"])
            result = session.result()
            if "c" in result.labels:
                bounds_hold(result, np.array([rows[label].mean() for label in result.labels]), [2], 1e-12)

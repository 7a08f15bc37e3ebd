"""`evaluate` where a run is killed, and where an arm was made by what was met. `pages/evaluations.txt` has the rest."""

import signal
from collections import Counter
from pathlib import Path

import numpy as np

import surest
from calling import ran

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
                truth = np.array([rows[label].mean() for label in result.labels])
                apart = truth - truth[result.index]
                for (low, high), about in ((result.intervals, truth), (result.differences, apart)):
                    assert low[2] - 1e-12 <= about[2] <= high[2] + 1e-12

"""A stored study, shared by two worker processes.

    python examples/shared_study.py [FILE.db]

The study's log is in a SQLite file; each worker is a process of its own that asks for tickets, evaluates, and tells the rewards.
Kill either of them, or all: what was told is on disk, and running the same command on the same FILE.db continues the study.
While it runs, `surest study status solvers --storage sqlite:///FILE.db` shows how it stands; at its end, `surest report solvers
--storage sqlite:///FILE.db --output report.html` makes a page of it.

The evaluation here is a stand-in. Its randomness comes from the ticket's number, so the course of the study is the same whichever
worker is faster.
"""

import random
import subprocess
import sys
import tempfile
import time
from collections import Counter

import surest
from surest import Study

CHANCE = {"greedy": 0.2, "beam": 0.4, "annealing": 0.85}
"""How often a solver finds the optimum. Not known to the search."""


def evaluate(solver: str, seed: int) -> float:
    """One run of a solver: 1 if it found the optimum. It takes a while."""
    time.sleep(0.02)
    return float(random.Random(seed).random() < CHANCE[solver])


def open_solvers(storage: str) -> Study:
    """The study: made by whoever comes first, opened by the others."""
    return surest.open_study(storage, "solvers", list(CHANCE), delta=0.05, seed=1, lease_seconds=60)


def work(storage: str, name: str) -> None:
    """A worker: ask, evaluate, tell, until nothing is left to ask."""
    study = open_solvers(storage)
    while not study.finished:
        tickets = study.ask(4, worker=name)
        if not tickets:
            time.sleep(0.01)  # the rewards that the other worker owes are needed first
        for ticket in tickets:
            study.tell(ticket.id, evaluate(ticket.label, ticket.id))


def main(storage: str) -> None:
    """Start two workers, wait for them, and say what they found."""
    study = open_solvers(storage)
    names = ("worker 1", "worker 2")
    workers = [subprocess.Popen([sys.executable, __file__, "--work", storage, name]) for name in names]
    if {worker.wait() for worker in workers} != {0}:
        sys.exit("a worker failed; run this again to go on")
    result = study.result()
    told = Counter(ticket[3] for ticket in study.export()["tickets"])
    print(f"{result.best} is the best solver: certified {result.certified}, after {result.pulls} runs")
    print(", ".join(f"{name}: {told[name]} runs" for name in names))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--work"]:
        work(*sys.argv[2:4])
    elif len(sys.argv) > 1:
        main(f"sqlite:///{sys.argv[1]}")
    else:
        with tempfile.TemporaryDirectory() as folder:
            main(f"sqlite:///{folder}/studies.db")

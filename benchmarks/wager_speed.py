"""Measure how fast Wager is among n arms and write docs/data/wager-speed.csv, a table of docs/wager.md.

    python benchmarks/wager_speed.py [--most 1000000]

Two minutes of one core, and 2 GB at n = 10^6. Times are processor time, so that a busy machine changes them little.
"""

import argparse
import csv
import resource
import time
from collections.abc import Iterator
from pathlib import Path

from surest.algorithms import start
from surest.arms.finite import FiniteArms
from surest.arms.instances import example1, parse_source
from surest.core.procedure import Running
from surest.core.protocol import Answer
from surest.search.watching import Looks

TABLE = Path(__file__).parents[1] / "docs" / "data" / "wager-speed.csv"


def measured(arms: FiniteArms, delta: float) -> tuple[Running[Answer], float, float, float]:
    """A run, its processor time, and the parts of it in which rewards were drawn and the status was looked at."""
    source, looks, drawing, looking = arms.simulate(1), Looks(), 0.0, 0.0
    began = time.process_time()
    running = Running(start("wager", len(arms), delta, seed=1), len(arms))
    while running.request is not None:
        at = time.process_time()
        looks(running)
        looked = time.process_time()
        reply = source.answer(running.request)
        drawn = time.process_time()
        running.send(reply)
        looking, drawing = looking + looked - at, drawing + drawn - looked
    seconds = time.process_time() - began
    return running, seconds, drawing / seconds, looking / seconds


def instances(most: int) -> Iterator[tuple[str, int, FiniteArms, float]]:
    for n in (10, 100, 1_000, 10_000, 100_000, 1_000_000):
        if n <= min(most, 100_000):
            yield "Example 1", n, example1(n), 0.1
        if n <= most:
            yield "one arm at .5, the others at .3", n, parse_source(f"bernoulli:0.5,0.3x{n - 1}"), 0.05


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, default=1_000_000)
    options = parser.parse_args()
    for n in (10, 2_000, 2_000):  # load machine code first
        measured(parse_source(f"bernoulli:0.5,0.3x{n - 1}"), 0.05)
    head = "instance,δ,n,pulls,seconds,pulls a second,drawing,looking,memory so far"
    lines = [head.split(",")]
    for name, n, arms, delta in instances(options.most):
        running, seconds, drawing, looking = measured(arms, delta)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        lines.append(
            [
                name,
                f"{delta:g}",
                f"{n:,}",
                f"{running.pulls:,}",
                f"{seconds:.2f}",
                f"{running.pulls / seconds:,.0f}",
                f"{drawing:.0%}",
                f"{looking:.0%}",
                f"{memory:.1f} GB",
            ]
        )
        print(*lines[-1], sep=" | ", flush=True)
    if options.most >= 1_000_000:
        with TABLE.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(lines)


if __name__ == "__main__":
    main()

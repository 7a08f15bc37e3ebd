"""Measure Wager and write the tables of docs/wager.md.

    python benchmarks/wager.py --data ../shared/data [--runs-factor 1] [--workers 2]

Takes about six minutes on two cores. Every figure between the page's markers comes from here.
"""

import argparse
import os
import re
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

from surest.algorithms import start
from surest.api import identify
from surest.arms.instances import example1, parse_source
from surest.core.procedure import Running
from surest.theory.characteristic import characteristic

PAGE = Path(__file__).parents[1] / "docs" / "wager.md"
H100 = "bernoulli:0.5," + ",".join(["0.3"] * 99)
# source, instance, δ, runs, at most, aim
ROWS = [
    ("bernoulli:0.5,0.45,0.43,0.4", None, 0.1, 1000, 7_200, 5_000),
    ("bernoulli:0.5,0.45,0.43,0.4", None, 0.01, 400, 10_400, 7_000),
    ("bernoulli:0.3,0.21,0.2,0.19,0.18", None, 0.1, 1000, 2_200, 1_500),
    ("example1:10", None, 0.1, 1000, 780, 550),
    ("example1:100", None, 0.01, 100, 15_500, 10_000),
    ("example1:1000", None, 0.01, 40, 155_000, 105_000),
    (H100, None, 0.01, 100, 12_500, 10_000),
    ("goodbooks.csv.gz", "books_top20", 0.05, 50, 40_000, 25_000),
    ("goodbooks.csv.gz", "books_n1000_hard", 0.05, 20, 930_000, 600_000),
    ("livecodebench.csv.gz", "lcb_repair", 0.05, 200, 3_700, 2_500),
    ("caption_contest.csv.gz", "c540u_n20_mid", 0.05, 50, 45_000, 30_000),
    ("autotune_conv.csv.gz", "convA4000_top100", 0.05, 50, 21_000, 14_000),
]


def one(source: str, instance: str | None, delta: float, seed: int) -> tuple[int, bool, int]:
    arms = parse_source(source, instance)
    result = identify(arms, delta, seed=seed)
    return result.pulls, result.index == int(arms.means.argmax()), len(result.nominees)


def several(job: tuple[str, str | None, float, range]) -> list[tuple[int, bool, int]]:
    source, instance, delta, seeds = job
    return [one(source, instance, delta, seed) for seed in seeds]


def table(data: Path, factor: float, pool: ProcessPoolExecutor) -> str:
    lines = [
        "| instance | δ | runs | mean pulls | 95 % | max | wrong | over lower bound | at most | aim |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for source, instance, delta, runs, most, aim in ROWS:
        name = (
            "one arm at .5, 99 at .3"
            if source == H100
            else source
            if instance is None
            else f"{source.split('.')[0]}/{instance}"
        )
        path = source if instance is None else str(data / source)
        runs = max(10, int(runs * factor))
        jobs = [(path, instance, delta, range(first, min(first + 10, runs))) for first in range(0, runs, 10)]
        found = [row for part in pool.map(several, jobs) for row in part]
        pulls = np.array([p for p, _, _ in found])
        wrong = sum(not right for _, right, _ in found)
        ratio = pulls.mean() / characteristic(parse_source(path, instance)).lower_bound(delta)
        error = pulls.std(ddof=1) / np.sqrt(runs)
        lines.append(
            f"| {name} | {delta:g} | {runs:,} | {pulls.mean():,.0f} ± {error:,.0f} | {np.quantile(pulls, 0.95):,.0f} "
            f"| {pulls.max():,} | {wrong} | {ratio:.2f} | {most:,} | {aim:,} |"
        )
        print(lines[-1], flush=True)
    return "\n".join(lines)


def deciding_share(n: int) -> tuple[int, float, float]:
    """Pulls, seconds, and the share of them spent deciding (the rest draws rewards), on Example 1 at δ = 0.1."""
    arms = example1(n).simulate(1)
    began, drawing = time.perf_counter(), 0.0
    running = Running(start("wager", n, 0.1, seed=1), n)
    while running.request is not None:
        before = time.perf_counter()
        reply = arms.answer(running.request)
        drawing += time.perf_counter() - before
        running.send(reply)
    seconds = time.perf_counter() - began
    return running.pulls, seconds, 1 - drawing / seconds


def speed() -> str:
    lines = ["| n | pulls | seconds | pulls a second | share spent deciding |", "|---|---|---|---|---|"]
    deciding_share(10)  # compile first
    for n in (10, 100, 1_000, 10_000, 100_000):
        pulls, seconds, share = deciding_share(n)
        lines.append(f"| {n:,} | {pulls:,} | {seconds:.2f} | {pulls / seconds:,.0f} | {share:.0%} |")
        print(lines[-1], flush=True)
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--runs-factor", type=float, default=1.0)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    options = parser.parse_args()
    with ProcessPoolExecutor(options.workers) as pool:
        found = {"pulls": table(options.data, options.runs_factor, pool)}
    found["speed"] = speed()
    page = PAGE.read_text()
    for name, text in found.items():
        page = re.sub(f"(<!-- {name} -->\n).*?(<!-- end -->)", lambda m, t=text: f"{m[1]}{t}\n{m[2]}", page, flags=re.S)
    PAGE.write_text(page)


if __name__ == "__main__":
    main()

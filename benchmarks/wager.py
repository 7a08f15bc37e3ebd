"""Measure Wager and write the tables of docs/wager.md.

    python benchmarks/wager.py --data ../shared/data [--runs-factor 1] [--workers 2]

Takes about six minutes on two cores. Writes docs/data/wager-pulls.csv and wager-shares.csv.
"""

import argparse
import csv
import os
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

from surest.arms.finite import FiniteArms, bernoulli, finite_arms
from surest.arms.instances import parse_source
from surest.lab.bench.run import order_of
from surest.lab.bench.suites import instances_of
from surest.lab.characteristic import characteristic
from surest.search.identify import identify

TABLES = Path(__file__).parents[1] / "docs" / "data"
FIRST_SEED = 30_000_000
"""Seeds from here on were used for no choice of a constant."""


def near_one(n: int) -> FiniteArms:
    """Arms with means .9990, .9975, .9960, …, each uniform on ± .0008 (161 points)."""
    around = np.linspace(-0.0008, 0.0008, 161)
    return finite_arms([(0.9990 - 0.0015 * k + around, np.ones(161)) for k in range(n)])


# instance, δ, runs, at most, aim
ROWS: list[tuple[str, float, int, float, float]] = [
    ("convA100_top20", 0.05, 100, 225, 150),
    ("convA4000_top100", 0.05, 60, 10_500, 8_500),
    ("skewed", 0.1, 100, 1_850, 1_500),
    ("narrow:2", 0.1, 100, 395, 300),
    ("narrow:10", 0.1, 100, 715, 620),
    ("two arms near 1", 0.05, 100, 5_807, 4_467),
    ("twenty arms near 1", 0.05, 100, 7_119, 5_477),
    ("bernoulli:0.5,0.45,0.43,0.4", 0.1, 200, 5_700, 5_000),
    ("bernoulli:0.5,0.45,0.43,0.4", 0.01, 100, 8_700, 7_500),
    ("bernoulli:0.3,0.21,0.2,0.19,0.18", 0.1, 100, 1_780, 1_500),
    ("example1:10", 0.1, 200, 600, 520),
    ("example1:100", 0.01, 200, 11_800, 10_000),
    ("one arm at .5, 99 at .3", 0.01, 40, 12_500, 10_000),
    ("books_top20", 0.05, 120, 19_500, 16_000),
    ("lcb_repair", 0.05, 100, 2_450, 2_100),
    ("c540u_n20_mid", 0.05, 40, 45_000, 30_000),
]
FILES = {"conv": "autotune_conv", "book": "goodbooks", "lcb_": "livecodebench", "c540": "caption_contest"}


def arms_of(name: str, data: Path) -> FiniteArms:
    if name in ("two arms near 1", "twenty arms near 1"):
        return near_one(2 if name.startswith("two ") else 20)
    if name == "one arm at .5, 99 at .3":
        return bernoulli([0.5] + [0.3] * 99)
    if name[:4] in FILES:
        return parse_source(str(data / f"{FILES[name[:4]]}.csv.gz"), name)
    return instances_of(name)[0].arms


def label(name: str) -> str:
    """A recorded instance with its file."""
    return f"{FILES[name[:4]]}/{name}" if name[:4] in FILES else name


def one(arms: FiniteArms, delta: float, seed: int) -> tuple[int, bool, list[float]]:
    """Pulls, whether the answer was right, and each arm's share of the pulls. The arms come in a random order."""
    order = order_of(seed, len(arms.means))
    result = identify(arms.reordered(order), delta, seed=seed)
    shares = np.empty(len(order))
    shares[order] = result.pulls_per_arm / result.pulls
    return result.pulls, order[result.index] == arms.means.argmax(), shares.tolist()


def several(job: tuple[str, Path, float, range]) -> list[tuple[int, bool, list[float]]]:
    name, data, delta, seeds = job
    arms = arms_of(name, data)
    return [one(arms, delta, seed) for seed in seeds]


def tables(data: Path, factor: float, pool: ProcessPoolExecutor) -> dict[str, list[list[str]]]:
    """The rows of both files by their names."""
    lines = [["instance", "δ", "runs", "mean pulls", "max", "wrong", "over lower bound", "at most", "aim"]]
    allocations = [["instance", "best arm: ideal", "actual", "second: ideal", "actual"]]
    for name, delta, usual, most, aim in ROWS:
        runs, arms = max(10, int(usual * factor)), arms_of(name, data)
        seeds = range(FIRST_SEED, FIRST_SEED + runs)
        found = [
            row
            for part in pool.map(several, [(name, data, delta, seeds[i : i + 10]) for i in range(0, runs, 10)])
            for row in part
        ]
        pulls = np.array([p for p, _, _ in found])
        ideal = characteristic(arms)
        error = pulls.std(ddof=1) / np.sqrt(runs)
        wrong = sum(not right for _, right, _ in found)
        ratio = pulls.mean() / ideal.lower_bound(delta)
        lines.append(
            [
                label(name),
                f"{delta:g}",
                f"{runs:,}",
                f"{pulls.mean():,.0f} ± {error:,.0f}",
                f"{pulls.max():,}",
                str(wrong),
                f"{ratio:.2f}",
                f"{most:,}",
                f"{aim:,}",
            ]
        )
        print(*lines[-1], sep=" | ", flush=True)
        if len(allocations) < 8:  # those of small variance come first
            first, second = np.argsort(-arms.means)[:2]
            actual = np.mean([shares for _, _, shares in found], axis=0)
            shares = (ideal.weights[first], actual[first], ideal.weights[second], actual[second])
            allocations.append([label(name), *(f"{share:.2f}" for share in shares)])
    return {"wager-pulls": lines, "wager-shares": allocations}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--runs-factor", type=float, default=1.0)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    options = parser.parse_args()
    with ProcessPoolExecutor(options.workers) as pool:
        found = tables(options.data, options.runs_factor, pool)
    for name, rows in found.items():
        with (TABLES / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(rows)


if __name__ == "__main__":
    main()

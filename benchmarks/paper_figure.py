"""Pulls against the number of arms on the paper's Example 1, as a picture and as a table.

python benchmarks/paper_figure.py            writes docs/img/paper-pulls.png and docs/data/paper-pulls.csv, in six minutes
python benchmarks/paper_figure.py --draw     draws it again from the table
python benchmarks/paper_figure.py --scales   writes docs/data/paper-scales.csv: arms with gaps on many scales
"""

import csv
import sys
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from surest.arms.finite import FiniteArms, bernoulli
from surest.arms.instances import example1
from surest.lab.theory import gap_entropy, hardness, paper_lower_bound
from surest.search.identify import identify

DELTA = 0.1
SIZES = (10, 11, 20, 50, 100, 300, 1000, 3000, 10_000, 30_000, 100_000)
ALGORITHMS = {  # name: colour
    "vd-best-arm-id-star": "#8c510a",
    "vd-best-arm-id": "#d6604d",
    "gap-entropy-elimination": "#1b7837",
    "naive-best-arm": "#2166ac",
}
DOCS = Path(__file__).parent.parent / "docs"
Row = dict[str, float | str]


def runs_at(n: int) -> int:
    """Fewer where one takes longer; the spread is about 2 % there."""
    return 10 if n <= 1000 else 3 if n <= 10_000 else 1


def measure() -> list[Row]:
    rows: list[Row] = []
    for n in SIZES:
        arms = example1(n)
        for name in ALGORITHMS:
            began = time.perf_counter()
            results = [identify(arms, DELTA, algorithm=name, seed=seed) for seed in range(runs_at(n))]
            seconds = (time.perf_counter() - began) / len(results)
            rows.append(
                {
                    "n": n,
                    "algorithm": name,
                    "runs": len(results),
                    "wrong": sum(result.index != 0 for result in results),
                    "pulls": float(np.mean([result.pulls for result in results])),
                    "seconds": round(seconds, 3),
                    "lower_bound": paper_lower_bound(hardness(arms.means, arms.variances), DELTA),
                }
            )
            print("{n:>7} {algorithm:<20} {pulls:.4g} pulls, {seconds:.3g} s a run, {wrong} wrong".format(**rows[-1]))
    return rows


def many_scales(scales: int) -> FiniteArms:
    """Bernoulli arms, the best at .9 and 4^(K−k) of them 2^−k below it, k = 1 … K: each scale weighs equally in Σ 1/Δ²."""
    return bernoulli([0.9] + [0.9 - 0.5**k for k in range(1, scales + 1) for _ in range(4 ** (scales - k))])


COMPARED = ("gap-entropy-elimination", "exponential-gap-elimination", "vd-best-arm-id", "naive-best-arm")


def scales_table() -> None:
    rows = [["K", "n", "Ent(I)", "H", "H_var", *COMPARED]]
    for scales in range(1, 9):
        arms = many_scales(scales)
        hard = hardness(arms.means, arms.variances)
        cells = [str(scales), f"{len(arms):,}", f"{gap_entropy(hard):.2f}", f"{hard.h:.3g}", f"{hard.h_var:.3g}"]
        for name in COMPARED:
            results = [identify(arms, DELTA, algorithm=name, seed=seed) for seed in range(runs_at(len(arms)))]
            assert all(result.index == 0 for result in results)
            cells.append(f"{np.mean([result.pulls for result in results]):.3g}")
        rows.append(cells)
        print(*cells, flush=True)
    with (DOCS / "data" / "paper-scales.csv").open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


def draw(rows: list[Row]) -> None:
    figure, axes = plt.subplots(figsize=(8, 6), dpi=110)
    for name, colour in ALGORITHMS.items():
        n, pulls = _line(rows, name, "pulls")
        few = n <= 10  # past ten arms IterElim begins, so the line is broken there
        for part in (few, ~few) if name.startswith("vd-") else (n > 0,):
            axes.loglog(n[part], pulls[part], "o-", color=colour, markersize=4, linewidth=1.6, zorder=3)
        up = {"vd-best-arm-id-star": 10, "gap-entropy-elimination": -10}.get(name, 0)  # they end close together
        axes.annotate(name, (n[-1], pulls[-1]), (8, up), textcoords="offset points", color=colour, va="center")
    n, bound = _line(rows, "naive-best-arm", "lower_bound")
    axes.loglog(n, bound, color="0.25", linewidth=1.2)
    axes.annotate(
        "(1/80)·H_var·ln 1/δ,\nthe lower bound's expression",
        (n[-1], bound[-1]),
        (8, 0),
        textcoords="offset points",
        va="center",
    )
    for name, first in (("vd-best-arm-id", 20), ("naive-best-arm", 10)):
        _references(axes, *_line(rows, name, "pulls"), first)
    top = _line(rows, "vd-best-arm-id", "pulls")[1]
    axes.annotate(
        "from 11 arms on IterElim runs,\nat accuracy ε/1000",
        (11, top[1] * 4),
        (10, 3e16),
        arrowprops={"arrowstyle": "->", "color": "0.4"},
        color="0.3",
        fontsize=9,
    )
    axes.set_xlim(8, 1e5 * 1.05)
    axes.set_xlabel("number of arms n")
    axes.set_ylabel("pulls until the answer")
    axes.set_title(f"Example 1 of the paper, δ = {DELTA}, constants as printed", loc="left", fontsize=11)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.grid(True, which="major", color="0.92", linewidth=0.7)
    figure.savefig(DOCS / "img" / "paper-pulls.png", bbox_inches="tight")


def _line(rows: list[Row], name: str, column: str) -> tuple[np.ndarray, np.ndarray]:
    chosen = [row for row in rows if row["algorithm"] == name]
    return np.array([float(row["n"]) for row in chosen]), np.array([float(row[column]) for row in chosen])


def _references(axes: plt.Axes, n: np.ndarray, pulls: np.ndarray, first: int) -> None:
    """n ln n and n² through a line's point at `first` arms."""
    start = pulls[n == first][0]
    x = np.geomspace(first, 1e5, 50)
    for label, shape, at in (("∝ n²", lambda m: m**2, 30), ("∝ n ln n", lambda m: m * np.log(m), 40)):
        y = start * shape(x) / shape(first)
        axes.loglog(x, y, "--", color="0.6", linewidth=1, zorder=1)
        above = label == "∝ n²"
        axes.annotate(
            label,
            (x[at], y[at]),
            (-4, 5) if above else (4, -12),
            textcoords="offset points",
            color="0.45",
            fontsize=9,
            ha="right" if above else "left",
        )


def main() -> None:
    table = DOCS / "data" / "paper-pulls.csv"
    if "--scales" in sys.argv:
        return scales_table()
    if "--draw" in sys.argv:
        with table.open() as file:
            rows: list[Row] = list(csv.DictReader(file))
    else:
        began = time.perf_counter()
        rows = measure()
        with table.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        print(f"{time.perf_counter() - began:.0f} s")
    draw(rows)


if __name__ == "__main__":
    main()

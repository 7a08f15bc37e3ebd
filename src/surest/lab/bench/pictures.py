"""Pictures of a benchmark that a paper could print. Solid lines are proven algorithms, broken ones heuristics."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from surest.algorithms.entry import YOURS
from surest.errors import UsageError
from surest.lab.bench.record import Done
from surest.lab.bench.run import Case
from surest.lab.bench.tables import Row, rows_of
from surest.writing import written

MOST = 9  # algorithms in a picture; by default those with the fewest pulls
INK, GREY = "#222222", "#8a8a8a"
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#7a4fa3", "#8c6d31", "#5f8a1f", "#777777")
WAGER = "#d1380e"
DASHES: dict[str, str | tuple[int, tuple[float, ...]]] = {
    "proven": "-",
    "heuristic": (0, (4, 2)),
    "reconstruction": (0, (1, 1.2)),
    YOURS: (0, (6, 1, 1, 1)),
}
MARKERS = "osD^vP*Xh"
BESIDE: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.02), "frameon": False, "fontsize": 8}
"""Where legends stand: to the right of the axes."""


class Style(NamedTuple):
    """How an algorithm is drawn."""

    name: str
    mean: float  # its mean pulls, the geometric mean over instances
    colour: str
    dashes: str | tuple[int, tuple[float, ...]]
    marker: str
    width: float


def draw(done: Done, rows: Sequence[Row], kind: str, path: str | Path) -> None:
    """Write a picture of a benchmark; ``auto`` chooses what its instances suit.

    Where there are several δ or, for pictures of one instance, several instances, the first is shown.
    """
    rows = [row for row in rows if row.delta == rows[0].delta]
    if kind == "auto":
        several = len({row.instance for row in rows})
        kind = "pulls" if len(sizes(rows, family(rows))) >= 3 else "profile" if several >= 3 else "times"
    if kind == "pulls":
        figure = pulls_against_n(rows)
    elif kind == "profile":
        figure = performance_profile(rows)
    else:
        one = next(iter(done))
        first = {case: runs for case, runs in done.items() if case.instance is one.instance and case.delta == one.delta}
        figure = stopping_times(first) if kind == "times" else allocation(first)
    save(figure, path)


def save(figure: Figure, path: str | Path) -> None:
    """Write a figure, in the form its name ends in."""
    with written(path):
        figure.savefig(path, dpi=150, metadata={"Software": None} if str(path).endswith(".png") else None)


def pulls_against_n(rows: Sequence[Row], algorithms: Sequence[str] | None = None) -> Figure:
    """Mean pulls over the number of arms, on log axes, with the lower bound."""
    kin = family(rows)
    rows = [row for row in rows if row.instance.partition(":")[0] == kin]
    if len(sizes(rows, kin)) < 2:
        raise UsageError("pulls against n need one kind of instance at several n, such as example1:10 example1:100")
    figure, axes = _canvas(4.6, _title(kin), right=0.72)
    bound = sorted({(row.n, row.lower_bound) for row in rows})
    axes.plot(*zip(*bound, strict=True), color=INK, lw=2.2, zorder=5)
    ends = [(bound[-1][1], "lower bound", INK)]
    for style in styles(rows, algorithms):
        own = sorted((r.n, r.mean, r.undecided) for r in rows if r.algorithm == style.name)
        n, mean, cut = (np.array(column) for column in zip(*own, strict=True))
        axes.plot(n, mean, **_line(style), marker=style.marker, ms=4.5)
        axes.plot(n[cut > 0], mean[cut > 0], "^", color=style.colour, ms=9, mfc="none")
        ends.append((mean[-1], style.name, style.colour))
    axes.set(xscale="log", yscale="log", xlabel="number of arms n", ylabel=f"mean pulls, δ = {rows[0].delta:g}")
    axes.set_xticks(sorted({row.n for row in rows}))
    _plain_numbers(axes)
    _label_ends(axes, ends)
    if any(row.undecided for row in rows):
        figure.text(0.01, 0.01, "open triangles: some runs hit the budget", fontsize=7, color=GREY)
    return figure


def performance_profile(rows: Sequence[Row]) -> Figure:
    """For each algorithm, the share of instances on which it needs at most τ times the fewest mean pulls."""
    names = list(dict.fromkeys(row.instance for row in rows))
    shown = styles(rows)
    chosen = {style.name for style in shown}
    mean = {(r.instance, r.algorithm): r.mean if not r.undecided else math.inf for r in rows}
    least = {i: min(mean.get((i, a), math.inf) for a in chosen) for i in names}
    names = [i for i in names if math.isfinite(least[i])]
    if not names:
        raise UsageError("no algorithm decided any instance within the budget; there is nothing to draw")
    levels = " and ".join(f"{delta:g}" for delta in dict.fromkeys(row.delta for row in rows))
    figure, axes = _canvas(4.2, f"Performance profile, δ = {levels}", right=0.7)
    ratio = {a: np.sort([mean.get((i, a), math.inf) / least[i] for i in names]) for a in chosen}
    ratio = {a: values[np.isfinite(values)] for a, values in ratio.items()}  # an undecided run never gets there
    right = max(2.0, 1.3 * max(values.max(initial=1.0) for values in ratio.values()))
    for style in shown:
        tau = ratio[style.name]
        reached = np.arange(len(tau) + 1) / len(names)
        axes.step([0.9, *tau, right], [*reached, reached[-1]], where="post", **_line(style))
    axes.set(xscale="log", xlim=(0.98, right), ylim=(0, 1.02))
    axes.set(xlabel="τ: mean pulls over the fewest", ylabel=f"share of {len(names)} instances")
    axes.xaxis.set_major_locator(LogLocator(10, (1, 2, 5) if right < 150 else (1,), numticks=9))
    _plain_numbers(axes)
    axes.legend(axes.lines[: len(shown)], [style.name for style in shown], **BESIDE, handlelength=2.6)
    return figure


def stopping_times(done: Done) -> Figure:
    """Every run's pulls on one instance: a dot per run, with median, mean and 95 % quantile."""
    case, rows = next(iter(done)), rows_of(done)
    shown = sorted(styles(rows, most=16), key=lambda style: -style.mean)
    height = 0.9 + 0.34 * len(shown)
    figure, axes = _canvas(height, _title_of(case), left=0.3, bottom=0.72 / height, top=1 - 0.38 / height)
    jitter = np.random.default_rng(0)
    runs = {c.algorithm: replications for c, replications in done.items()}
    for place, style in enumerate(shown):
        found = runs[style.name]
        pulls, cut = np.array([r.pulls for r in found], float), np.array([not r.decided for r in found])
        wrong = np.array([r.decided and not r.right for r in found])
        level, right = place + jitter.uniform(-0.27, 0.27, len(pulls)), ~cut & ~wrong
        axes.plot(pulls[right], level[right], "o", ms=2.6, mew=0, alpha=0.45, color=style.colour, rasterized=True)
        axes.plot(pulls[wrong], level[wrong], "x", ms=5, mew=1.3, color="black", zorder=6)
        axes.plot(pulls[cut], level[cut], ">", ms=4, mfc="none", color=style.colour)
        axes.plot([np.median(pulls)] * 2, [place - 0.36, place + 0.36], color=INK, lw=1.8, zorder=5)
        axes.plot(pulls.mean(), place, "D", ms=4.2, color="white", mec=INK, mew=1, zorder=6)
        axes.plot([np.quantile(pulls, 0.95)] * 2, [place - 0.22, place + 0.22], color=INK, lw=0.9, zorder=5)
    bound = case.instance.characteristic.lower_bound(case.delta)
    if math.isfinite(bound) and bound > 0 and case.epsilon == 0:
        axes.axvline(bound, color=INK, lw=1, ls=":", zorder=0)
    axes.set(xscale="log", xlabel="pulls")
    key = "dotted: lower bound   bars: median, 95 %   diamond: mean   ×: wrong answer   triangle: stopped by the budget"
    figure.text(0.99, 0.012, key, fontsize=7, color=GREY, ha="right")
    axes.set_yticks(range(len(shown)), [style.name for style in shown])
    for tick, style in zip(axes.get_yticklabels(), shown, strict=True):
        tick.set_color(style.colour)
    axes.grid(axis="y", visible=False)
    return figure


def allocation(done: Done, algorithms: Sequence[str] | None = None) -> Figure:
    """The share of its pulls that each algorithm gives each arm of one instance, beside the optimal shares."""
    case, rows = next(iter(done)), rows_of(done)
    weights = case.instance.characteristic.weights
    shares = {
        c.algorithm: np.mean([np.array(r.per_arm) / max(r.pulls, 1) for r in runs], axis=0)
        for c, runs in done.items()
        if all(r.per_arm is not None for r in runs)
    }
    if not shares or np.isnan(weights).any():
        raise UsageError("an allocation needs an instance of at most 64 arms with one best arm")
    order = np.argsort(-case.instance.arms.means, kind="stable")[:12]
    shown = [style for style in styles(rows, algorithms, most=6) if style.name in shares]
    figure, axes = _canvas(3.8, _title_of(case), right=0.7, bottom=0.19)
    places = np.arange(len(order))
    axes.bar(places, weights[order], width=0.86, color="#dddddd", zorder=1, label="optimal shares w*")
    for k, style in enumerate(shown):
        beside, own = places + (k - (len(shown) - 1) / 2) * 0.8 / max(len(shown), 2), shares[style.name][order]
        axes.plot(beside, own, style.marker, ms=5, color=style.colour, label=style.name, zorder=3)
    labels = [f"{case.instance.arms.labels[i]}\n{case.instance.arms.means[i]:.3g}" for i in order]
    axes.set_xticks(places, labels, fontsize=8)
    axes.set(xlabel="arm, and its mean", ylabel="share of the pulls")
    axes.grid(axis="x", visible=False)
    axes.legend(**BESIDE)
    return figure


def styles(rows: Sequence[Row], algorithms: Sequence[str] | None = None, most: int = MOST) -> list[Style]:
    """Which algorithms to show, and how: Wager first, others by their pulls (geometric mean over the lower bounds)."""
    if algorithms is None:
        rows = [row for row in rows if row.goal != "fixed budget" and not row.control]
    cost: dict[str, list[float]] = {}
    for row in rows:
        cost.setdefault(row.algorithm, []).append(math.log(max(row.mean, 1.0)))
    standing = {row.algorithm: row.standing for row in rows}
    everywhere = max(map(len, cost.values()), default=0)
    means = {name: float(np.exp(np.mean(logs))) for name, logs in cost.items() if len(logs) == everywhere}
    names = sorted(means, key=lambda a: (a != "wager", means[a])) if algorithms is None else algorithms
    names = [name for name in names if name in means][:most]
    if not names:
        raise UsageError("there is no algorithm to draw: fixed-budget ones stop at their budget")
    return [
        Style(
            name=name,
            mean=means[name],
            colour=WAGER if name == "wager" else COLOURS[k % len(COLOURS)],
            dashes=DASHES[standing[name]],
            marker=MARKERS[k % len(MARKERS)],
            width=2.4 if name == "wager" else 1.3,
        )
        for k, name in enumerate(names)
    ]


def family(rows: Sequence[Row]) -> str:
    """The kind of instance of which there are most sizes."""
    kinds = list(dict.fromkeys(row.instance.partition(":")[0] for row in rows if ":" in row.instance))
    return max(kinds, key=lambda kind: len(sizes(rows, kind)), default="")


def sizes(rows: Sequence[Row], kind: str) -> set[int]:
    """The numbers of arms of the instances ``kind:n``."""
    return {row.n for row in rows if row.instance == f"{kind}:{row.n}"}


def _title(name: str) -> str:
    return {"example1": "Example 1: means 1 − i/n"}.get(name, name if len(name) < 60 else name[:57] + "…")


def _line(style: Style) -> dict[str, Any]:
    return {"color": style.colour, "ls": style.dashes, "lw": style.width, "zorder": 4 if style.name == "wager" else 3}


def _title_of(case: Case) -> str:
    return f"{_title(case.instance.name)}, δ = {case.delta:g}"


def _canvas(height: float, title: str, **margins: float) -> tuple[Figure, Any]:
    figure = Figure((6.6, height))
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    figure.subplots_adjust(**{"left": 0.12, "right": 0.97, "bottom": 0.14, "top": 0.91} | margins)
    axes.set_title(title, loc="left", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(True, color="#e6e6e6", lw=0.6, zorder=0)
    axes.set_axisbelow(True)
    axes.tick_params(labelsize=8.5, colors=INK)
    return figure, axes


def _plain_numbers(axes: Any) -> None:
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())


def _label_ends(axes: Any, ends: Sequence[tuple[float, str, str]]) -> None:
    """Names beside the lines' ends, moved apart where they would overlap."""
    low, high = np.log(axes.get_ylim())
    apart = 0.05 * (high - low)
    place = -math.inf
    for value, name, colour in sorted(ends):
        place = max(math.log(value), place + apart)
        height = (place - low) / (high - low)
        axes.annotate(name, (1.02, height), xycoords="axes fraction", color=colour, fontsize=8, va="center")

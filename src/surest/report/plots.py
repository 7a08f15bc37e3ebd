"""Pictures of a result, drawn with matplotlib, which is imported on first use."""

import math
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from surest.errors import MissingPackageError, UsageError
from surest.report.pictures import PICTURES, ArmPicture, Curve, HeatMap, Picture, pictures_of, tick_text
from surest.result.data import PictureKind, Result
from surest.text import shortened, visible
from surest.writing import check_place, written

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from surest.search.plan import Plan

LEADER, OTHER, QUIET = "#D55E00", "#0072B2", "#6B6B6B"
"""Vermillion and blue of Okabe and Ito's palette for all kinds of colour vision; the leader also has a marker of its own."""
MOST = 30  # arms in a picture
LONGEST = 28  # characters of a label
LACKING = {
    "leads": "there are no bounds of leads: nothing is decided yet, or the algorithm does not report them",
    "evidence": "no evidence over time was kept; give history=True, and an algorithm that reports it",
    "duels": "there is no table of wins: this was not a search by duels",
    "costs": "costs are not known beforehand; give cost={arm: number}",
}
"""Why there is no picture of a kind."""


def draw(kind: PictureKind | None, result: Result, ax: "Axes | None" = None) -> "Axes":
    """Draw one picture on `ax`, or on a new figure; by default the first that a page has."""
    if kind not in (None, *get_args(PictureKind)):
        raise UsageError(f"there is no picture {kind!r}; allowed: {', '.join(get_args(PictureKind))}")
    picture = None if kind == "costs" else PICTURES[kind](result, MOST) if kind else pictures_of(result, MOST)[0]
    lacking = {"costs": result.problem.prices is None, "evidence": not result.history}
    if kind in LACKING and lacking.get(kind, picture is None):
        raise UsageError(LACKING[kind])
    if ax is None:
        ax = _pyplot().subplots(figsize=(6.4, _height(picture)), layout="constrained")[1]
    if kind == "costs":
        _draw_costs(ax, result)
    elif picture is not None and picture.drawn is not None:
        _draw(ax, picture)
    return ax


def figure(result: Result, title: str = "") -> "Figure":
    """The pictures that a page has of a result, side by side."""
    _pyplot()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    shown = [picture for picture in pictures_of(result, MOST) if picture.drawn is not None]
    columns, rows = min(len(shown), 2), [max(map(_height, shown[k : k + 2])) for k in range(0, len(shown), 2)]
    page = Figure(figsize=(6.4 * columns, sum(rows) + 0.4), layout="constrained")
    FigureCanvasAgg(page)
    page.suptitle(_plain(title), fontsize="medium", wrap=True)
    grid = page.add_gridspec(len(rows), columns, height_ratios=rows)
    for place, picture in enumerate(shown):
        _draw(page.add_subplot(grid[divmod(place, columns)]), picture)
    return page


def save(path: str | Path, result: Result, title: str = "") -> None:
    """Write `figure` to a file in the format of its suffix."""
    checked_path(path)
    picture = figure(result, title)
    with written(path):
        picture.savefig(path, dpi=150)


def checked_path(path: str | Path) -> None:
    """Refuse a path that cannot be written, before the search and not after it."""
    check_place(path, "picture")
    _pyplot()


def _draw(ax: "Axes", picture: Picture) -> None:
    drawn = picture.drawn
    if isinstance(drawn, ArmPicture):
        _draw_arms(ax, drawn)
    elif isinstance(drawn, Curve):
        _draw_curve(ax, drawn)
    elif isinstance(drawn, HeatMap):
        _draw_wins(ax, drawn)
    else:
        return
    ax.set_title(_plain(picture.heading), fontsize="small", loc="left")
    ax.set_xlabel(
        "\n".join([" ".join(drawn.words), *textwrap.wrap(_plain(picture.note), 76)]).strip(), fontsize="small"
    )
    _bare(ax)


def _draw_arms(ax: "Axes", drawn: ArmPicture) -> None:
    """Rows of arms, the leader's on top."""
    for y, row in enumerate(drawn.rows):
        colour = LEADER if row.chosen else OTHER
        if row.text:
            ax.barh(y, row.high or 0.0, color=colour, height=0.62, alpha=0.85)
            beside: Any = {"xytext": (3, 0), "textcoords": "offset points", "va": "center", "fontsize": "x-small"}
            ax.annotate(row.text, (row.high or 0.0, y), **beside)
        elif row.low is not None and row.high is not None:
            ax.hlines(y, row.low, row.high, color=colour, linewidth=3, alpha=0.3 if row.out else 0.75)
        if row.mean is not None:  # of arms that are out it is hollow
            mark, inside = "D" if row.chosen else "o", "none" if row.out else colour
            ax.plot(row.mean, y, mark, color=colour, markersize=6, markerfacecolor=inside, zorder=3)
    if drawn.line is not None:
        ax.axvline(drawn.line, color=LEADER, linewidth=0.8, linestyle=":", zorder=0)
    ax.margins(x=0.04)
    if drawn.bars:
        ax.set_xlim(0, max([*(row.high or 0 for row in drawn.rows), 1]) * 1.22)  # room for the numbers
        ax.locator_params(axis="x", nbins=4)
        ax.xaxis.set_major_formatter(tick_text)
    ax.set_yticks(range(len(drawn.rows)), [_short_label(row.label) for row in drawn.rows])
    ax.tick_params(axis="y", length=0, labelsize="small")
    for label, row in zip(ax.get_yticklabels(), drawn.rows, strict=True):
        if row.chosen:
            label.set(color=LEADER, fontweight="bold")
    ax.set_ylim(len(drawn.rows) - 0.4, -0.6)
    ax.grid(axis="x", linewidth=0.4, alpha=0.5)
    ax.set_axisbelow(True)


def _draw_wins(ax: "Axes", drawn: HeatMap) -> None:
    """Scores in percent, wins warm, losses cold, certified ones bold."""
    shares = [[np.nan if one.share is None else one.share for one in row] for row in drawn.cells]
    ax.imshow(shares, cmap="PuOr_r", vmin=-0.6, vmax=1.6)
    for i, row in enumerate(drawn.cells):
        for j, one in enumerate(row):
            ax.text(j, i, one.text, ha="center", va="center", size=8, weight="bold" if one.certain else "normal")
    ax.set_yticks(range(len(shares)), [f"{_short_label(label)}  {i}" for i, label in enumerate(drawn.labels, 1)])
    ax.set_xticks(range(len(shares)), [str(i + 1) for i in range(len(shares))])


def _draw_curve(ax: "Axes", drawn: Curve) -> None:
    """The weakest evidence for the leader, against what a decision needs."""
    pulls, shares = zip(*drawn.points, strict=True)
    marker = "o" if len(pulls) < 25 else None
    ax.plot(pulls, shares, color=OTHER, linewidth=1.8, marker=marker, markersize=4, clip_on=False)
    ax.axhline(100.0, color=LEADER, linewidth=1.2, linestyle="--")
    beside: Any = {"xytext": (0, 3), "textcoords": "offset points", "fontsize": "small", "va": "bottom"}
    ax.annotate("needed to decide", (0.005, 100.0), xycoords=("axes fraction", "data"), color=LEADER, **beside)
    ax.set_ylim(0, 1.1 * drawn.high)
    ax.set_xlim(0, max(*pulls, 1))
    ax.xaxis.set_major_formatter(tick_text)
    ax.yaxis.set_major_formatter("{x:.0f} %")


def _draw_costs(ax: "Axes", result: Result) -> None:
    """Means against the cost of an evaluation: the front of arms that no cheaper one beats, and the arms close to the best."""
    prices, means = result.problem.prices, result.means
    assert prices is not None
    sign = -1 if result.minimise else 1
    best = np.nanmax(sign * means)
    order = np.lexsort((-sign * means, prices))
    front = [
        i for k, i in enumerate(order) if sign * means[i] > max((sign * means[j] for j in order[:k]), default=-math.inf)
    ]
    ax.plot(prices[front], means[front], color=QUIET, lw=1, drawstyle="steps-post", label="the front", zorder=1)
    near = result.problem.cheapest
    if near is not None:
        ends = sign * best, sign * (best - near)
        ax.axhspan(*ends, color=OTHER, alpha=0.15, lw=0, label=f"within {near:g} of the best so far")
    for i, label in enumerate(result.labels):
        mark, colour, name = ("D", LEADER, "the answer") if i in result.indices else ("o", OTHER, None)
        ax.plot(prices[i], means[i], mark, color=colour, label=name)
        if len(result.labels) <= MOST:
            near_it: Any = {"xytext": (5, 4), "textcoords": "offset points", "fontsize": 8}
            ax.annotate(_short_label(str(label)), (prices[i], means[i]), **near_it)
    if prices.min() > 0 and prices.max() > 20 * prices.min():
        ax.set_xscale("log")
    unit = f" ({_plain(result.problem.cost_unit)})" if result.problem.cost_unit else ""
    ax.set(xlabel=f"cost of an evaluation{unit}", ylabel="mean so far")
    ax.legend(frameon=False, fontsize=8, loc="lower right")
    _bare(ax)


def draw_plan(plan: "Plan", ax: "Axes | None" = None) -> "Axes":
    """Evaluations of simulated searches against the gap; their distribution if there is one gap."""
    ax = _pyplot().subplots(figsize=(6.4, 3.2), layout="constrained")[1] if ax is None else ax
    fixed = f"fixed sample, power {plan.power:.0%}"
    if len(plan.rows) == 1:
        row = plan.rows[0]
        needed = np.sort(row.evaluations)
        shares = np.arange(1, len(needed) + 1) / len(needed)
        ax.plot(needed, shares, color=OTHER, drawstyle="steps-post", label="surest")
        ax.axvline(row.fixed, color=QUIET, ls="--", label=fixed)
        ax.set(xlabel="evaluations", ylabel="share of searches that end", ylim=(0, 1.02))
    else:
        gaps = [row.gap for row in plan.rows]
        low, middle, high, _ = zip(*(row.quantiles() for row in plan.rows), strict=True)
        ax.fill_between(gaps, low, high, color=OTHER, alpha=0.25, lw=0, label="surest, 80 % of the searches")
        ax.plot(gaps, middle, color=OTHER, marker="o", label="surest, median")
        ax.plot(gaps, [row.fixed for row in plan.rows], color=QUIET, ls="--", marker="s", label=fixed)
        ax.set(xlabel="how far the best is ahead", ylabel="evaluations", yscale="log")
    ax.legend(frameon=False)
    _bare(ax)
    return ax


def _short_label(label: str) -> str:
    return _plain(shortened(label, LONGEST))


def _plain(text: str) -> str:
    """Text with its dollar signs escaped, which would start a formula."""
    return visible(text).replace("$", r"\$")


def _bare(ax: "Axes") -> None:
    ax.spines[["top", "right"]].set_visible(False)


def _height(picture: Picture | None) -> float:
    rows = len(picture.drawn.rows) if picture is not None and isinstance(picture.drawn, ArmPicture) else 10
    return 1.2 + 0.24 * max(rows, 4)


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise MissingPackageError("pictures need matplotlib: pip install 'surest[plot]'") from None
    return plt

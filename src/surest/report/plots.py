"""Pictures of a result, drawn with matplotlib, which is imported on first use."""

import math
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from surest.errors import MissingPackageError, UsageError
from surest.report import pictures
from surest.report.pictures import ArmPicture, tick_text
from surest.result.data import PictureKind, Result
from surest.result.duels import score_text, wins_of
from surest.result.leads import DrawnLeads, leads_of, overlap_note
from surest.result.table import ArmTable
from surest.text import count, shortened, visible
from surest.writing import check_place, written

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from surest.search.plan import Plan

LEADER, OTHER, QUIET = "#D55E00", "#0072B2", "#6B6B6B"
"""Vermillion and blue of Okabe and Ito's palette for all kinds of colour vision; the leader also has a marker of its own."""
MOST = 30
"""Arms in a picture."""
LONGEST = 28
"""Characters of a label."""


def draw(kind: PictureKind, result: Result, ax: "Axes | None" = None) -> "Axes":
    """Draw one picture on `ax`, or on a new figure."""
    if kind not in get_args(PictureKind):
        raise UsageError(f"there is no picture {kind!r}; allowed: {', '.join(get_args(PictureKind))}")
    arms = result.arms
    leads = leads_of(result) if kind == "leads" else None
    if kind == "evidence" and not result.history:
        raise UsageError("no evidence over time was kept; give history=True, and an algorithm that reports it")
    if kind == "leads" and leads is None:
        raise UsageError("there are no bounds of leads: nothing is decided yet, or the algorithm does not report them")
    if kind == "duels" and result.duels is None:
        raise UsageError("there is no table of wins: this was not a search by duels")
    if ax is None:
        height = 3.6 if kind in ("evidence", "costs") else _height(arms)
        ax = _pyplot().subplots(figsize=(6.4, height), layout="constrained")[1]
    match kind:
        case "leads" if leads is not None:
            draw_leads(ax, arms, leads)
        case "intervals":
            draw_intervals(ax, result)
        case "pulls":
            draw_pulls(ax, arms)
        case "duels":
            draw_duels(ax, result)
        case "evidence":
            draw_evidence(ax, result)
        case "costs":
            draw_costs(ax, result)
    return ax


def figure(result: Result, title: str = "") -> "Figure":
    """The leads if decided, intervals beside pulls, and evidence over time if it was kept."""
    _pyplot()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    arms, leads = result.arms, leads_of(result) if result.certified else None
    heights = [*([_height(arms)] if leads else []), _height(arms), *([2.6] if result.history else [])]
    size = (9.6, sum(heights) + 0.4) if result.duels is None else (6.4, 5.6)
    page = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(page)
    page.suptitle(_plain(title), fontsize="medium", wrap=True)
    if result.duels is not None:
        draw_duels(page.add_subplot(), result)
        return page
    grid = page.add_gridspec(len(heights), 2, width_ratios=[3, 2], height_ratios=heights)
    if leads:
        draw_leads(page.add_subplot(grid[0, :]), arms, leads)
    left = page.add_subplot(grid[int(leads is not None), 0])
    right = page.add_subplot(grid[int(leads is not None), 1], sharey=left)
    draw_intervals(left, result)
    draw_pulls(right, arms)
    right.tick_params(labelleft=False)
    right.set_title("", loc="left")  # the rows are named once
    if result.history:
        draw_evidence(page.add_subplot(grid[-1, :]), result)
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


def draw_leads(ax: "Axes", arms: ArmTable, leads: DrawnLeads) -> None:
    """Bounds of leads, with a line at 0."""
    _draw_arms(ax, pictures.leads(arms, leads, MOST), leads.note)
    ax.set_title(_plain(leads.heading), fontsize="small", loc="left")


def draw_intervals(ax: "Axes", result: Result) -> None:
    """Means with their confidence intervals, the chosen arms on top with a marker of their own."""
    drawn = pictures.intervals(result.arms, MOST)
    if drawn is not None:
        _draw_arms(ax, drawn, overlap_note(result) if len(drawn.words) > 1 else "", len(result.labels))


def draw_pulls(ax: "Axes", arms: ArmTable) -> None:
    """How many pulls each arm got."""
    drawn = pictures.allocation(arms, MOST)
    _draw_arms(ax, drawn, among=len(arms))
    shown, total = sum(arms.rows[i].pulls for i in arms.leading(MOST)), sum(arm.pulls for arm in arms)
    ax.set_xlim(0, max([*(row.high or 0 for row in drawn.rows), 1]) * 1.22)  # room for the numbers
    ax.locator_params(axis="x", nbins=4)
    ax.xaxis.set_major_formatter(tick_text)
    rest = f",\n{(total - shown) / max(total, 1):.0%} on arms not shown" if len(arms) > MOST else ""
    ax.set_xlabel(f"{'evaluations' if arms.counted == 'items' else arms.counted} (of {count(total)}{rest})")


def _draw_arms(ax: "Axes", drawn: ArmPicture, note: str = "", among: int = 0) -> None:
    """Rows of arms, the leader's on top, and a note below; the title says if some of the arms `among` are left out."""
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
    if drawn.line is not None and (among != 1):
        ax.axvline(drawn.line, color=LEADER, linewidth=0.8, linestyle=":", zorder=0)
    ax.set_yticks(range(len(drawn.rows)), [_short_label(row.label) for row in drawn.rows])
    ax.tick_params(axis="y", length=0, labelsize="small")
    for label, row in zip(ax.get_yticklabels(), drawn.rows, strict=True):
        if row.chosen:
            label.set(color=LEADER, fontweight="bold")
    ax.set_ylim(len(drawn.rows) - 0.4, -0.6)
    rest = among - len(drawn.rows)
    if rest > 0:
        shown = f"the {len(drawn.rows)} leading arms; {rest:,} more below"
        ax.set_title(shown, fontsize="small", color=QUIET, loc="left")
    _bare(ax)
    ax.grid(axis="x", linewidth=0.4, alpha=0.5)
    ax.set_axisbelow(True)
    ax.set_xlabel("\n".join([" ".join(drawn.words), *textwrap.wrap(_plain(note), 64)]))
    ax.margins(x=0.04)


def draw_duels(ax: "Axes", result: Result) -> None:
    """Who beats whom, in the order found: wins warm, losses cold, certified ones bold."""
    labels, cells = wins_of(result)
    scores = [
        [float("nan") if score is None or i == j else score for j, (score, _) in enumerate(row)]
        for i, row in enumerate(cells)
    ]
    ax.imshow(scores, cmap="PuOr_r", vmin=-0.6, vmax=1.6)
    for i, row in enumerate(cells):
        for j, (score, certain) in enumerate(row):
            if i != j:
                ax.text(
                    j, i, score_text(score), ha="center", va="center", size=8, weight="bold" if certain else "normal"
                )
    ax.set_yticks(range(len(labels)), [f"{_short_label(label)}  {i + 1}" for i, label in enumerate(labels)])
    ax.set_xticks(range(len(labels)), [str(i + 1) for i in range(len(labels))])
    ax.set_title("Who beats whom: score in percent, bold where told apart", loc="left", fontsize="small")
    _bare(ax)


def draw_evidence(ax: "Axes", result: Result) -> None:
    """The weakest evidence for the leader, against what a decision needs."""
    drawn = pictures.evidence(result.history, pictures.evaluated(result))
    if drawn is None:
        return
    pulls, shares = zip(*drawn.points, strict=True)
    marker = "o" if len(pulls) < 25 else None
    evidence = [min(share, drawn.high) for share in shares]
    ax.plot(pulls, evidence, color=OTHER, linewidth=1.8, marker=marker, markersize=4, clip_on=False)
    ax.axhline(1.0, color=LEADER, linewidth=1.2, linestyle="--")
    beside: Any = {"xytext": (0, 3), "textcoords": "offset points", "fontsize": "small", "va": "bottom"}
    ax.annotate("needed to decide", (0.005, 1.0), xycoords=("axes fraction", "data"), color=LEADER, **beside)
    ax.set_ylim(0, 1.1 * drawn.high)
    ax.set_xlim(0, max(*pulls, 1))
    ax.xaxis.set_major_formatter(tick_text)
    ax.set_xlabel(pictures.evaluated(result))
    ax.yaxis.set_major_formatter("{x:.0%}")
    ax.set_ylabel("evidence, share of what is needed")
    _bare(ax)


def draw_costs(ax: "Axes", result: Result) -> None:
    """Means against the cost of an evaluation: the front of arms that no cheaper one beats, and the arms close to the best."""
    prices, means = result.problem.prices, result.means
    if prices is None:
        raise UsageError("costs are not known beforehand; give cost={arm: number}")
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


def _height(arms: ArmTable) -> float:
    return 1.2 + 0.24 * max(min(len(arms), MOST), 4)


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise MissingPackageError("pictures need matplotlib: pip install 'surest[plot]'") from None
    return plt

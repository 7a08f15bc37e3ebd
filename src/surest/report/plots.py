"""Pictures of a result, drawn with matplotlib, which is imported when the first one is drawn."""

import math
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from surest.core.protocol import Point
from surest.errors import MissingPackageError, UsageError
from surest.report.pictures import interval_words, marked, share_of, tick_text
from surest.result.data import Result
from surest.result.differences import DrawnLeads, leads_of, overlap_note
from surest.result.duels import score_text, wins_of
from surest.result.table import ArmTable
from surest.text import count, shortened, visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from surest.search.plan import Plan

Kind = Literal["leads", "intervals", "pulls", "evidence", "duels", "costs"]
SUFFIXES = ("png", "svg", "pdf")
LEADER, OTHER, QUIET = "#D55E00", "#0072B2", "#6B6B6B"
"""Vermillion and blue of Okabe and Ito's palette, told apart with any colour vision; the leader has its own mark too."""
MOST = 30
"""Arms in a picture: more labels cannot be read."""
LONGEST = 28
"""Letters of a label."""


def draw(kind: Kind, result: Result, ax: "Axes | None" = None) -> "Axes":
    """Draw one picture on `ax`, or on a new figure of a fitting size."""
    if kind not in get_args(Kind):
        raise UsageError(f"there is no picture {kind!r}; allowed: {', '.join(get_args(Kind))}")
    arms, history = result.arms, result.history
    leads = leads_of(result) if kind == "leads" else None
    if kind == "evidence" and not history:
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
            draw_intervals(ax, arms, overlap_note(result))
        case "pulls":
            draw_pulls(ax, arms)
        case "duels":
            draw_duels(ax, result)
        case "evidence":
            draw_evidence(ax, history, arms.counted)
        case "costs":
            draw_costs(ax, result)
    return ax


def figure(result: Result, title: str = "") -> "Figure":
    """The leads that a verdict rests on, then intervals beside pulls, and evidence over time below where it was kept."""
    _pyplot()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    arms, history, leads = result.arms, result.history, leads_of(result) if result.certified else None
    heights = [*([_height(arms)] if leads else []), _height(arms), *([2.6] if history else [])]
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
    draw_intervals(left, arms, overlap_note(result))
    draw_pulls(right, arms)
    right.tick_params(labelleft=False)
    right.set_title("", loc="left")  # the rows are named once
    if history:
        draw_evidence(page.add_subplot(grid[-1, :]), history, arms.counted)
    return page


def save(path: str | Path, result: Result, title: str = "") -> None:
    """Write `figure` to a file whose suffix says the format."""
    checked_path(path)
    picture = figure(result, title)
    try:
        picture.savefig(path, dpi=150)
    except OSError as error:
        raise UsageError(f"the picture cannot be written to {path}: {error.strerror or error}") from None


def checked_path(path: str | Path) -> None:
    """Refuse what cannot be drawn or written before the search begins, not after it."""
    if Path(path).suffix.lower().removeprefix(".") not in SUFFIXES:
        raise UsageError(f"{path}: a picture's name ends in .png, .svg or .pdf")
    if not Path(path).resolve().parent.is_dir():
        raise UsageError(f"{path}: there is no folder {Path(path).parent} to write the picture to")
    _pyplot()


def draw_leads(ax: "Axes", arms: ArmTable, leads: DrawnLeads) -> None:
    """Bounds of leads, with a line at 0."""
    shown = _rows(ax, arms, [row.arm for row in leads.rows])
    for row, lead in enumerate(leads.rows[: len(shown)]):
        colour = LEADER if lead.arm in arms.chosen else OTHER
        ax.hlines(row, lead.low, lead.high, color=colour, linewidth=5, alpha=0.75)
        if lead.low == lead.high:  # a line without length would not be seen
            ax.plot(lead.low, row, "o", color=colour)
    ax.axvline(0.0, color=LEADER, linewidth=0.8, linestyle=":", zorder=0)
    ax.set_title(_plain(leads.heading), fontsize="small", loc="left")
    ax.set_xlabel(_with_note("lead", leads.note))
    ax.margins(x=0.04)


def draw_intervals(ax: "Axes", arms: ArmTable, note: str = "") -> None:
    """Means with their confidence intervals, the chosen arms on top with a mark of their own; `note` stands below."""
    shown = _rows(ax, arms)
    for row, i in enumerate(shown):
        arm, colour = arms.rows[i], LEADER if i in arms.chosen else OTHER
        out = arms.contenders is not None and i not in arms.contenders  # drawn hollow and pale
        if not math.isnan(arm.low):
            ax.hlines(row, arm.low, arm.high, color=colour, linewidth=2.2, alpha=0.3 if out else 0.75)
        if not math.isnan(arm.mean):
            mark, inside = "D" if i in arms.chosen else "o", "none" if out else colour
            ax.plot(arm.mean, row, mark, color=colour, markersize=6, markerfacecolor=inside, zorder=3)
    line, words = marked(arms), interval_words(arms, shown)
    if not math.isnan(line) and len(arms) > 1:
        ax.axvline(line, color=LEADER, linewidth=0.8, linestyle=":", zorder=0)
    ax.set_xlabel(_with_note(" ".join(words), note if len(words) > 1 else ""))
    ax.margins(x=0.04)


def draw_duels(ax: "Axes", result: Result) -> None:
    """Who beats whom, in the order found: wins warm, losses cold, what is told apart bold."""
    labels, cells = wins_of(result)
    scores = [
        [float("nan") if score is None or i == j else score for j, (score, _) in enumerate(row)]
        for i, row in enumerate(cells)
    ]
    ax.imshow(scores, cmap="PuOr_r", vmin=-0.6, vmax=1.6)
    for i, row in enumerate(cells):
        for j, (score, told) in enumerate(row):
            if i != j:
                ax.text(j, i, score_text(score), ha="center", va="center", size=8, weight="bold" if told else "normal")
    ax.set_yticks(range(len(labels)), [f"{_short_label(label)}  {i + 1}" for i, label in enumerate(labels)])
    ax.set_xticks(range(len(labels)), [str(i + 1) for i in range(len(labels))])
    ax.set_title("Who beats whom: score in percent, bold where told apart", loc="left", fontsize="small")
    _bare(ax)


def draw_pulls(ax: "Axes", arms: ArmTable) -> None:
    """How many pulls each arm got."""
    shown = _rows(ax, arms)
    pulls = [arms.rows[i].pulls for i in shown]
    colours = [LEADER if i in arms.chosen else OTHER for i in shown]
    ax.barh(range(len(shown)), pulls, color=colours, height=0.62, alpha=0.85)
    for row, number in enumerate(pulls):
        ax.annotate(count(number), (number, row), (3, 0), textcoords="offset points", va="center", fontsize="x-small")
    ax.set_xlim(0, max([*pulls, 1]) * 1.22)  # room for the numbers
    ax.locator_params(axis="x", nbins=4)
    ax.xaxis.set_major_formatter(tick_text)
    total = sum(arm.pulls for arm in arms)
    ax.set_xlabel(f"{_evaluations(arms.counted)} (of {count(total)})")
    rest = len(arms) - len(shown)
    if rest:
        part = (total - sum(pulls)) / max(total, 1)
        ax.set_xlabel(f"{_evaluations(arms.counted)} (of {count(total)},\n{part:.0%} on arms not shown)")


def draw_evidence(ax: "Axes", history: Sequence[Point], counted: str = "pulls") -> None:
    """Evidence for the leader where it is weakest, against what a decision needs."""
    pulls = [point.pulls for point in history]
    shares = [share_of(point) for point in history]
    most = 1.15 * max([1.0, *filter(math.isfinite, shares)])
    evidence = [min(share, most) for share in shares]  # what is certain has infinite evidence
    marker = "o" if len(pulls) < 25 else None
    ax.plot(pulls, evidence, color=OTHER, linewidth=1.8, marker=marker, markersize=4, clip_on=False)
    ax.axhline(1.0, color=LEADER, linewidth=1.2, linestyle="--")
    ax.annotate(
        "needed to decide", (0.005, 1.0), (0, 3), xycoords=("axes fraction", "data"),
        textcoords="offset points", color=LEADER, fontsize="small", va="bottom",
    )  # fmt: skip
    ax.set_ylim(0, 1.25 * max(1.0, *evidence))
    ax.set_xlim(0, max(*pulls, 1))
    ax.xaxis.set_major_formatter(tick_text)
    ax.set_xlabel(_evaluations(counted))
    ax.yaxis.set_major_formatter("{x:.0%}")
    ax.set_ylabel("evidence, share of what is needed")
    _bare(ax)


def draw_costs(ax: "Axes", result: Result) -> None:
    """Means against what an evaluation costs: the front of arms that no cheaper one beats, and what is close to the best."""
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
    """Evaluations that simulated searches needed against the gap; of one gap, how they spread."""
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


def _evaluations(counted: str) -> str:
    """What a sum over arms is called: an arm has items, all of them together have evaluations."""
    return "evaluations" if counted == "items" else counted


def _rows(ax: "Axes", arms: ArmTable, among: list[int] | None = None) -> list[int]:
    """Give each arm that is shown a row, the leader's on top; which arms these are."""
    shown = arms.leading(MOST) if among is None else among[:MOST]
    ax.set_yticks(range(len(shown)), [_short_label(str(arms.rows[i].label)) for i in shown])
    ax.tick_params(axis="y", length=0, labelsize="small")
    for label, i in zip(ax.get_yticklabels(), shown, strict=True):
        if i in arms.chosen:
            label.set(color=LEADER, fontweight="bold")
    ax.set_ylim(len(shown) - 0.4, -0.6)
    rest = len(arms) - len(shown)
    if rest and among is None:
        ax.set_title(f"the {len(shown)} leading arms; {rest:,} more below", fontsize="small", color=QUIET, loc="left")
    _bare(ax)
    ax.grid(axis="x", linewidth=0.4, alpha=0.5)
    ax.set_axisbelow(True)
    return shown


def _with_note(label: str, note: str) -> str:
    return "\n".join([label, *textwrap.wrap(_plain(note), 64)])


def _short_label(label: str) -> str:
    return _plain(shortened(label, LONGEST))


def _plain(text: str) -> str:
    """Text with the dollar signs that would start a formula kept as they are."""
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

"""Pictures of a result as SVG, for reports, pages of the service and notebooks: where their marks go; templates draw them.

They cost microseconds and need no other package. `surest.report.plots` draws the same for matplotlib.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined

from surest.core.protocol import Point
from surest.result.data import Result
from surest.result.differences import DrawnLeads, leads_of, overlap_note
from surest.result.duels import wins_note, wins_of
from surest.result.questions import names
from surest.result.table import ArmTable
from surest.result.words import KNOWN
from surest.text import count, counted, percent, shortened, visible

MOST = 12
"""Arms in a picture: it fits a screen beside its words, and paper. The rest is told in a line."""
LEFT, RIGHT, ROW, TOP = 130.0, 352.0, 22.0, 8.0
"""Where the marks of a picture of arms begin and end, and how far its rows are apart."""
LONGEST = 16
"""Letters of a label that fit beside a picture."""
NUMBER = 52.0
"""Room for a number at the end of a bar."""


@dataclass(frozen=True)
class Tick:
    """A mark on an axis."""

    at: float
    text: str


@dataclass(frozen=True)
class Row:
    """An arm in a picture: where its interval begins and ends, and its mean. None is not known."""

    y: float
    label: str
    """Cut short."""
    title: str
    """What a pointer that rests on it is told."""
    low: float | None
    high: float | None
    mean: float | None
    chosen: bool
    out: bool
    """Whether it cannot be the best any more."""
    text: str = ""


@dataclass(frozen=True)
class ArmPicture:
    """Rows of arms above an axis."""

    rows: list[Row]
    ticks: list[Tick]
    line: float | None
    """Where a vertical line stands: the leader's mean, or zero."""
    bottom: float
    rest: int
    """Arms that are not shown."""
    axis: list[str]
    """Lines of text below the axis."""

    left, right = LEFT, RIGHT


@dataclass(frozen=True)
class Curve:
    """Evidence over pulls."""

    points: list[tuple[float, float]]
    needed: float
    across: list[Tick]
    up: list[Tick]
    axis: str

    left, right, top, bottom = 40.0, 352.0, 8.0, 168.0

    @property
    def path(self) -> str:
        """The points as SVG's polyline takes them."""
        return " ".join(f"{x:.1f},{y:.1f}" for x, y in self.points)


def intervals(arms: ArmTable) -> ArmPicture | None:
    """Means with their intervals; None where no mean is known."""
    shown = arms.leading(MOST)
    ends = [v for i in shown for v in (arms.rows[i].mean, arms.rows[i].low, arms.rows[i].high) if not math.isnan(v)]
    if not ends:
        return None
    line = marked(arms)
    axis = Axis([*ends, *([] if math.isnan(line) else [line])], LEFT, RIGHT)
    rows = []
    for k, i in enumerate(shown):
        arm = arms.rows[i]
        bounds = "" if math.isnan(arm.low) else f", {arms.number(arm.low)} – {arms.number(arm.high)}"
        title = f"{visible(str(arm.label))}: {arms.number(arm.mean)}{bounds}"
        rows.append(_row(arms, i, k, title, axis, arm.low, arm.high, arm.mean))
    return _picture(arms, rows, axis, line, interval_words(arms, shown))


def marked(arms: ArmTable) -> float:
    """Where intervals have a line: at the bar, or the mean of the one arm that is chosen; NaN where they have none."""
    return arms.bar if arms.bar is not None else arms.rows[arms.chosen[0]].mean if len(arms.chosen) == 1 else math.nan


def interval_words(arms: ArmTable, shown: Sequence[int]) -> list[str]:
    """What stands below the intervals of arms, in two lines, or, where there are only means, in one."""
    what = "mean" if arms.smallest else "mean reward"
    hollow = "; hollow: out" if arms.contenders is not None and len(arms.contenders) < len(arms) else ""
    bounded = any(arms.rows[i].low < arms.rows[i].high for i in shown)
    return [f"{what},", f"{percent(1 - arms.delta)} interval of each arm{hollow}"] if bounded else [what]


def leads(arms: ArmTable, drawn: DrawnLeads | None) -> ArmPicture | None:
    """The lead over each arm, or of each over the control, where bounds of it are known."""
    if drawn is None:
        return None
    shown = drawn.rows[:MOST]
    axis = Axis([0.0, *(end for row in shown for end in row[1:])], LEFT, RIGHT)
    rows = []
    for k, (i, low, high) in enumerate(shown):
        title = f"{visible(str(arms.rows[i].label))}: {arms.number(low)} – {arms.number(high)}"
        rows.append(_row(arms, i, k, title, axis, low, high, low if low == high else math.nan))
    return _picture(arms, rows, axis, 0.0, ["lead"])


def has_begun(result: Result) -> bool:
    """Whether anything has been counted: before that the first arm stands for the leader, which says nothing."""
    return result.pulls > 0 or result.certified


def allocation(arms: ArmTable) -> ArmPicture:
    """How many evaluations each arm got."""
    shown = arms.leading(MOST)
    axis = Axis([0.0, max([arms.rows[i].pulls for i in shown] + [1])], LEFT, RIGHT - NUMBER)
    rows = []
    for k, i in enumerate(shown):
        pulls = arms.rows[i].pulls
        title = f"{visible(str(arms.rows[i].label))}: {count(pulls)} {arms.counted}"
        rows.append(_row(arms, i, k, title, axis, 0.0, float(pulls), math.nan, count(pulls)))
    return _picture(arms, rows, axis, math.nan, [arms.counted])


def share_of(point: Point) -> float:
    """How much of the evidence that a decision needs was there."""
    return max(point.evidence, 0.0) / point.threshold if point.threshold > 0 else 1.0


def share_text(share: float) -> str:
    """A share of the evidence that is needed; rounded down, so that 100 % is a decision.

    >>> share_text(0.9999), share_text(1.0), share_text(float("inf"))
    ('99 %', '100 %', 'certain')
    """
    return "certain" if math.isinf(share) else f"{math.floor(100 * share):,} %"


def evidence(history: Sequence[Point], evaluated: str) -> Curve | None:
    """Evidence for the leader where it is weakest, as a share of what a decision needs; None before there is any."""
    points = [(float(p.pulls), 100 * share_of(p)) for p in history]
    if not points or not math.isfinite(history[-1].threshold):
        return None
    across = Axis([0.0, max(points[-1][0], 1.0)], Curve.left, Curve.right)
    up = Axis([0.0, 1.15 * max([100.0, *(y for _, y in points if math.isfinite(y))])], Curve.bottom, Curve.top)
    return Curve(
        [(across.place(x), up.place(min(y, up.high))) for x, y in points],  # what is certain has infinite evidence
        up.place(100.0),
        across.ticks(4, whole=True),
        [Tick(tick.at, f"{tick.text} %") for tick in up.ticks(4)],
        f"{evaluated}; upwards the share of the evidence needed",
    )


def _row(
    arms: ArmTable, i: int, k: int, title: str, axis: "Axis", low: float, high: float, mean: float, text: str = ""
) -> Row:
    label = shortened(visible(str(arms.rows[i].label)), LONGEST - 2 * (i in arms.chosen))  # bold is wider
    out = arms.contenders is not None and i not in arms.contenders
    y = TOP + ROW * (k + 0.5)
    return Row(y, label, title, axis.known(low), axis.known(high), axis.known(mean), i in arms.chosen, out, text)


def _picture(arms: ArmTable, rows: list[Row], axis: "Axis", line: float, words: list[str]) -> ArmPicture:
    whole = all(row.text for row in rows)  # numbers of evaluations
    bottom = TOP + ROW * max(len(rows), 1)
    return ArmPicture(rows, axis.ticks(5, whole=whole), axis.known(line), bottom, max(len(arms) - MOST, 0), words)


class Axis:
    """Numbers on a line.

    >>> Axis([0.0, 10.0], 100.0, 200.0).place(5.0)
    150.0
    """

    def __init__(self, values: Sequence[float], start: float, end: float) -> None:
        self.low, self.high, self.start, self.end = min(values), max(values), start, end
        if self.high <= self.low:
            self.low, self.high = self.low - 0.5, self.high + 0.5

    def place(self, value: float) -> float:
        """Where a number stands."""
        return round(self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start), 1)

    def known(self, value: float) -> float | None:
        """Where a number stands; None for one that is not known."""
        return None if math.isnan(value) else self.place(value)

    def ticks(self, most: int, *, whole: bool = False) -> list[Tick]:
        """Round numbers, at most about so many.

        >>> [tick.text for tick in Axis([0.0, 1.0], 0, 1).ticks(4)]
        ['0', '0.5', '1']
        >>> [tick.text for tick in Axis([0, 2], 0, 1).ticks(4, whole=True)]
        ['0', '1', '2']
        """
        rough = (self.high - self.low) / most
        size = 10.0 ** math.floor(math.log10(rough))
        step = next(size * k for k in (1, 2, 5, 10) if size * k >= rough * (1 - 1e-9))
        if whole:
            step = max(step, 1.0)
        first = math.ceil(self.low / step - 1e-9)
        places = [k * step for k in range(first, math.floor(self.high / step + 1e-9) + 1)]
        return [Tick(self.place(value), tick_text(value)) for value in places]


def tick_text(value: float, position: float = 0) -> str:
    """A tick of an axis of pulls.

    >>> tick_text(25000), tick_text(1.5e6), tick_text(400), tick_text(5e13)
    ('25k', '1.5M', '400', '5e+13')
    """
    if value >= 1e9:
        return f"{value:.3g}"
    return next((f"{value / size:.4g}{sign}" for size, sign in ((1e6, "M"), (1e3, "k")) if value >= size), f"{value:g}")


def evidence_text(result: Result) -> str:
    """Evidence over time in a sentence."""
    if not result.history:
        return "Not kept, or the algorithm does not tell it."
    last = result.history[-1]
    share = share_of(last)
    after = f"After {count(last.pulls)} {evaluated(result)}"
    if math.isinf(share):
        return f"{after} it is certain."
    return f"{after} there is {share_text(share)} of the evidence that a decision needs, where it is weakest."


def evaluated(result: Result) -> str:
    """What evaluations are called: of a list they are not pulls."""
    if result.duels is not None:
        return "duels"
    return "pulls" if result.listed is None else "evaluations"


def interval_note(result: Result) -> str:
    """What the intervals of a picture mean."""
    if result.intervals is None:
        return f"Means only: {result.algorithm} tells no intervals."
    if result.reason.startswith(KNOWN):
        return f"Exact means on all items. {_diamonds(result)}"
    hold = "Each interval holds at any time, for its arm, not for all arms at once."
    if result.listed is not None:
        hold = "All intervals hold at once, at any time."
    return " ".join(filter(None, [hold, _diamonds(result), overlap_note(result), _not_shown(len(result.labels))]))


def _diamonds(result: Result) -> str:
    return "The diamond leads." if result.problem.question.kind == "best" else "Diamonds: the chosen arms."


def _not_shown(arms: int) -> str:
    rest = arms - MOST
    return f"{counted(rest, 'more arm')} {'is' if rest == 1 else 'are'} not shown." if rest > 0 else ""


def allocation_note(result: Result) -> str:
    """Where the evaluations went."""
    what = evaluated(result)
    chosen = list(result.indices)
    if not chosen:
        return f"{count(result.pulls)} {what} in all."
    return f"{count(int(result.pulls_per_arm[chosen].sum()))} of {count(result.pulls)} {what} went to {names(result.chosen)}."


class Square(NamedTuple):
    """Who scored how much against whom."""

    x: float
    y: float
    text: str
    won: float
    """From −1, all lost, to 1, all won."""
    told: bool
    title: str


@dataclass(frozen=True)
class HeatMap:
    """A table of wins, in the order found."""

    side: float
    labels: list[tuple[float, str, str, bool]]
    """Of each row: where it is, its place, its player, and whether that one is named."""
    squares: list[Square]
    bottom: float


def heat_map(result: Result) -> HeatMap:
    """Where the squares of a table of wins go."""
    names_, cells = wins_of(result)
    side, chosen = min(40.0, (RIGHT - LEFT) / len(names_)), {visible(str(label)) for label in result.chosen}
    squares = [
        Square(
            round(LEFT + side * j, 1), round(22 + side * i, 1), "·" if score is None else f"{100 * score:.0f}",
            0.0 if score is None else round(2 * score - 1, 2), told,
            f"{names_[i]} against {names_[j]}: {'never met' if score is None else f'{100 * score:.1f} %'}"
            + (", told apart" if told else ""),
        )
        for i, row in enumerate(cells) for j, (score, told) in enumerate(row) if i != j
    ]  # fmt: skip
    labels = [
        (22 + side * (i + 0.5), str(i + 1), shortened(name, LONGEST - 3), name in chosen)
        for i, name in enumerate(names_)
    ]
    return HeatMap(side, labels, squares, 26 + side * len(names_))


class Picture(NamedTuple):
    """A picture with its words."""

    heading: str
    note: str
    drawn: ArmPicture | Curve | HeatMap | None


def pictures_of(result: Result, *, live: bool = False) -> list[Picture]:
    """The pictures of a result, what a verdict rests on first; with `live` those that are still to come have their place."""
    arms, shown = result.arms, intervals(result.arms) if result.duels is None else None
    found = [] if shown is None else [Picture("Intervals by arm", interval_note(result), shown)]
    if result.duels is not None:
        found = [Picture("Who beats whom", wins_note(result), heat_map(result))]
    ahead = leads_of(result)
    if ahead is not None:
        others = len(arms) - (1 if result.problem.question.kind == "control" else len(result.indices))
        note = f"{ahead.note} {_not_shown(others)}".strip()
        found.insert(0 if result.certified else 1, Picture(ahead.heading, note, leads(arms, ahead)))
    if result.history or live:
        found.append(Picture("Evidence over time", evidence_text(result), evidence(result.history, evaluated(result))))
    found.append(Picture("Allocation", allocation_note(result), allocation(arms)))
    return found


TEMPLATES = Environment(
    loader=PackageLoader("surest.report"), autoescape=True, trim_blocks=True, undefined=StrictUndefined
)
TEMPLATES.filters["shown"] = lambda text: visible(str(text))
"""Text of users as it may be shown: templates escape it, and what cannot be seen is marked."""


def rendered(template: str, **values: object) -> str:
    """What a template makes of values."""
    return TEMPLATES.get_template(template).render(**values)

"""Pictures of a result: what they show, and its coordinates in SVG, for reports, pages of the service and notebooks.

Templates draw them, without another package; `surest.report.plots` draws the same with matplotlib.
"""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from surest.core.protocol import Point
from surest.result.data import Result
from surest.result.duels import Score, wins_note, wins_of
from surest.result.leads import leads_of, overlap_note
from surest.result.questions import names
from surest.result.words import KNOWN
from surest.text import be, count, counted, in_markdown, percent, shortened, visible

MOST = 12  # arms in a picture, so that it fits a screen or a page; a line counts the rest
LONGEST = 16  # characters of a label that fit beside a picture; bold ones are wider
NUMBER = 52.0  # space for a number at the end of a bar


class Row(NamedTuple):
    """An arm in a picture: the ends of its interval, and its mean; None if not known."""

    label: str
    title: str  # the tooltip
    low: float | None
    high: float | None
    mean: float | None
    chosen: bool
    out: bool  # whether it can no longer be the best
    text: str  # the number at the end of a bar; empty for an interval


@dataclass(frozen=True)
class ArmPicture:
    """Rows of arms above an axis, in the units of the axis."""

    rows: list[Row]
    line: float | None  # the position of a vertical line: the leader's mean, a bar, or 0
    words: list[str]  # lines of text below the axis

    left, right, step, top = 130.0, 352.0, 22.0, 8.0
    """In SVG: the left and right ends of the axis, the height of a row, and the top of the first."""

    @cached_property
    def axis(self) -> "Axis":
        """The horizontal axis."""
        values = [value for row in self.rows for value in (row.low, row.high, row.mean)]
        known = [value for value in (*values, self.line, 1.0 if self.bars else None) if value is not None]
        return Axis(known, self.left, self.right - (NUMBER if self.bars else 0.0))

    @property
    def bars(self) -> bool:
        """Whether rows are bars with a number, not intervals."""
        return all(row.text for row in self.rows)

    @property
    def bottom(self) -> float:
        """The vertical position of the axis."""
        return self.top + self.step * max(len(self.rows), 1)


@dataclass(frozen=True)
class Curve:
    """Evidence over pulls, as a share of what a decision needs."""

    points: list[tuple[float, float]]
    """Pulls, and the share in percent; certainty is infinite evidence, and is drawn at the upper end."""
    high: float  # the upper end
    words: list[str]

    left, right, top, bottom = 40.0, 352.0, 8.0, 168.0

    @cached_property
    def across(self) -> "Axis":
        """Pulls from left to right."""
        return Axis([0.0, max(self.points[-1][0], 1.0)], self.left, self.right)

    @cached_property
    def up(self) -> "Axis":
        """Percent of the evidence that a decision needs, upwards."""
        return Axis([0.0, self.high], self.bottom, self.top)


@dataclass(frozen=True)
class HeatMap:
    """A table of wins, in the order found."""

    labels: list[str]
    cells: list[list[Score]]  # of each row's player against each column's
    chosen: set[str]
    words: tuple[str, ...] = ()


class Picture(NamedTuple):
    """A picture with its words."""

    heading: str
    note: str
    drawn: ArmPicture | Curve | HeatMap | None


def leads(result: Result, most: int) -> Picture | None:
    """The lead over each arm, or of each over the control; None if it is not known."""
    found, number = leads_of(result), result.arms.interval
    if found is None:
        return None
    rows = [_row(result, i, number(a, b), a, b, a if a == b else math.nan) for i, a, b in found.rows[:most]]
    others = len(result.labels) - (len(result.indices) if result.problem.question.reference is None else 1)
    return Picture(found.heading, _joined(found.note, _not_shown(others - most)), ArmPicture(rows, 0.0, ["lead"]))


def intervals(result: Result, most: int) -> Picture | None:
    """Means with their intervals; None if no mean is known."""
    arms, bar = result.arms, result.problem.above
    shown, rows = [], []
    for i in arms.leading(most):
        shown.append(arm := arms.rows[i])
        said = f"{arms.number(arm.mean)}, {arms.bounds(arm)}".removesuffix(", –")
        rows.append(_row(result, i, said, arm.low, arm.high, arm.mean))
    if all(row.mean is None for row in rows):
        return None
    # A line at the bar, or at the mean of the one arm that is chosen.
    line = bar if bar is not None else arms.rows[result.indices[0]].mean if len(result.indices) == 1 else math.nan
    words = ["mean" if result.minimise else "mean reward"]
    if any(arm.low < arm.high for arm in shown):
        hollow = "; hollow: out" if arms.contenders is not None and len(arms.contenders) < len(arms) else ""
        words = [f"{words[0]},", f"{percent(1 - result.delta)} interval of each arm{hollow}"]
    return Picture("Intervals by arm", _interval_note(result, most), ArmPicture(rows, _known(line), words))


def _interval_note(result: Result, most: int) -> str:
    diamonds = "The diamond leads." if result.problem.question.best else "Diamonds: the chosen arms."
    if result.intervals is None:
        return f"Means only: {result.algorithm} reports no intervals."
    if result.reason.startswith(KNOWN):
        return f"Exact means on all items. {diamonds}"
    hold = "Each interval holds at any time, for its arm, not for all arms at once."
    if result.listed is not None:
        hold = "All intervals hold at once, at any time."
    return _joined(hold, diamonds, overlap_note(result), _not_shown(len(result.labels) - most))


def allocation(result: Result, most: int) -> Picture:
    """How many evaluations each arm got."""
    rows, what = [], result.arms.counted
    for i in result.arms.leading(most):
        pulls = result.arms.rows[i].pulls
        rows.append(_row(result, i, f"{count(pulls)} {what}", 0.0, float(pulls), math.nan, count(pulls)))
    all_, chosen = f"{count(result.pulls)} {evaluated(result)}", list(result.indices)
    to_them = count(int(result.pulls_per_arm[chosen].sum()))
    note = f"{to_them} of {all_} went to {names(result.chosen)}." if chosen else f"{all_} in all."
    return Picture("Allocation", note, ArmPicture(rows, None, [what]))


def evidence(result: Result, most: int) -> Picture:
    """The weakest evidence for the leader over time, as a share of what a decision needs."""
    drawn = None
    if result.history and math.isfinite(result.history[-1].threshold):
        shares = [100 * share_of(point) for point in result.history]
        high = 1.15 * max([100.0, *filter(math.isfinite, shares)])
        points = [(float(point.pulls), min(share, high)) for point, share in zip(result.history, shares, strict=True)]
        drawn = Curve(points, high, [f"{evaluated(result)}; upwards the share of the evidence needed"])
    return Picture("Evidence over time", evidence_text(result), drawn)


def wins(result: Result, most: int) -> Picture | None:
    """Who beats whom; None where there are no duels."""
    if result.duels is None:
        return None
    labels, cells = wins_of(result)
    return Picture("Who beats whom", wins_note(result), HeatMap(labels, cells, set(map(visible, result.chosen))))


PICTURES: dict[str, Callable[[Result, int], Picture | None]] = {
    "leads": leads, "intervals": intervals, "pulls": allocation, "evidence": evidence, "duels": wins,
}  # fmt: skip
"""By the name that `Result.plot` has for them."""


def pictures_of(result: Result, most: int = MOST, *, live: bool = False) -> list[Picture]:
    """The pictures of a result, the support of its verdict first; with `live`, also those that are still empty."""
    first = ["leads", "intervals"] if result.certified else ["intervals", "leads"]
    kinds = ["duels"] if result.duels is not None else first
    kinds += [*(["evidence"] if result.history or live else []), "pulls"]
    return [picture for kind in kinds if (picture := PICTURES[kind](result, most)) is not None]


def _row(result: Result, i: int, said: str, low: float, high: float, mean: float, text: str = "") -> Row:
    label, left = visible(result.labels[i]), result.arms.contenders
    out, chosen = left is not None and i not in left, i in result.indices
    return Row(label, f"{label}: {said}", _known(low), _known(high), _known(mean), chosen, out, text)


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


def _joined(*sentences: str) -> str:
    return " ".join(filter(None, sentences))


def _not_shown(arms: int) -> str:
    return f"{counted(arms, 'more arm')} {be(arms)} not shown." if arms > 0 else ""


def share_of(point: Point) -> float:
    """The share of the evidence needed for a decision."""
    return max(point.evidence, 0.0) / point.threshold if point.threshold > 0 else 1.0


def share_text(share: float) -> str:
    """A share of the evidence needed, rounded down so that 100 % is a decision.

    >>> share_text(0.9999), share_text(1.0), share_text(float("inf"))
    ('99 %', '100 %', 'certain')
    """
    return "certain" if math.isinf(share) else f"{math.floor(100 * share):,} %"


class Axis:
    """An axis of a picture."""

    def __init__(self, values: Sequence[float], start: float, end: float) -> None:
        self.low, self.high, self.start, self.end = min(values), max(values), start, end
        if self.high <= self.low:
            self.low, self.high = self.low - 0.5, self.high + 0.5

    def place(self, value: float) -> float:
        """The coordinate of a number."""
        return round(self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start), 1)

    def ticks(self, most: int, *, whole: bool = False) -> list[tuple[float, str]]:
        """Round numbers, about `most` of them or fewer.

        >>> [text for _, text in Axis([0.0, 1.0], 0, 1).ticks(4)]
        ['0', '0.5', '1']
        >>> [text for _, text in Axis([0, 2], 0, 1).ticks(4, whole=True)]
        ['0', '1', '2']
        """
        rough = (self.high - self.low) / most
        size = 10.0 ** math.floor(math.log10(rough))
        step = next(size * k for k in (1, 2, 5, 10) if size * k >= rough * (1 - 1e-9))
        if whole:
            step = max(step, 1.0)
        first = math.ceil(self.low / step - 1e-9)
        places = [k * step for k in range(first, math.floor(self.high / step + 1e-9) + 1)]
        return [(self.place(value), tick_text(value)) for value in places]


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
        return "Not kept, or the algorithm does not report it."
    last = result.history[-1]
    share = share_of(last)
    after = f"After {count(last.pulls)} {evaluated(result)}"
    if math.isinf(share):
        return f"{after} it is certain."
    return f"{after} there is {share_text(share)} of the evidence that a decision needs, where it is weakest."


def evaluated(result: Result) -> str:
    """What evaluations are called: pulls, trials, duels or, on a list, evaluations."""
    return result.arms.counted if result.listed is None else "evaluations"


def fenced(text: str) -> str:
    """A block of code in Markdown, with a fence longer than any in the text."""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}sh\n{text}\n{fence}"


TEMPLATES = Environment(
    loader=PackageLoader("surest.report"), autoescape=select_autoescape(), trim_blocks=True,
    undefined=StrictUndefined,
)  # fmt: skip
TEMPLATES.filters["shown"] = lambda text: visible(text)
"""Labels of users: templates escape them, and invisible characters are marked."""
TEMPLATES.filters["short"] = lambda label, bold: shortened(label, LONGEST - 2 * bold)
TEMPLATES.filters |= {"markdown": in_markdown, "fenced": fenced}


def rendered(template: str, **values: object) -> str:
    """A template, rendered."""
    return TEMPLATES.get_template(template).render(**values)

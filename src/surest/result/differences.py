"""Bounds of differences between arms, and the leads that support a verdict."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from surest.core.protocol import FloatArray
from surest.result.table import aligned
from surest.text import percent, shortened, visible

if TYPE_CHECKING:
    from surest.result.data import Result


@dataclass(frozen=True, eq=False, repr=False)
class Differences:
    """Bounds of each arm's mean minus that of one arm, for all arms at once, at 1 − δ; NaN if not known.

    ``low, high = differences`` gives both as arrays, in the order of the arms.

    >>> apart = Differences(("a", "b"), "a", np.array([0.0, 0.1]), np.array([0.0, 0.3]))
    >>> apart["b"]
    (0.1, 0.3)
    >>> apart
    arm  less the mean of a
    a    0.0000 – 0.0000
    b    0.1000 – 0.3000
    """

    labels: tuple[Any, ...]
    against: Any
    """The arm that is subtracted: the control, or the (last) chosen arm."""
    low: FloatArray
    high: FloatArray
    decimals: int = 4

    def __iter__(self) -> Iterator[FloatArray]:
        return iter((self.low, self.high))

    def __getitem__(self, arm: Any) -> Any:
        """Both bounds of an arm by its label; the lower (0) or the upper (1) bounds of all arms by number."""
        return (self.low, self.high)[arm] if isinstance(arm, int) else self.to_dict()[arm]

    def to_dict(self) -> dict[Any, tuple[float, float]]:
        """Both bounds by label."""
        return dict(zip(self.labels, zip(self.low.tolist(), self.high.tolist(), strict=True), strict=True))

    def __repr__(self) -> str:
        rows = [["arm", f"less the mean of {shortened(visible(self.against), 40)}"]]
        for label, (low, high) in self.to_dict().items():
            ends = "–" if math.isnan(low) else f"{low:,.{self.decimals}f} – {high:,.{self.decimals}f}"
            rows.append([shortened(visible(label), 40), ends])
        return "\n".join(aligned(rows))


def differences_of(result: "Result") -> Differences | None:
    """The differences of a result; None if they are not known."""
    base = base_of(result)
    if base is None:
        return None
    both = result.known_differences
    if both is None and result.lead_bounds is not None:
        both = _from_leads(result, base)
    if both is None:
        return None
    return Differences(result.labels, result.labels[base], *both, decimals=result.arms.decimals)


def base_of(result: "Result") -> int | None:
    """The arm that others are compared with: the control, or the last chosen arm."""
    asked = result.problem.question
    if asked.reference is not None:
        return asked.reference
    return result.indices[-1] if asked.ranks and result.indices else None


def _from_leads(result: "Result", base: int) -> tuple[FloatArray, FloatArray] | None:
    """Differences from the bounds of leads, which hold for all pairs of arms at once."""
    leads, sign = result.lead_bounds, 1.0 if result.minimise else -1.0
    if leads is None or leads().arm != base:
        return None
    low, high = (np.full(len(result.labels), np.nan) for _ in range(2))
    low[base] = high[base] = 0.0
    for arm in leads.others:
        ends = [sign * result.problem.scale.width * end + 0.0 for end in leads(arm)[2:]]
        low[arm], high[arm] = min(ends), max(ends)
    return low, high


class LeadRow(NamedTuple):
    """Bounds of the lead of the chosen arm over an arm, or of an arm over the control: positive is better."""

    arm: int
    low: float
    high: float


class DrawnLeads(NamedTuple):
    """The bounds of leads in a picture, with its heading and its note."""

    heading: str
    note: str
    rows: list[LeadRow]


def leads_of(result: "Result") -> DrawnLeads | None:
    """The lead over each arm; None if no bounds are known or, on fresh pulls, nothing is decided.

    Two statements meet here, each wrong with probability at most δ: the verdict, by which no lead is below 0 (or ε, or the
    margin), and the bounds, which hold for all arms at once. A lead is drawn where both allow it.
    """
    apart, base = None, base_of(result)
    if base is not None and (result.certified or result.listed is not None):
        apart = result.differences
    if apart is None or base is None:
        return None
    control = result.problem.question.reference is not None
    sign = (-1.0 if result.minimise else 1.0) * (1.0 if control else -1.0)
    left_out = {base} if control else set(result.indices)
    rows, odd = [], False
    for arm in result.arms.leading(len(result.labels)):
        if arm in left_out or math.isnan(apart.low[arm]):
            continue
        low, high = sorted(sign * float(end) + 0.0 for end in (apart.low[arm], apart.high[arm]))
        verdict = 0 if result.verdicts is None else result.verdicts[arm]
        least, most = 0.0 - result.epsilon if result.certified else -math.inf, math.inf
        if control:
            least, most = 0.0 if verdict > 0 else -math.inf, result.problem.margin if verdict < 0 else math.inf
        both = max(low, least), min(high, most)
        odd |= both[0] > both[1]
        rows.append(LeadRow(arm, *(both if both[0] <= both[1] else (low, high))))
    return DrawnLeads(_heading(result, base, control), _note(result, base, control, odd), rows) if rows else None


def _heading(result: "Result", base: int, control: bool) -> str:
    name = visible(result.labels[base])
    if control:
        return f"Lead of each arm over {name}"
    last = ", the last of the chosen," if len(result.indices) > 1 else ""
    return f"Lead of {name}{last} over each {'arm outside' if last else 'other arm'}"


def _note(result: "Result", base: int, control: bool, odd: bool) -> str:
    """What the bars show, and with which probability."""
    if result.exact and result.listed is not None and result.listed.known:
        return "All of this is exact."
    sure = percent(1 - result.delta)
    wrong = "which is exact" if result.exact else f"wrong with probability at most {result.delta:g}"
    every = f"hold for all arms at once, at any time, {sure}"
    if not result.certified and not (control and any(result.verdicts or ())):
        return f"Below 0 where it may be behind. All bounds {every}."
    if control:
        margin = f" or at the margin {result.problem.margin:g}" if result.problem.margin else ""
        said = f"A bar that ends at 0{margin} ends there by the arm's verdict ({wrong}); all other ends {every}."
    else:
        least = "0" if result.epsilon == 0 else f"−{result.epsilon:g}"
        said = f"That no lead is below {least} is the verdict, {wrong}; all other ends {every}."
    return (
        f"{said} Where a bar lies beyond that, bounds and verdict disagree, and one of them is wrong." if odd else said
    )


def overlap_note(result: "Result") -> str:
    """Why the intervals of single arms overlap although a verdict is certified; empty if they do not."""
    if not result.certified or result.intervals is None:
        return ""
    (low, high), chosen, problem = result.intervals, list(result.indices), result.problem
    if (low == high).all():
        return ""
    if problem.above is not None:
        across = (low < problem.above) & (high > problem.above)
        return "An interval may reach across the bar: an arm's verdict does not rest on it." if across.any() else ""
    if problem.question.control is not None:
        chosen = [problem.question.control]
    others = np.setdiff1d(np.arange(len(low)), chosen)
    if not chosen or not len(others):
        return ""
    if high[others].max() < low[chosen].min() or high[chosen].max() < low[others].min():
        return ""
    if result.listed is not None:
        return "Intervals may overlap although it is decided: the verdict compares arms item by item."
    return "Intervals may overlap although it is decided: the verdict compares arms, and the evidence of both adds up."

"""Differences between arms: the lead of the chosen arm as a number and a sentence, and bounds for all arms at once."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from surest.core.problem import Problem
from surest.core.protocol import FloatArray
from surest.result.table import aligned
from surest.text import percent, shortened, visible

if TYPE_CHECKING:
    from surest.result.data import Result


class Lead(NamedTuple):
    """How much better one arm is than another, in the units of the rewards; positive is better, also with `minimise`.

    The bounds hold at any time, for all pairs of arms at once, with probability at least 1 − δ; NaN if they are not known.
    They are widened to include the difference so far.
    """

    arm: Any
    """The (last) chosen arm; with a control, the best of the other arms."""
    over: Any
    """The runner-up, that is the best arm that was not chosen; the control, if there is one."""
    difference: float
    """The difference of the two means so far; NaN if it is not known.

    It comes from rewards that decided when to stop, so it tends to be too large: only the bounds have a guarantee."""
    low: float
    high: float


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


def base_of(problem: Problem, indices: Sequence[int]) -> int | None:
    """The arm that is subtracted in differences: the control, or the last chosen arm."""
    reference = problem.question.reference
    return reference if reference is not None else int(indices[-1]) if indices else None


def _compared(result: "Result") -> int | None:
    """The same where the question compares arms; None where it does not."""
    asked = result.problem.question
    return base_of(result.problem, result.indices) if asked.ranks or asked.reference is not None else None


def lead_of(result: "Result") -> Lead | None:
    """The lead of a result; None if there is no runner-up, or nothing is known of it."""
    base, control = _compared(result), result.problem.question.reference is not None
    told = result.duels is None and result.pulls > 0 and not result.reason.endswith("tied")  # duels differ in opponents
    if base is None or not told or len(result.labels) < 2:
        return None
    sign, turned, means = -1.0 if result.minimise else 1.0, 1.0 if control else -1.0, result.means
    if result.lead_bounds is not None:
        arm, over, low, high = result.lead_bounds()
        apart = sign * float(means[arm] - means[over])
        low, high = (result.problem.scale.width * end for end in (low, high))
    else:
        better = sign * (means - means[base])  # of every arm, than the base
        better[[base] if control else list(result.indices)] = np.nan
        if np.isnan(better).all():
            return None
        other = int(np.nanargmax(better))
        arm, over = (other, base) if control else (base, other)
        apart, bounds = turned * float(better[other]), result.known_differences or (np.full(len(better), np.nan),) * 2
        low, high = sorted(sign * turned * float(ends[other]) for ends in bounds)
    if not math.isnan(apart + low):
        low, high = min(low, apart), max(high, apart)
    return Lead(result.labels[arm], result.labels[over], apart, low, high)


def lead_words(result: "Result") -> str:
    """The lead in a sentence, with both bounds; empty if there is nothing to say."""
    lead = result.lead
    if lead is None:
        return ""
    asked, sure = result.problem.question, result.certified and result.epsilon == 0
    if lead.difference < 0 or lead.high < 0:
        if sure:
            return ""  # the verdict disagrees, and rests on more than these two means
        lead = Lead(lead.over, lead.arm, -lead.difference, -lead.high, -lead.low)
    width, bounded, size = result.problem.scale.width, not math.isnan(lead.low), lead.high - lead.low
    vague = not bounded or size > 1.5 * width
    if (vague and not result.certified) or (not bounded and math.isnan(lead.difference)):
        return ""
    last = ", the last of them," if asked.ranks and sure and len(result.chosen) > 1 else ""
    who, over, sure_of = f"{visible(lead.arm)}{last} is", visible(lead.over), percent(1 - result.delta)
    behind = f"ahead of {'the runner-up ' if sure and asked.reference is None else ''}{over}"
    same = f"{visible(lead.arm)} and {over} have the same mean"
    if bounded and size <= 1e-9 * width:  # all scores of both are known
        return f"{same}." if abs(lead.high) <= 1e-9 * width else f"{who} {_exactly(lead.high, width, behind)}."
    places = _places(size if bounded else lead.difference, width)
    if lead.difference > 0:  # show at least one digit that is not 0
        places = max(places, min(-math.floor(math.log10(lead.difference)), 12))
    between = _between(lead, places) if bounded else ""
    if math.isnan(lead.difference):
        return f"{who} {between} {behind} ({sure_of})."
    less = "; the verdict needs less evidence" if sure and lead.low < 0 and asked.reference is None else ""
    ends = f"{between}, {sure_of}{less}" if bounded else ""
    if lead.difference == 0:
        return f"{same} so far{f' (difference {ends})' if ends else ''}."
    return f"{who} {_figures(lead.difference, places)} {behind} so far{f' ({ends})' if ends else ''}."


def _exactly(lead: float, width: float, behind: str) -> str:
    places = _places(lead, width)
    rounded = abs(round(lead, places) - lead) > 1e-9 * width
    return f"{_figures(lead, places)} {behind}{' (rounded; all scores of both are known)' if rounded else ', exactly'}"


def _between(lead: Lead, places: int) -> str:
    """Both bounds, rounded outwards: rounded inwards they would claim too much."""
    unit = 10.0**places
    low, high = math.floor(lead.low * unit + 1e-6) / unit, math.ceil(lead.high * unit - 1e-6) / unit
    return f"{_figures(low, places)} to {_figures(high, places)}"


def _places(size: float, width: float) -> int:
    """Decimal places that show two digits of a size; negative for large numbers."""
    if not size > 1e-12 * width:
        size = 1e-3 * width
    return min(1 - math.floor(math.log10(size)), 12)


def _figures(value: float, places: int) -> str:
    """A number rounded to decimal `places`.

    >>> _figures(0.0623, 3), _figures(678_571, -4), _figures(-0.001, 1), _figures(4e12, -11)
    ('0.062', '680,000', '0.0', '4.00e+12')
    """
    number = round(value, places) + 0.0
    return f"{number:,.{max(places, 0)}f}" if abs(number) < 1e9 else f"{number:.2e}"


def differences_of(result: "Result") -> Differences | None:
    """The differences of a result; None if they are not known."""
    base, both, leads = _compared(result), result.known_differences, result.lead_bounds
    if base is None:
        return None
    if both is None and leads is not None and leads().arm == base:  # these hold for all pairs of arms at once
        width = (1.0 if result.minimise else -1.0) * result.problem.scale.width
        low, high = both = np.full(len(result.labels), np.nan), np.full(len(result.labels), np.nan)
        low[base] = high[base] = 0.0
        for arm in leads.others:
            low[arm], high[arm] = sorted(width * end + 0.0 for end in leads(arm)[2:])
    return both and Differences(result.labels, result.labels[base], *both, decimals=result.arms.decimals)


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
    base, apart = _compared(result), None
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
    last = ", the last of the chosen," if len(result.indices) > 1 else ""
    name = visible(result.labels[base])
    heading = f"Lead of {name}{last} over each {'arm outside' if last else 'other arm'}"
    heading = f"Lead of each arm over {name}" if control else heading
    return DrawnLeads(heading, _note(result, control, odd), rows) if rows else None


def _note(result: "Result", control: bool, odd: bool) -> str:
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
    beyond = " Where a bar lies beyond that, bounds and verdict disagree, and one of them is wrong."
    return said + beyond * odd


def overlap_note(result: "Result") -> str:
    """Why the intervals of single arms overlap although a verdict is certified; empty if they do not."""
    if not result.certified or result.intervals is None:
        return ""
    (low, high), bar, control = result.intervals, result.problem.above, result.problem.question.reference
    if (low == high).all():
        return ""
    if bar is not None:
        across = ((low < bar) & (high > bar)).any()
        return "An interval may reach across the bar: an arm's verdict does not rest on it." if across else ""
    chosen = list(result.indices) if control is None else [control]
    others = np.setdiff1d(np.arange(len(low)), chosen)
    if not chosen or not len(others):
        return ""
    if high[others].max() < low[chosen].min() or high[chosen].max() < low[others].min():
        return ""
    if result.listed is not None:
        return "Intervals may overlap although it is decided: the verdict compares arms item by item."
    return "Intervals may overlap although it is decided: the verdict compares arms, and the evidence of both adds up."

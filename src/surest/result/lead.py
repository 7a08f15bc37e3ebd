"""The lead of the chosen arm over the runner-up: the number, its bounds, and the sentence."""

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from surest.text import percent, visible

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


def lead_of(result: "Result") -> Lead | None:
    """The lead of a result; None if there is no runner-up, or nothing is known of it."""
    asked = result.problem.question
    compares = result.duels is None and (asked.ranks or asked.reference is not None)  # duels have different opponents
    if not compares or len(result.labels) < 2 or result.pulls == 0 or result.reason.endswith("tied"):
        return None
    sign = -1.0 if result.minimise else 1.0
    if result.lead_bounds is not None:
        arm, over, low, high = result.lead_bounds()
        width = result.problem.scale.width
        return _lead(result, arm, over, sign * float(result.means[arm] - result.means[over]), width * low, width * high)
    control = asked.reference is not None
    base = result.indices[-1] if asked.reference is None else asked.reference
    better = sign * (result.means - result.means[base])  # of every arm, than the base
    better[[base] if control else list(result.indices)] = np.nan
    if np.isnan(better).all():
        return None
    other = int(np.nanargmax(better))
    bounds = result.known_differences or (np.full(len(better), np.nan),) * 2
    low, high = sorted(sign * float(ends[other]) for ends in bounds)
    apart = float(better[other])
    return _lead(result, other, base, apart, low, high) if control else _lead(result, base, other, -apart, -high, -low)


def _lead(result: "Result", arm: int, over: int, apart: float, low: float, high: float) -> Lead:
    if not math.isnan(apart + low):
        low, high = min(low, apart), max(high, apart)
    return Lead(result.labels[arm], result.labels[over], apart, low, high)


def lead_words(result: "Result") -> str:
    """The lead in a sentence, with both bounds; empty if there is nothing to say."""
    lead = result.lead
    if lead is None:
        return ""
    sure = result.certified and result.epsilon == 0
    if lead.difference < 0 or lead.high < 0:
        if sure:
            return ""  # the verdict disagrees, and rests on more than these two means
        lead = Lead(lead.over, lead.arm, -lead.difference, -lead.high, -lead.low)
    width, bounded = result.problem.scale.width, not math.isnan(lead.low)
    vague = not bounded or lead.high - lead.low > 1.5 * width
    if (vague and not result.certified) or (not bounded and math.isnan(lead.difference)):
        return ""
    arm, over = visible(lead.arm), visible(lead.over)
    ahead = _ahead(result, sure, arm, over)
    if bounded and lead.high - lead.low <= 1e-9 * width:
        return _exactly(lead, width, arm, over, *ahead)
    places = _places(lead.high - lead.low if bounded else lead.difference, width)
    if lead.difference > 0:  # show at least one digit that is not 0
        places = max(places, min(-math.floor(math.log10(lead.difference)), 12))
    sure_of = percent(1 - result.delta)
    if math.isnan(lead.difference):
        return f"{ahead[0]} {_between(lead, places)} {ahead[1]} ({sure_of})."
    behind = sure and lead.low < 0 and result.problem.question.reference is None
    why = "; the verdict needs less evidence" if behind else ""
    ends = f"{_between(lead, places)}, {sure_of}{why}" if bounded else ""
    if lead.difference == 0:
        return f"{arm} and {over} have the same mean so far{f' (difference {ends})' if ends else ''}."
    return f"{ahead[0]} {_figures(lead.difference, places)} {ahead[1]} so far{f' ({ends})' if ends else ''}."


def _ahead(result: "Result", sure: bool, arm: str, over: str) -> tuple[str, str]:
    """The words before and after the number: who is ahead, and of whom."""
    asked = result.problem.question
    last = ", the last of them," if asked.ranks and sure and len(result.chosen) > 1 else ""
    return f"{arm}{last} is", f"ahead of {'the runner-up ' if sure and asked.reference is None else ''}{over}"


def _exactly(lead: Lead, width: float, arm: str, over: str, before: str, after: str) -> str:
    """The sentence if all scores of both arms are known."""
    if abs(lead.high) <= 1e-9 * width:
        return f"{arm} and {over} have the same mean."
    places = _places(lead.high, width)
    rounded = abs(round(lead.high, places) - lead.high) > 1e-9 * width
    how = " (rounded; all scores of both are known)" if rounded else ", exactly"
    return f"{before} {_figures(lead.high, places)} {after}{how}."


def _between(lead: Lead, places: int) -> str:
    """Both bounds, rounded outwards: rounded inwards they would claim too much."""
    unit = 10.0**places
    low, high = math.floor(lead.low * unit + 1e-6) / unit, math.ceil(lead.high * unit - 1e-6) / unit
    return f"{_figures(low, places)} to {_figures(high, places)}"


def _places(size: float, width: float) -> int:
    """Decimal places that show two digits of a size; negative for large numbers.

    >>> _places(0.062, 1), _places(3.4, 60), _places(0, 1), _places(678_571, 1e6), _places(3.1e-6, 1)
    (3, 1, 4, -4, 7)
    """
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

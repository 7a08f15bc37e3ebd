"""By how much the arm that was named is ahead of the runner-up: the number, its bounds, and the sentence."""

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from surest.core.protocol import FloatArray
from surest.text import percent, visible

if TYPE_CHECKING:
    from surest.result.data import Result

MOST_CELLS = 10_000_000
"""Cells of a list up to which arms are compared item by item here."""


class Lead(NamedTuple):
    """How much better one arm is than another, in the rewards' own units: positive is better, also where small numbers are good.

    The bounds hold at any time, for all pairs of arms at once, with probability at least 1 − δ; NaN where they are not known.
    """

    arm: Any
    """The best arm; of several that were chosen, the last; beside a control, the best of the others."""
    over: Any
    """The runner-up, the best arm that was not chosen; the control, where there is one."""
    difference: float
    """On a list of items it is about those that both arms were evaluated on. NaN where it is not known."""
    low: float
    high: float


def lead_of(result: "Result") -> Lead | None:
    """The lead of a result; None where there is no runner-up, or nothing is known of one."""
    asked = result.problem.question
    if asked.kind == "above" or len(result.labels) < 2 or result.pulls == 0 or result.reason.endswith("tied"):
        return None
    sign = -1.0 if result.minimise else 1.0
    if result.lead_bounds is not None:
        arm, over, low, high = result.lead_bounds()
        width, apart = result.problem.scale.width, sign * float(result.means[arm] - result.means[over])
        return Lead(result.labels[arm], result.labels[over], apart, width * low, width * high)
    control = asked.kind == "control"
    base = asked.control if control else result.indices[-1]
    better = sign * _differences(result, base)  # of every arm, than the base
    better[[base] if control else list(result.indices)] = np.nan
    if np.isnan(better).all():
        return None
    other = int(np.nanargmax(better))
    bounds = sorted(sign * end for end in _bounds(result, other))
    known = math.nan if "weights" in result.problem.options else float(better[other])
    if control:
        return Lead(result.labels[other], result.labels[base], known, bounds[0], bounds[1])
    return Lead(result.labels[base], result.labels[other], -known, -bounds[1], -bounds[0])


def _bounds(result: "Result", arm: int) -> tuple[float, float]:
    both = result.from_control if result.listed is None else result.listed.differences
    return (math.nan, math.nan) if both is None else (float(both[0][arm]), float(both[1][arm]))


def _differences(result: "Result", base: int) -> FloatArray:
    """Each arm's mean less that of one: on a list, on the items that both were evaluated on."""
    listed, n = result.listed, len(result.labels)
    if listed is None:
        plain: FloatArray = result.means - result.means[base]
        return plain
    if not len(listed.values) or n * len(listed.items) > MOST_CELLS:
        return np.full(n, np.nan)
    table = np.full((n, len(listed.items)), np.nan)
    table[listed.arms, listed.places] = listed.values
    apart = table - table[base]
    there = ~np.isnan(apart)
    found: FloatArray = np.where(there, apart, 0.0).sum(axis=1) / np.where(there.any(axis=1), there.sum(axis=1), np.nan)
    return found


def lead_words(result: "Result") -> str:
    """The lead in a sentence; empty where there is nothing to say."""
    lead = result.lead
    if lead is None:
        return ""
    if lead.difference < 0 or lead.high < 0:
        if result.certified and result.epsilon == 0:
            return ""  # the verdict says otherwise, and rests on more than these two means
        # Where means and bounds disagree, the bounds are told alone.
        ahead = -lead.difference if lead.difference < 0 else math.nan
        lead = Lead(lead.over, lead.arm, ahead, -lead.high, -lead.low)
    arm, over = visible(str(lead.arm)), visible(str(lead.over))
    width = result.problem.scale.width
    bounded = not math.isnan(lead.low) and (lead.high < 0.99 * width or lead.low > 0)
    vague = not bounded or lead.high - lead.low > 1.5 * width
    if (vague and not result.certified) or (not bounded and math.isnan(lead.difference)):
        return ""
    kind, sure = _kind(result), result.certified and result.epsilon == 0
    who = _who(kind, sure, arm, over)
    exact = bounded and lead.high - lead.low <= 1e-9 * width
    places = _places(
        abs(lead.high if exact else lead.difference) if exact or not bounded else lead.high - lead.low, width
    )
    known = _figures(lead.difference, places)
    if not bounded:
        return f"{who} {known}."
    if exact and abs(lead.high) <= 1e-9 * width:
        return f"{arm} and {over} have the same mean."
    if exact:
        shown, rounded = _figures(lead.high, places), abs(round(lead.high, places) - lead.high) > 1e-9 * width
        return f"{who} {shown} (rounded; all scores of both are known)." if rounded else f"{who} {shown}, exactly."
    told = kind == "best" and not result.certified  # the verdict has a bound of these arms already
    if lead.difference == 0 and (kind == "control" or not sure):
        apart = "" if told else f" (difference {_between(lead, places, False)}, {percent(1 - result.delta)})"
        return f"{arm} and {over} have the same mean so far{apart}."
    if told and math.isnan(lead.difference):
        return ""
    if told:
        return f"{who} {_figures(lead.difference, _places(lead.difference, width))} so far."
    # A verdict says of itself that the lead is not below 0: an end there is not a second opinion.
    one_sided = lead.low < 0 and (sure if kind != "control" else lead.arm in result.chosen)
    bounds, sure_of = _between(lead, places, one_sided), percent(1 - result.delta)
    return f"{who} {bounds} ({sure_of})." if math.isnan(lead.difference) else f"{who} {known} ({bounds}, {sure_of})."


def _kind(result: "Result") -> str:
    kind = result.problem.question.kind
    return "best" if kind == "top" and len(result.chosen) == 1 else kind


def _who(kind: str, sure: bool, arm: str, over: str) -> str:
    """How the sentence begins: who is ahead of whom."""
    if kind == "best" and sure:
        return f"{arm} beats the runner-up {over} by"
    if kind == "top" and sure:
        return f"{arm}, the last of them, is ahead of the runner-up {over} by"
    return f"{arm} is ahead of {over} by"


def _between(lead: Lead, places: int, one_sided: bool) -> str:
    """Both bounds, rounded outwards: rounded inwards they would claim too much."""
    unit = 10.0**places
    low, high = math.floor(lead.low * unit + 1e-6) / unit, math.ceil(lead.high * unit - 1e-6) / unit
    most = _figures(high, places)
    return f"at most {most}" if one_sided else f"{_figures(low, places)} to {most}"


def _places(size: float, width: float) -> int:
    """Decimal places that show a size in two figures; below 0 where the last figures before the point do not count either.

    >>> _places(0.062, 1), _places(3.4, 60), _places(0, 1), _places(678_571, 1e6)
    (3, 1, 4, -4)
    """
    if not size > 1e-4 * width:
        size = 1e-3 * width
    return min(1 - math.floor(math.log10(size)), 12)


def _figures(value: float, places: int) -> str:
    """A number rounded to so many places, as a person reads it.

    >>> _figures(0.0623, 3), _figures(678_571, -4), _figures(-0.001, 1), _figures(4e12, -11)
    ('0.062', '680,000', '0.0', '4.00e+12')
    """
    number = round(value, places) + 0.0
    return f"{number:,.{max(places, 0)}f}" if abs(number) < 1e9 else f"{number:.2e}"

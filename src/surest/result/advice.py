"""What to tell a user of a result beyond its verdict: settings that cost more than they need to."""

from surest.core.scale import Scale
from surest.text import count, rounded

NARROW = 1 / 20
"""Rewards that fill a smaller part of the stated range than this deserve a warning …"""
ENOUGH = 20
"""… once so many have been seen."""


def bounds_too_wide(scale: Scale, least: float, most: float, pulls: int) -> str | None:
    """A warning where rewards fill a small part of the stated range, with what that costs and what to do.

    None where so many rewards, from the `least` to the `most`, fill it well, and where that cannot be told: few so far, or all
    of them the same, as rare events are for a long time.

    >>> bounds_too_wide(Scale(0, 60), 0.02, 0.05, 500)[:74]
    'Rewards so far lie in [0.02, 0.05], which is 0.05 % of the bounds [0, 60].'
    >>> bounds_too_wide(Scale(0, 60), 0.02, 59, 500)
    """
    filled = (most - least) / scale.width
    if pulls < ENOUGH or not 0 < filled < NARROW:
        return None
    times = count(rounded(1 / filled))
    return (
        f"Rewards so far lie in [{least:.3g}, {most:.3g}], which is {100 * filled:.2g} % of the bounds [{scale.low:g}, "
        f"{scale.high:g}]. Such wide bounds cost evaluations: here up to about {times} times as many. If every reward "
        "obeys narrower bounds, state them in a new search. Where rare rewards lie outside, clip them (--clip, or min(max("
        "reward, low), high) in a function): the means of clipped rewards are then compared."
    )

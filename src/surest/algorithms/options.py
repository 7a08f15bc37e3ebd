"""What some algorithms take beyond their task: their own options, by name.

A variant with a standing of its own (a heuristic threshold, say) is an algorithm of its own, not an option.
"""

import math
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, Literal, NamedTuple

from surest.core.problem import meant_name, setting_names, unknown_name
from surest.errors import UsageError

MOST = 10**7
"""The largest whole number that makes sense: pulls, which a request keeps in memory."""


class Option(NamedTuple):
    """One option of an algorithm."""

    kind: Literal["number", "whole number", "Constants", "value"]
    """A ``value`` may be anything: the algorithm itself checks it."""
    meaning: str


def check_options(algorithm: str, known: Mapping[str, Option], given: Mapping[str, Any]) -> None:
    """Refuse options that an algorithm does not have, and values of another kind than it takes.

    What is not an option may be a setting, misspelt or called as other libraries call it.

    >>> check_options("lucb", {"c": Option("number", "a constant")}, {"d": 0.1})
    Traceback (most recent call last):
        ...
    surest.errors.UsageError: lucb has no option 'd'; it has c (number)
    >>> check_options("lucb", {}, {"random_state": 1})
    Traceback (most recent call last):
        ...
    surest.errors.UsageError: there is no setting 'random_state'; did you mean seed? (lucb has no option ...
    """
    has = ", ".join(f"{name} ({option.kind})" for name, option in known.items())
    for name, value in given.items():
        if name not in known:
            raise UsageError(_unknown(algorithm, name, known, has))
        if not _fits(value, known[name].kind):
            raise UsageError(
                f"option {name} of {algorithm} is {value!r:.60}; give a {known[name].kind}: {known[name].meaning}"
            )


def _unknown(algorithm: str, name: str, known: Mapping[str, Option], has: str) -> str:
    """What to say of a name that is not an option."""
    own, meant = f"{algorithm} has no option {name!r}; it has {has or 'none'}", meant_name(name, setting_names(known))
    if meant is None:
        return own
    return f"{own}. Did you mean {meant}?" if meant in known else f"{unknown_name(name, setting_names(known))} ({own})"


def _fits(value: object, kind: str) -> bool:
    if kind == "value":
        return True
    if kind == "Constants":
        from surest.algorithms.paper.constants import Constants

        return isinstance(value, Constants)
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    if kind == "whole number":
        return isinstance(value, Integral) and 1 <= int(value) <= MOST
    return math.isfinite(value)

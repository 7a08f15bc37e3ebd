"""What some algorithms take beyond the problem: their own options, by name.

A variant with a standing of its own (a heuristic threshold, say) is an algorithm of its own, not an option.
"""

import math
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, Literal, NamedTuple

from surest.algorithms.paper.constants import Constants
from surest.errors import UsageError

MOST = 10**7
"""The largest whole number that makes sense: pulls, which a request keeps in memory."""


class Option(NamedTuple):
    """One option of an algorithm."""

    kind: Literal["number", "whole number", "Constants"]
    meaning: str


H1 = {"h1": Option("number", "how hard the arms are: Σ 1/gap²")}
CONSTANTS = {"constants": Option("Constants", "other constants than the paper's, from Python only")}

OPTIONS: dict[str, dict[str, Option]] = {
    "wager": {
        "batch": Option("whole number", "the least number of pulls to ask for at a time; 1 unless told"),
        "reserve": Option("number", "the part of δ kept for arms that are added later; 0 unless told"),
    },
    "vd-best-arm-id": CONSTANTS,
    "vd-best-arm-id-star": CONSTANTS,
    "naive-best-arm": CONSTANTS,
    "best-arm-est": CONSTANTS,
    "naive-best-arm-est": CONSTANTS,
    "ucb-e": H1,
    "ugape-b": H1,
    "uniform-bonferroni": {
        "gap": Option("number", "the difference that the experiment is to detect; 0.05 unless told"),
        "power": Option("number", "the probability of detecting it; 0.8 unless told"),
    },
    "peeking-z-test": {"first": Option("whole number", "pulls of every arm before the first look; 10 unless told")},
}
"""By algorithm; one that is not named here has none."""


def check_options(algorithm: str, known: Mapping[str, Option], given: Mapping[str, Any]) -> None:
    """Refuse options that an algorithm does not have, and values of another kind than it takes.

    >>> check_options("wager", OPTIONS["wager"], {"rserve": 0.1})
    Traceback (most recent call last):
        ...
    surest.errors.UsageError: wager has no option 'rserve'; it has batch (whole number), reserve (number)
    """
    has = ", ".join(f"{name} ({option.kind})" for name, option in known.items())
    for name, value in given.items():
        if name not in known:
            raise UsageError(f"{algorithm} has no option {name!r}; it has {has or 'none'}")
        if not _fits(value, known[name].kind):
            raise UsageError(
                f"option {name} of {algorithm} is {value!r:.60}; give a {known[name].kind}: {known[name].meaning}"
            )


def _fits(value: object, kind: str) -> bool:
    if kind == "Constants":
        return isinstance(value, Constants)
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    if kind == "whole number":
        return isinstance(value, Integral) and 1 <= int(value) <= MOST
    return math.isfinite(value)

"""Keywords of the front doors that are no settings of a problem: what each may be, whichever door takes it."""

import math
from collections.abc import Callable, Mapping
from inspect import signature
from numbers import Integral, Real
from typing import Any, NamedTuple, TypeVar

import numpy as np

from surest.errors import UsageError

F = TypeVar("F", bound=Callable[..., Any])


class Kind(NamedTuple):
    """What a keyword may be."""

    fits: Callable[[Any], bool]
    wanted: str  # the same in words: what to give instead


def number(wanted: str, within: Callable[[float], bool], *, whole: bool = False, optional: bool = True) -> Kind:
    """A finite number within a range, whole or not; None where it is optional."""
    kind: Any = Integral if whole else Real

    def fits(value: Any) -> bool:
        if value is None or isinstance(value, bool) or not isinstance(value, kind):
            return optional and value is None
        return math.isfinite(value) and bool(within(value))

    return Kind(fits, wanted)


def several(kind: Kind) -> Kind:
    """One of a kind, or a sequence of them."""
    return Kind(lambda it: all(map(kind.fits, it)) if isinstance(it, list | tuple) else kind.fits(it), kind.wanted)


FLAG = Kind(lambda value: isinstance(value, bool | np.bool_), "True or False")
FUNCTION = Kind(lambda value: value is None or callable(value), "a function")
TEXT = Kind(lambda value: value is None or isinstance(value, str), "text")
SEED = Kind(
    lambda value: value is None or (isinstance(value, Integral | str) and not isinstance(value, bool)),
    "a whole number, or a text such as a commit",
)
"""The seed of an order; that of a search is a setting of its problem."""
FLAGS = (
    "common finished history ignore_failure load_if_exists predict rank record resample seeded shuffled simulate strict "
    "vectorised"
)
KINDS: dict[str, Kind] = {
    **dict.fromkeys(FLAGS.split(), FLAG),
    **dict.fromkeys(("on_request", "on_block", "clock"), FUNCTION),
    "progress": Kind(lambda value: value is None or isinstance(value, bool) or callable(value), "a function or a bool"),
    "name": TEXT,
    "columns": Kind(
        lambda value: value is None or isinstance(value, Mapping),
        "a mapping such as {'arm': 'model', 'value': 'score'}",
    ),
    "shuffle": Kind(
        lambda value: (
            value is None or isinstance(value, bool) or (isinstance(value, int | np.integer) and int(value) >= 0)
        ),
        "a seed, a whole number ≥ 0",
    ),
    "executor": Kind(
        lambda value: value is None or hasattr(value, "submit") or callable(value),
        "a concurrent.futures executor such as ThreadPoolExecutor(8), Dask's client.get_executor(), or a function that "
        "returns one",
    ),
    "in_flight": number(
        "the evaluations under way at a time, at least 1", lambda x: x >= 1, whole=True, optional=False
    ),
    "retries": number("a whole number ≥ 0", lambda x: x >= 0, whole=True),
    "on_failure": number("a reward, a number", lambda x: True),
}


def check_keywords(given: Mapping[str, Any], **others: Kind) -> None:
    """Refuse what a keyword cannot be; `others` are a door's own, or mean something else there."""
    kinds = KINDS | others if others else KINDS
    for name, value in given.items():
        if name in kinds and not kinds[name].fits(value):
            raise UsageError(f"{name} is {value!r:.60}; give {kinds[name].wanted}")


def shown_like(door: Callable[..., Any], *but: str) -> Callable[[F], F]:
    """Show the keywords of another door in the signature of one that passes them on: help and completion see them."""

    def decorated(function: F) -> F:
        own = signature(function)
        known = {**own.parameters, **signature(door).parameters, **own.parameters}
        shown = sorted((p for name, p in known.items() if name not in (*but, "how")), key=lambda p: p.kind)
        setattr(function, "__signature__", own.replace(parameters=shown))  # noqa: B010
        return function

    return decorated


def check_columns(columns: Mapping[str, str] | None, *sources: Any) -> None:
    """Refuse other names of columns where no source has columns: they would be ignored."""
    if columns and not any(
        isinstance(it, str) or hasattr(it, "__fspath__") or hasattr(it, "columns") for it in sources
    ):
        raise UsageError("columns requires a file or a data frame; leave it out")

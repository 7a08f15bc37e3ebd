"""What a user calls arms, told apart: functions to call, recorded rewards to count, or something that answers requests."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from surest.arms.finite import FiniteArms, recorded
from surest.core.problem import labels_of
from surest.core.protocol import FloatArray
from surest.core.scale import Scale
from surest.errors import RewardError, UsageError


@dataclass(frozen=True)
class Functions:
    """Functions that return rewards."""

    labels: tuple[Any, ...]
    functions: list[Callable[..., Any]]


@dataclass(frozen=True)
class Records:
    """Recorded rewards, in the user's units: each arm's in the order in which they were recorded."""

    labels: tuple[Any, ...]
    rewards: list[FloatArray]


@dataclass(frozen=True)
class Simulated:
    """Something that answers requests, or makes such a thing from a seed."""

    labels: tuple[Any, ...]
    source: Any
    resampled: bool = False
    """Whether it draws, with replacement, from rewards that were recorded."""

    def bandit(self, seed: int) -> Any:
        """What answers requests."""
        return self.source if hasattr(self.source, "answer") else self.source.simulate(seed)


def kind_of_arms(
    arms: Any, scale: Scale, *, resample: bool = False, wants: str = ""
) -> Functions | Records | Simulated:
    """Tell what kind of arms a user gave. `wants` names the argument that functions are called with, if any.

    >>> kind_of_arms({"a": [0, 1, 1], "b": [1, 0]}, Scale()).rewards
    [array([0., 1., 1.]), array([1., 0.])]
    """
    if isinstance(arms, Records):
        return arms
    if callable(getattr(arms, "simulate", None)) or callable(getattr(arms, "answer", None)):
        return Simulated(tuple(arms.labels), _good_side(arms, scale), bool(getattr(arms, "recorded", False)))
    labels, given = _named(arms)
    functions = [callable(arm) for arm in given]
    if all(functions):
        if resample:
            raise UsageError("resample goes with recorded rewards; these arms are functions, which are called")
        for label, function in zip(labels, given, strict=True):
            _check_call(label, function, wants)
        return Functions(labels, given)
    if any(functions):
        one, other = labels[functions.index(True)], labels[functions.index(False)]
        raise UsageError(f"arm {one!r} is a callable and arm {other!r} is not; give one kind")
    rewards = [_array(label, arm, scale) for label, arm in zip(labels, given, strict=True)]
    if not resample:
        return Records(labels, rewards)
    units = {str(label): scale.to_unit(values) for label, values in zip(labels, rewards, strict=True)}
    return Simulated(labels, recorded(units), resampled=True)


def _good_side(arms: Any, scale: Scale) -> Any:
    """Simulated arms whose large rewards are good."""
    if not scale.minimise:
        return arms
    if not isinstance(arms, FiniteArms):
        raise UsageError(
            f"minimise goes with callables, recorded rewards and arms of finite support, not with {arms!r:.60}"
        )
    return arms.mirrored()


def _named(arms: Any) -> tuple[tuple[Any, ...], list[Any]]:
    if hasattr(arms, "columns") and hasattr(arms, "__getitem__"):
        arms = _frame(arms)
    if isinstance(arms, Mapping):
        return labels_of(list(arms)), list(arms.values())
    if isinstance(arms, Sequence | np.ndarray) and not isinstance(arms, str | bytes):
        return labels_of(len(arms)), list(arms)
    hint = "; to read a file, use the command line, or pandas.read_csv" if isinstance(arms, str) else ""
    raise UsageError(
        f"arms are {arms!r:.60} ({type(arms).__name__}); give a mapping or a sequence of callables, or of arrays of "
        f"rewards, or simulated arms{hint}"
    )


def _frame(frame: Any) -> dict[Any, Any]:
    """A data frame as recorded rewards: columns arm and value, a row a reward, or else a column for each arm."""
    columns = [str(name).lower() for name in frame.columns]
    if {"arm", "value"} <= set(columns):
        arm, value = (np.asarray(frame[frame.columns[columns.index(name)]]) for name in ("arm", "value"))
        return {label: value[arm == label] for label in dict.fromkeys(arm.tolist())}
    if {"arm", "item"} & set(columns):
        raise UsageError(
            f"a data frame with the columns {', '.join(columns)}: recorded rewards need arm and value; arms on a list of "
            "items go to surest.evaluate"
        )
    found = {}
    for name in frame.columns:
        values = np.asarray(frame[name])
        found[name] = values[~np.isnan(values)] if values.dtype.kind == "f" else values
    return found


def _check_call(label: Any, function: Callable[..., Any], wants: str) -> None:
    """Refuse a function that cannot be called as it will be, before anything is evaluated."""
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None)):  # noqa: B004
        raise UsageError(f"arm {label!r} is an async function; await surest.aidentify(…) instead")
    try:
        takes = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # some functions written in C say nothing
        return
    needed = [p.name for p in takes if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if len(needed) > bool(wants):
        called = f"with {wants}" if wants else "without arguments"
        raise UsageError(
            f"arm {label!r} takes {', '.join(needed)}, but arms are called {called}. seeded=True passes a seed, "
            "vectorised=True a count; functools.partial binds other arguments, and surest.evaluate passes items"
        )


def _array(label: Any, rewards: Any, scale: Scale) -> FloatArray:
    """One arm's recorded rewards."""
    try:
        if np.asarray(rewards).dtype.kind not in "fiub":
            raise TypeError
        array = np.asarray(rewards, float)
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.ndim != 1 or not array.size:
        raise UsageError(
            f"arm {label!r} is {rewards!r:.60} ({type(rewards).__name__}); "
            "give a callable that returns a reward, or an array of at least one recorded reward"
        )
    try:
        return scale.numbers(array, f"arm {label!r}")
    except RewardError as error:
        raise RewardError(str(error).replace("reward ", "recorded reward ", 1)) from None

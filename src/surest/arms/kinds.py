"""What a user calls arms, told apart: functions to call, recorded rewards to count, or something that answers requests."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from surest.arms.files import Columns, Rows, is_frame
from surest.arms.finite import FiniteArms, recorded
from surest.arms.recorded import InOrder, chosen, in_order, laws_in, open_files
from surest.arms.tables import Table, table_in
from surest.arms.totals import NEEDED, Totals, named_pair, totals_in, totals_of
from surest.core.problem import labels_of
from surest.core.protocol import FloatArray
from surest.core.scale import Scale
from surest.errors import RewardError, SourceError, UsageError

ONE_ARGUMENT = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


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
    column: str | None = None
    """A column of the file or data frame that was not read and may name items which several arms were tried on."""


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
    arms: Any, scale: Scale, *, resample: bool = False, wants: str = "", columns: Columns | None = None
) -> Functions | Records | Simulated | Totals:
    """Tell what kind of arms a user gave. `wants` names the argument that functions are called with, if any.

    >>> kind_of_arms({"a": [0, 1, 1], "b": [1, 0]}, Scale()).rewards
    [array([0., 1., 1.]), array([1., 0.])]
    """
    if isinstance(arms, Records | Totals):
        return arms
    is_table = isinstance(arms, str | Path) or (not isinstance(arms, Mapping | list) and is_frame(arms))
    if columns and not is_table:
        raise UsageError(f"columns={dict(columns)!r} applies to a file or a DataFrame, not to {_short(arms)}")
    column = None
    if is_table:
        arms, column = _read(arms, scale, resample, columns)
    elif (
        isinstance(arms, Mapping)
        and arms
        and all(isinstance(v, Mapping) and {*v} == {*NEEDED[1:]} for v in arms.values())
    ):
        arms = totals_of({label: (pair["successes"], pair["trials"]) for label, pair in arms.items()})
    if isinstance(arms, Totals) and resample:
        raise UsageError("resample requires individual rewards; only totals are known for these arms")
    if isinstance(arms, Totals | Simulated):
        return arms
    if callable(getattr(arms, "simulate", None)) or callable(getattr(arms, "answer", None)):
        return Simulated(tuple(arms.labels), _good_side(arms, scale), bool(getattr(arms, "recorded", False)))
    labels, given = _named(arms)
    functions = [callable(arm) for arm in given]
    if all(functions):
        if resample:
            raise UsageError("resample requires recorded rewards; these arms are functions")
        for label, function in zip(labels, given, strict=True):
            _check_call(label, function, wants, sync=True)
        return Functions(labels, given)
    if any(functions):
        one, other = labels[functions.index(True)], labels[functions.index(False)]
        raise UsageError(f"arm {one!r} is a callable and arm {other!r} is not; make all of them callables, or none")
    rewards = [_array(label, arm, scale) for label, arm in zip(labels, given, strict=True)]
    if not resample:
        return Records(labels, rewards, column)
    units = {str(label): scale.to_unit(values) for label, values in zip(labels, rewards, strict=True)}
    return Simulated(labels, recorded(units), resampled=True)


def async_arms(arms: Any, *, seeded: bool = False) -> Functions:
    """Async functions, or functions that return something to await, refused where they cannot be called as they will be.

    >>> async_arms([0.5, 0.7])
    Traceback (most recent call last):
        ...
    surest.errors.UsageError: arm '0' is 0.5 (float), not a function; aidentify takes async functions, not what they return
    """
    labels, given = _named(arms)
    for label, function in zip(labels, given, strict=True):
        if not callable(function):
            raise UsageError(
                f"arm {label!r} is {_short(function)}, not a function; aidentify takes async functions, not what they return"
            )
        _check_call(label, function, "a seed" if seeded else "")
    return Functions(labels, given)


def _good_side(arms: Any, scale: Scale) -> Any:
    """Simulated arms whose large rewards are good."""
    if not scale.minimise:
        return arms
    if not isinstance(arms, FiniteArms):
        raise UsageError(
            f"minimise applies to callables, recorded rewards and arms of finite support, not to {arms!r:.60}"
        )
    return arms.mirrored()


def _named(arms: Any) -> tuple[tuple[Any, ...], list[Any]]:
    if isinstance(arms, Mapping):
        return labels_of(list(arms)), list(arms.values())
    if isinstance(arms, Sequence | np.ndarray) and not isinstance(arms, str | bytes):
        return labels_of(len(arms)), list(arms)
    raise UsageError(
        f"arms are {_short(arms)}; give a mapping or a sequence of callables, or of arrays of "
        "rewards, or simulated arms"
    )


def read_source(
    table: Any, columns: Columns | None = None, *, bounds: tuple[float, float], clip: bool = False,
    instance: str | None = None, resample: bool = False, counts: bool = True, growing: bool = False, add: bool = False,
) -> Totals | InOrder | FiniteArms:  # fmt: skip
    """What a file or a data frame holds, by the names of its columns: totals, rewards in order, or a law. A file is opened once.

    A law it is if `resample` says so, or by a column of `counts`. A folder holds rewards in order. Totals `add` up the rows of an
    arm; rewards lie within the bounds unless those that do not are to be clipped.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
    ...     _ = file.write("arm,value,count\\na,1,3\\n")
    ...     file.flush()
    ...     read_source(file.name, bounds=(0, 1)).means
    array([1.])
    """
    within = None if clip else bounds
    if not is_frame(table) and Path(table).is_dir() and not resample:
        return in_order(open_files(Path(table), growing), table, instance, columns, within)
    with Rows(table, growing) as rows:
        if (totals := totals_in(rows, columns, add=add)) is not None:
            return totals
        if resample or (counts and (columns or {}).get("count", "count").strip().lower() in rows.names):
            return chosen(laws_in(rows, bounds, columns), instance, rows.path)
        return in_order([rows], rows.path, instance, columns, within)


def read_law(path: str | Path, scale: Scale, columns: Columns | None = None) -> Table | Totals | FiniteArms:
    """What a file holds to simulate searches on: a table of scores on items, totals, or rewards to draw from.

    It is a table where a column names items, or none names arms. It is opened once.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
    ...     _ = file.write("terse,polite\\n1,0\\n1,1\\n")
    ...     file.flush()
    ...     read_law(file.name, Scale()).labels
    ('terse', 'polite')
    """
    with Rows(path) as file:
        if (totals := totals_in(file, columns)) is not None:
            return totals
        arm, item = ((columns or {}).get(name, name).strip().lower() for name in ("arm", "item"))
        if arm not in file.names or item in file.names:
            return table_in(file, columns)
        return chosen(laws_in(file, (scale.low, scale.high), columns), None, path)


def _read(table: Any, scale: Scale, resample: bool, columns: Columns | None) -> tuple[Any, str | None]:
    """Arms from a CSV file or a data frame, and a column of it that may name items."""
    framed = is_frame(table)
    if not framed and not Path(table).exists():
        raise SourceError(f"arms are {str(table)!r}, which does not exist; give a CSV file, functions or arrays")
    if framed and not columns and _has_a_column_for_each_arm(Rows(table)):
        return _wide(table), None
    found = read_source(
        table, columns, bounds=(scale.low, scale.high), clip=framed, resample=resample and not framed, counts=False
    )
    if isinstance(found, FiniteArms):
        return Simulated(found.labels, _good_side(found, scale), resampled=True), None
    if isinstance(found, Totals):
        return found, None
    return {label: np.asarray(numbers) for label, numbers in found.numbers.items()}, found.column


def _has_a_column_for_each_arm(frame: Rows) -> bool:
    if {"arm", "value"} <= set(frame.names) or named_pair(frame.names, None, str(frame.path)) is not None:
        return False
    if {"arm", "item"} & set(frame.names):
        raise UsageError(
            f"a data frame with the columns {', '.join(frame.names)}: recorded rewards need arm and value, totals arm, successes "
            "and trials, or columns={'arm': …, 'value': …}; arms on a list of items go to surest.evaluate"
        )
    return True


def _wide(frame: Any) -> dict[Any, FloatArray]:
    """The rewards of a data frame with a column for each arm. Gaps are allowed at the end of a column, for arms with fewer."""
    found = {}
    for name in frame.columns:
        values = np.asarray(frame[name])
        if values.dtype.kind in "UMmS" or (values.dtype.kind == "O" and any(isinstance(v, str) for v in values)):
            raise UsageError(
                f"column {name!r} of the data frame holds no numbers; a frame has a column for each arm, and no others, or a row "
                "for each reward: columns={'arm': …, 'value': …}"
            )
        if values.dtype.kind == "f":
            values = values[: np.flatnonzero(~np.isnan(values)).max(initial=-1) + 1]
            if np.isnan(values).any():
                gap = int(np.isnan(values).argmax())
                raise RewardError(
                    f"column {name!r} of the data frame has no number in row {gap} (counted from 0) and numbers below it. A "
                    "missing reward cannot be counted: fill it, or leave such rows out. Gaps at the end of a column are allowed, "
                    "for arms with fewer rewards"
                )
        found[name] = values
    return found


def _check_call(label: Any, function: Callable[..., Any], wants: str, *, sync: bool = False) -> None:
    """Refuse a function that cannot be called as it will be, before anything is evaluated."""
    inner = getattr(function, "__call__", None)  # noqa: B004
    if sync and (inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(inner)):
        raise UsageError(f"arm {label!r} is an async function; await surest.aidentify(…) instead")
    try:
        takes = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # some functions written in C say nothing
        return
    needed = [p.name for p in takes if p.default is p.empty and p.kind in ONE_ARGUMENT]
    if len(needed) > bool(wants):
        called = f"with {wants}" if wants else "without arguments"
        raise UsageError(
            f"arm {label!r} takes {', '.join(needed)}, but arms are called {called}. seeded=True passes a seed, "
            "vectorised=True a count; functools.partial binds other arguments, and surest.evaluate passes items"
        )
    by_position = (*ONE_ARGUMENT, inspect.Parameter.VAR_POSITIONAL)
    if wants and not any(p.kind in by_position for p in takes):
        setting = "vectorised=True" if wants == "a count" else "seeded=True"
        raise UsageError(
            f"arm {label!r} takes no argument, but {setting} passes {wants}; leave {setting} out, or let it take one"
        )


def _array(label: Any, rewards: Any, scale: Scale) -> FloatArray:
    try:
        if np.asarray(rewards).dtype.kind not in "fiub":
            raise TypeError
        array = np.asarray(rewards, float)
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.ndim != 1 or not array.size:
        raise UsageError(
            f"arm {label!r} is {_short(rewards)}; "
            "give a callable that returns a reward, an array of at least one recorded reward, or totals such as "
            "{'successes': 30, 'trials': 400}"
        )
    try:
        return scale.numbers(array, f"arm {label!r}")
    except RewardError as error:
        raise RewardError(str(error).replace("reward ", "recorded reward ", 1)) from None


def _short(thing: Any) -> str:
    """A thing and its type, on one line of a message.

    >>> _short("rewards.csv")
    "'rewards.csv' (str)"
    """
    return f"{' '.join(repr(thing).split()):.60} ({type(thing).__name__})"

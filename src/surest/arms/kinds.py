"""What a user calls arms, told apart: functions to call, recorded rewards to count, or something that answers requests."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from surest.arms.files import Columns, Rows, is_frame
from surest.arms.finite import FiniteArms, recorded
from surest.arms.recorded import Records, chosen, laws_in, open_files, records_in
from surest.arms.tables import Table, table_in
from surest.arms.totals import PAIRS, Totals, named_pair, totals_in, totals_of
from surest.core.problem import labels_of
from surest.core.protocol import FloatArray
from surest.core.scale import Scale
from surest.errors import RewardError, SourceError, UsageError


@dataclass(frozen=True)
class Functions:
    """Functions that return rewards."""

    labels: tuple[Any, ...]
    functions: list[Callable[..., Any]]


@dataclass(frozen=True)
class Simulated:
    """Something that answers requests, or makes such a thing from a seed."""

    labels: tuple[Any, ...]
    source: Any
    resampled: bool = False  # whether it draws, with replacement, from rewards that were recorded

    def bandit(self, seed: int) -> Any:
        """What answers requests."""
        return self.source if hasattr(self.source, "answer") else self.source.simulate(seed)


def kind_of_arms(
    arms: Any, scale: Scale, *, resample: bool = False, wants: str = "", columns: Columns | None = None
) -> Functions | Records | Simulated | Totals:
    """Tell what kind of arms a user gave. `wants` names the argument that functions are called with, if any."""
    if isinstance(arms, Records | Totals):
        return arms
    is_table = isinstance(arms, str | Path) or (not isinstance(arms, Mapping | list) and is_frame(arms))
    if columns and not is_table:
        raise UsageError(f"columns={dict(columns)!r} applies to a file or a DataFrame, not to {_short(arms)}")
    found = _of_table(arms, scale, resample, columns) if is_table else _of_data(arms, scale, wants)
    if not resample or isinstance(found, Simulated):
        return found
    if not isinstance(found, Records):
        known = "only totals are known for these arms" if isinstance(found, Totals) else "these arms are functions"
        raise UsageError(f"resample requires recorded rewards; {known}")
    units = {str(label): scale.to_unit(values) for label, values in found.by_label.items()}
    return Simulated(found.labels, recorded(units), resampled=True)


def _of_data(arms: Any, scale: Scale, wants: str) -> Functions | Records | Simulated | Totals:
    if (
        isinstance(arms, Mapping)
        and arms
        and all(isinstance(v, Mapping) and {*v} == {*PAIRS[0]} for v in arms.values())
    ):
        return totals_of({label: (pair["successes"], pair["trials"]) for label, pair in arms.items()})
    if callable(getattr(arms, "simulate", None)) or callable(getattr(arms, "answer", None)):
        return Simulated(tuple(arms.labels), _good_side(arms, scale), bool(getattr(arms, "recorded", False)))
    labels, given = _named(arms)
    functions = [callable(arm) for arm in given]
    if all(functions):
        for label, function in zip(labels, given, strict=True):
            _check_call(label, function, wants, sync=True)
        return Functions(labels, given)
    if any(functions):
        one, other = labels[functions.index(True)], labels[functions.index(False)]
        raise UsageError(f"arm {one!r} is a callable and arm {other!r} is not; make all of them callables, or none")
    return Records(labels, [_array(label, arm, scale) for label, arm in zip(labels, given, strict=True)])


def async_arms(arms: Any, *, seeded: bool = False) -> Functions:
    """Async functions, or functions that return something to await, refused where they cannot be called as they will be."""
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
    table: Any, scale: Scale, columns: Columns | None = None, *, instance: str | None = None, law: bool | None = None,
    growing: bool = False, add: bool = False, tables: bool = False,
) -> Totals | Records | FiniteArms | Table:  # fmt: skip
    """What a file or a data frame holds, by the names of its columns. It is opened once, here and nowhere else.

    Rewards are a `law` to draw from if that says so or, where nothing is said, if they are counted in a column; otherwise they
    are records, as those in the files of a folder are. Totals `add` up the rows of an arm. With `tables`, where a column names
    items, or none names arms, it is a table of scores on items.
    """
    renamed = columns or {}
    if not is_frame(table) and Path(table).is_dir() and not law:
        return records_in(open_files(Path(table), growing), table, scale, instance, columns)
    with Rows(table, growing) as rows:
        if (totals := totals_in(rows, columns, add=add)) is not None:
            return totals
        there = [name for name in ("arm", "item", "count") if renamed.get(name, name).strip().lower() in rows.names]
        if tables and ("arm" not in there or "item" in there):
            return table_in(rows, columns)
        if law or (law is None and "count" in there):
            return chosen(laws_in(rows, scale, columns), instance, rows.path)
        return records_in([rows], rows.path, scale, instance, columns)


def _of_table(table: Any, scale: Scale, resample: bool, columns: Columns | None) -> Records | Simulated | Totals:
    """What a CSV file or a data frame holds. A data frame may have a column for each arm."""
    framed = is_frame(table)
    if not framed and not Path(table).exists():
        raise SourceError(f"arms are {str(table)!r}, which does not exist; give a CSV file, functions or arrays")
    if framed and not columns and _has_a_column_for_each_arm(Rows(table)):
        labels, values = labels_of(list(table.columns)), [_column(table, name) for name in table.columns]
        return Records(labels, [_array(label, column, scale) for label, column in zip(labels, values, strict=True)])
    found = read_source(table, scale, columns, law=resample and not framed)
    if isinstance(found, FiniteArms):
        return Simulated(found.labels, _good_side(found, scale), resampled=True)
    assert not isinstance(found, Table)
    return replace(found, labels=labels_of(found.labels)) if isinstance(found, Records) else found


def _has_a_column_for_each_arm(frame: Rows) -> bool:
    if {"arm", "value"} <= set(frame.names) or named_pair(frame.names, None, str(frame.path)) is not None:
        return False
    if {"arm", "item"} & set(frame.names):
        raise UsageError(
            f"a data frame with the columns {', '.join(frame.names)}: recorded rewards need arm and value, totals arm, successes "
            "and trials, or columns={'arm': …, 'value': …}; arms on a list of items go to surest.evaluate"
        )
    return True


def _column(frame: Any, name: Any) -> Any:
    """The rewards in a column of a data frame. Gaps are allowed at its end, for an arm with fewer than others."""
    values, what = np.asarray(frame[name]), f"column {name!r} of the data frame"
    if values.dtype.kind in "UMmS" or (values.dtype.kind == "O" and any(isinstance(v, str) for v in values)):
        raise UsageError(
            f"{what} holds no numbers; a frame has a column for each arm, and no others, or a row for each reward: "
            "columns={'arm': …, 'value': …}"
        )
    if values.dtype.kind != "f":
        return values
    values = values[: np.flatnonzero(~np.isnan(values)).max(initial=-1) + 1]
    gaps = np.isnan(values)
    if gaps.any():
        raise RewardError(
            f"{what} has no number in row {int(gaps.argmax())} (counted from 0) and numbers below it. A missing reward cannot be "
            "counted: fill it, or leave such rows out. Gaps at the end of a column are allowed, for arms with fewer rewards"
        )
    return values


def _check_call(label: Any, function: Callable[..., Any], wants: str, *, sync: bool = False) -> None:
    """Refuse a function that cannot be called as it will be, before anything is evaluated."""
    inner = getattr(function, "__call__", None)  # noqa: B004
    if sync and (inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(inner)):
        raise UsageError(f"arm {label!r} is an async function; await surest.aidentify(…) instead")
    how = f"with {wants}" if wants else "without arguments"
    hint = (
        ". seeded=True passes a seed, vectorised=True a count; functools.partial binds other arguments, and surest.evaluate "
        "passes items"
    )
    check_takes(function, bool(wants), f"arm {label!r} is called {how}", hint)


def check_takes(function: Callable[..., Any], number: int, called: str, hint: str = "") -> None:
    """Refuse a function that cannot be called with so many arguments."""
    try:
        takes = inspect.signature(function)
    except (TypeError, ValueError):  # some functions written in C say nothing
        return
    try:
        takes.bind(*[None] * number)
    except TypeError as error:
        raise UsageError(f"{called}, and cannot take that: {error}{hint}") from None


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
    """A thing and its type, on one line of a message."""
    return f"{' '.join(repr(thing).split()):.60} ({type(thing).__name__})"

"""Two arms on the same list of items: scores from two files, two mappings or a table, and the list that they are compared on."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from surest.arms.files import Columns, is_frame, is_log, read_items
from surest.arms.tables import read_scores, table_of
from surest.core.protocol import FloatArray
from surest.errors import SourceError, UsageError
from surest.text import some

SIDES = ("baseline", "candidate")
Scores = Mapping[Hashable, float]  # an arm's value on each item; NaN where there is none yet


@dataclass(frozen=True, eq=False)
class Pair:
    """A baseline and a candidate on a list of items."""

    names: tuple[str, str]
    scores: tuple[Scores, Scores]
    items: tuple[Hashable, ...]
    """The list, as far as its items have names. A score on another item does not count."""
    unnamed: int = 0  # how many further items are on the list
    places: tuple[int, ...] = ()  # where each item stood before an order was drawn; empty where none was
    drawn: bool = False
    """Whether the list stands in a random order that was drawn before anything was evaluated."""
    events: tuple[tuple[str, int, Hashable], ...] = ()
    """What happened to evaluations, such as imputed or retried; its side; its item."""
    notes: tuple[str, ...] = ()  # what is to be said of where the scores come from

    @property
    def values(self) -> FloatArray:
        """One row per side and one column per item of the list; NaN for gaps."""
        return np.array([[side.get(item, np.nan) for item in self.items] for side in self.scores]).reshape(2, -1)

    def only_in(self, side: int) -> list[Hashable]:
        """The items that have a value on one side and none on the other, on the list or not."""
        other = self.scores[1 - side]
        return [item for item, value in self.scores[side].items() if value == value and not has_value(other, item)]

    def off_list(self, side: int) -> list[Hashable]:
        """The items that have a value and are not on the list."""
        listed = set(self.items)
        return [item for item, value in self.scores[side].items() if value == value and item not in listed]


def has_value(scores: Scores, item: Hashable) -> bool:
    """Whether an item was evaluated."""
    value = scores.get(item, np.nan)
    return value == value


def pair_of(
    baseline: Any, candidate: Any, columns: Columns | None = None, items: Sequence[Hashable] | None = None,
    scorer: str | None = None,
) -> Pair:  # fmt: skip
    """Scores of two arms from two files, logs, mappings, Series, data frames or lists of numbers; of a function there are none.

    The list is `items`, or those of the baseline.
    """
    sources, names, notes = [baseline, candidate], list(SIDES), tuple[str, ...]()
    logs = [side for side, source in enumerate(sources) if isinstance(source, str | Path) and is_log(source)]
    if scorer is not None and not logs:
        raise UsageError("scorer applies to evaluation logs only; these are not logs")
    if logs:
        read = table_of([sources[side] for side in logs], scorer=scorer, common=False)
        if len(read.labels) != len(logs):
            runs = ", ".join(map(repr, read.labels[:8]))
            raise UsageError(
                f"these logs hold the runs {runs}; give a log for each side, or a folder and two of them as arms"
            )
        for side, label, row in zip(logs, read.labels, read.rows, strict=True):
            sources[side] = {item: value for item, value in row.items() if value == value}
            names[side] = str(label) if len(logs) == 2 else names[side]
        notes = read.notes
    first = _scores(sources[0], SIDES[0], columns, items)
    listed = tuple(first) if items is None else tuple(items)
    second = _scores(sources[1], SIDES[1], columns, listed)
    one, two = (str(s) if isinstance(s, str | Path) else name for s, name in zip(sources, names, strict=True))
    return Pair((one, two), (first, second), listed, notes=notes)


def _scores(source: Any, name: str, columns: Columns | None, listed: Sequence[Hashable] | None) -> Scores:
    if callable(source):
        return {}
    if isinstance(source, str | Path):
        return _from_file(source, columns, listed)
    if is_frame(source):
        return read_scores(source, columns)
    if hasattr(source, "to_dict"):  # a Series
        if not source.index.is_unique:
            raise SourceError(f"{name} has an item twice in its index; an item has one value")
        source = source.to_dict()
    elif not isinstance(source, Mapping) and not hasattr(source, "__len__"):
        raise SourceError(f"{name} is {source!r:.60}; give a file, {{item: value}}, a Series or a list of numbers")
    if len(source) == 0:
        return {}
    return table_of({name: source}).rows[0]


def older_rows(
    sources: Any, items: Sequence[Hashable], columns: Columns | None = None, scorer: str | None = None
) -> FloatArray:
    """Rows of older versions on a list of items: a table, or several tables, logs, files of one version's scores or mappings."""
    rows: list[Scores] = []
    for source in sources if isinstance(sources, list | tuple) else [sources]:
        in_logs = isinstance(source, str | Path) and is_log(source)
        try:
            table = table_of(source, scorer=scorer, common=False) if in_logs else table_of(source, columns)
        except SourceError:
            if in_logs or not isinstance(source, str | Path | Mapping):
                raise
            rows.append(_scores(source, "history", columns, None))
        else:
            rows += table.rows
    return np.array([[row.get(item, np.nan) for item in items] for row in rows]).reshape(len(rows), len(items))


def _from_file(path: str | Path, columns: Columns | None, listed: Sequence[Hashable] | None) -> Scores:
    """The scores of a file that may be growing: a last line without an end counts only if it is all that is missing.

    Another program may be in the middle of writing it.
    """
    if listed is None:
        return read_scores(path, columns)
    ended = read_scores(path, columns, growing=True)
    if all(item in ended for item in listed):
        return ended
    try:
        whole = read_scores(path, columns)
    except SourceError:
        return ended
    return whole if all(item in whole for item in listed) else ended


def pair_in(
    table: Any, baseline: Hashable, candidate: Hashable, columns: Columns | None = None, scorer: str | None = None
) -> Pair:
    """Two arms of a table; the list is all its items."""
    whole = table_of(table, columns, scorer=scorer, common=False)
    rows = [row_of(whole.labels, label) for label in (baseline, candidate)]
    if rows[0] == rows[1]:
        raise UsageError(f"{baseline!r} is both the baseline and the candidate; give two arms")
    first, second = (whole.rows[row] for row in rows)
    return Pair((str(baseline), str(candidate)), (first, second), whole.items, notes=whole.notes)


def row_of(labels: Sequence[Hashable], label: Hashable) -> int:
    """The place of an arm among those of a table or study."""
    if label not in labels:
        raise UsageError(f"there is no arm {label!r}; there are {some(map(repr, labels), 8)}")
    return list(labels).index(label)


def named(items: str | Path | Sequence[Hashable]) -> tuple[Hashable, ...]:
    """The names of a list that is stated: in a file, or one by one."""
    if isinstance(items, str | Path):
        return tuple(item.key for item in read_items(items))
    names = tuple(items)
    if not names or len(set(names)) < len(names):
        raise UsageError("items must be a list of different items, at least one")
    return names


def of_length(pair: Pair, length: int) -> Pair:
    """The same scores on a list of which only the length is known beside the items that have scores."""
    known = tuple(dict.fromkeys([*pair.scores[0], *pair.scores[1]]))
    if length < max(len(known), 1):
        raise UsageError(f"items is {length}, but {len(known)} items have scores; give the length of the whole list")
    return replace(pair, items=known, unnamed=length - len(known))


def in_both(pair: Pair) -> Pair:
    """The same scores, with those items of the list as its list that have both values."""
    items = tuple(item for item in pair.items if has_value(pair.scores[0], item) and has_value(pair.scores[1], item))
    if not items:
        raise UsageError(f"no item of the list has a value both in {pair.names[0]} and in {pair.names[1]}")
    return replace(pair, items=items, unnamed=0)

"""Tables of arms × items: every arm's value on every item of a list, with gaps where nothing was evaluated yet."""

import json
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from surest.arms.files import KEYS, Columns, Rows, codes, is_frame, is_log, numbers_of, read_items
from surest.core.protocol import FloatArray, IntArray
from surest.errors import SourceError

NEEDED = ("arm", "item", "value")
ARMS = ("arm", "model", "system", "method", "solver", "prompt", "algorithm", "variant")
"""Columns of text that name arms, not items: a table with one is not wide, or it stands the other way round."""
MOST_CELLS = 2**28  # maximum cells of a table: two gigabytes


@dataclass(frozen=True, eq=False)
class Table:
    """Values of arms on items, in the order in which arms and items first appear."""

    labels: tuple[Hashable, ...]
    items: tuple[Hashable, ...]
    values: FloatArray  # one row per arm and one column per item; NaN where there is no value
    notes: tuple[str, ...] = ()  # of logs: what could not be paired, and what was made of it
    costs: tuple[float, ...] | None = None
    """What an evaluation of each arm costs on average, where that is known …"""
    cost_unit: str = ""  # … and in what

    @property
    def complete(self) -> bool:
        """Whether there are no gaps."""
        return not np.isnan(self.values).any()

    @property
    def rows(self) -> list[dict[Hashable, float]]:
        """Each arm's value on each item."""
        return [dict(zip(self.items, row, strict=True)) for row in self.values.tolist()]


def table_of(data: Any, columns: Columns | None = None, *, scorer: str | None = None, common: bool = True) -> Table:
    """A table from whatever holds one.

    That is a CSV file, gzipped or not, or a pandas or polars DataFrame, with the columns arm, item and value, or wide: with a
    column for each arm and a row for each item; ``{arm: {item: value}}`` or ``{arm: [value, …]}``; an array, the other way round:
    a row for each arm and a column for each item; or a log of an evaluation by inspect_ai, lm-evaluation-harness or promptfoo, a
    folder of logs, or a list of either, of which `scorer` counts, on the list that all runs have (`common`) or any has.

    `columns` are other names of columns: ``{"arm": "model", "item": "question", "value": "score"}``. With ``{"item": …}``
    alone, the column of a wide table that names the items; otherwise `item`, `key` or `id`, the only column of text, or a first
    column that numbers the rows.
    """
    if isinstance(data, Table):
        return data
    paths = data if isinstance(data, list | tuple) else [data]
    if paths and all(isinstance(path, str | Path) for path in paths):
        name = str(paths[0])  # there are no tables of JSON: such a file must be a log
        is_json = name.lower().endswith((".json", ".jsonl")) and Path(name).exists()
        if len(paths) == 1 and scorer is None and not (is_json or is_log(name)):
            return read_table(name, columns)
        if columns:
            raise SourceError("names of columns (--arm-column, --item-column, --value-column) apply to one table")
        read: Table = import_module("surest.integrations.eval_logs").logs(paths, scorer, common=common)[0]
        return read
    if scorer is not None:
        raise SourceError("scorer applies to evaluation logs only; these are not logs")
    if is_frame(data):
        return read_table(data, columns)
    if columns:
        raise SourceError(f"columns={dict(columns)!r} applies to a file or a DataFrame, not to {type(data).__name__}")
    if isinstance(data, Mapping):
        return _of_mapping(data)
    return _of_array(data)


def read_table(data: Any, columns: Columns | None = None) -> Table:
    """A table from a CSV file or a data frame: one row per cell, in any order, or a column for each arm and a row for each item.

    An empty value is a gap.
    """
    with Rows(data) as file:
        return table_in(file, columns)


def table_in(file: Rows, columns: Columns | None) -> Table:
    """The table of a file that is open, or of a data frame."""
    table = _wide(file, dict(columns or {})) or _long(file, columns)
    if not table.labels:
        raise SourceError(f"{file.path} holds no values; it needs a header and at least one row (arm,item,value)")
    return table


def _long(file: Rows, columns: Columns | None, needed: tuple[str, ...] = NEEDED) -> Table:
    """The table of a file with one row per cell. Rows that name no arm are of the same, and the index may name items."""
    arms, items = dict[Hashable, int](), dict[Hashable, int]()
    parts: list[tuple[IntArray, IntArray, FloatArray, IntArray]] = []
    spent: list[FloatArray] = []
    priced = ("cost",) if "arm" in needed and "cost" not in (columns or {}).values() else ()
    for batch in file.batches(needed, priced, columns):
        count = len(batch.lines)
        labels = batch.labels("arm") if "arm" in needed else [None] * count
        names = batch.labels("item") if "item" in needed else file.index(count)
        parts.append((codes(labels, arms), codes(names, items), batch.values(), np.array(batch.lines)))
        if "cost" in batch.columns:
            spent.append(batch.values("cost"))
    if not parts:
        return Table((), (), np.empty((0, 0)))
    rows, cols, values, lines = (np.concatenate(part) for part in zip(*parts, strict=True))
    _check_size(len(arms), len(items))
    there = np.flatnonzero(~np.isnan(values))
    cell = rows[there] * len(items) + cols[there]
    order = np.argsort(cell, kind="stable")
    again = np.flatnonzero(np.diff(cell[order]) == 0)
    if len(again):
        later = there[order[again + 1]]
        first = int(later.argmin())
        one, two = int(there[order[again[first]]]), int(later[first])
        arm, item = list(arms)[rows[two]], list(items)[cols[two]]
        what, more = f"arm {arm!r} on item {item!r}", ""
        if "arm" not in needed:
            what, more = f"item {item!r}", "; two arms of one file: --baseline A --candidate B"
        raise SourceError(
            f"{file.path}, {batch.unit} {lines[two]}: {what} is given as {values[two]:g}, but {batch.unit} {lines[one]} gave "
            f"{values[one]:g} already; give one, such as the mean of repeated evaluations{more}"
        )
    table = np.full(len(arms) * len(items), np.nan)
    table[cell] = values[there]
    costs = _mean_costs(rows, np.concatenate(spent), len(arms)) if spent else None
    return Table(tuple(arms), tuple(items), table.reshape(len(arms), len(items)), costs=costs)


def _mean_costs(rows: IntArray, costs: FloatArray, arms: int) -> tuple[float, ...] | None:
    """What an evaluation of each arm costs: the mean over its cells. None if of some arm nothing is known."""
    there = ~np.isnan(costs)
    if (costs[there] < 0).any():
        raise SourceError(f"a cost is {costs[there].min():g}; costs are numbers ≥ 0")
    times, sums = np.bincount(rows[there], minlength=arms), np.bincount(rows[there], costs[there], arms)
    return tuple((sums / times).tolist()) if times.all() else None


SCORES = {"score", "scores", "reward", "result", "correct", "accuracy", "metric"}
"""Names of a column of scores, each of another arm: such a file is not taken for one with a column for each arm."""


def _wide(file: Rows, columns: dict[str, str]) -> Table | None:
    """The table of a file with a column for each arm; None where it has one row per cell."""
    names, written, is_file = file.names, file.written, file.frame is None
    item = columns.get("item")
    if {"arm", "value"} & set(names) or set(columns) - {"item"} or len(names) < 1 + is_file:
        return None
    if len(set(names)) < len(names) or (item is not None and item.strip().lower() not in names):
        return None
    if is_file and item is None and len(names) >= 3 and SCORES & set(names):
        raise SourceError(_which_way(file.path, written, [name for name in written if name.lower() not in SCORES]))
    values: dict[Any, list[Any]] = {name: [] for name in written}
    for batch in file.batches(tuple(names)):
        for name, column in zip(written, names, strict=True):
            values[name] += [text.strip() if is_file else text for text in batch.columns[column]]
    read = {name: _as_numbers(column) for name, column in values.items()}
    given = None if item is None else written[names.index(item.strip().lower())]
    found = _item_column(written, given, lambda name: read[name] is None, values.__getitem__)
    arms = {name: read[name] for name in written if name != found}
    wrong = [name for name, column in arms.items() if column is None]
    if len(arms) < 1 + is_file or wrong:
        if item is None and len(written) >= 3:
            three = wrong[:1] + [found or wrong[-1]] if wrong else written[:2]
            raise SourceError(_which_way(file.path, written, three))
        return None
    keys = file.index(len(values[written[0]])) if found is None else values[found]
    return _of_rows(tuple(arms), tuple(keys), [column for column in arms.values() if column is not None])


def _which_way(path: Path | str, names: list[str], like: list[str]) -> str:
    """What to say of a file that may have a row for each score under other names, or a column for each arm."""
    last = next((name for name in reversed(names) if name not in like), names[-1])
    arm, item, value = (json.dumps(name, ensure_ascii=False) for name in (like[0], like[-1], last))
    return (
        f"{path} has the columns {', '.join(names)}. If each row is a score: surest evaluate FILE --arm-column {arm} "
        f"--item-column {item} --value-column {value}, in Python columns={{'arm': {arm}, 'item': {item}, 'value': {value}}}. "
        "If each row is an item and each column an arm, keep one column of text, which names the items (--item-column NAME)"
    )


def _as_numbers(values: list[Any]) -> FloatArray | None:
    """Numbers, with NaN for gaps; True and False count as 1 and 0, written or not. None where it is a text, or infinite."""
    known = {"": None, "true": 1.0, "false": 0.0}
    texts = bool(values) and all(isinstance(value, str) for value in values)
    try:
        if texts:
            values = [known[text] if text in known else float(text) for text in map(str.lower, values)]
        found = numbers_of(values, str)
    except (SourceError, ValueError):
        return None
    written = texts and any(value != value for value in values)
    return None if np.isinf(found).any() or written else found


def _item_column(
    names: list[Any], given: Any, is_text: Callable[[Any], bool], values: Callable[[Any], Sequence[Any]]
) -> Any:
    """The column of a wide table that names its items: what was given, `item`, `key` or `id`, or the only one of text.

    Otherwise the first, if it numbers the rows: as an arm, its mean would say nothing.
    """
    if given is not None or len(names) < 2:
        return given
    found = next((name for key in (*KEYS, "", "unnamed: 0") for name in names if str(name).lower() == key), None)
    if found is None:
        texts = [name for name in names if is_text(name)]
        found = texts[0] if len(texts) == 1 and str(texts[0]).lower() not in ARMS else None
        first = [str(value) for value in values(names[0])]
        numbered = any(first == [str(start + k) for k in range(len(first))] for start in (0, 1))  # 0, 1, 2 or 1, 2, 3 …
        if not texts and len(names) >= 3 and len(first) >= 3 and numbered:
            found = names[0]
    if found is None or len(set(values(found))) < len(values(found)):
        return None
    return found


def read_scores(source: Any, columns: Columns | None = None, *, growing: bool = False) -> dict[Hashable, float]:
    """The scores of a single arm: a CSV file or a data frame with one row per item, or lines of JSON. An empty value is a gap.

    The index of a data frame may name the items. With `growing`, a last line without an end is left for later: another program
    may be writing it.
    """
    given = dict(columns or {})
    if not is_frame(source) and str(source).lower().removesuffix(".gz").endswith((".jsonl", ".ndjson")):
        return _scores_of_lines(Path(source), given, growing)
    with Rows(source, growing) as file:
        indexed = file.frame is not None and given.get("item", "item").strip().lower() not in file.names
        if indexed:
            given.pop("item", None)
        table = _long(file, given, ("value",) if indexed else ("item", "value"))
    return table.rows[0] if table.labels else {}


def _scores_of_lines(path: Path, columns: dict[str, str], growing: bool) -> dict[Hashable, float]:
    name, found = columns.get("value", "value"), dict[Hashable, float]()
    for item in read_items(path, columns.get("item"), growing=growing):
        if not isinstance(item.value, dict) or name not in item.value:
            raise SourceError(f"{path}: item {item.key!r} has no field {name!r} that holds its value")
        if item.value[name] != item.value[name]:
            raise SourceError(f"{path}: the value of item {item.key!r} is NaN; write null where nothing was evaluated")
        (found[item.key],) = _numbers([item.value[name]], f"{path}, item {item.key!r}").tolist()
    return found


def _check_size(arms: int, items: int) -> None:
    if arms * items > MOST_CELLS:
        raise SourceError(f"{arms:,} arms × {items:,} items; a table has at most {MOST_CELLS:,} cells")
    if not arms or not items:
        raise SourceError(f"a table of {arms} arms and {items} items; at least one of each is needed")


def _of_mapping(data: Mapping[Any, Any]) -> Table:
    if all(isinstance(row, Mapping) for row in data.values()):
        keys = [tuple(row) for row in data.values()]  # mostly the same for all arms
        items = tuple(dict.fromkeys(chain.from_iterable(dict.fromkeys(keys))))
        rows = [
            _numbers(list(row.values() if own == items else map(row.get, items)), f"arm {arm!r}")
            for own, (arm, row) in zip(keys, data.items(), strict=True)
        ]
        return _of_rows(tuple(data), items, rows)
    rows = []
    for arm, row in data.items():
        if callable(row):
            raise SourceError(
                f"arm {arm!r} is a function, and there are no items; give those, too: evaluate(arms, items)"
            )
        if isinstance(row, Mapping | str) or not hasattr(row, "__len__"):
            raise SourceError(f"arm {arm!r}: give a mapping of items to values, or a list of values, for every arm")
        rows.append(_numbers(row, f"arm {arm!r}"))
        if len(row) != len(rows[0]):
            raise SourceError(
                f"arm {arm!r} has {len(row)} values where the first arm has {len(rows[0])}; "
                "put None in gaps, or give mappings of items to values"
            )
    return _of_rows(tuple(data), tuple(range(len(rows[0]) if rows else 0)), rows)


def _of_array(data: Any) -> Table:
    try:
        array = np.asarray(data)
    except ValueError:
        raise SourceError("the rows of a table have different lengths; put None or NaN in gaps") from None
    if array.ndim != 2:
        raise SourceError(
            f"{type(data).__name__} with {array.ndim} dimensions is not a table; give a CSV file, a DataFrame, "
            "{arm: {item: value}}, or an array with a row for each arm and a column for each item"
        )
    rows = [_numbers(row, f"row {place}") for place, row in enumerate(array)]
    return _of_rows(tuple(range(array.shape[0])), tuple(range(array.shape[1])), rows)


def _of_rows(labels: tuple[Hashable, ...], items: tuple[Hashable, ...], rows: list[FloatArray]) -> Table:
    _check_size(len(labels), len(items))
    if len(set(items)) < len(items):
        raise SourceError(f"item {Counter(items).most_common(1)[0][0]!r} appears twice; give each item one row")
    return Table(labels, items, np.array(rows, float).reshape(len(labels), len(items)))


def _numbers(values: Any, what: str) -> FloatArray:
    """Finite numbers, and NaN for gaps."""
    numbers = numbers_of(values, lambda place: f"{what}, position {place}:")
    infinite = np.isinf(numbers)
    if infinite.any():
        raise SourceError(f"{what}, position {int(infinite.argmax())}: {numbers[infinite][0]} is not a finite number")
    return numbers

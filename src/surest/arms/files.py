"""The rows of CSV files and data frames as batches of columns, and lists of items. Files, gzipped or not, are read in a stream.

A file is never held as a whole: it may be larger than the memory, and a small gzipped file may hide a huge one.
"""

import csv
import gzip
import io
import json
import zlib
from array import array
from collections.abc import Callable, Generator, Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import accumulate, islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Self

import numpy as np

from surest.core.protocol import BoolArray, FloatArray, IntArray
from surest.errors import SourceError

LONGEST_LINE = 2**20
"""Maximum bytes of a line. A line of a table has a few dozen; anything longer is not a table."""
CHUNK = 2**18  # bytes read at a time
ROWS = 2**14
"""Rows of a batch: enough to spread the cost of a batch, few enough to stay in the processor's cache."""

Columns = Mapping[str, str]  # what this project calls a column, and what a file calls it


@dataclass(frozen=True)
class Batch:
    """Some consecutive rows: the texts of a file, or the values of a data frame, where a text is no number, whatever it says."""

    path: Path | str
    columns: Mapping[str, Sequence[Any]]  # the wanted columns by our names for them: one element per row
    lines: Sequence[int]
    """The number of each row: of its last line in a file, where quoted fields may hold line breaks; from 0 in a data frame."""
    unit: str = "line"

    def where(self, row: int) -> str:
        """The place of a row, for messages."""
        return f"{self.path}, {self.unit} {self.lines[row]}"

    def labels(self, name: str) -> list[Any]:
        """A column of names, those of a data frame with their types; one that is missing is refused."""
        column = self.columns[name]
        found = [text.strip() for text in column] if self.unit == "line" else ["" if missing(x) else x for x in column]
        if "" in found:
            raise SourceError(f"{self.where(found.index(''))}: the {name} has no name")
        return found

    def numbers(self, name: str) -> FloatArray:
        """A column as numbers; NaN for what is missing in a data frame."""
        column, found = self.columns[name], array("d")
        if self.unit == "row":
            return numbers_of(column, lambda row: f"{self.where(row)}: {name}")
        with suppress(ValueError):
            found.extend(map(float, column))
        right = np.arange(len(column)) < len(found)
        self.check(right, name, "is not a number" + "; right and wrong are 1 and 0" * (name == "value"))
        return np.array(found)

    def counts(self, name: str) -> FloatArray:
        """A column as whole numbers."""
        found = self.numbers(name)
        with np.errstate(invalid="ignore"):
            whole = (found >= 0) & (found < 2**53) & (found == np.floor(found))
        self.check(whole, name, "is not a whole number from 0 to 2^53")
        return found

    def values(self, name: str = "value") -> FloatArray:
        """A column as finite numbers; NaN for those left empty."""
        filled, column = self, self.columns[name]
        if self.unit == "line":
            filled = replace(self, columns={name: [text if text.strip() else "nan" for text in column]})
        found = filled.numbers(name)
        right, empty = np.isfinite(found), "is not a finite number; leave it empty where nothing was evaluated"
        for row in np.flatnonzero(~right).tolist():
            right[row] = missing(column[row]) or (self.unit == "line" and not column[row].strip())
        self.check(right, name, empty)
        return found

    def check(self, right: BoolArray, name: str, wrong: str) -> None:
        """Refuse the first value of a column that is not right."""
        if not right.all():
            row = int(right.argmin())
            raise SourceError(f"{self.where(row)}: {name} {self.columns[name][row]!r} {wrong}")


def missing(value: Any) -> bool:
    """Whether an object is None, NaN, or what pandas calls NA and NaT."""
    return value is None or type(value).__name__ in ("NAType", "NaTType") or bool(value != value)


def numbers_of(values: Any, where: Callable[[int], str]) -> FloatArray:
    """Objects as numbers; NaN for None, NaN, and what pandas calls NA and NaT."""
    array = np.asarray(values)
    if array.dtype.kind in "biuf":
        return array.astype(float)
    numbers = np.full(len(values), np.nan)
    for row, value in enumerate(values):
        if not missing(value):
            try:
                numbers[row] = "" if isinstance(value, str | bytes) else value  # a text is none
            except (TypeError, ValueError):
                raise SourceError(f"{where(row)} {value!r} is not a number") from None
    return numbers


def codes(labels: Sequence[Hashable], seen: dict[Any, int]) -> IntArray:
    """Where each label stands among those seen so far, in the order of first appearance; new ones are added."""
    for label in dict.fromkeys(labels):
        seen.setdefault(label, len(seen))
    return np.fromiter(map(seen.__getitem__, labels), np.int64, len(labels))


def is_log(path: str | Path) -> bool:
    """Whether a path is a log of evaluations that another tool wrote, or a folder of them: by name or content."""
    name = str(path).lower()
    if name.removesuffix(".gz").endswith(".csv"):
        return False
    try:
        if Path(path).is_dir() or name.endswith(".eval"):
            return True
        with open(path, "rb") as file:
            start = file.read(4096).lstrip()
    except (OSError, ValueError):
        return False
    if name.endswith((".jsonl", ".ndjson")):
        return b'"doc_id"' in start or b'"promptIdx"' in start
    return start.startswith((b"PK", b"{"))


def is_frame(data: Any) -> bool:
    """Whether something is a data frame of pandas or polars."""
    return hasattr(data, "columns") and hasattr(data, "dtypes")


class Rows:
    """The rows of a CSV file, gzipped or not, or of a data frame. Their columns are known before it is said which are read.

    A file is opened once. With `growing`, a last line without an end is left for later: another program may be writing it.
    """

    def __init__(self, table: Any, growing: bool = False) -> None:
        self.frame = table if is_frame(table) else None
        self.path: Path | str = "the DataFrame" if self.frame is not None else Path(table)
        self.growing = growing
        self.unfinished = False  # whether the last line had no end, once all is read
        self.written: list[Any]  # the names of all columns, none where a file is empty …
        self.names: list[str]  # … and as they are compared
        if self.frame is not None:
            self.header, self.written = self.path, list(table.columns)
            self.names = [str(name).strip().lower() for name in self.written]
            if len(set(self.names)) < len(set(self.written)):
                self.names = list(map(str, self.written))
            return
        self.header, self._file = f"{table}, line 1", _opened(Path(table))
        self._reader = csv.reader(self._lines(), strict=True)
        try:
            self.written = [name.strip() for name in next(filter(None, self._reader), [])]
        except (csv.Error, SourceError) as error:
            self._file.close()
            said = error if isinstance(error, SourceError) else f"{table}, line {self._reader.line_num}: {error}"
            raise SourceError(said) from None
        self.names = [name.lower() for name in self.written]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.frame is None:
            self._file.close()

    def _lines(self) -> Iterator[str]:
        self.unfinished = yield from lines_in(self._file, Path(self.path), self.growing)

    def index(self, count: int) -> Sequence[Any]:
        """What rows are called that have no column of names: by the index of pandas, else by numbers."""
        return list(getattr(self.frame, "index", range(count)))

    def batches(
        self, needed: tuple[str, ...], optional: tuple[str, ...] = (), columns: Columns | None = None
    ) -> Iterator[Batch]:
        """The rows, once; a message about a bad one names its line.

        `needed` and `optional` are our names of the columns that must be there, and of those that may be; `columns` says what
        the table calls them, where it calls them otherwise: ``{"arm": "model", "value": "score"}``.
        """
        at = self._places(needed, optional, _checked_mapping(columns, needed + optional))
        return self._read(at) if at else iter(())

    def _places(self, needed: tuple[str, ...], optional: tuple[str, ...], mapping: Columns) -> dict[str, int]:
        """Our names of the columns that the table has, and where they are."""
        names = self.names
        if not names:
            if self.growing:
                return {}
            wanted = f" such as {','.join(needed)}" if needed else ""
            raise SourceError(f"{self.path} is empty; it needs a header{wanted} and rows below it")
        ours = {mapping.get(name, name).strip().lower(): name for name in needed + optional}
        missing = [name for name in ours if ours[name] in needed and name not in names]
        twice = next((name for name in names if names.count(name) > 1), None)
        if missing or twice is not None:
            problem = f"{twice!r} appears twice" if twice is not None else f"{missing[0]!r} is missing"
            wanted = _wanted(self.path, names, needed, optional)
            raise SourceError(f"{self.header}: columns {', '.join(names)}; {problem}. {wanted}")
        if not mapping:
            self._refuse_near_misses(needed, optional)
        return {ours[name]: place for place, name in enumerate(names) if name in ours}

    def _refuse_near_misses(self, needed: tuple[str, ...], optional: tuple[str, ...]) -> None:
        """A column that is not ours is ignored, but not one whose name looks like a slip: ``counts`` for ``count``."""
        for name in self.names:
            near = get_close_matches(name, optional, 1, cutoff=0.85)
            if near and near[0] not in self.names:
                ours = ", ".join(f"{column!r}: {column!r}" for column in needed)
                options = " ".join(f"--{column}-column {column}" for column in needed)
                raise SourceError(
                    f"{self.header}: is column {name!r} meant to be {near[0]!r}? If it is, rename it, or give "
                    f"columns={{{near[0]!r}: {name!r}}}. If not, name the columns that count, and it is ignored: "
                    f"columns={{{ours}}}, on the command line {options}"
                )

    def _read(self, at: dict[str, int]) -> Iterator[Batch]:
        if self.frame is not None:
            whole = {name: list(self.frame[self.written[place]]) for name, place in at.items()}
            yield Batch(self.path, whole, range(len(self.frame)), "row")
            return
        more = True
        while more:
            rows, lines, problem = self._records()
            more = bool(rows) and not problem
            if not all(rows):
                there = [place for place, row in enumerate(rows) if row]
                rows, lines = [rows[place] for place in there], [lines[place] for place in there]
            if rows:
                columns = list(zip(*rows, strict=True))
                yield Batch(self.path, {name: columns[place] for name, place in at.items()}, lines)
            if problem:  # the rows before it come first: one of them may be wrong too
                raise SourceError(f"{self.path}, {problem}")

    def _records(self) -> tuple[list[list[str]], Sequence[int], str]:
        """The next rows, some of them blank, the number of the last line of each, and what is wrong with the row below them."""
        reader, width, above, problem = self._reader, len(self.names), self._reader.line_num, ""
        rows = list[list[str]]()
        try:
            rows.extend(islice(reader, ROWS))
        except csv.Error as error:
            problem = f"line {reader.line_num}: {error}"
        lines: Sequence[int] = range(above + 1, reader.line_num + 1)
        if len(lines) != len(rows):  # quoted fields may hold line breaks
            lines = list(accumulate((1 + sum(map(_line_breaks, row)) for row in rows), initial=above))[1:]
        if set(map(len, rows)) - {0, width}:
            wrong = next(place for place, row in enumerate(rows) if len(row) not in (0, width))
            problem = f"line {lines[wrong]}: {len(rows[wrong])} fields where the header has {width}"
            rows, lines = rows[:wrong], lines[:wrong]
        return rows, lines, problem


def _wanted(path: Path | str, names: list[str], needed: tuple[str, ...], optional: tuple[str, ...]) -> str:
    """What a file lacks, and what else such a file may have been meant for."""
    if len(names) == 1 and (sign := next((sign for sign in ";\t|" if sign in names[0]), None)):
        return f"Columns must be separated by commas, not by {sign!r}; save the file with commas"
    may = f" and may have {' and '.join(optional)}" if optional else ""
    option = "--column {}=…".format if "first" in needed else "--{}-column …".format
    told = ", ".join(f"{name!r}: …" for name in needed)
    elsewhere = ""
    if needed == ("arm", "value"):
        elsewhere = ". Totals need arm,successes,trials, or clicks and impressions, or conversions and visitors"
        if len(names) > 1 and "arm" not in names:
            elsewhere += f". With a column for each arm and a row for each item: surest evaluate {path}"
    if needed == ("arm", "item", "value") and {"arm", "value"} <= set(names):
        elsewhere = ". Rewards without items are for surest identify"
    if isinstance(path, str):
        return f"Here a data frame needs {','.join(needed)}{may}; other names can be given as columns={{{told}}}"
    return (
        f"Here a file needs {','.join(needed)}{may}; other names can be given as columns={{{told}}}, "
        f"on the command line {' '.join(map(option, needed))}{elsewhere}"
    )


def lines_in(file: BinaryIO, path: Path, growing: bool = False) -> Generator[str, None, bool]:
    """The lines of a file that is open, with their ends. Returns whether the last one has none; left out if `growing`."""
    rest, line, encoding, more = b"", 1, "utf-8-sig", True
    while more:
        try:
            piece = file.read(CHUNK)
        except (OSError, EOFError, zlib.error) as error:
            raise SourceError(f"{path} cannot be read: {error}") from None
        whole, end, rest = (rest + piece).rpartition(b"\n")
        block, more = whole + end, bool(piece)
        if not more and not growing:
            block += rest
        try:
            yield from io.StringIO(block.decode(encoding), newline="")
        except UnicodeDecodeError as error:
            line += block[: error.start].count(b"\n")
            raise SourceError(f"{path}, line {line}: not UTF-8 text ({error.reason}); save the file as UTF-8") from None
        line += block.count(b"\n")
        encoding = "utf-8" if block else encoding
        if len(rest) > LONGEST_LINE:
            raise SourceError(
                f"{path}, line {line}: more than {LONGEST_LINE:,} bytes, the maximum length of a line. "
                "Is it a table with one row per line?"
            )
    return bool(rest.strip())


def text_lines(path: Path, growing: bool = False) -> Iterator[str]:
    """The lines of a text file with their ends, gzipped or not; a line has the same limit as in a CSV file."""
    with _opened(path) as file:
        yield from lines_in(file, path, growing)


def _checked_mapping(columns: Columns | None, names: tuple[str, ...]) -> dict[str, str]:
    given = dict(columns or {})
    for name, theirs in given.items():
        if name not in names:
            raise SourceError(f"columns={given!r}: {name!r} is not one of {', '.join(names)}")
        if not isinstance(theirs, str) or not theirs.strip():
            raise SourceError(f"columns={given!r}: the name of the column for {name!r} must be text")
    named = [given.get(name, name).strip().lower() for name in names]
    twice = next((name for name in given if named.count(given[name].strip().lower()) > 1), None)
    if twice is not None:
        raise SourceError(f"columns={given!r}: column {given[twice]!r} is used twice")
    return given


def _opened(path: Path) -> BinaryIO:
    try:
        file = path.open("rb")
        packed = file.peek(2)[:2] == b"\x1f\x8b"  # what cannot be read at all fails here
    except FileNotFoundError:
        raise SourceError(f"{path}: no such file") from None
    except OSError as error:
        raise SourceError(f"{path} cannot be read: {error}") from None
    if not packed:
        return file
    unpacked = gzip.GzipFile(fileobj=file)
    unpacked.myfileobj = file  # type: ignore[assignment]  # to be closed with it
    return unpacked  # type: ignore[return-value]


def _line_breaks(text: str) -> int:
    return text.count("\n") + text.count("\r") - text.count("\r\n")


KEYS = ("item", "key", "id")  # fields and columns that name an item, the first that is there


class Item(NamedTuple):
    """An item of a list."""

    key: str  # what tells it from the others, in logs and tables
    value: Any  # what an arm is evaluated on: a text, or what a line of JSON or a row of a table holds


def read_items(path: str | Path, key: str | None = None, *, growing: bool = False) -> list[Item]:
    """The items of a file in its order, by its suffix: .csv or .csv.gz, .jsonl or .ndjson, or text with one item per line.

    `key` is the field or column that names an item; otherwise `item`, `key` or `id`, whichever is there first. An item of JSON
    without any is named by its JSON, a line of text by itself. No two have the same key. With `growing`, a last line of JSON
    without an end is left for later, and there may be no items yet: another program may be writing them.
    """
    place, suffix = Path(path), Path(str(path).lower().removesuffix(".gz")).suffix
    if suffix in (".jsonl", ".ndjson"):
        found = _of_json(place, key, growing)
    elif suffix == ".csv":
        found, growing = _of_rows(place, key), False
    elif key is None:
        found, growing = ((line, Item(text, text)) for line, text in _texts(place)), False
    else:
        raise SourceError(f"{place}: key={key!r} applies to .csv and .jsonl only; an item of a text file is a line")
    items: dict[str, tuple[int, Item]] = {}
    for line, item in found:
        first, _ = items.setdefault(item.key, (line, item))
        if first != line:
            raise SourceError(
                f"{place}, line {line}: item {item.key!r} is in line {first} already; an item counts once"
            )
    if not items and not growing:
        raise SourceError(f"{place} holds no items")
    return [item for _, item in items.values()]


def _texts(path: Path, growing: bool = False) -> Iterator[tuple[int, str]]:
    """The lines that are not blank, without their ends, and their numbers."""
    for number, line in enumerate(text_lines(path, growing), 1):
        if line.strip():
            yield number, line.rstrip("\r\n")


def _of_json(path: Path, key: str | None, growing: bool) -> Iterator[tuple[int, Item]]:
    for number, text in _texts(path, growing):
        where = f"{path}, line {number}"
        try:
            value = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise SourceError(f"{where}: not JSON ({error}); each line is one item") from None
        if not isinstance(value, dict):
            if key is not None:
                raise SourceError(f"{where}: {text} has no field {key!r}; it is not a JSON object")
            yield number, Item(value if isinstance(value, str) else text.strip(), value)
            continue
        named = key or next((name for name in KEYS if name in value), None)
        if named is None:
            yield number, Item(text.strip(), value)
        elif named not in value or not isinstance(value[named], str | int | float):
            raise SourceError(f"{where}: the field {named!r} must hold text or a number that names the item")
        else:
            yield number, Item(value[named] if isinstance(value[named], str) else json.dumps(value[named]), value)


def _of_rows(path: Path, key: str | None) -> Iterator[tuple[int, Item]]:
    with Rows(path) as file:
        names = file.names
        found = key.strip().lower() if key is not None else next((name for name in KEYS if name in names), None)
        if found is None and len(names) == 1:
            found = names[0]
        if names and (found is None or found not in names):
            raise SourceError(
                f"{path}, line 1: columns {', '.join(names)}; none is called {key or ' or '.join(KEYS)}. "
                "Say which one names an item: key=…"
            )
        for batch in file.batches(tuple(names)):
            for number, row in zip(batch.lines, zip(*batch.columns.values(), strict=True), strict=True):
                fields = dict(zip(batch.columns, row, strict=True))
                name = fields[str(found)].strip()
                if not name:
                    raise SourceError(f"{path}, line {number}: the item has no name in column {found!r}")
                yield number, Item(name, name if len(fields) == 1 else fields)

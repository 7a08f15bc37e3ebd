"""Recorded rewards from a CSV file, plain or gzipped.

Columns are found by their names: `arm` and `value`, one row a reward; with `count`, one row for that many equal rewards;
with `instance`, several sets of arms in one file. `read_csv` gives arms from whose recorded rewards a pull draws with
replacement; `read_in_order` gives the rewards themselves, each to be counted once.
"""

import csv
import gzip
import io
import zlib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from math import isnan
from pathlib import Path
from typing import TypeVar

from surest.arms.finite import FiniteArms, finite_arms
from surest.errors import SourceError

COLUMNS = {"instance", "arm", "value", "count"}
T = TypeVar("T")
Row = tuple[str, str, float, float]
"""Instance, arm, value, count."""


def read_csv(path: str | Path, instance: str | None = None, bounds: tuple[float, float] = (0.0, 1.0)) -> FiniteArms:
    """The arms of one instance of a file; `instance` may be left out where there is only one.

    Arms keep the order in which the file first names them. Rewards within `bounds` are put on [0, 1].
    """
    return _chosen(read_instances(path, bounds), instance, path)


def _chosen(instances: dict[str, T], instance: str | None, path: str | Path) -> T:
    """One instance of a file."""
    if instance is None:
        if len(instances) > 1:
            some = ", ".join(list(instances)[:5])
            raise SourceError(
                f"{path} holds {len(instances)} instances ({some}, …); name one with --instance (instance=… in Python)"
            )
        return next(iter(instances.values()))
    if list(instances) == [""]:
        raise SourceError(f"{path} has no column 'instance': leave out --instance {instance!r}")
    if instance not in instances:
        near = get_close_matches(instance, instances, 3) or list(instances)[:5]
        raise SourceError(f"{path} has no instance {instance!r}; did you mean {', '.join(near)}?")
    return instances[instance]


def read_instances(path: str | Path, bounds: tuple[float, float] = (0.0, 1.0)) -> dict[str, FiniteArms]:
    """All instances of a file, by name (an empty name where the file has no such column)."""
    laws: dict[str, dict[str, tuple[list[float], list[float]]]] = defaultdict(dict)
    for name, arm, value, count in read_rows(Path(path), bounds):
        values, counts = laws[name].setdefault(arm, ([], []))
        values.append(value)
        counts.append(count)
    if not laws:
        raise SourceError(f"{path} holds no rewards; it needs a header and at least one row (arm,value)")
    return {name: finite_arms(list(arms.values()), list(arms)) for name, arms in laws.items()}


@dataclass(frozen=True)
class InOrder:
    """Recorded numbers, arm by arm, each arm's in the order in which they were recorded."""

    numbers: dict[str, list[float]]
    unfinished: tuple[str, ...]
    """Files whose last line had no end yet. It was left for later: its number may not be whole."""


def read_in_order(path: str | Path, instance: str | None = None) -> InOrder:
    """The numbers that a file holds, or those that the files of a folder hold, by the files' names. They may be growing."""
    instances: dict[str, dict[str, list[float]]] = {}
    unfinished = []
    for file in _files(Path(path)):
        raw = _raw(file)
        lines, end, rest = raw.rpartition(b"\n")
        if rest.strip():
            unfinished.append(str(file))
        text = _decoded(file, lines + end)
        for name, arm, value, count in _rows(file, text, bounds=None) if text.strip() else ():
            if count != 1:
                raise SourceError(
                    f"{file} has a count of {count:g}: where equal rewards are put together their order is lost. "
                    "Give one row for each reward, in the order in which they were recorded"
                )
            instances.setdefault(name, {}).setdefault(arm, []).append(value)
    if instance is None and len(instances) < 2:
        return InOrder(next(iter(instances.values()), {}), tuple(unfinished))
    return InOrder(_chosen(instances, instance, path), tuple(unfinished))


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    files = sorted(file for file in path.iterdir() if file.name.endswith((".csv", ".csv.gz")))
    if not files:
        raise SourceError(f"the folder {path} holds no file that ends in .csv or .csv.gz")
    return files


def read_rows(path: Path, bounds: tuple[float, float] = (0.0, 1.0)) -> Iterator[Row]:
    """The rows of a file, checked; a message about a bad one names its line."""
    return _rows(path, _decoded(path, _raw(path)), bounds)


def _rows(path: Path, text: str, bounds: tuple[float, float] | None) -> Iterator[Row]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        header = [name.strip().lower() for name in next(reader, [])]
        if not header:
            raise SourceError(f"{path} is empty; it needs a header such as arm,value and one row a reward")
        if not {"arm", "value"} <= set(header) <= COLUMNS or len(set(header)) < len(header):
            raise SourceError(
                f"{path}, line 1: columns {', '.join(header)}; a file needs arm,value and may have instance and count"
            )
        at = {name: header.index(name) for name in header}
        for fields in reader:
            if fields:
                yield _row(fields, at, f"{path}, line {reader.line_num}", bounds)
    except csv.Error as error:
        raise SourceError(f"{path}, line {reader.line_num}: {error}") from None


def _row(fields: list[str], at: dict[str, int], where: str, bounds: tuple[float, float] | None) -> Row:
    if len(fields) != len(at):
        raise SourceError(f"{where}: {len(fields)} fields where the header has {len(at)}")
    arm = fields[at["arm"]].strip()
    if not arm:
        raise SourceError(f"{where}: the arm has no name")
    value = _number(fields[at["value"]], "value", where)
    if bounds is not None:
        value = _on_unit(value, bounds, f"{where}: value {fields[at['value']]!r}")
    elif isnan(value):
        raise SourceError(f"{where}: value {fields[at['value']]!r} is not a number")
    count = _number(fields[at["count"]], "count", where) if "count" in at else 1.0
    if not 0 <= count < 2**53 or count != int(count):
        raise SourceError(f"{where}: count {fields[at['count']]!r} is not a whole number from 0 to 2^53")
    return (fields[at["instance"]].strip() if "instance" in at else "", arm, value, count)


def _on_unit(value: float, bounds: tuple[float, float], what: str) -> float:
    """A reward on [0, 1]."""
    low, high = bounds
    if not low <= value <= high:
        raise SourceError(
            f"{what} is not in [{low:g}, {high:g}]; rescale the rewards first, or give their range as bounds"
        )
    return (value - low) / (high - low)


def _number(text: str, what: str, where: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise SourceError(f"{where}: {what} {text!r} is not a number") from None


def _raw(path: Path) -> bytes:
    try:
        raw = path.read_bytes()
        return gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
    except FileNotFoundError:
        raise SourceError(f"{path}: no such file") from None
    except (OSError, EOFError, zlib.error) as error:
        raise SourceError(f"{path} cannot be read: {error}") from None


def _decoded(path: Path, raw: bytes) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SourceError(f"{path} is not UTF-8 text: {error}") from None


def has_counts(path: str | Path) -> bool:
    """Whether a file has a column of counts."""
    head = _decoded(Path(path), _raw(Path(path))).partition("\n")[0]
    return "count" in [name.strip().lower() for name in head.split(",")]

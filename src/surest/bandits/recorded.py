"""Recorded rewards from a CSV file, plain or gzipped.

Columns are found by their names: `arm` and `value`, one row a reward; with `count`, one row for that many equal rewards;
with `instance`, several sets of arms in one file. A pull draws from an arm's recorded rewards with replacement.
"""

import csv
import gzip
import io
import zlib
from collections import defaultdict
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path

from surest.bandits.finite import FiniteArms, finite_arms
from surest.errors import SourceError

COLUMNS = {"instance", "arm", "value", "count"}
Row = tuple[str, str, float, float]
"""Instance, arm, value, count."""


def read_csv(path: str | Path, instance: str | None = None, bounds: tuple[float, float] = (0.0, 1.0)) -> FiniteArms:
    """The arms of one instance of a file; `instance` may be left out where there is only one.

    Arms keep the order in which the file first names them. Rewards within `bounds` are put on [0, 1].
    """
    instances = read_instances(path, bounds)
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


def read_rows(path: Path, bounds: tuple[float, float] = (0.0, 1.0)) -> Iterator[Row]:
    """The rows of a file, checked; a message about a bad one names its line."""
    reader = csv.reader(io.StringIO(_text(path), newline=""), strict=True)
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


def _row(fields: list[str], at: dict[str, int], where: str, bounds: tuple[float, float]) -> Row:
    if len(fields) != len(at):
        raise SourceError(f"{where}: {len(fields)} fields where the header has {len(at)}")
    arm = fields[at["arm"]].strip()
    if not arm:
        raise SourceError(f"{where}: the arm has no name")
    value = _number(fields[at["value"]], "value", where)
    low, high = bounds
    if not low <= value <= high:
        raise SourceError(
            f"{where}: value {fields[at['value']]!r} is not in [{low:g}, {high:g}]; "
            "rescale the rewards first, or give their range as bounds"
        )
    value = (value - low) / (high - low)
    count = _number(fields[at["count"]], "count", where) if "count" in at else 1.0
    if not 0 <= count < 2**53 or count != int(count):
        raise SourceError(f"{where}: count {fields[at['count']]!r} is not a whole number from 0 to 2^53")
    return (fields[at["instance"]].strip() if "instance" in at else "", arm, value, count)


def _number(text: str, what: str, where: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise SourceError(f"{where}: {what} {text!r} is not a number") from None


def _text(path: Path) -> str:
    try:
        raw = path.read_bytes()
        if raw[:2] == b"\x1f\x8b":
            raw = gzip.decompress(raw)
        return raw.decode("utf-8-sig")
    except FileNotFoundError:
        raise SourceError(f"{path}: no such file") from None
    except (OSError, EOFError, zlib.error) as error:
        raise SourceError(f"{path} cannot be read: {error}") from None
    except UnicodeDecodeError as error:
        raise SourceError(f"{path} is not UTF-8 text: {error}") from None

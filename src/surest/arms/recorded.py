"""Recorded rewards from a CSV file, plain or gzipped.

Columns are found by their names: `arm` and `value`, one row per reward; with `count`, one row for that many equal rewards;
with `instance`, several sets of arms in one file. Other columns are ignored. `in_order` gives the rewards themselves,
as evidence, each to be counted once. `read_csv` gives a law: arms whose pulls draw from the recorded rewards with replacement.
"""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from surest.arms.files import Batch, Columns, Rows, codes
from surest.arms.finite import FiniteArms, finite_arms
from surest.core.protocol import FloatArray, IntArray
from surest.errors import SourceError

NEEDED, OPTIONAL = ("arm", "value"), ("instance", "count")
PAIRING = {
    "item", "question", "fold", "split", "id", "example", "sample", "case", "task", "problem", "prompt", "test", "doc",
    "document", "query", "block", "pair", "subject", "user", "input",
}  # fmt: skip
"""Names of columns that usually pair rows, as they are, in the plural or with _id: what several arms were tried on."""
ABOUT_ITEMS = (
    "the column '{}' was not used. If it names what several arms were tried on, this is a list of items, and they are to be "
    "compared item by item"
)
MERGED_FROM = 2**14
"""Rewards from which on equal ones are put together when a law is read."""
T = TypeVar("T")
Key = tuple[str, Any]
"""Instance and arm. The instance is empty where a file has no such column."""


def read_csv(
    path: str | Path,
    instance: str | None = None,
    bounds: tuple[float, float] = (0.0, 1.0),
    columns: Columns | None = None,
) -> FiniteArms:
    """The laws of the arms of a file, in its order: a pull draws from the recorded rewards, put on [0, 1], with replacement."""
    with Rows(path) as file:
        return chosen(laws_in(file, bounds, columns), instance, path)


def read_instances(path: str | Path) -> dict[str, FiniteArms]:
    """The laws of all instances of a file, by name (an empty name where the file has no such column)."""
    with Rows(path) as file:
        return laws_in(file)


def laws_in(
    file: Rows, bounds: tuple[float, float] = (0.0, 1.0), columns: Columns | None = None
) -> dict[str, FiniteArms]:
    """The laws of all instances of a file that is open."""
    keys, parts, size, most = dict[Key, int](), list[tuple[IntArray, FloatArray, FloatArray]](), 0, MERGED_FROM
    for batch in file.batches(NEEDED, OPTIONAL, columns):
        values = batch.numbers("value")
        scaled = _on_unit(batch, values, bounds)
        counts = batch.counts("count") if "count" in batch.columns else np.ones(len(values))
        parts.append((_places(batch, keys), scaled, counts))
        size += len(values)
        if size > most:
            parts = [_merged(parts)]
            size = len(parts[0][0])
            most = max(MERGED_FROM, 2 * size)
    if not keys:
        raise SourceError(f"{file.path} holds no rewards; it needs a header and at least one row (arm,value)")
    arms, values, counts = _merged(parts)
    ends = np.searchsorted(arms, np.arange(1, len(keys)))
    laws: dict[str, dict[str, tuple[FloatArray, FloatArray]]] = {}
    for (name, arm), support, weights in zip(keys, np.split(values, ends), np.split(counts, ends), strict=True):
        laws.setdefault(name, {})[arm] = support, weights
    return {name: finite_arms(list(of.values()), list(of)) for name, of in laws.items()}


def _merged(parts: Sequence[tuple[IntArray, FloatArray, FloatArray]]) -> tuple[IntArray, FloatArray, FloatArray]:
    """Rewards sorted by arm, with equal ones put together: many rewards often have few values."""
    arms, values, counts = (np.concatenate(part) for part in zip(*parts, strict=True))
    order = np.lexsort((values, arms))
    arms, values = arms[order], values[order]
    first = np.flatnonzero(np.append(True, (np.diff(arms) != 0) | (np.diff(values) != 0)))
    return arms[first], values[first], np.add.reduceat(counts[order], first)


def _places(batch: Batch, keys: dict[Key, int]) -> IntArray:
    """Of each row, which arm of which instance it is of."""
    arms, found = batch.labels("arm"), dict[Any, int]()
    if "instance" in batch.columns:
        places = codes(list(zip(map(str.strip, batch.columns["instance"]), arms, strict=True)), found)
    else:
        places, found = codes(arms, found), {("", arm): place for arm, place in found.items()}
    return np.array([keys.setdefault(key, len(keys)) for key in found])[places]


@dataclass(frozen=True)
class InOrder:
    """Recorded numbers, arm by arm, each arm's in the order in which they were recorded."""

    numbers: dict[Any, "array[float]"]
    """Python's arrays: eight bytes a number, plain floats when they are taken out."""
    unfinished: tuple[str, ...]
    """Files whose last line had no end yet. It was left for later: its number may not be whole."""
    column: str | None = None
    """A column that was not read and may name items which several arms were tried on."""


def in_order(
    files: Iterable[Rows], path: str | Path, instance: str | None = None, columns: Columns | None = None,
    within: tuple[float, float] | None = None,
) -> InOrder:  # fmt: skip
    """The numbers that open files hold, by arm: evidence, not a law. Each file is closed once it is read.

    Of files that grow, a last line without an end is left for later. Numbers that are not `within` a range are refused.
    """
    keys, parts, unfinished, others = dict[Key, int](), list[tuple[IntArray, FloatArray]](), list[str](), list[str]()
    for opened in files:
        with opened as file:
            others += file.names
            for batch in file.batches(NEEDED, () if file.frame is not None else OPTIONAL, columns):
                values = batch.numbers("value")
                batch.check(~np.isnan(values), "value", "is not a number")
                if within is not None:
                    _on_unit(batch, values, within)
                if "count" in batch.columns:
                    _refuse_counts(batch)
                parts.append((_places(batch, keys), values))
            if file.growing and file.unfinished:
                unfinished.append(str(file.path))
    instances: dict[str, dict[Any, array[float]]] = {}
    if parts:
        places, values = (np.concatenate(part) for part in zip(*parts, strict=True))
        in_turn = values[np.argsort(places, kind="stable")]
        for (name, arm), numbers in zip(keys, np.split(in_turn, np.cumsum(np.bincount(places))[:-1]), strict=True):
            instances.setdefault(name, {})[arm] = array("d", numbers.tobytes())
    numbers_of = chosen(instances, instance, path) if instances or instance is not None else {}
    return InOrder(numbers_of, tuple(unfinished), pairing(others, columns))


def _refuse_counts(batch: Batch) -> None:
    counts = batch.counts("count")
    if (counts != 1).any():
        row = int((counts != 1).argmax())
        raise SourceError(
            f"{batch.where(row)}: a count of {counts[row]:g}; where equal rewards are put together their order is "
            "lost. Give one row for each reward, in the order in which they were recorded"
        )


def open_files(path: Path, growing: bool) -> Iterator[Rows]:
    """A file, or those of a folder, one after the other."""
    files = [path]
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if file.name.endswith((".csv", ".csv.gz")))
        if not files:
            raise SourceError(f"the folder {path} holds no file that ends in .csv or .csv.gz")
    return (Rows(file, growing) for file in files)


def pairing(names: Iterable[str], columns: Columns | None = None) -> str | None:
    """The first of the columns that may name items, and that `columns` does not use otherwise."""
    read = {name.strip().lower() for name in (columns or {}).values()}
    others = (name for name in names if name.strip().lower() not in read)
    return next(
        (name for name in others if name.strip().lower().removesuffix("_id").removesuffix("s") in PAIRING), None
    )


def _on_unit(batch: Batch, values: FloatArray, bounds: tuple[float, float]) -> FloatArray:
    low, high = bounds
    allowed = f"is not in [{low:g}, {high:g}]; give the range of the rewards as bounds (--bounds LO,HI)"
    batch.check((low <= values) & (values <= high), "value", allowed)
    scaled: FloatArray = (values - low) / (high - low)
    return scaled


def chosen(instances: dict[str, T], instance: str | None, path: str | Path) -> T:
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

"""Recorded rewards from a CSV file, plain or gzipped.

Columns are found by their names: `arm` and `value`, one row per reward; with `count`, one row for that many equal rewards;
with `instance`, several sets of arms in one file. Other columns are ignored. `in_order` gives the rewards themselves,
as evidence, each to be counted once. `read_csv` gives a law: arms whose pulls draw from the recorded rewards with replacement.
"""

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from surest.arms.files import Batch, Columns, CsvFile, Frame
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
"""Rewards of an arm from which on equal ones are put together when a law is read."""
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
    with CsvFile(Path(path)) as file:
        return chosen(laws_in(file, bounds, columns), instance, path)


def read_instances(path: str | Path) -> dict[str, FiniteArms]:
    """The laws of all instances of a file, by name (an empty name where the file has no such column)."""
    with CsvFile(Path(path)) as file:
        return laws_in(file)


def laws_in(
    file: CsvFile, bounds: tuple[float, float] = (0.0, 1.0), columns: Columns | None = None
) -> dict[str, FiniteArms]:
    """The laws of all instances of a file that is open."""
    groups = _Groups()
    for batch in file.batches(NEEDED, OPTIONAL, columns):
        values = _on_unit(batch, batch.numbers("value"), bounds)
        groups.add(batch, values, batch.counts("count") if "count" in batch.columns else np.ones(len(values)))
    if not groups.keys:
        raise SourceError(f"{file.path} holds no rewards; it needs a header and at least one row (arm,value)")
    laws: dict[str, dict[str, tuple[FloatArray, FloatArray]]] = {}
    for (name, arm), support, weights in groups:
        laws.setdefault(name, {})[arm] = np.array(support), np.array(weights)
    return {name: finite_arms(list(arms.values()), list(arms)) for name, arms in laws.items()}


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
    files: Iterable[CsvFile], path: str | Path, instance: str | None = None, columns: Columns | None = None,
    within: tuple[float, float] | None = None,
) -> InOrder:  # fmt: skip
    """The numbers that open files hold, by arm: evidence, not a law. Each file is closed once it is read.

    Of files that grow, a last line without an end is left for later. Numbers that are not `within` a range are refused.
    """
    groups, unfinished, others = _Groups(), [], list[str]()
    for opened in files:
        with opened as file:
            others += file.names
            for batch in file.batches(NEEDED, () if isinstance(file, Frame) else OPTIONAL, columns):
                values = batch.numbers("value")
                if np.isnan(values).any():
                    row = int(np.isnan(values).argmax())
                    raise SourceError(f"{batch.where(row)}: value {batch.columns['value'][row]!r} is not a number")
                if within is not None:
                    _on_unit(batch, values, within)
                counts = batch.counts("count") if "count" in batch.columns else np.ones(1)
                if (counts != 1).any():
                    row = int((counts != 1).argmax())
                    raise SourceError(
                        f"{batch.where(row)}: a count of {counts[row]:g}; where equal rewards are put together their order is "
                        "lost. Give one row for each reward, in the order in which they were recorded"
                    )
                groups.add(batch, values, None)
            if file.growing and file.unfinished:
                unfinished.append(str(file.path))
    instances: dict[str, dict[Any, array[float]]] = {}
    for (name, arm), numbers, _ in groups:
        instances.setdefault(name, {})[arm] = numbers
    numbers_of = chosen(instances, instance, path) if instances or instance is not None else {}
    return InOrder(numbers_of, tuple(unfinished), pairing(others, columns))


def open_files(path: Path, growing: bool) -> Iterator[CsvFile]:
    """A file, or those of a folder, one after the other."""
    files = [path]
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if file.name.endswith((".csv", ".csv.gz")))
        if not files:
            raise SourceError(f"the folder {path} holds no file that ends in .csv or .csv.gz")
    return (CsvFile(file, growing) for file in files)


def pairing(names: Iterable[str], columns: Columns | None = None) -> str | None:
    """The first of the columns that may name items, and that `columns` does not use otherwise."""
    read = {name.strip().lower() for name in (columns or {}).values()}
    others = (name for name in names if name.strip().lower() not in read)
    return next(
        (name for name in others if name.strip().lower().removesuffix("_id").removesuffix("s") in PAIRING), None
    )


class _Groups:
    """Rewards by instance and arm: all of them in the order of the file, or each value once with its count."""

    def __init__(self) -> None:
        self.keys: dict[Key, int] = {}
        self._seen: dict[Any, int] = {}  # as they are written
        self._values: list[array[float]] = []
        self._counts: list[array[float]] = []
        self._most: list[int] = []

    def __iter__(self) -> Iterator[tuple[Key, "array[float]", "array[float]"]]:
        """Each instance and arm, its values and, if any were given, their counts."""
        for key, place in self.keys.items():
            yield key, self._values[place], self._counts[place]

    def add(self, batch: Batch, values: FloatArray, counts: FloatArray | None) -> None:
        """Append the rewards of a batch to those of their arms."""
        places = self._places(batch)
        small = places.astype(np.int16) if len(self.keys) < 2**15 else places  # which NumPy sorts ten times as fast
        order = np.argsort(small, kind="stable")
        present, first = np.unique(places[order], return_index=True)
        ends = [*first[1:].tolist(), len(order)]
        for place, begin, end in zip(present.tolist(), first.tolist(), ends, strict=True):
            self._values[place].frombytes(values[order[begin:end]].tobytes())
            if counts is not None:
                self._counts[place].frombytes(counts[order[begin:end]].tobytes())
                if len(self._values[place]) > self._most[place]:
                    self._merge(place)

    def _merge(self, place: int) -> None:
        """Put equal values together: many rewards often have few values."""
        values, where = np.unique(np.array(self._values[place]), return_inverse=True)
        self._values[place] = array("d", values.tobytes())
        self._counts[place] = array("d", np.bincount(where, np.array(self._counts[place])).tobytes())
        self._most[place] = max(MERGED_FROM, 2 * len(values))

    def _places(self, batch: Batch) -> IntArray:
        arms, names = batch.columns["arm"], batch.columns.get("instance")
        texts = list(arms) if names is None else list(zip(names, arms, strict=True))
        if set(texts) - self._seen.keys():
            for text, arm in zip(texts, batch.labels("arm"), strict=True):
                key = ("" if names is None else text[0].strip(), arm)
                self._seen[text] = self.keys.setdefault(key, len(self.keys))
        while len(self._values) < len(self.keys):
            self._values.append(array("d"))
            self._counts.append(array("d"))
            self._most.append(MERGED_FROM)
        return np.fromiter(map(self._seen.__getitem__, texts), np.int64, len(texts))


def _on_unit(batch: Batch, values: FloatArray, bounds: tuple[float, float]) -> FloatArray:
    low, high = bounds
    inside = (low <= values) & (values <= high)
    if not inside.all():
        row = int(inside.argmin())
        raise SourceError(
            f"{batch.where(row)}: value {batch.columns['value'][row]!r} is not in [{low:g}, {high:g}]; "
            "give the range of the rewards as bounds (--bounds LO,HI)"
        )
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

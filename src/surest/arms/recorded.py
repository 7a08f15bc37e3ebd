"""Recorded rewards from a CSV file, plain or gzipped, or a data frame.

Columns are found by their names: `arm` and `value`, one row per reward; in a file with `count`, one row for that many equal
rewards; with `instance`, several sets of arms in one file. Other columns are ignored. `records_in` gives the rewards themselves,
as evidence, each to be counted once. `laws_in` gives laws: arms whose pulls draw from the recorded rewards with replacement.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from surest.arms.files import Batch, Columns, Rows, codes
from surest.arms.finite import FiniteArms, finite_arms
from surest.core.protocol import FloatArray, IntArray
from surest.core.scale import Scale
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
MERGED_FROM = 2**14  # rewards from which on equal ones are put together when a law is read
UNIT = Scale()
T = TypeVar("T")
Key = tuple[str, Any]  # Instance and arm. The instance is empty where a file has no such column.
Part = tuple[IntArray, FloatArray, FloatArray]
"""Of some rows: the number of each one's key, its reward, and how often that came."""


@dataclass(frozen=True)
class Records:
    """Recorded rewards, in the user's units: each arm's in the order in which they were recorded."""

    labels: tuple[Any, ...]
    rewards: list[FloatArray]
    column: str | None = None  # a column that was not read and may name items which several arms were tried on
    unfinished: tuple[str, ...] = ()
    """Files whose last line had no end yet. It was left for later: its number may not be whole."""

    @property
    def by_label(self) -> dict[Any, FloatArray]:
        """Each arm's rewards."""
        return dict(zip(self.labels, self.rewards, strict=True))

    def since(self, before: "Records", source: str) -> "Records":
        """The same with the arms of an earlier record, in its order. Refuse what cannot have grown out of that."""
        strange = next((label for label in self.labels if label not in before.labels), None)
        if strange is not None:
            known = ", ".join(before.labels)
            raise SourceError(
                f"{source}: arm {strange!r} is not among the arms {known}; name every arm with --arm from the beginning"
            )
        rewards = [self.by_label.get(label, np.empty(0)) for label in before.labels]
        for label, was, now in zip(before.labels, before.rewards, rewards, strict=True):
            other = np.flatnonzero(was[: len(now)] != now[: len(was)])
            if len(other):
                k = int(other[0])
                what = f"reward {k + 1} of arm {label!r} was {was[k]:g}, and is {now[k]:g} now"
            elif len(now) < len(was):
                what = f"there were {len(was):,} rewards of arm {label!r}, and there are {len(now):,} now"
            else:
                continue
            raise SourceError(f"{source} has changed: {what}. Rows may only be added at its end; begin a new search")
        return replace(self, labels=before.labels, rewards=rewards)


def read_csv(path: str | Path, instance: str | None = None, columns: Columns | None = None) -> FiniteArms:
    """The laws of the arms of a file, in its order: a pull draws from the recorded rewards, with replacement."""
    with Rows(path) as file:
        return chosen(laws_in(file, columns=columns), instance, path)


def laws_in(file: Rows, scale: Scale = UNIT, columns: Columns | None = None) -> dict[str, FiniteArms]:
    """The laws of all instances of a file that is open, on [0, 1], by name; an empty one where it has no such column."""
    keys, parts, size, most = dict[Key, int](), list[Part](), 0, MERGED_FROM
    for part in _parts(file, keys, columns, scale):
        parts.append(part)
        size += len(part[0])
        if size > most:
            parts = [_merged(parts)]
            size = len(parts[0][0])
            most = max(MERGED_FROM, 2 * size)
    if not keys:
        raise SourceError(f"{file.path} holds no rewards; it needs a header and at least one row (arm,value)")
    arms, values, counts = _merged(parts)
    ends, scaled = np.searchsorted(arms, np.arange(1, len(keys))), (values - scale.low) / scale.width
    laws = _by_instance(keys, zip(np.split(scaled, ends), np.split(counts, ends), strict=True))
    return {name: finite_arms(list(of.values()), list(of)) for name, of in laws.items()}


def _merged(parts: Sequence[Part]) -> Part:
    """Rewards sorted by arm, with equal ones put together: many rewards often have few values."""
    arms, values, counts = (np.concatenate(part) for part in zip(*parts, strict=True))
    order = np.lexsort((values, arms))
    arms, values = arms[order], values[order]
    first = np.flatnonzero(np.append(True, (np.diff(arms) != 0) | (np.diff(values) != 0)))
    return arms[first], values[first], np.add.reduceat(counts[order], first)


def records_in(
    files: Iterable[Rows], path: str | Path, scale: Scale, instance: str | None = None, columns: Columns | None = None
) -> Records:
    """The rewards that open files hold, by arm: evidence, not a law. Each file is closed once it is read.

    Of files that grow, a last line without an end is left for later.
    """
    keys, parts, unfinished, others = dict[Key, int](), list[tuple[IntArray, FloatArray]](), list[str](), list[str]()
    for opened in files:
        with opened as file:
            others += file.names
            parts += [part[:2] for part in _parts(file, keys, columns, scale, ordered=True)]
            if file.growing and file.unfinished:
                unfinished.append(str(file.path))
    instances: dict[str, dict[Any, FloatArray]] = {}
    if parts:
        places, values = (np.concatenate(part) for part in zip(*parts, strict=True))
        ends = np.cumsum(np.bincount(places))[:-1]
        instances = _by_instance(keys, np.split(values[np.argsort(places, kind="stable")], ends))
    found = chosen(instances, instance, path) if instances or instance is not None else {}
    return Records(tuple(found), list(found.values()), pairing(others, columns), tuple(unfinished))


def _parts(
    file: Rows, keys: dict[Key, int], columns: Columns | None, scale: Scale, ordered: bool = False
) -> Iterator[Part]:
    """The rows of a file that is open, in parts. Where they are `ordered`, a row must be a single reward."""
    low, high = scale.low, scale.high
    allowed = f"is not in [{low:g}, {high:g}]; give the range of the rewards as bounds (--bounds LO,HI)"
    lost = "puts equal rewards together, and their order is lost; give one row for each, in the order of the record"
    for batch in file.batches(NEEDED, () if file.frame is not None else OPTIONAL, columns):
        values = batch.numbers("value")
        batch.check(~np.isnan(values), "value", "is not a number")
        if scale.clip:
            values = np.clip(values, low, high)
        batch.check((low <= values) & (values <= high), "value", allowed)
        counts = batch.counts("count") if "count" in batch.columns else np.ones(len(values))
        if ordered:
            batch.check(counts == 1, "count", lost)
        yield _places(batch, keys), values, counts


def _places(batch: Batch, keys: dict[Key, int]) -> IntArray:
    """Of each row, which arm of which instance it is of."""
    arms, found = batch.labels("arm"), dict[Any, int]()
    if "instance" in batch.columns:
        places = codes(list(zip(map(str.strip, batch.columns["instance"]), arms, strict=True)), found)
    else:
        places, found = codes(arms, found), {("", arm): place for arm, place in found.items()}
    return np.array([keys.setdefault(key, len(keys)) for key in found])[places]


def _by_instance(keys: Iterable[Key], each: Iterable[T]) -> dict[str, dict[Any, T]]:
    found: dict[str, dict[Any, T]] = {}
    for (name, arm), one in zip(keys, each, strict=True):
        found.setdefault(name, {})[arm] = one
    return found


def open_files(path: Path, growing: bool) -> Iterator[Rows]:
    """The files of a folder, one after the other."""
    files = sorted(file for file in path.iterdir() if file.name.endswith((".csv", ".csv.gz")))
    if not files:
        raise SourceError(f"the folder {path} holds no file that ends in .csv or .csv.gz")
    return (Rows(file, growing) for file in files)


def pairing(names: Iterable[str], columns: Columns | None = None) -> str | None:
    """The first of the columns that may name items, and that `columns` does not use otherwise."""
    read = {name.strip().lower() for name in (columns or {}).values()}
    for name in names:
        lowered = name.strip().lower()
        if lowered not in read and lowered.removesuffix("_id").removesuffix("s") in PAIRING:
            return name
    return None


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

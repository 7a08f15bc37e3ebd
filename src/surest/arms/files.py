"""CSV files as batches of columns: read in a stream, plain or gzipped, in bounded memory.

A file is never held as a whole: it may be larger than the memory, and a small gzipped file may hide a huge one.
"""

import csv
import gzip
import io
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import accumulate, chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from surest.arms.decimals import Letters, Words, short_decimals, short_texts
from surest.core.protocol import FloatArray, IntArray
from surest.errors import SourceError

if TYPE_CHECKING:
    from _csv import Reader

LONGEST_LINE = 2**20
"""Bytes of a line. A line of a table has a few dozen; what is longer is not a table."""
CHUNK = 2**18
"""Bytes read at a time."""
ROWS = 2**14
"""Rows of a batch: enough to spread the cost of a batch, few enough to stay in the processor's cache."""

COMMA, LINE_END = ord(","), ord("\n")
Columns = Mapping[str, str]
"""What this project calls a column, and what a file calls it."""


@dataclass(frozen=True)
class Fields:
    """Lines of plain fields: their letters, and where each field ends, a row a line."""

    letters: Letters
    ends: IntArray

    def at(self, place: int) -> tuple[Letters, IntArray, IntArray]:
        """The letters, and where the fields of a column begin and end."""
        before = self.ends[:, place - 1] if place else np.append(-1, self.ends[:-1, -1])
        return self.letters, before + 1, self.ends[:, place]


class Texts(Mapping[str, Sequence[str]]):
    """The columns of plain fields as texts, which are made when one is asked for: numbers and few names can do without."""

    def __init__(self, fields: Fields, places: Mapping[str, int]) -> None:
        self._fields, self._places = fields, places
        self._texts: list[str] | None = None

    def __getitem__(self, name: str) -> list[str]:
        place = self._places[name]
        if self._texts is None:
            self._texts = self._fields.letters.tobytes().decode().replace("\n", ",").split(",")
        return self._texts[place :: self._fields.ends.shape[1]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


@dataclass(frozen=True)
class Batch:
    """Some consecutive rows of a file."""

    path: Path
    columns: Mapping[str, Sequence[str]]
    """The wanted columns by our names for them: the same number of texts each."""
    above: int
    """Lines of the file before the first row."""
    records: list[list[str]] | None = None
    """The records with blank lines among them; None where each line is a row."""
    fields: "Fields | None" = None
    """Where the fields are, if each line is a row."""
    places: dict[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()))) if self.fields is None else len(self.fields.ends)

    def lines(self) -> Sequence[int]:
        """The number of each row's last line in the file: quoted fields may hold line breaks."""
        if self.records is None:
            return range(self.above + 1, self.above + 1 + len(self))
        ends = accumulate((1 + sum(map(_line_breaks, record)) for record in self.records), initial=self.above)
        return [end for end, record in zip(islice(ends, 1, None), self.records, strict=True) if record]

    def where(self, row: int) -> str:
        """The place of a row, for messages."""
        return f"{self.path}, line {self.lines()[row]}"

    def words(self, name: str) -> Words | None:
        """A column's texts as numbers, equal where the texts are; None where they cannot be had quickly."""
        return None if self.fields is None else short_texts(*self.fields.at(self.places[name]))

    def numbers(self, name: str) -> FloatArray:
        """A column as numbers."""
        if self.fields is not None:
            quick = short_decimals(*self.fields.at(self.places[name]))
            if quick is not None:
                return quick
        column = self.columns[name]
        try:
            return np.fromiter(map(float, column), float, len(column))
        except ValueError:
            row = next(i for i, text in enumerate(column) if not _is_number(text))
            raise SourceError(f"{self.where(row)}: {name} {column[row]!r} is not a number") from None


class CsvFile:
    """A CSV file with a header.

    Parameters
    ----------
    path : Path
        The file; gzipped or not, its content tells.
    needed, optional : tuple of str
        Our names of the columns that must be there, and of those that may be.
    columns : mapping, optional
        What the file calls them, where it calls them otherwise: ``{"arm": "model", "value": "score"}``.
    growing : bool
        Leave a last line without an end for later: another program may be writing it.
    """

    def __init__(
        self,
        path: Path,
        needed: tuple[str, ...],
        optional: tuple[str, ...] = (),
        columns: Columns | None = None,
        growing: bool = False,
    ) -> None:
        self.path, self.needed, self.optional, self.growing = path, needed, optional, growing
        self.mapping = _checked_mapping(columns, needed + optional)
        self.unfinished = False
        """Whether the last line had no end, once all is read."""

    def header(self) -> dict[str, int]:
        """Our names of the columns that the file has, and where they are."""
        with _opened(self.path) as file:
            return self._header(io.StringIO(next(self._blocks(file), ""), newline=""))[0]

    def names(self) -> list[str]:
        """The names of all columns, as they are compared: in small letters."""
        with _opened(self.path) as file:
            first = io.StringIO(next(self._blocks(file), ""), newline="")
            return self._names(csv.reader(iter(first.readline, ""), strict=True))

    def batches(self) -> Iterator[Batch]:
        """The rows; a message about a bad one names its line."""
        with _opened(self.path) as file:
            blocks = self._blocks(file)
            first = io.StringIO(next(blocks, ""), newline="")
            at, width, above = self._header(first)
            block: str | None = first.read()
            while at and block is not None:
                fields = _plain_fields(block, width)
                if fields is not None:
                    yield Batch(self.path, Texts(fields, at), above, None, fields, at)
                elif _is_closed(block):
                    yield from self._parsed(csv.reader(io.StringIO(block, newline=""), strict=True), at, width, above)
                else:  # a quoted field may go on in the next block: parse all that is left as one
                    left = chain.from_iterable(io.StringIO(b, newline="") for b in chain([block], blocks))
                    yield from self._parsed(csv.reader(left, strict=True), at, width, above)
                above += _line_breaks(block)
                block = next(blocks, None)

    def _parsed(self, reader: "Reader", at: dict[str, int], width: int, start: int) -> Iterator[Batch]:
        while True:
            above, records, error = start + reader.line_num, list[list[str]](), None
            try:
                records.extend(islice(reader, ROWS))
            except csv.Error as found:  # the records before it come first: one of them may be wrong too
                error = SourceError(f"{self.path}, line {start + reader.line_num}: {found}")
            yield from self._batch(records, at, width, above)
            if error is not None:
                raise error from None
            if not records:
                return

    def _header(self, text: io.StringIO) -> tuple[dict[str, int], int, int]:
        """Our columns and their places, the number of fields, and the number of lines up to here. Leaves the rest in `text`."""
        reader = csv.reader(iter(text.readline, ""), strict=True)
        names = self._names(reader)
        if not names:
            return {}, 0, 0
        ours = {self.mapping.get(name, name).strip().lower(): name for name in self.needed + self.optional}
        missing = [name for name in ours if ours[name] in self.needed and name not in names]
        twice = next((name for name in names if names.count(name) > 1), None)
        if missing or twice is not None:
            problem = f"{twice!r} is there twice" if twice is not None else f"{missing[0]!r} is missing"
            raise SourceError(f"{self.path}, line 1: columns {', '.join(names)}; {problem}. {self._wanted(names)}")
        if not self.mapping:
            self._refuse_near_misses(names)
        at = {ours[name]: place for place, name in enumerate(names) if name in ours}
        return at, len(names), reader.line_num

    def _names(self, reader: "Reader") -> list[str]:
        try:
            names = [name.strip().lower() for name in next(filter(None, reader), [])]
        except csv.Error as error:
            raise SourceError(f"{self.path}, line {reader.line_num}: {error}") from None
        if not names and not self.growing:
            wanted = f" such as {','.join(self.needed)}" if self.needed else ""
            raise SourceError(f"{self.path} is empty; it needs a header{wanted} and rows below it")
        return names

    def _wanted(self, names: list[str]) -> str:
        if len(names) == 1 and (sign := next((sign for sign in ";\t|" if sign in names[0]), None)):
            return f"Columns are separated by commas here, and not by {sign!r}; save the file with commas"
        may = f" and may have {' and '.join(self.optional)}" if self.optional else ""
        told = ", ".join(f"{name!r}: …" for name in self.needed)
        return (
            f"Here a file needs {','.join(self.needed)}{may}; other names can be given as columns={{{told}}}, "
            f"on the command line {' '.join(f'--{name}-column …' for name in self.needed)}" + self._elsewhere(names)
        )

    def _elsewhere(self, names: list[str]) -> str:
        """What else such a file may have been meant for."""
        if self.needed == ("arm", "value"):
            return ". Totals need arm,successes,trials, or clicks and impressions, or conversions and visitors"
        if self.needed == ("arm", "item", "value") and {"arm", "value"} <= set(names):
            return ". Rewards without items are for surest identify"
        return ""

    def _refuse_near_misses(self, names: list[str]) -> None:
        """A column that is not ours is ignored, but not one whose name looks like a slip: ``counts`` for ``count``."""
        for name in names:
            near = get_close_matches(name, self.optional, 1, cutoff=0.85)
            if near and near[0] not in names:
                ours = ", ".join(f"{needed!r}: {needed!r}" for needed in self.needed)
                options = " ".join(f"--{needed}-column {needed}" for needed in self.needed)
                raise SourceError(
                    f"{self.path}, line 1: is column {name!r} meant to be {near[0]!r}? If it is, rename it, or give "
                    f"columns={{{near[0]!r}: {name!r}}}. If not, name the columns that count, and it is ignored: "
                    f"columns={{{ours}}}, on the command line {options}"
                )

    def _batch(self, records: list[list[str]], at: dict[str, int], width: int, above: int) -> Iterator[Batch]:
        rows = records if all(records) else [record for record in records if record]
        if set(map(len, rows)) - {width}:
            wrong = next(i for i, record in enumerate(records) if record and len(record) != width)
            yield from self._batch(records[:wrong], at, width, above)
            place = Batch(self.path, {}, above, records[: wrong + 1])
            raise SourceError(
                f"{self.path}, line {place.lines()[-1]}: {len(records[wrong])} fields where the header has {width}"
            )
        if rows:
            columns = list(zip(*rows, strict=True))
            yield Batch(self.path, {name: columns[place] for name, place in at.items()}, above, records)

    def _blocks(self, file: BinaryIO) -> Iterator[str]:
        """The text in pieces that end where a line ends."""
        encoding, line = "utf-8-sig", 1
        for block in self._whole_lines(file):
            try:
                yield block.decode(encoding)
            except UnicodeDecodeError as error:
                line += block[: error.start].count(b"\n")
                raise SourceError(
                    f"{self.path}, line {line}: not UTF-8 text ({error.reason}); save the file as UTF-8"
                ) from None
            encoding, line = "utf-8", line + block.count(b"\n")

    def _whole_lines(self, file: BinaryIO) -> Iterator[bytes]:
        rest, line = b"", 1
        while piece := _read(file, self.path):
            whole, end, rest = (rest + piece).rpartition(b"\n")
            line += whole.count(b"\n") + len(end)
            if end:
                yield whole + end
            if len(rest) > LONGEST_LINE:
                raise SourceError(
                    f"{self.path}, line {line}: more than {LONGEST_LINE:,} bytes, the most that a line may have. "
                    "Is it a table with one row a line?"
                )
        self.unfinished = bool(rest.strip())
        if rest and not self.growing:
            yield rest


def text_lines(path: Path) -> Iterator[str]:
    """The lines of a text file with their ends, gzipped or not; a line has the same limit as in a CSV file."""
    with _opened(path) as file:
        for block in CsvFile(path, ())._blocks(file):
            yield from io.StringIO(block, newline="")


def _plain_fields(text: str, width: int) -> Fields | None:
    """The fields of lines that all have `width` of them; None if there is a quote, a blank line or another number.

    >>> _plain_fields("a,1\\nb,2\\n", 2).ends.tolist()
    [[1, 3], [5, 7]]
    >>> _plain_fields("a,1\\n\\n", 2), _plain_fields("a\\nb,1,2\\n", 2), _plain_fields('a,"1"\\n', 2)
    (None, None, None)
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    text = text.removesuffix("\n")
    if '"' in text or "\r" in text or not text:
        return None
    letters = np.frombuffer(text.encode(), np.uint8)
    marks = np.flatnonzero((letters == LINE_END) | (letters == COMMA))
    if len(marks) % width != width - 1:
        return None
    ends = np.append(marks, len(letters)).reshape(-1, width)
    if (letters[ends[:, :-1]] != COMMA).any() or (letters[ends[:-1, -1]] != LINE_END).any():
        return None
    blank = width == 1 and (np.diff(ends[:, 0], prepend=-1) == 1).any()
    return None if blank else Fields(letters, ends)


def _is_closed(text: str) -> bool:
    """Whether no quoted field goes on beyond the text."""
    try:
        return all(True for _ in csv.reader(io.StringIO(text, newline=""), strict=True))
    except csv.Error:
        return False


def _checked_mapping(columns: Columns | None, names: tuple[str, ...]) -> dict[str, str]:
    given = dict(columns or {})
    for name, theirs in given.items():
        if name not in names:
            raise SourceError(f"columns={given!r}: {name!r} is not one of {', '.join(names)}")
        if not isinstance(theirs, str) or not theirs.strip():
            raise SourceError(f"columns={given!r}: the name of the column for {name!r} must be a text")
    named = [given.get(name, name).strip().lower() for name in names]
    twice = next((name for name in given if named.count(given[name].strip().lower()) > 1), None)
    if twice is not None:
        raise SourceError(f"columns={given!r}: column {given[twice]!r} cannot be two things at once")
    return given


def _opened(path: Path) -> BinaryIO:
    try:
        file = path.open("rb")
        try:
            packed = file.peek(2)[:2] == b"\x1f\x8b"  # what cannot be read at all, a folder say, fails here
        except BaseException:
            file.close()
            raise
    except FileNotFoundError:
        raise SourceError(f"{path}: no such file") from None
    except OSError as error:
        raise SourceError(f"{path} cannot be read: {error}") from None
    return _Unpacked(file) if packed else file  # type: ignore[return-value]


class _Unpacked(gzip.GzipFile):
    """A gzipped file that closes what it reads from."""

    def __init__(self, file: BinaryIO) -> None:
        self._packed = file
        super().__init__(fileobj=file, mode="rb")

    def close(self) -> None:
        """Close both."""
        super().close()
        self._packed.close()


def _read(file: BinaryIO, path: Path) -> bytes:
    try:
        return file.read(CHUNK)
    except (OSError, EOFError, zlib.error) as error:
        raise SourceError(f"{path} cannot be read: {error}") from None


def _line_breaks(text: str) -> int:
    return text.count("\n") + text.count("\r") - text.count("\r\n")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True

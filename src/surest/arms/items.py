"""Lists of items to evaluate arms on, from a file: lines of text, lines of JSON, or a CSV table."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from surest.arms.files import CsvFile, text_lines
from surest.errors import SourceError

KEYS = ("item", "key", "id")
"""Fields and columns that name an item, the first that is there."""


class Item(NamedTuple):
    """An item of a list."""

    key: str
    """What tells it from the others, in logs and tables."""
    value: Any
    """What an arm is evaluated on: a text, or what a line of JSON or a row of a table holds."""


def read_items(path: str | Path, key: str | None = None, *, growing: bool = False) -> list[Item]:
    """The items of a file, by its suffix: .csv or .csv.gz, .jsonl or .ndjson, or otherwise text with an item a line.

    Parameters
    ----------
    path : str or Path
        The file, gzipped or not. Blank lines are left out.
    key : str, optional
        The field or column that names an item; otherwise `item`, `key` or `id`, whichever is there first. An item of JSON
        without any is named by its JSON, a line of text by itself.
    growing : bool
        Leave a last line of JSON without an end for later, and allow that there are no items yet: another program may be
        writing them.

    Returns
    -------
    list of Item
        In the order of the file. No two have the same key.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
    ...     _ = file.write('{"id": "q1", "text": "2 + 2?"}\\n{"id": "q2", "text": "3 + 3?"}\\n')
    ...     file.flush()
    ...     read_items(file.name)[1]
    Item(key='q2', value={'id': 'q2', 'text': '3 + 3?'})
    """
    place = Path(path)
    name = place.name.lower().removesuffix(".gz")
    if name.endswith(".csv"):
        return _distinct(_of_rows(place, key), place)
    if name.endswith((".jsonl", ".ndjson")):
        return _distinct(_of_json(place, key, growing), place, growing)
    if key is not None:
        raise SourceError(f"{place}: key={key!r} goes with .csv and .jsonl; an item of a text file is a line")
    return _distinct(((line, Item(text, text)) for line, text in _texts(place)), place)


def _texts(path: Path, growing: bool = False) -> Iterator[tuple[int, str]]:
    """The lines that are not blank, without their ends, and their numbers."""
    for number, line in enumerate(text_lines(path), 1):
        text = line.rstrip("\r\n")
        if text.strip() and not (growing and text == line):
            yield number, text


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
            raise SourceError(f"{where}: the field {named!r} must hold a text or a number that names the item")
        else:
            yield number, Item(value[named] if isinstance(value[named], str) else json.dumps(value[named]), value)


def _of_rows(path: Path, key: str | None) -> Iterator[tuple[int, Item]]:
    with CsvFile(path) as file:
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
            for number, row in zip(batch.lines(), zip(*batch.columns.values(), strict=True), strict=True):
                fields = dict(zip(batch.columns, row, strict=True))
                name = fields[str(found)].strip()
                if not name:
                    raise SourceError(f"{path}, line {number}: the item has no name in column {found!r}")
                yield number, Item(name, name if len(fields) == 1 else fields)


def _distinct(items: Iterable[tuple[int, Item]], path: Path, growing: bool = False) -> list[Item]:
    lines: dict[str, int] = {}
    kept = []
    for line, item in items:
        first = lines.setdefault(item.key, line)
        if first != line:
            raise SourceError(f"{path}, line {line}: item {item.key!r} is in line {first} already; an item counts once")
        kept.append(item)
    if not kept and not growing:
        raise SourceError(f"{path} holds no items")
    return kept

"""Files that are written for people: a bad place is refused before any work is done, and what goes wrong is said in a line."""

import csv
import io
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from surest.errors import UsageError

SUFFIXES = {"report": (".html", ".md", ".json"), "picture": (".png", ".svg", ".pdf")}
"""How the names of files end whose form that says."""


def check_place(path: Any, what: str = "file") -> None:
    """Refuse a path that cannot be written, and one whose suffix does not say which form it is to have."""
    if what in SUFFIXES and Path(path).suffix.lower() not in SUFFIXES[what]:
        *first, last = SUFFIXES[what]
        raise UsageError(f"{path}: a {what}'s name ends in {', '.join(first)} or {last}")
    if not Path(path).resolve().parent.is_dir():
        raise UsageError(f"{path}: there is no folder {Path(path).parent} to write the {what} to")


@contextmanager
def written(path: Any) -> Iterator[Path]:
    """Write a file inside; what the system says against it is a `UsageError`."""
    try:
        yield Path(path)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}") from None


def as_csv(rows: Iterable[Iterable[object]]) -> str:
    """Rows as CSV."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()

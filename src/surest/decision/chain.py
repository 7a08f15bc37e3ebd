"""The lines of a decision file: JSON objects, each with the hash of the line before. docs/verify.md says what they hold."""

import gzip
import hashlib
import json
from os import PathLike
from pathlib import Path
from typing import Any

from surest.core.problem import Problem
from surest.errors import UsageError

VERSION = 1


class Chain:
    """Collects the lines of a decision.

    >>> chain = Chain()
    >>> chain.add("surest decision", version=1)
    1
    >>> chain.add("rewards", arms=[0], values=[[0.5]], times=[])
    2
    >>> chain.end()[:8]
    'c4297f0d'
    """

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.hash = ""
        """The hash of the latest line."""
        self.known_by = ""
        """The hash of the whole decision, once it has ended."""

    def add(self, kind: str, **fields: Any) -> int:
        """Add a line; its number, from 1."""
        link = {"prev": self.hash} if self.lines else {}
        line = {**link, "kind": kind, **fields}
        text = json.dumps(line, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        self.lines.append(text.encode(errors="replace") + b"\n")
        self.hash = hashlib.sha256(self.lines[-1]).hexdigest()
        return len(self.lines)

    def end(self) -> str:
        """Add the last line; the hash of all lines before it, by which a decision is known."""
        self.known_by = self.hash
        self.add("end")
        return self.known_by

    def write(self, path: str | PathLike[str]) -> str:
        """Write the lines to a file, compressed if its name ends with .gz; the hash by which the decision is known."""
        data = b"".join(self.lines)
        if str(path).endswith(".gz"):
            data = gzip.compress(data, mtime=0)
        try:
            Path(path).write_bytes(data)
        except OSError as error:
            raise UsageError(f"the decision cannot be written to {path}: {error.strerror}") from None
        return self.known_by


def check_apart(names: list[str], what: str) -> None:
    """Refuse names that are written alike.

    >>> check_apart(["1", "1"], "items")
    Traceback (most recent call last):
    surest.errors.UsageError: two items have the same name in the file, so the decision would be ambiguous; rename one
    """
    if len({name.encode(errors="replace") for name in names}) < len(names):
        raise UsageError(f"two {what} have the same name in the file, so the decision would be ambiguous; rename one")


def header_of(problem: Problem, labels: list[str], **more: Any) -> dict[str, Any]:
    """What every decision states in its first line, and `more`. `labels` are those of the arms that were there at the start."""
    same = ("delta", "epsilon", "bounds", "minimise")
    asked = {"algorithm": problem.algorithm, "labels": labels, **{name: getattr(problem, name) for name in same}}
    return {"version": VERSION, **asked, "seed": str(problem.seed), "note": problem.note, **more}

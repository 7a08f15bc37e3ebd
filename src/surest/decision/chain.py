"""The lines of a decision file: JSON objects, each with the hash of the line before. docs/verify.md says what they hold."""

import gzip
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from surest.errors import UsageError

VERSION = 1


class Chain:
    """Collects the lines of a decision.

    >>> chain = Chain()
    >>> chain.add("surest decision", version=1)
    1
    >>> chain.add("rewards", arms=[0], values=[[0.5]])
    2
    >>> chain.end()[:8]
    'b2003a26'
    >>> [len(line) for line in chain.lines]
    [39, 132, 75]
    """

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.hash = ""
        """The hash of the latest line."""

    def add(self, kind: str, **fields: Any) -> int:
        """Add a line; its number, from 1."""
        link = {"prev": self.hash} if self.lines else {}
        return self._add({**link, "kind": kind, **fields})

    def end(self) -> str:
        """Add the last line; the hash of all lines before it, by which a decision is known."""
        whole = self.hash
        self._add({"end": whole})
        return whole

    def _add(self, line: Mapping[str, Any]) -> int:
        text = json.dumps(line, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        self.lines.append(text.encode())
        self.hash = hashlib.sha256(self.lines[-1]).hexdigest()
        return len(self.lines)

    def write(self, path: str | Path) -> None:
        """Write the lines to a file, compressed if its name ends with .gz: the same lines give the same bytes."""
        data = b"".join(line + b"\n" for line in self.lines)
        if str(path).endswith(".gz"):
            data = gzip.compress(data, mtime=0)
        try:
            Path(path).write_bytes(data)
        except OSError as error:
            raise UsageError(f"the decision cannot be written to {path}: {error.strerror}") from None

"""``--decision FILE``: a verdict written with all that it rests on, so that somebody else can check it."""

from pathlib import Path
from typing import Any

from surest.errors import UsageError
from surest.text import shell_line


def check_decision(path: str | None, algorithm: Any = None) -> None:
    """Refuse, before any work is done, a file that cannot be written, and an algorithm whose decisions nobody can check."""
    if path is None:
        return
    if not Path(path).resolve().parent.is_dir():
        raise UsageError(f"there is no folder {Path(path).parent} to write {path} to")
    if algorithm is not None:
        from surest.decision.write import check_algorithm

        check_algorithm(algorithm)


def write_decision(result: Any, path: str | None) -> dict[str, str] | None:
    """Write the decision that was asked for: where it is, the hash by which it is known, and the command that checks it."""
    if path is None:
        return None
    known_by = result.write_decision(path)
    return {"file": path, "hash": known_by, "check": shell_line(["surest-verify", path, "--hash", known_by])}

"""The lines of a decision file: JSON objects, each with the hash of the line before (docs/verify.md)."""

import gzip
import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from os import PathLike
from typing import Any

from surest.core.problem import Problem
from surest.core.protocol import Pull
from surest.errors import UsageError
from surest.result.data import EvaluationEvent
from surest.writing import written
from surest_verify import sentence


class Chain:
    """Collects the lines of a decision."""

    def __init__(self, header: dict[str, Any] | None = None) -> None:
        self.header, self.lines = header or {}, list[bytes]()
        self.hash = ""  # the hash of the latest line
        self.known_by = ""  # the hash of the decision, once it has ended
        if header is not None:
            self.add("surest decision", **header)

    def add(self, kind: str, **fields: Any) -> int:
        """Add a line; its number, from 1."""
        link = {"prev": self.hash} if self.lines else {}
        line = {**link, "kind": kind, **fields}
        text = json.dumps(line, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        self.lines.append(text.encode(errors="replace") + b"\n")
        self.hash = hashlib.sha256(self.lines[-1]).hexdigest()
        return len(self.lines)

    def add_events(self, events: Counter[tuple[str, int]]) -> Counter[str]:
        """Add a line for each kind of event and arm; how often each kind came."""
        found = Counter[str]()
        for (what, arm), times in sorted(events.items()):
            self.add("event", what=what, arm=arm, times=times)
            found[what] += times
        return found

    def conclude(self, **fields: Any) -> "Chain":
        """Add the conclusion, with the claim in words, and end."""
        self.add("conclusion", words=sentence(self.header, fields["claim"]), **fields)
        return self.end()

    def end(self) -> "Chain":
        """Add the last line; the hash of the line before it is that of the decision."""
        self.known_by = self.hash
        self.add("end")
        return self

    def write(self, path: str | PathLike[str]) -> str:
        """Write the lines to a file, compressed if its name ends with .gz, and return the hash of the decision."""
        data = b"".join(self.lines)
        if str(path).endswith(".gz"):
            data = gzip.compress(data, mtime=0)
        with written(path) as place:
            place.write_bytes(data)
        return self.known_by


class Events:
    """What happened to evaluations, such as imputed or retried: it stands right before the rewards that it belongs to."""

    def __init__(self, events: Iterable[EvaluationEvent]) -> None:
        self.pending, self.counted, self.total = list(events), Counter[int](), Counter[str]()

    def write(self, chain: Chain, request: Pull) -> None:
        """Write the events among the rewards of a request."""
        self.counted.update(dict(zip(request.arms.tolist(), request.times.tolist(), strict=True)))
        due = Counter((what, arm) for what, earlier, arm, _ in self.pending if earlier < self.counted[arm])
        self.pending = [event for event in self.pending if event[1] >= self.counted[event[2]]]
        self.total += chain.add_events(due)


def checked_names(labels: Sequence[Any], what: str) -> list[str]:
    """Labels as text; refused if two are the same."""
    names = [str(label) for label in labels]
    if len({name.encode(errors="replace") for name in names}) < len(names):
        raise UsageError(f"two {what} have the same name in the file, so the decision would be ambiguous; rename one")
    return names


def header_of(problem: Problem, labels: list[str], **more: Any) -> dict[str, Any]:
    """The fields of the first line, and `more`; `labels` are those of the arms at the start."""
    own = {name: getattr(problem, name) for name in ("delta", "epsilon", "bounds", "minimise")}
    return first_line(problem.algorithm, labels, **own, seed=str(problem.seed), note=problem.note, **more)


def first_line(algorithm: Any, labels: list[str], **asked: Any) -> dict[str, Any]:
    """The fields of a first line."""
    return {"version": 1, "algorithm": algorithm, "labels": labels, **asked}

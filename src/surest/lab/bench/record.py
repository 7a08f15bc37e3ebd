"""Finished replications in a file of JSON lines, from which an interrupted benchmark resumes."""

import json
import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from hashlib import blake2b
from pathlib import Path
from typing import IO, Any

from surest.errors import UsageError
from surest.lab.bench.run import Case, Replication, replications

Done = dict[Case, list[Replication]]
Notice = Callable[[Case, int], None]  # told of a case and how many of its runs have just been finished


def name_of(cases: Sequence[Case], seed: int) -> str:
    """A file name for these cases: the same arguments find the same file."""
    text = json.dumps([seed, sorted(map(repr, (case.key for case in cases)))])
    return f"surest-bench-{blake2b(text.encode(), digest_size=4).hexdigest()}.jsonl"


def benchmark(
    cases: Sequence[Case], runs: int | Callable[[Case], int], *, seed: int = 0, workers: int | str = 1,
    output: Path | None = None, resume: bool = False, notice: Notice | None = None,
) -> Done:  # fmt: skip
    """So many runs of every case, in their order, the same for a seed whatever the workers.

    `workers` is a number of processes, or the address of a Dask scheduler. Finished replications are appended to the file
    `output`; with `resume`, what it already has is taken from there, otherwise it is renamed to ``.bak`` and begun anew.
    """
    count = runs if callable(runs) else lambda case: runs
    with _log(output, resume) as (log, old):
        done: Done = {}
        for case in cases:
            kept = old.get((seed, *case.key), {})
            done[case] = [kept[run] for run in range(count(case)) if run in kept]
            if notice is not None and done[case]:
                notice(case, len(done[case]))
        missing = [(c, sorted(set(range(count(c))) - {r.run for r in done[c]})) for c in cases]
        for case, fresh in replications([w for w in missing if w[1]], seed=seed, workers=workers):
            done[case] += fresh
            if log is not None:
                for replication in fresh:
                    log.write(json.dumps({"case": [seed, *case.key], **asdict(replication)}) + "\n")
                log.flush()
            if notice is not None:
                notice(case, len(fresh))
    return {case: sorted(found, key=lambda r: r.run) for case, found in done.items()}


Old = dict[tuple[Any, ...], dict[int, Replication]]


@contextmanager
def _log(path: Path | None, resume: bool) -> Iterator[tuple[IO[str] | None, Old]]:
    """The file opened for appending, and what is in it."""
    if path is None:
        yield None, {}
        return
    try:
        if path.exists() and not resume:
            os.replace(path, path.with_name(path.name + ".bak"))
        old = _read(path) if path.exists() else {}
        file = path.open("a", encoding="utf-8")
    except OSError as error:
        raise UsageError(
            f"finished runs cannot be kept in {path}: {error.strerror}; choose another file with --output"
        ) from None
    with file:
        yield file, old


def _read(path: Path) -> Old:
    """What a file holds. A last line that was cut short by a crash is taken off."""
    old: Old = defaultdict(dict)
    text = path.read_bytes()
    whole = text.rfind(b"\n") + 1
    for number, line in enumerate(text[:whole].splitlines(), 1):
        try:
            fields = json.loads(line)
            case = tuple(fields.pop("case"))
            per_arm = fields.pop("per_arm")
            old[case][fields["run"]] = Replication(per_arm=None if per_arm is None else tuple(per_arm), **fields)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise UsageError(
                f"{path}, line {number}: not a finished replication; this is not a file of 'surest bench'"
            ) from None
    if whole < len(text):
        with path.open("r+b") as file:
            file.truncate(whole)
    return old

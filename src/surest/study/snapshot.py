"""What the replay of a log last said, kept with the log: a look at a study need not run its algorithm over all rewards again.

A snapshot is found under a digest of everything that it follows from but the rewards, which never change once they are told:
the ticket up to which the log was replayed, the one up to which requests are written down where they are announced, the
settings, the arms, and the code that replays. Where any of it differs the log is replayed. Results for reports, and what is
asked next, always come from a replay.
"""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from surest.algorithms import lookup
from surest.core.session import Session
from surest.errors import StorageError
from surest.result.data import Result
from surest.result.lead import Lead
from surest.study.log import Log, Store
from surest.study.settings import Settings

LEAST = 1000
"""Rewards from which on a replay is worth a snapshot."""
MOST_ARMS = 1000
"""Arms up to which one is kept."""
CODE = ("core", "algorithms", "evidence", "result", "study", "theory")
"""The packages that decide what a replay says."""
NOT_KEPT = {"problem", "transcript", "history", "health", "lead_bounds", "lead_told"}
"""Of a result: what the study has, what only a replay can give, what may change between two requests, and the lead."""


class Look(NamedTuple):
    """How a study stands at one moment."""

    finished: bool
    in_play: int | None
    """How many arms may still be the best, where the algorithm says so."""
    total: int
    """Rewards of the request that is under way, told or not."""
    result: Result
    left: int = 0
    """Rewards that the request still lacks."""
    key: str | None = None
    """Under which a snapshot of it could be kept; None if there is one, or none is worth it."""


def look_at(session: Session, key: str | None) -> Look:
    """How a session stands that is in step with its log."""
    request = session.running.request
    total = 0 if request is None else request.total
    return Look(session.finished, session.status().in_play, total, session.result(), key=key)


def key_of(settings: Settings, labels: list[str], position: int, written: int | Sequence[int]) -> str | None:
    """Under which name a snapshot is kept; None where none is: there is little to replay, or the code is not all our own."""
    if position < LEAST or len(labels) > MOST_ARMS:
        return None
    algorithm, code = settings.problem.algorithm, code_digest()
    if code is None or ".py:" in algorithm or not lookup(algorithm).start.__module__.startswith("surest."):
        return None
    return digest(json.dumps([position, written, settings.text(), labels, code]).encode())


@cache
def code_digest() -> str | None:
    """A digest of the source files that decide what a replay says; None where there are none to be read.

    >>> code_digest() == code_digest()
    True
    """
    root = Path(__file__).parents[1]
    try:
        files = [root / "compiled.py", *(file for part in CODE for file in sorted((root / part).rglob("*.py")))]
        return digest(b"\0".join(file.read_bytes() for file in files))
    except OSError:
        return None


def digest(data: bytes) -> str:
    """A digest as text."""
    from hashlib import blake2b

    return blake2b(data, digest_size=16).hexdigest()


def unkept(log: Log, study: int, key: str | None) -> str | None:
    """A key, unless there is a snapshot under it: nobody writes who only looks, and finds nothing new."""
    return None if key is None or log.read_snapshot(study, key) is not None else key


def keep(store: Store, study: int, look: Look) -> None:
    """Keep a snapshot for whoever looks next, if that can be done at once: it can be done without."""
    if look.key is not None:
        with suppress(StorageError), store.writing(wait=False) as log:
            log.write_snapshot(study, look.key, text_of(look))


def text_of(look: Look) -> str:
    """A look as text, to the last digit."""
    kept = {f.name: _written(getattr(look.result, f.name)) for f in fields(Result) if f.name not in NOT_KEPT}
    lead = look.result.lead
    return json.dumps([look.finished, look.in_play, look.total, look.left, None if lead is None else [*lead], kept])


def look_of(text: str, settings: Settings, labels: list[str]) -> Look:
    """The look that `text_of` wrote."""
    finished, in_play, total, left, lead, kept = json.loads(text)
    problem = msgspec.structs.replace(settings.problem, labels=tuple(labels))
    values = {name: _read(value) for name, value in kept.items()}
    values["lead_told"] = None if lead is None else Lead(*lead)
    return Look(finished, in_play, total, Result(problem=problem, health={}, **values), left)


def _written(value: Any) -> Any:
    """A value as JSON has it; arrays and tuples say that they are."""
    if isinstance(value, np.ndarray):
        return {"array": value.tolist(), "of": str(value.dtype)}
    if isinstance(value, tuple):
        return {"tuple": [_written(part) for part in value]}
    if isinstance(value, dict):
        return {"dict": [[_written(key), _written(part)] for key, part in value.items()]}
    return value.item() if isinstance(value, np.generic) else value


def _read(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if "array" in value:
        return np.array(value["array"], value["of"])
    if "tuple" in value:
        return tuple(_read(part) for part in value["tuple"])
    return {_read(key): _read(part) for key, part in value["dict"]}

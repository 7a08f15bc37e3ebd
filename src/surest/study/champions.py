"""What a champion remembers: who it is, which scores are known, and the levels of all challenges, in a store or in memory."""

import json
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from surest.errors import UsageError
from surest.study.ledger import Ledger, share
from surest.study.sql import SqlLog

TABLES = (
    "CREATE TABLE IF NOT EXISTS surest_champions (name VARCHAR(200) PRIMARY KEY, settings TEXT NOT NULL, champion TEXT)",
    """CREATE TABLE IF NOT EXISTS surest_champion_scores (
    name VARCHAR(200) NOT NULL, candidate VARCHAR(64) NOT NULL, item INTEGER NOT NULL, score DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (name, candidate, item))""",
)
CHAMPION = "SELECT champion FROM surest_champions WHERE name = ?"


class Begun(NamedTuple):
    """A challenge that has its level."""

    number: int
    level: float


class Memory:
    """For as long as the process lives; candidates may be anything."""

    def __init__(self, delta: float) -> None:
        self._delta, self._begun, self._promoted = delta, 0, 0
        self._candidates: dict[str, Any] = {}
        self._champion: str | None = None
        self._scores: dict[str, dict[int, float]] = {}

    def key(self, candidate: Any) -> str:
        """What a candidate is called here: the same for the same plain data."""
        try:
            key = _plain(candidate)
            self._candidates.setdefault(key, json.loads(key))  # a copy: whoever made it may change it
        except UsageError:
            key = f"object {id(candidate)}"
            self._candidates[key] = candidate  # kept, so that no other one has its id
        return key

    def champion(self) -> tuple[str, Any] | None:
        """Its key and itself."""
        return None if self._champion is None else (self._champion, self._candidates[self._champion])

    def scores(self, key: str) -> dict[int, float]:
        """All that is known of a candidate."""
        return dict(self._scores.get(key, ()))

    def keep(self, key: str, scores: Mapping[int, float]) -> None:
        """Remember scores."""
        self._scores.setdefault(key, {}).update(scores)

    def begin(self, names: tuple[str, str]) -> Begun:
        """Give a challenge its level, which is spent by that."""
        self._begun += 1
        return Begun(self._begun, self._delta * share(self._begun) * (1 + self._promoted))

    def end(self, number: int, verdict: str, counted: list[float]) -> None:
        """Write down what came of a challenge."""
        self._promoted += verdict == "promoted"

    def crown(self, before: str | None, key: str, candidate: Any) -> bool:
        """Make a candidate the champion, if that is still who it was."""
        if self._champion != before:
            return False
        self._champion = key
        return True


class Kept:
    """In a file or a database, where it outlives the process. Candidates are plain data: text, numbers, lists, mappings."""

    def __init__(self, storage: str | Path, name: str, settings: Any, delta: float) -> None:
        self.ledger, self._name, self._delta = Ledger(storage), name, delta
        now = json.dumps(settings)
        with self._writing() as found:
            insert = "INSERT INTO surest_champions VALUES (?, ?, NULL) ON CONFLICT DO NOTHING"
            found.execute(insert, name, now)
            (text,) = found.row("SELECT settings FROM surest_champions WHERE name = ?", name)
            there = json.loads(text)
            other = [what for what, value in json.loads(now).items() if there.get(what) != value]
        if other:
            raise UsageError(
                f"champion {name!r} in {self.ledger.shown} has other {' and '.join(other)}; give the same, or another name"
            )

    @contextmanager
    def _writing(self) -> Iterator[SqlLog]:
        with self.ledger.writing() as found:
            for table in TABLES:
                found.execute(table)
            yield found

    def key(self, candidate: Any) -> str:
        return sha256(_plain(candidate).encode(errors="replace")).hexdigest()

    def champion(self) -> tuple[str, Any] | None:
        with self._writing() as found:
            (text,) = found.row(CHAMPION, self._name)
        return None if text is None else (self.key(json.loads(text)), json.loads(text))

    def scores(self, key: str) -> dict[int, float]:
        query = "SELECT item, score FROM surest_champion_scores WHERE name = ? AND candidate = ?"
        with self._writing() as found:
            return dict(found.execute(query, self._name, key).fetchall())

    def keep(self, key: str, scores: Mapping[int, float]) -> None:
        rows = [(self._name, key, item, score) for item, score in scores.items()]
        with self._writing() as found:
            found.many("INSERT INTO surest_champion_scores VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING", rows)

    def begin(self, names: tuple[str, str]) -> Begun:
        entry = self.ledger.begin(secrets.token_hex(16), self._name, names, self._delta, None, resumes=False)
        return Begun(entry.number, entry.level)

    def end(self, number: int, verdict: str, counted: list[float]) -> None:
        self.ledger.end(number, {"promoted": "pass", "rejected": "fail"}.get(verdict, verdict), counted)

    def crown(self, before: str | None, key: str, candidate: Any) -> bool:
        with self._writing() as found:
            (text,) = found.row(CHAMPION, self._name)
            if before != (None if text is None else self.key(json.loads(text))):
                return False
            query = "UPDATE surest_champions SET champion = ? WHERE name = ?"
            found.execute(query, _plain(candidate), self._name)
        return True


def _plain(candidate: Any) -> str:
    try:
        text = json.dumps(candidate, sort_keys=True, allow_nan=False)
        if json.loads(text) == candidate:
            return text
    except (TypeError, ValueError):
        pass
    raise UsageError(
        f"candidate {candidate!r:.60} is not plain data (text, numbers, lists, mappings with text as keys) that can be kept "
        "in a storage; leave out storage, or let `score` make it from such data"
    )

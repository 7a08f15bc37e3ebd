"""What a champion remembers: who it is, which scores are known, and the levels of all challenges, in a store or in memory."""

import json
import secrets
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from surest.errors import UsageError
from surest.study.ledger import Entry, Ledger
from surest.study.sql import MEMORY

TABLES = (
    "CREATE TABLE IF NOT EXISTS surest_champions (name VARCHAR(200) PRIMARY KEY, settings TEXT NOT NULL, champion TEXT)",
    """CREATE TABLE IF NOT EXISTS surest_champion_scores (
    name VARCHAR(200) NOT NULL, candidate VARCHAR(64) NOT NULL, item INTEGER NOT NULL, score DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (name, candidate, item))""",
)
CHAMPION = "SELECT champion FROM surest_champions WHERE name = ?"


class Kept:
    """In a file or a database, where it outlives the process, or in the memory of this one.

    Candidates are plain data (text, numbers, lists, mappings); in memory they may be anything.
    """

    def __init__(self, storage: str | Path | None, name: str, settings: Any, delta: float) -> None:
        self.ledger, self._name, self._delta = Ledger(MEMORY if storage is None else storage), name, delta
        self._objects: dict[str, Any] | None = {} if storage is None else None  # those that are not plain data, by key
        now = json.dumps(settings)
        with self.ledger.writing() as found:
            for table in TABLES:
                found.execute(table)
            insert = "INSERT INTO surest_champions VALUES (?, ?, NULL) ON CONFLICT DO NOTHING"
            found.execute(insert, name, now)
            (text,) = found.execute("SELECT settings FROM surest_champions WHERE name = ?", name).fetchone()
        there = json.loads(text)
        other = [what for what, value in json.loads(now).items() if there.get(what) != value]
        if other:
            raise UsageError(
                f"champion {name!r} in {self.ledger.shown} has other {' and '.join(other)}; give the same, or another name"
            )

    def _text(self, candidate: Any) -> str:
        """A candidate as JSON, or what stands for an object of this process."""
        try:
            text = json.dumps(candidate, sort_keys=True, allow_nan=False)
            if json.loads(text) == candidate:
                return text
        except (TypeError, ValueError):
            pass
        if self._objects is None:
            raise UsageError(
                f"candidate {candidate!r:.60} is not plain data (text, numbers, lists, mappings with text as keys) that can be "
                "kept in a storage; leave out storage, or let `score` make it from such data"
            )
        text = f"object {id(candidate)}"  # which is no JSON
        self._objects[text] = candidate  # kept, so that no other one has its id
        return text

    def _candidate(self, text: str) -> Any:
        return self._objects[text] if self._objects and text in self._objects else json.loads(text)

    def key(self, candidate: Any) -> str:
        """What a candidate is called here: the same for the same plain data."""
        return sha256(self._text(candidate).encode(errors="replace")).hexdigest()

    def champion(self) -> tuple[str, Any] | None:
        """Its key and itself."""
        with self.ledger.writing() as found:
            (text,) = found.execute(CHAMPION, self._name).fetchone()
        if text is None:
            return None
        candidate = self._candidate(text)
        return self.key(candidate), candidate

    def scores(self, key: str) -> dict[int, float]:
        """All that is known of a candidate."""
        query = "SELECT item, score FROM surest_champion_scores WHERE name = ? AND candidate = ?"
        with self.ledger.writing() as found:
            return dict(found.execute(query, self._name, key).fetchall())

    def keep(self, key: str, scores: Mapping[int, float]) -> None:
        """Remember scores."""
        rows = [(self._name, key, item, score) for item, score in scores.items()]
        with self.ledger.writing() as found:
            found.many("INSERT INTO surest_champion_scores VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING", rows)

    def begin(self, names: tuple[str, str]) -> Entry:
        """Give a challenge its level, which is spent by that."""
        return self.ledger.begin(secrets.token_hex(16), self._name, names, self._delta, None, resumes=False)

    def end(self, number: int, verdict: str, counted: list[float]) -> None:
        """Write down what came of a challenge."""
        self.ledger.end(number, {"promoted": "pass", "rejected": "fail"}.get(verdict, verdict), counted)

    def crown(self, before: str | None, candidate: Any) -> bool:
        """Make a candidate the champion, if that is still who it was."""
        with self.ledger.writing() as found:
            (text,) = found.execute(CHAMPION, self._name).fetchone()
            if before != (None if text is None else self.key(self._candidate(text))):
                return False
            query = "UPDATE surest_champions SET champion = ? WHERE name = ?"
            found.execute(query, self._text(candidate), self._name)
        return True

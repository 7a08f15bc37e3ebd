"""A ledger of many gates: the expected share of wrong ones among all that pass is at most δ, however many there are.

The t-th gate passes at α_t = δ·γ_t·(1 + passes so far), with Σ γ_t ≤ 1 (e-LOND). α_t is written down before the gate begins and
is spent then, whatever becomes of the gate. docs/gate.md has the theorem.
"""

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from math import log
from pathlib import Path
from typing import Any, NamedTuple

from surest.errors import KnownOrderError, UsageError
from surest.study.sql import MEMORY, SqlLog, SqlStore

SUM = 2.11  # a bit more than Σ 1/(k·ln²k) over k = 2, 3, …
TABLE = """CREATE TABLE IF NOT EXISTS surest_gates (
    number INTEGER PRIMARY KEY, ordering TEXT NOT NULL UNIQUE, settings TEXT NOT NULL, baseline TEXT NOT NULL,
    candidate TEXT NOT NULL, seed TEXT, delta DOUBLE PRECISION NOT NULL, level DOUBLE PRECISION NOT NULL,
    verdict TEXT NOT NULL, counted INTEGER NOT NULL, digest TEXT NOT NULL, began DOUBLE PRECISION NOT NULL
)"""
COLUMNS = "number, baseline, candidate, seed, delta, level, verdict, counted, began"


class Row(NamedTuple):
    """A gate of a ledger."""

    number: int
    baseline: str
    candidate: str
    seed: str | None
    delta: float
    level: float  # α_t, at which it passes
    verdict: str
    counted: int  # how many items have counted
    began: float  # seconds since 1970


def share(number: int) -> float:
    """γ_t, the part of δ that belongs to the t-th gate.

    >>> round(share(1), 3), 0.84 < sum(map(share, range(1, 100_000))) < 1
    (0.493, True)
    """
    return 1 / (SUM * (number + 1) * log(number + 1) ** 2)


class Ledger:
    """The gates of a team or an optimiser, in a file or in the storage of studies.

    Parameters
    ----------
    storage : str or Path
        A file, made if it is not there, or a URL such as postgresql://user@host/name.

    Examples
    --------
    >>> import surest, tempfile
    >>> book = Ledger(tempfile.mkdtemp() + "/team.db")
    >>> old = {f"q{i}": float(i % 3 > 0) for i in range(300)}
    >>> passed = [surest.gate(old, old.get, 0.1, seed=f"commit {i}", ledger=book).passed for i in range(3)]
    >>> [(row.number, row.verdict, round(row.level, 4)) for row in book.rows()]
    [(1, 'pass', 0.0247), (2, 'pass', 0.0131), (3, 'pass', 0.0092)]
    """

    def __init__(self, storage: str | Path) -> None:
        self._store = SqlStore(str(storage) if storage == MEMORY or "://" in str(storage) else f"sqlite:///{storage}")
        self.shown = self._store.shown

    @contextmanager
    def writing(self) -> Iterator[SqlLog]:
        """One writer at a time."""
        with self._store.writing() as found:
            found.execute(TABLE)
            if not self._store.driver.is_sqlite:
                found.execute("LOCK TABLE surest_gates")
            yield found

    def rows(self) -> list[Row]:
        """All gates, in the order in which they began."""
        with self.writing() as found:
            return [Row(*row) for row in found.execute(f"SELECT {COLUMNS} FROM surest_gates ORDER BY number")]

    def begin(
        self, ordering: Any, settings: Any, names: tuple[str, str], delta: float, seed: str | None, *, resumes: bool
    ) -> "Entry":
        """Give a gate its level, and write that down before anything is judged.

        `ordering` is what the order of the items follows from. A gate with an order that is in the ledger is the same gate, with
        the same level, if its scores are kept (`resumes`) and it has the same `settings`; otherwise it is refused, as is a
        `seed` that drew another order: its own would not be fresh.
        """
        order, digest = _digest(ordering), _digest(settings)
        with self.writing() as found:
            other = found.execute("SELECT delta FROM surest_gates WHERE delta <> ?", delta).fetchone()
            if other is not None:
                raise UsageError(f"delta is {delta:g}, and {self.shown} is for {other[0]:g}; a ledger has one delta")
            there = found.execute(
                "SELECT number, settings, level FROM surest_gates WHERE ordering = ?", order
            ).fetchone()
            if there is not None:
                if not resumes or there[1] != digest:
                    raise KnownOrderError(
                        f"gate {there[0]} of {self.shown} had this order of these items"
                        + (" and other settings" if resumes else "")
                        + "; a gate needs an order of its own: give it another seed"
                    )
                return Entry(self, there[0], there[2], delta, names)
            same = found.execute("SELECT number FROM surest_gates WHERE seed = ?", seed).fetchone()
            # Orders of lists of another length are alike: items that counted there come early here.
            if same is not None:
                raise KnownOrderError(
                    f"gate {same[0]} of {self.shown} had the seed {seed!r} for a list of another length; a gate needs an order "
                    "of its own: give it another seed"
                )
            query = (
                "SELECT count(*) + 1, coalesce(sum(CASE WHEN verdict = 'pass' THEN 1 ELSE 0 END), 0) FROM surest_gates"
            )
            number, passes = found.execute(query).fetchone()
            level = delta * share(number) * (1 + passes)
            found.execute(
                "INSERT INTO surest_gates VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'undecided', 0, '', ?)",
                number, order, digest, *names, seed, delta, level, time.time(),
            )  # fmt: skip
        return Entry(self, number, level, delta, names)

    def end(self, number: int, verdict: str, scores: Sequence[Any], names: tuple[str, str] | None = None) -> None:
        """Write down what a gate has found so far, from which scores, and of whom. What has passed has passed."""
        with self.writing() as found:
            query = "SELECT verdict, counted, digest FROM surest_gates WHERE number = ?"
            before, counted, digest = found.execute(query, number).fetchone()
            if counted and (counted > len(scores) or _digest(scores[:counted]) != digest):
                raise KnownOrderError(
                    f"gate {number} of {self.shown} was made with other scores on the same items in the same order; a new "
                    "candidate, or one that was evaluated anew, needs another seed"
                )
            found.execute(
                "UPDATE surest_gates SET verdict = ?, counted = ?, digest = ? WHERE number = ?",
                "pass" if before == "pass" else verdict, len(scores), _digest(scores), number,
            )  # fmt: skip
            if names is not None and before != "pass":  # the file may have another name than the one that began
                query = "UPDATE surest_gates SET baseline = ?, candidate = ? WHERE number = ?"
                found.execute(query, *names, number)


@dataclass(frozen=True)
class Entry:
    """A gate of a ledger that is under way."""

    ledger: Ledger
    number: int
    level: float
    delta: float
    names: tuple[str, str]

    def end(self, verdict: str, scores: Sequence[Any]) -> str:
        """Write down what was found; what to say of it."""
        self.ledger.end(self.number, verdict, scores, self.names)
        return (
            f"gate {self.number} of {self.ledger.shown}: it passes at level {self.level:.3g}, so that of all gates that pass "
            f"an expected share of at most {self.delta:g} is wrong"
        )


def ledger_of(given: "str | Path | Ledger") -> Ledger:
    """The ledger that a file or a URL names, or the one that was given."""
    return given if isinstance(given, Ledger) else Ledger(given)


def _digest(data: Any) -> str:
    return sha256(json.dumps(data, default=str).encode(errors="replace")).hexdigest()

"""Studies in a SQL database: SQLite through the standard library, PostgreSQL through psycopg.

The log is the truth: `requests` says what the algorithm asked for, `tickets` what was handed out and what came of it. A ticket
whose reward is null is open: leased until `lease`, and free to be handed out again after that. Of a study with a list of items
each ticket is a cell, an arm on an item, and each cell has at most one. Times are seconds since 1970, seals checksums.
"""

import json
import os
import re
import sqlite3
import threading
import time
import weakref
import zlib
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import partialmethod
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import astuple

from surest.errors import StorageError, UsageError
from surest.masking import hidden_in, masked
from surest.study.log import NO_FAILURES, Arm, Counted, Event, Facts, Item, Log, Recorded, StoredStudy, StoredTicket

MEMORY = "memory:"  # begins the URL of a store in the memory of this process
VERSION = "0005"
"""The tables that this code reads and writes. Whoever changes one adds to `CHANGES`; a test compares both."""
VERSION_TABLE = "surest_version"
ITEMS = """CREATE TABLE surest_items (  -- payload: JSON
    study INTEGER NOT NULL, item INTEGER NOT NULL, "key" TEXT NOT NULL, payload TEXT, seal BIGINT NOT NULL,
    PRIMARY KEY (study, item)) WITHOUT ROWID"""
PACKS = """CREATE TABLE surest_packs (  -- of earlier versions: not read any more
    study INTEGER NOT NULL, first BIGINT NOT NULL, rewards BLOB NOT NULL, seal BIGINT NOT NULL,
    PRIMARY KEY (study, first)) WITHOUT ROWID"""
SNAPSHOTS = """CREATE TABLE surest_snapshots (  -- of earlier versions: not read any more
    study INTEGER NOT NULL, "key" TEXT NOT NULL, data TEXT NOT NULL, seal BIGINT NOT NULL, PRIMARY KEY (study))
    WITHOUT ROWID"""
CELLS = "CREATE UNIQUE INDEX surest_cells ON surest_tickets (study, arm, item) WHERE item IS NOT NULL"
TABLES = (
    f"""CREATE TABLE {VERSION_TABLE} (
    version_num VARCHAR(32) NOT NULL, CONSTRAINT {VERSION_TABLE}_pkc PRIMARY KEY (version_num))""",
    f"INSERT INTO {VERSION_TABLE} VALUES ('{VERSION}')",
    """CREATE TABLE surest_studies (  -- settings: JSON, see `study.settings`; paused: 1 while no tickets are handed out
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,  -- a deleted study's number is not used again
    name TEXT NOT NULL, settings TEXT NOT NULL, created DOUBLE NOT NULL, seal BIGINT NOT NULL,
    paused INTEGER DEFAULT '0' NOT NULL, UNIQUE (name))""",
    """CREATE TABLE surest_arms (  -- known to the algorithm from ticket `added_at` on
    study INTEGER NOT NULL, arm INTEGER NOT NULL, label TEXT NOT NULL, added_at BIGINT NOT NULL, seal BIGINT NOT NULL,
    PRIMARY KEY (study, arm)) WITHOUT ROWID""",
    """CREATE TABLE surest_requests (  -- first: its first ticket; runs: see `runs_of` in log.py
    study INTEGER NOT NULL, first BIGINT NOT NULL, total BIGINT NOT NULL, statistic TEXT NOT NULL, runs TEXT NOT NULL,
    seal BIGINT NOT NULL, PRIMARY KEY (study, first)) WITHOUT ROWID""",
    """CREATE TABLE surest_tickets (  -- reward: as the user told it; lease: 0 once it has failed; attempts: leases
    study INTEGER NOT NULL, id BIGINT NOT NULL, arm INTEGER NOT NULL, reward DOUBLE, lease DOUBLE NOT NULL,
    attempts INTEGER NOT NULL, worker TEXT NOT NULL, told DOUBLE, seal BIGINT, failures INTEGER DEFAULT '0' NOT NULL,
    item INTEGER, cost DOUBLE, PRIMARY KEY (study, id)) WITHOUT ROWID""",
    "CREATE INDEX surest_open_tickets ON surest_tickets (study, id) WHERE reward IS NULL",
    CELLS, ITEMS, PACKS, SNAPSHOTS,
    """CREATE TABLE surest_events (  -- kind: failed, timed out, expired, interrupted, retried, imputed
    id INTEGER NOT NULL PRIMARY KEY, study INTEGER NOT NULL, ticket BIGINT NOT NULL, arm INTEGER NOT NULL,
    kind TEXT NOT NULL, reason TEXT NOT NULL, worker TEXT NOT NULL, at DOUBLE NOT NULL)""",
    "CREATE INDEX ix_surest_events_study ON surest_events (study)",
)  # fmt: skip
_OF_TICKET = "FROM surest_events e WHERE e.study = surest_tickets.study AND e.ticket = surest_tickets.id"
CHANGES = {
    "0001": (
        "ALTER TABLE surest_tickets ADD COLUMN failures INTEGER DEFAULT '0' NOT NULL",
        "ALTER TABLE surest_tickets ADD COLUMN item INTEGER",
        CELLS, ITEMS, PACKS,
        f"UPDATE surest_tickets SET failures = (SELECT count(*) {_OF_TICKET} "
        "AND e.kind NOT IN ('expired', 'interrupted', 'retried', 'imputed')) "
        f"WHERE EXISTS (SELECT 1 {_OF_TICKET})",
    ),
    "0002": (SNAPSHOTS,),
    "0003": ("ALTER TABLE surest_studies ADD COLUMN paused INTEGER DEFAULT '0' NOT NULL",),
    "0004": ("ALTER TABLE surest_tickets ADD COLUMN cost DOUBLE",),
}  # fmt: skip
"""What each earlier version lacks beside what those after it lack."""


def changes_since(version: str) -> list[str]:
    """What brings the tables of a version up to date.

    >>> changes_since(VERSION), changes_since("0002")[-1]
    ([], "UPDATE surest_version SET version_num = '0005'")
    """
    missing = [statement for old, change in CHANGES.items() if old >= version for statement in change]
    return [*missing, f"UPDATE {VERSION_TABLE} SET version_num = '{VERSION}'"] if missing else []


# --- the databases ---


BUSY_SECONDS = 120.0  # how long to wait for others who write to a SQLite file
LOCK_SECONDS = 60.0  # how long to wait for others on PostgreSQL
IDLE_SECONDS = 120.0
"""After which PostgreSQL ends a writing transaction whose process does not go on: a stopped worker blocks others no longer."""
SMALLEST_PAGE = 512  # bytes of the smallest SQLite file


@dataclass
class SQLite:
    """A file, in WAL mode, each commit flushed to disk before it is acknowledged; or the memory of this process."""

    path: str | None
    turn: AbstractContextManager[object] = field(default_factory=nullcontext)
    """What a transaction holds from its beginning to its end."""
    memory: sqlite3.Connection | None = None

    is_sqlite = True
    mark = "?"  # the place of a value in a statement
    begin_reading = "BEGIN"
    begin_writing = "BEGIN IMMEDIATE"
    """It takes the write lock at once: a reader that turns writer may find that others were faster."""
    has_table = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
    now = "surest_now()"  # the time, in a statement
    for_update = ""  # what makes a query hold its rows until the transaction ends
    skip_locked = ""  # what makes it leave out the rows that others hold
    by_open = " INDEXED BY surest_open_tickets"
    """What makes a query of open tickets go by their index: SQLite takes the primary key otherwise, and looks at every ticket."""
    errors = (sqlite3.Error, UnicodeDecodeError)

    @classmethod
    def in_memory(cls) -> "SQLite":
        """One connection, with its tables from the beginning: nobody else could make them."""
        connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        connection.create_function("surest_now", 0, time.time)
        connection.executescript(";\n".join(TABLES))
        return cls(None, threading.Lock(), connection)

    def connect(self) -> sqlite3.Connection:
        """A connection that begins no transaction by itself.

        WAL lets readers read while one writes; FULL flushes each commit, so that what is acknowledged outlives a power cut.
        """
        if self.path is None:
            assert self.memory is not None
            return self.memory
        connection = sqlite3.connect(self.path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        try:
            connection.create_function("surest_now", 0, time.time)
            deadline = time.monotonic() + BUSY_SECONDS
            while connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
                try:
                    connection.execute("PRAGMA journal_mode=WAL")
                except sqlite3.OperationalError as error:
                    # SQLite does not wait here by itself when several processes make the same file.
                    if "locked" not in str(error) or time.monotonic() > deadline:
                        raise
                    time.sleep(0.01)
            connection.execute("PRAGMA synchronous=FULL")
        except BaseException:
            connection.close()
            raise
        return connection


class PostgreSQL:
    """A server, for workers on several machines."""

    is_sqlite = False
    turn = nullcontext()
    mark = "%s"
    begin_reading = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL idle_in_transaction_session_timeout = 0"
    """A reader sees one moment and locks nothing: it needs no right to write, and blocks nobody however long it takes."""
    begin_writing = "BEGIN"
    has_table = "SELECT 1 FROM pg_tables WHERE tablename = ? AND schemaname = ANY(current_schemas(false))"
    """Not to_regclass: in a transaction that has waited for a lock, it may not know of what others made meanwhile."""
    now = "extract(epoch from clock_timestamp())::double precision"
    for_update = " FOR UPDATE"
    skip_locked = " SKIP LOCKED"
    by_open = ""

    def __init__(self, url: str) -> None:
        self.url = url

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        import psycopg

        return (psycopg.Error, UnicodeDecodeError)

    def connect(self) -> Any:
        """A connection with limits: a worker that was stopped inside a transaction must not block the others for ever."""
        import psycopg

        connection = psycopg.connect(self.url, autocommit=True)
        connection.execute(f"SET lock_timeout = {1000 * LOCK_SECONDS:.0f}")
        connection.execute(f"SET idle_in_transaction_session_timeout = {1000 * IDLE_SECONDS:.0f}")
        return connection

    def define(self, text: str) -> str:
        """A statement that makes or changes a table, from SQLite's."""
        text = re.sub("INTEGER NOT NULL PRIMARY KEY( AUTOINCREMENT)?", "SERIAL PRIMARY KEY", text)
        return re.sub(r"\s*WITHOUT ROWID", "", text.replace(" DOUBLE", " DOUBLE PRECISION").replace(" BLOB", " BYTEA"))


Driver = SQLite | PostgreSQL


def driver_of(storage: str) -> Driver:
    """What a storage URL names; a mistake in it is the user's."""
    if storage.startswith(MEMORY):
        return SQLite.in_memory()
    kind, colon, rest = storage.partition("://")
    kind, place = kind.partition("+")[0].lower(), rest.partition("?")[0]
    if not colon or not kind.isalpha():
        wrong = " is not a URL; write sqlite:///file.db or postgresql://user@host/name"
    elif kind == "sqlite":
        path = place.removeprefix("/")
        if rest.startswith("/") and path and path != ":memory:" and "\0" not in path:
            return SQLite(path)
        wrong = " names no file; write sqlite:///file.db (three slashes, then the path)"
    elif kind not in ("postgresql", "postgres"):
        wrong = ": studies are kept in sqlite:///file.db or postgresql://user@host/name"
    elif place.count("@") > 1:
        wrong = ": write an @ inside a password as %40"
    else:
        hosts = place.rpartition("@")[2].partition("/")[0].split(",")
        ports = (host.rpartition("]")[2].partition(":")[2] for host in hosts)
        if all(port.isdigit() for port in ports if port):
            return PostgreSQL(f"postgresql://{rest}")
        # The server's library would repeat it, and it may be a part of a password.
        wrong = ": what follows the host's colon is not a port number"
    raise UsageError(f"storage {masked(storage)!r}{wrong}")


# --- the log ---


PORTION = 500  # ticket numbers in one statement
ALL = 2**62  # more than there can be
WORD = 2**64 - 1  # the bits of a checksum
TICKET = "id, arm, item, reward, lease, attempts, failures, worker, told, cost"


@dataclass
class SqlLog:
    """One transaction: statements on a connection."""

    connection: Any
    driver: Driver

    def execute(self, text: str, *values: object) -> Any:
        """A statement; a cursor, from which its rows are read."""
        return self.connection.execute(text.replace("?", self.driver.mark), values)

    def many(self, text: str, rows: Sequence[tuple[object, ...]]) -> None:
        """A statement for each of several rows."""
        if rows:
            self.connection.cursor().executemany(text.replace("?", self.driver.mark), rows)

    def version(self) -> str | None:
        """Which version the tables are of; None if there are none."""
        if self.execute(self.driver.has_table, VERSION_TABLE).fetchone() is None:
            return None
        row = self.execute(f"SELECT version_num FROM {VERSION_TABLE}").fetchone()
        return None if row is None else str(row[0])

    def study_names(self) -> list[str]:
        return sorted(row[0] for row in self.execute("SELECT name FROM surest_studies"))

    def find_study(self, name: str) -> StoredStudy | None:
        row = self.execute("SELECT id, name, settings, seal FROM surest_studies WHERE name = ?", name).fetchone()
        if row is None:
            return None
        if row[3] != seal(row[1], row[2]):
            raise StorageError(f"the database is damaged: the settings of study {name!r} are not what was written")
        return StoredStudy(*row[:3])

    def add_study(self, name: str, settings: str, labels: Sequence[str], items: Sequence[Item] = ()) -> int | None:
        insert = (
            f"INSERT INTO surest_studies (name, settings, created, seal) VALUES (?, ?, {self.driver.now}, ?) "
            "ON CONFLICT (name) DO NOTHING"
        )
        if self.execute(insert, name, settings, seal(name, settings)).rowcount != 1:
            return None
        (study,) = self.execute("SELECT id FROM surest_studies WHERE name = ?", name).fetchone()
        self.add_arms(study, labels, 0, 0)
        rows = [(study, n, i.key, i.payload, seal(n, i.key, i.payload)) for n, i in enumerate(items)]
        self.many("INSERT INTO surest_items (study, item, key, payload, seal) VALUES (?, ?, ?, ?, ?)", rows)
        return int(study)

    def delete_study(self, name: str) -> bool:
        row = self.execute(f"SELECT id FROM surest_studies WHERE name = ?{self.driver.for_update}", name).fetchone()
        if row is None:
            return False
        for table in ("arms", "items", "requests", "packs", "snapshots", "tickets", "events"):
            self.execute(f"DELETE FROM surest_{table} WHERE study = ?", *row)
        return bool(self.execute("DELETE FROM surest_studies WHERE id = ?", *row).rowcount)

    def study_facts(self, study: int, *, lock: bool = False) -> Facts | None:
        """The study now, in one statement. A lock comes first (SQLite has locked the whole file already)."""
        if lock and not self.driver.is_sqlite:
            self.execute(f"SELECT id FROM surest_studies WHERE id = ?{self.driver.for_update}", study)
        opened = f"FROM surest_tickets{self.driver.by_open} WHERE study = s.id AND reward IS NULL"
        query = (
            f"SELECT {self.driver.now}, s.paused, "
            "(SELECT coalesce(max(arm), -1) + 1 FROM surest_arms WHERE study = s.id), "
            "(SELECT coalesce(max(id), -1) + 1 FROM surest_tickets WHERE study = s.id), "
            f"(SELECT count(*) {opened}), (SELECT count(*) {opened} AND lease <= {self.driver.now}) "
            "FROM surest_studies s WHERE s.id = ?"
        )
        row = self.execute(query, study).fetchone()
        if row is None:
            return None
        now, paused, *counts = row
        return Facts(float(now), bool(paused), *map(int, counts))

    def set_paused(self, study: int, paused: bool) -> None:
        self.execute("UPDATE surest_studies SET paused = ? WHERE id = ?", int(paused), study)

    def add_arms(self, study: int, labels: Sequence[str], first: int, added_at: int) -> None:
        rows = [(study, arm, label, added_at, seal(arm, label, added_at)) for arm, label in enumerate(labels, first)]
        self.many("INSERT INTO surest_arms (study, arm, label, added_at, seal) VALUES (?, ?, ?, ?, ?)", rows)

    def read_arms(self, study: int) -> list[Arm]:
        rows = self.execute("SELECT arm, label, added_at, seal FROM surest_arms WHERE study = ? ORDER BY arm", study)
        return [Arm(*row) for row in _sealed(rows, "arm")]

    def read_items(self, study: int) -> list[Item]:
        rows = self.execute("SELECT item, key, payload, seal FROM surest_items WHERE study = ? ORDER BY item", study)
        return [Item(*row) for row in _sealed(rows, "item")]

    def write_request(self, study: int, request: Recorded) -> None:
        row = (request.first, request.total, request.statistic, request.runs)
        insert = "INSERT INTO surest_requests (study, first, total, statistic, runs, seal) VALUES (?, ?, ?, ?, ?, ?)"
        self.execute(insert, study, *row, seal(*row))

    def read_requests(self, study: int, first: int | None = 0) -> list[Recorded]:
        query = "SELECT first, total, statistic, runs, seal FROM surest_requests WHERE study = ?"
        if first is None:
            rows = self.execute(f"{query} ORDER BY first DESC LIMIT 1", study).fetchall()
        else:
            rows = self.execute(f"{query} AND first >= ? ORDER BY first", study, first).fetchall()
        for *row, check in rows:
            if check != seal(*row):
                raise StorageError(
                    f"the study's log is damaged: the request at ticket {row[0]} is not what was written"
                )
        return [Recorded(*row[:4]) for row in rows]

    def read_tickets(
        self, study: int, first: int = 0, end: int | None = None, *, among: Sequence[int] | None = None,
        open_by: float | None = None, most: int | None = None, hold: bool = False,
    ) -> list[StoredTicket]:  # fmt: skip
        """Tickets in order, so that no two who hold some wait for each other; every seal is checked."""
        last = ALL if end is None else end
        by, only, values = "", "", list[float]([study, first, last])
        if open_by is not None:
            by, only = self.driver.by_open, " AND reward IS NULL AND lease <= ?"
            values.append(open_by)
        query = f"SELECT {TICKET}, seal FROM surest_tickets{by} WHERE study = ? AND id >= ? AND id < ?{only}"
        tail = " ORDER BY id" + ("" if most is None else f" LIMIT {most:d}")
        if hold:
            tail += self.driver.for_update + (self.driver.skip_locked if open_by is not None else "")
        if among is None:
            rows = self.execute(query + tail, *values).fetchall()
            expected = range(first, first + len(rows))
            if open_by is None and any(row[0] != number for row, number in zip(rows, expected, strict=True)):
                raise StorageError(
                    f"the study's log is damaged: some of the tickets from {first} on are gone. Restore a backup"
                )
        else:
            numbers, rows = sorted({*among}), []
            for start in range(0, len(numbers), PORTION):
                few = numbers[start : start + PORTION]
                chosen = f"{query} AND id IN ({','.join('?' * len(few))})"
                rows += self.execute(chosen + tail, *values, *few).fetchall()
        told = [row for row in rows if row[3] is not None]
        try:
            whole = _seals(told) == [row[-1] for row in told]
        except (TypeError, ValueError, OverflowError):
            whole = False
        if not whole:
            raise StorageError(
                f"the study's log is damaged: a reward of tickets {told[0][0]} to {told[-1][0]} is not what was written. "
                "Restore a backup"
            )
        return [StoredTicket(*row[:-1]) for row in rows]

    def add_tickets(self, study: int, tickets: Sequence[StoredTicket]) -> None:
        insert = f"INSERT INTO surest_tickets (study, {TICKET}, seal) VALUES (?{', ?' * 11})"
        rows = [astuple(ticket) for ticket in tickets]
        seals = iter(_seals([row for row in rows if row[3] is not None]))
        self.many(insert, [(study, *row, None if row[3] is None else next(seals)) for row in rows])

    def lease_tickets(self, study: int, numbers: Sequence[int], until: float, worker: str | None = None) -> None:
        taken = "" if worker is None else ", attempts = attempts + 1, worker = ?"
        update = f"UPDATE surest_tickets SET lease = ?{taken} WHERE study = ? AND id = ? AND reward IS NULL"
        who = () if worker is None else (worker,)
        self.many(update, [(until, *who, study, number) for number in sorted(numbers)])

    def write_rewards(self, study: int, told: Sequence[StoredTicket]) -> None:
        """Write rewards, each with its seal, and who told them."""
        what = f"reward = ?, cost = ?, seal = ?, worker = ?, told = {self.driver.now}"
        ordered = sorted(told, key=lambda ticket: ticket.number)
        rows = zip(ordered, _seals([astuple(ticket) for ticket in ordered]), strict=True)
        values = [(t.reward, t.cost, check, t.worker, study, t.number) for t, check in rows]
        self.many(f"UPDATE surest_tickets SET {what} WHERE study = ? AND id = ?", values)

    def write_events(self, study: int, events: Sequence[Event]) -> None:
        insert = "INSERT INTO surest_events (study, ticket, arm, kind, reason, worker, at) VALUES (?, ?, ?, ?, ?, ?, ?)"
        self.many(insert, [(study, *astuple(event.storable())) for event in events])
        failed = [(study, event.ticket) for event in events if event.kind not in NO_FAILURES]
        self.many("UPDATE surest_tickets SET failures = failures + 1 WHERE study = ? AND id = ?", failed)

    def read_events(self, study: int, first: int = 0, end: int | None = None) -> list[Event]:
        columns = "ticket, arm, kind, reason, worker, at"
        query = f"SELECT {columns} FROM surest_events WHERE study = ? ORDER BY id LIMIT ? OFFSET ?"
        return [Event(*row) for row in self.execute(query, study, (ALL if end is None else end) - first, first)]

    def count_events(self, study: int) -> list[Counted]:
        query = (
            "SELECT c.arm, c.kind, c.times, e.reason FROM (SELECT arm, kind, count(*) AS times, "
            "max(CASE WHEN reason <> '' THEN id END) AS last FROM surest_events WHERE study = ? GROUP BY arm, kind) c "
            "LEFT JOIN surest_events e ON e.id = c.last ORDER BY c.last"
        )
        return [Counted(arm, kind, times, reason or "") for arm, kind, times, reason in self.execute(query, study)]


def seal(*values: str | int | float | None) -> int:
    """A checksum of a row, so that damage which the database does not notice is noticed."""
    return zlib.crc32(json.dumps(values).encode())


def _sealed(rows: Iterable[Any], what: str) -> Iterator[tuple[Any, ...]]:
    """Rows of an arm or an item each, without number and seal; one that is gone or changed is refused."""
    for place, (number, *values, check) in enumerate(rows):
        if number != place or check != seal(number, *values):
            raise StorageError(f"the study's log is damaged: {what} {place} is not what was written")
        yield tuple(values)


def _seals(told: Sequence[Sequence[Any]]) -> list[int]:
    """The checksums of told tickets, as rows of `TICKET`, all at once: a study of a million rewards has a million of them.

    A study has items for all of its tickets or for none, and costs for those whose cost was measured.

    >>> free, paid = (7, 1, None, 0.5, 0.0, 1, 0, "ann", 1.0, None), (8, 1, None, 0.5, 0.0, 1, 0, "ann", 1.0, 0.25)
    >>> _seals([free]), _seals([free, paid]) == _seals([free]) + _seals([paid])
    ([-4379060614683937279], True)
    """
    if not told:
        return []
    numbers, arms, items, rewards, _, _, _, _, _, costs, *_ = zip(*told, strict=True)
    columns: list[tuple[Any, type]] = [(numbers, np.int64), (arms, np.int64), (rewards, np.float64)]
    if items[0] is not None:
        columns.append((items, np.int64))
    paid = [cost is not None for cost in costs]
    if all(paid):
        columns.append((costs, np.float64))

    def scrambled(words: Any) -> Any:
        """The finaliser of SplitMix64, of a number or an array: each bit of the input moves every bit of the output."""
        words = (words + 0x9E3779B97F4A7C15) & WORD
        words = ((words ^ (words >> 30)) * 0xBF58476D1CE4E5B9) & WORD
        words = ((words ^ (words >> 27)) * 0x94D049BB133111EB) & WORD
        return words ^ (words >> 31)

    mixed: Any = 0
    for column, kind in columns:
        words = np.array(column, kind).view(np.uint64)
        mixed = scrambled(mixed ^ (words if len(told) > 1 else words.item()))  # as a number, one is done far sooner
    if any(paid) and not all(paid):
        mixed = np.where(paid, scrambled(mixed ^ np.array(costs, np.float64).view(np.uint64)), mixed)
    found: list[int] = np.array(mixed, np.uint64).view(np.int64).reshape(-1).tolist()
    return found


# --- a store ---


MEANINGS = {
    "disk is full": "there is no room left on the disk. Make room and call again",
    "disk i/o error": "the disk could not be read or written. Check it, then call again",
    "file too large": "the file may not grow further. Make room and call again",
    "readonly database": "the file or its directory is read-only. Allow writing to both",
    "read-only file system": "the file system is read-only",
    "unable to open": "the file cannot be opened or made. Check that its directory exists and may be written to",
    "not a database": "the file is damaged, or is not a SQLite database. Restore a backup",
    "malformed": "the file is damaged. Restore a backup",
    "is locked": f"others have been writing to it for {BUSY_SECONDS:.0f} seconds. Call again",
    "lock timeout": f"others have held what this call needs for {LOCK_SECONDS:.0f} seconds. Call again; "
    "if it stays so, look for a worker that was stopped",
    "idle-in-transaction": "this process did not go on in time, and the server gave up on it. Call again",
    "no such table": "its tables are gone. Restore a backup",
    "no such index": "an index is gone. Restore a backup",
    "permission denied": "this user may not do that. Grant it the rights, or use another one",
}
"""What the usual failures mean, by what the database says (in lower case)."""
TABLES_LOCK = 5_872_019  # the key of PostgreSQL's advisory lock under which tables are made
_FOREIGN: list[Any] = []  # connections of a parent process: a child must neither use nor close them


class SqlStore:
    """One database, reached by any number of threads and processes."""

    def __init__(self, storage: str) -> None:
        self._given = storage
        self.driver = driver_of(storage)
        self._in_memory = isinstance(self.driver, SQLite) and self.driver.path is None
        self.one_machine = self.driver.is_sqlite and not self._in_memory
        self._pid, self._idle = 0, deque[Any]()
        """Connections that lie idle, which any thread may add to and take from, and of which process they are."""

    @property
    def shown(self) -> str:
        return masked(self._given)

    @contextmanager
    def _transaction(self, write: bool) -> Iterator[SqlLog]:
        """A transaction; what a failure of the database means is said in words."""
        try:
            with self.driver.turn:
                connection = self._begun(self.driver.begin_writing if write else self.driver.begin_reading)
                try:
                    yield SqlLog(connection, self.driver)
                    connection.execute("COMMIT")
                except BaseException:
                    with suppress(*self.driver.errors):
                        connection.execute("ROLLBACK")
                    raise
                finally:
                    if self._pid == os.getpid():
                        self._idle.append(connection)
        except ImportError as error:
            raise UsageError(
                f"{self.shown} needs a driver that is not installed ({error}); pip install 'surest[postgresql]'"
            ) from error
        except self.driver.errors as error:
            if isinstance(error, UnicodeDecodeError) or "could not decode" in str(error).lower():
                raise self._damaged(f"text in it cannot be read ({error})") from None
            raise self._explained(error) from None  # its traceback may hold what must not be shown

    reading = partialmethod(_transaction, False)
    writing = partialmethod(_transaction, True)
    """A transaction that writes, acknowledged once it is on disk. On SQLite there is one at a time."""

    def _begun(self, begin: str) -> Any:
        """A connection in a new transaction: one that lies idle, if it still works, or else a new one."""
        if self._pid != os.getpid():  # the first one here; a child must leave its parent's connections alone
            _FOREIGN.extend(self._idle)
            self._pid, self._idle = os.getpid(), deque()
            weakref.finalize(self, _close_all, self._idle, self._pid)
        while True:
            try:
                connection, used = self._idle.pop(), True
            except IndexError:
                connection, used = self.driver.connect(), False
            try:
                connection.execute(begin)
            except BaseException as error:
                connection.close()
                if used and isinstance(error, self.driver.errors) and not self.driver.is_sqlite:
                    continue  # the server was started again, or let go of it
                raise
            return connection

    def close(self) -> None:
        if not self._in_memory:
            _close_all(self._idle, self._pid)

    def _damaged(self, what: str) -> StorageError:
        return StorageError(f"{self.shown} is damaged: {what}. Restore a backup")

    def _explained(self, error: BaseException) -> StorageError:
        said = hidden_in(" ".join(str(error).split()), self._given)
        meaning = next((text for key, text in MEANINGS.items() if key in said.lower()), None)
        if meaning is None and type(error).__name__ in ("OperationalError", "InterfaceError", "AdminShutdown"):
            meaning = "the connection could not be made or was lost. Check the server, then call again"
        return StorageError(
            f"{self.shown}: {meaning or 'the database refused'} ({said}). This call was not acknowledged; whatever was "
            "acknowledged before is kept, and telling a reward again is harmless"
        )

    def prepare(self, *, create: bool) -> None:
        """Make the tables, or bring them up to date, whoever else does so at the same moment."""
        if isinstance(self.driver, SQLite) and self.driver.path is not None:
            # What SQLite would not say: it makes a file that is missing, and takes a stump for a new one.
            try:
                size = Path(self.driver.path).stat().st_size
            except FileNotFoundError:
                size = 0
                if not create:
                    makes = "'surest study create' or open_study(…, arms=…) makes one"
                    raise UsageError(f"{self.shown}: there is no such file; {makes}") from None
            except (OSError, ValueError) as error:
                raise StorageError(f"{self.shown} cannot be read: {error}") from None
            if 0 < size < SMALLEST_PAGE:
                raise self._damaged(f"{size} bytes are not a database")
        with self.reading() as log:
            version = log.version()
        if version is None and not create:
            raise UsageError(f"{self.shown} holds no studies; 'surest study create' or open_study(…, arms=…) makes one")
        if version == VERSION:
            return
        with self.writing() as log:
            if not self.driver.is_sqlite:  # whose writing transactions lock all of it
                log.execute("SELECT pg_advisory_xact_lock(?)", TABLES_LOCK)
            version = log.version()  # others may have been faster
            if version not in (None, *CHANGES, VERSION):
                newer = f"{self.shown} was written by a newer surest (its tables are version {version})"
                raise StorageError(f"{newer}; upgrade surest")
            for statement in TABLES if version is None else changes_since(version):
                log.execute(self.driver.define(statement) if isinstance(self.driver, PostgreSQL) else statement)

    def check(self, log: Log) -> None:
        """Look for damage, before all of the log is read."""
        if not self.driver.is_sqlite or self._in_memory or not isinstance(log, SqlLog):
            return
        log.execute("PRAGMA shrink_memory")  # what this connection remembers may not be what is on the disk
        found = [row[0] for row in log.execute("PRAGMA integrity_check(3)")]
        if found != ["ok"]:
            raise self._damaged("; ".join(map(str, found)))
        counted = "SELECT study FROM surest_tickets GROUP BY study HAVING count(*) <> max(id) + 1 OR min(id) <> 0"
        if log.execute(counted).fetchone() is not None:
            raise self._damaged("some tickets are gone")


def _close_all(connections: "deque[Any]", owner: int) -> None:
    """Close connections, if they are ours."""
    while connections and os.getpid() == owner:
        with suppress(Exception):  # another thread may be faster
            connections.pop().close()

"""The databases that can hold studies: how each is reached and locked, and what its statements need."""

import re
import sqlite3
import time
from pathlib import Path
from typing import Any, Protocol

from surest.errors import StorageError, UsageError

BUSY_SECONDS = 120.0
"""How long to wait for others who write to a SQLite file."""
LOCK_SECONDS = 60.0
"""How long to wait for others on PostgreSQL."""
IDLE_SECONDS = 120.0
"""After which PostgreSQL ends a writing transaction whose process does not go on: a stopped worker blocks others no longer."""
SMALLEST_PAGE = 512
"""Bytes of the smallest SQLite file."""


class Driver(Protocol):
    """A kind of database."""

    is_sqlite: bool
    now: str
    """The time, in a statement."""
    for_update: str
    """What makes a query hold its rows until the transaction ends."""
    skip_locked: str
    """What makes it leave out the rows that others hold."""
    by_open: str
    """What makes a query of open tickets go by their index: SQLite takes the primary key otherwise, and looks at every ticket."""

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        """What the driver raises."""

    def connect(self) -> Any:
        """A new DB-API connection that begins no transaction by itself."""

    def begin(self, cursor: Any, *, reading: bool) -> None:
        """Begin a transaction."""

    def statement(self, text: str) -> str:
        """A statement with the driver's placeholders, from one with question marks."""

    def define(self, text: str) -> str:
        """A statement that makes or changes a table, from SQLite's."""

    def has_table(self, cursor: Any, table: str) -> bool:
        """Whether there is a table of that name."""

    def broken(self, connection: Any) -> bool:
        """Whether a connection is of no more use."""


class SQLite:
    """A file, in WAL mode, each commit flushed to disk before it is acknowledged."""

    is_sqlite = True
    now = "surest_now()"
    for_update = ""
    skip_locked = ""
    by_open = " INDEXED BY surest_open_tickets"
    errors: tuple[type[Exception], ...] = (sqlite3.Error, UnicodeDecodeError)

    def __init__(self, path: str) -> None:
        self.path = path

    def connect(self) -> sqlite3.Connection:
        """WAL lets readers read while one writes; FULL flushes each commit, so that what is acknowledged outlives a power cut."""
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

    def begin(self, cursor: sqlite3.Cursor, *, reading: bool) -> None:
        """Take the write lock at once: a reader that turns writer could find that others were faster."""
        cursor.execute("BEGIN" if reading else "BEGIN IMMEDIATE")

    def statement(self, text: str) -> str:
        return text

    define = statement

    def has_table(self, cursor: sqlite3.Cursor, table: str) -> bool:
        query = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
        return cursor.execute(query, (table,)).fetchone() is not None

    def broken(self, connection: sqlite3.Connection) -> bool:
        return False

    def look(self, shown: str, *, create: bool) -> None:
        """Say of a file what SQLite would not say: it makes a missing one, and takes a stump for a new one."""
        try:
            size = Path(self.path).stat().st_size
        except FileNotFoundError:
            if not create:
                raise UsageError(
                    f"{shown}: there is no such file; 'surest study create' or open_study(…, arms=…) makes one"
                ) from None
            return
        except (OSError, ValueError) as error:
            raise StorageError(f"{shown} cannot be read: {error}") from None
        if 0 < size < SMALLEST_PAGE:
            raise StorageError(f"{shown} is damaged: {size} bytes are not a database. Restore a backup")


class PostgreSQL:
    """A server, for workers on several machines."""

    is_sqlite = False
    now = "extract(epoch from clock_timestamp())::double precision"
    for_update = " FOR UPDATE"
    skip_locked = " SKIP LOCKED"
    by_open = ""

    def __init__(self, url: str) -> None:
        self.url = url

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        import psycopg

        return (psycopg.Error,)

    def connect(self) -> Any:
        """A connection with limits: a worker that was stopped inside a transaction must not block the others for ever."""
        import psycopg

        connection = psycopg.connect(self.url, autocommit=True)
        connection.execute(f"SET lock_timeout = {1000 * LOCK_SECONDS:.0f}")
        connection.execute(f"SET idle_in_transaction_session_timeout = {1000 * IDLE_SECONDS:.0f}")
        return connection

    def begin(self, cursor: Any, *, reading: bool) -> None:
        """A reader sees one moment and locks nothing: it needs no right to write, and blocks nobody however long it takes."""
        if reading:
            cursor.execute(
                "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL idle_in_transaction_session_timeout = 0"
            )
        else:
            cursor.execute("BEGIN")

    def statement(self, text: str) -> str:
        return text.replace("?", "%s")

    def define(self, text: str) -> str:
        text = re.sub("INTEGER NOT NULL PRIMARY KEY( AUTOINCREMENT)?", "SERIAL PRIMARY KEY", text)
        return re.sub(r"\s*WITHOUT ROWID", "", text.replace(" DOUBLE", " DOUBLE PRECISION").replace(" BLOB", " BYTEA"))

    def has_table(self, cursor: Any, table: str) -> bool:
        # Not to_regclass: in a transaction that has waited for a lock, it may not know of what others made meanwhile.
        query = "SELECT 1 FROM pg_tables WHERE tablename = %s AND schemaname = ANY(current_schemas(false))"
        return cursor.execute(query, (table,)).fetchone() is not None

    def broken(self, connection: Any) -> bool:
        return bool(connection.closed) or bool(connection.broken)

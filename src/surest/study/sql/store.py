"""A database that holds studies: how it is reached and brought up to date, and what its failures mean."""

import os
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from surest.errors import StorageError, UsageError
from surest.masking import hidden_in, masked
from surest.study.log import Log
from surest.study.sql.drivers import BUSY_SECONDS, LOCK_SECONDS, Driver, PostgreSQL, SQLite
from surest.study.sql.log import SqlLog
from surest.study.sql.schema import VERSION, statements_from

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
TABLES_LOCK = 5_872_019
"""The key of PostgreSQL's advisory lock under which tables are made."""
_FOREIGN: list[Any] = []
"""Connections of a parent process: a child must neither use nor close them."""


class SqlStore:
    """One database, reached by any number of threads and processes."""

    def __init__(self, storage: str) -> None:
        self._given = storage
        self.shown = masked(storage)
        self.driver = driver_of(storage)
        self.one_machine = self.driver.is_sqlite
        self._begin_here()

    def _begin_here(self) -> None:
        """What belongs to one process: a child must leave its parent's connections, and its lock, alone."""
        self._pid, self._lock = os.getpid(), threading.Lock()
        self._idle: list[Any] = []
        weakref.finalize(self, _close_all, self._idle, self._pid)

    @contextmanager
    def reading(self) -> Iterator[Log]:
        with self._transaction(reading=True) as log:
            yield log

    @contextmanager
    def writing(self) -> Iterator[Log]:
        """A transaction that writes, acknowledged once it is on disk. On SQLite there is one at a time."""
        with self._transaction(reading=False) as log:
            yield log

    @contextmanager
    def _transaction(self, *, reading: bool) -> Iterator[SqlLog]:
        with self.failures():
            connection, cursor = self._begun(reading=reading)
            try:
                yield SqlLog(cursor, self.driver)
                cursor.execute("COMMIT")
            except BaseException:
                with suppress(*self.driver.errors):
                    cursor.execute("ROLLBACK")
                self._let_go(connection, cursor, keep=not self.driver.broken(connection))
                raise
            self._let_go(connection, cursor, keep=True)

    def _begun(self, *, reading: bool) -> tuple[Any, Any]:
        """A connection in a new transaction: one that lies idle, if it still works, or else a new one."""
        while True:
            idle = self._take()
            connection = self.driver.connect() if idle is None else idle
            cursor = connection.cursor()
            try:
                self.driver.begin(cursor, reading=reading)
            except BaseException as error:
                connection.close()
                if idle is not None and isinstance(error, self.driver.errors) and not self.driver.is_sqlite:
                    continue  # the server was started again, or let go of it
                raise
            return connection, cursor

    def _take(self) -> Any:
        if self._pid != os.getpid():  # in a child: the connections and the lock are its parent's
            _FOREIGN.extend(self._idle)
            self._begin_here()
        with self._lock:
            return self._idle.pop() if self._idle else None

    def _let_go(self, connection: Any, cursor: Any, *, keep: bool) -> None:
        with suppress(*self.driver.errors):
            cursor.close()
        if keep and self._pid == os.getpid():
            with self._lock:
                self._idle.append(connection)
        elif not keep:
            with suppress(*self.driver.errors):
                connection.close()

    def close(self) -> None:
        while (connection := self._take()) is not None:
            with suppress(*self.driver.errors):
                connection.close()

    @contextmanager
    def failures(self) -> Iterator[None]:
        """Say what a failure of the database means."""
        try:
            yield
        except ImportError as error:
            raise UsageError(
                f"{self.shown} needs a driver that is not installed ({error}); pip install 'surest[postgresql]'"
            ) from error
        except UnicodeDecodeError as error:
            raise self._damaged(f"text in it cannot be read ({error})") from error
        except Exception as error:
            if not isinstance(error, self.driver.errors):
                raise
            if "could not decode" in str(error).lower():
                raise self._damaged(f"text in it cannot be read ({error})") from None
            raise self._explained(error) from None  # its traceback may hold what must not be shown

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
        if isinstance(self.driver, SQLite):
            self.driver.look(self.shown, create=create)
        with self._transaction(reading=True) as log:
            version = log.version()
        if version is None and not create:
            raise UsageError(f"{self.shown} holds no studies; 'surest study create' or open_study(…, arms=…) makes one")
        if version == VERSION:
            return
        with self._transaction(reading=False) as log:
            if not self.driver.is_sqlite:  # whose writing transactions lock all of it
                log.value("SELECT pg_advisory_xact_lock(?)", TABLES_LOCK)
            version = log.version()
            statements = statements_from(version)
            if statements is None:
                raise StorageError(
                    f"{self.shown} was written by a newer surest (its tables are version {version}); upgrade surest"
                )
            for statement in statements:
                log.execute(self.driver.define(statement))

    def check(self, log: Log) -> None:
        """Look for damage, before all of the log is read."""
        if not self.driver.is_sqlite or not isinstance(log, SqlLog):
            return
        log.execute("PRAGMA shrink_memory")  # what this connection remembers may not be what is on the disk
        found = [row[0] for row in log.execute("PRAGMA integrity_check(3)")]
        if found != ["ok"]:
            raise self._damaged("; ".join(map(str, found)))
        counted = "SELECT study FROM surest_tickets GROUP BY study HAVING count(*) <> max(id) + 1 OR min(id) <> 0"
        if log.row(counted) is not None:
            raise self._damaged("some tickets are gone")


def _close_all(connections: list[Any], owner: int) -> None:
    """Close connections, if they are ours."""
    for connection in connections if os.getpid() == owner else ():
        with suppress(Exception):
            connection.close()


def driver_of(storage: str) -> Driver:
    """What a storage URL names; a mistake in it is the user's.

    >>> driver_of("sqlite:///studies.db").path
    'studies.db'
    """
    shown = masked(storage)
    kind, colon, rest = storage.partition("://")
    kind = kind.partition("+")[0].lower()
    if not colon or not kind.isalpha():
        raise UsageError(f"storage {shown!r} is not a URL; write sqlite:///file.db or postgresql://user@host/name")
    if kind == "sqlite":
        path = rest.partition("?")[0].removeprefix("/")
        if not rest.startswith("/") or not path or path == ":memory:" or "\0" in path:
            raise UsageError(f"storage {shown!r} names no file; write sqlite:///file.db (three slashes, then the path)")
        return SQLite(path)
    if kind in ("postgresql", "postgres"):
        _check_port(rest, shown)
        return PostgreSQL(f"postgresql://{rest}")
    raise UsageError(f"storage {shown!r}: studies are kept in sqlite:///file.db or postgresql://user@host/name")


def _check_port(rest: str, shown: str) -> None:
    """Refuse what is not a port here: the server's library would repeat it, and it may be a part of a password."""
    if rest.partition("?")[0].count("@") > 1:
        raise UsageError(f"storage {shown!r}: write an @ inside a password as %40")
    host = rest.partition("?")[0].rpartition("@")[2].partition("/")[0]
    for one in host.split(","):
        port = one.rpartition("]")[2].partition(":")[2]
        if port and not port.isdigit():
            raise UsageError(f"storage {shown!r}: what follows the host's colon is not a port number")

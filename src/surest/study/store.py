"""A database that holds studies: how it is reached, locked, brought up to date, and what its failures mean.

SQLite in WAL mode, each commit flushed to disk before it is acknowledged; PostgreSQL through psycopg. Nothing here knows what
a study is.
"""

import os
import sqlite3
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event, exc
from sqlalchemy.engine import URL, Connection, Engine, make_url

from surest.errors import StorageError, UsageError
from surest.study.schema import VERSION, VERSION_TABLE

BUSY_SECONDS = 120.0
"""How long to wait for others who write."""
SMALLEST_PAGE = 512
"""Bytes of the smallest SQLite file."""
MIGRATION_LOCK = 5_872_019
"""The key of PostgreSQL's advisory lock under which tables are made."""

MEANINGS = {
    "disk is full": "there is no room left on the disk. Make room and call again",
    "disk i/o error": "the disk could not be read or written. Check it, then call again",
    "file too large": "the file may not grow further. Make room and call again",
    "readonly database": "the file or its directory is read-only. Allow writing to both",
    "read-only file system": "the file system is read-only",
    "unable to open": "the file cannot be opened or made. Check that its directory exists and may be written to",
    "not a database": "the file is damaged, or is no SQLite database. Restore a backup",
    "malformed": "the file is damaged. Restore a backup",
    "is locked": f"others have been writing to it for {BUSY_SECONDS:.0f} seconds. Call again",
    "no such table": "its tables are gone. Restore a backup",
}
"""What the usual failures mean, by what the database says (in lower case)."""


class Store:
    """One database, reached by any number of threads and processes."""

    def __init__(self, storage: str) -> None:
        self.url = checked_url(storage)
        self.shown = self.url.set(drivername=self.url.get_backend_name()).render_as_string(hide_password=True)
        self.is_sqlite = self.url.get_backend_name() == "sqlite"
        self._engine: Engine | None = None
        self._pid = 0

    @property
    def engine(self) -> Engine:
        """Connections of this process: a fork must not use its parent's."""
        if self._engine is None or self._pid != os.getpid():
            if self._engine is not None:
                self._engine.dispose(close=False)
            self._engine, self._pid = _engine(self.url, self.is_sqlite), os.getpid()
            weakref.finalize(self, _dispose, self._engine, self._pid)
        return self._engine

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that only reads."""
        with self.failures(), self.engine.connect() as connection:
            connection.execution_options(reading=True)
            with connection.begin():
                yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that writes, acknowledged once it is on disk. On SQLite there is one at a time."""
        with self.failures(), self.engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def failures(self) -> Iterator[None]:
        """Say what a failure of the database means."""
        try:
            yield
        except exc.DBAPIError as error:
            lost = error.connection_invalidated or isinstance(error, exc.OperationalError)
            raise self._explained(error.orig, lost) from error
        except UnicodeDecodeError as error:
            raise StorageError(
                f"{self.shown} is damaged: text in it cannot be read ({error}). Restore a backup"
            ) from error
        except exc.TimeoutError as error:
            raise self._explained(error, True) from error
        except sqlite3.Error as error:  # from a cursor that is read directly
            raise self._explained(error, False) from error
        except (exc.NoSuchModuleError, ImportError) as error:
            raise UsageError(
                f"{self.shown} needs a driver that is not installed ({error}); pip install 'surest[postgresql]'"
            ) from error

    def _explained(self, error: BaseException | None, lost: bool) -> StorageError:
        said = " ".join(str(error).split())
        meaning = next((text for key, text in MEANINGS.items() if key in said.lower()), None)
        if meaning is None and lost:
            meaning = "the connection could not be made or was lost. Check the server, then call again"
        return StorageError(
            f"{self.shown}: {meaning or 'the database refused'} ({said}). This call was not acknowledged; whatever was "
            "acknowledged before is kept, and telling a reward again is harmless"
        )

    def now(self) -> sa.ColumnElement[float]:
        """The time by the one clock that all workers share: the server's, or this machine's."""
        if self.is_sqlite:
            return sa.literal(time.time())
        return sa.literal_column("extract(epoch from clock_timestamp())::double precision", sa.Double())

    def prepare(self, *, create: bool) -> None:
        """Make the tables, or bring them up to date, whoever else does so at the same moment."""
        if self.is_sqlite:
            self._look(create)
        with self.reading() as connection:
            version = _version(connection)
        if version is None and not create:
            raise UsageError(f"{self.shown} holds no studies; 'surest study create' or open_study(…, arms=…) makes one")
        if version != VERSION:
            with self.writing() as connection:
                self._lock_migrations(connection)
                _migrate(connection, self.shown)

    def _look(self, create: bool) -> None:
        """Say of a file what SQLite would not say: it makes a missing one, and takes a stump for a new one."""
        try:
            size = Path(self.url.database or "").stat().st_size
        except FileNotFoundError:
            if not create:
                raise UsageError(
                    f"{self.shown}: there is no such file; 'surest study create' or open_study(…, arms=…) makes one"
                ) from None
            return
        except (OSError, ValueError) as error:
            raise StorageError(f"{self.shown} cannot be read: {error}") from None
        if 0 < size < SMALLEST_PAGE:
            raise StorageError(f"{self.shown} is damaged: {size} bytes are no database. Restore a backup")

    def check(self, connection: Connection) -> None:
        """Look for damage, before all of the log is read."""
        if not self.is_sqlite:
            return
        found = [row[0] for row in connection.execute(sa.text("PRAGMA quick_check(3)"))]
        if found != ["ok"]:
            raise StorageError(f"{self.shown} is damaged ({'; '.join(found)}). Restore a backup")

    def _lock_migrations(self, connection: Connection) -> None:
        if not self.is_sqlite:
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(MIGRATION_LOCK)))


def checked_url(storage: str) -> URL:
    """A storage URL as SQLAlchemy knows it; a mistake in it is the user's.

    >>> checked_url("sqlite:///studies.db").database
    'studies.db'
    """
    try:
        url = make_url(storage)
        backend = url.get_backend_name()
    except (exc.ArgumentError, ValueError, AttributeError, TypeError):
        raise UsageError(
            f"storage {storage!r} is no URL; write sqlite:///file.db or postgresql://user@host/name"
        ) from None
    if backend == "sqlite":
        if not url.database or url.database == ":memory:":
            raise UsageError(
                f"storage {storage!r} names no file; write sqlite:///file.db (three slashes, then the path)"
            )
        return url.set(drivername="sqlite+pysqlite")
    if backend in ("postgresql", "postgres"):
        return url.set(drivername="postgresql+psycopg")
    raise UsageError(f"storage {storage!r}: studies are kept in sqlite:///file.db or postgresql://user@host/name")


def _engine(url: URL, is_sqlite: bool) -> Engine:
    if not is_sqlite:
        return sa.create_engine(url, pool_pre_ping=True, pool_size=4, max_overflow=12, pool_timeout=BUSY_SECONDS)
    engine = sa.create_engine(url, max_overflow=-1, connect_args={"timeout": BUSY_SECONDS, "isolation_level": None})
    event.listen(engine, "connect", _set_up)
    event.listen(engine, "begin", _begin)
    return engine


def _dispose(engine: Engine, owner: int) -> None:
    """Close the connections, if they are ours: a forked child must leave its parent's alone."""
    engine.dispose(close=os.getpid() == owner)


def _set_up(connection: Any, _: object) -> None:
    """WAL lets readers read while one writes; FULL flushes each commit, so that what is acknowledged outlives a power cut."""
    deadline = time.monotonic() + BUSY_SECONDS
    cursor = connection.cursor()
    while cursor.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        try:
            cursor.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            # SQLite does not wait here by itself when several processes make the same file.
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
    cursor.execute("PRAGMA synchronous=FULL")
    cursor.close()


def _begin(connection: Connection) -> None:
    """Take the write lock at once: a reader that turns writer could find that others were faster."""
    reading = connection.get_execution_options().get("reading", False)
    connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")


def _version(connection: Connection) -> str | None:
    if not sa.inspect(connection).has_table(VERSION_TABLE):
        return None
    return connection.execute(sa.text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar()


def _migrate(connection: Connection, shown: str) -> None:
    """Run what migrations are missing, inside the caller's transaction."""
    from alembic.config import Config  # slow to import, and needed once in the life of a database
    from alembic.runtime.environment import EnvironmentContext
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    scripts = ScriptDirectory.from_config(config)
    found = _version(connection)
    if found is not None and found not in [script.revision for script in scripts.walk_revisions()]:
        raise StorageError(f"{shown} was written by a newer surest (its tables are version {found}); upgrade surest")

    def missing(revision: Any, context: Any) -> Any:
        return scripts._upgrade_revs("head", revision)

    with EnvironmentContext(config, scripts, fn=missing) as environment:
        environment.configure(connection=connection, version_table=VERSION_TABLE)
        environment.run_migrations()

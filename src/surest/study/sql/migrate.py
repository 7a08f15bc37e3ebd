"""Make a database's tables, or bring them up to date. The one module that imports SQLAlchemy and alembic: it is rarely needed."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from alembic.config import Config
from alembic.runtime.environment import EnvironmentContext
from alembic.script import ScriptDirectory
from sqlalchemy.engine import Connection
from sqlalchemy.pool import NullPool

from surest.errors import StorageError
from surest.study.sql import VERSION_TABLE
from surest.study.sql.drivers import Driver

MIGRATION_LOCK = 5_872_019
"""The key of PostgreSQL's advisory lock under which tables are made."""


def migrate(driver: Driver, shown: str) -> None:
    """Run what migrations are missing, in one transaction, whoever else does so at the same moment."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    scripts = ScriptDirectory.from_config(config)
    known = [script.revision for script in scripts.walk_revisions()]
    with _transaction(driver) as connection:
        if not driver.is_sqlite:
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(MIGRATION_LOCK)))
        found = _version(connection)
        if found is not None and found not in known:
            raise StorageError(
                f"{shown} was written by a newer surest (its tables are version {found}); upgrade surest"
            )

        def missing(revision: Any, context: Any) -> Any:
            return scripts._upgrade_revs("head", revision)

        with EnvironmentContext(config, scripts, fn=missing) as environment:
            environment.configure(connection=connection, version_table=VERSION_TABLE)
            environment.run_migrations()


@contextmanager
def _transaction(driver: Driver) -> Iterator[Connection]:
    """A writing transaction on a connection of the driver's own making."""
    dialect = "sqlite+pysqlite" if driver.is_sqlite else "postgresql+psycopg"
    engine = sa.create_engine(f"{dialect}://", creator=lambda: driver.connect(migrating=True), poolclass=NullPool)
    if driver.is_sqlite:
        sa.event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN IMMEDIATE"))
    with engine.begin() as connection:
        yield connection


def _version(connection: Connection) -> str | None:
    if not sa.inspect(connection).has_table(VERSION_TABLE):
        return None
    return connection.execute(sa.text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar()

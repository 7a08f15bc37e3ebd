"""Studies in a SQL database: SQLite through the standard library, PostgreSQL through psycopg.

SQLAlchemy and alembic describe and migrate the tables; they are imported only when a database is made or brought up to date.
"""

VERSION = "0004"
"""The migration that this code reads and writes."""
VERSION_TABLE = "surest_version"

"""Studies in a SQL database: SQLite through the standard library, PostgreSQL through psycopg.

SQLAlchemy and alembic are imported only to bring tables up to date, and to make those of PostgreSQL.
"""

VERSION = "0004"
"""The migration that this code reads and writes."""
VERSION_TABLE = "surest_version"

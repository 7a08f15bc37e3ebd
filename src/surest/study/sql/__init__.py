"""Studies in a SQL database: SQLite through the standard library, PostgreSQL through psycopg."""

"""The tables of a study's log, as a new SQLite file gets them at once.

Migrations bring older files up to date, and make the tables of PostgreSQL: they need alembic and SQLAlchemy, which take longer to
import than most studies to run. Whoever changes a table here adds a migration; a test compares both.

The log is the truth: `requests` says what the algorithm asked for, `tickets` what was handed out and what came of it. A ticket
whose reward is null is open: leased until `lease`, and free to be handed out again after that. Of a study with a list of items
each ticket is a cell, an arm on an item, and each cell has at most one. Times are seconds since 1970, seals checksums.
"""

from surest.study.sql import VERSION, VERSION_TABLE

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
    """CREATE TABLE surest_requests (  -- first: its first ticket; runs: see `records.runs_of`
    study INTEGER NOT NULL, first BIGINT NOT NULL, total BIGINT NOT NULL, statistic TEXT NOT NULL, runs TEXT NOT NULL,
    seal BIGINT NOT NULL, PRIMARY KEY (study, first)) WITHOUT ROWID""",
    """CREATE TABLE surest_tickets (  -- reward: as the user told it; lease: 0 once it has failed; attempts: leases
    study INTEGER NOT NULL, id BIGINT NOT NULL, arm INTEGER NOT NULL, reward DOUBLE, lease DOUBLE NOT NULL,
    attempts INTEGER NOT NULL, worker TEXT NOT NULL, told DOUBLE, seal BIGINT, failures INTEGER DEFAULT '0' NOT NULL,
    item INTEGER, PRIMARY KEY (study, id)) WITHOUT ROWID""",
    "CREATE INDEX surest_open_tickets ON surest_tickets (study, id) WHERE reward IS NULL",
    "CREATE UNIQUE INDEX surest_cells ON surest_tickets (study, arm, item) WHERE item IS NOT NULL",
    """CREATE TABLE surest_items (  -- payload: JSON
    study INTEGER NOT NULL, item INTEGER NOT NULL, "key" TEXT NOT NULL, payload TEXT, seal BIGINT NOT NULL,
    PRIMARY KEY (study, item)) WITHOUT ROWID""",
    """CREATE TABLE surest_packs (  -- of earlier versions: not read any more
    study INTEGER NOT NULL, first BIGINT NOT NULL, rewards BLOB NOT NULL, seal BIGINT NOT NULL,
    PRIMARY KEY (study, first)) WITHOUT ROWID""",
    """CREATE TABLE surest_snapshots (  -- of earlier versions: not read any more
    study INTEGER NOT NULL, "key" TEXT NOT NULL, data TEXT NOT NULL, seal BIGINT NOT NULL, PRIMARY KEY (study))
    WITHOUT ROWID""",
    """CREATE TABLE surest_events (  -- kind: failed, timed out, expired, interrupted, retried, imputed
    id INTEGER NOT NULL, study INTEGER NOT NULL, ticket BIGINT NOT NULL, arm INTEGER NOT NULL, kind TEXT NOT NULL,
    reason TEXT NOT NULL, worker TEXT NOT NULL, at DOUBLE NOT NULL, PRIMARY KEY (id))""",
    "CREATE INDEX ix_surest_events_study ON surest_events (study)",
)

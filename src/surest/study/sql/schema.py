"""The tables of a study's log, and what brings those of earlier versions up to date.

The log is the truth: `requests` says what the algorithm asked for, `tickets` what was handed out and what came of it. A ticket
whose reward is null is open: leased until `lease`, and free to be handed out again after that. Of a study with a list of items
each ticket is a cell, an arm on an item, and each cell has at most one. Times are seconds since 1970, seals checksums.

Statements are SQLite's; `PostgreSQL.define` says them otherwise. Whoever changes a table adds to `CHANGES`; a test compares both.
"""

VERSION = "0005"
"""The tables that this code reads and writes."""
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
    """CREATE TABLE surest_requests (  -- first: its first ticket; runs: see `records.runs_of`
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


def statements_from(version: str | None) -> list[str] | None:
    """What brings a database up to date; None where a newer surest wrote it.

    >>> statements_from(VERSION), statements_from("0002")[-1], statements_from("9999")
    ([], "UPDATE surest_version SET version_num = '0005'", None)
    """
    if version is None:
        return list(TABLES)
    if version not in (*CHANGES, VERSION):
        return None
    missing = [statement for old, change in CHANGES.items() if old >= version for statement in change]
    return [*missing, f"UPDATE {VERSION_TABLE} SET version_num = '{VERSION}'"] if missing else []

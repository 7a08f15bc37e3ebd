"""The tables of a study's log.

The log is the truth: `requests` says what the algorithm asked for, `tickets` what was handed out and what came of it. A ticket
whose reward is null is open: leased until `lease`, and free to be handed out again after that. Of a study with a list of items
each ticket is a cell, an arm on an item, and each cell has at most one. Whoever changes a table here adds a migration; a test
compares both.
"""

import sqlalchemy as sa

metadata = sa.MetaData()
_Number = sa.BigInteger()
_Real: sa.Double[float] = sa.Double()

studies = sa.Table(
    "surest_studies",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.Text, nullable=False, unique=True),
    sa.Column("settings", sa.Text, nullable=False),  # JSON: see `study.settings`
    sa.Column("created", _Real, nullable=False),  # seconds since 1970, as all times here
    sa.Column("seal", _Number, nullable=False),
    sa.Column("paused", sa.Integer, nullable=False, server_default="0"),  # 1 while no tickets are handed out
    sqlite_autoincrement=True,  # a deleted study's number is not used again
)
arms = sa.Table(
    "surest_arms",
    metadata,
    sa.Column("study", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("arm", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("label", sa.Text, nullable=False),
    sa.Column("added_at", _Number, nullable=False),  # known to the algorithm from this ticket on
    sa.Column("seal", _Number, nullable=False),
    sqlite_with_rowid=False,
)
requests = sa.Table(
    "surest_requests",
    metadata,
    sa.Column("study", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("first", _Number, primary_key=True, autoincrement=False),  # its first ticket
    sa.Column("total", _Number, nullable=False),
    sa.Column("statistic", sa.Text, nullable=False),
    sa.Column("runs", sa.Text, nullable=False),  # see `records.runs_of`
    sa.Column("seal", _Number, nullable=False),
    sqlite_with_rowid=False,
)
tickets = sa.Table(
    "surest_tickets",
    metadata,
    sa.Column("study", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("id", _Number, primary_key=True, autoincrement=False),
    sa.Column("arm", sa.Integer, nullable=False),
    sa.Column("reward", _Real),  # as the user told it; null while the ticket is open
    sa.Column("lease", _Real, nullable=False),  # 0 once it has failed
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("worker", sa.Text, nullable=False),
    sa.Column("told", _Real),
    sa.Column("seal", _Number),
    sa.Column(
        "failures", sa.Integer, nullable=False, server_default="0"
    ),  # evaluations that failed; leases are `attempts`
    sa.Column("item", sa.Integer),  # null where the study has no items
    sqlite_with_rowid=False,
)
open_tickets = sa.Index(
    "surest_open_tickets",
    tickets.c.study,
    tickets.c.id,
    sqlite_where=tickets.c.reward.is_(None),
    postgresql_where=tickets.c.reward.is_(None),
)
cells = sa.Index(
    "surest_cells",
    tickets.c.study,
    tickets.c.arm,
    tickets.c.item,
    unique=True,
    sqlite_where=tickets.c.item.is_not(None),
    postgresql_where=tickets.c.item.is_not(None),
)
items = sa.Table(
    "surest_items",
    metadata,
    sa.Column("study", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("item", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("key", sa.Text, nullable=False),
    sa.Column("payload", sa.Text),  # JSON
    sa.Column("seal", _Number, nullable=False),
    sqlite_with_rowid=False,
)
packs = sa.Table(  # rewards of answered requests once more, for quick replays
    "surest_packs",
    metadata,
    sa.Column("study", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("first", _Number, primary_key=True, autoincrement=False),  # the ticket of the first reward
    sa.Column("rewards", sa.LargeBinary, nullable=False),  # doubles, little end first
    sa.Column("seal", _Number, nullable=False),
    sqlite_with_rowid=False,
)
snapshots = sa.Table(  # what the replay of a log last said, for quick looks
    "surest_snapshots",
    metadata,
    sa.Column("study", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("key", sa.Text, nullable=False),  # a digest of all that it follows from: see `study.snapshot`
    sa.Column("data", sa.Text, nullable=False),
    sa.Column("seal", _Number, nullable=False),
    sqlite_with_rowid=False,
)
events = sa.Table(
    "surest_events",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("study", sa.Integer, nullable=False, index=True),
    sa.Column("ticket", _Number, nullable=False),
    sa.Column("arm", sa.Integer, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),  # failed, timed out, expired, interrupted, retried, imputed
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("worker", sa.Text, nullable=False),
    sa.Column("at", _Real, nullable=False),
)

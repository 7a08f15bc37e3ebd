"""Items, failures counted apart from leases, and packs of rewards."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

FAILURES = """
UPDATE surest_tickets SET failures = (
  SELECT count(*) FROM surest_events
  WHERE surest_events.study = surest_tickets.study AND surest_events.ticket = surest_tickets.id
  AND surest_events.kind NOT IN ('expired', 'interrupted', 'retried', 'imputed')
)
WHERE EXISTS (
  SELECT 1 FROM surest_events
  WHERE surest_events.study = surest_tickets.study AND surest_events.ticket = surest_tickets.id
)
"""


def upgrade() -> None:
    """Add what is new, and count the failures that the events tell of."""
    op.add_column("surest_tickets", sa.Column("failures", sa.Integer, nullable=False, server_default="0"))
    op.add_column("surest_tickets", sa.Column("item", sa.Integer))
    op.create_index(
        "surest_cells",
        "surest_tickets",
        ["study", "arm", "item"],
        unique=True,
        sqlite_where=sa.text("item IS NOT NULL"),
        postgresql_where=sa.text("item IS NOT NULL"),
    )
    op.create_table(
        "surest_items",
        sa.Column("study", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("item", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("key", sa.Text, nullable=False),
        sa.Column("payload", sa.Text),
        sa.Column("seal", sa.BigInteger, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "surest_packs",
        sa.Column("study", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("first", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("rewards", sa.LargeBinary, nullable=False),
        sa.Column("seal", sa.BigInteger, nullable=False),
        sqlite_with_rowid=False,
    )
    op.execute(FAILURES)

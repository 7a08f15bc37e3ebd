"""Snapshots: what the replay of a log last said."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add what is new."""
    op.create_table(
        "surest_snapshots",
        sa.Column("study", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("key", sa.Text, nullable=False),
        sa.Column("data", sa.Text, nullable=False),
        sa.Column("seal", sa.BigInteger, nullable=False),
        sqlite_with_rowid=False,
    )

"""The first version of the tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create everything."""
    op.create_table(
        "surest_studies",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.Text, nullable=False, unique=True),
        sa.Column("settings", sa.Text, nullable=False),
        sa.Column("created", sa.Double, nullable=False),
        sa.Column("seal", sa.BigInteger, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "surest_arms",
        sa.Column("study", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("arm", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("label", sa.Text, nullable=False),
        sa.Column("added_at", sa.BigInteger, nullable=False),
        sa.Column("seal", sa.BigInteger, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "surest_requests",
        sa.Column("study", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("first", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("total", sa.BigInteger, nullable=False),
        sa.Column("statistic", sa.Text, nullable=False),
        sa.Column("runs", sa.Text, nullable=False),
        sa.Column("seal", sa.BigInteger, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "surest_tickets",
        sa.Column("study", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("id", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("arm", sa.Integer, nullable=False),
        sa.Column("reward", sa.Double),
        sa.Column("lease", sa.Double, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("worker", sa.Text, nullable=False),
        sa.Column("told", sa.Double),
        sa.Column("seal", sa.BigInteger),
        sqlite_with_rowid=False,
    )
    op.create_index(
        "surest_open_tickets",
        "surest_tickets",
        ["study", "id"],
        sqlite_where=sa.text("reward IS NULL"),
        postgresql_where=sa.text("reward IS NULL"),
    )
    op.create_table(
        "surest_events",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("study", sa.Integer, nullable=False),
        sa.Column("ticket", sa.BigInteger, nullable=False),
        sa.Column("arm", sa.Integer, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("worker", sa.Text, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
    )
    op.create_index("ix_surest_events_study", "surest_events", ["study"])

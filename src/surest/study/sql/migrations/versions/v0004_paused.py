"""Studies that are paused: no tickets are handed out."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add what is new."""
    op.add_column("surest_studies", sa.Column("paused", sa.Integer, nullable=False, server_default="0"))

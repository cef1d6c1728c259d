"""The seal and its pages, which are written anew with every entry."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Make the table, empty: who writes next has the key, and seals what is there."""
    op.create_table(
        "ledger_seal",
        sa.Column("path", sa.Text, primary_key=True),
        sa.Column("text", sa.Text, nullable=False),
    )

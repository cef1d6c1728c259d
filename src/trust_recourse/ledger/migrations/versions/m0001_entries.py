"""Entries and schemas, and the database's own refusal to change or remove what is there."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

TABLES = ("ledger_entries", "ledger_schemas")
SAYS = "the ledger only grows: nothing in it is changed or removed"


def upgrade() -> None:
    """Make both tables and what guards them."""
    op.create_table(
        "ledger_entries",
        sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("promise", sa.Text, nullable=False, index=True),
        sa.Column("at", sa.Text, nullable=False),
        sa.Column("content", sa.Text, nullable=False),
        sa.Column("previous", sa.Text, nullable=False, unique=True),
        sa.Column("hash", sa.Text, nullable=False, unique=True),
    )
    op.create_table(
        "ledger_schemas",
        sa.Column("hash", sa.Text, primary_key=True),
        sa.Column("text", sa.Text, nullable=False),
    )
    if op.get_bind().dialect.name == "sqlite":
        for table in TABLES:
            for deed in ("UPDATE", "DELETE"):
                op.execute(
                    f"CREATE TRIGGER {table}_no_{deed.lower()} BEFORE {deed} ON {table} "
                    f"BEGIN SELECT RAISE(ABORT, '{SAYS}'); END"
                )
        return
    op.execute(
        "CREATE FUNCTION ledger_only_grows() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION '{SAYS}'; END $$"
    )
    for table in TABLES:
        op.execute(
            f"CREATE TRIGGER {table}_only_grows BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
            "FOR EACH STATEMENT EXECUTE FUNCTION ledger_only_grows()"
        )

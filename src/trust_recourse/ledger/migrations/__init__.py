"""How the ledger's tables came to be, one step a file in `versions`; Alembic runs them in order."""

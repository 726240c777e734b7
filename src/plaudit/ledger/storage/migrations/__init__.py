"""How the tables of a ledger came to be what they are: one Alembic revision a release that changed them."""

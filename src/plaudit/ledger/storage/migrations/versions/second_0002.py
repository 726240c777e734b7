"""Records that do not recompute are kept apart, and those of a writer are found by their place there."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Change tables, each part by itself."""
    _index_writers()
    _keep_apart()


# -- the place of a record among those of its writer -------------------------------------------------------------------


def _index_writers() -> None:
    op.create_index("blocks_by_writer", "blocks", ["writer", "seq"])


# -- records kept apart ------------------------------------------------------------------------------------------------


def _keep_apart() -> None:
    op.create_table(
        "quarantine",
        sa.Column("id", NUMBER, primary_key=True),
        sa.Column("digest", sa.Text, nullable=False, unique=True),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("at", NUMBER, nullable=False),
        sa.Column("file", sa.Text, nullable=False),
        sa.Column("line", NUMBER, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("record", sa.Text, nullable=False),
    )

"""What another reward changes: totals, ranks, decisions."""

from plaudit.ledger.changes.changes import Changes

__all__ = ["Changes"]

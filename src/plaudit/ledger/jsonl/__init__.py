"""Append-only JSON lines that survive a crash."""

from plaudit.ledger.jsonl.files import JsonLines
from plaudit.ledger.jsonl.reading import read_lines

__all__ = ["JsonLines", "read_lines"]

"""Append-only JSON lines that survive a crash."""

from plaudit.ledger.jsonl.appending import JsonLines
from plaudit.ledger.jsonl.lines import read_lines

__all__ = ["JsonLines", "read_lines"]

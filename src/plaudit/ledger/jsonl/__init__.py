"""Append-only JSON lines that survive a crash."""

from plaudit.ledger.jsonl.files import JsonLines, read_lines

__all__ = ["JsonLines", "read_lines"]

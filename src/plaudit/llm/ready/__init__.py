"""Ready-made features: tags, JSON, numbers, mathematics, code, length and repetition."""

from plaudit.llm.ready.code import runs_code
from plaudit.llm.ready.length import length
from plaudit.llm.ready.matching import matches
from plaudit.llm.ready.mathematics import equal_mathematics
from plaudit.llm.ready.numbers import boxed_number, last_number
from plaudit.llm.ready.repetition import repetition
from plaudit.llm.ready.structured import valid_json
from plaudit.llm.ready.tags import tags

__all__ = [
    "boxed_number",
    "equal_mathematics",
    "last_number",
    "length",
    "matches",
    "repetition",
    "runs_code",
    "tags",
    "valid_json",
]

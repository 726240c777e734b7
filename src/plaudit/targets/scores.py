"""What every compiled reward returns."""

from typing import Any, NamedTuple


class Scores(NamedTuple):
    """The total, each term's value and score, and whether the row counts.

    Numbers for one row, arrays for a batch. Every term is always there. Where `ok` is false all numbers are NaN.
    """

    total: Any
    values: dict[str, Any]
    scores: dict[str, Any]
    ok: Any

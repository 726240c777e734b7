"""One value as a file of text writes it: a cell of CSV, a line of JSON."""

import json
from collections.abc import Sequence
from typing import Any

from plaudit.errors import InputError
from plaudit.language.field import LARGEST_INTEGER
from plaudit.ledger.jsonl.encoding import build_object

INFINITIES = {text: float(text) for text in ("inf", "-inf", "Infinity", "-Infinity")}
_BOOLS = {"true": True, "false": False, "1": True, "0": False, "1.0": True, "0.0": False}


def parse_number(cell: str) -> float:
    """Return the number that a cell holds; ValueError where it holds none.

    >>> parse_number("1e3"), parse_number("inf")
    (1000.0, inf)
    """
    value = float(cell)
    if "_" in cell:
        raise ValueError(cell)  # Python writes 1_000 so, and nobody else
    if abs(value) >= LARGEST_INTEGER and cell.strip().lstrip("+-").isdecimal() and abs(int(cell)) > LARGEST_INTEGER:
        return int(cell)  # the reward says that a float cannot hold it
    return value


def parse_bool(cell: str) -> bool:
    """Return the bool that a cell holds; ValueError where it holds none."""
    try:
        return _BOOLS[cell.strip().lower()]
    except KeyError:
        raise ValueError(cell) from None


def parse_json_row(line: str) -> dict[str, Any]:
    """Return the object that a line of JSON holds; InputError says why there is none."""
    try:
        row = _decode(line.rstrip("\r\n"))
    except InputError:
        raise
    except RecursionError:
        raise InputError("this is not a row: the JSON is nested too deeply.") from None
    except json.JSONDecodeError as error:
        problem = error.msg.removesuffix(" at")
        raise InputError(f"this is not JSON: {problem} (character {error.pos + 1}).") from None
    except ValueError as error:  # a whole number of thousands of digits
        raise InputError(f"this is not a row: {error}.") from None
    if not isinstance(row, dict):
        raise InputError(f"a row is a JSON object, {{…}}, and this is {shorten(row)}.")
    return row


def shorten(value: object) -> str:
    """Return a value as Python writes it, cut where it gets long.

    >>> shorten("x" * 100)
    "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…"
    """
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:40]}…"


def _build_unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    return build_object(pairs, lambda name: InputError(f"{shorten(name)} is given twice."))


_decode = json.JSONDecoder(object_pairs_hook=_build_unique).decode

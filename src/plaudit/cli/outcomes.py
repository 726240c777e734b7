"""Outcomes from a file: whole episodes by name, worst first."""

import json
from functools import partial
from pathlib import Path

from plaudit.errors import FileError, InputError, explain_unreadable
from plaudit.language.codec import build_object
from plaudit.language.field import RECORDS
from plaudit.reward.reward import Reward
from plaudit.reward.rows import Row, convert_infinities, flatten_records

Episodes = dict[str, list[Row]]
_ENTRIES = tuple(f"{record}." for record in RECORDS)


def read_outcomes(path: Path) -> Episodes:
    """Return the episodes of a JSON file in their order; FileError where it holds anything else."""
    try:
        found = json.loads(
            path.read_text(encoding="utf-8-sig"), object_pairs_hook=partial(build_object, refuse=_refuse_doubled)
        )
    except FileError as error:
        raise FileError(f"{path}: {error}") from None
    except OSError as error:
        raise explain_unreadable(path, error) from None
    except (ValueError, RecursionError) as error:
        raise FileError(f"{path} is not JSON: {error}") from None
    if not isinstance(found, dict) or not found:
        raise FileError(f"{path}: outcomes are a JSON object from a name to a list of rows, worst first.")
    for name, rows in found.items():
        if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
            raise FileError(f"{path}: the outcome {name!r} must be a list of rows, each a JSON object.")
    return found


def arrange_outcomes(outcomes: Episodes, reward: Reward) -> Episodes:
    """Return the rows as `reward.score` takes them: `prev` and `curr` as records, "inf" as a number.

    >>> from plaudit.systems import load
    >>> arrange_outcomes({"lost": [{"distance": "inf", "action": 0}]}, load("roadsense"))
    {'lost': [{'distance': inf, 'action': 0}]}
    """
    try:
        return {name: [_arrange_row(row, reward) for row in rows] for name, rows in outcomes.items()}
    except InputError as error:
        raise FileError(str(error)) from None


def _arrange_row(row: Row, reward: Reward) -> Row:
    nested: Row = {}
    for key, value in flatten_records(row).items():
        record, _, name = key.rpartition(".") if key.startswith(_ENTRIES) else ("", "", key)
        field = reward.fields.get(name)
        number = convert_infinities(value) if field is not None and field.kind == "number" else value
        (nested.setdefault(record, {}) if record else nested)[name] = number
    return nested


def _refuse_doubled(name: str) -> FileError:
    return FileError(f"{name!r} is given twice.")

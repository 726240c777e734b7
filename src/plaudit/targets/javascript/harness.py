"""The module that tests a module: golden rows in a table, compared one by one and as a batch."""

from collections.abc import Sequence
from importlib.resources import files
from typing import Any
from urllib.parse import quote

from plaudit.language.program import Program
from plaudit.targets.compiled import GoldenRow
from plaudit.targets.inputs import list_slots
from plaudit.targets.javascript.reward import JavaScriptReward
from plaudit.targets.javascript.writing import format_json, format_number


def write_harness(made: JavaScriptReward, file: str, rows: Sequence[GoldenRow]) -> str:
    """Return a module that imports `file`, which lies beside it, and tests it on `rows`: `node FILE` runs it."""
    program = made.program
    states = [
        {"name": name, "shape": carried.field.shape, "reset": carried.reset} for name, carried in program.states.items()
    ]
    lines = [
        "// Tests a reward of plaudit: node runs it, and it ends with 1 where a row differs. It was generated.",
        f"import * as reward from {format_json('./' + quote(file))};",
        "",
        f"const TERMS = {format_json(program.terms)};",
        f"const FIELDS = {format_json(_describe_fields(program))};",
        f"const STATES = {format_json(states)};",
        "// Inputs in the order of FIELDS (categories by position, flags as 1 or 0), the error that must be thrown or",
        "// null, the total with each term's value and score, the states after the step, and how far rounding may go.",
        "const ROWS = [",
        *(f"  {_format_row(row)}," for row in rows),
        "];",
    ]
    return "\n".join(lines) + "\n" + files(__package__).joinpath("harness.js").read_text(encoding="utf-8")


def _describe_fields(program: Program) -> list[dict[str, Any]]:
    states = list(program.states)
    return [
        {
            "name": slot.name,
            "kind": slot.field.kind,
            "labels": slot.field.labels,
            "other": slot.field.other is not None,
            "state": states.index(slot.field.name) if slot.field.name in states else None,
            "entry": slot.entry or 0,
        }
        for slot in list_slots(program)
    ]


def _format_row(row: GoldenRow) -> str:
    refused = "null" if row.refused is None else format_json(row.refused.__name__)
    numbers = [_format_list(each) for each in (row.inputs, row.numbers, row.states)]
    return f"[{numbers[0]}, {refused}, {numbers[1]}, {numbers[2]}, {format_number(row.allowed)}]"


def _format_list(numbers: Sequence[float]) -> str:
    return f"[{', '.join(format_number(float(number)) for number in numbers)}]"

"""Numbers, values, paths and whole findings as plain strings, for every format."""

import math
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path, PurePath
from struct import pack, unpack
from typing import Any
from urllib.parse import quote

from plaudit.checks.finding import Finding, Step
from plaudit.terminal import escape_line

MOST_SENTENCES = 6
"""Of longer witnesses the rest is counted."""

NOTHING = 1e-9
"""A number nearer to 0 is shown as 0."""
LONGEST = 1e15
"""Numbers from here on have an exponent."""
MOST_DIGITS = 9
"""Numbers that differ further behind are the same but for rounding."""

Value = float | bool | str
"""An input as a person gives it."""


def format_number(value: Any) -> str:
    """Return a number as people write it: six digits, no exponent up to 1e15, and 0 for anything below 1e-9.

    >>> format_number(12000.0), format_number(0.30000000000000004), format_number(2e-05), format_number(-4.9e-324)
    ('12,000', '0.3', '0.00002', '0')
    """
    rounded = float(f"{value:.6g}")
    if abs(rounded) < NOTHING:
        return "0"
    if not abs(rounded) < LONGEST:
        return f"{rounded:g}"
    return f"{rounded:,.0f}" if rounded == int(rounded) else _write_out(rounded)


def _write_out(value: float) -> str:
    """Return all digits of a number, without an exponent where that is no longer than people read."""
    text = repr(value)
    if "e" in text and NOTHING <= abs(value) < LONGEST:
        text = f"{Decimal(text):f}"
    return text.removesuffix(".0")


def format_apart(one: float, other: float) -> tuple[str, str]:
    """Return two numbers as people write them, with as many digits as it takes to tell them apart.

    >>> format_apart(10.0, 10.000004), format_apart(9.999999999999991, 10.0), format_apart(0.5, 12000)
    (('10', '10.000004'), ('10', '10'), ('0.5', '12,000'))
    """
    short = format_number(one), format_number(other)
    for digits in range(7, MOST_DIGITS + 1) if short[0] == short[1] else ():
        long = float(f"{one + 0.0:.{digits}g}"), float(f"{other + 0.0:.{digits}g}")
        if long[0] != long[1] and max(map(abs, long)) >= NOTHING:
            return _write_out(long[0]), _write_out(long[1])
    return short


def format_exactly(value: Value) -> str:
    """Return an input in a sentence: as people write it where that is the same number, else with all of its digits.

    >>> format_exactly(12000.0), format_exactly(0.1 + 0.2), format_exactly(True)
    ('12,000', '0.30000000000000004', 'true')
    """
    text = format_value(value)
    if isinstance(value, bool | str):
        return text
    short = format_number(value)
    return short if float(short.replace(",", "")) == float(text) else text


def format_place(value: float) -> str:
    """Return a number that something happens at as people write it; "about" where that is another number.

    >>> format_place(16.5), format_place(12.3456789), format_place(1 / 3)
    ('16.5', '12.3456789', 'about 0.333333')
    """
    if is_short(value):
        return format_number(value) if float(f"{value:.6g}") == value else _write_out(value)
    return f"about {format_number(value)}"


def is_short(value: float) -> bool:
    """Return whether a number has no more digits than people write."""
    return value == float(f"{value:.{MOST_DIGITS}g}") and (value == 0 or abs(value) >= NOTHING)


def format_value(value: Value) -> str:
    """Return an input so that typing it in gives the same input: all digits of a number, none to spare.

    What an environment computed in 32 bits has no more digits than those hold.

    >>> format_value(35.0), format_value(4.500000000000001), format_value(True), format_value("coding")
    ('35', '4.500000000000001', 'true', 'coding')
    >>> format_value(4.800000190734863), format_value(656259.625), format_value(5.2e-05), format_value(1e6)
    ('4.8', '656259.625', '0.000052', '1000000')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return escape_line(value)
    return _write_out(_shorten(float(value)))


def _shorten(value: float) -> float:
    """Return the number with the fewest digits that is the same in 32 bits, if `value` has no more than those."""
    if value == float(f"{value:.{MOST_DIGITS}g}") or not 1e-30 < abs(value) < 1e30 or _to_32_bits(value) != value:
        return value
    return next(short for digits in range(6, 18) if _to_32_bits(short := float(f"{value:.{digits}g}")) == value)


def _to_32_bits(value: float) -> float:
    found: float = unpack("f", pack("f", value))[0]
    return found


def capitalise(text: str) -> str:
    """Return a text as a sentence begins; the rest of it stays as it is, unlike with `str.capitalize`."""
    return text[:1].upper() + text[1:]


def format_total(total: float | None) -> str:
    """Return a total in six digits; "none" where there is none.

    >>> format_total(0.1 + 0.2), format_total(-113.0), format_total(1e6), format_total(None)
    ('0.3', '-113', '1000000', 'none')
    """
    return "none" if total is None else format_number(total).replace(",", "")


def encode_number(value: Value | None) -> Value | None:
    """Return a value as JSON can hold it: infinities and NaN, which it has not, as texts.

    >>> encode_number(float("inf")), encode_number(0.5), encode_number("coding")
    ('inf', 0.5, 'coding')
    """
    if isinstance(value, bool | str) or value is None or math.isfinite(value):
        return value
    return str(float(value))


def relative_path(file: str, root: str | Path) -> str | None:
    """Return `file` relative to the folder `root`, with forward slashes; None where it is not below it.

    >>> relative_path("/home/me/car/rewards.py", "/home/me")
    'car/rewards.py'
    """
    for path, folder in ((file, root), (os.path.realpath(file), os.path.realpath(root))):
        if os.path.isabs(file) and PurePath(path).is_relative_to(folder):
            return PurePath(path).relative_to(folder).as_posix()
    return None


def short_path(file: str, root: str | Path) -> str:
    """Return a path that people recognise: below `root`, else as it would be imported, else whole.

    >>> import plaudit
    >>> short_path(plaudit.__file__, "/elsewhere")
    'plaudit/__init__.py'
    """
    folders = [root, *sorted(filter(None, sys.path), key=len, reverse=True)]
    found = (relative_path(file, folder) for folder in folders)
    return next((path for path in found if path is not None), PurePath(file).as_posix())


def format_uri(file: str, root: str | Path) -> str:
    """Return the address of `file`: relative to `root` where it is below it, percent-encoded.

    >>> format_uri("/home/me/my car.py", "/home/me"), format_uri("/opt/car.py", "/home/me")
    ('my%20car.py', 'file:///opt/car.py')
    """
    below = relative_path(file, root)
    if below is not None:
        return quote(os.fsencode(below))
    path = PurePath(file)
    return path.as_uri() if path.is_absolute() else quote(os.fsencode(path.as_posix()))


def format_finding(finding: Finding, rest: Mapping[str, Value]) -> str:
    """Return a finding as lines: the message, the evidence, its witness, the advice, the facts it rests on.

    >>> stay = Step({"near": True}, 0.5, "stay")
    >>> found = Finding(code="jump", severity="advice", term="gap", message="Oh.", advice="Do.", witness=(stay,))
    >>> print(format_finding(found, {}))
    gap: Oh.
    stay: near true; total 0.5
    Do.
    """
    lines = [
        f"{finding.term}: {escape_line(finding.message)}",
        *([escape_line(finding.evidence.says)] if finding.evidence is not None else []),
        *_format_steps(finding.witness, rest),
        escape_line(finding.advice),
    ]
    lines += [f"Facts used: {escape_line(', '.join(finding.facts))}."] if finding.facts else []
    return "\n".join([*lines, *map(escape_line, finding.list_weak_grounds())])


def _format_steps(steps: Sequence[Step], rest: Mapping[str, Value]) -> Iterator[str]:
    named = {name for step in steps for name, value in step.inputs.items() if name not in rest or value != rest[name]}
    resting = ", other inputs at rest" if any(step.inputs.keys() - named for step in steps) else ""
    for step in steps[:MOST_SENTENCES]:
        note = f"{escape_line(step.note)}: " if step.note else ""
        inputs = ", ".join(f"{name} {format_value(value)}" for name, value in step.inputs.items() if name in named)
        yield f"{note}{inputs or 'all inputs at rest'}{resting if inputs else ''}; total {format_total(step.total)}"
    if len(steps) > MOST_SENTENCES:
        yield f"… {len(steps) - MOST_SENTENCES:,} more rows"

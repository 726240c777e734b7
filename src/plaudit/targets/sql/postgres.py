"""PostgreSQL's arithmetic made total: it refuses to overflow and to underflow, where a float64 goes on with inf and 0.

Each operation is written plainly where intervals show that it can do neither. Else a condition on the operands decides
first: exact where one of them is a constant, as the limit can then be found by trying. There are no frexp and fmod
either; the remainder is taken of the integers that two floats are multiples of.
"""

import math
import struct
from collections.abc import Callable

from plaudit.language import nodes as n
from plaudit.targets.sql.lower import LoweredProgram

TINY = 5e-324
_INF = "'Infinity'::float8"


def choose_total_template(lowered: LoweredProgram, at: int) -> str:
    """Return the template of an operation that never fails; empty where the common one will do."""
    node = lowered.program.nodes[at]
    match node:
        case n.Add() | n.Sub():
            return _write_sum(lowered, at, "+" if isinstance(node, n.Add) else "-")
        case n.Mul(left, right):
            return _write_product(lowered, at, left, right)
        case n.Div(left, right):
            return _write_quotient(lowered, at, left, right)
        case n.Exp(arg) if lowered.found[arg].low < -700:
            return "CASE WHEN {0} < -745.1332191019411::float8 THEN 0.0::float8 ELSE exp({0}) END"
        case n.Mod():
            return REMAINDER
    return ""


def _format_literal(value: float) -> str:
    return f"{value!r}::float8"


def _find_smallest(holds: Callable[[float], bool]) -> float:
    """Return the smallest positive float for which a condition holds that, once true, stays true; inf where none."""
    low, high = 0, struct.unpack("<q", struct.pack("<d", math.inf))[0]
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(_to_float(middle)) else (middle + 1, high)
    return _to_float(low)


def _find_limits(operation: Callable[[float, float], float], constant: float) -> tuple[float, float]:
    """Return where an operation with a constant begins to overflow, and where it ceases to underflow."""
    return (
        _find_smallest(lambda x: operation(x, constant) == math.inf),
        _find_smallest(lambda x: operation(x, constant) > 0),
    )


def _to_float(bits: int) -> float:
    return float(struct.unpack("<d", struct.pack("<q", bits))[0])


def _find_constant(lowered: LoweredProgram, at: int) -> float | None:
    node = lowered.program.nodes[at]
    return float(node.value) if isinstance(node, n.Const) else None


def _find_least_size(lowered: LoweredProgram, at: int) -> float:
    """Return the smallest size that a node can have when it is not 0."""
    low, high = lowered.found[at]
    if not low <= 0 <= high:
        return min(abs(low), abs(high))
    return 1.0 if lowered.integers[at] else TINY


def _write_sum(lowered: LoweredProgram, at: int, sign: str) -> str:
    if lowered.found[at].finite:
        return ""
    large = _format_literal(2.0**968)  # a smaller operand cannot lift the other one over the edge
    half = f"({{0}} * 0.5::float8 {sign} {{1}} * 0.5::float8)"
    return (
        f"CASE WHEN abs({{0}}) > {large} AND abs({{1}}) > {large} "
        f"THEN CASE WHEN abs({half}) >= {_format_literal(2.0**1023)} THEN {half} * {_INF} ELSE {{0}} {sign} {{1}} END "
        f"ELSE {{0}} {sign} {{1}} END"
    )


def _write_product(lowered: LoweredProgram, at: int, left: int, right: int) -> str:
    overflows = not lowered.found[at].finite
    underflows = _find_least_size(lowered, left) * _find_least_size(lowered, right) == 0
    if left == right:
        limits = _find_limits(lambda x, _: x * x, 0.0)
        return _write_limited("abs({0})", "{0} * {0}", 1.0, limits, overflows, underflows)
    for slot, other in ((1, left), (0, right)):
        if (factor := _find_constant(lowered, other)) is not None:
            if abs(factor) in (0, math.inf):
                return ""
            operand = f"{{{slot}}}"
            limits = _find_limits(lambda x, size: x * size, abs(factor))
            return _write_limited(
                operand, f"{operand} * {_format_signed(factor)}", factor, limits, overflows, underflows
            )
    tests = []
    if overflows:
        edge = f"({{0}} * {_format_literal(2.0**-512)}) * ({{1}} * {_format_literal(2.0**-512)})"
        tests.append(
            f"WHEN abs({{0}}) > 1.0::float8 AND abs({{1}}) > 1.0::float8 THEN "
            f"CASE WHEN abs({edge}) >= 1.0::float8 THEN {{0}} * {_INF} * {{1}} ELSE {{0}} * {{1}} END"
        )
    if underflows:
        lifted = f"({{0}} * {_format_literal(2.0**300)}) * ({{1}} * {_format_literal(2.0**300)})"
        small = _format_literal(2.0**-538)
        tests.append(
            f"WHEN abs({{0}}) < {_format_literal(1e-140)} AND abs({{1}}) < 1.0::float8 "
            f"OR abs({{1}}) < {_format_literal(1e-140)} AND abs({{0}}) < 1.0::float8 THEN "
            f"CASE WHEN {{0}} = 0.0::float8 OR {{1}} = 0.0::float8 OR abs({{0}}) <= {small} AND abs({{1}}) <= {small} "
            f"THEN ({{0}} * 0.0::float8) * {{1}} "
            f"WHEN abs({lifted}) <= {_format_literal(2.0**-475)} THEN ({{0}} * 0.0::float8) * {{1}} "
            f"ELSE {{0}} * {{1}} END"
        )
    return f"CASE {' '.join(tests)} ELSE {{0}} * {{1}} END" if tests else ""


def _write_quotient(lowered: LoweredProgram, at: int, left: int, right: int) -> str:
    overflows = not lowered.found[at].finite
    largest = max(abs(lowered.found[right].low), abs(lowered.found[right].high))
    underflows = _find_least_size(lowered, left) / min(largest, 1.7976931348623157e308) == 0
    if (divisor := _find_constant(lowered, right)) is not None:
        if abs(divisor) == math.inf:
            return ""
        limits = _find_limits(lambda x, size: x / size, abs(divisor))
        return _write_limited("{0}", f"{{0}} / {_format_signed(divisor)}", divisor, limits, overflows, underflows)
    tests = []
    if overflows:
        reach = f"abs({{1}}) * {_format_literal(2.0**1023)} * 2.0::float8"
        tests.append(
            f"WHEN abs({{1}}) < 1.0::float8 THEN CASE WHEN {{0}} <> 0.0::float8 AND abs({{0}}) >= {reach} "
            f"THEN {{0}} * {_INF} * {{1}} ELSE {{0}} / {{1}} END"
        )
    if underflows:
        tests.append(
            f"WHEN abs({{1}}) > 1.0::float8 AND abs({{1}}) < {_INF} AND abs({{0}}) < 1.0::float8 THEN "
            f"CASE WHEN abs({{0}}) * {_format_literal(2.0**1000)} <= abs({{1}}) * {_format_literal(2.0**-75)} "
            f"THEN ({{0}} * 0.0::float8) * {{1}} ELSE {{0}} / {{1}} END"
        )
    return f"CASE {' '.join(tests)} ELSE {{0}} / {{1}} END" if tests else ""


def _format_signed(value: float) -> str:
    return _format_literal(value) if value >= 0 else f"(-{_format_literal(-value)})"


def _write_limited(
    operand: str, plain: str, factor: float, limits: tuple[float, float], overflows: bool, underflows: bool
) -> str:
    """Return an operation with a constant, decided first where its operand is beyond one of two limits."""
    over, kept = limits
    sign = "" if factor >= 0 else "-"
    size = operand if operand.startswith("abs") else f"abs({operand})"
    tests = []
    if overflows and over < math.inf:
        tests.append(f"WHEN {size} >= {_format_literal(over)} THEN {operand} * ({sign}{_INF})")
    if underflows and kept > TINY:
        tests.append(f"WHEN {size} < {_format_literal(kept)} THEN {operand} * ({sign}0.0::float8)")
    return f"CASE {' '.join(tests)} ELSE {plain} END" if tests else f"({plain})"


def _write_bits(slot: str) -> str:
    return f"(('x' || encode(float8send(abs({slot})), 'hex'))::bit(64)::bigint)"


def _write_power(slot: str) -> str:
    """Return the exponent of a float: it is an integer of 53 bits times two to the power of this less 1075."""
    return f"greatest({_write_bits(slot)} >> 52, 1)"


def _write_mantissa(slot: str) -> str:
    bits = _write_bits(slot)
    return f"(({bits} & 4503599627370495) + CASE WHEN {bits} >> 52 > 0 THEN 4503599627370496 ELSE 0 END)::numeric"


def _write_remainder() -> str:
    apart = f"({_write_power('{0}')} - {_write_power('{1}')})::int"
    whole = f"mod({_write_mantissa('{0}')} * round(power(2::numeric, {apart})), {_write_mantissa('{1}')})"
    power = f"({_write_power('{1}')} - 1075)"
    first = f"power(2.0::float8, ({power} / 2)::float8)"
    second = f"power(2.0::float8, ({power} - {power} / 2)::float8)"
    return (
        f"CASE WHEN abs({{0}}) < abs({{1}}) AND abs({{1}}) <= {_INF} THEN {{0}} "
        f"WHEN abs({{0}}) < {_INF} AND abs({{1}}) < {_INF} "
        f"THEN sign({{0}}) * ({whole}::float8 * {first} * {second}) ELSE 'NaN'::float8 END"
    )


REMAINDER = _write_remainder()
"""The exact remainder of two floats: NaN for an infinite dividend, the dividend itself below the divisor."""

"""What NumPy, JAX and PyTorch share: one table of spellings, and how columns become the arguments of generated code.

Both branches of a choice are computed, so every operation is written to be harmless outside its domain; that keeps
gradients finite in the branch not taken.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from plaudit.errors import ShapeMismatch, WrongType
from plaudit.language import nodes as n
from plaudit.language.field import Field
from plaudit.language.program import Program
from plaudit.language.static import list_open_guards
from plaudit.targets.compiled import Layout
from plaudit.targets.emit import Code, Spelling, build_function, emit, format_end, format_literal
from plaudit.targets.inputs import list_slots, make_none_error

CATEGORY_HINT = "Turn strings into positions once, with reward.encode(columns)."


def _format_domain(domain: n.Domain) -> str:
    """Return the test that {0} is inside a domain, on a whole column."""
    if domain == n.FINITE:
        return "isfinite({0})"
    below, above = (">" if domain.open_low else ">="), ("<" if domain.open_high else "<=")
    tests = [f"({{0}} {below} {domain.low:g})"] if domain.low > -math.inf else []
    tests += [f"({{0}} {above} {format_end(domain.high)})"] if domain.high < math.inf or domain.open_high else []
    return " & ".join(tests)


def _format_function(kind: type[n.Node]) -> str:
    """Return a function whose argument is replaced by a harmless one outside the domain."""
    name = n.split_function(kind)[1]
    if kind.domain is None:
        return f"{name}({n.format_slots(kind)})"
    return f"{name}(where({_format_domain(kind.domain)}, {{0}}, {'one' if kind.harmless else 'zero'}))"


def _format_smooth(kind: type[n.Node]) -> str:
    """Return a function whose gradient is 0 where its slope is infinite or undefined, and not a NaN.

    That is at the ends of a domain and, for a function of two arguments, where the sum of their squares is 0 or
    overflows.
    """
    smooth = "({0} * {0} + {1} * {1} > 0) & ({0} * {0} + {1} * {1} < inf)"
    if kind.domain is not None:
        smooth = _format_domain(kind.domain._replace(open_low=True, open_high=True))
    name, slots = n.split_function(kind)[1], n.format_slots(kind).split(", ")
    moving = ", ".join(f"where({smooth}, {slot}, 0.5)" for slot in slots)
    still = _format_function(kind)
    for slot in slots:
        still = still.replace(slot, f"still({slot})")
    return f"where({smooth}, {name}({moving}), {still})"


_INSIDE = "({0} >= 0) & ({0} <= {last})"

OPERATIONS: dict[type[n.Node], str] = {
    **{kind: _format_function(kind) for kind in n.FUNCTIONS},
    n.Neg: "(-{0})",
    n.Not: "logical_not({0})",
    n.Number: "where({0}, one, zero)",
    n.Sign: "where({0} > 0, one, where({0} < 0, -one, where({0} == 0, zero, {0})))",  # libraries differ at -0 and NaN
    n.IsInf: "isinf({0})",
    n.IsFinite: "isfinite({0})",
    n.Add: "({0} + {1})",
    n.Sub: "({0} - {1})",
    n.Mul: "({0} * {1})",
    n.Div: "({0} / where({1} == 0, one, {1}))",
    n.FloorDiv: "floor_divide({0}, where({1} == 0, one, {1}))",
    n.Mod: "remainder({0}, where({1} == 0, one, {1}))",
    n.Min: "where({1} < {0}, {1}, {0})",
    n.Max: "where({1} > {0}, {1}, {0})",
    n.Lt: "({0} < {1})",
    n.Le: "({0} <= {1})",
    n.Gt: "({0} > {1})",
    n.Ge: "({0} >= {1})",
    n.Eq: "({0} == {1})",
    n.Ne: "({0} != {1})",
    n.And: "({0} & {1})",
    n.Or: "({0} | {1})",
    n.Select: "where({0}, {1}, {2})",
    n.Clip: "where({0} < {1}, {1}, where({0} > {2}, {2}, {0}))",
    n.Item: f"take({{table}}, where({_INSIDE}, {{0}}, 0))",
}

SMOOTH: dict[type[n.Node], str] = {
    **OPERATIONS,
    **{kind: _format_smooth(kind) for kind in n.FUNCTIONS if kind.steep_ends or issubclass(kind, n.Binary)},
}
"""The same for libraries that take gradients."""

DEFINED: dict[type[n.Node], str] = {
    **{kind: f"({_format_domain(kind.domain)})" for kind in n.FUNCTIONS if kind.domain is not None},
    **dict.fromkeys((n.Div, n.FloorDiv, n.Mod), "({1} != 0)"),
    n.Item: f"({_INSIDE} & is_integer({{0}}))",
}

_NAMES = {"round": "rint"}
"""Functions that array libraries call something else."""


def collect_names(library: Any, names: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the spellings call: functions of an array library, and `names`, which it lacks."""
    functions = [n.split_function(kind)[1] for kind in n.FUNCTIONS]
    called = [*functions, "where", "logical_not", "isinf", "isfinite", "floor_divide", "remainder"]
    found = {name: _find_function(library, _NAMES.get(name, name)) for name in called if name not in names}
    return {**found, "inf": math.inf, "nan": math.nan, **names}


def _find_function(library: Any, name: str) -> Any:
    """Return a function of a library; what Python calls `atan` is `arctan` in some."""
    return getattr(library, name if hasattr(library, name) else f"arc{name[1:]}")


@dataclass(frozen=True, slots=True)
class Generated:
    """A function of inputs, parameters and constants that returns every output of a layout, and `ok` last."""

    function: Callable[..., tuple[Any, ...]]
    layout: Layout
    constants: tuple[float | bool, ...]
    tables: tuple[tuple[float | bool, ...], ...]
    """Constants and tables to pass as further arguments, as arrays of the target's own."""


def generate(program: Program, *, guard: bool, names: dict[str, Any], inline: bool) -> Generated:
    """Return `program` written with the operations in `names`.

    With `inline`, numbers stand in the text; else each becomes an argument, so that it can take the dtype of a call.
    """
    layout = Layout.of(program, clamped=False)
    constants: dict[str, float | bool] = {}
    names_of: dict[str, str] = {}

    def name_constant(value: float | bool) -> str:
        name = names_of.setdefault(repr(value), f"c{len(names_of)}")
        constants[name] = value
        return name

    spelling = Spelling(*((OPERATIONS, DEFINED, format_literal) if inline else (SMOOTH, DEFINED, name_constant)))
    guards = list_open_guards(program, ranges=guard, exact=inline)
    code = Code() if inline else _write_safe_inputs(program, guards[: len(program.ranges) if guard else 0], spelling)
    code = emit(program, [*layout.roots, *guards], spelling, code)
    arguments = [f"x{i}" for i in range(len(program.inputs))] + [f"p{i}" for i in range(len(program.params))]
    arguments += [*constants, *code.tables, "zero", "one", "largest_exponent"]
    lines = ["ok = True", *(f"ok = ok & {code.texts[at]}" for at in guards)]
    outputs = "".join(f"{code.texts[root]}, " for root in layout.roots)
    made = build_function("score", arguments, [*code.lines, *lines, f"return ({outputs}ok)"], names)
    return Generated(made, layout, tuple(constants.values()), tuple(code.tables.values()))


def _write_safe_inputs(program: Program, ranges: Sequence[int], spelling: Spelling) -> Code:
    """Return code that tests each range and puts a harmless value where it fails.

    The row is masked either way; without this its NaN would reach the gradient of every parameter and input.
    """
    code = emit(program, ranges, spelling)
    names = list(program.inputs)
    for k, (guard, at) in enumerate(zip(program.ranges, ranges, strict=False)):
        code.lines.append(f"g{k} = {code.texts[at]}")
        code.texts[at] = f"g{k}"
        field = program.inputs[guard.where]
        if field.kind == "number":
            x, rest = f"x{names.index(guard.where)}", spelling.constant(float(field.at_rest))
            code.lines.append(f"{x} = where(g{k}, {x}, {rest})")
    return code


def gather(
    program: Program, given: Mapping[str, Any], convert: Callable[[str, Field, Any], tuple[Any, Any]]
) -> tuple[list[Any], dict[str, Any], tuple[int, ...]]:
    """Return the arguments for the inputs in order, where each column was exact, and the batch's shape.

    `given` holds the columns by name. `convert` turns one into an array of the target's own and a condition under
    which it is what was given, or None where it always is.
    """
    converted: dict[str, Any] = {}
    conditions: dict[str, Any] = {}
    arguments = []
    shapes: dict[str, tuple[int, ...]] = {}
    for slot in list_slots(program):
        name = slot.name if slot.name in given else slot.column
        vector = slot.entry is not None and name == slot.column
        if name not in converted:
            converted[name], exact = convert(name, slot.field, given[name])
            shape = tuple(converted[name].shape)
            if vector and (not shape or shape[-1] != slot.field.length):
                raise ShapeMismatch(
                    f"reward {program.name!r}, field {name!r}: its last axis must hold {slot.field.length} values, "
                    f"and the shape is {shape}."
                )
            if exact is not None:
                conditions[name] = exact.all(-1) if vector else exact
        array = converted[name][..., slot.entry] if vector else converted[name]
        arguments.append(array)
        shapes[name] = tuple(array.shape)
    return arguments, conditions, find_common_shape(program.name, shapes)


def find_common_shape(reward: str, shapes: dict[str, tuple[int, ...]]) -> tuple[int, ...]:
    """Return the one shape that all columns have; single values stand for every row."""
    found = {shape for shape in shapes.values() if shape}
    if len(found) > 1:
        shown = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise ShapeMismatch(f"reward {reward!r}: the columns differ in shape: {shown}.")
    return found.pop() if found else ()


def to_array(reward: str, name: str, field: Field, value: Any) -> Any:
    """Return a list, number or array as a NumPy array, None replaced by what stands in for it."""
    if np.ma.is_masked(value):
        raise make_none_error(reward, name)
    try:
        column = np.asarray(value)
    except ValueError:
        raise ShapeMismatch(f"reward {reward!r}, field {name!r}: its rows differ in length.") from None
    if column.dtype.kind != "O" or not any(entry is None for entry in column.reshape(-1)):
        return column if column.dtype.isnative else column.astype(column.dtype.newbyteorder("="))
    if field.missing is None:
        raise make_none_error(reward, name)
    stand_in = field.labels.index(str(field.missing)) if field.kind == "category" else field.missing
    filled = [stand_in if entry is None else entry for entry in column.reshape(-1)]
    return np.asarray(filled).reshape(column.shape)


def make_dtype_error(reward: str, name: str, field: Field, dtype: object) -> WrongType:
    """Return the error for a column of the wrong kind."""
    hint = CATEGORY_HINT if field.kind == "category" else "Convert the column before scoring."
    wanted = {"number": "numbers", "flag": "bools", "category": "positions (integers) of a category"}[field.kind]
    return WrongType(f"reward {reward!r}, field {name!r}: a column of {dtype} does not hold {wanted}. {hint}")

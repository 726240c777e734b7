"""What NumPy, JAX and PyTorch share: one table of spellings, and how columns become the arguments of generated code.

Both branches of a choice are computed, so every operation is written to be harmless outside its domain; that keeps
gradients finite in the branch not taken.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from plaudit.errors import InputError, OutOfRange, ShapeMismatch, WrongType
from plaudit.language import nodes as n
from plaudit.language.field import Field
from plaudit.language.program import Program
from plaudit.language.sure import open_guards
from plaudit.targets.door import none_given
from plaudit.targets.emit import Code, Spelling, emit, literal
from plaudit.targets.layout import Layout
from plaudit.targets.refuse import Refusal
from plaudit.targets.rows import places
from plaudit.targets.scalar import function

_INSIDE = "({0} >= 0) & ({0} <= {last})"

OPERATIONS: dict[type[n.Node], str] = {
    n.Neg: "(-{0})",
    n.Abs: "absolute({0})",
    n.Not: "logical_not({0})",
    n.Number: "where({0}, one, zero)",
    n.Sqrt: "where(({0} > 0) & ({0} < inf), sqrt(where(({0} > 0) & ({0} < inf), {0}, one)), zero)",
    n.Exp: "exp(where({0} <= largest_exponent, {0}, zero))",
    n.Expm1: "expm1(where({0} <= largest_exponent, {0}, zero))",
    n.Log: "log(where(({0} > 0) & ({0} < inf), {0}, one))",
    n.Log1p: "log1p(where(({0} > -1) & ({0} < inf), {0}, zero))",
    n.Sin: "sin(where(isfinite({0}), {0}, zero))",
    n.Cos: "cos(where(isfinite({0}), {0}, zero))",
    n.Tanh: "tanh({0})",
    n.Floor: "floor(where(isfinite({0}), {0}, zero))",
    n.Ceil: "ceil(where(isfinite({0}), {0}, zero))",
    n.Round: "rint(where(isfinite({0}), {0}, zero))",
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

DEFINED: dict[type[n.Node], str] = {
    n.Sqrt: "(({0} >= 0) & ({0} < inf))",
    n.Exp: "({0} <= largest_exponent)",
    n.Expm1: "({0} <= largest_exponent)",
    n.Log: "(({0} > 0) & ({0} < inf))",
    n.Log1p: "(({0} > -1) & ({0} < inf))",
    **dict.fromkeys((n.Sin, n.Cos, n.Floor, n.Ceil, n.Round), "isfinite({0})"),
    **dict.fromkeys((n.Div, n.FloorDiv, n.Mod), "({1} != 0)"),
    n.Item: f"({_INSIDE} & whole({{0}}))",
}

FUNCTIONS = (
    *("where", "absolute", "logical_not", "isinf", "isfinite", "floor", "ceil", "rint", "floor_divide", "remainder"),
    *("sqrt", "exp", "expm1", "log", "log1p", "sin", "cos", "tanh"),
)
"""What the spellings call; each library has all of them, under these names or close ones."""

NOT_FINITE = {"inf": float("inf"), "nan": float("nan")}

CATEGORY_HINT = "Turn texts into positions once, with reward.encode(columns)."


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

    def named(value: float | bool) -> str:
        name = names_of.setdefault(repr(value), f"c{len(names_of)}")
        constants[name] = value
        return name

    spelling = Spelling(OPERATIONS, DEFINED, literal if inline else named)
    guards = open_guards(program, ranges=guard, exact=inline)
    code = Code() if inline else _safe_inputs(program, guards[: len(program.ranges) if guard else 0], spelling)
    code = emit(program, [*layout.roots, *guards], spelling, code)
    arguments = [f"x{i}" for i in range(len(program.inputs))] + [f"p{i}" for i in range(len(program.params))]
    arguments += [*constants, *code.tables, "zero", "one", "largest_exponent"]
    lines = ["ok = True", *(f"ok = ok & {code.texts[at]}" for at in guards)]
    outputs = "".join(f"{code.texts[root]}, " for root in layout.roots)
    made = function("score", arguments, [*code.lines, *lines, f"return ({outputs}ok)"], {**names, **NOT_FINITE})
    return Generated(made, layout, tuple(constants.values()), tuple(code.tables.values()))


def _safe_inputs(program: Program, ranges: Sequence[int], spelling: Spelling) -> Code:
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
    for place in places(program):
        name = place.name if place.name in given else place.column
        vector = place.entry is not None and name == place.column
        if name not in converted:
            converted[name], exact = convert(name, place.field, given[name])
            shape = tuple(converted[name].shape)
            if vector and (not shape or shape[-1] != place.field.length):
                raise ShapeMismatch(
                    f"reward {program.name!r}, field {name!r}: its last axis must hold {place.field.length} values, "
                    f"and the shape is {shape}."
                )
            if exact is not None:
                conditions[name] = exact.all(-1) if vector else exact
        array = converted[name][..., place.entry] if vector else converted[name]
        arguments.append(array)
        shapes[name] = tuple(array.shape)
    return arguments, conditions, common_shape(program.name, shapes)


def common_shape(reward: str, shapes: dict[str, tuple[int, ...]]) -> tuple[int, ...]:
    """Return the one shape that all columns have; single values stand for every row."""
    found = {shape for shape in shapes.values() if shape}
    if len(found) > 1:
        shown = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise ShapeMismatch(f"reward {reward!r}: the columns differ in shape: {shown}.")
    return found.pop() if found else ()


def as_array(reward: str, name: str, field: Field, value: Any) -> Any:
    """Return a list, number or array as a NumPy array, None replaced by what stands in for it."""
    if np.ma.is_masked(value):
        raise none_given(reward, name)
    try:
        column = np.asarray(value)
    except ValueError:
        raise ShapeMismatch(f"reward {reward!r}, field {name!r}: its rows differ in length.") from None
    if column.dtype.kind != "O" or not any(entry is None for entry in column.reshape(-1)):
        return column if column.dtype.isnative else column.astype(column.dtype.newbyteorder("="))
    if field.missing is None:
        raise none_given(reward, name)
    stand_in = field.labels.index(str(field.missing)) if field.kind == "category" else field.missing
    filled = [stand_in if entry is None else entry for entry in column.reshape(-1)]
    return np.asarray(filled).reshape(column.shape)


def wrong_dtype(reward: str, name: str, field: Field, dtype: object) -> WrongType:
    """Return the error for a column of the wrong kind."""
    hint = CATEGORY_HINT if field.kind == "category" else "Convert the column before scoring."
    wanted = "positions (whole numbers) of a category" if field.kind == "category" else f"a {field.kind}"
    return WrongType(f"reward {reward!r}, field {name!r}: a column of {dtype} is not {wanted}. {hint}")


def first_bad(
    program: Program, arguments: Iterable[Any], bad: int, *, guard: bool, exact: Mapping[str, Any]
) -> InputError:
    """Return the error for the row at the flat position `bad`, the first that `ok` refuses."""
    for name, condition in exact.items():
        if not condition.reshape(-1)[bad if condition.shape else 0]:
            flag = any(place.column == name and place.field.kind == "flag" for place in places(program))
            problem = "is neither 0 nor 1" if flag else "is a whole number that the dtype cannot hold exactly"
            return OutOfRange(f"reward {program.name!r}, field {name!r}, row {bad}: the value {problem}.")
    row = []
    for array in arguments:
        value = array.reshape(-1)[bad if array.shape else 0].item()
        row.append(float(value) if isinstance(value, int) and not isinstance(value, bool) else value)
    return Refusal(program, ranges=guard)(row, place=f", row {bad}")

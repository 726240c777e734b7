"""What NumPy, JAX and PyTorch share: one table of spellings, and how columns become the arguments of generated code.

Both branches of a choice are computed, and where the one not taken is outside a domain its value is dropped. Where
gradients are taken too, every operation is written to be harmless there, as its gradient would not be dropped.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from plaudit.errors import ShapeMismatch, WrongType
from plaudit.language import nodes as n
from plaudit.language.field import Field
from plaudit.language.program import Carried, Program
from plaudit.language.static import list_open_guards
from plaudit.targets.compiled import Layout
from plaudit.targets.emit import INFIX, Code, Spelling, build_function, emit, format_end, format_literal
from plaudit.targets.inputs import InputColumn, InputSlot, find_places, list_columns, list_slots, make_none_error
from plaudit.targets.roll import (
    AllTrue,
    AnyTrue,
    Condition,
    Constants,
    Entries,
    Largest,
    Params,
    Rolled,
    Smallest,
    Sum,
    SumOnto,
    roll,
)
from plaudit.targets.states import list_state_outputs

CATEGORY_HINT = "Convert strings to positions with reward.encode(columns)."


def _format_domain(domain: n.Domain) -> str:
    """Return the test that {0} is inside a domain, on a whole column."""
    if domain == n.FINITE:
        return "isfinite({0})"
    below, above = (">" if domain.open_low else ">="), ("<" if domain.open_high else "<=")
    tests = [f"({{0}} {below} {domain.low:g})"] if domain.low > -math.inf else []
    tests += [f"({{0}} {above} {format_end(domain.high)})"] if domain.high < math.inf or domain.open_high else []
    return " & ".join(tests)


def _format_function(kind: type[n.Node]) -> str:
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


PLAIN: dict[type[n.Node], str] = {
    n.Div: "({0} / {1})",
    n.FloorDiv: "floor_divide({0}, {1})",
    n.Mod: "remainder({0}, {1})",
}
"""Divisions by a constant that is 0 in no type of float."""

_INSIDE = "({0} >= 0) & ({0} <= {last})"
_RAISED = "({0} > 0) | (({0} == 0) & ({1} > 0))"
_POWER = f"pow(where({_RAISED}, {{0}}, one), where({_RAISED}, {{1}}, one))"

OPERATIONS: dict[type[n.Node], str] = {
    **{kind: f"{n.split_function(kind)[1]}({n.format_slots(kind)})" for kind in n.FUNCTIONS},
    **INFIX,
    n.Not: "logical_not({0})",
    n.Number: "where({0}, one, zero)",
    n.Sign: "where({0} > 0, one, where({0} < 0, -one, where({0} == 0, zero, {0})))",  # libraries differ at -0 and NaN
    n.IsInf: "isinf({0})",
    n.IsFinite: "isfinite({0})",
    **PLAIN,
    n.Div: "divide({0}, {1})",  # where both are numbers of Python, `/` raises an error
    n.Min: "where({1} < {0}, {1}, {0})",
    n.Max: "where({1} > {0}, {1}, {0})",
    n.Eq: "({0} == {1})",
    n.Ne: "({0} != {1})",
    n.And: "({0} & {1})",
    n.Or: "({0} | {1})",
    n.Select: "where({0}, {1}, {2})",
    n.Clip: "where({0} < {1}, {1}, where({0} > {2}, {2}, {0}))",
    n.Item: f"take({{table}}, where({_INSIDE}, {{0}}, 0))",
    n.Power: "pow({0}, {1})",
    Sum: "add_entries({0})",
    SumOnto: "add_onto({0}, {1})",
    Smallest: "find_smallest({0})",
    Largest: "find_largest({0})",
    AllTrue: "{0}.all(0)",
    AnyTrue: "{0}.any(0)",
}

SMOOTH: dict[type[n.Node], str] = {
    **OPERATIONS,
    **{kind: _format_function(kind) for kind in n.FUNCTIONS},
    **{kind: template.replace("{1}", "where({1} == 0, one, {1})") for kind, template in PLAIN.items()},
    **{kind: _format_smooth(kind) for kind in n.FUNCTIONS if kind.steep_ends or issubclass(kind, n.Binary)},
    n.Sqrt: "smooth_sqrt({0}, zero, one)",
    n.Power: "where({0} > 0, pow(where({0} > 0, {0}, one), {1}), "
    + _POWER.replace("{0}", "still({0})").replace("{1}", "still({1})")
    + ")",
}
"""The same for libraries that take gradients."""

BY_HAND: dict[type[n.Node], str] = {
    **OPERATIONS,
    n.Min: "minimum({0}, {1})",
    n.Max: "maximum({0}, {1})",
    Smallest: "pass_smallest({0})",
    Largest: "pass_largest({0})",
}
"""The same as in code by hand, in which a NaN is the smallest of some numbers and the largest."""

DEFINED: dict[type[n.Node], str] = {
    **{kind: f"({_format_domain(kind.domain)})" for kind in n.FUNCTIONS if kind.domain is not None},
    **dict.fromkeys((n.Div, n.FloorDiv, n.Mod), "({1} != 0)"),
    n.Item: f"({_INSIDE} & is_integer({{0}}))",
}

_NAMES = {"round": "rint", "pow": "power"}
"""Functions that array libraries call something else."""


def collect_names(library: Any, names: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the spellings call: functions of an array library, and `names`, which it lacks."""
    functions = [n.split_function(kind)[1] for kind in n.FUNCTIONS]
    called = [*functions, "where", "stack", "logical_not", "isinf", "isfinite", "divide", "floor_divide", "remainder"]
    called += ["minimum", "maximum"]
    found = {name: find_function(library, name) for name in called if name not in names}

    def smooth_sqrt(number: Any, zero: Any, one: Any) -> Any:
        positive = number > 0
        return library.where(positive, library.sqrt(library.where(positive, number, one)), zero)

    extremes = {"pass_smallest": lambda vector: vector.min(0), "pass_largest": lambda vector: vector.max(0)}
    return {**found, **extremes, "smooth_sqrt": smooth_sqrt, "inf": math.inf, "nan": math.nan, **names}


def find_function(library: Any, name: str) -> Any:
    """Return a function of an array library; what Python calls `atan` is `arctan` in some."""
    name = _NAMES.get(name, name)
    return getattr(library, name if hasattr(library, name) else f"arc{name[1:]}")


@dataclass(frozen=True, slots=True)
class Generated:
    """A function of columns, parameters and constants that returns every output of a layout, and `ok` last.

    A column of a vector has its entries first. What the function takes besides columns and parameters are `constants`,
    `vectors` and `tables`, as arrays of the target's own, then 0, 1 and the largest exponent.
    """

    function: Callable[..., tuple[Any, ...]]
    """Last come the states: for each the parts it is made of, with the number of their entries, which come first."""
    layout: Layout
    constants: tuple[float | bool, ...]
    vectors: tuple[Constants | Params, ...]
    tables: tuple[tuple[float | bool, ...], ...]
    states: tuple[Carried, ...] = ()
    """The states that it computes."""


def generate(
    program: Program,
    *,
    guard: bool,
    names: dict[str, Any],
    inline: bool = False,
    smooth: bool = True,
    states: bool = False,
    plain: bool = False,
) -> Generated:
    """Return `program` written with the operations in `names`.

    With `inline`, numbers are written into the text; otherwise each is an argument, which can take the dtype of a call.
    What is `smooth` gives gradients without NaN. With `states`, they are computed too. With `plain`, operations
    are those of code by hand: nothing is tested, and a row counts if its total is finite.
    """
    smooth = smooth and not plain
    layout = Layout.of(program, clamped=False)
    constants: dict[str, float | bool] = {}
    names_of: dict[str, str] = {}

    def name_constant(value: float | bool) -> str:
        name = names_of.setdefault(repr(value), f"c{len(names_of)}")
        constants[name] = value
        return name

    constant = format_literal if inline else name_constant
    operations = BY_HAND if plain else SMOOTH if smooth else OPERATIONS
    spelling = Spelling(operations, DEFINED, constant, PLAIN)
    carried = list_state_outputs(program) if states else ()
    tests = [] if plain else list_open_guards(program, ranges=guard, exact=inline)
    rolled = roll(program, layout.roots, tests, carried)
    defined = rolled.find_safe_divisions()
    rolled = replace(rolled, conditions=tuple(test for test in rolled.conditions if not _holds(test, rolled, defined)))
    shaped = replace(program, nodes=rolled.nodes)
    code, vectors = _name_inputs(program, rolled)
    if smooth:
        _write_safe_inputs(shaped, rolled, spelling, code)
    ends = [*rolled.conditions, *(part for each in rolled.states for part in each)]
    emit(shaped, [*rolled.roots, *(end.node for end in ends)], spelling, code, defined=defined)
    arguments = [name for column in list_columns(program) for name in _name_column(program, column)]
    arguments += [f"p{i}" for i in range(len(program.params))]
    arguments += [*constants, *vectors.values(), *code.tables, "zero", "one", "largest_exponent"]
    texts = (code.texts[node] + (".all(0)" if len(sources) > 1 else "") for node, sources in rolled.conditions)
    lines = ["ok = True", *(f"ok = ok & {text}" for text in texts)]
    if plain:
        lines = [f"ok = isfinite({code.texts[rolled.roots[layout.total]]})"]
    outputs = "".join(f"{code.texts[root]}, " for root in rolled.roots)
    parts = "".join(f"({''.join(_format_part(part, code) for part in each)}), " for each in rolled.states)
    result = f"return ({outputs}ok, ({parts}))"
    made = build_function("score", arguments, [*code.lines, *lines, result], names)
    taken = tuple(constants.values()), tuple(vectors), tuple(code.tables.values())
    return Generated(made, layout, *taken, tuple(program.states.values()) if states else ())


def _format_part(part: Condition, code: Code) -> str:
    """Return some entries of a state in a tuple: how many there are, and their values."""
    return f"({len(part.sources)}, {code.texts[part.node]}), "


def join_parts(
    parts: Sequence[tuple[int, Any]], shape: tuple[int, ...], library: Any, convert: Callable[..., Any]
) -> Any:
    """Return a state as one array with its entries first, for a batch of `shape`."""
    found = [library.broadcast_to(convert(part), (size, *shape)) for size, part in parts]
    return found[0] if len(found) == 1 else library.concatenate(found)


def _holds(test: Condition, rolled: Rolled, defined: frozenset[int]) -> bool:
    """Return whether a condition says no more than that a division by a constant is defined."""
    node = rolled.nodes[test.node]
    return isinstance(node, n.Defined) and node.arg in defined


def _name_column(program: Program, column: InputColumn) -> list[str]:
    """Return what generated code calls a column: one name for a vector, one each for single values."""
    first = list(program.inputs).index(column.slots[0].name)
    return [f"x{first}"] if column.whole else [f"x{list(program.inputs).index(slot.name)}" for slot in column.slots]


def _name_inputs(program: Program, rolled: Rolled) -> tuple[Code, dict[Constants | Params, str]]:
    """Return code in which inputs and vectors have their texts, and the names of vectors that are passed."""
    code = Code()
    vectors: dict[Constants | Params, str] = {}
    places = find_places(program)
    sizes = Counter(first for first, _ in places.values())
    for at, node in enumerate(rolled.nodes):
        match node:
            case n.Input(name) if name in places:
                code.texts[at] = "x{}[{}]".format(*places[name])
            case Entries(names):
                first = places[names[0]][0]
                code.texts[at] = _format_entries(f"x{first}", [places[name][1] for name in names], sizes[first])
            case Constants() | Params():
                code.texts[at] = vectors.setdefault(node, f"k{len(vectors)}")
    return code, vectors


def _format_entries(column: str, entries: Sequence[int], size: int) -> str:
    first, last, step = entries[0], entries[-1], entries[1] - entries[0]
    if list(entries) == list(range(size)):
        return column
    if step > 0 and list(entries) == list(range(first, last + 1, step)):
        return f"{column}[{first}:{last + 1}:{step}]"
    return f"pick({column}, {list(entries)})"


def _write_safe_inputs(program: Program, rolled: Rolled, spelling: Spelling, code: Code) -> None:
    """Write code that tests each range and puts a harmless value where it fails.

    The row is masked either way; without this its NaN would reach the gradient of every parameter and input.
    """
    ranges = {guard.node: guard.where for guard in program.ranges}
    tests = [test for test in rolled.conditions if test.sources[0] in ranges]
    emit(program, [test.node for test in tests], spelling, code)
    tested: dict[tuple[str, ...], str] = {}
    apart: dict[str, str] = {}
    for k, (node, sources) in enumerate(tests):
        code.lines.append(f"g{k} = {code.texts[node]}")
        code.texts[node] = f"g{k}"
        names = tuple(ranges[source] for source in sources)
        tested[names] = f"g{k}"
        apart |= {name: f"g{k}[{at}]" if len(names) > 1 else f"g{k}" for at, name in enumerate(names)}
    for column in list_columns(program):
        field, names = column.slots[0].field, tuple(slot.name for slot in column.slots)
        if field.kind != "number":
            continue
        rest = spelling.constant(float(field.at_rest))
        read = [names] if column.whole else [(name,) for name in names]
        for x, entries in zip(_name_column(program, column), read, strict=True):
            if entries in tested:
                code.lines.append(f"{x} = where({tested[entries]}, {x}, {rest})")
            elif not apart.keys().isdisjoint(entries):  # some of them are read at the end of an episode only
                kept = (f"where({apart[name]}, {x}[{at}], {rest})" for at, name in enumerate(entries))
                code.lines.append(f"{x} = stack([{', '.join(kept)}])")


@dataclass(frozen=True, slots=True)
class Gathered:
    """Columns that were given, as arrays of a target's own."""

    arguments: list[Any]
    """What generated code takes: vectors whole, with their entries first, and single values."""
    exact: dict[str, Any]
    """Where each column is what was given, if it is not always."""
    shape: tuple[int, ...]
    """The shape of the batch."""
    program: Program
    converted: dict[str, Any]

    def list_entries(self) -> list[Any]:
        """Return every input separately, in order."""
        return [_take_entry(slot, self.converted) for slot in list_slots(self.program)]


Convert = Callable[[str, Field, Any], tuple[Any, Any]]
"""Turns a column into an array of the target's own, and a condition under which it is what was given, or None."""


def gather_columns(
    program: Program, given: Mapping[str, Any], convert: Convert, library: Any, pick: Callable[[Any, list[int]], Any]
) -> Gathered:
    """Return the columns in `given`, by name, as `generate` wants them; `pick` takes entries of a vector."""
    converted, exact, shape = _convert_given(program, given, convert)
    arguments = []
    move = library.movedim if hasattr(library, "movedim") else library.moveaxis  # torch.vmap has no rule for the other
    for column in list_columns(program):
        if not column.whole:
            arguments += [_take_entry(slot, converted) for slot in column.slots]
        elif column.name in converted:
            whole = move(converted[column.name], -1, 0)
            if column.picked:
                whole = pick(whole, column.picked)
            arguments.append(whole.reshape((len(column.slots), *(1 for _ in shape))) if whole.ndim == 1 else whole)
        else:
            parts = [library.broadcast_to(_take_entry(slot, converted), shape) for slot in column.slots]
            arguments.append(library.stack(parts))
    return Gathered(arguments, exact, shape, program, converted)


def gather(
    program: Program, given: Mapping[str, Any], convert: Convert
) -> tuple[list[Any], dict[str, Any], tuple[int, ...]]:
    """Return the inputs one by one in order, where each column was exact, and the batch's shape."""
    converted, exact, shape = _convert_given(program, given, convert)
    return [_take_entry(slot, converted) for slot in list_slots(program)], exact, shape


def _take_entry(slot: InputSlot, converted: Mapping[str, Any]) -> Any:
    if slot.name in converted:
        return converted[slot.name]
    whole = converted[slot.column]
    return whole if slot.entry is None else whole[..., slot.entry]


def _convert_given(
    program: Program, given: Mapping[str, Any], convert: Convert
) -> tuple[dict[str, Any], dict[str, Any], tuple[int, ...]]:
    """Return the columns as arrays, vectors with one last axis for all entries; where they are exact; their shape."""
    converted: dict[str, Any] = {}
    conditions: dict[str, Any] = {}
    shapes: dict[str, tuple[int, ...]] = {}
    for column in list_columns(program):
        first = column.slots[0]
        whole = column.name in given and first.entry is not None
        names = [column.name] if column.name in given else [slot.name for slot in column.slots]
        for name in names:
            array, exact = convert(name, first.field, given[name])
            shape = tuple(array.shape)
            if whole:
                shape = _split_shape(program, first, shape)
                array = array.reshape((*shape, math.prod(first.field.shape)))
                exact = None if exact is None else exact.reshape(array.shape).all(-1)
            converted[name], shapes[name] = array, shape
            if exact is not None:
                conditions[name] = exact
    return converted, conditions, find_common_shape(program.name, shapes)


def _split_shape(program: Program, slot: InputSlot, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of the batch in front of the axes of a vector or matrix."""
    wanted = slot.field.shape
    batch = len(shape) - len(wanted)
    if batch < 0 or shape[batch:] != wanted:
        axes = f"axis must hold {wanted[0]} values" if len(wanted) == 1 else f"axes must be {wanted}"
        raise ShapeMismatch(
            f"reward {program.name!r}, field {slot.column!r}: its last {axes}, but the shape is {shape}."
        )
    return shape[:batch]


def find_common_shape(reward: str, shapes: dict[str, tuple[int, ...]]) -> tuple[int, ...]:
    """Return the one shape that all columns have; single values stand for every row."""
    found = [shape for shape in shapes.values() if shape]  # no set: a hash would tie torch.compile to one length
    if any(shape != found[0] for shape in found):
        shown = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise ShapeMismatch(f"reward {reward!r}: the columns differ in shape: {shown}.")
    return found[0] if found else ()


def to_array(reward: str, name: str, field: Field, value: Any) -> Any:
    """Return a list, number or array as a NumPy array, None replaced by `missing`."""
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

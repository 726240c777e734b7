"""Reading calls: functions that every target has, reductions over vectors, and helpers, read in place."""

import ast
import types
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from copy import copy, deepcopy
from functools import partial
from typing import Any, cast

from plaudit.language import nodes as n
from plaudit.language.kinds import FLAG, NUMBER
from plaudit.language.program import PYTHON_OPERATIONS
from plaudit.language.reading.advice import FOREIGN, METHOD_ADVICE, explain_unsupported_call
from plaudit.language.reading.arithmetic import apply_arithmetic, apply_function, fold, raise_to_power
from plaudit.language.reading.comprehensions import BUILTIN_LOOPS, list_elements, read_builtin_loop, read_counted
from plaudit.language.reading.conditions import join
from plaudit.language.reading.configs import list_attributes, make_slice, read_object_attribute
from plaudit.language.reading.context import Context, Path, reads
from plaudit.language.reading.dates import read_date_call
from plaudit.language.reading.decorators import unwrap
from plaudit.language.reading.dictionaries import make_dict, read_attribute_call, read_dict_method, read_record_call
from plaudit.language.reading.entrywise import cast_entry, map_node, to_flag, truncate
from plaudit.language.reading.expressions import (
    chain,
    find_attribute,
    find_open_star,
    read_constant,
    read_several,
    spread,
)
from plaudit.language.reading.helpers import read_helper, read_nested
from plaudit.language.reading.in_place import IN_PLACE, change_temporary
from plaudit.language.reading.inputs import refuse_record
from plaudit.language.reading.instances import is_callable, read_isinstance
from plaudit.language.reading.library_calls import (
    METHODS,
    call_spelling,
    find_spelling,
    read_library_method,
    refuse_library,
)
from plaudit.language.reading.methods import read_method, read_super
from plaudit.language.reading.paths import find_declared, show_call
from plaudit.language.reading.presence import is_own, is_own_method
from plaudit.language.reading.reductions import norm
from plaudit.language.reading.sharing import copy_value
from plaudit.language.reading.sorting import read_sorted
from plaudit.language.reading.source import Source, is_standard
from plaudit.language.reading.texts import is_text, read_text, read_text_method
from plaudit.language.reading.transforms import read_mapped_call, read_transform
from plaudit.language.reading.values import (
    Constant,
    Dictionary,
    Element,
    Nested,
    Record,
    Ref,
    Undeclared,
    Value,
    Vector,
    describe,
    find_kind,
    find_open,
    has_items,
    is_array,
    is_record,
)

REDUCTIONS: Mapping[Any, type[n.Binary] | None] = {min: n.Min, max: n.Max, sum: n.Add, any: None, all: None, len: None}
"""Reductions over a vector; `min` and `max` also of two or more arguments."""


FUNCTIONS: Mapping[Any, type[n.Node]] = {
    PYTHON_OPERATIONS[kind]: kind for kind in n.KINDS.values() if kind.function and kind is not n.IsFinite
}
"""The node of each function of one or two numbers that a term may call; `math.isfinite` is refused with advice."""


OTHER_FUNCTIONS: Mapping[str, type[n.Node]] = {name: kind for kind in n.KINDS.values() for name in kind.spellings}
"""The node of each function that is another spelling, by module and name: its module need not be imported."""


@reads(ast.Call)
def _read_call(context: Context, node: ast.Call) -> Value:
    if isinstance(node.func, ast.Call) and (found := _call_by_name(context, node, node.func)) is not None:
        return found
    if (mapped := read_mapped_call(context, node)) is not None:
        return mapped
    if (inherited := read_super(context, node)) is not None:
        return inherited
    if isinstance(node.func, ast.Attribute):
        base = context.read(node.func.value)
        if (own := read_method(context, base, node)) is not None:
            return own
        if node.func.attr in IN_PLACE:
            return change_temporary(context, base, node)
        if _is_record_call(context, base, node.func.attr):
            _refuse_reduction(context, base, node)
            return read_record_call(context, base, node)
        if isinstance(base, Dictionary):
            return read_dict_method(context, base, node)
        if is_text(base):
            return read_text_method(context, base, node)
        if isinstance(base, Ref | Undeclared) or has_items(base) or is_array(base):
            return read_library_method(context, base, node)
        function = find_attribute(context, base, node.func)
        if isinstance(function, Ref | Undeclared):  # `prev.x()`
            raise context.error(node, f"{describe(function)} cannot be called.")
    else:
        function = context.read(node.func)
        if (own := _call_own(context, function, node)) is not None:
            return own
    if isinstance(function, Nested):
        return read_nested(context, function, node)
    called = function.value if isinstance(function, Constant) else None  # a field, or the like
    if isinstance(getattr(called, "source", None), Source):  # a term called as a helper
        called = called.source.function  # type: ignore[attr-defined]  # as was just seen
    called = unwrap(called)
    bound: list[Value] = []
    if isinstance(called, types.MethodType) and isinstance(called.__func__, types.FunctionType):
        bound, called = [Constant(called.__self__)], called.__func__
    if not _is_one_of(called, FUNCTIONS) and (name := find_spelling(called)) is not None:
        return call_spelling(context, name, node)
    if (kind := _find_operation(called)) is not None:
        return _read_function(context, kind, node)
    if _is_one_of(called, (copy, deepcopy)) and len(node.args) == 1 and not node.keywords:
        return _read_copy(context, called, node)
    if called is cast and len(node.args) == 2:
        return context.read(node.args[1])  # its class need not be known: it may be imported for type checkers alone
    if (limits := _read_limits(context, called, node)) is not None:
        return limits
    if (transformed := read_transform(context, called, node)) is not None:
        return transformed
    if (date := read_date_call(context, called, node)) is not None:
        return date
    refuse_library(context, called, node)
    if isinstance(called, types.FunctionType) and not is_standard(called):
        return read_helper(context, called, node, bound)
    if _is_one_of(called, (getattr, hasattr)) and len(node.args) >= 2:
        if not is_record(context.read(node.args[0])):
            return read_object_attribute(context, called, node)
        return read_attribute_call(context, called, node)
    if called is vars and len(node.args) == 1:
        return list_attributes(context, node)
    if called is slice:
        return make_slice(context, node)
    if called is isinstance and len(node.args) == 2:
        return read_isinstance(context, node)
    if called is callable and len(node.args) == 1:
        return is_callable(context, node.args[0])
    if _is_one_of(called, (dict, OrderedDict)):
        return make_dict(context, node)
    if _is_one_of(called, BUILTIN_LOOPS):
        return read_builtin_loop(context, called, node)
    if called is sorted:
        return read_sorted(context, node)
    if _is_one_of(called, (str, repr)) and len(node.args) == 1:
        return read_text(context, called, node)
    if _is_one_of(called, (float, int, bool)) and len(node.args) == 1:
        _refuse_keywords(context, node)
        return _read_cast(context, called, node)
    if called is pow and len(node.args) == 2:
        left, right = read_several(context, node.args)
        return apply_arithmetic(context, ast.Pow(), left, right, node)
    if called is sum and len(node.args) == 2:
        vector = ast.copy_location(ast.Call(node.func, node.args[:1], []), node)
        start = context.read(node.args[1])
        return apply_arithmetic(context, ast.Add(), start, _read_reduction(context, called, vector), node)
    if _is_one_of(called, REDUCTIONS):
        _refuse_keywords(context, node)
        return _read_reduction(context, called, node)
    raise context.error(node, *explain_unsupported_call(ast.unparse(node.func), called))


def _read_copy(context: Context, called: object, node: ast.Call) -> Value:
    """Return `copy.deepcopy(x)`, or `copy.copy(x)`, which of a tensor shares its entries."""
    value = context.read(node.args[0])
    if (unknown := find_open(value)) is not None:
        return unknown
    refuse_record(context, value, node)
    if not isinstance(value, Ref | Constant | Vector | Dictionary) or is_record(value):
        raise context.error(node, f"{describe(value)} cannot be copied.", "Copy numbers, arrays, lists or dicts.")
    return copy_value(value, deep=called is deepcopy)


def _call_own(context: Context, function: Value, node: ast.Call) -> Value | None:
    """Return what a method of the class returns that was given a name, `cost = self.cost`; None for anything else."""
    path: Path = getattr(function, "path", ())
    if not is_own(context, path):
        return None
    named = ast.copy_location(ast.Attribute(node.func, path[1], ast.Load()), node)
    call = ast.copy_location(ast.Call(named, node.args, node.keywords), node)
    return read_method(context, Record(path[:1]), call) if is_own_method(context, function) else None


def _call_by_name(context: Context, node: ast.Call, named: ast.Call) -> Value | None:
    """Return what `getattr(self, f"_reward_{name}")()` gives, a method by its name; None for any other call."""
    function = context.read(named.func)
    if not isinstance(function, Constant) or function.value is not getattr or len(named.args) != 2:
        return None
    name = context.read(named.args[1])
    if not isinstance(name, Constant) or not isinstance(name.value, str):
        return find_open(name)
    method = ast.copy_location(ast.Attribute(named.args[0], name.value, ast.Load()), named)
    return context.read(ast.copy_location(ast.Call(method, node.args, node.keywords), node))


def _read_limits(context: Context, called: object, node: ast.Call) -> Value | None:
    """Return what `np.finfo(...)` or `np.iinfo(...)` says of a dtype; None for any other call."""
    module, name = str(getattr(called, "__module__", "")), getattr(called, "__name__", "")
    if name not in ("finfo", "iinfo") or module.partition(".")[0] not in (*FOREIGN, "ml_dtypes"):
        return None
    value = context.read(node.args[0]) if len(node.args) == 1 and not node.keywords else None
    if not isinstance(value, Constant):
        raise context.error(
            node, f"`{ast.unparse(node.func)}` takes one dtype here.", "Write np.finfo(np.float32).eps."
        )
    return Constant(called(value.value))  # type: ignore[operator]  # it is a class


def _is_record_call(context: Context, base: Value, name: str) -> bool:
    if isinstance(base, Undeclared | Element):
        listing = name in ("get", "items", "keys", "values")
        return bool(base.path) and (listing or not (name in METHODS or name in METHOD_ADVICE))
    return isinstance(base, Record)


def _refuse_reduction(context: Context, base: Value, node: ast.Call) -> None:
    """Refuse `self.body.pos.sum()` where neither the sum nor `pos` is declared: `pos` is what to declare."""
    assert isinstance(node.func, ast.Attribute)
    if not isinstance(base, Record) or len(base.path) < 2 or node.func.attr not in METHODS - {"copy", "clone"}:
        return
    if not find_declared(context, (*base.path, show_call(context, node))):
        refuse_record(context, base, node)


def _refuse_keywords(context: Context, node: ast.Call) -> None:
    if node.keywords:
        raise context.error(node, "this call takes plain arguments only.")


def _read_cast(context: Context, called: object, node: ast.Call) -> Value:
    """Read `float(x)`, which every number is already, `bool(x)`, and `int(x)`, the integer towards 0."""
    value = context.read(node.args[0])
    if (unknown := find_open(value)) is not None:
        return unknown
    known = value.value if isinstance(value, Constant) else None
    if called is float and isinstance(known, str):
        try:
            return read_constant(context, float(known), node)
        except ValueError:
            raise context.error(node, f"{known!r} is not a number.") from None
    if called is bool:
        return to_flag(context, node, value)
    if called is int and not isinstance(known, bool | int) and find_kind(value) == NUMBER:
        return value if _is_listed_integer(context, value) else truncate(context, node, value)
    return Constant(int(known)) if called is int and isinstance(known, int) else cast_entry(context, node, value)


def _is_listed_integer(context: Context, value: Value) -> bool:
    name = getattr(context.builder.nodes[value.at], "name", "") if isinstance(value, Ref) else ""
    field = context.inputs.get(str(name))
    return field is not None and bool(field.numbers) and all(float(each).is_integer() for each in field.numbers)


def _read_function(context: Context, kind: type[n.Node], node: ast.Call) -> Value:
    _refuse_keywords(context, node)
    if (unknown := find_open_star(context, node.args)) is not None:
        return unknown
    values = read_several(context, node.args)
    count = len(n.operand_names(kind))
    if kind is n.Hypot and len(values) != count:
        return norm(context, node, Vector(tuple(values)))
    if kind is n.Log and len(values) == 2:
        top, below = (apply_function(context, node, n.Log, value) for value in values)
        return apply_arithmetic(context, ast.Div(), top, below, node)
    if len(values) != count:
        wanted = "one argument" if count == 1 else "two arguments"
        raise context.error(node, f"`{ast.unparse(node.func)}` takes {wanted} here.")
    if kind is n.Abs and is_array(values[0]):
        return map_node(context, node, kind, x=values[0])
    for value, argument in zip(values, node.args, strict=False):
        if is_array(value):
            advice = f"For an array write np.{n.split_function(kind)[1]}(v), entry by entry."
            raise context.error(argument, f"`{ast.unparse(node.func)}` takes one number at a time.", advice)
    if kind is n.Power:
        return raise_to_power(context, values[0], values[1], node)
    return apply_function(context, node, kind, *values)


def _read_reduction(context: Context, called: object, node: ast.Call) -> Value:
    """Read `min max sum any all len` of arguments, a vector, or a generator."""
    if len(node.args) == 1 and not isinstance(node.args[0], ast.Starred):
        elements, unknown = list_elements(context, node.args[0])
    elif called in (min, max) and node.args:
        values = read_several(context, node.args)
        return find_open(*values) or _reduce_values(context, called, [(True, value) for value in values], node)
    else:
        raise context.error(node, f"`{ast.unparse(node.func)}` takes one vector here.")
    if called in (any, all):
        found = chain(
            context, called is all, [partial(read_counted, context, called is all, each, node) for each in elements]
        )
        return unknown or found
    read = [element() for element in elements]
    values = [value for counts, value in read if counts is not False]
    if called is len and isinstance(node.args[0], ast.GeneratorExp):
        raise context.error(node, "a generator has no length.", "Write len([x for x in v]).")
    if unknown is not None or (called is not len and find_open(*values)):
        return unknown or find_open(*values) or values[0]
    dropped = [counts for counts, _ in read if not isinstance(counts, bool)]
    if dropped and called not in (sum, len):
        name, neutral = ("min", "math.inf") if called is min else ("max", "-math.inf")
        kept = f"{name}(x if condition else {neutral} for x in v)"
        advice = f"Keep every element, with a neutral value for those to drop: {kept}. "
        advice += "A condition that never changes may be a flag in shared=."
        raise context.error(
            node, f"`{ast.unparse(node.func)}` of a filter that depends on data may have no elements.", advice
        )
    return _reduce_values(context, called, [(counts, value) for counts, value in read if counts is not False], node)


def _reduce_values(context: Context, called: object, elements: list[tuple[int | bool, Value]], node: ast.Call) -> Value:
    """Return `len`, `sum`, `min` or `max` of elements, each with where it counts."""
    if called is len:
        known = sum(counts is True for counts, _ in elements)
        flags = [Ref(counts, FLAG) for counts, _ in elements if not isinstance(counts, bool)]
        return fold(context, n.Add, [*flags, *([Constant(known)] if known or not flags else [])], node)
    kind = REDUCTIONS[called]
    assert kind is not None
    if called is sum and not elements:
        return Constant(0)
    values = [
        value if counts is True else join(context, counts, value, Constant(0), node) for counts, value in elements
    ]
    if called is sum and any(is_array(value) for value in values):
        return spread(context, lambda *entries: fold(context, kind, list(entries), node), *values, node=node)
    for value in values:
        if has_items(value):
            name = ast.unparse(node.func)
            advice = f"For all entries write np.{name}(m); for two arrays, entry by entry, np.{name}imum(a, b)."
            raise context.error(node, f"`{name}` compares numbers, and this is {describe(value)}.", advice)
    return fold(context, kind, values, node)


def _find_operation(called: object) -> type[n.Node] | None:
    name = f"{getattr(called, '__module__', '')}.{getattr(called, '__name__', '')}"
    for function, kind in FUNCTIONS.items():
        if called is function:
            return kind
    return OTHER_FUNCTIONS.get(name)


def _is_one_of(called: object, functions: Iterable[object]) -> bool:
    """Return whether a value, which may have no hash, is one of several functions."""
    return any(called is function for function in functions)

"""Reading conditions: choices, `and` and `or`, comparisons, membership, and the categories they are about."""

import ast
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from enum import Enum
from functools import partial

from plaudit.errors import ReadError, did_you_mean
from plaudit.language import nodes as n
from plaudit.language.field import format_category, to_number
from plaudit.language.kinds import FLAG, NUMBER, UNKNOWN
from plaudit.language.program import PYTHON_OPERATIONS
from plaudit.language.reading.advice import explain_unsupported
from plaudit.language.reading.context import Context, reads
from plaudit.language.reading.dates import COMPARE_PARTS, is_date
from plaudit.language.reading.expressions import (
    add_flag,
    add_number,
    chain,
    find_truth,
    list_items,
    read_constant,
    read_truth,
    refuse_unassigned,
    spread,
)
from plaudit.language.reading.inputs import read_part, refuse_record
from plaudit.language.reading.instances import read_class_test
from plaudit.language.reading.lists import is_choice_of_records, is_same_record, may_be_same_record
from plaudit.language.reading.paths import are_same
from plaudit.language.reading.presence import has_key, is_none
from plaudit.language.reading.texts import is_text
from plaudit.language.reading.values import (
    Constant,
    Dictionary,
    Record,
    Ref,
    Unassigned,
    Undeclared,
    Value,
    Vector,
    describe,
    find_kind,
    find_open,
    find_sequence,
    format_path,
    has_items,
    is_array,
    is_open,
    list_each,
)

COMPARISONS: Mapping[type[ast.cmpop], type[n.Binary]] = {
    ast.Lt: n.Lt,
    ast.LtE: n.Le,
    ast.Gt: n.Gt,
    ast.GtE: n.Ge,
    ast.Eq: n.Eq,
    ast.NotEq: n.Ne,
}


def read_test(context: Context, node: ast.expr) -> int | bool:
    """Return the position of a condition, or what it is when it is known already."""
    value = context.read(node)
    if not isinstance(value, Constant):
        context.note_switch(node)
    return read_truth(context, value, node)


@reads(ast.IfExp)
def _read_choice(context: Context, node: ast.IfExp) -> Value:
    try:
        flag = read_test(context, node.test)
    except ReadError as error:  # `x.item() if isinstance(x, torch.Tensor) else x`
        then = context.read(node.body) if error in context.undecided else None
        if then is None or not are_same(then, context.read(node.orelse)):
            raise
        return then
    if isinstance(flag, bool):
        return context.read(node.body if flag else node.orelse)
    with context.under(flag):
        context.mark(node.body)
        then = context.read(node.body)
    with context.under(context.add(n.Not(flag))):
        context.mark(node.orelse)
        otherwise = context.read(node.orelse)
    return join(context, flag, then, otherwise, node)


def join(context: Context, test: int, then: Value, otherwise: Value, node: ast.AST) -> Value:
    """Return `then` where `test` is true and `otherwise` elsewhere."""
    if then.is_same(otherwise) if isinstance(then, Constant) else then == otherwise:
        unlike = isinstance(then, Vector) and find_sequence(then) is not find_sequence(otherwise)
        return replace(then, sequence=None) if unlike else then  # type: ignore[arg-type]  # a vector
    lost = [value for value in (then, otherwise) if isinstance(value, Unassigned)]
    if lost:
        return next((value for value in lost if value.error or value.why), lost[0])
    if is_open(then) or is_open(otherwise):
        return find_open(then, otherwise) or then
    if is_choice_of_records(then, otherwise):
        advice = "Choose between their parts instead: compute what is needed of each one in the loop."
        raise context.error(node, "which of several objects this is depends on the row.", advice)
    if isinstance(then, Dictionary) and isinstance(otherwise, Dictionary):
        joined: dict[object, Value] = {}
        for key in {**then.items, **otherwise.items}:
            lacking = Unassigned(f"the key {key!r} is in the dict on some paths only.", "Put it there before the `if`.")
            pair = then.items.get(key, lacking), otherwise.items.get(key, lacking)
            joined[key] = _join_entry(context, test, *pair, key, node)
        return Dictionary(joined)
    if has_items(then) and has_items(otherwise):
        return _join_vectors(context, test, then, otherwise, node)
    kinds = {find_kind(then), find_kind(otherwise)}
    if kinds == {"string"}:
        raise context.error(node, "a term cannot choose between strings.", "Keep the condition instead: fast = x > 1.")
    if kinds == {FLAG}:
        left, right = (add_flag(context, value, node) for value in (then, otherwise))
        kind = FLAG
    elif any(kind.startswith("category") for kind in kinds) or "string" in kinds:
        kind = next((kind for kind in kinds if kind.startswith("category")), UNKNOWN)
        left, right = (_find_label(context, value, kind, node) for value in (then, otherwise))
    else:
        left, right = (add_number(context, value, node) for value in (then, otherwise))
        kind = UNKNOWN if UNKNOWN in kinds else NUMBER
    return Ref(context.add(n.Select(test, left, right)), kind)


def _join_entry(context: Context, test: int, then: Value, otherwise: Value, key: object, node: ast.AST) -> Value:
    """Return an entry of a list or dict, which has no value where a row would choose between strings."""
    same = isinstance(then, Constant) and then.is_same(otherwise)
    text = None if same else leave_text_open(f"[{key!r}]", then, otherwise)
    return text or join(context, test, then, otherwise, node)


def leave_text_open(name: str, then: Value, otherwise: Value) -> Unassigned | None:
    """Return what stands for one of two strings, or None, which nothing may read; None for any other values."""
    if not all(isinstance(each, Constant) and isinstance(each.value, str | None) for each in (then, otherwise)):
        return None
    what = f"which string {name} is depends on the row, and a term cannot choose between strings."
    return Unassigned(what, "Keep the condition instead: fast = x > 1.", plain=True)


def _join_vectors(context: Context, test: int, then: Value, otherwise: Value, node: ast.AST) -> Value:
    rows = list_items(context, then, node), list_items(context, otherwise, node)
    if len(rows[0]) != len(rows[1]) and (unknown := find_open(then, otherwise)) is not None:
        return list_each(unknown, max(rows, key=len)[-1])  # which one it is may be known later
    if len(rows[0]) != len(rows[1]):
        advice = "Both branches must give the same number of entries."
        raise context.error(node, f"{describe(then)} on one path, {describe(otherwise)} on the other.", advice)
    pairs = enumerate(zip(*rows, strict=True))
    joined = [_join_entry(context, test, left, right, at, node) for at, (left, right) in pairs]
    kind = find_sequence(then) if find_sequence(then) is find_sequence(otherwise) else None
    return Vector(tuple(joined), array=is_array(then) or is_array(otherwise), sequence=kind)


@reads(ast.BoolOp)
def _read_boolean(context: Context, node: ast.BoolOp) -> Value:
    """Read `and` or `or`; what follows is reached only where it is not cut short.

    Of what is known already and no bool, such as `cfg.get("scale") or 1.0`, one is picked, as in Python.
    """
    conjunction = isinstance(node.op, ast.And)
    for at, operand in enumerate(node.values):
        value = context.read(operand)
        truth = _find_picked(value)
        if truth is None and at + 1 < len(node.values):
            context.note_switch(operand)
            rest = [partial(_read_flag, context, each) for each in node.values[at + 1 :]]
            return _leave_open(context, chain(context, conjunction, [_to_flag(context, value, operand), *rest]))
        if truth is not conjunction:
            break
    return value


def _find_picked(value: Value) -> bool | None:
    """Return whether a constant that `and` and `or` may pick counts as true; None for a bool and anything else."""
    number = to_number(value.value) if isinstance(value, Constant) else None
    return find_truth(value) if number is None or isinstance(number, bool) else bool(number)


def _leave_open(context: Context, value: Value) -> Value:
    """Return a condition that may yet turn out to be of arrays, where no field is declared."""
    return Ref(value.at, UNKNOWN) if isinstance(value, Ref) and context.scope.fields is None else value


def _read_flag(context: Context, node: ast.expr) -> int | bool:
    return _to_flag(context, context.read(node), node)


def _to_flag(context: Context, value: Value, node: ast.expr) -> int | bool:
    refuse_record(context, value, node)
    if find_kind(value) not in (FLAG, UNKNOWN):
        advice = "Write `a if condition else b`, or compare: `x != 0`."
        if isinstance(value, Vector):
            advice = "Join arrays with `&` and `|`: (v > 0) & (w > 0); or write any(v > 0)."
        raise context.error(node, f"`and` and `or` join conditions, and this is {describe(value)}.", advice)
    if isinstance(value, Constant):
        return bool(value.value)
    return add_flag(context, value, node)


@reads(ast.Compare)
def _read_comparison(context: Context, node: ast.Compare) -> Value:
    """Return a chain of comparisons; each is reached only where those before it hold."""
    if len(node.ops) == 1 and (known := read_class_test(context, node)) is not None:
        return known
    with _explaining_precedence(context, node):
        return _read_chain(context, node)


@contextmanager
def _explaining_precedence(context: Context, node: ast.Compare) -> Iterator[None]:
    """Say of `v > 0 & v < 1` that `0 & v` comes first, where that cannot be read."""
    try:
        yield
    except ReadError:
        written = _add_parentheses(node)
        if not written:
            raise
        what = "`&` and `|` bind more tightly than comparisons do."
        raise context.error(node, what, f"Write parentheses: `{written}`.") from None


def _add_parentheses(node: ast.Compare) -> str:
    """Return what `v > 0 & v < 1` is meant to be, `(v > 0) & (v < 1)`; nothing for any other comparison."""
    operands = [node.left, *node.comparators]
    joined = [at for at, each in enumerate(operands) if isinstance(each, ast.BinOp)]
    joined = [at for at in joined if isinstance(operands[at].op, ast.BitAnd | ast.BitOr)]  # type: ignore[attr-defined]
    if len(joined) != 1 or joined[0] in (0, len(operands) - 1):
        return ""
    at, both = joined[0], operands[joined[0]]
    assert isinstance(both, ast.BinOp)
    parts = [([*operands[:at], both.left], node.ops[:at]), ([both.right, *operands[at + 1 :]], node.ops[at:])]
    first, second = (ast.unparse(ast.Compare(each[0], ops, each[1:])) for each, ops in parts)
    return f"({first}) {'&' if isinstance(both.op, ast.BitAnd) else '|'} ({second})"


def _read_chain(context: Context, node: ast.Compare) -> Value:
    left = context.read(node.left)
    if len(node.ops) == 1:
        return compare(context, node.ops[0], left, context.read(node.comparators[0]), node)
    state = [left]

    def link(op: ast.cmpop, comparator: ast.expr) -> int | bool:
        right = context.read(comparator)
        value = compare(context, op, state[0], right, node)
        state[0] = right
        if isinstance(value, Constant):
            return bool(value.value)
        if isinstance(value, Vector):
            advice = "Write (low < v) & (v < high); of a tuple, which is compared as a whole, low < tuple(v) < high."
            raise context.error(node, "comparisons of arrays cannot be chained.", advice)
        return add_flag(context, value, node)

    links = zip(node.ops, node.comparators, strict=True)
    return _leave_open(context, chain(context, True, [partial(link, op, right) for op, right in links]))


def compare(context: Context, op: ast.cmpop, left: Value, right: Value, node: ast.AST) -> Value:
    """Return one comparison."""
    if (same := _compare_to_none(context, op, left, right, node)) is not None:
        if isinstance(node, ast.expr) and (is_open(left) or is_open(right)):
            context.note_switch(node)
        return Constant(same)
    if isinstance(op, ast.Is | ast.IsNot) and (equal := _compare_to_bool(context, op, left, right, node)) is not None:
        return equal
    if isinstance(op, ast.In | ast.NotIn):
        found = _find_member(context, left, right, node)
        return found if isinstance(op, ast.In) else negate(context, found, node)
    if isinstance(op, ast.Is | ast.IsNot) and may_be_same_record(left, right):
        return find_open(left, right) or left
    if (identical := is_same_record(context, op, left, right, node)) is not None:
        return Constant(identical is isinstance(op, ast.Is))
    if (known := _compare_member(context, op, left, right, node)) is not None:
        return known
    if type(op) not in COMPARISONS:
        raise context.error(node, *explain_unsupported(op))
    kind = COMPARISONS[type(op)]
    if is_array(left) or is_array(right):
        return spread(context, lambda one, other: compare(context, op, one, other, node), left, right, node=node)
    if (has_items(left) or has_items(right)) and (unknown := find_open(left, right)) is not None:
        return unknown
    if isinstance(left, Constant) and isinstance(right, Constant):
        try:
            return read_constant(context, PYTHON_OPERATIONS[kind](left.value, right.value), node)
        except TypeError:
            raise context.error(node, f"{describe(left)} and {describe(right)} have no order.") from None
    if has_items(left) and has_items(right):
        return _compare_sequences(context, op, left, right, node)
    kinds = {find_kind(left), find_kind(right)}
    category_kind = next((kind for kind in kinds if kind.startswith("category")), None)
    if category_kind or "string" in kinds:
        if kind not in (n.Eq, n.Ne):
            advice = "Compare positions: ORDER.index(a) < ORDER.index(b)."
            raise context.error(node, "categories have no order.", advice)
        wanted = category_kind or UNKNOWN
        operands = (_find_label(context, left, wanted, node), _find_label(context, right, wanted, node))
    else:
        if any(isinstance(each, Constant) and is_date(each.value) for each in (left, right)):
            if (unknown := find_open(left, right)) is not None:
                return unknown
            raise context.error(node, "a date cannot be compared with what depends on the row.", COMPARE_PARTS)
        operands = (add_number(context, left, node), add_number(context, right, node))
    return find_open(left, right) or Ref(context.add(kind(*operands)), FLAG)


def _compare_member(context: Context, op: ast.cmpop, left: Value, right: Value, node: ast.AST) -> Value | None:
    """Return a comparison with a plain member of an Enum, which no row holds; None where there is none."""
    pair = [(left, right), (right, left)]
    found = next(((a, b) for a, b in pair if isinstance(a, Constant) and isinstance(a.value, Enum)), None)
    if found is None or not isinstance(op, ast.Is | ast.IsNot | ast.Eq | ast.NotEq):
        return None
    member, other = found
    if isinstance(other, Constant):
        same = other.value is member.value if isinstance(op, ast.Is | ast.IsNot) else other.value == member.value
        return Constant(same is isinstance(op, ast.Is | ast.Eq))
    if isinstance(member.value, str):
        return None  # its own string is a value
    if (unknown := find_open(other)) is not None:
        return unknown  # it may be a constant that the reward shares
    shown = f"`{format_path(other.path)}`" if isinstance(other, Record) else describe(other)
    what = f"a row holds no members of an Enum, so {shown} is not compared with {describe(member)}."
    raise context.error(node, what, f"Write `{member.value}.value`; pass in shared= what never changes.")


def _compare_sequences(context: Context, op: ast.cmpop, left: Value, right: Value, node: ast.AST) -> Value:
    """Return a comparison of two tuples, or of two lists: Python goes by the first entries that differ."""
    classes = {find_sequence(left), find_sequence(right)}
    if None in classes:
        what = "whether a tuple or a list is compared here is not known, and a tuple never equals a list."
        raise context.error(node, what, "Write tuple(a) == tuple(b).")
    ordered = not isinstance(op, ast.Eq | ast.NotEq)
    if len(classes) == 2 and ordered:
        raise context.error(node, "a tuple and a list have no order.", "Write tuple(a) < tuple(b).")
    if len(classes) == 2:
        context.note(node, f"`{ast.unparse(node)}` compares a tuple with a list, which are never equal.")
        return Constant(isinstance(op, ast.NotEq))
    rows = list_items(context, left, node), list_items(context, right, node)
    if ordered:
        return _compare_in_order(context, op, *rows, node)
    if len(rows[0]) != len(rows[1]):
        return Constant(isinstance(op, ast.NotEq))
    same = [compare(context, ast.Eq(), one, other, node) for one, other in zip(*rows, strict=True)]
    found = chain(context, True, [read_truth(context, each, node) for each in same])
    return found if isinstance(op, ast.Eq) else negate(context, found, node)


def _compare_in_order(context: Context, op: ast.cmpop, left: list[Value], right: list[Value], node: ast.AST) -> Value:
    """Return which of two sequences comes first; where one is the beginning of the other, the shorter one does."""
    found = compare(context, op, Constant(len(left)), Constant(len(right)), node)
    strict = ast.Lt() if isinstance(op, ast.Lt | ast.LtE) else ast.Gt()
    for one, other in reversed(list(zip(left, right, strict=False))):
        same, first = (compare(context, each, one, other, node) for each in (ast.Eq(), strict))
        rest = chain(context, True, [read_truth(context, each, node) for each in (same, found)])
        found = chain(context, False, [read_truth(context, each, node) for each in (first, rest)])
    return found


def _compare_to_none(context: Context, op: ast.cmpop, left: Value, right: Value, node: ast.AST) -> bool | None:
    """Return what a comparison with None gives: what is read from a row never is None."""
    nones = [isinstance(value, Constant) and value.value is None for value in (left, right)]
    if not any(nones) or not isinstance(op, ast.Is | ast.IsNot | ast.Eq | ast.NotEq):
        return None
    for value in (left, right):
        if isinstance(value, Record):
            return is_none(context, value, node) is isinstance(op, ast.Is | ast.Eq)
    return all(nones) is isinstance(op, ast.Is | ast.Eq)


def _compare_to_bool(context: Context, op: ast.cmpop, left: Value, right: Value, node: ast.AST) -> Value | None:
    """Return `flag is True`, of a flag that is given as such; None for anything else, such as a bool of NumPy."""
    known = next((each for each in (right, left) if isinstance(each, Constant) and isinstance(each.value, bool)), None)
    value = left if known is right else right
    if known is None or (unknown := find_open(value)) is not None:
        return None if known is None else unknown
    if not isinstance(value, Constant) and not _is_given_flag(context, value):
        return None
    if isinstance(value, Constant):
        return Constant((value.value is known.value) is isinstance(op, ast.Is))
    return compare(context, ast.Eq() if isinstance(op, ast.Is) else ast.NotEq(), value, known, node)


def _is_given_flag(context: Context, value: Value) -> bool:
    """Return whether a value is a flag or a parameter as the caller passes it, or joined from such alone."""
    waiting = [value.at] if isinstance(value, Ref) and value.kind == FLAG else []
    given = bool(waiting)
    while waiting and given:
        read = context.builder.nodes[waiting.pop()]
        if isinstance(read, n.Not | n.And | n.Or):
            waiting += n.operands(read)
        else:
            given = isinstance(read, n.Param) or (isinstance(read, n.Input) and not re.search(r"[\[@]", read.name))
    return given


def _find_member(context: Context, value: Value, table: Value, node: ast.AST) -> Value:
    if isinstance(table, Record) and isinstance(value, Constant) and isinstance(value.value, str):
        return Constant(has_key(context, table, read_part(context, (*table.path, value.value), node), node))
    if is_open(table):
        return find_open(table) or table
    if isinstance(table, Dictionary):
        table = Constant(tuple(table.items))
    if is_text(table) and is_text(value):
        return Constant(value.value in table.value)  # type: ignore[union-attr,operator]  # both are strings
    if not has_items(table):
        refuse_unassigned(context, table, node)
        refuse_record(context, table, node, listed=True)
        what = f"`in` needs a tuple, a list, a vector or a dict on its right, and this is {describe(table)}."
        raise context.error(node, what, "Write `x in (1, 2, 3)`, or declare the field with length= for its entries.")
    if isinstance(value, Constant) and isinstance(table, Constant) and isinstance(table.value, tuple):
        return Constant(value.value in table.value)
    entries = list_items(context, table, node)
    flags = [compare(context, ast.Eq(), value, entry, node) for entry in entries]
    return chain(context, False, [partial(read_truth, context, flag, node) for flag in flags])


def negate(context: Context, value: Value, node: ast.AST) -> Value:
    """Return `not value`."""
    number = to_number(value.value) if isinstance(value, Constant) else None
    known = find_truth(value) if number is None else bool(number)
    if known is not None:
        return Constant(not known)
    return Ref(context.add(n.Not(add_flag(context, value, node))), FLAG)


def find_labels(context: Context, value: Value) -> tuple[str, ...]:
    """Return the categories of a value; empty where it is none."""
    fields = context.scope.fields or {}
    return next((f.labels for f in fields.values() if format_category(f.name) == find_kind(value)), ())


def _find_label(context: Context, value: Value, kind: str, node: ast.AST) -> int:
    field_name = kind.removeprefix("category ")
    match value:
        case Ref(at, found) if found in (kind, UNKNOWN):
            return at
        case Undeclared(at, _):
            return at
        case Constant(known) if isinstance(known, str):
            declared = (context.scope.fields or {}).get(field_name)
            if declared is not None and known not in declared.labels:
                what = f"{known!r} is not a value of field {field_name!r}.{did_you_mean(known, declared.labels)}"
                raise context.error(node, what, f"Its values: {', '.join(declared.labels)}.")
            return context.add(n.Label(field_name, known))
    refuse_unassigned(context, value, node)
    refuse_record(context, value, node)
    other = "a string" if kind == UNKNOWN else f"a category of field {field_name!r}"
    raise context.error(node, f"{other} cannot be compared with {describe(value)}.")

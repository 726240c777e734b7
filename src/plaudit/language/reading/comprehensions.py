"""Reading loops inside expressions: comprehensions and generators over vectors, and what they run over."""

import ast
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice

from plaudit.language import nodes as n
from plaudit.language.kinds import UNKNOWN
from plaudit.language.reading.conditions import read_test
from plaudit.language.reading.context import Context, reads
from plaudit.language.reading.expressions import chain, list_integers, list_items, read_truth
from plaudit.language.reading.sharing import remember_origins
from plaudit.language.reading.values import (
    Constant,
    Names,
    Picked,
    Ref,
    Value,
    Vector,
    find_each,
    find_open,
    is_open,
    list_each,
)
from plaudit.language.shapes import MOST_ENTRIES

MOST_TURNS = 20_000
"""How many turns all loops and comprehensions of a term may have together."""


Element = Callable[[], tuple[int | bool, Value]]
"""Reads one element of a generator: where it counts, and what it is."""


@reads(ast.ListComp)
def read_elements(context: Context, node: ast.ListComp | ast.GeneratorExp) -> Value:
    """Return every element of a comprehension, as a list."""
    elements, unknown = list_elements(context, node)
    read = [element() for element in elements]
    found = [value for counts, value in read if counts is True]
    left_open = [counts for counts, _ in read if not isinstance(counts, bool)]
    if left_open and context.scope.fields is None:  # it may be about the length of a field
        unknown = unknown or Ref(left_open[0], UNKNOWN)
    if unknown is None and left_open:
        neutral = "for min with math.inf instead of 0, for max with -math.inf"
        advice = f"Keep every element: [x if condition else 0 for x in v]; {neutral}. Only sum, any and all can take a "
        advice += "filter. A condition that never changes may be a flag in shared=."
        raise context.error(node, "a filter that depends on data gives a list of unknown length.", advice)
    if unknown is not None:
        return list_each(unknown, next((each for _, each in read), None))
    return Vector(tuple(found), sequence=list)


def list_elements(context: Context, node: ast.expr) -> tuple[list[Element], Ref | None]:
    """Return the readers of each element of a vector or generator, and an unknown where there may be others."""
    if not isinstance(node, ast.GeneratorExp | ast.ListComp):
        value = context.read(node)
        unknown = find_open(value) if is_open(value) else None
        return [partial(_give, element) for element in _list_counted(context, value, node)], unknown
    for loop in node.generators:
        if loop.is_async:
            raise context.error(node, "an asynchronous loop cannot be read.")
    turns = list(islice(_list_turns(context, node.generators, context.names, True), MOST_ENTRIES + 1))
    if len(turns) > MOST_ENTRIES:
        raise context.error(node, f"a loop of more than {MOST_ENTRIES:,} iterations.", "Compute it before scoring.")
    count_turns(context, len(turns), node)
    unknown = next((unknown for _, _, unknown in turns if unknown is not None), None)
    tests = node.generators[-1].ifs
    elements = [partial(_read_element, context, node.elt, tests, inner, counts) for inner, counts, _ in turns]
    if isinstance(node, ast.ListComp):  # a whole list is always computed
        return [partial(_give, element()) for element in elements], unknown
    return list(elements), unknown


def _list_counted(context: Context, value: Value, node: ast.AST) -> list[tuple[int | bool, Value]]:
    """Return the entries of a vector, each with where it counts: of what a mask picks, where the mask is true."""
    if isinstance(value, Picked):
        return [(read_truth(context, flag, node), row) for flag, row in zip(value.mask, value.rows, strict=True)]
    return [(True, item) for item in list_items(context, value, node)]


def count_turns(context: Context, turns: int, node: ast.AST) -> None:
    """Refuse more turns than all loops and comprehensions of a term may have together."""
    context.counts["turns"] += turns
    if context.counts["turns"] > MOST_TURNS:
        what = f"the loops of a term run more than {MOST_TURNS:,} iterations in all."
        raise context.error(node, what, "Compute part of it before scoring and pass it in as a field.")


def _list_turns(
    context: Context, loops: list[ast.comprehension], names: Names, counts: int | bool
) -> Iterator[tuple[Names, int | bool, Ref | None]]:
    """Yield the names of each turn of nested loops, where it counts, and an unknown where there may be others.

    Filters of the innermost loop are left to the element.
    """
    loop, *rest = loops
    with context.using(names):
        iterable = read_iterable(context, loop.iter)
    unknown = find_open(iterable) if is_open(iterable) else None
    for picked, value in _list_counted(context, iterable, loop.iter):
        with context.using(dict(names)) as inner:
            context.bind(loop.target, value)
            reached = read_truth(context, chain(context, True, [counts, picked]), loop.iter)
            here = _read_filters(context, loop.ifs, reached) if rest else reached
        if not rest:
            yield inner, reached, unknown
        elif here is not False:
            for below, flag, other in _list_turns(context, rest, inner, here):
                yield below, flag, unknown or other


def _read_filters(context: Context, tests: list[ast.expr], counts: int | bool) -> int | bool:
    """Return where an element passes the filters, given where it counts anyway."""
    if not tests:
        return counts
    found = chain(context, True, [counts, *(partial(read_test, context, test) for test in tests)])
    return read_truth(context, found, tests[0])


def _read_element(
    context: Context, node: ast.expr, tests: list[ast.expr], names: Names, counts: int | bool
) -> tuple[int | bool, Value]:
    with context.using(names):
        counts = _read_filters(context, tests, counts)
        if isinstance(counts, bool):
            return counts, context.read(node) if counts else Constant(0)
        with context.under(counts):
            return counts, context.read(node)


def read_iterable(context: Context, node: ast.expr) -> Value:
    """Return what a loop runs over; a generator counts as the list of its elements."""
    return read_elements(context, node) if isinstance(node, ast.GeneratorExp) else context.read(node)


def list_rows(context: Context, node: ast.expr) -> list[Value]:
    """Return what the target of a loop stands for in each turn; a `Vector` where it stands for several."""
    return list_items(context, read_iterable(context, node), node)


def read_builtin_loop(context: Context, called: object, node: ast.Call) -> Value:
    """Return what `zip`, `enumerate`, `reversed`, `range`, `list` or `tuple` runs over, as a list."""
    allowed = {zip: ("strict",), enumerate: ("start",)}.get(called, ())  # type: ignore[call-overload]
    if any(keyword.arg not in allowed for keyword in node.keywords):
        raise context.error(node, f"`{ast.unparse(node.func)}` takes plain arguments only.")
    values = [
        value
        for argument in node.args
        for value in (
            list_rows(context, argument.value)
            if isinstance(argument, ast.Starred)
            else [read_iterable(context, argument)]
        )
    ]
    values += [context.read(k.value) for k in node.keywords if k.arg == "start"]
    most = {zip: MOST_ENTRIES, range: 3, enumerate: 2}.get(called, 1)  # type: ignore[call-overload]
    if not 1 <= len(values) <= most:
        raise context.error(node, f"`{ast.unparse(node.func)}` does not take {len(values)} arguments here.")
    if called is range and (unknown := find_open(*values)) is not None:
        return unknown
    if any(map(is_open, values)):
        return _list_open(called, values, starred=any(isinstance(each, ast.Starred) for each in node.args))
    kind = next((each for each in (list, tuple) if called is each), None)
    found = Vector(tuple(BUILTIN_LOOPS[called](context, values, node)), sequence=kind)
    if called in (zip, enumerate, reversed):
        context.iterators[id(found)] = remember_origins(context, found, *values)
    return found


def _list_open(called: object, values: list[Value], *, starred: bool) -> Value:
    """Return what a builtin runs over where it is not known yet how long that is, or of how many it is `starred`."""
    unknown = next(found for value in values if is_open(value) and (found := find_open(value)) is not None)
    if starred:
        return unknown
    entries = tuple(find_each(value) or unknown for value in values)
    if called is enumerate:
        return list_each(unknown, Vector((Ref(unknown.at, unknown.kind), entries[0])))
    return list_each(unknown, Vector(entries) if called is zip else entries[0])


def _pair_items(context: Context, values: list[Value], node: ast.Call) -> Iterator[Value]:
    rows = [list_items(context, value, node) for value in values]
    lengths = list(dict.fromkeys(len(row) for row in rows))
    if len(lengths) > 1:
        what = f"the vectors differ in length: {' and '.join(map(str, lengths))}."
        raise context.error(node, what, "Give `zip` vectors of the same length: v[:3].")
    yield from (Vector(row, sequence=tuple) for row in zip(*rows, strict=True))


def _count_items(context: Context, values: list[Value], node: ast.Call) -> Iterator[Value]:
    first, *start = values
    (begin,) = list_integers(context, start or [Constant(0)], node)
    for at, item in enumerate(list_items(context, first, node), begin):
        yield Vector((Constant(at), item), sequence=tuple)


def list_range(context: Context, values: list[Value], node: ast.Call) -> Iterator[Value]:
    """Yield the numbers of a range."""
    integers = list_integers(context, values, node)
    if not 1 <= len(integers) <= 3 or integers[2:] == [0]:
        what = "a range takes one to three integers, and a step other than 0."
        raise context.error(node, what, "Write range(n), range(first, n) or range(first, n, step).")
    numbers = range(*integers)[: MOST_ENTRIES + 1]
    if len(numbers) > MOST_ENTRIES:
        raise context.error(node, f"a range of more than {MOST_ENTRIES:,}.", "Compute it before scoring.")
    yield from map(Constant, numbers)


def read_counted(context: Context, conjunction: bool, element: Element, node: ast.AST) -> int | bool:
    """Return an element of `any` or `all` as a flag that is neutral where a filter drops it."""
    counts, value = element()
    if counts is False:
        return conjunction
    truth = read_truth(context, value, node)
    if counts is True or truth is conjunction:
        return truth
    add = context.add
    if isinstance(truth, bool):
        return add(n.Not(counts)) if conjunction else counts
    return add(n.Or(add(n.Not(counts)), truth)) if conjunction else add(n.And(counts, truth))


BUILTIN_LOOPS: dict[object, Callable[[Context, list[Value], ast.Call], Iterator[Value] | list[Value]]] = {
    zip: _pair_items,
    enumerate: _count_items,
    range: list_range,
    reversed: lambda context, values, node: list_items(context, values[0], node)[::-1],
    list: lambda context, values, node: list_items(context, values[0], node),
    tuple: lambda context, values, node: list_items(context, values[0], node),
}
"""What gives something to loop over."""


def _give(element: tuple[int | bool, Value]) -> tuple[int | bool, Value]:
    return element

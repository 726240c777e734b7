"""Reading loops inside expressions: comprehensions and generators over vectors, and what they run over."""

import ast
from abc import ABC
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice

from plaudit.language import nodes as n
from plaudit.language.field import to_number
from plaudit.language.reading.indexing import IndexReader
from plaudit.language.reading.values import Constant, Dictionary, Ref, Value, Vector, describe
from plaudit.language.reading.vectors import find_open, has_items, is_open
from plaudit.language.shapes import MOST_ENTRIES

MOST_TURNS = 20_000
"""How many turns all loops and comprehensions of a term may have together."""

Element = Callable[[], tuple[int | bool, Value]]
"""Reads one element of a generator: where it counts, and what it is."""


class LoopReader(IndexReader, ABC):
    """Reads the comprehensions of one function."""

    def read_comprehension(self, node: ast.ListComp, env: dict[str, Value]) -> Value:
        """Return the values of a list comprehension."""
        return self.read_elements(node, env)

    def read_elements(self, node: ast.ListComp | ast.GeneratorExp, env: dict[str, Value]) -> Value:
        """Return every element of a comprehension, as a list."""
        elements, unknown = self.list_elements(node, env)
        read = [element() for element in elements]
        found = [value for counts, value in read if counts is True]
        if unknown is None and any(not isinstance(counts, bool) for counts, _ in read):
            advice = "Keep every element: [x if condition else 0 for x in v]; sum, any and all take a filter."
            raise self.error(node, "a filter by data leaves a list whose length is not known.", advice)
        return Vector(tuple(found)) if unknown is None else unknown

    def read_dict_comprehension(self, node: ast.DictComp, env: dict[str, Value]) -> Value:
        """Return the dict of a comprehension, whose keys are constants."""
        pairs = ast.copy_location(ast.Tuple([node.key, node.value], ast.Load()), node)
        listed = self.read_elements(ast.copy_location(ast.ListComp(pairs, node.generators), node), env)
        if is_open(listed):
            return listed
        found = [self.list_items(pair, node) for pair in self.list_items(listed, node)]
        return Dictionary({self.find_key(key, node.key): value for key, value in found})

    def list_elements(self, node: ast.expr, env: dict[str, Value]) -> tuple[list[Element], Ref | None]:
        """Return the readers of each element of a vector or generator, and an unknown where there may be others."""
        if not isinstance(node, ast.GeneratorExp | ast.ListComp):
            value = self.read_expression(node, env)
            unknown = find_open(value) if is_open(value) else None
            return [partial(_give, (True, item)) for item in self.list_items(value, node)], unknown
        for loop in node.generators:
            if loop.is_async:
                raise self.error(node, "an asynchronous loop cannot be read.")
        turns = list(islice(self.list_turns(node.generators, env, True), MOST_ENTRIES + 1))
        if len(turns) > MOST_ENTRIES:
            raise self.error(node, f"more than {MOST_ENTRIES:,} turns of a loop.", "Compute it before scoring.")
        self.count_turns(len(turns), node)
        unknown = next((unknown for _, _, unknown in turns if unknown is not None), None)
        tests = node.generators[-1].ifs
        elements = [partial(self.read_element, node.elt, tests, inner, counts) for inner, counts, _ in turns]
        if isinstance(node, ast.ListComp):  # all of a list is computed, whoever asks
            return [partial(_give, element()) for element in elements], unknown
        return list(elements), unknown

    def count_turns(self, turns: int, node: ast.AST) -> None:
        """Refuse more turns than all loops and comprehensions of a term may have together."""
        self.reader.turns += turns
        if self.reader.turns > MOST_TURNS:
            what = f"the loops of a term have at most {MOST_TURNS:,} turns in all, and here are more."
            raise self.error(node, what, "Compute part of it before scoring and pass it in as a field.")

    def list_turns(
        self, loops: list[ast.comprehension], env: dict[str, Value], counts: int | bool
    ) -> Iterator[tuple[dict[str, Value], int | bool, Ref | None]]:
        """Yield the names of each turn of nested loops, where it counts, and an unknown where there may be others.

        Filters of the innermost loop are left to the element.
        """
        loop, *rest = loops
        iterable = self.read_iterable(loop.iter, env)
        unknown = find_open(iterable) if is_open(iterable) else None
        for value in self.list_items(iterable, loop.iter):
            inner = dict(env)
            self.bind_target(loop.target, value, inner)
            if not rest:
                yield inner, counts, unknown
            elif (here := self.read_filters(loop.ifs, inner, counts)) is not False:
                for names, flag, below in self.list_turns(rest, inner, here):
                    yield names, flag, unknown or below

    def read_filters(self, tests: list[ast.expr], env: dict[str, Value], counts: int | bool) -> int | bool:
        """Return where an element passes the filters, given where it counts anyway."""
        parts: list[Callable[[], int | bool]] = [partial(self.read_condition, test, env) for test in tests]
        found = self.chain(True, [lambda: counts, *parts])
        return bool(found.value) if isinstance(found, Constant) else self.reader.add_flag(found, tests[0], self.source)

    def read_element(
        self, node: ast.expr, tests: list[ast.expr], env: dict[str, Value], counts: int | bool
    ) -> tuple[int | bool, Value]:
        """Return where an element counts, and what it is there."""
        if tests:
            counts = self.read_filters(tests, env, counts)
        if isinstance(counts, bool):
            return counts, self.read_expression(node, env) if counts else Constant(0)
        with self.reader.under(counts):
            return counts, self.read_expression(node, env)

    def read_iterable(self, node: ast.expr, env: dict[str, Value]) -> Value:
        """Return what a loop runs over; a generator counts as the list of its elements."""
        return self.read_elements(node, env) if isinstance(node, ast.GeneratorExp) else self.read_expression(node, env)

    def list_rows(self, node: ast.expr, env: dict[str, Value]) -> list[Value]:
        """Return what the target of a loop stands for in each turn; a `Vector` where it stands for several."""
        return self.list_items(self.read_iterable(node, env), node)

    def bind_target(self, target: ast.expr, value: Value, env: dict[str, Value]) -> None:
        """Give the names of an assignment or a loop their values: one name, or a tuple of targets."""
        match target:
            case ast.Name(id=name):
                env[name] = value
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                for one, item in zip(targets, self.split_value(targets, value, target), strict=True):
                    self.bind_target(one.value if isinstance(one, ast.Starred) else one, item, env)
            case _:
                raise self.error(target, "a value is given to a name, or to several: `a, b`.")

    def split_value(self, targets: list[ast.expr], value: Value, node: ast.AST) -> list[Value]:
        """Return one value for each of several targets; a target with a star takes what is left."""
        if is_open(value):
            return [find_open(value) or value] * len(targets)
        items = self.list_items(value, node) if has_items(value) else [value]
        stars = [at for at, target in enumerate(targets) if isinstance(target, ast.Starred)]
        if stars and len(items) >= len(targets) - 1:
            first, after = stars[0], stars[0] + len(items) - len(targets) + 1
            return [*items[:first], Vector(tuple(items[first:after])), *items[after:]]
        if len(items) != len(targets) or not has_items(value):
            raise self.error(node, f"{len(targets)} names for {len(items)} values.")
        return items

    def read_builtin_loop(self, called: object, node: ast.Call, env: dict[str, Value]) -> Value:
        """Return what `zip`, `enumerate`, `reversed`, `range`, `list` or `tuple` runs over, as a list."""
        allowed = {zip: ("strict",), enumerate: ("start",)}.get(called, ())  # type: ignore[call-overload]
        if any(keyword.arg not in allowed for keyword in node.keywords):
            raise self.error(node, f"`{ast.unparse(node.func)}` takes plain arguments only.")
        values = [
            value
            for argument in node.args
            for value in (
                self.list_rows(argument.value, env)
                if isinstance(argument, ast.Starred)
                else [self.read_iterable(argument, env)]
            )
        ]
        values += [self.read_expression(k.value, env) for k in node.keywords if k.arg == "start"]
        most = {zip: MOST_ENTRIES, range: 3, enumerate: 2}.get(called, 1)  # type: ignore[call-overload]
        if not 1 <= len(values) <= most:
            raise self.error(node, f"`{ast.unparse(node.func)}` does not take {len(values)} arguments here.")
        if any(map(is_open, values)) or (called is range and find_open(*values)):
            return find_open(*(value for value in values if is_open(value))) or values[0]
        return Vector(tuple(BUILTIN_LOOPS[called](self, values, node)))

    def pair_items(self, values: list[Value], node: ast.Call) -> Iterator[Value]:
        """Yield the rows of a zip."""
        rows = [self.list_items(value, node) for value in values]
        lengths = list(dict.fromkeys(len(row) for row in rows))
        if len(lengths) > 1:
            what = f"the vectors differ in length: {' and '.join(map(str, lengths))}."
            raise self.error(node, what, "Give `zip` vectors of one length: v[:3].")
        yield from (Vector(row) for row in zip(*rows, strict=True))

    def count_items(self, values: list[Value], node: ast.Call) -> Iterator[Value]:
        """Yield the pairs of an enumerate."""
        first, *start = values
        (begin,) = self.list_integers(start or [Constant(0)], node)
        for at, item in enumerate(self.list_items(first, node), begin):
            yield Vector((Constant(at), item))

    def list_range(self, values: list[Value], node: ast.Call) -> Iterator[Value]:
        """Yield the numbers of a range."""
        integers = self.list_integers(values, node)
        if not 1 <= len(integers) <= 3 or integers[2:] == [0]:
            what = "a range has one to three integers, and a step that is not 0."
            raise self.error(node, what, "Write range(n), range(first, n), or a step of 1 or more, or below 0.")
        numbers = range(*integers)[: MOST_ENTRIES + 1]
        if len(numbers) > MOST_ENTRIES:
            raise self.error(node, f"a range of more than {MOST_ENTRIES:,}.", "Compute it before scoring.")
        yield from map(Constant, numbers)

    def list_integers(self, values: list[Value], node: ast.AST) -> list[int]:
        """Return constant integers."""
        found = [to_number(value.value) if isinstance(value, Constant) else None for value in values]
        for number, value in zip(found, values, strict=True):
            if not isinstance(number, int) or isinstance(number, bool):
                advice = "Loop over a constant range, and stop or weigh: `if i >= n: break`, x if i < n else 0."
                raise self.error(node, f"a constant integer is needed here, and this is {describe(value)}.", advice)
        return [number for number in found if isinstance(number, int)]

    def combine_elements(
        self, called: object, elements: list[Element], node: ast.AST
    ) -> list[Callable[[], int | bool]]:
        """Return the readers of the conditions that `any` or `all` joins; what a filter drops does not count."""
        return [partial(self.read_counted, called is all, element, node) for element in elements]

    def read_counted(self, conjunction: bool, element: Element, node: ast.AST) -> int | bool:
        """Return an element of `any` or `all` as a flag that is neutral where a filter drops it."""
        counts, value = element()
        if counts is False:
            return conjunction
        truth = self.read_truth(value, node)
        if counts is True or truth is conjunction:
            return truth
        add = self.reader.add
        if isinstance(truth, bool):
            return add(n.Not(counts)) if conjunction else counts
        return add(n.Or(add(n.Not(counts)), truth)) if conjunction else add(n.And(counts, truth))


BUILTIN_LOOPS: dict[object, Callable[[LoopReader, list[Value], ast.Call], Iterator[Value] | list[Value]]] = {
    zip: LoopReader.pair_items,
    enumerate: LoopReader.count_items,
    range: LoopReader.list_range,
    reversed: lambda reader, values, node: reader.list_items(values[0], node)[::-1],
    list: lambda reader, values, node: reader.list_items(values[0], node),
    tuple: lambda reader, values, node: reader.list_items(values[0], node),
}
"""What gives something to loop over."""


def _give(element: tuple[int | bool, Value]) -> tuple[int | bool, Value]:
    return element

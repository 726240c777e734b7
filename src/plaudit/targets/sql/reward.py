"""A reward as SQL: expressions for each output, and a whole statement that scores a table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, NoReturn

from plaudit.errors import TargetError, UnsupportedNode
from plaudit.language import nodes as n
from plaudit.language.field import Field
from plaudit.language.intervals import ANYTHING
from plaudit.language.program import Program
from plaudit.targets.columns import OK, name_columns
from plaudit.targets.compiled import Compiled
from plaudit.targets.dtypes import find_rounded
from plaudit.targets.inputs import InputSlot, list_slots, may_be_inexact
from plaudit.targets.sql.dialects import CANNOT, Dialect, find_dialect
from plaudit.targets.sql.lower import bound_inputs, lower
from plaudit.targets.sql.writing import (
    LONGEST,
    Expression,
    ExpressionTooLong,
    QueryBuilder,
    TemplateChooser,
    write_expressions,
)

NO_PREDECESSOR = "no predecessor"
MOST_COLUMNS = 1_000
"""PostgreSQL has 1,600 columns at most, SQLite 2,000; long before that, a statement takes minutes to plan."""
READABLE = 20_000
"""Characters of an expression beyond which shared values get names after all, in a subquery."""


class SqlReward(Compiled):
    """A reward compiled to SQL; it is text, and runs nothing itself.

    `total`, `values[term]`, `scores[term]` and `ok` are each one expression over the columns of a row; `select(table)`
    is a statement with all of them, in which every shared value is computed once. Where `ok` is false the numbers are
    NULL. SQL cannot raise an error for a row, so `on_bad` has no effect.
    """

    def __init__(
        self,
        program: Program,
        *,
        guard: bool = True,
        on_bad: str = "mask",
        dialect: str = "duckdb",
        keys: Sequence[str] | None = None,
        order_step: float = 1,
        struct: bool = False,
    ) -> None:
        """Compile `program` for a dialect.

        `prev.x` is a column of that name, or with `struct` a part of the column `prev`. With `keys`, columns that say
        which episode a row belongs to and, last, which step of it, it is `x` of the row before; a row whose step does
        not follow that one by `order_step` has no predecessor and does not count. A state before the step is a column
        of its own either way, `prev.air_time`: it depends on every row since the episode began, which no window sees.
        """
        if isinstance(keys, str):
            raise TargetError(f"keys={keys!r} must be a sequence of column names: (partition…, order)")
        names = tuple(keys or ())
        super().__init__(
            program, guard=guard, on_bad=on_bad, dialect=dialect, keys=names, order_step=order_step, struct=struct
        )
        self.dialect = dialect
        self.keys = names
        self._dialect = find_dialect(dialect)
        self._columns = Columns(self._dialect, names, order_step, struct, frozenset(program.states))
        if struct and names:
            raise TargetError("pass keys= (`prev` is the row before) or struct=True (`prev` is a column), not both")
        self.columns = self._columns.list_names(program)
        if len(self.columns) > MOST_COLUMNS:
            raise UnsupportedNode(
                f"reward {program.name!r} reads {len(self.columns):,} numbers per row. In SQL each is a column, and "
                f"databases allow few more than {MOST_COLUMNS:,}. Score these rows with plaudit score, or in Python."
            )
        self._bound = program.bind()

    @property
    def total(self) -> str:
        """The total, as one expression."""
        return self._expressions["total"]

    @property
    def ok(self) -> str:
        """Whether the row can be scored, as one expression."""
        return self._expressions[OK]

    @cached_property
    def values(self) -> Mapping[str, str]:
        """Each term's value, as one expression."""
        return MappingProxyType({term: self._expressions[self._names[f"{term}.value"]] for term in self.program.terms})

    @cached_property
    def scores(self) -> Mapping[str, str]:
        """Each term's score, as one expression."""
        return MappingProxyType({term: self._expressions[self._names[f"{term}.score"]] for term in self.program.terms})

    def select(self, table: str | Sequence[str], keep: Sequence[str] | None = None) -> str:
        """Return the statement that scores every row of `table`, which may be given in parts: (schema, name).

        It yields the columns of `keep` (default: the keys), `total`, each term's value under the name of the term, each
        term's score under `<term>.score`, `ok` and, with keys, `no predecessor`: rows that do not count for that reason
        alone are not bad data.
        """
        parts = (table,) if isinstance(table, str) else tuple(table)
        kept = self.keys if keep is None else ((keep,) if isinstance(keep, str) else tuple(keep))
        query = QueryBuilder(inline=False)
        held = {
            name: query.add_name(f"k{i}", Expression(self._dialect.quote_name(name))) for i, name in enumerate(kept)
        }
        outputs = self._write_outputs(query)
        for name in kept:
            if name in outputs or kept.count(name) > 1:
                raise TargetError(f"keep={kept!r}: the result would have two columns {name!r}")
        prefix = "plaudit"
        while any(part.lower().startswith(prefix) for part in parts):
            prefix += "_"
        return query.format_statement(
            self._dialect, ".".join(map(self._dialect.quote_name, parts)), prefix, {**held, **outputs}
        )

    @cached_property
    def _names(self) -> Mapping[str, str]:
        return name_columns(self.program.terms, self.program.inputs)

    @cached_property
    def _expressions(self) -> Mapping[str, str]:
        nests = not self.keys  # a window would see the one row of the subquery
        try:
            query = QueryBuilder(inline=True, longest=READABLE if nests else LONGEST)
            return {name: each.text for name, each in self._write_outputs(query).items()}
        except ExpressionTooLong:
            if not nests:
                raise
        query = QueryBuilder(inline=False)
        return {name: query.format_nested(self._dialect, each) for name, each in self._write_outputs(query).items()}

    def _write_outputs(self, query: QueryBuilder) -> dict[str, Expression]:
        bound = self._bound
        entered = check_inputs(bound, self._columns, query, guard=self.guard)
        guards = [guard.node for guard in bound.value_guards]
        box = bound_inputs(bound, guard=self.guard)
        roots = [bound.outputs[output] for output in self._names] + guards
        plain = lower(bound, roots, box, native=self._dialect.native, guard=self.guard)
        texts = write_expressions(plain, TemplateChooser(plain, self._dialect), entered.values, query)
        found = [texts[at] for at in plain.roots]
        follows = self._write_follows(query, entered.values)
        conditions = [*follows, *entered.conditions, *found[len(self._names) :]]
        conditions = [each for each in dict.fromkeys(conditions) if each.text != "TRUE"] or [Expression("TRUE")]
        ok = query.add_name("ok", query.build("({0} IS TRUE)", [join_tests(query, conditions)]))
        outputs = {
            name: query.build("CASE WHEN {0} THEN {1} END", [ok, each])
            for name, each in zip(self._names.values(), found, strict=False)
        }
        outputs[OK] = ok
        if self.keys:
            outputs[NO_PREDECESSOR] = query.build("(NOT {0})", follows) if follows else Expression("FALSE")
        return outputs

    def _write_follows(self, query: QueryBuilder, values: Mapping[str, Expression]) -> list[Expression]:
        """Return the condition that a row has a predecessor, if it needs one."""
        before = [slot.name for slot in list_slots(self.program) if self._columns.is_row_before(slot)]
        if not before:
            return []
        follows = query.add_name("follows", Expression(self._columns.format_follows()))
        if all(name in self.program.terminal for name in before):
            return [query.build("(NOT {0} OR {1})", [values["terminal"], follows])]
        return [follows]

    def step(self, inputs: Any, state: Any, *, reset: Any = None, params: Any = None) -> NoReturn:
        """Refuse: a statement keeps no state from row to row."""
        raise TargetError(
            "SQL keeps no state from row to row: pass states as columns, such as 'prev.air_time'. "
            "reward.score_episodes(columns, ...) computes them."
        )

    def __repr__(self) -> str:
        return f"SqlReward({self.program.name}, dialect={self.dialect!r})"

    def __setattr__(self, name: str, value: Any) -> None:
        if "_bound" in vars(self):
            raise AttributeError(f"a compiled reward is read-only; compile it again to change {name!r}")
        super().__setattr__(name, value)


@dataclass(frozen=True, slots=True)
class Columns:
    """Where the inputs of a reward are found in a table."""

    dialect: Dialect
    keys: tuple[str, ...] = ()
    """Partition columns and then the order column, where `prev` is the row before."""
    order_step: float = 1
    struct: bool = False
    states: frozenset[str] = frozenset()
    """What the table holds under its whole name, also where `prev` is the row before."""

    def __post_init__(self) -> None:
        if self.struct and (self.dialect.name, "struct") in CANNOT:
            raise UnsupportedNode(CANNOT[self.dialect.name, "struct"])
        if len(self.keys) == 1:
            raise TargetError("keys=(partition…, order) needs at least two columns: the episode and the step within it")
        if len(set(self.keys)) != len(self.keys):
            raise TargetError(f"keys={self.keys!r} names a column twice")
        if isinstance(self.order_step, bool) or not 0 < self.order_step < float("inf"):
            raise TargetError(f"order_step={self.order_step!r} must be a number above 0")

    def list_names(self, program: Program) -> tuple[str, ...]:
        """Return the columns that the reward reads, each once."""
        found = dict.fromkeys(self._find_name(slot) for slot in list_slots(program))
        return tuple(found | dict.fromkeys(self.keys))

    def _find_name(self, slot: InputSlot) -> str:
        if self.struct and slot.record:
            return slot.record
        return slot.plain if self.keys and slot.key not in self.states else slot.name

    def is_row_before(self, slot: InputSlot) -> bool:
        """Return whether an input is found in the row before."""
        return bool(self.keys) and slot.record == "prev" and slot.key not in self.states

    def format_input(self, slot: InputSlot) -> str:
        """Return the expression of an input as the table holds it."""
        quoted = self.dialect.quote_name
        if self.struct and slot.record:
            key = slot.plain
            return self.dialect.record.format(quoted(slot.record), quoted(key), self.dialect.quote_string(key))
        column = quoted(self._find_name(slot))
        return self._format_window(f"LAG({column})") if self.is_row_before(slot) else column

    def _format_window(self, function: str) -> str:
        *partition, order = map(self.dialect.quote_name, self.keys)
        return f"{function} OVER (PARTITION BY {', '.join(partition)} ORDER BY {order})"

    def format_follows(self) -> str:
        """Return the condition that the row before is the one step before, and no other row claims either place."""
        *partition, order = map(self.dialect.quote_name, self.keys)
        step = int(self.order_step) if float(self.order_step).is_integer() else repr(float(self.order_step))
        before, twice, after = (
            self._format_window(f"LAG({order})"),
            self._format_window(f"LAG({order}, 2)"),
            self._format_window(f"LEAD({order})"),
        )
        known = "".join(f" AND {column} IS NOT NULL" for column in partition)
        return (
            f"(({order} - {before} = {step} AND COALESCE({before} <> {twice}, TRUE) "
            f"AND COALESCE({order} <> {after}, TRUE){known}) IS TRUE)"
        )


@dataclass(frozen=True, slots=True)
class CheckedInputs:
    """The inputs as their fields hold them, and what must hold for a row to count so far."""

    values: dict[str, Expression]
    conditions: list[Expression]


def check_inputs(program: Program, columns: Columns, query: QueryBuilder, *, guard: bool) -> CheckedInputs:
    """Return every input, harmless where the row does not count, and the conditions on inputs."""
    dialect = columns.dialect
    ranges = _find_ranges(program) if guard else {}
    raw: dict[str, Expression] = {}
    tests: dict[str, list[Expression]] = {}
    for i, slot in enumerate(list_slots(program)):
        given = columns.format_input(slot)
        text, whether = _read_column(dialect, slot.field, given, guard)
        raw[slot.name] = query.add_name(f"r{i}", Expression(text))
        tests[slot.name] = [query.add_name(f"d{i}", Expression(whether))] if whether else []
    gates = _write_range_tests(program, ranges, raw, query, dialect)
    values: dict[str, Expression] = {}
    for i, (name, field) in enumerate(program.inputs.items()):
        test, value = _check_value(dialect, field, query, raw[name], gates.get(name))
        tests[name].append(test)
        values[name] = query.add_name(f"x{i}", value)
    conditions = []
    for name in program.inputs:
        whole = join_tests(query, tests[name])
        if name in program.terminal:
            whole = query.build("(NOT {0} OR {1})", [values["terminal"], whole])
        conditions.append(whole)
    return CheckedInputs(values, conditions)


def join_tests(query: QueryBuilder, tests: Sequence[Expression]) -> Expression:
    """Return the conjunction of one test or more."""
    joined = " AND ".join(f"{{{k}}}" for k in range(len(tests)))
    return query.build(f"({joined})", tests) if len(tests) > 1 else tests[0]


def _read_column(dialect: Dialect, field: Field, column: str, guard: bool) -> tuple[str, str]:
    """Return a column as what its field holds, and a test that only the column itself can pass, or an empty string."""
    tests = []
    if field.kind == "number":
        text = _format_number(dialect, field, column)
        tests += [dialect.typed] if dialect.typed else []
        tests += [dialect.exact] if may_be_inexact(field, guard) else []
    elif field.kind == "flag":
        text = dialect.flag.column.format(column)
    else:
        text = f"({dialect.binary.format(column)})"
        tests += [dialect.texts] if dialect.texts else []
    whether = " AND ".join(test.format(column) for test in tests)
    if field.missing is None:
        return text, f"({whether})" if tests else ""
    return f"COALESCE({text}, {_format_missing(dialect, field)})", f"({column} IS NULL OR {whether})" if tests else ""


def _format_number(dialect: Dialect, field: Field, column: str) -> str:
    """Return a column of numbers as float64; what counts as a bound where the column holds float32 is that bound."""
    wide = f"CAST({column} AS {dialect.double})"
    rounded = find_rounded(field, "float32") if dialect.narrow else {}
    narrow, literal = dialect.narrow.format(column), dialect.format_literal
    cases = [f"WHEN {narrow} AND {wide} = {literal(near)} THEN {literal(bound)}" for near, bound in rounded.items()]
    return f"CASE {' '.join(cases)} ELSE {wide} END" if cases else wide


def _format_missing(dialect: Dialect, field: Field) -> str:
    if field.kind == "flag":
        return dialect.flag.yes if field.missing else dialect.flag.no
    return (
        dialect.quote_string(str(field.missing))
        if field.kind == "category"
        else dialect.format_literal(float(field.missing or 0))
    )


def _check_value(
    dialect: Dialect, field: Field, query: QueryBuilder, raw: Expression, gate: Expression | None
) -> tuple[Expression, Expression]:
    """Return the test that a value is in its declared set, and the value, harmless where it is not."""
    if field.kind == "number":
        test = gate or query.build("({0} IS NOT NULL)", [raw])
        rest = Expression(dialect.format_literal(float(field.at_rest)))
        return test, query.build("CASE WHEN {0} THEN {1} ELSE {2} END", [test, raw, rest])
    if field.kind == "flag":
        known, true = dialect.flag.known, dialect.flag.true
        return query.build(f"({known})", [raw]), query.build(f"(({true}) IS TRUE)", [raw])
    labels = Expression(", ".join(map(dialect.quote_string, field.labels)))
    listed = query.build("({0} IN ({1}))", [raw, labels])
    test = query.build("({0} IS NOT NULL)", [raw]) if field.other is not None else listed
    otherwise = Expression(dialect.quote_string(field.labels[0] if field.other is None else field.other))
    return test, query.build("CASE WHEN {0} THEN {1} ELSE {2} END", [listed, raw, otherwise])


def _find_ranges(program: Program) -> dict[str, int]:
    """Return the condition of each number's declared range, whether it is the end or not."""
    found = {}
    for guard in program.ranges:
        node = program.nodes[guard.node]
        if program.inputs[guard.where].kind == "number":
            gated = guard.where in program.terminal and isinstance(node, n.Or)
            found[guard.where] = node.right if gated and isinstance(node, n.Or) else guard.node
    return found


def _write_range_tests(
    program: Program, ranges: dict[str, int], raw: dict[str, Expression], query: QueryBuilder, dialect: Dialect
) -> dict[str, Expression]:
    """Return the conditions of `ranges` on values that may be anything yet, NULL and NaN too."""
    if not ranges:
        return {}
    roots: Sequence[int] = list(ranges.values())
    box = dict.fromkeys(program.inputs, ANYTHING)
    plain = lower(program, roots, box, native=dialect.native, guard=False)
    texts = write_expressions(plain, TemplateChooser(plain, dialect, asserted=True), raw, query, "g")
    return {name: texts[at] for name, at in zip(ranges, plain.roots, strict=True)}

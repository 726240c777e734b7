"""How columns come in: each as a float64, a flag or a text, with the condition that it is what its field allows."""

from collections.abc import Sequence
from dataclasses import dataclass

from plaudit.errors import TargetError, UnsupportedNode
from plaudit.language import nodes as n
from plaudit.language.field import LARGEST_WHOLE, Field
from plaudit.language.interval import ANYTHING, of_field
from plaudit.language.program import Program
from plaudit.targets.rows import Place, places
from plaudit.targets.sql.dialects import CANNOT, Dialect
from plaudit.targets.sql.lowering import lowered
from plaudit.targets.sql.sheet import Cell, Sheet
from plaudit.targets.sql.spelling import Speller
from plaudit.targets.sql.writing import write


@dataclass(frozen=True, slots=True)
class Columns:
    """Where the inputs of a reward are found in a table."""

    dialect: Dialect
    keys: tuple[str, ...] = ()
    """Partition columns and then the order column, where `prev` is the row before."""
    order_step: float = 1
    struct: bool = False

    def __post_init__(self) -> None:
        """Refuse keys that cannot tell which row is the one before."""
        if self.struct and (self.dialect.name, "struct") in CANNOT:
            raise UnsupportedNode(CANNOT[self.dialect.name, "struct"])
        if len(self.keys) == 1:
            raise TargetError("keys=(partition…, order) needs at least two columns: the episode and the step in it")
        if len(set(self.keys)) != len(self.keys):
            raise TargetError(f"keys={self.keys!r} names a column twice")
        if isinstance(self.order_step, bool) or not 0 < self.order_step < float("inf"):
            raise TargetError(f"order_step={self.order_step!r} must be a number above 0")

    def names(self, program: Program) -> tuple[str, ...]:
        """Return the columns that the reward reads, each once."""
        found = dict.fromkeys(self._name(place) for place in places(program))
        return tuple(found | dict.fromkeys(self.keys))

    def _name(self, place: Place) -> str:
        if self.struct and place.record:
            return place.record
        return self._key(place) if self.keys else place.name

    @staticmethod
    def _key(place: Place) -> str:
        return place.key if place.entry is None else f"{place.key}[{place.entry}]"

    def text(self, place: Place) -> str:
        """Return the expression of an input as the table holds it."""
        quoted = self.dialect.quoted
        if self.struct and place.record:
            key = self._key(place)
            return self.dialect.record.format(quoted(place.record), quoted(key), self.dialect.string(key))
        column = quoted(self._name(place))
        return self._over(f"LAG({column})") if self.keys and place.record == "prev" else column

    def _over(self, function: str) -> str:
        *partition, order = map(self.dialect.quoted, self.keys)
        return f"{function} OVER (PARTITION BY {', '.join(partition)} ORDER BY {order})"

    def follows(self) -> str:
        """Return the condition that the row before is the one step before, and no other row claims either place."""
        *partition, order = map(self.dialect.quoted, self.keys)
        step = int(self.order_step) if float(self.order_step).is_integer() else repr(float(self.order_step))
        before, twice, after = self._over(f"LAG({order})"), self._over(f"LAG({order}, 2)"), self._over(f"LEAD({order})")
        known = "".join(f" AND {column} IS NOT NULL" for column in partition)
        return (
            f"(({order} - {before} = {step} AND COALESCE({before} <> {twice}, TRUE) "
            f"AND COALESCE({order} <> {after}, TRUE){known}) IS TRUE)"
        )


@dataclass(frozen=True, slots=True)
class Entered:
    """The inputs past the door, and what must hold for a row to count so far."""

    values: dict[str, Cell]
    conditions: list[Cell]


def enter(program: Program, columns: Columns, sheet: Sheet, *, guard: bool) -> Entered:
    """Return every input, harmless where the row does not count, and the conditions of the door."""
    dialect = columns.dialect
    ranges = _ranges(program) if guard else {}
    raw: dict[str, Cell] = {}
    tests: dict[str, list[Cell]] = {}
    for i, place in enumerate(places(program)):
        given = columns.text(place)
        text, whether = _raw(dialect, place.field, given, guard)
        raw[place.name] = sheet.named(f"r{i}", Cell(text))
        tests[place.name] = [sheet.named(f"d{i}", Cell(whether))] if whether else []
    gates = _gates(program, ranges, raw, sheet, dialect)
    values: dict[str, Cell] = {}
    for i, (name, field) in enumerate(program.inputs.items()):
        test, value = _checked(dialect, field, sheet, raw[name], gates.get(name))
        tests[name].append(test)
        values[name] = sheet.named(f"x{i}", value)
    conditions = []
    for name in program.inputs:
        whole = both(sheet, tests[name])
        if name in program.terminal:
            whole = sheet.cell("(NOT {0} OR {1})", [values["terminal"], whole])
        conditions.append(whole)
    return Entered(values, conditions)


def both(sheet: Sheet, tests: Sequence[Cell]) -> Cell:
    """Return the conjunction of one test or more."""
    joined = " AND ".join(f"{{{k}}}" for k in range(len(tests)))
    return sheet.cell(f"({joined})", tests) if len(tests) > 1 else tests[0]


def _raw(dialect: Dialect, field: Field, column: str, guard: bool) -> tuple[str, str]:
    """Return a column as what its field holds, and a test that only the column itself can pass, or an empty text."""
    tests = []
    if field.kind == "number":
        text = f"CAST({column} AS {dialect.double})"
        tests += [dialect.typed] if dialect.typed else []
        tests += [dialect.exact] if _may_be_inexact(field, guard) else []
    elif field.kind == "flag":
        text = dialect.flag.column.format(column)
    else:
        text = f"({dialect.binary.format(column)})"
        tests += [dialect.texts] if dialect.texts else []
    whether = " AND ".join(test.format(column) for test in tests)
    if field.missing is None:
        return text, f"({whether})" if tests else ""
    return f"COALESCE({text}, {_stand_in(dialect, field)})", f"({column} IS NULL OR {whether})" if tests else ""


def _stand_in(dialect: Dialect, field: Field) -> str:
    """Return what stands in for NULL."""
    if field.kind == "flag":
        return dialect.flag.yes if field.missing else dialect.flag.no
    return (
        dialect.string(str(field.missing)) if field.kind == "category" else dialect.literal(float(field.missing or 0))
    )


def _may_be_inexact(field: Field, guard: bool) -> bool:
    """Return whether a whole number that no float holds could pass the declared range."""
    low, high = of_field(field)
    return not guard or not (low > -LARGEST_WHOLE and high < LARGEST_WHOLE)


def _checked(dialect: Dialect, field: Field, sheet: Sheet, raw: Cell, gate: Cell | None) -> tuple[Cell, Cell]:
    """Return the test that a value is in its declared set, and the value, harmless where it is not."""
    if field.kind == "number":
        test = gate or sheet.cell("({0} IS NOT NULL)", [raw])
        rest = Cell(dialect.literal(float(field.at_rest)))
        return test, sheet.cell("CASE WHEN {0} THEN {1} ELSE {2} END", [test, raw, rest])
    if field.kind == "flag":
        known, true = dialect.flag.known, dialect.flag.true
        return sheet.cell(f"({known})", [raw]), sheet.cell(f"(({true}) IS TRUE)", [raw])
    labels = Cell(", ".join(map(dialect.string, field.labels)))
    listed = sheet.cell("({0} IN ({1}))", [raw, labels])
    test = sheet.cell("({0} IS NOT NULL)", [raw]) if field.other is not None else listed
    otherwise = Cell(dialect.string(field.labels[0] if field.other is None else field.other))
    return test, sheet.cell("CASE WHEN {0} THEN {1} ELSE {2} END", [listed, raw, otherwise])


def _ranges(program: Program) -> dict[str, int]:
    """Return the condition of each number's declared range, whether it is the end or not."""
    found = {}
    for guard in program.ranges:
        node = program.nodes[guard.node]
        if program.inputs[guard.where].kind == "number":
            gated = guard.where in program.terminal and isinstance(node, n.Or)
            found[guard.where] = node.right if gated and isinstance(node, n.Or) else guard.node
    return found


def _gates(
    program: Program, ranges: dict[str, int], raw: dict[str, Cell], sheet: Sheet, dialect: Dialect
) -> dict[str, Cell]:
    """Return the conditions of `ranges` on values that may be anything yet, NULL and NaN too."""
    if not ranges:
        return {}
    roots: Sequence[int] = list(ranges.values())
    box = dict.fromkeys(program.inputs, ANYTHING)
    plain = lowered(program, roots, box, native=dialect.native, guard=False)
    texts = write(plain, Speller(plain, dialect, asserted=True), raw, sheet, "g")
    return {name: texts[at] for name, at in zip(ranges, plain.roots, strict=True)}

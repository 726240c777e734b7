"""A reward as SQL: expressions for each output, and a whole statement that scores a table."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any

from plaudit.errors import TargetError
from plaudit.language.program import Program
from plaudit.targets.compiled import Compiled
from plaudit.targets.rows import places
from plaudit.targets.sql.dialects import dialect_named
from plaudit.targets.sql.door import Columns, both, enter
from plaudit.targets.sql.lowering import box_of, lowered
from plaudit.targets.sql.sheet import LONGEST, Cell, Sheet, TooLong
from plaudit.targets.sql.spelling import Speller
from plaudit.targets.sql.writing import write

NO_PREDECESSOR = "no predecessor"
READABLE = 20_000
"""Characters of an expression beyond which shared values get names after all, in a subquery."""


class SqlReward(Compiled):
    """A reward compiled to SQL; it is text, and never runs anything itself.

    `total`, `values[term]`, `scores[term]` and `ok` are each one expression over the columns of a row; `select(table)`
    is a statement with all of them, in which every shared value is computed once. Where `ok` is false the numbers are
    NULL: there is nobody to raise an error, so `on_bad` makes no difference.
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
        not follow that one by `order_step` has no predecessor and does not count.
        """
        if isinstance(keys, str):
            raise TargetError(f"keys={keys!r} must be a sequence of column names: (partition…, order)")
        names = tuple(keys or ())
        super().__init__(
            program, guard=guard, on_bad=on_bad, dialect=dialect, keys=names, order_step=order_step, struct=struct
        )
        self.dialect = dialect
        self.keys = names
        self._dialect = dialect_named(dialect)
        self._columns = Columns(self._dialect, names, order_step, struct)
        if struct and names:
            raise TargetError("with keys= `prev` is the row before; struct=True is for tables that hold it in a column")
        self.columns = self._columns.names(program)
        self._bound = program.bound()

    @property
    def total(self) -> str:
        """The total, as one expression."""
        return self._expressions["total"]

    @property
    def ok(self) -> str:
        """Whether the row counts, as one expression."""
        return self._expressions["ok"]

    @cached_property
    def values(self) -> Mapping[str, str]:
        """Each term's value, as one expression."""
        return MappingProxyType({term: self._expressions[f"{term}.value"] for term in self.program.terms})

    @cached_property
    def scores(self) -> Mapping[str, str]:
        """Each term's score, as one expression."""
        return MappingProxyType({term: self._expressions[f"{term}.score"] for term in self.program.terms})

    def select(self, table: str | Sequence[str], keep: Sequence[str] | None = None) -> str:
        """Return the statement that scores every row of `table`, which may be given in parts: (schema, name).

        It yields the columns of `keep` (default: the keys), each term's score and value under `<term>.score` and
        `<term>.value`, `total`, `ok` and, with keys, `no predecessor`: rows that do not count for that reason alone are
        not bad data.
        """
        parts = (table,) if isinstance(table, str) else tuple(table)
        kept = self.keys if keep is None else ((keep,) if isinstance(keep, str) else tuple(keep))
        sheet = Sheet(inline=False)
        held = {name: sheet.named(f"k{i}", Cell(self._dialect.quoted(name))) for i, name in enumerate(kept)}
        outputs = self._outputs(sheet)
        for name in kept:
            if name in outputs or kept.count(name) > 1:
                raise TargetError(f"keep={kept!r}: the result would have two columns {name!r}")
        prefix = "plaudit"
        while any(part.lower().startswith(prefix) for part in parts):
            prefix += "_"
        return sheet.statement(self._dialect, ".".join(map(self._dialect.quoted, parts)), prefix, {**held, **outputs})

    @cached_property
    def _expressions(self) -> Mapping[str, str]:
        nests = not self.keys  # a window would see the one row of the subquery
        try:
            sheet = Sheet(inline=True, longest=READABLE if nests else LONGEST)
            return {name: cell.text for name, cell in self._outputs(sheet).items()}
        except TooLong:
            if not nests:
                raise
        sheet = Sheet(inline=False)
        return {name: sheet.nested(self._dialect, cell) for name, cell in self._outputs(sheet).items()}

    def _outputs(self, sheet: Sheet) -> dict[str, Cell]:
        """Return every output as an expression on `sheet`."""
        bound = self._bound
        entered = enter(bound, self._columns, sheet, guard=self.guard)
        names = [f"{term}.{part}" for term in bound.terms for part in ("score", "value")] + ["total"]
        guards = [guard.node for guard in bound.domain]
        box = box_of(bound, guard=self.guard)
        roots = [bound.outputs[name] for name in names] + guards
        plain = lowered(bound, roots, box, native=self._dialect.native, guard=self.guard)
        texts = write(plain, Speller(plain, self._dialect), entered.values, sheet)
        found = [texts[at] for at in plain.roots]
        follows = self._follows(sheet, entered.values)
        conditions = [*follows, *entered.conditions, *found[len(names) :]]
        conditions = [each for each in dict.fromkeys(conditions) if each.text != "TRUE"] or [Cell("TRUE")]
        ok = sheet.named("ok", sheet.cell("({0} IS TRUE)", [both(sheet, conditions)]))
        outputs = {
            name: sheet.cell("CASE WHEN {0} THEN {1} END", [ok, cell]) for name, cell in zip(names, found, strict=False)
        }
        outputs["ok"] = ok
        if self.keys:
            outputs[NO_PREDECESSOR] = sheet.cell("(NOT {0})", follows) if follows else Cell("FALSE")
        return outputs

    def _follows(self, sheet: Sheet, values: Mapping[str, Cell]) -> list[Cell]:
        """Return the condition that a row has a predecessor, if it needs one."""
        before = [place.name for place in places(self.program) if place.record == "prev"]
        if not self.keys or not before:
            return []
        follows = sheet.named("follows", Cell(self._columns.follows()))
        if all(name in self.program.terminal for name in before):
            return [sheet.cell("(NOT {0} OR {1})", [values["terminal"], follows])]
        return [follows]

    def __repr__(self) -> str:
        """Return the reward's name and the dialect."""
        return f"SqlReward({self.program.name}, dialect={self.dialect!r})"

    def __setattr__(self, name: str, value: Any) -> None:
        """Refuse changes: the expressions have been made."""
        if "_bound" in vars(self):
            raise AttributeError(f"a compiled reward never changes; compile another one for other {name!r}")
        super().__setattr__(name, value)

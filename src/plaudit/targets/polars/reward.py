"""A reward as Polars expressions: one for each output, and one that holds them all."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, NoReturn, TypeVar, cast

import polars as pl
import polars.selectors as cs

from plaudit.errors import TargetError, UnsupportedNode
from plaudit.language.program import Program
from plaudit.targets.columns import OK, name_columns
from plaudit.targets.compiled import Compiled
from plaudit.targets.polars.columns import Columns, Schema, list_fields
from plaudit.targets.polars.plan import EVERYTHING, NO_PREDECESSOR, Planner

MOST_INPUTS = 1_000
"""Numbers of a row that are read; to plan a query over as many takes ten seconds."""

Frame = TypeVar("Frame", pl.DataFrame, pl.LazyFrame)


class PolarsReward(Compiled):
    """A reward compiled to Polars; it holds no data, and runs where its expressions do.

    `total`, `values[term]`, `scores[term]` and `ok` are each one expression over the columns of a frame, and `struct`
    is one with all of them, in which every shared value is computed once. `select(frame)` is a frame of these columns.
    """

    def __init__(
        self,
        program: Program,
        *,
        guard: bool = True,
        on_bad: str = "raise",
        keys: Sequence[str] | None = None,
        order_step: float = 1,
    ) -> None:
        """Compile `program`.

        `prev.x` is a column of that name, or a field of the column `prev`. With `keys`, columns that say which episode
        a row belongs to and, last, which step of it, it is `x` of the row before; a row whose step does not follow that
        one by `order_step` has no predecessor: it does not count, and is no bad row either. A state before the step is
        a column of its own either way, `prev.air_time`.
        """
        if isinstance(keys, str):
            raise TargetError(f"keys={keys!r} must be a sequence of column names: (partition…, order)")
        names = tuple(keys or ())
        super().__init__(program, guard=guard, on_bad=on_bad, keys=names, order_step=order_step)
        if len(program.inputs) > MOST_INPUTS:
            raise UnsupportedNode(
                f"reward {program.name!r} reads {len(program.inputs):,} numbers per row. In Polars each is a "
                f"separate expression, and a query over more than {MOST_INPUTS:,} takes long to plan. Score these "
                "rows with reward.compile('numpy')."
            )
        self.keys = names
        self._names = name_columns(program.terms, program.inputs)
        columns = Columns(program, guard, names, order_step)
        self.columns = columns.list_names()
        self._candidates = columns.list_candidates()
        self._planner = Planner(program, columns, self._names, raises=on_bad == "raise")
        self._planned: dict[Any, pl.Expr] = {}

    @property
    def total(self) -> pl.Expr:
        """The total, as one expression."""
        return self._write("total", "total")

    @property
    def ok(self) -> pl.Expr:
        """Whether the row can be scored, as one expression; it never raises, for any `on_bad`."""
        return self._write(OK, OK)

    @cached_property
    def values(self) -> Mapping[str, pl.Expr]:
        """Each term's value, as one expression."""
        return self._write_part("value")

    @cached_property
    def scores(self) -> Mapping[str, pl.Expr]:
        """Each term's score, as one expression."""
        return self._write_part("score")

    @property
    def struct(self) -> pl.Expr:
        """Every output, as one expression: a struct called like the reward, for `unnest`."""
        return self._write(self.program.name, EVERYTHING)

    def select(self, frame: Frame, keep: Sequence[str] | None = None) -> Frame:
        """Return a frame of the scores of every row.

        Its columns are those of `keep` (default: the keys), `total`, each term's value under the name of the term, each
        term's score under `<term>.score`, `ok` and, with keys, `no predecessor`.

        Args:
            frame: A DataFrame or a LazyFrame; a LazyFrame is not collected.
            keep: Columns that are taken over.

        Raises:
            TargetError: `keep` names a column that the result has already.
            InputError: A column is missing or of another kind, or a row cannot be scored and `on_bad` is "raise"; of a
                LazyFrame when it is collected.
        """
        kept = self.keys if keep is None else ((keep,) if isinstance(keep, str) else tuple(keep))
        made = [*self._names.values(), OK, NO_PREDECESSOR]
        for name in kept:
            if name in made or kept.count(name) > 1:
                raise TargetError(f"keep={kept!r}: the result would have two columns {name!r}")
        name = "plaudit"
        while name in kept:
            name += "_"
        return frame.select(*kept, self.struct.alias(name)).unnest(name)

    def step(self, inputs: Any, state: Any, *, reset: Any = None, params: Any = None) -> NoReturn:
        """Refuse: an expression keeps no state from row to row."""
        raise TargetError(
            "Polars keeps no state from row to row: pass states as columns, such as 'prev.air_time'. "
            "reward.score_episodes(columns, ...) computes them."
        )

    def __repr__(self) -> str:
        return f"PolarsReward({self.program.name})"

    def _write_part(self, part: str) -> Mapping[str, pl.Expr]:
        names = ((term, f"{term}.{part}") for term in self.program.terms)
        return MappingProxyType({term: self._write(self._names[name], name) for term, name in names})

    def _write(self, name: str, output: str) -> pl.Expr:
        """Return an output as an expression, which is made when a query is planned and the schema is known."""
        everything = cs.by_name(*self._candidates, require_all=False) | cs.all()  # which leaves out keys of group_by
        return pl.pipe_with_dtype([pl.struct(everything)], _Planning(self, output)).alias(name)

    def plan(self, output: str, schema: Schema) -> pl.Expr:
        """Return an output, or with `EVERYTHING` all of them, as an expression over columns of this schema."""
        known = output, tuple(schema.items())
        if known not in self._planned:
            self._planned[known] = self._planner.plan(output, schema)
        return self._planned[known]


@dataclass(frozen=True, slots=True)
class _Planning:
    """What Polars calls when it plans a query; an object, so that an expression can be pickled."""

    compiled: PolarsReward
    output: str

    def __call__(self, inputs: Sequence[tuple[pl.Expr, pl.DataType]]) -> pl.Expr:
        """Return the expression, given a struct of all columns of the frame; only its dtype is used."""
        [(_, row)] = inputs
        return self.compiled.plan(self.output, list_fields(cast(pl.Struct, row)))

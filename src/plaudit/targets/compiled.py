"""What all compiled rewards share: what they keep, the scores they return, and the limits of float types."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from plaudit.errors import InputError
from plaudit.frames import (
    ArrowTable,
    PandasFrame,
    PolarsFrame,
    align_columns,
    build_arrow,
    build_pandas,
    build_polars,
)
from plaudit.language.nodes import LARGEST_EXPONENT
from plaudit.language.program import Program
from plaudit.targets.columns import OK, name_columns


class Compiled:
    """A Program compiled for a target with some options; pickling it pickles these and compiles again."""

    def __init__(self, program: Program, *, guard: bool, on_bad: str, **options: Any) -> None:
        self.program = program
        self.guard = guard
        self.on_bad = on_bad
        self.inputs = tuple(program.inputs)
        self._options: Mapping[str, Any] = {"guard": guard, "on_bad": on_bad, **options}

    def step(
        self, inputs: Any, state: Mapping[str, Any], *, reset: Any = None, params: Mapping[str, Any] | None = None
    ) -> tuple["Scores", dict[str, Any]]:
        """Return the scores of a step, and the state after it: of one row or of a batch, as for a call.

        Args:
            inputs: What a call takes, without the states before the step.
            state: What each state is before the step, by name; `reward.initial_state(batch)` to begin with.
            reset: True where this step is the first of an episode: there the state is what it is initially.
            params: Other values of parameters.

        Returns:
            The scores, and the state after the step. A row that cannot be scored and is masked leaves it as it was.

        Raises:
            InputError: A name or a value cannot be scored, or a state is not given.
            DefinitionError: The reward carries no state.
        """
        raise NotImplementedError

    def __reduce__(self) -> tuple[Any, ...]:
        return rebuild, (type(self), self.program, dict(self._options))


def rebuild(kind: type[Any], program: Program, options: Mapping[str, Any]) -> Any:
    """Return a compiled reward of another process, compiled again in this one."""
    return kind(program, **options)


class Scores(NamedTuple):
    """The total, each term's value and score, and whether the row counts.

    Numbers for one row, arrays for a batch. Every term is always there. Where `ok` is false all numbers are NaN.
    """

    total: Any
    values: dict[str, Any]
    scores: dict[str, Any]
    ok: Any

    def to_columns(self) -> dict[str, Any]:
        """Return the columns, under the names they have everywhere: the total, each value, each score, and `ok`."""
        parts = {"total": self.total, OK: self.ok}
        parts |= {f"{term}.value": value for term, value in self.values.items()}
        parts |= {f"{term}.score": score for term, score in self.scores.items()}
        names = {**name_columns(tuple(self.values), ()), OK: OK}
        return align_columns({name: parts[output] for output, name in names.items()})

    def to_arrow(self) -> ArrowTable:
        """Return it as a table of Arrow; MissingExtra where that is not installed."""
        return build_arrow(self.to_columns())

    def to_pandas(self) -> PandasFrame:
        """Return it as a data frame of pandas; MissingExtra where that is not installed."""
        return build_pandas(self.to_columns())

    def to_polars(self) -> PolarsFrame:
        """Return it as a data frame of Polars; MissingExtra where that is not installed."""
        return build_polars(self.to_columns())


@dataclass(frozen=True, slots=True)
class About:
    """What a reward tells of itself, for targets that are text: a Program knows its name alone."""

    name: str
    version: str = ""
    fingerprint: str = ""
    domain_fingerprint: str = ""
    doc: str = ""
    docs: Mapping[str, str] = field(default_factory=dict)
    """The docstring of each term, of the gate and of the conditions of overrides."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The distinct outputs of a Program, in order, and where each name finds its own."""

    roots: tuple[int, ...]
    names: tuple[str, ...]
    """The first name of each root: `total`, `safety.value` …"""
    terms: tuple[str, ...]
    total: int
    values: tuple[int, ...]
    scores: tuple[int, ...]
    clamped: tuple[int, ...]

    @classmethod
    def of(cls, program: Program, *, clamped: bool = True) -> "Layout":
        """Return the layout of every output; without `clamped`, of what `Scores` holds."""
        parts = ("value", "score", "clamped") if clamped else ("value", "score")
        wanted = ["total", *(f"{term}.{part}" for part in parts for term in program.terms)]
        roots: dict[int, str] = {}
        for name in wanted[1:]:
            roots.setdefault(program.outputs[name], name)
        order = [program.outputs["total"], *roots]  # a total may be scaled in place: it shares with no term

        def at(part: str) -> tuple[int, ...]:
            if part not in parts:
                return ()
            return tuple(1 + list(roots).index(program.outputs[f"{term}.{part}"]) for term in program.terms)

        return cls(tuple(order), ("total", *roots.values()), program.terms, 0, at("value"), at("score"), at("clamped"))

    def to_scores(self, outputs: Sequence[Any], ok: Any, *, kind: type[dict[str, Any]] = dict) -> Scores:
        """Return the outputs of a compiled function by name, in dictionaries of `kind`."""
        return Scores(
            outputs[self.total],
            kind((term, outputs[at]) for term, at in zip(self.terms, self.values, strict=True)),
            kind((term, outputs[at]) for term, at in zip(self.terms, self.scores, strict=True)),
            ok,
        )


NumericRow = tuple[float, ...]
"""A value for each input, in order: categories by position, flags as 1 or 0."""


class GoldenRow(NamedTuple):
    """A row, and what the reward makes of it: for the tests of a target that runs without Python."""

    inputs: NumericRow
    refused: type[InputError] | None
    """What is raised for it; the numbers are NaN then."""
    numbers: tuple[float, ...]
    """The total, each term's value and each term's score."""
    states: tuple[float, ...]
    """What each entry of each state is after the step; as before it where the row is refused."""
    allowed: float
    """How far rounding may take another implementation; 0 where every operation is exactly rounded."""


def convert_scores(scores: Scores, convert: Callable[[Any], Any]) -> Scores:
    """Return scores with every array converted."""
    values, parts = ({term: convert(each) for term, each in part.items()} for part in (scores.values, scores.scores))
    return Scores(convert(scores.total), values, parts, convert(scores.ok))


class Limits(NamedTuple):
    """What a floating-point type can hold."""

    integer: int
    """Integers up to here are all held exactly."""
    exponent: float
    """The largest argument whose exponential is finite."""
    largest: float

    def fit(self, value: float | bool) -> float | bool:
        """Return a constant as this type holds it; infinite where it is too large."""
        return math.copysign(math.inf, value) if abs(value) > self.largest else value


FLOATS = {
    "float64": Limits(2**53, LARGEST_EXPONENT, 1.7976931348623157e308),
    "float32": Limits(2**24, 88.72283, 3.4028234663852886e38),
    "bfloat16": Limits(2**8, 88.5, 3.3895313892515355e38),
    "float16": Limits(2**11, 11.0859375, 65504.0),
}

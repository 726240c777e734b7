"""Shared by all compiled rewards: their base class, the scores they return, and the limits of float types."""

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

    def __init__(self, program: Program, *, guard: bool | str, on_bad: str, **options: Any) -> None:
        self.program = program
        self.guard = guard is True
        self.plain = guard == "plain"
        self.on_bad = on_bad
        self.inputs = tuple(program.inputs)
        self._options: Mapping[str, Any] = {"guard": guard, "on_bad": on_bad, **options}

    def step(
        self, inputs: Any, state: Mapping[str, Any], *, reset: Any = None, params: Mapping[str, Any] | None = None
    ) -> tuple["Scores", dict[str, Any]]:
        """Score one step, of one row or of a batch, and return the state after it.

        Args:
            inputs: The inputs of a call, without the states before the step.
            state: Each state before the step, by name. Start with `reward.initial_state(batch)`.
            reset: True where this step is the first of an episode: the initial state is used there.
            params: Other values of parameters, by name.

        Returns:
            The scores, and the state after the step. A masked row keeps its state unchanged.

        Raises:
            InputError: A name or a value cannot be scored, or a state is missing.
            DefinitionError: The reward carries no state.
        """
        raise NotImplementedError

    def __reduce__(self) -> tuple[Any, ...]:
        return rebuild, (type(self), self.program, dict(self._options))


def rebuild(kind: type[Any], program: Program, options: Mapping[str, Any]) -> Any:
    """Return a compiled reward of another process, compiled again in this one."""
    return kind(program, **options)


class Scores(NamedTuple):
    """The total, each term's value and score, and whether each row could be scored.

    Numbers for one row, arrays for a batch. Every term is always there. Where `ok` is false, all numbers are NaN.

    >>> from plaudit import Field, Reward, term
    >>> @term(weight=2)
    ... def near(distance):
    ...     return 1 if distance < 2 else 0
    >>> reaching = Reward("reaching", version="1", terms=[near], fields=[Field("distance", low=0, high=9)])
    >>> found = reaching.compile("numpy", on_bad="mask")({"distance": [1.0, 3.0, -1.0]})
    >>> found.total, found.scores["near"], found.ok
    (array([ 2.,  0., nan]), array([ 1.,  0., nan]), array([ True,  True, False]))
    """

    total: Any
    values: dict[str, Any]
    scores: dict[str, Any]
    ok: Any

    def to_columns(self) -> dict[str, Any]:
        """Return the scores as columns, under the names that files and tables use.

        Returns:
            `total`, each term's value under the name of the term, each score as `<term>.score`, and `ok`.
        """
        parts = {"total": self.total, OK: self.ok}
        parts |= {f"{term}.value": value for term, value in self.values.items()}
        parts |= {f"{term}.score": score for term, score in self.scores.items()}
        names = {**name_columns(tuple(self.values), ()), OK: OK}
        return align_columns({name: parts[output] for output, name in names.items()})

    def to_arrow(self) -> ArrowTable:
        """Return the scores as a PyArrow table.

        Returns:
            The columns of `to_columns`.

        Raises:
            MissingExtra: pyarrow is not installed.
        """
        return build_arrow(self.to_columns())

    def to_pandas(self) -> PandasFrame:
        """Return the scores as a pandas data frame.

        Returns:
            The columns of `to_columns`.

        Raises:
            MissingExtra: pandas is not installed.
        """
        return build_pandas(self.to_columns())

    def to_polars(self) -> PolarsFrame:
        """Return the scores as a Polars data frame.

        Returns:
            The columns of `to_columns`.

        Raises:
            MissingExtra: Polars is not installed.
        """
        return build_polars(self.to_columns())


@dataclass(frozen=True, slots=True)
class About:
    """The name, version and docstrings of a reward, for targets that write text. A Program knows only its name.

    >>> About("reaching", version="1", doc="Reach the goal.")
    About(name='reaching', version='1', fingerprint='', domain_fingerprint='', doc='Reach the goal.', docs={})
    """

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
    """A row with its expected scores, for the tests of a target that runs without Python."""

    inputs: NumericRow
    refused: type[InputError] | None
    """The error that is raised for it, in which case the numbers are NaN."""
    numbers: tuple[float, ...]
    """The total, each term's value and each term's score."""
    states: tuple[float, ...]
    """Each entry of each state after the step; unchanged if the row is refused."""
    allowed: float
    """How far another implementation may differ by rounding; 0 if every operation is exactly rounded."""


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

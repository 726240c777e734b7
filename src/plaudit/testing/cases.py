"""A reward as the text of plain Python functions, so that an oracle can call the very functions that plaudit reads.

A `Case` is a module of plain functions with what a reward needs besides: fields, weights, clamps. `Case.reward` is
plaudit's reading of it; `Case.functions()` are the functions themselves, undecorated.
"""

import ast
import linecache
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from dataclasses import fields as dataclass_fields
from functools import cached_property
from hashlib import sha256
from types import SimpleNamespace
from typing import Any

import numpy as np

from plaudit.language import nodes as n
from plaudit.language.field import Field
from plaudit.language.schedule import Schedule
from plaudit.reward.reward import Reward
from plaudit.reward.term import term
from plaudit.terminal import escape_controls

Dtype = type[np.float64] | type[np.float32]

LABELS = ("calm", "busy", "wild", "rest")
TABLES = {"PRICES": (0.5, -1.0, 2.0, 7.25), "STEPS": (3, 1, 0), "OPEN": (True, False, True)}
ORDER = ("wild", "calm", "rest", "busy")
MATH = tuple(kind for kind in n.FUNCTIONS if kind not in (n.Abs, n.Floor, n.Ceil, n.Round, n.Power))
"""Functions that are written wherever a number may stand; the others are written in ways of their own."""
BAD = "martian"

HEADER = f"""\
import math
from math import cos, exp, isinf, log1p

import plaudit

PRICES = {TABLES["PRICES"]!r}
STEPS = {TABLES["STEPS"]!r}
OPEN = {TABLES["OPEN"]!r}
ORDER = {ORDER!r}
SOME = {ORDER[:2]!r}
HALF = 0.5
"""


@dataclass(frozen=True)
class TermSpec:
    """A function of the module as a term, with the arguments of its decorator."""

    name: str
    weight: float | Schedule = 1.0
    low: float | None = None
    high: float | None = None
    terminal: bool = False
    gated: bool = True
    after_clamp: bool = False


@dataclass(frozen=True)
class Case:
    """A random reward."""

    source: str
    fields: tuple[Field, ...]
    terms: tuple[TermSpec, ...]
    params: tuple[tuple[str, float], ...] = ()
    low: float | None = None
    high: float | None = None
    powers: bool = False
    """Whether `**` is used: Python calls the C library for it, plaudit multiplies."""
    scale: float | None = None
    gate: str | None = None
    """The function that is the gate."""
    override: tuple[tuple[str, float], ...] = ()
    """Functions that are conditions, and the total where they hold."""
    name: str = "random"

    @cached_property
    def reward(self) -> Reward:
        """The reward that plaudit reads from the source."""
        space = load(self.source)
        names = [part.name for part in dataclass_fields(TermSpec) if part.name != "name"]
        terms = [term(**{name: getattr(t, name) for name in names})(space[t.name]) for t in self.terms]
        return Reward(
            self.name,
            version="1",
            terms=terms,
            fields=self.fields,
            shared=dict(self.params),
            low=self.low,
            high=self.high,
            scale=self.scale,
            gate=space[self.gate] if self.gate else None,
            override=[(space[name], value) for name, value in self.override],
        )

    def functions(self, *, dtype: Dtype = np.float64) -> dict[str, Callable[..., Any]]:
        """Return the plain functions by name, their constants rounded to `dtype`, their outer names made strict."""
        tree = ast.parse(self.source)
        if dtype != np.float64:
            tree = ast.fix_missing_locations(_Rounded(dtype).visit(tree))
        space: dict[str, Any] = {"__name__": "oracle"}
        exec(compile(tree, "<oracle>", "exec"), space)
        strict = _strict(dtype)
        strict["math"] = SimpleNamespace(**{**vars(math), **strict})
        space |= strict
        space |= {name: StrictTable(value) for name, value in space.items() if type(value) is tuple}
        above = {"gate": self.gate, **{name: name for name, _ in self.override}}
        return {t.name: space[t.name] for t in self.terms} | {k: space[v] for k, v in above.items() if v}

    def __repr__(self) -> str:
        declared = [
            ", ".join(f"{p.name}={v!r}" for p in dataclass_fields(f) if (v := getattr(f, p.name)) != p.default)
            for f in self.fields
        ]
        parts = [*(f"Field({text})" for text in declared), *map(repr, self.terms)]
        parts.append(f"shared={dict(self.params)}, low={self.low}, high={self.high}")
        parts.append(f"scale={self.scale}, gate={self.gate}, override={self.override}")
        return "\n".join(["Case:", escape_controls(self.source.removeprefix(HEADER).strip()), *parts])

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(repr(self))


def round_to(number: float, dtype: Dtype) -> float:
    """Return a number as `dtype` holds it."""
    with np.errstate(over="ignore"):
        return float(dtype(number))


class StrictTable(tuple[Any, ...]):
    """A constant tuple in which a negative index is outside, as in plaudit."""

    __slots__ = ()

    def __getitem__(self, index: Any) -> Any:
        if index < 0:
            raise IndexError("negative")
        return super().__getitem__(index)


class _Rounded(ast.NodeTransformer):
    """Rounds every float in a tree."""

    def __init__(self, dtype: Dtype) -> None:
        self.dtype = dtype

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:  # the name is ast's
        if isinstance(node.value, float) and math.isfinite(node.value):
            node.value = round_to(node.value, self.dtype)
        return node


def _strict(dtype: Dtype) -> dict[str, Any]:
    """Return the functions whose result must be finite, in `dtype` too, and `sum` written out left to right."""
    largest = float(np.finfo(dtype).max)

    def strict(function: Callable[[float], float]) -> Callable[[float], float]:
        def checked(x: float) -> float:
            result = function(x)
            if not abs(result) <= largest:
                raise ValueError("not finite")
            return result

        return checked

    def added(values: Iterable[Any]) -> Any:
        first, *rest = values
        for value in rest:
            first = first + value
        return first

    functions = {name: strict(getattr(math, name)) for _, name in map(n.split_function, filter(_is_partial, MATH))}
    return {**functions, "sum": added, "pi": round_to(math.pi, dtype)}


def _is_partial(kind: type[n.Node]) -> bool:
    return bool(kind.partial)


def load(source: str) -> dict[str, Any]:
    """Return the namespace of a module made of `source`, which `inspect` can find again."""
    name = f"<generated {sha256(source.encode()).hexdigest()[:16]}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    space: dict[str, Any] = {"__name__": "generated"}
    exec(compile(source, name, "exec"), space)
    return space

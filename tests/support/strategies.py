"""Random rewards as the text of plain Python functions, and rows aimed at the places where they change.

A `Case` is a module of plain functions with what a reward needs besides: fields, weights, clamps. `Case.reward` is
plaudit's reading of it; `Case.functions()` are the functions themselves, undecorated, for an oracle to call.
"""

import ast
import linecache
import math
import random
from dataclasses import dataclass, replace
from dataclasses import fields as dataclass_fields
from functools import cached_property
from hashlib import sha256
from types import SimpleNamespace

import numpy as np
from hypothesis import strategies as st

from plaudit import Field, Reward, Schedule, linear, piecewise, term
from plaudit.language import nodes as n

LABELS = ("calm", "busy", "wild", "rest")
TABLES = {"PRICES": (0.5, -1.0, 2.0, 7.25), "STEPS": (3, 1, 0), "OPEN": (True, False, True)}
ORDER = ("wild", "calm", "rest", "busy")
CONSTANTS = ("0", "1", "2", "-1", "3", "0.5", "0.1", "-0.3", "2.5", "10.0", "1e-3", "100")
NONZERO = ("2", "-3", "0.5", "1.7", "-0.25")
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
    """A function of the module as a term: what stands in its decorator."""

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

    @cached_property
    def reward(self) -> Reward:
        """The reward that plaudit reads from the source."""
        space = load(self.source)
        names = [part.name for part in dataclass_fields(TermSpec) if part.name != "name"]
        terms = [term(**{name: getattr(t, name) for name in names})(space[t.name]) for t in self.terms]
        return Reward(
            "random",
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

    def functions(self, *, dtype=np.float64):
        """Return the plain functions by name, their constants rounded to `dtype`, their outer names made strict."""
        tree = ast.parse(self.source)
        if dtype != np.float64:
            tree = ast.fix_missing_locations(_Rounded(dtype).visit(tree))
        space = {"__name__": "oracle"}
        exec(compile(tree, "<oracle>", "exec"), space)
        strict = _strict(dtype)
        strict["math"] = SimpleNamespace(**{**vars(math), **strict})
        space |= strict
        space |= {name: StrictTable(space[name]) for name in (*TABLES, "ORDER", "SOME")}
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
        return "\n".join(["Case:", self.source.removeprefix(HEADER).strip(), *parts])

    def _repr_pretty_(self, printer, cycle):
        printer.text(repr(self))


def rounded(number, dtype):
    """Return a number as `dtype` holds it."""
    with np.errstate(over="ignore"):
        return float(dtype(number))


class StrictTable(tuple):
    """A constant tuple in which a negative index is outside, as in plaudit."""

    def __getitem__(self, index):
        if index < 0:
            raise IndexError("negative")
        return super().__getitem__(index)


class _Rounded(ast.NodeTransformer):
    """Rounds every float in a tree."""

    def __init__(self, dtype):
        self.dtype = dtype

    def visit_Constant(self, node):  # the name is ast's
        if isinstance(node.value, float) and math.isfinite(node.value):
            node.value = rounded(node.value, self.dtype)
        return node


def _strict(dtype):
    """Return the functions whose result must be finite, in `dtype` too, and `sum` written out left to right."""
    largest = float(np.finfo(dtype).max)

    def strict(function):
        def checked(x):
            result = function(x)
            if not abs(result) <= largest:
                raise ValueError("not finite")
            return result

        return checked

    def added(values):
        first, *rest = values
        for value in rest:
            first = first + value
        return first

    functions = {name: strict(getattr(math, name)) for _, name in map(n.split_function, filter(_is_partial, MATH))}
    return {**functions, "sum": added, "pi": rounded(math.pi, dtype)}


def _is_partial(kind):
    return bool(kind.partial)


def load(source: str) -> dict:
    """Return the namespace of a module made of `source`, which `inspect` can find again."""
    name = f"<generated {sha256(source.encode()).hexdigest()[:16]}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    space = {"__name__": "generated"}
    exec(compile(source, name, "exec"), space)
    return space


# -- fields --------------------------------------------------------------------------------------------------------

_NUMBERS = (
    {},
    {"low": 0.0, "high": 10.0},
    {"low": -5.0, "high": 5.0},
    {"low": 0.1},
    {"high": 3.3},
    {"low": 0.0, "infinite": True},
    {"infinite": True},
    {"low": -1.0, "high": 1.0, "outside": "clip"},
    {"low": -1.0, "high": 1.0, "outside": "allow"},
    {"missing": 2.5},
    {"low": -1.0, "missing": 0.0},
)
_CATEGORIES = (
    {"values": LABELS[:2]},
    {"values": LABELS},
    {"values": LABELS, "other": "rest"},
    {"values": LABELS, "other": "rest", "missing": "calm"},
    {"values": LABELS[:3], "missing": "wild"},
)
_FLAGS = ({"flag": True}, {"flag": True, "missing": True})


@st.composite
def fields(draw):
    """Return a number or more fields of every kind."""
    found = [Field(f"n{i}", **draw(st.sampled_from(_NUMBERS))) for i in range(draw(st.integers(1, 3)))]
    if draw(st.booleans()):
        found.append(Field("whole", values=(0, 1, 2, 3)))
    if draw(st.booleans()):
        found.append(Field("mood", **draw(st.sampled_from(_CATEGORIES))))
    if draw(st.booleans()):
        found.append(Field("lit", **draw(st.sampled_from(_FLAGS))))
    for name in ("force", "drag"):
        if draw(st.integers(0, 3)) == 0:
            found.append(Field(name, length=3, **draw(st.sampled_from(_NUMBERS[:4]))))
    return tuple(found)


# -- functions -----------------------------------------------------------------------------------------------------


class _Writer:
    """Writes one function; every method returns text, and `moving` says whether the last one can vary by row."""

    def __init__(self, draw, numbers, flags, moods=(), vectors=(), wholes=(), helpers=(), infinite=(), fixed=()):
        self.draw = draw
        self.numbers = list(numbers)
        self.flags = list(flags)
        self.moods = dict(moods)
        self.vectors = list(vectors)
        self.wholes = list(wholes)
        self.helpers = list(helpers)
        self.infinite = set(infinite)
        self.fixed = list(fixed)
        self.fresh = 0
        self.powers = False

    def pick(self, *options):
        return self.draw(st.sampled_from(options))

    # -- numbers

    def leaf(self):
        options = ["constant", "number", "number", "number", "number"]
        options += ["vector"] * bool(self.vectors) + ["flag"] * bool(self.flags)
        match self.pick(*options):
            case "constant":
                return self.pick(*CONSTANTS, "HALF", "math.pi", "PRICES[2]", *self.fixed)
            case "vector":
                return f"{self.pick(*self.vectors)}[{self.pick(0, 1, 2)}]"
            case "flag":
                return self.pick(*self.flags)
        return self.moving()

    def moving(self):
        """Return something that is never a constant."""
        return self.pick(*self.numbers)

    def number(self, depth):
        if depth <= 0:
            return self.leaf()
        options = ["leaf", "plus", "plus", "times", "over", "step", "least", "function", "choice", "choice", "item"]
        options += ["place"] * bool(self.moods or self.wholes) + ["reduce"] * 2 * bool(self.vectors)
        options += ["helper"] * 2 * bool(self.helpers) + ["power", "round"]
        return getattr(self, f"_{self.pick(*options)}")(depth - 1)

    def _leaf(self, depth):
        return self.leaf()

    def _plus(self, depth):
        return f"({self.number(depth)} {self.pick('+', '-')} {self.varied(depth)})"

    def _times(self, depth):
        return f"({self.varied(depth)} * {self.number(depth)})"

    def varied(self, depth):
        """Return an expression with an operand that can vary, so that no constants are folded."""
        return f"({self.moving()} {self.pick('+', '-', '*')} {self.number(depth - 1)})" if depth > 0 else self.moving()

    def _over(self, depth):
        top, sign = self.number(depth), self.pick("/", "/", "//", "%")
        match self.pick("safe", "guarded", "constant", "raw"):
            case "safe":
                return f"({top} {sign} (abs({self.varied(depth)}) + 1.0))"
            case "guarded":
                bottom = self.varied(depth)
                return f"({top} {sign} {bottom} if {bottom} != 0 else {self.leaf()})"
            case "constant":
                return f"({self.varied(depth)} {sign} {self.pick(*NONZERO)})"
        return f"({top} {sign} {self.varied(depth)})"

    def _step(self, depth):
        return (
            f"({self.pick('-', '+')}{self.number(depth)})" if self.pick(True, False) else f"abs({self.number(depth)})"
        )

    def _least(self, depth):
        parts = [self.number(depth) for _ in range(self.pick(2, 2, 3))]
        return f"{self.pick('min', 'max')}({', '.join(parts)})"

    def _function(self, depth):
        argument = self.number(depth)
        guarded = {
            "sqrt": f"math.sqrt(abs({argument}))",
            "exp": f"exp(min({argument}, 5.0))",
            "log": f"math.log(abs({argument}) + 0.1)",
            "log1p": f"log1p(abs({argument}))",
            "expm1": f"math.expm1(-abs({argument}))",
        }
        kind = self.pick(*MATH)
        _, name = n.split_function(kind)
        if kind.domain == n.Domain(-1.0, 1.0):
            guarded[name] = f"{kind.function}({argument} / (abs({argument}) + 1.0))"
        if name in guarded and self.pick(True, True, False):
            return guarded[name]
        if issubclass(kind, n.Binary):
            return f"{kind.function}({argument}, {self.varied(depth)})"
        return f"cos({argument})" if kind is n.Cos and self.pick(True, False) else f"{kind.function}({argument})"

    def _choice(self, depth):
        return f"({self.number(depth)} if {self.flag(depth)} else {self.number(depth)})"

    def _item(self, depth):
        return f"{self.pick('PRICES', 'STEPS', 'OPEN')}[{self.index(depth)}]"

    def index(self, depth):
        options = ["round", "floor", "choice"] + ["whole"] * 3 * bool(self.wholes) + ["flag"] * bool(self.flags)
        match self.pick(*options):
            case "whole":
                return self.pick(*self.wholes)
            case "flag":
                return self.pick(*self.flags)
            case "choice":
                return f"(1 if {self.flag(depth)} else 2)"
            case "floor":
                return f"math.floor({self.varied(depth)})"
        return f"round({self.varied(depth)})"

    def _place(self, depth):
        if self.moods and (not self.wholes or self.pick(True, False)):
            return f"{self.pick('ORDER', 'ORDER', 'SOME')}.index({self.pick(*self.moods)})"
        return f"STEPS.index({self.pick(*self.wholes)})"

    def _reduce(self, depth):
        vector, kind = self.pick(*self.vectors), self.pick("sum", "min", "max")
        match self.pick("whole", "each", "zip"):
            case "whole":
                return f"{kind}({vector})"
            case "zip":
                return f"{kind}(a * b - {self.leaf()} for a, b in zip({vector}, {self.pick(*self.vectors)}))"
        each = self.pick("x * x", "abs(x)", "x if x > 0.5 else -x", "max(x, 1)", "1 / x", "math.sqrt(x)")
        return f"{kind}({each} for x in {vector})"

    def _helper(self, depth):
        name = self.pick(*self.helpers)
        knob = f", scale={self.pick(*CONSTANTS, self.moving())}" if self.pick(True, False) else ""
        return f"{name}({self.varied(depth)}, {self.varied(depth)}{knob})"

    def _power(self, depth):
        self.powers = True
        finite = [
            name for name in self.numbers if name not in self.infinite and name.isidentifier() and "local" not in name
        ]
        bases = [f"math.sin({self.number(depth)})", *(f"({name} - 0.75)" for name in finite)]
        return f"({self.pick(*bases)} ** {self.pick(2, 2, 3, 0, 1, 8)})"

    def _round(self, depth):
        return f"({self.pick('round', 'math.floor', 'math.ceil')}({self.number(depth)}) * {self.pick('1.0', '0.25', '-2.5')})"

    # -- flags

    def flag(self, depth):
        options = ["compare", "compare", "compare", "chain", "among"] + ["leaf"] * bool(self.flags)
        options += ["mood"] * 2 * bool(self.moods) + ["joined", "joined", "negated"] * (depth > 0)
        options += ["every"] * bool(self.vectors) + ["infinite"] * 3 * bool(self.infinite)
        return getattr(self, f"_{self.pick(*options)}_flag")(depth - 1)

    def _leaf_flag(self, depth):
        return self.pick(*self.flags)

    def _compare_flag(self, depth):
        sign = self.pick("<", "<=", ">", ">=", "==", "!=")
        return f"({self.pick(self.moving(), self.number(depth))} {sign} {self.pick(self.leaf(), self.number(depth))})"

    def _chain_flag(self, depth):
        low, high = self.pick(("0", "1"), ("-0.3", "2.5"), ("0.1", self.leaf()))
        return f"({low} {self.pick('<', '<=')} {self.number(depth)} {self.pick('<', '<=', '!=')} {high})"

    def _among_flag(self, depth):
        return f"({self.moving()} {self.pick('in', 'not in')} (1, 0.5, -0.3, 2))"

    def _mood_flag(self, depth):
        mood = self.pick(*self.moods)
        if self.pick(True, False):
            return f"({mood} {self.pick('==', '!=')} {self.pick(*self.moods[mood])!r})"
        if len(self.moods) > 1:
            return f"({self.pick(*self.moods)} {self.pick('==', '!=')} {mood})"
        labels = self.moods[mood]
        return f"({mood} {self.pick('in', 'not in')} {self.pick(tuple(labels[:2]), tuple(labels[-1:]))!r})"

    def _joined_flag(self, depth):
        parts = [self.flag(depth) for _ in range(self.pick(2, 2, 3))]
        return "(" + self.pick(" and ", " or ").join(parts) + ")"

    def _negated_flag(self, depth):
        return f"(not {self.pick(self.flag(depth), self.moving())})"

    def _every_flag(self, depth):
        return f"{self.pick('any', 'all')}(x {self.pick('<', '>=')} {self.leaf()} for x in {self.pick(*self.vectors)})"

    def _infinite_flag(self, depth):
        return f"isinf({self.pick(*sorted(self.infinite))})"

    # -- statements

    def body(self, depth, indent="    "):
        lines = [line for _ in range(self.pick(0, 1, 1, 2, 3)) for line in self.statement(depth, indent)]
        return [*lines, f"{indent}return {self.result(depth)}"]

    def result(self, depth):
        return self.flag(depth) if self.pick(*[False] * 8, True) else self.number(depth)

    def statement(self, depth, indent):
        match self.pick("assign", "augment", "branch", "branch", "early", "flag"):
            case "assign":
                return [self.assign(depth, indent)]
            case "augment" if any("local" in name for name in self.numbers):
                name = self.pick(*(name for name in self.numbers if "local" in name))
                return [f"{indent}{name} {self.pick('+=', '-=', '*=')} {self.varied(depth)}"]
            case "branch":
                return self.branch(depth, indent)
            case "early":
                return [f"{indent}if {self.flag(depth)}:", f"{indent}    return {self.number(depth)}"]
            case "flag":
                self.fresh += 1
                line = f"{indent}check{self.fresh} = {self.flag(depth)}"
                self.flags.append(f"check{self.fresh}")
                return [line]
        return [self.assign(depth, indent)]

    def assign(self, depth, indent):
        self.fresh += 1
        line = f"{indent}local{self.fresh} = {self.varied(depth)}"
        self.numbers.append(f"local{self.fresh}")
        return line

    def branch(self, depth, indent):
        """Return an `if` whose branches give the same new name a value, change old ones, or return."""
        self.fresh += 1
        new = f"local{self.fresh}"
        words = ["if", *["elif"] * self.pick(0, 0, 1), "else"]
        lines = []
        for word in words:
            lines.append(f"{indent}{word}:" if word == "else" else f"{indent}{word} {self.flag(depth)}:")
            outer = list(self.numbers), list(self.flags)
            inner = indent + "    "
            if depth > 1 and self.pick(True, False, False):
                lines += self.statement(depth - 1, inner)
            if word != "else" and self.pick(True, False, False):
                lines.append(f"{inner}return {self.number(depth - 1)}")
            else:
                lines.append(f"{inner}{new} = {self.number(depth - 1)} + {self.moving()}")
            self.numbers, self.flags = outer
        self.numbers.append(new)
        return lines


@st.composite
def cases(draw, depth: int = 2):
    """Return a random reward."""
    declared = draw(fields())
    transition = {f.name for f in declared if draw(st.integers(0, 3)) == 0}
    final = next((f.name for f in declared[1:] if f.kind == "number" and not f.length), None)
    final = final if draw(st.booleans()) else None
    shared = (("far", draw(st.sampled_from((2.0, 0.1, -4.0)))),) if draw(st.booleans()) else ()
    texts, specs, powers = [], [], False
    helpers = [f"helper{i}" for i in range(draw(st.integers(0, 2)))]
    for i, name in enumerate(helpers):
        writer = _Writer(draw, ("a", "b"), (), helpers=helpers[:i], fixed=["scale"])
        lines = writer.body(1)
        texts.append("\n".join([f"def {name}(a, b, *, scale=1.5):", *lines]))
        powers = powers or writer.powers
    count = draw(st.integers(1, 3))
    for i in range(count):
        terminal = i == count - 1 and draw(st.booleans())
        used_shared = shared if i == 0 else shared[: draw(st.integers(0, 1))]
        open_fields = [f for f in declared if terminal or f.name != final]
        text, used_powers = draw(_function(f"term{i}", open_fields, transition, used_shared, helpers, depth))
        texts.append(text)
        powers = powers or used_powers
        specs.append(draw(_specs(f"term{i}", terminal)))
    for name, read in (
        ("every", [f for f in declared if f.name != final]),
        ("last", [f for f in declared if f.name == final]),
    ):
        if read:
            texts.append(_reads_all(name, read))
            specs.append(draw(_specs(name, name == "last")))
    low, high = draw(st.sampled_from(((None, None), (-1.0, None), (None, 0.3), (-2.5, 4.0))))
    above = {}
    if draw(st.integers(0, 2)) == 0:
        above, written = draw(_above())
        texts += written
        specs = [draw(_apart(spec)) for spec in specs]
    if draw(st.integers(0, 2)) == 0:
        specs[0] = replace(specs[0], weight=draw(st.sampled_from(SCHEDULES)))
        declared += (Field("tick", low=0),)
    return Case("\n\n\n".join([HEADER, *texts]) + "\n", declared, tuple(specs), shared, low, high, powers, **above)


SCHEDULES = (
    linear(0.5, -2.0, over=8, begin=0.25, counter="tick"),
    linear(0.0, 0.75, over=2, counter="tick"),
    piecewise([0.5, -1.0, 3.0], at=[0.5, 3], counter="tick"),
)
"""Their numbers are the same in every float type."""
GATES = (
    "def opened(n0, *, reach=0.5):\n    return 1.0 if n0 > reach else 0.25 * n0",
    "def opened(n0):\n    return n0 < 1.5",
    "def opened(n0):\n    return 2.0 / n0",
)
CONDITIONS = {
    "fell": "def fell(n0, *, floor=-0.5):\n    return n0 < floor",
    "won": "def won(n0):\n    return n0 > 2.5 or n0 < -2.0",
}


@st.composite
def _above(draw):
    """Return what stands above the terms of a reward, and the text of its functions."""
    gate = draw(st.sampled_from((None, *GATES)))
    names = draw(st.sampled_from(((), ("fell",), ("fell", "won"), ("won", "fell"))))
    override = tuple((name, draw(st.sampled_from((-1.0, 0.0, 7.5)))) for name in names)
    scale = draw(st.sampled_from((None, 0.5, -2.0, 1.0)))
    texts = [*([gate] if gate else []), *(CONDITIONS[name] for name in names)]
    return {"scale": scale, "gate": "opened" if gate else None, "override": override}, texts


@st.composite
def _apart(draw, spec):
    return replace(spec, gated=draw(st.booleans()), after_clamp=draw(st.integers(0, 3)) == 0)


@st.composite
def _specs(draw, name, terminal):
    weight = draw(st.sampled_from((1, 1.0, -1.0, 0.0, 0.5, -0.1, 2.5, -3)))
    low, high = draw(st.sampled_from(((None, None), (None, None), (-1.0, None), (None, 0.3), (-0.7, 0.7), (0, 0))))
    return TermSpec(name, weight, low, high, terminal)


@st.composite
def _function(draw, name, declared, transition, shared, helpers, depth):
    """Return the text of a term, and whether it uses `**`."""
    plain = [f for f in declared if f.name not in transition]
    moved = [f"{end}.{f.name}" for f in declared if f.name in transition for end in ("prev", "curr")]
    named = {f.name: f for f in declared}
    readable = [f.name for f in plain] + moved

    def of(kind, length=None):
        found = [(r, named[r.rpartition(".")[2]]) for r in readable]
        return [r for r, f in found if f.kind == kind and f.length == length and f.name != "whole"]

    knobs = {"reach": "0.4", "gain": "-2.0"} if draw(st.booleans()) else {"reach": "1"}
    flag_knobs = {"strict": "True"} if draw(st.booleans()) else {}
    writer = _Writer(
        draw,
        numbers=[*of("number"), *knobs, *(key for key, _ in shared)],
        flags=[*of("flag"), *flag_knobs],
        moods={r: named[r.rpartition(".")[2]].labels for r in of("category")},
        vectors=of("number", 3),
        wholes=[r for r in readable if r.rpartition(".")[2] == "whole"],
        helpers=helpers,
        infinite=[r for r in of("number") if named[r.rpartition(".")[2]].infinite],
    )
    lines = writer.body(depth)
    body = "\n".join(lines)
    words = set(_words(body))
    positional = [f.name for f in plain if f.name in words] + [end for end in ("prev", "curr") if end in words]
    keywords = [f"{knob}={value}" for knob, value in (knobs | flag_knobs).items()] + [key for key, _ in shared]
    return f"def {name}({', '.join([*positional, '*', *keywords])}):\n{body}", writer.powers


def _words(text):
    return (node.id for node in ast.walk(ast.parse("def f():\n" + text)) if isinstance(node, ast.Name))


def _reads_all(name, read):
    """Return a function that reads every field in `read`, so that none is unused."""
    parts = []
    for field in read:
        if field.length:
            parts.append(f"0.125 * max({field.name})")
        elif field.kind == "category":
            parts.append(f"(1.0 if {field.name} == {field.labels[1]!r} else 0.5)")
        elif field.infinite:
            parts.append(f"(0.0 if isinf({field.name}) else 0.25 * {field.name})")
        else:
            parts.append(f"0.25 * {field.name}")
    return f"def {name}({', '.join(f.name for f in read)}):\n    return {' + '.join(parts)}"


# -- rows ----------------------------------------------------------------------------------------------------------


def rows(case: Case, seed: int, count: int, *, dtype=np.float64, bad: float = 0.06, small: bool = False):
    """Return rows as dicts from column to Python value, aimed at the constants of the reward and their neighbours.

    About `bad` of the values are outside what their field allows. With `small`, numbers are of normal size.
    """
    chance = random.Random(seed)
    program = case.reward.program
    named = {f.name: f for f in case.fields}
    columns = list(dict.fromkeys(name.partition("[")[0] for name in program.inputs))
    aims = _aims(program)
    found = []
    for _ in range(count):
        row = {}
        for column in columns:
            if column == "terminal":
                row[column] = chance.random() < 0.5
                continue
            field = named[column.rpartition(".")[2]]
            values = [_value(field, chance, aims, dtype, bad, small) for _ in range(field.length or 1)]
            if column in program.terminal and field.missing is None and values[0] in (None, BAD):
                values = [
                    field.at_rest
                ]  # whether such a value is refused at a step that is not the end: see test_python
            row[column] = tuple(values) if field.length else values[0]
        found.append(row)
    return found


def _aims(program):
    """Return the numbers that a reward may change at."""
    found = [value for node in program.nodes if isinstance(node, n.Const) and not isinstance(value := node.value, bool)]
    found += [value for value in program.params.values() if not isinstance(value, bool)]
    return sorted({float(value) for value in found if math.isfinite(value)} | {0.0, 1.0, -1.0, 0.5, 3.0})


def _value(field, chance, aims, dtype, bad, small):
    wrong = chance.random() < bad
    if field.kind == "category":
        if not wrong:
            return chance.choice(field.labels)
        return chance.choice((BAD, None)) if field.length is None else BAD
    if field.kind == "flag":
        return None if wrong and field.length is None and field.missing is not None else chance.random() < 0.5
    if field.numbers:
        return int(chance.choice((7, -1, 4))) if wrong else int(chance.choice(field.numbers))
    if wrong:
        choices = [math.nan, math.inf, -math.inf]
        choices += (
            [] if field.low is None else [float(np.nextafter(dtype(field.low), dtype(-math.inf))), field.low - 2.0]
        )
        choices += (
            [] if field.high is None else [float(np.nextafter(dtype(field.high), dtype(math.inf))), field.high + 2.0]
        )
        choices += [None] if field.length is None else []
        return chance.choice(choices)
    if field.infinite and chance.random() < 0.2:
        return math.inf
    value = _aimed(chance, aims, dtype, small)
    low = -math.inf if field.low is None else field.low
    high = math.inf if field.high is None else field.high
    if field.outside != "raise" or low <= value <= high:
        return value
    inside = chance.uniform(max(low, -50.0), min(high, 50.0))
    return float(
        dtype(chance.choice((inside, low if low > -math.inf else inside, high if high < math.inf else inside)))
    )


def _aimed(chance, aims, dtype, small):
    if small:
        return chance.choice((chance.uniform(-4.0, 4.0), chance.randint(-8, 8) / 2, chance.choice(aims)))
    aim = dtype(chance.choice(aims))
    match chance.randrange(8):
        case 0 | 1:
            return float(aim)
        case 2 if aim:
            return float(np.nextafter(aim, dtype(math.inf)))
        case 3 if aim:
            return float(np.nextafter(aim, dtype(-math.inf)))
        case 4:
            return chance.choice((0.0, -0.0, 1e6, -1e6, 1e15, 1e300, -1e300, 1e-9))
        case 5:
            return float(dtype(chance.uniform(-1.0, 1.0)))
        case 6:
            return float(chance.randint(-6, 6))
    return float(dtype(chance.uniform(-12.0, 12.0)))

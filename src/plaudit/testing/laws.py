"""The laws of a target. Each is a set of rewards and rows, and what they must give.

A law yields trials; a trial is a reward that is compiled with some options, and rows that must give what plain Python
functions give. Most write down one small reward that is aimed at one thing.
"""

import math
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np

from plaudit.errors import InputError, NotFinite, OutOfRange, OutsideDomain, UnknownCategory
from plaudit.language.field import Field
from plaudit.language.schedule import Schedule
from plaudit.testing.cases import BAD, Case, Dtype, TermSpec, round_to
from plaudit.testing.random_rewards import draw_case
from plaudit.testing.rows import Row, draw_rows


@dataclass(frozen=True)
class Trial:
    """A reward, how it is compiled, and rows of it."""

    case: Case
    rows: list[Row]
    options: Mapping[str, Any] = field(default_factory=dict)
    """Options added to those of the check; bad rows are masked unless these say otherwise."""
    params: Mapping[str, float] | None = None
    wanted: Case | None = None
    """The reward that gives the expected results, if it is another one."""
    raises: type[InputError] | None = None
    """The error that must be raised instead."""
    strict: bool = True
    """Whether every row is compared: only the written constants are near a discontinuity."""


@dataclass(frozen=True)
class Size:
    """How many random rewards and rows are drawn, the seed, and the dtype."""

    rewards: int
    rows: int
    seed: int
    dtype: Dtype


Law = Callable[[Size], Iterator[Trial]]
LAWS: dict[str, Law] = {}
"""Every law by name. Its docstring states it."""


def law(function: Law) -> Law:
    """Register a law."""
    LAWS[function.__name__] = function
    return function


def _build_case(source: str, *fields: Field, **parts: Any) -> Case:
    names = [line[4:].partition("(")[0] for line in source.splitlines() if line.startswith("def ")]
    return Case(f"import math\n\n{source}", fields, tuple(map(TermSpec, names)), **parts)


def _draw_cases(size: Size, count: int, salt: str) -> Iterator[tuple[Case, int]]:
    """Yield random rewards, small ones first, each with the seed of its rows."""
    for at in range(count):
        chance = random.Random(f"{salt} {size.seed} {at}")
        yield draw_case(chance.choice, depth=1 if at < count // 4 else 2), chance.getrandbits(32)


@law
def random_rewards(size: Size) -> Iterator[Trial]:
    """Random rewards give what their Python functions give: at and next to their constants, for good and bad values."""
    for case, seed in _draw_cases(size, size.rewards, "rewards"):
        yield Trial(case, draw_rows(case, seed, size.rows, dtype=size.dtype), strict=False)


# -- both sides of everything ----------------------------------------------------------------------------------------

_SIGNS = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne"}
_COMPARISONS = _build_case(
    "\n\n".join(
        f"def {name}(x, *, knob=0.3):\n    return (1 if x {sign} 0.1 else 0) + (2 if knob {sign} x else 0)"
        for sign, name in _SIGNS.items()
    ),
    Field("x"),
)


@law
def comparisons(size: Size) -> Iterator[Trial]:
    """Each of < <= > >= == != matches Python on a constant, on a knob, and one float to either side."""
    edges = [size.dtype(0.1), size.dtype(0.3)]
    sides = [np.nextafter(edge, size.dtype(towards)) for edge in edges for towards in (-9, 9)]
    yield Trial(_COMPARISONS, [{"x": float(x)} for x in (*edges, *sides, 0.0, -0.0, 1e6, -1e6)])


_BOUNDED = _build_case(
    "def bounded(low, high, both, far):\n    return 1.0 if isinf(far) else 0.5 * low - high + both + 0.25 * far",
    Field("low", low=0.1),
    Field("high", high=3.3),
    Field("both", low=-0.5, high=2),
    Field("far", low=0.0, infinite=True),
)
_BOUNDED = replace(_BOUNDED, source=f"from math import isinf\n\n\n{_BOUNDED.source}")
_INSIDE = {"low": 1.0, "high": 1.0, "both": 0.5, "far": 2.0}


@law
def boundaries(size: Size) -> Iterator[Trial]:
    """The ends of a range are inside it, the next floats are outside it; NaN and undeclared infinities are refused."""
    rows = [_INSIDE]
    for each in _BOUNDED.fields:
        ends = [size.dtype(end) for end in (each.low, each.high) if end is not None and end != 0]
        beside = [np.nextafter(end, size.dtype(towards)) for end in ends for towards in (-9, 9)]
        odd = (*ends, *beside, math.nan, math.inf, -math.inf, 0.0, -1.0)
        rows += [{**_INSIDE, each.name: float(number)} for number in odd]
    yield Trial(_BOUNDED, rows)


# -- what is not a number ----------------------------------------------------------------------------------------------

_MOODS = _build_case(
    """\
RANK = ("wild", "calm", "other")


def rank(mood):
    return RANK.index(mood)


def wild(mood, plain):
    return (mood == "wild") + 2 * (plain in ("b", "c"))
""",
    Field("mood", values=("calm", "wild", "other"), other="other", missing="calm"),
    Field("plain", values=("a", "b", "c")),
)


@law
def categories(size: Size) -> Iterator[Trial]:
    """A category is its label; an unknown label counts as `other`, or is refused if the field has no `other`."""
    moods, plains = ("calm", "wild", "other", BAD, None), ("a", "b", "c", BAD, None)
    yield Trial(_MOODS, [{"mood": mood, "plain": plain} for mood, plain in product(moods, plains)])


_ABSENT = _build_case(
    "def filled(x, lit, mood):\n    return x + (10 if lit else 20) + (100 if mood == 'b' else 200)\n\n\n"
    "def needed(y):\n    return y",
    Field("x", missing=2.5, low=0),
    Field("y", low=0),
    Field("lit", flag=True, missing=True),
    Field("mood", values=("a", "b"), missing="b"),
)


@law
def missing_values(size: Size) -> Iterator[Trial]:
    """A missing value is replaced by the field's `missing`; a row that lacks any other value is refused."""
    choices = {"x": (1.0, None), "lit": (False, None), "mood": ("a", None), "y": (0.5, None)}
    yield Trial(_ABSENT, [dict(zip(choices, each, strict=True)) for each in product(*choices.values())])


_FORCES = _build_case(
    """\
def norm(force, drag):
    return sum(a * b for a, b in zip(force, drag)) + max(force) - min(drag)


def picks(force):
    return force[2] if any(x < 0 for x in force) else force[0]


def scales(force, wind):
    most = max(wind)
    return sum(most * x for x in force)


def roots(force, wind):
    return max(math.sqrt(x) for x in force) if any(x < 0 for x in wind) else min(force)
""",
    Field("force", length=3, low=-8, high=8),
    Field("drag", length=3),
    Field("wind", length=5),
)


@law
def vectors(size: Size) -> Iterator[Trial]:
    """Vectors of any length are read entry by entry; one bad entry makes the row bad."""
    calm, stormy = (0.0, 1.0, 2.0, 3.0, 0.5), (-1.0, -2.0, -3.0, -4.0, -0.5)
    good = [
        {"force": (1.0, -2.0, 0.5), "drag": (0.0, 4.0, -0.25), "wind": calm},
        {"force": (8.0, 0.0, 0.0), "drag": (2.0, 2.0, 2.0), "wind": stormy},
    ]
    bad = [(8.5, 0.0, 0.0), (0.0, 0.0, math.nan), (0.0, -math.inf, 1.0)]
    rootless = [{**good[1], "force": force} for force in ((-1.0, 0.0, 4.0), (4.0, -1.0, 0.0), (0.0, 4.0, -1.0))]
    zeros = {**good[0], "force": (0.0,) * 3}
    yield Trial(_FORCES, [*good, *({**good[0], "force": force} for force in bad), *rootless, good[1], zeros])


# -- rows that do not count --------------------------------------------------------------------------------------------

_UNTAKEN = _build_case(
    """\
TABLE = (1.0, 2.0, 3.0)
NAMES = ("b", "c")


def divides(x, flag):
    return 1 / x if flag else 0.5


def floors(x, flag):
    return 1 // x if flag else 0.5


def wraps(x, flag):
    return 1 % x if flag else 0.5


def takes_root(x, flag):
    y = math.sqrt(x - 1) if flag else 0.5
    return y


def takes_log(x, flag):
    if not flag:
        return 0.5
    return math.log(x) + math.log1p(x - 1)


def indexes(x, flag):
    result = 0.5
    if flag:
        result = TABLE[round(x * 5 - 4)]
    return result


def looks_up(mood, flag):
    return NAMES.index(mood) if flag else 0.5


def exponentiates(x, flag):
    return 1.0 if flag and math.exp(800 * (1 - x)) > 2 else 0.5


def cuts_short(x, flag):
    return 1.0 if not flag or 1 / x > 2 else 0.5


def raises_power(x, flag):
    return (1e10 * (1 - x)) ** 40 * 0 + 0.5 if flag else 0.5
""",
    Field("x"),
    Field("flag", flag=True),
    Field("mood", values=("a", "b", "c")),
    powers=True,
)
"""One term for each partial operation, which fails at x = 0 (or mood = a) where `flag` is set."""
_NOWHERE = _build_case("def never(x, *, knob=1.0):\n    return knob / (knob - knob) if x > 1 else 0.5", Field("x"))
"""A division of one constant by another, which is known to fail before any row is seen."""


@law
def untaken_branches(size: Size) -> Iterator[Trial]:
    """An invalid operation in a branch that is not taken does not make a row bad: a division, a root, an index."""
    rows = [(0.0, False, "a"), (1.0, True, "b"), (0.0, True, "b"), (1.0, True, "a"), (1.0, False, "a")]
    yield Trial(_UNTAKEN, [dict(zip(("x", "flag", "mood"), row, strict=True)) for row in rows])
    yield Trial(_NOWHERE, [{"x": 0.0}, {"x": 2.0}])


_PARTIAL = _build_case(
    "def inverse(x):\n    return 1 / x\n\n\ndef steady(x, mood):\n    return 0.5 * x + (mood == 'b')",
    Field("x", low=-4, high=4),
    Field("mood", values=("a", "b")),
)
_FINE = [{"x": 0.5, "mood": "a"}, {"x": -4.0, "mood": "b"}]
_BROKEN = {
    NotFinite: {"x": math.nan, "mood": "a"},
    OutOfRange: {"x": 4.5, "mood": "a"},
    OutsideDomain: {"x": 0.0, "mood": "a"},
    UnknownCategory: {"x": 0.5, "mood": BAD},
}


@law
def masked_rows(size: Size) -> Iterator[Trial]:
    """With on_bad="mask" every number of a bad row is NaN, `ok` is false, and other rows are unchanged."""
    bad = list(_BROKEN.values())
    for rows in ([*_FINE, *bad, *_FINE], bad, _FINE[:1], bad[:1], [*bad, *_FINE] * 50):
        yield Trial(_PARTIAL, rows)


@law
def raised_errors(size: Size) -> Iterator[Trial]:
    """With on_bad="raise" a bad row raises the same error as in Python: NotFinite, OutOfRange and so on."""
    options = {"on_bad": "raise"}
    yield Trial(_PARTIAL, _FINE, options)
    for error, row in _BROKEN.items():
        yield Trial(_PARTIAL, [*_FINE, row], options, raises=error)


@law
def clipped_inputs(size: Size) -> Iterator[Trial]:
    """With on_bad="clip" numbers are clipped to their ranges."""
    clipped = replace(_PARTIAL, fields=(replace(_PARTIAL.fields[0], outside="clip"), _PARTIAL.fields[1]))
    rows = [*_FINE, {"x": 4.5, "mood": "b"}, {"x": -1e6, "mood": "a"}]
    yield Trial(_PARTIAL, rows, {"on_bad": "clip"}, wanted=clipped)


@law
def guards_left_out(size: Size) -> Iterator[Trial]:
    """With guard=False declared ranges are not checked, but operations still refuse what they cannot compute."""
    for case, seed in _draw_cases(size, max(1, size.rewards // 5), "guards"):
        rows = [row for row in draw_rows(case, seed, size.rows, dtype=size.dtype) if _is_plain(case, row, size.dtype)]
        opened = replace(case, fields=tuple(map(_open_range, case.fields)))
        yield Trial(case, rows, {"guard": False}, wanted=opened, strict=False)
    opened = replace(_PARTIAL, fields=(Field("x"), _PARTIAL.fields[1]))
    yield Trial(_PARTIAL, [*_FINE, {"x": 4.5, "mood": "b"}, _BROKEN[OutsideDomain]], {"guard": False}, wanted=opened)


def _open_range(declared: Field) -> Field:
    closed = declared.kind == "number" and declared.outside == "raise" and not declared.numbers
    return replace(declared, low=None, high=None) if closed else declared


def _is_plain(case: Case, row: Row, dtype: Dtype) -> bool:
    """Return whether only a range could refuse a row: no value is missing, unknown or not finite."""
    named = {each.name: each for each in case.fields}

    def is_plain(name: str, value: Any) -> bool:
        declared = named.get(name.rpartition(".")[2])
        if isinstance(value, tuple):
            return all(is_plain(name, part) for part in value)
        if value is None or value == BAD or (declared and declared.numbers and value not in declared.numbers):
            return False
        return not isinstance(value, float) or math.isfinite(round_to(value, dtype))

    return all(is_plain(name, value) for name, value in row.items())


# -- names and knobs ---------------------------------------------------------------------------------------------------

_LABELS = ("it's", 'a"b', "", "\\n", "naïve", "</script>", "*/", "%s{0}", "\U0001f600", "NULL")
_NAMES = _build_case(
    f"""\
LABELS = {_LABELS!r}


def double(select, goto, *, new=2.0):
    return select * new + goto


def function(constructor, int, __proto__):
    return LABELS.index(constructor) + (1 if int else 0.5) - __proto__


def NULL(goto, order):
    return goto if order > 0 else -goto
""",
    *map(Field, ("select", "goto", "order", "__proto__")),
    Field("int", flag=True),
    Field("constructor", values=_LABELS),
    name='it\'s */ "größe" </script> \\',
)


@law
def unusual_names(size: Size) -> Iterator[Trial]:
    """Names may be keywords of another language; labels and reward names may contain quotes and ends of comments."""
    plain = {"select": 1.5, "goto": -2.0, "order": 1.0, "__proto__": 0.25, "int": True}
    rows = [{**plain, "order": 1.0 - at % 2, "constructor": label} for at, label in enumerate(_LABELS)]
    yield Trial(_NAMES, rows)


_KNOBS = Case(
    "import math\n\n\ndef reach(x, *, far):\n    return far - x if x < far else 0.0\n\n\n"
    "def effort(x, *, far):\n    return x * x + far\n",
    (Field("x", low=-9, high=9),),
    (TermSpec("reach"), TermSpec("effort", -0.5, high=4.0)),
    (("far", 2.0),),
    low=-3.0,
)


@law
def knobs_at_run_time(size: Size) -> Iterator[Trial]:
    """A compiled reward accepts other parameter values and gives what a reward declared with them gives."""
    other = replace(
        _KNOBS,
        terms=(TermSpec("reach", 0.75), TermSpec("effort", -0.5, high=6.5)),
        params=(("far", 4.5),),
        low=-4.0,
    )
    params = {"far": 4.5, "reach.weight": 0.75, "effort.high": 6.5, "total.low": -4.0}
    rows = [{"x": x} for x in (-9.0, -1.5, 0.0, 2.0, 2.5, 4.5, 9.0, 9.5)]
    yield Trial(_KNOBS, rows)
    yield Trial(_KNOBS, rows, params=params, wanted=other)
    for case, seed in _draw_cases(size, max(1, size.rewards // 5), "knobs"):
        weights = {each.name: 0.75 * each.weight for each in case.terms if not isinstance(each.weight, Schedule)}
        terms = tuple(replace(each, weight=weights.get(each.name, each.weight)) for each in case.terms)
        shared = tuple((name, 2 * value) for name, value in case.params)
        params = {**{f"{name}.weight": weight for name, weight in weights.items()}, **dict(shared)}
        rows = draw_rows(case, seed, size.rows, dtype=size.dtype)
        yield Trial(case, rows, params=params, wanted=replace(case, terms=terms, params=shared), strict=False)

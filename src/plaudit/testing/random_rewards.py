"""Random rewards: fields of every kind, terms that use the whole language, and gates, overrides and clamps."""

import ast
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any

from plaudit.language.field import Field
from plaudit.language.schedule import linear, piecewise
from plaudit.testing.cases import HEADER, LABELS, Case, TermSpec
from plaudit.testing.random_functions import Choose, FunctionWriter

Options = tuple[dict[str, Any], ...]

_NUMBERS: Options = (
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
_CATEGORIES: Options = (
    {"values": LABELS[:2]},
    {"values": LABELS},
    {"values": LABELS, "other": "rest"},
    {"values": LABELS, "other": "rest", "missing": "calm"},
    {"values": LABELS[:3], "missing": "wild"},
)
_FLAGS: Options = ({"flag": True}, {"flag": True, "missing": True})


def draw_fields(choose: Choose) -> tuple[Field, ...]:
    """Return a number or more fields of every kind."""
    found = [Field(f"n{i}", **choose(_NUMBERS)) for i in range(choose(range(1, 4)))]
    if choose((False, True)):
        found.append(Field("whole", values=(0, 1, 2, 3)))
    if choose((False, True)):
        found.append(Field("mood", **choose(_CATEGORIES)))
    if choose((False, True)):
        found.append(Field("lit", **choose(_FLAGS)))
    for name, length in (("force", 3), ("drag", 3), ("wind", 4)):
        if choose(range(4)) == 0:
            found.append(Field(name, length=length, **choose(_NUMBERS[:4])))
    return tuple(found)


def draw_case(choose: Choose, *, depth: int = 2) -> Case:
    """Return a random reward; `depth` is how deeply its expressions nest.

    >>> import random
    >>> draw_case(random.Random(0).choice).reward.name
    'random'
    """
    declared = draw_fields(choose)
    transition = {f.name for f in declared if choose(range(4)) == 0}
    final = next((f.name for f in declared[1:] if f.kind == "number" and not f.length), None)
    final = final if choose((False, True)) else None
    shared = (("far", choose((2.0, 0.1, -4.0))),) if choose((False, True)) else ()
    texts, specs, powers = [], [], False
    helpers = [f"helper{i}" for i in range(choose(range(3)))]
    for i, name in enumerate(helpers):
        infinite = ("a", "b") if any(field.infinite for field in declared) else ()
        writer = FunctionWriter(choose, ["a", "b"], [], helpers=helpers[:i], fixed=["scale"], infinite=infinite)
        lines = writer.body(1)
        texts.append("\n".join([f"def {name}(a, b, *, scale=1.5):", *lines]))
        powers = powers or writer.powers
    count = choose(range(1, 4))
    for i in range(count):
        terminal = i == count - 1 and choose((False, True))
        used_shared = shared if i == 0 else shared[: choose(range(2))]
        open_fields = [f for f in declared if terminal or f.name != final]
        text, used_powers = _draw_function(choose, f"term{i}", open_fields, transition, used_shared, helpers, depth)
        texts.append(text)
        powers = powers or used_powers
        specs.append(_draw_spec(choose, f"term{i}", terminal))
    for name, read in (
        ("every", [f for f in declared if f.name != final]),
        ("last", [f for f in declared if f.name == final]),
    ):
        if read:
            texts.append(_reads_all(name, read))
            specs.append(_draw_spec(choose, name, name == "last"))
    low, high = choose(((None, None), (-1.0, None), (None, 0.3), (-2.5, 4.0)))
    above: dict[str, Any] = {}
    if choose(range(3)) == 0:
        above, written = _draw_above(choose)
        texts += written
        specs = [_draw_apart(choose, spec) for spec in specs]
    if choose(range(3)) == 0:
        specs[0] = replace(specs[0], weight=choose(SCHEDULES))
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


def _draw_above(choose: Choose) -> tuple[dict[str, Any], list[str]]:
    gate = choose((None, *GATES))
    names = choose(((), ("fell",), ("fell", "won"), ("won", "fell")))
    override = tuple((name, choose((-1.0, 0.0, 7.5))) for name in names)
    scale = choose((None, 0.5, -2.0, 1.0))
    texts = [*([gate] if gate else []), *(CONDITIONS[name] for name in names)]
    return {"scale": scale, "gate": "opened" if gate else None, "override": override}, texts


def _draw_apart(choose: Choose, spec: TermSpec) -> TermSpec:
    return replace(spec, gated=choose((False, True)), after_clamp=choose(range(4)) == 0)


def _draw_spec(choose: Choose, name: str, terminal: bool) -> TermSpec:
    weight = choose((1, 1.0, -1.0, 0.0, 0.5, -0.1, 2.5, -3))
    low, high = choose(((None, None), (None, None), (-1.0, None), (None, 0.3), (-0.7, 0.7), (0, 0)))
    return TermSpec(name, weight, low, high, terminal)


def _draw_function(
    choose: Choose,
    name: str,
    declared: Sequence[Field],
    transition: Collection[str],
    shared: Sequence[tuple[str, float]],
    helpers: Sequence[str],
    depth: int,
) -> tuple[str, bool]:
    """Return the text of a term, and whether it uses `**`."""
    plain = [f for f in declared if f.name not in transition]
    moved = [f"{end}.{f.name}" for f in declared if f.name in transition for end in ("prev", "curr")]
    named = {f.name: f for f in declared}
    readable = [f.name for f in plain] + moved

    def of(kind: str, length: int | None = None) -> list[str]:
        found = [(r, named[r.rpartition(".")[2]]) for r in readable]
        return [r for r, f in found if f.kind == kind and f.length == length and f.name != "whole"]

    knobs = {"reach": "0.4", "gain": "-2.0"} if choose((False, True)) else {"reach": "1"}
    flag_knobs = {"strict": "True"} if choose((False, True)) else {}
    writer = FunctionWriter(
        choose,
        numbers=[*of("number"), *knobs, *(key for key, _ in shared)],
        flags=[*of("flag"), *flag_knobs],
        moods={r: named[r.rpartition(".")[2]].labels for r in of("category")},
        vectors={r: length for length in (3, 4) for r in of("number", length)},
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


def _words(text: str) -> Iterator[str]:
    return (node.id for node in ast.walk(ast.parse("def f():\n" + text)) if isinstance(node, ast.Name))


def _reads_all(name: str, read: Sequence[Field]) -> str:
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

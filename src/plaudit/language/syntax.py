"""Python's syntax: the operators that the language has, and what to write instead of what it has not."""

import ast
import math
from collections.abc import Mapping
from typing import Any

from plaudit.language import nodes as n

ARITHMETIC: Mapping[type[ast.operator], type[n.Binary]] = {
    ast.Add: n.Add,
    ast.Sub: n.Sub,
    ast.Mult: n.Mul,
    ast.Div: n.Div,
    ast.FloorDiv: n.FloorDiv,
    ast.Mod: n.Mod,
}

COMPARISONS: Mapping[type[ast.cmpop], type[n.Binary]] = {
    ast.Lt: n.Lt,
    ast.LtE: n.Le,
    ast.Gt: n.Gt,
    ast.GtE: n.Ge,
    ast.Eq: n.Eq,
    ast.NotEq: n.Ne,
}

FOREIGN = ("numpy", "jax", "torch")
"""Libraries of arrays, whose functions are read by their names."""

_BEFORE = "Compute it before scoring and pass it in as a field."

_UNSUPPORTED: dict[type[ast.AST], tuple[str, str]] = {
    ast.For: ("a loop cannot be compiled to every target.", f"Over a vector write sum(... for x in vector). {_BEFORE}"),
    ast.While: ("a loop cannot be compiled to every target.", _BEFORE),
    ast.Assign: ("an assignment gives a value to one local name.", "Write `name = expression`, one a line."),
    ast.AugAssign: ("an assignment gives a value to one local name.", "Write `name += expression`."),
    ast.AnnAssign: ("an assignment gives a value to one local name.", "Write `name: float = expression`."),
    ast.Expr: ("a statement without effect.", "A term computes and returns; drop this line, or return the value."),
    ast.FunctionDef: ("a nested function cannot be read.", "Define it as a helper above the term."),
    ast.Lambda: ("a lambda cannot be read.", "Define a helper with `def` above the term."),
    ast.Try: ("there are no exceptions in a term.", "Test the condition with `if` instead."),
    ast.Raise: ("there are no exceptions in a term.", "Declare the range of the field; bad input is refused for you."),
    ast.Assert: ("there are no assertions in a term.", "Declare the range of the field; bad input is refused for you."),
    ast.Match: ("`match` cannot be read.", "Write `if`, `elif` and `else`."),
    ast.Global: ("a term has no outside effects.", _BEFORE),
    ast.Nonlocal: ("a term has no outside effects.", _BEFORE),
    ast.Import: ("an import inside a term cannot be read.", "Import at the top of the module."),
    ast.ImportFrom: ("an import inside a term cannot be read.", "Import at the top of the module."),
    ast.With: ("`with` cannot be read.", _BEFORE),
    ast.NamedExpr: ("`:=` cannot be read.", "Assign on a line of its own."),
    ast.GeneratorExp: ("a generator stands inside sum, min, max, any or all.", "Write sum(x * x for x in vector)."),
    ast.Set: ("a set has no order.", "Write a tuple of constants: (1, 2, 3)."),
    ast.Dict: ("a dict cannot be read.", "Write a constant tuple and index it, or `if` and `elif`."),
    ast.JoinedStr: ("there is no string arithmetic in a term.", "Compare a category with one of its values."),
    ast.Await: ("a term is a plain function.", _BEFORE),
    ast.Yield: ("a term returns once.", "Return the score."),
    ast.Is: ("`is` compares identity.", "Use `==`; there is no None in a term."),
    ast.IsNot: ("`is not` compares identity.", "Use `!=`; there is no None in a term."),
    ast.Invert: ("`~` works on bits.", "Write `not condition`; `~` is for arrays of bools."),
    **dict.fromkeys(
        (ast.BitAnd, ast.BitOr, ast.BitXor, ast.LShift, ast.RShift),
        ("bit operations cannot be read.", "Join conditions with `and`, `or`, `not`."),
    ),
}


_ADVICE: dict[Any, str] = {
    pow: "Write `x ** 2` with a constant integer exponent.",
    math.pow: "Write `x ** 2` with a constant integer exponent.",
    math.isnan: "A NaN never reaches a term: bad input is refused or masked before it.",
    math.isfinite: "Write `not math.isinf(x)`; a NaN never reaches a term.",
    math.dist: "Write math.sqrt(sum((a - b) ** 2 for a, b in zip(p, q))).",
    math.copysign: "Write `x if y >= 0 else -x`.",
    int: "Write math.floor(x), or round(x).",
    sorted: "Sorting is a feature: compute it before scoring and pass it in as a field.",
    print: "A term has no outside effects. To look inside, call it as the plain function it is.",
}


def explain_unsupported(node: ast.AST) -> tuple[str, str]:
    """Return why `node` is not part of the language and what to write instead."""
    name = type(node).__name__
    return _UNSUPPORTED.get(type(node), (f"{name} is not part of the language.", _BEFORE))


def explain_unsupported_call(name: str, called: object) -> tuple[str, str]:
    """Return why a call is not part of the language and what to write instead."""
    listed: dict[str, list[str]] = {}
    for kind in n.KINDS.values():
        if kind.function and kind is not n.IsFinite:
            listed.setdefault(n.split_function(kind)[0], []).append(n.split_function(kind)[1])
    listed["math"] += ["pi", "inf"]
    listed[""] = ["abs", "min", "max", "round", "sum", "any", "all"]
    known = " and ".join(f"from {module}: {' '.join(names)}" for module, names in listed.items() if module)
    known = f"{' '.join(listed[''])}, and {known}"
    try:
        advice = _ADVICE.get(called, "")
    except TypeError:  # unhashable
        advice = ""
    default = f"The language has {known}. Other functions: write a helper in the subset, or compute before scoring."
    return f"`{name}` is not a function that every target has.", advice or default

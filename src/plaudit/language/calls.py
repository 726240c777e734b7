"""The functions a term may call: those that every target has."""

import math
from typing import Any

from plaudit.language import nodes as n

REDUCTIONS: tuple[Any, ...] = (min, max, sum, any, all, len)
"""Reductions over a vector; `min` and `max` also of two or more arguments."""

FOREIGN = ("numpy", "jax", "torch")
"""Libraries whose functions run on one target only."""

_INFINITE = "takes an infinite number"

MATH: dict[Any, tuple[type[n.Unary], str]] = {
    abs: (n.Abs, ""),
    round: (n.Round, f"rounds: {_INFINITE}"),
    math.fabs: (n.Abs, ""),
    math.sqrt: (n.Sqrt, "takes a square root outside its domain"),
    math.exp: (n.Exp, "takes an exponential beyond every float"),
    math.expm1: (n.Expm1, "takes an exponential beyond every float"),
    math.log: (n.Log, "takes a logarithm outside its domain"),
    math.log1p: (n.Log1p, "takes a logarithm outside its domain"),
    math.tanh: (n.Tanh, ""),
    math.sin: (n.Sin, f"sine {_INFINITE}"),
    math.cos: (n.Cos, f"cosine {_INFINITE}"),
    math.floor: (n.Floor, f"rounds down: {_INFINITE}"),
    math.ceil: (n.Ceil, f"rounds up: {_INFINITE}"),
    math.isinf: (n.IsInf, ""),
}
"""The node of each function, and what goes wrong outside its domain."""

_ADVICE: dict[Any, str] = {
    pow: "Write `x ** 2` with a constant whole exponent.",
    math.pow: "Write `x ** 2` with a constant whole exponent.",
    math.isnan: "A NaN never reaches a term: bad input is refused or masked before it.",
    math.isfinite: "Write `not math.isinf(x)`; a NaN never reaches a term.",
    math.dist: "Write math.sqrt(sum((a - b) ** 2 for a, b in zip(p, q))).",
    math.hypot: "Write math.sqrt(x ** 2 + y ** 2).",
    math.copysign: "Write `x if y >= 0 else -x`.",
    int: "Write math.floor(x), or round(x).",
    float: "Every number is a float already; drop the call.",
    bool: "Write `x != 0`.",
    sorted: "Sorting is a feature: compute it before scoring and pass it in as a field.",
    print: "A term has no outside effects. To look inside, call it as the plain function it is.",
}


def refused_call(name: str, called: object) -> tuple[str, str]:
    """Return why a call is not part of the language and what to write instead."""
    known = (
        "abs min max round sum any all, and from math: sqrt exp log log1p expm1 tanh sin cos floor ceil isinf pi inf"
    )
    module = (getattr(called, "__module__", "") or type(called).__module__ or "").split(".")[0]
    if module in FOREIGN:
        return f"`{name}` belongs to {module}.", "Use the math module: plaudit translates it for every target."
    try:
        advice = _ADVICE.get(called, "")
    except TypeError:  # unhashable
        advice = ""
    default = f"The language has {known}. Other functions: write a helper in the subset, or compute before scoring."
    return f"`{name}` is not a function that every target has.", advice or default

"""The spelling that Python and Numba share: one row at a time, branches not taken cost nothing."""

import math
from typing import Any

from plaudit.language import nodes as n
from plaudit.targets.emit import Spelling, literal
from plaudit.targets.floats import FLOATS

_FINITE = "-inf < {0} < inf"

SCALAR = Spelling(
    operations={
        n.Neg: "(-{0})",
        n.Abs: "abs({0})",
        n.Not: "(not {0})",
        n.Number: "(1.0 if {0} else 0.0)",
        n.Sqrt: "sqrt({0} if 0.0 <= {0} < inf else 0.0)",
        n.Exp: "exp({0} if {0} <= largest_exponent else 0.0)",
        n.Expm1: "expm1({0} if {0} <= largest_exponent else 0.0)",
        n.Log: "log({0} if 0.0 < {0} < inf else 1.0)",
        n.Log1p: "log1p({0} if -1.0 < {0} < inf else 0.0)",
        n.Sin: f"sin({{0}} if {_FINITE} else 0.0)",
        n.Cos: f"cos({{0}} if {_FINITE} else 0.0)",
        n.Tanh: "tanh({0})",
        n.Floor: f"float(floor({{0}} if {_FINITE} else 0.0))",
        n.Ceil: f"float(ceil({{0}} if {_FINITE} else 0.0))",
        n.Round: f"float(round({{0}} if {_FINITE} else 0.0))",
        n.IsInf: "(abs({0}) == inf)",
        n.IsFinite: f"({_FINITE})",
        n.Add: "({0} + {1})",
        n.Sub: "({0} - {1})",
        n.Mul: "({0} * {1})",
        n.Div: "({0} / ({1} if {1} != 0.0 else 1.0))",
        n.FloorDiv: "({0} // ({1} if {1} != 0.0 else 1.0))",
        n.Mod: "({0} % ({1} if {1} != 0.0 else 1.0))",
        n.Min: "({1} if {1} < {0} else {0})",
        n.Max: "({1} if {1} > {0} else {0})",
        n.Lt: "({0} < {1})",
        n.Le: "({0} <= {1})",
        n.Gt: "({0} > {1})",
        n.Ge: "({0} >= {1})",
        n.Eq: "({0} == {1})",
        n.Ne: "({0} != {1})",
        n.And: "({0} and {1})",
        n.Or: "({0} or {1})",
        n.Select: "({1} if {0} else {2})",
        n.Clip: "({1} if {0} < {1} else {2} if {0} > {2} else {0})",
        n.Item: "{table}[int({0}) if 0 <= {0} <= {last} else 0]",
    },
    defined={
        n.Sqrt: "(0.0 <= {0} < inf)",
        n.Exp: "({0} <= largest_exponent)",
        n.Expm1: "({0} <= largest_exponent)",
        n.Log: "(0.0 < {0} < inf)",
        n.Log1p: "(-1.0 < {0} < inf)",
        **dict.fromkeys((n.Sin, n.Cos, n.Floor, n.Ceil, n.Round), f"({_FINITE})"),
        **dict.fromkeys((n.Div, n.FloorDiv, n.Mod), "({1} != 0.0)"),
        n.Item: "(0 <= {0} <= {last} and {0} == int({0}))",
    },
    constant=literal,
    sure={
        **{kind: f"{kind.__name__.lower()}({{0}})" for kind in (n.Sqrt, n.Exp, n.Expm1, n.Log, n.Log1p, n.Sin, n.Cos)},
        **{kind: f"float({kind.__name__.lower()}({{0}}))" for kind in (n.Floor, n.Ceil, n.Round)},
        n.Div: "({0} / {1})",
        n.FloorDiv: "({0} // {1})",
        n.Mod: "({0} % {1})",
        n.Item: "{table}[int({0})]",
    },
    chains=True,
    cheap=(n.Lt, n.Le, n.Gt, n.Ge, n.Eq, n.Ne),
)

_MATH = ("sqrt", "exp", "expm1", "log", "log1p", "sin", "cos", "tanh", "floor", "ceil", "inf", "nan")

NAMES: dict[str, Any] = {
    **{name: getattr(math, name) for name in _MATH},
    "abs": abs,
    "float": float,
    "int": int,
    "round": round,
    "type": type,
    "largest_exponent": FLOATS["float64"].exponent,
}
"""What generated code may call; it sees no other builtins."""


def function(name: str, arguments: list[str], body: list[str], names: dict[str, Any]) -> Any:
    """Return the function made of generated lines; `names` is all that it sees, and `source` on it the text."""
    text = f"def {name}({', '.join(arguments)}):\n" + "\n".join(f"    {line}" for line in body) + "\n"
    # PyTorch looks for __import__ in the frame that calls it; our own text calls nothing but `names`
    namespace: dict[str, Any] = {"__builtins__": {"__import__": __import__}, **names}
    exec(compile(text, f"<plaudit {name}>", "exec"), namespace)  # our own text: see emit
    made = namespace[name]
    made.source = text
    return made

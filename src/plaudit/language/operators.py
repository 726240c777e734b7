"""Python's operators and statements: those the language has, and why it has not the others."""

import ast
import operator
from collections.abc import Callable
from typing import Any

from plaudit.language import nodes as n

ARITHMETIC: dict[type[ast.operator], tuple[type[n.Binary], Callable[[Any, Any], Any], str]] = {
    ast.Add: (n.Add, operator.add, ""),
    ast.Sub: (n.Sub, operator.sub, ""),
    ast.Mult: (n.Mul, operator.mul, ""),
    ast.Div: (n.Div, operator.truediv, "divides by zero"),
    ast.FloorDiv: (n.FloorDiv, operator.floordiv, "divides by zero"),
    ast.Mod: (n.Mod, operator.mod, "divides by zero"),
}
"""The node, Python's own function for constants, and what goes wrong outside the domain."""

COMPARISONS: dict[type[ast.cmpop], tuple[type[n.Binary], Callable[[Any, Any], Any]]] = {
    ast.Lt: (n.Lt, operator.lt),
    ast.LtE: (n.Le, operator.le),
    ast.Gt: (n.Gt, operator.gt),
    ast.GtE: (n.Ge, operator.ge),
    ast.Eq: (n.Eq, operator.eq),
    ast.NotEq: (n.Ne, operator.ne),
}

_BEFORE = "Compute it before scoring and pass it in as a field."

_REFUSED: dict[type[ast.AST], tuple[str, str]] = {
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
    ast.ListComp: ("a list cannot be read.", "Write a generator inside sum, min, max, any or all."),
    ast.GeneratorExp: ("a generator stands inside sum, min, max, any or all.", "Write sum(x * x for x in vector)."),
    ast.List: ("a list can change.", "Write a tuple of constants: (1, 2, 3)."),
    ast.Set: ("a set has no order.", "Write a tuple of constants: (1, 2, 3)."),
    ast.Dict: ("a dict cannot be read.", "Write a constant tuple and index it, or `if` and `elif`."),
    ast.JoinedStr: ("there is no text arithmetic in a term.", "Compare a category with one of its values."),
    ast.Slice: ("a slice cannot be read.", "Index one entry at a time."),
    ast.Await: ("a term is a plain function.", _BEFORE),
    ast.Yield: ("a term returns once.", "Return the score."),
    ast.Is: ("`is` compares identity.", "Use `==`; there is no None in a term."),
    ast.IsNot: ("`is not` compares identity.", "Use `!=`; there is no None in a term."),
    ast.MatMult: ("`@` cannot be read.", "Write sum(a * b for a, b in zip(left, right))."),
    ast.Invert: ("`~` works on bits.", "Write `not flag`."),
    **dict.fromkeys(
        (ast.BitAnd, ast.BitOr, ast.BitXor, ast.LShift, ast.RShift),
        ("bit operations cannot be read.", "Join flags with `and`, `or`, `not`."),
    ),
}


def refused(node: ast.AST) -> tuple[str, str]:
    """Return why `node` is not part of the language and what to write instead."""
    name = type(node).__name__
    return _REFUSED.get(type(node), (f"{name} is not part of the language.", _BEFORE))

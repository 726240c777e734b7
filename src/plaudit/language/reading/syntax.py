"""Python's syntax: the operators that the language has, and what to write instead of what it has not."""

import ast
from collections.abc import Mapping

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
    ast.While: (
        "a loop is written out, and nobody knows how often a `while` runs.",
        f"Write `for i in range(most): if not condition: break`. Or: {_BEFORE}",
    ),
    ast.AnnAssign: ("an annotation stands at a local name.", "Write `name: float = expression`."),
    ast.Expr: ("a statement without effect.", "A term computes and returns; drop this line, or return the value."),
    **dict.fromkeys(
        (ast.AsyncFunctionDef, ast.AsyncFor, ast.AsyncWith),
        (
            "`async` cannot be read.",
            f"Drop `async`: a term is a plain function. What must be waited for: {_BEFORE.lower()}",
        ),
    ),
    ast.ClassDef: (
        "a class inside a term cannot be read.",
        "Define it above the term, with constants, or use a tuple.",
    ),
    ast.Delete: ("`del` cannot be read.", "Drop this line: names end with the function."),
    ast.Try: ("there are no exceptions in a term.", "Test the condition with `if` instead."),
    ast.Raise: ("there are no exceptions in a term.", "Declare the range of the field; bad input is refused for you."),
    **dict.fromkeys(
        (ast.Global, ast.Nonlocal),
        (
            "a term has no outside effects.",
            f"Return the value. What lasts from step to step is kept by the environment: {_BEFORE.lower()}",
        ),
    ),
    ast.Import: ("an import inside a term cannot be read.", "Import at the top of the module."),
    ast.ImportFrom: ("an import inside a term cannot be read.", "Import at the top of the module."),
    ast.With: (
        "`with` cannot be read.",
        f"Drop the line, and keep what stands inside. Files and locks: {_BEFORE.lower()}",
    ),
    ast.NamedExpr: ("`:=` cannot be read where some rows do not get to it.", "Assign on a line of its own, above."),
    ast.SetComp: ("a set cannot be read.", "Write a generator inside sum, min, max, any or all."),
    ast.Starred: ("a star cannot be read here.", "Write the entries one by one: (v[0], v[1], w)."),
    ast.GeneratorExp: ("a generator stands inside sum, min, max, any or all.", "Write sum(x * x for x in vector)."),
    ast.Set: ("a set has no order.", "Write a tuple of constants: (1, 2, 3)."),
    ast.JoinedStr: ("there is no string arithmetic in a term.", "Compare a category with one of its values."),
    ast.Await: ("a term is a plain function, and waits for nothing.", _BEFORE),
    **dict.fromkeys(
        (ast.Yield, ast.YieldFrom), ("a function of a term returns once.", "Return the value: `return x`.")
    ),
    ast.Is: ("`is` compares identity.", "Use `==`; there is no None in a term."),
    ast.IsNot: ("`is not` compares identity.", "Use `!=`; there is no None in a term."),
    ast.Invert: ("`~` works on bits.", "Write `not condition`; `~` is for arrays of bools."),
    **dict.fromkeys(
        (ast.BitAnd, ast.BitOr, ast.BitXor, ast.LShift, ast.RShift),
        ("bit operations cannot be read.", "Join conditions with `and`, `or`, `not`."),
    ),
}


def is_without_gradients(manager: ast.expr) -> bool:
    """Return whether a `with` only says that no gradients are kept: what stands inside it means the same."""
    return ast.unparse(manager) in ("torch.no_grad()", "torch.inference_mode()")


def explain_unsupported(node: ast.AST) -> tuple[str, str]:
    """Return why `node` is not part of the language and what to write instead."""
    match node:
        case ast.Expr(value=ast.Yield() | ast.YieldFrom() | ast.Await() as inner):
            return explain_unsupported(inner)
        case ast.Expr(value=ast.Call(func=function) as call):
            return f"`{ast.unparse(call)}` is a statement without effect on the score.", _explain_effect(function)
        case ast.FunctionDef(decorator_list=[decorator, *_]):
            what = f"the decorator `@{ast.unparse(decorator)}` inside a term cannot be read."
            return what, "Drop it, or compute what it does in the function."
        case ast.Raise(exc=ast.Call(args=[ast.Constant(value=str(text))])):
            return f"there are no exceptions in a term, and this raises: {text}", _UNSUPPORTED[ast.Raise][1]
    name = type(node).__name__
    return _UNSUPPORTED.get(type(node), (f"{name} is not part of the language.", _BEFORE))


def _explain_effect(function: ast.expr) -> str:
    """Return what to write instead of a call whose result nobody uses."""
    name = ast.unparse(function)
    if name == "print" or name.rpartition(".")[2] in ("debug", "info", "warning", "error", "exception", "log", "warn"):
        return "A term has no outside effects: drop this line. To look inside, call it as the plain function it is."
    if isinstance(function, ast.Attribute) and function.attr in ("append", "extend", "insert", "add", "update", "sort"):
        return "A term changes nothing in place: drop this line, and add up a number in the loop: `total += x`."
    return "A term computes and returns; drop this line, or return the value."


def explain_unsupported_target(target: ast.expr) -> tuple[str, str]:
    """Return why nothing can be assigned to `target`, and what to write instead."""
    match target:
        case ast.Subscript(value=ast.Name(id=name)):
            return (
                "a vector cannot be changed in place.",
                f"Make a new one, or give the entry a name of its own: `{name}_0 = ...`.",
            )
        case ast.Attribute(attr=name):
            kept = f"What is kept between steps is a field of the environment: `prev.{name}`."
            return "a term has no outside effects.", f"Assign to a local name: `{name} = ...`. {kept}"
    return "an assignment gives values to local names.", "Write `name = expression`."


def explain_unsupported_pattern(pattern: ast.pattern) -> tuple[str, str]:
    """Return why a pattern of a `match` cannot be read, and what to write instead."""
    if isinstance(pattern, ast.MatchSingleton) and pattern.value is not None:
        return f"`{pattern.value}` fits a bool, and this is none.", "Match a comparison: `match x > 1:`."
    if isinstance(pattern, ast.MatchSingleton):
        return "there is no None in a term.", "Give the field a `missing=` value instead."
    what = "a `case` is a constant, some of them joined by `|`, a name, or `_`."
    return what, "Write `case 'walk' | 'run':`, add a guard (`case _ if speed > 1:`), or use `if` and `elif`."

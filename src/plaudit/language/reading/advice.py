"""What to write instead of syntax, functions, methods and attributes that the language does not have."""

import ast
import re
import sys
import types
from enum import EnumMeta

from plaudit.language import nodes as n

FOREIGN = ("numpy", "jax", "torch")
"""Libraries of arrays, whose functions are read by their names."""

_BEFORE = "Compute it before scoring and pass it in as a field."
_DROP = "Every number is a plain float already; drop the call."
_FIXED = "A score depends only on its fields: "
_CATEGORY = "Compare a category with one of its values: phase == 'coding'."

_SET = (
    "Of constants, write a tuple: `x in (1, 2, 3)`. Of data, `x in v`, `all(a == v[0] for a in v)` where all are "
    "equal, and to count those that differ `sum(all(a != b for b in v[:i]) for i, a in enumerate(v))`."
)

_UNSUPPORTED: dict[type[ast.AST], tuple[str, str]] = {
    ast.While: (
        "a loop is unrolled, and a `while` has no known number of iterations.",
        f"Write `for i in range(most): if not condition: break`, or {_BEFORE.lower()}",
    ),
    ast.Expr: ("this statement has no effect.", "A term only computes a value: drop this line, or return the value."),
    **dict.fromkeys(
        (ast.AsyncFunctionDef, ast.AsyncFor, ast.AsyncWith),
        (
            "`async` cannot be read.",
            f"Drop `async`: a term is a plain function. To wait for a value, {_BEFORE.lower()}",
        ),
    ),
    ast.ClassDef: (
        "a class inside a term cannot be read.",
        "Define it above the term, with constants, or use a tuple.",
    ),
    ast.Delete: ("`del` cannot be read.", "Drop this line: local names go away when the function returns."),
    ast.Try: ("a term cannot catch exceptions.", "Test the condition with `if` instead."),
    ast.Raise: ("a term cannot raise exceptions.", "Declare the range of the field: bad input is then rejected."),
    ast.Import: ("an import inside a term cannot be read.", "Import at the top of the module."),
    ast.ImportFrom: ("an import inside a term cannot be read.", "Import at the top of the module."),
    ast.With: (
        "`with` cannot be read.",
        f"Drop the `with` line and keep its body. If the body reads a file, {_BEFORE.lower()}",
    ),
    ast.NamedExpr: ("`:=` cannot be read where only some rows reach it.", "Assign on a line of its own, above."),
    ast.SetComp: ("a set cannot be read.", _SET),
    ast.Starred: ("`*` cannot be read here.", "Write the entries one by one: (v[0], v[1], w)."),
    ast.GeneratorExp: (
        "a generator can only be used inside sum, min, max, any or all.",
        "Write sum(x * x for x in vector).",
    ),
    ast.Set: ("a set has no order.", _SET),
    ast.JoinedStr: ("a term cannot build strings.", "Compare a category with one of its values."),
    ast.Await: ("a term is a plain function and cannot wait.", _BEFORE),
    **dict.fromkeys(
        (ast.Yield, ast.YieldFrom),
        ("a function in a term returns once and cannot yield.", "Return the value: `return x`."),
    ),
    ast.Is: ("`is` compares identity.", "Use `==`; a value in a term is never None."),
    ast.IsNot: ("`is not` compares identity.", "Use `!=`; a value in a term is never None."),
    ast.Invert: ("`~` works on bits.", "Write `not condition`; `~` is for arrays of bools."),
    **dict.fromkeys(
        (ast.BitAnd, ast.BitOr, ast.LShift, ast.RShift),
        (
            "bit operations cannot be read, unless on an integer.",
            "Join conditions with `and`, `or`, `not`. An integer is a field that lists its values, or int(x).",
        ),
    ),
    ast.BitXor: (
        "`^` is exclusive or, a bit operation, and not a power.",
        "Write `x ** 2` for a power, and `a != b` for conditions of which one holds and not both.",
    ),
}

CALLS: dict[str, str] = {
    "pow": "Write `x ** 2`.",
    "math.copysign": "Write `x if y >= 0 else -x`.",
    "math.log": "Write math.log(x), or math.log(x, base).",
    "round": "Write round(x), or round(x * 100) / 100 for two digits.",
    "sum": "Write sum(v), or sum(v, start).",
    "min": "Write min(a, b) or min(v), without `key` and `default`.",
    "max": "Write max(a, b) or max(v), without `key` and `default`.",
    "abs": "Write abs(x), of one number.",
    "len": "Write len(v), of one vector.",
    "int": "Write int(x), of one number.",
    "float": "Write float(x), of one number.",
    "bool": "Write `x != 0`.",
    "divmod": "Write x // y and x % y.",
    "sorted": "Write sorted(v), or sorted(v, reverse=True), of at most 8 numbers.",
    "print": "A term cannot have side effects. To debug it, call it as a plain function.",
    "isinstance": "Every value is a number, a bool or a category, as its field declares. Drop the test.",
    "type": "Every value is a number, a bool or a category, as its field declares. Drop the test.",
    "hasattr": "A field always has a value: give it `missing=`, and take it as a parameter.",
    "getattr": "Take the field as a parameter, or write `prev.name`, `curr.name`.",
    "str": _CATEGORY,
    "repr": _CATEGORY,
    "format": _CATEGORY,
    "list": "Drop the call: a vector works as a list.",
    "tuple": "Drop the call: a vector works as a list.",
    "set": _SET,
    "frozenset": _SET,
    "map": "Write a generator: sum(g(x) for x in v).",
    "filter": "Write `x if condition else 0` for each element.",
    "next": "Loop, and `break` at the first match: `for x in v: if x > 1: first = x; break`.",
    "iter": "Loop over the vector itself: `for x in v:`.",
    "open": f"A term cannot have side effects. {_BEFORE}",
    "input": f"A term cannot have side effects. {_BEFORE}",
    "functools.partial": "Write a helper: `def g(x): return f(x, 2)`.",
    "functools.reduce": "Loop instead: `for x in v: total = total * x`.",
    "clip": "Write min(max(x, low), high).",
    "inv": "Invert the matrix before scoring, and pass the result in as a field.",
    "median": "Sort before scoring, and pass the result in as a field.",
}
"""By the whole name of a function; of a library of arrays, by its last part."""

MODULES: dict[str, str] = {
    "random": f"{_FIXED}draw the number before scoring and pass it in as a field.",
    "secrets": f"{_FIXED}draw the number before scoring and pass it in as a field.",
    "numpy.random": f"{_FIXED}draw the number before scoring and pass it in as a field.",
    "time": f"{_FIXED}pass the time in as a field.",
    "datetime": f"{_FIXED}pass the time in as a field.",
    "logging": "A term cannot have side effects: drop the call.",
    "warnings": "A term cannot have side effects: drop the call.",
    "os": f"{_FIXED}read settings before scoring and pass them in as knobs.",
    "json": f"A term cannot process text. {_BEFORE}",
    "re": f"A term cannot process text. {_BEFORE}",
    "operator": "Write the operator itself: a + b.",
    "copy": "Drop the call: a value in a term does not change in place.",
    "itertools": "Write `for` loops: `for x in v: for y in w:`.",
    "statistics": _BEFORE,
    "scipy": f"Write its formula with the math module, or {_BEFORE.lower()}",
}
"""By the module of a function, or the package it stands in."""


METHOD_ADVICE: dict[str, str] = {
    **dict.fromkeys(("item", "detach", "cpu", "numpy", "tolist", "to", "float", "double", "clone", "copy"), _DROP),
    **dict.fromkeys(("upper", "lower", "startswith", "endswith", "strip", "split", "format", "replace"), _CATEGORY),
    **dict.fromkeys(("get", "keys", "values", "items"), "Declare each entry as a Field and take it as a parameter."),
    **dict.fromkeys(
        ("append", "extend", "add", "pop"), "Do not change a value in place: add to a number, `total += x`."
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
            return f"`{ast.unparse(call)}` has no effect on the score.", _explain_effect(function)
        case ast.Global(names=[kept, *_]) | ast.Nonlocal(names=[kept, *_]):
            return "a term cannot have side effects.", f"Return the value. {explain_state(kept)}"
        case ast.FunctionDef(decorator_list=[decorator, *_]):
            what = f"the decorator `@{ast.unparse(decorator)}` inside a term cannot be read."
            return what, "Drop it, or do its work in the function."
        case ast.Raise(exc=ast.Call(args=[ast.Constant(value=str(text))])):
            return f"a term cannot raise exceptions, and this raises: {text}", _UNSUPPORTED[ast.Raise][1]
    name = type(node).__name__
    return _UNSUPPORTED.get(type(node), (f"{name} is not part of the language.", _BEFORE))


def _explain_effect(function: ast.expr) -> str:
    """Return what to write instead of a call whose result is not used."""
    name = ast.unparse(function)
    if name == "print" or name.rpartition(".")[2] in ("debug", "info", "warning", "error", "exception", "log", "warn"):
        return "A term cannot have side effects: drop this line. To debug it, call it as a plain function."
    if isinstance(function, ast.Attribute) and function.attr in ("append", "extend", "insert", "add", "update", "sort"):
        kept = ast.unparse(function.value).rpartition(".")[2]
        advice = "A term cannot change this in place: drop this line, and add to a number in the loop: `total += x`."
        return f"{advice} {explain_state(kept)}" if kept.isidentifier() else advice
    return "A term only computes a value: drop this line, or return the value."


def explain_unsupported_target(target: ast.expr) -> tuple[str, str]:
    """Return why nothing can be assigned to `target`, and what to write instead."""
    match target:
        case ast.Subscript(value=ast.Name(id=name)):
            return (
                f"`{name}` was not made here, and cannot be changed in place.",
                f"Make a new one, or give the entry its own name: `{name}_0 = ...`. {explain_state(name)}",
            )
        case ast.Attribute(attr=name):
            return "a term cannot have side effects.", f"Assign to a local name: `{name} = ...`. {explain_state(name)}"
    return "this was not made here, and cannot be changed in place.", "Make a new one: `name = expression`."


def explain_state(name: str) -> str:
    """Return how to keep a value from step to step."""
    return f'To keep a value from step to step, declare State("{name}", reset=0.0, update=...) and read `prev.{name}`.'


def explain_empty(node: ast.AST) -> str:
    """Return what to write for a default `history=[]` that other steps are to fill; nothing for anything else."""
    named = isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name)
    return f" {explain_state(node.value.id)}" if named else ""  # type: ignore[attr-defined]  # a subscript


def explain_unsupported_pattern(pattern: ast.pattern) -> tuple[str, str]:
    """Return why a pattern of a `match` cannot be read, and what to write instead."""
    if isinstance(pattern, ast.MatchSingleton) and pattern.value is not None:
        return f"`{pattern.value}` matches a bool, and this is not one.", "Match a comparison: `match x > 1:`."
    if isinstance(pattern, ast.MatchSingleton):
        return "a value in a term is never None.", "Give the field a `missing=` value instead."
    what = "a `case` is a constant, several constants joined by `|`, a name, or `_`."
    return what, "Write `case 'walk' | 'run':`, add a guard (`case _ if speed > 1:`), or use `if` and `elif`."


def explain_unsupported_call(name: str, called: object) -> tuple[str, str]:
    """Return why a call is not part of the language and what to write instead."""
    if called is None:
        what = f"`{name}` is a value here, and only a function can be called."
        return what, f"Write `{name} * (...)` for a product, or `{name}[0]` for an entry."
    if not callable(called):
        what = f"`{name}` is {called!r:.60} here, and only a function can be called."
        return what, "If this name hides a function, rename it."
    if isinstance(called, EnumMeta):
        first = next(iter(called.__members__), "NAME")
        what = f"`{name}(...)` makes a member of an Enum, and a row holds values."
        return what, f"Compare the value itself: `x == {name}.{first}.value`."
    whole = find_whole_name(called)
    package = whole.partition(".")[0]
    advice = find_advice(whole)
    if (
        isinstance(called, type)
        and not advice
        and package not in (*FOREIGN, *sys.stdlib_module_names)
        and whole != name
    ):
        what = f"`{name}` is a class, and a term cannot make an object."
        return what, "Keep its parts in local names, in a tuple or in a dict: p = {'x': x, 'y': y}."
    if package in FOREIGN:
        return (
            f"`{name}` belongs to {package}.",
            advice or "Use the math module: plaudit translates it for every target.",
        )
    return f"`{name}` is not available on every target.", advice or _list_functions()


def find_whole_name(called: object) -> str:
    """Return the name of a function with its module: `numpy.random.rand`; of a builtin the name alone."""
    owner = getattr(called, "__self__", None)
    name = getattr(called, "__name__", "") or type(called).__name__
    kind = owner if isinstance(owner, type) else type(called if owner is None else owner)
    module = owner.__name__ if isinstance(owner, types.ModuleType) else getattr(called, "__module__", None)
    module = (module or kind.__module__).lstrip("_")  # what is written in C says `_functools`
    return name if module in ("builtins", "io") else f"{module}.{name}"


def find_advice(whole: str) -> str:
    """Return what to write instead of a function, by its whole name; an empty string if there is no advice."""
    if whole in CALLS:
        return CALLS[whole]
    module, _, name = whole.rpartition(".")
    while module:
        if module in MODULES:
            return MODULES[module]
        if module in FOREIGN and name in CALLS:
            return CALLS[name]
        module = module.rpartition(".")[0]
    return ""


def explain_unsupported_attribute(node: ast.Attribute, base: str, *, axes: int = 0) -> tuple[str, str]:
    """Return why an attribute cannot be read and what to write instead; `base` says what it is of, if it is known.

    An array has so many `axes`.
    """
    if not base:
        what = f"`{ast.unparse(node)}` is a part of an object, and which object that is cannot be seen."
        listed = f"Field('agents_0_{node.attr}'), Field('agents_1_{node.attr}')"
        loop = f"Loop over the list itself, `for each in agents: ... each.{node.attr}`, and declare {listed}. "
        return what, f"{'' if isinstance(node.value, ast.BinOp) else loop}{_suggest_position(node)}".strip()
    what = f"`.{node.attr}` of {base} cannot be read."
    if axes and (position := _suggest_position(node, axes)):
        name = ast.unparse(node.value).rpartition(".")[2]
        part = f" Or declare Field('{name}_{node.attr}') in its place." if name.isidentifier() else ""
        return what, position + part
    if node.attr in METHOD_ADVICE:
        return what, METHOD_ADVICE[node.attr]
    declare = f"Declare Field({node.attr!r}) and take `{node.attr}` as a parameter"
    return what, f"{declare}. Fields are parameters, or `prev.name` and `curr.name`."


def _suggest_position(node: ast.Attribute, axes: int = 1) -> str:
    """Return how to read `v.x` of a vector, or of the last one of several axes; nothing for another attribute."""
    if node.attr not in ("x", "y", "z"):
        return ""
    index = f"{'..., ' * (axes > 1)}{'xyz'.index(node.attr)}"
    entry = ast.unparse(ast.Subscript(node.value, ast.Name(index), ast.Load()))
    return f"Of a vector, write its position: `{entry}`."


def explain_unsupported_index(index: object, base: str) -> tuple[str, str]:
    """Return why something cannot be indexed and what to write instead; `base` says what it is."""
    what = f"{base} cannot be indexed."
    if isinstance(index, str):
        name = re.sub(r"\W+", "_", index)
        if not name.isidentifier():
            return what, "The entries of a row are fields: declare one for it, and take it as a parameter."
        return what, f"Declare Field({name!r}) and take `{name}` as a parameter: the entries of a row are fields."
    return what, "Index a constant tuple or a vector field: Field('torque', length=12)."


def suggest_rewrite(node: ast.AST) -> str:
    """Return what to write instead of a use of the language that makes no sense, by what stands there."""
    match node:
        case ast.Call(func=function):
            name = ast.unparse(function)
            return (
                CALLS.get(name) or CALLS.get(name.rpartition(".")[2]) or "Write plain arguments, one by one: f(x, y)."
            )
        case ast.FunctionDef():
            return "Return one number or bool: an entry v[0], sum(v), or a comparison such as phase == 'coding'."
        case ast.Subscript():
            return "An index is an integer from 0 to the length minus 1, and a table indexed by data holds numbers."
        case ast.Compare():
            return "Compare numbers with numbers, and a category with one of its values: phase == 'coding'."
        case ast.Attribute():
            return f"Check the spelling: `dir({ast.unparse(node.value)})` lists its attributes."
        case ast.Tuple() | ast.Name(ctx=ast.Store()):
            return "Write one name for each value: `for a, b in zip(v, w)`."
        case ast.BinOp() | ast.UnaryOp() | ast.AugAssign():
            return (
                "Arithmetic takes finite numbers: for a vector write sum(v) or v[0], for a category phase == 'coding'."
            )
    return "Use a number: an entry v[0], sum(v), or a comparison such as phase == 'coding'."


def _list_functions() -> str:
    listed: dict[str, list[str]] = {}
    for kind in n.KINDS.values():
        if kind.function and kind is not n.IsFinite:
            listed.setdefault(n.split_function(kind)[0], []).append(n.split_function(kind)[1])
    listed["math"] += ["pi", "inf"]
    listed[""] = ["abs", "min", "max", "round", "sum", "any", "all"]
    known = " and ".join(f"from {module}: {' '.join(names)}" for module, names in listed.items() if module)
    known = f"{' '.join(listed[''])}, and {known}"
    advice = "For other functions, write a helper in the same subset of Python, or compute before scoring."
    return f"A term can call {known}. {advice}"

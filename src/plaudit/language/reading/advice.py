"""What to write instead of functions, methods and attributes that the language does not have."""

import ast
import types

from plaudit.language import nodes as n
from plaudit.language.reading.syntax import FOREIGN

_BEFORE = "Compute it before scoring and pass it in as a field."
_DROP = "Every number is a plain float already; drop the call."
_FIXED = "A score depends on its fields alone: "
_CATEGORY = "Compare a category with one of its values: phase == 'coding'."

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
    "sorted": "Sorting is a feature: compute it before scoring and pass it in as a field.",
    "print": "A term has no outside effects. To look inside, call it as the plain function it is.",
    "isinstance": "Every value is a number, a bool or a category: its field says which. Drop the test.",
    "type": "Every value is a number, a bool or a category: its field says which. Drop the test.",
    "hasattr": "A field is always there: give it a `missing=` value, and take it as a parameter.",
    "getattr": "Take the field as a parameter, or write `prev.name`, `curr.name`.",
    "str": _CATEGORY,
    "repr": _CATEGORY,
    "format": _CATEGORY,
    "list": "Drop the call: a vector is listed already.",
    "tuple": "Drop the call: a vector is listed already.",
    "set": "Write a tuple of constants: (1, 2, 3).",
    "map": "Write a generator: sum(g(x) for x in v).",
    "filter": "Write `x if condition else 0` for each element.",
    "next": "Loop, and `break` at the first: `for x in v: if x > 1: first = x; break`.",
    "iter": "Loop over the vector itself: `for x in v:`.",
    "open": f"A term has no outside effects. {_BEFORE}",
    "input": f"A term has no outside effects. {_BEFORE}",
    "functools.partial": "Write a helper: `def g(x): return f(x, 2)`.",
    "functools.reduce": "Loop instead: `for x in v: total = total * x`.",
    "clip": "Write min(max(x, low), high).",
    "inv": f"A matrix is inverted before scoring: {_BEFORE.lower()}",
    "median": f"Sorting is a feature. {_BEFORE}",
}
"""By the whole name of a function; of a library of arrays, by its last part."""

MODULES: dict[str, str] = {
    "random": f"{_FIXED}draw the number before scoring and pass it in as a field.",
    "secrets": f"{_FIXED}draw the number before scoring and pass it in as a field.",
    "numpy.random": f"{_FIXED}draw the number before scoring and pass it in as a field.",
    "time": f"{_FIXED}pass the time in as a field.",
    "datetime": f"{_FIXED}pass the time in as a field.",
    "logging": "A term has no outside effects: drop the call.",
    "warnings": "A term has no outside effects: drop the call.",
    "os": f"{_FIXED}read settings before scoring; a knob takes them in.",
    "json": f"A term has no text in it. {_BEFORE}",
    "re": f"A term has no text in it. {_BEFORE}",
    "operator": "Write the operator itself: a + b.",
    "copy": "Drop the call: nothing changes in place.",
    "itertools": "Write `for` loops: `for x in v: for y in w:`.",
    "statistics": _BEFORE,
    "scipy": f"Write its formula with the math module. Or: {_BEFORE.lower()}",
}
"""By the module of a function, or the package it stands in."""

METHODS: dict[str, str] = {
    **dict.fromkeys(("item", "detach", "cpu", "numpy", "tolist", "to", "float", "double", "clone", "copy"), _DROP),
    **dict.fromkeys(("upper", "lower", "startswith", "endswith", "strip", "split", "format", "replace"), _CATEGORY),
    **dict.fromkeys(("get", "keys", "values", "items"), "Declare each entry as a Field and take it as a parameter."),
    **dict.fromkeys(("append", "extend", "add", "pop"), "Nothing changes in place: add up a number, `total += x`."),
}


def explain_unsupported_call(name: str, called: object) -> tuple[str, str]:
    """Return why a call is not part of the language and what to write instead."""
    if called is None:
        what = f"`{name}` is a value here, and only functions are called."
        return what, f"Write `{name} * (...)` for a product, or `{name}[0]` for an entry."
    if not callable(called):
        what = f"`{name}` is {called!r:.60} here, and only functions are called."
        return what, "Give the local name another name, if it hides a function."
    whole = find_whole_name(called)
    package = whole.partition(".")[0]
    advice = find_advice(whole)
    if package in FOREIGN:
        return (
            f"`{name}` belongs to {package}.",
            advice or "Use the math module: plaudit translates it for every target.",
        )
    return f"`{name}` is not a function that every target has.", advice or _list_functions()


def find_whole_name(called: object) -> str:
    """Return the name of a function with its module: `numpy.random.rand`; of a builtin the name alone."""
    owner = getattr(called, "__self__", None)
    name = getattr(called, "__name__", "") or type(called).__name__
    kind = owner if isinstance(owner, type) else type(called if owner is None else owner)
    module = owner.__name__ if isinstance(owner, types.ModuleType) else getattr(called, "__module__", None)
    module = (module or kind.__module__).lstrip("_")  # what is written in C says `_functools`
    return name if module in ("builtins", "io") else f"{module}.{name}"


def find_advice(whole: str) -> str:
    """Return what to write instead of a function, by its whole name; an empty string where nobody knows."""
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


def explain_unsupported_attribute(node: ast.Attribute, base: str) -> tuple[str, str]:
    """Return why an attribute cannot be read and what to write instead; `base` says what it is of."""
    what = f"`.{node.attr}` of {base} cannot be read."
    if node.attr in METHODS:
        return what, METHODS[node.attr]
    declare = f"Declare Field({node.attr!r}) and take `{node.attr}` as a parameter"
    return what, f"{declare}. Fields are parameters, or `prev.name` and `curr.name`."


def explain_unsupported_index(index: object, base: str) -> tuple[str, str]:
    """Return why something cannot be indexed and what to write instead; `base` says what it is."""
    what = f"{base} cannot be indexed."
    if isinstance(index, str):
        return what, f"Declare Field({index!r}) and take `{index}` as a parameter: a row's entries are fields."
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
            return "An index is an integer from 0 to the length less 1, and a table that data index holds numbers."
        case ast.Compare():
            return "Compare numbers with numbers, and a category with one of its values: phase == 'coding'."
        case ast.Attribute():
            return f"Check the spelling: `dir({ast.unparse(node.value)})` lists what is there."
        case ast.Tuple() | ast.Name(ctx=ast.Store()):
            return "Write one name for each value: `for a, b in zip(v, w)`."
        case ast.BinOp() | ast.UnaryOp() | ast.AugAssign():
            return "Arithmetic takes finite numbers: of a vector write sum(v) or v[0], of a category phase == 'coding'."
    return "A number is an entry v[0], sum(v), or a comparison such as phase == 'coding'."


def _list_functions() -> str:
    """Return the functions that the language has."""
    listed: dict[str, list[str]] = {}
    for kind in n.KINDS.values():
        if kind.function and kind is not n.IsFinite:
            listed.setdefault(n.split_function(kind)[0], []).append(n.split_function(kind)[1])
    listed["math"] += ["pi", "inf"]
    listed[""] = ["abs", "min", "max", "round", "sum", "any", "all"]
    known = " and ".join(f"from {module}: {' '.join(names)}" for module, names in listed.items() if module)
    known = f"{' '.join(listed[''])}, and {known}"
    return f"The language has {known}. Other functions: write a helper in the subset, or compute before scoring."

"""The spellings of NumPy, JAX and PyTorch: which functions and methods are read, and how they are called.

A function is known by its module and name, so no library is imported here. What the libraries do not agree on is
refused, with what to write instead.
"""

import ast
from abc import ABC
from collections.abc import Callable, Mapping
from functools import partial
from math import pi
from typing import Any, NamedTuple

from plaudit.errors import did_you_mean
from plaudit.language import nodes as n
from plaudit.language.advice import METHODS as METHOD_ADVICE
from plaudit.language.advice import find_advice, find_whole_name
from plaudit.language.library import LibraryReader
from plaudit.language.reader import Constant, Value, Vector, describe
from plaudit.language.syntax import FOREIGN
from plaudit.language.vectors import BATCH, find_open, is_array

Arguments = dict[str, Any]
"""What a call passes, by the name of the parameter; None for a literal None."""


class SpellingReader(LibraryReader, ABC):
    """Reads calls of the functions and methods of array libraries."""

    def call_spelling(self, name: str, node: ast.Call, env: dict[str, Value], *first: Value) -> Value:
        """Return what a function of a library, or a method of the value `first`, gives."""
        spelled = SPELLINGS[name]
        passed = self.bind_arguments(spelled.signature, node, env, first)
        known = [value for value in passed.values() if value is not None]
        if (unknown := find_open(*known)) is not None:
            return unknown
        self.validate_dtype(passed.pop("dtype", None), passed.get("x"), node)
        return spelled.function(self, node, **passed)

    def bind_arguments(
        self, signature: str, node: ast.Call, env: dict[str, Value], first: tuple[Value, ...]
    ) -> Arguments:
        """Return what a call passes to the parameters of `signature`, such as `x low?|min high?|max`."""
        parameters = [part.replace("?", "").split("|") for part in signature.split()]
        required = [part.split("|")[0] for part in signature.split() if "?" not in part and "*" not in part]
        values = [*first, *(self.read_argument(argument, env) for argument in node.args)]
        star = next((at for at, names in enumerate(parameters) if names[0].startswith("*")), None)
        passed: Arguments = {}
        if star is not None:
            passed[parameters[star][0][1:]] = Vector(tuple(value for value in values[star:] if value is not None))
            values = values[:star]
        elif len(values) > len(parameters):
            count = len(parameters) - len(first)
            raise self.error(node, f"`{ast.unparse(node.func)}` takes {count} argument{'s'[: count != 1]} here.")
        passed |= {names[0]: value for names, value in zip(parameters, values, strict=False)}
        for keyword in node.keywords:
            name = next((names[0] for names in parameters if keyword.arg in names), None)
            if name is None or name in passed:
                advice = f"It reads {', '.join(names[-1] for names in parameters[1:]) or 'no keywords'}."
                if keyword.arg == "dim":
                    advice = "With dim= torch gives positions as well; write torch.amax(v, dim=0) or torch.amin."
                raise self.error(node, f"`{ast.unparse(node.func)}` is read without {keyword.arg}=.", advice)
            passed[name] = self.read_argument(keyword.value, env)
        missing = [name for name in required if passed.get(name) is None]
        if missing:
            raise self.error(node, f"`{ast.unparse(node.func)}` is called without {' and '.join(missing)}.")
        return passed

    def read_argument(self, node: ast.expr, env: dict[str, Value]) -> Value | None:
        """Return an argument; None where it is a literal None."""
        if isinstance(node, ast.Starred):
            raise self.error(node, "`*` cannot be read in this call.", "Pass the arguments one by one.")
        if isinstance(node, ast.Constant) and node.value is None:
            return None
        return self.read_iterable(node, env)

    def validate_dtype(self, dtype: Value | None, value: Value | None, node: ast.AST) -> None:
        """Refuse a dtype that would change what is computed; a float is what every number is."""
        if dtype is None:
            return
        known = dtype.value if isinstance(dtype, Constant) else None
        name = str(getattr(known, "__name__", known)).removeprefix("torch.")
        if name in FLOATS or (value is not None and name in INTEGERS and self.holds_flags(value)):
            return
        advice = "Drop it: every number is a float. To round, write np.floor(x); for a condition, x != 0."
        raise self.error(node, f"the dtype {name} is not read.", advice)

    def read_method(self, base: Value, node: ast.Call, env: dict[str, Value]) -> Value:
        """Return what a method of a value gives."""
        assert isinstance(node.func, ast.Attribute)
        name = node.func.attr
        table = base.value if isinstance(base, Constant) else None
        if name == "index" and isinstance(table, tuple) and len(node.args) == 1:
            return self.look_up_position(table, self.read_expression(node.args[0], env), node)
        if name in METHODS and (is_array(base) or not isinstance(base, Vector | Constant)):
            return self.call_spelling(f".{name}" if f".{name}" in SPELLINGS else name, node, env, base)
        if name in METHODS:
            raise self.error(node, f"{describe(base)} has no `.{name}()`.", "Make it an array: np.array(...).")
        advice = REFUSED.get(name) or METHOD_ADVICE.get(name, "")
        near = "" if advice else did_you_mean(name, METHODS)
        raise self.error(node, f"the method `.{name}()` is not read.{near}", advice or _LISTED)

    def refuse_library(self, called: object, node: ast.Call) -> None:
        """Refuse a function of a library that is not read."""
        library, name = get_library(called), str(getattr(called, "__name__", ""))
        if library:
            advice = REFUSED.get(name) or find_advice(find_whole_name(called))
            near = "" if advice else did_you_mean(name, SPELLINGS)
            what = f"`{ast.unparse(node.func)}` of {library} is not read.{near}"
            raise self.error(node, what, advice or _LISTED)


class Spelling(NamedTuple):
    """How a function is called, and what it means."""

    signature: str
    """Its parameters: `x low?|min` has one that is needed, and one that may be left out and has two names."""
    function: Callable[..., Value]


X = "x|a|input|arr|object|data|tensors|arrays"
X_Y = f"{X} y|other|x2|b|exponent"
ALONG = "axis?|dim|axis keepdims?|keepdim|keepdims"
READ = LibraryReader


def _list_entrywise() -> dict[str, Spelling]:
    """Return the functions of one or two numbers that the language has."""
    found = {}
    for kind in (*n.FUNCTIONS, n.IsInf):
        name = n.split_function(kind)[1]
        operands = X_Y if len(n.operand_names(kind)) == 2 else X
        for spelling in (name, *SYNONYMS.get(name, ())):
            found[spelling] = Spelling(operands, partial(_call_node, kind))
    return found


def _call_node(kind: type[n.Node], reader: LibraryReader, node: ast.AST, **operands: Value) -> Value:
    return reader.map_node(kind, node, **operands)


def _call(method: Callable[..., Value], *first: object) -> Callable[..., Value]:
    """Return a method of the reader with its first arguments given."""
    return lambda reader, node, **arguments: method(reader, *first, node, **arguments)


SYNONYMS: Mapping[str, tuple[str, ...]] = {
    "abs": ("absolute", "fabs"),
    "round": ("rint", "around"),
    **{name: (f"arc{name[1:]}",) for name in ("atan", "asin", "acos", "atan2")},
}

OPERATORS: Mapping[str, ast.operator] = {
    **dict.fromkeys(("add",), ast.Add()),
    **dict.fromkeys(("subtract", "sub"), ast.Sub()),
    **dict.fromkeys(("multiply", "mul"), ast.Mult()),
    **dict.fromkeys(("divide", "true_divide", "div"), ast.Div()),
    **dict.fromkeys(("floor_divide",), ast.FloorDiv()),
    **dict.fromkeys(("mod", "remainder"), ast.Mod()),
    **dict.fromkeys(("power", "pow"), ast.Pow()),
}
COMPARED: Mapping[str, ast.cmpop] = {
    **dict.fromkeys(("greater", "gt"), ast.Gt()),
    **dict.fromkeys(("greater_equal", "ge"), ast.GtE()),
    **dict.fromkeys(("less", "lt"), ast.Lt()),
    **dict.fromkeys(("less_equal", "le"), ast.LtE()),
    **dict.fromkeys(("equal", "eq"), ast.Eq()),
    **dict.fromkeys(("not_equal", "ne"), ast.NotEq()),
}
LOGIC: Mapping[str, ast.operator] = {
    "logical_and": ast.BitAnd(),
    "logical_or": ast.BitOr(),
    "logical_xor": ast.BitXor(),
}

SPELLINGS: Mapping[str, Spelling] = {
    **_list_entrywise(),
    **{name: Spelling(X_Y, _call(READ.apply_operator, op)) for name, op in OPERATORS.items()},
    **{name: Spelling(X_Y, _call(READ.apply_comparison, op)) for name, op in COMPARED.items()},
    **{name: Spelling(X_Y, _call(READ.apply_logic, op)) for name, op in LOGIC.items()},
    "logical_not": Spelling(X, READ.negate),
    "negative": Spelling(X, READ.negative),
    "neg": Spelling(X, READ.negative),
    "square": Spelling(X, READ.square),
    **dict.fromkeys(("deg2rad", "radians"), Spelling(X, _call(READ.scale, pi / 180.0))),
    **dict.fromkeys(("rad2deg", "degrees"), Spelling(X, _call(READ.scale, 180.0 / pi))),
    "where": Spelling("condition x|input y|other", READ.choose),
    **dict.fromkeys(("clip", "clamp"), Spelling(f"{X} low?|a_min|min high?|a_max|max", READ.clip)),
    **dict.fromkeys(("minimum", "fmin"), Spelling(X_Y, _call(READ.extreme, n.Min))),
    **dict.fromkeys(("maximum", "fmax"), Spelling(X_Y, _call(READ.extreme, n.Max))),
    "relu": Spelling(X, partial(_call(READ.extreme, n.Max), y=Constant(0.0))),
    **dict.fromkeys(("sigmoid", "expit"), Spelling(X, READ.sigmoid)),
    "sum": Spelling(f"{X} {ALONG} dtype?", _call(READ.reduce_by, n.Add)),
    "prod": Spelling(f"{X} {ALONG} dtype?", _call(READ.reduce_by, n.Mul)),
    "mean": Spelling(f"{X} {ALONG} dtype?", READ.average),
    "min": Spelling(f"{X} axis? keepdims?", _call(READ.reduce_by, n.Min)),
    "max": Spelling(f"{X} axis? keepdims?", _call(READ.reduce_by, n.Max)),
    "amin": Spelling(f"{X} {ALONG}", _call(READ.reduce_by, n.Min)),
    "amax": Spelling(f"{X} {ALONG}", _call(READ.reduce_by, n.Max)),
    "torch.min": Spelling(f"{X} y?|other", _call(READ.reduce_torch, n.Min)),
    "torch.max": Spelling(f"{X} y?|other", _call(READ.reduce_torch, n.Max)),
    "any": Spelling(f"{X} {ALONG}", _call(READ.reduce_flags, False)),
    "all": Spelling(f"{X} {ALONG}", _call(READ.reduce_flags, True)),
    **dict.fromkeys(("norm", "vector_norm"), Spelling(f"{X} order?|p|ord {ALONG}", READ.norm)),
    **dict.fromkeys(("dot", "matmul", "mv", "mm"), Spelling(X_Y, READ.dot)),
    **dict.fromkeys(("inner", "vdot"), Spelling(X_Y, READ.inner)),
    "cross": Spelling(f"{X_Y} axis?|dim|axis", READ.cross),
    "diff": Spelling(X, READ.differ),
    **dict.fromkeys(("array", "asarray", "tensor", "as_tensor"), Spelling(f"{X} dtype?", READ.make_array)),
    **dict.fromkeys(("concatenate", "cat", "concat"), Spelling(f"{X} axis?|dim|axis", READ.join_arrays)),
    "hstack": Spelling(X, READ.join_arrays),
    "stack": Spelling(f"{X} axis?|dim|axis", READ.stack_arrays),
    "zeros": Spelling("*shape dtype?", _call(READ.fill, 0.0)),
    "ones": Spelling("*shape dtype?", _call(READ.fill, 1.0)),
    "full": Spelling("shape|size value|fill_value dtype?", READ.fill_with),
    "zeros_like": Spelling(f"{X} dtype?", _call(READ.fill_like, 0.0)),
    "ones_like": Spelling(f"{X} dtype?", _call(READ.fill_like, 1.0)),
    "full_like": Spelling(f"{X} fill_value dtype?", READ.fill_shape),
    "arange": Spelling("*numbers dtype?", READ.count_up),
    **dict.fromkeys(("reshape", "view"), Spelling(f"{X} *shape", READ.change_shape)),
    **dict.fromkeys(("ravel", "flatten"), Spelling(X, READ.flatten)),
    **dict.fromkeys(("transpose", "t"), Spelling(X, READ.turn)),
    "shape": Spelling(X, READ.find_sizes_of),
    "size": Spelling(X, READ.count_entries),
    ".size": Spelling(f"{X} axis?|dim|axis", READ.find_sizes_of),
    **dict.fromkeys(("float", "double", "float32", "float64"), Spelling(X, READ.cast)),
    **dict.fromkeys(("astype", "to", "type"), Spelling(f"{X} dtype", READ.cast)),
    **dict.fromkeys(("copy", "clone", "detach", "contiguous", "item"), Spelling(X, READ.hand_back)),
}
"""Every spelling by its name; where PyTorch, or a method, means something else, by `torch.` or `.` and its name."""

_FUNCTIONS_ONLY = {
    "where", "array", "asarray", "tensor", "as_tensor", "concatenate", "cat", "concat", "hstack", "stack", "zeros",
    "ones", "full", "zeros_like", "ones_like", "full_like", "arange", "shape", "float32", "float64",
}  # fmt: skip
METHODS = {name for name in SPELLINGS if "." not in name} - _FUNCTIONS_ONLY
"""The spellings that are methods of an array too."""

FLOATS = ("float", "float32", "float64", "double", "single")
INTEGERS = ("bool", "bool_", "int", "int8", "int32", "int64", "long", "uint8")

_LISTED = "docs/language.md lists the functions that are. Write it with those, or compute it before scoring."
_SPREAD = "The libraries divide by other counts. Write np.sqrt(np.mean((v - np.mean(v)) ** 2))."
_SEARCH = "Compute it before scoring and pass it in as a field."
_NAN = "A NaN never reaches a term: bad input is refused or masked before it. For infinity write np.isinf(x)."
_AXIS = f"{BATCH}: drop the call; shapes are brought together as in NumPy."
REFUSED: Mapping[str, str] = {
    **dict.fromkeys(("std", "var"), _SPREAD),
    **dict.fromkeys(("argmax", "argmin", "sort", "argsort", "median", "cumsum", "unique"), _SEARCH),
    **dict.fromkeys(("isnan", "isfinite", "nan_to_num", "nansum", "nanmean"), _NAN),
    **dict.fromkeys(("unsqueeze", "expand_dims", "squeeze", "expand", "repeat"), _AXIS),
    "einsum": "Write sums of products: np.dot(a, b), m @ v, or sum(a * b for a, b in zip(v, w)).",
    "softmax": "Write np.exp(v) / np.sum(np.exp(v)).",
    "int": "Write np.floor(x), or np.round(x).",
    "bool": "Write x != 0.",
}
"""What to write instead of spellings that mean different things in different libraries, or that no target has."""

_MODULES = ("numpy", "numpy.linalg", "jax.numpy", "jax.numpy.linalg", "jax.nn", "torch", "torch.functional",
            "torch.linalg", "torch._C._linalg", "torch._C._nn", "torch._C._special", "torch.nn.functional")  # fmt: skip


def get_library(called: object) -> str:
    """Return the library that a function is of; an empty string for any other function."""
    library = (getattr(called, "__module__", "") or type(called).__module__ or "").partition(".")[0]
    library = {"jaxlib": "jax"}.get(library, library)
    return library if library in FOREIGN else ""


def find_spelling(called: object) -> str | None:
    """Return the name under which a function of a library is read; None for any other function.

    >>> import numpy as np
    >>> find_spelling(np.linalg.norm), find_spelling(np.linalg.svd), find_spelling(abs)
    ('norm', None, None)
    """
    module = getattr(called, "__module__", "") or ""
    name = (getattr(called, "__name__", "") or "").removeprefix("linalg_").removeprefix("special_")
    if module not in _MODULES and not module.startswith(("jax._src.numpy", "jax._src.nn")):
        return None
    return next((key for key in (f"{get_library(called)}.{name}", name) if key in SPELLINGS), None)

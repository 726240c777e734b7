"""The spellings of NumPy, JAX and PyTorch: which functions and methods are read, and how they are called.

A function is known by its module and name, so no library is imported here. What the libraries do not agree on is
refused, with what to write instead.
"""

import ast
from collections.abc import Callable, Mapping
from functools import partial
from math import pi
from typing import NamedTuple

from plaudit.language import nodes as n
from plaudit.language.making import MakingReader
from plaudit.language.syntax import FOREIGN
from plaudit.language.values import Constant, Value
from plaudit.language.vectors import BATCH


class Spelling(NamedTuple):
    """How a function is called, and what it means."""

    signature: str
    """Its parameters: `x low?|min` has one that is needed, and one that may be left out and has two names."""
    function: Callable[..., Value]


X = "x|a|input|arr|object|data|tensors|arrays"
X_Y = f"{X} y|other|x2|b|exponent"
ALONG = "axis?|dim|axis keepdims?|keepdim|keepdims"
READ = MakingReader


def _list_entrywise() -> dict[str, Spelling]:
    """Return the functions of one or two numbers that the language has."""
    found = {}
    for kind in (*n.FUNCTIONS, n.IsInf):
        name = n.split_function(kind)[1]
        operands = X_Y if len(n.operand_names(kind)) == 2 else X
        for spelling in (name, *SYNONYMS.get(name, ())):
            found[spelling] = Spelling(operands, partial(_call_node, kind))
    return found


def _call_node(kind: type[n.Node], reader: MakingReader, node: ast.AST, **operands: Value) -> Value:
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

LISTED = "docs/language.md lists the functions that are. Write it with those, or compute it before scoring."
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

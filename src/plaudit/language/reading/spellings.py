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
from plaudit.language.reading.advice import FOREIGN
from plaudit.language.reading.arrays import (
    add_axis,
    change_shape,
    concatenate,
    copy_array,
    count_entries,
    count_up,
    differ,
    drop_axis,
    fill,
    fill_like,
    fill_shape,
    fill_with,
    find_sizes_of,
    flatten,
    hand_back,
    make_array,
    make_list,
    stack,
    turn,
)
from plaudit.language.reading.entrywise import (
    apply_comparison,
    apply_logic,
    apply_operator,
    cast_numbers,
    choose,
    clip,
    extreme,
    hyperbolic,
    interpolate,
    is_close,
    is_finite,
    is_nan,
    is_near,
    logarithm,
    logical_not,
    map_node,
    negative,
    reciprocal,
    scale,
    select,
    sigmoid,
    softplus,
    square_entries,
    tangent,
    truncate,
)
from plaudit.language.reading.reductions import (
    add_up,
    all_close,
    average,
    count_nonzero,
    cross,
    deviation,
    distance,
    dot,
    find_extreme,
    inner,
    loss,
    norm,
    normalise,
    reduce_by,
    reduce_flags,
    reduce_method,
    reduce_torch,
    similarity,
    smooth_loss,
    softmax,
    variance,
)
from plaudit.language.reading.values import Constant, Value
from plaudit.language.reading.vectors import BATCH


class Spelling(NamedTuple):
    """How a function is called, and what it means."""

    signature: str
    """Its parameters: `x low?|min eps?=1e-8` has one that is needed, one that may be left out and has two names, and
    one with a default."""
    function: Callable[..., Value]


X = "x|a|input|arr|object|data|tensors|arrays"
X_Y = f"{X} y|other|x2|b|exponent"
ALONG = "axis?|dim|axis keepdims?|keepdim|keepdims"


def _list_entrywise() -> dict[str, Spelling]:
    """Return the functions of one or two numbers that the language has."""
    found = {}
    for kind in (*n.FUNCTIONS, n.IsInf):
        name = n.split_function(kind)[1]
        operands = X_Y if len(n.operand_names(kind)) == 2 else X
        for spelling in (name, *SYNONYMS.get(name, ())):
            found[spelling] = Spelling(operands, _call(map_node, kind))
    return found


def _call(function: Callable[..., Value], *first: object) -> Callable[..., Value]:
    """Return a function with the arguments given that stand before the place of the call."""
    return lambda context, node, **arguments: function(context, *first, node, **arguments)


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
    **{name: Spelling(X_Y, _call(apply_operator, op)) for name, op in OPERATORS.items()},
    **{name: Spelling(X_Y, _call(apply_comparison, op)) for name, op in COMPARED.items()},
    **{name: Spelling(X_Y, _call(apply_logic, op)) for name, op in LOGIC.items()},
    "logical_not": Spelling(X, logical_not),
    "negative": Spelling(X, negative),
    "neg": Spelling(X, negative),
    "square": Spelling(X, square_entries),
    **dict.fromkeys(("deg2rad", "radians"), Spelling(X, _call(scale, pi / 180.0))),
    **dict.fromkeys(("rad2deg", "degrees"), Spelling(X, _call(scale, 180.0 / pi))),
    "where": Spelling("condition x|input y|other", choose),
    **dict.fromkeys(("clip", "clamp"), Spelling(f"{X} low?|a_min|min high?|a_max|max", clip)),
    **dict.fromkeys(("minimum", "fmin"), Spelling(X_Y, _call(extreme, n.Min))),
    **dict.fromkeys(("maximum", "fmax"), Spelling(X_Y, _call(extreme, n.Max))),
    "relu": Spelling(X, partial(_call(extreme, n.Max), y=Constant(0.0))),
    **dict.fromkeys(("sigmoid", "expit"), Spelling(X, sigmoid)),
    "sum": Spelling(f"{X} {ALONG} dtype?", _call(reduce_by, n.Add)),
    "prod": Spelling(f"{X} {ALONG} dtype?", _call(reduce_by, n.Mul)),
    "mean": Spelling(f"{X} {ALONG} dtype?", average),
    "min": Spelling(f"{X} axis? keepdims?", _call(reduce_by, n.Min)),
    "max": Spelling(f"{X} axis? keepdims?", _call(reduce_by, n.Max)),
    ".min": Spelling(f"{X} axis? keepdims?|keepdim|keepdims dim?", _call(reduce_method, n.Min)),
    ".max": Spelling(f"{X} axis? keepdims?|keepdim|keepdims dim?", _call(reduce_method, n.Max)),
    "amin": Spelling(f"{X} {ALONG}", _call(reduce_by, n.Min)),
    "amax": Spelling(f"{X} {ALONG}", _call(reduce_by, n.Max)),
    "torch.min": Spelling(f"{X} y?|other {ALONG}", _call(reduce_torch, n.Min)),
    "torch.max": Spelling(f"{X} y?|other {ALONG}", _call(reduce_torch, n.Max)),
    "argmin": Spelling(f"{X} {ALONG}", _call(find_extreme, n.Min)),
    "argmax": Spelling(f"{X} {ALONG}", _call(find_extreme, n.Max)),
    "count_nonzero": Spelling(f"{X} {ALONG}", count_nonzero),
    "std": Spelling(f"{X} {ALONG} ddof?", _call(deviation, 0)),
    "var": Spelling(f"{X} {ALONG} ddof?", _call(variance, 0)),
    "torch.std": Spelling(f"{X} {ALONG} ddof?|unbiased|correction", _call(deviation, 1)),
    "torch.var": Spelling(f"{X} {ALONG} ddof?|unbiased|correction", _call(variance, 1)),
    "cumsum": Spelling(f"{X} axis?|dim|axis", add_up),
    "isfinite": Spelling(X, is_finite),
    "isnan": Spelling(X, is_nan),
    "isclose": Spelling(f"{X_Y} rtol?=1e-5 atol?=1e-8", is_close),
    "allclose": Spelling(f"{X_Y} rtol?=1e-5 atol?=1e-8", all_close),
    "nan_to_num": Spelling(f"{X} nan? posinf? neginf?", hand_back),
    "log2": Spelling(X, _call(logarithm, 2.0)),
    "log10": Spelling(X, _call(logarithm, 10.0)),
    "tan": Spelling(X, tangent),
    "sinh": Spelling(X, _call(hyperbolic, ast.Sub())),
    "cosh": Spelling(X, _call(hyperbolic, ast.Add())),
    "reciprocal": Spelling(X, reciprocal),
    "softplus": Spelling(X, softplus),
    "softmax": Spelling(f"{X} axis?|dim|axis", softmax),
    **dict.fromkeys(("trunc", "fix"), Spelling(X, truncate)),
    "select": Spelling("conditions|condlist choices|choicelist default?=0", select),
    "interp": Spelling("x xp fp", interpolate),
    "mse_loss": Spelling("x|input y|target reduction?", _call(loss, True)),
    "l1_loss": Spelling("x|input y|target reduction?", _call(loss, False)),
    "smooth_l1_loss": Spelling("x|input y|target reduction? beta?=1", smooth_loss),
    "cosine_similarity": Spelling("x|x1 y|x2 axis|dim?=-1 eps?=1e-8", similarity),
    "normalize": Spelling("x|input p? axis|dim?=-1 eps?=1e-12", normalise),
    **dict.fromkeys(("unsqueeze", "expand_dims"), Spelling(f"{X} axis|dim", add_axis)),
    "squeeze": Spelling(f"{X} axis?|dim|axis", drop_axis),
    "any": Spelling(f"{X} {ALONG}", _call(reduce_flags, False)),
    "all": Spelling(f"{X} {ALONG}", _call(reduce_flags, True)),
    **dict.fromkeys(("norm", "vector_norm"), Spelling(f"{X} order?|p|ord {ALONG}", norm)),
    **dict.fromkeys(("dot", "matmul", "mv", "mm"), Spelling(X_Y, dot)),
    **dict.fromkeys(("inner", "vdot"), Spelling(X_Y, inner)),
    "cross": Spelling(f"{X_Y} axis?|dim|axis", cross),
    "diff": Spelling(X, differ),
    **dict.fromkeys(("asarray", "as_tensor", "Tensor", "FloatTensor"), Spelling(f"{X} dtype?", make_array)),
    **dict.fromkeys(("array", "tensor"), Spelling(f"{X} dtype?", copy_array)),
    **dict.fromkeys(("concatenate", "cat", "concat"), Spelling(f"{X} axis?|dim|axis", concatenate)),
    "hstack": Spelling(X, concatenate),
    "vstack": Spelling(X, stack),
    "stack": Spelling(f"{X} axis?|dim|axis", stack),
    "zeros": Spelling("*shape dtype?", _call(fill, 0.0)),
    "ones": Spelling("*shape dtype?", _call(fill, 1.0)),
    "full": Spelling("shape|size value|fill_value dtype?", fill_with),
    "zeros_like": Spelling(f"{X} dtype?", _call(fill_like, 0.0)),
    "ones_like": Spelling(f"{X} dtype?", _call(fill_like, 1.0)),
    "full_like": Spelling(f"{X} fill_value dtype?", fill_shape),
    "arange": Spelling("*numbers dtype?", count_up),
    **dict.fromkeys(("reshape", "view"), Spelling(f"{X} *shape", change_shape)),
    **dict.fromkeys(("ravel", "flatten"), Spelling(X, flatten)),
    **dict.fromkeys(("transpose", "t"), Spelling(X, turn)),
    "shape": Spelling(X, find_sizes_of),
    "size": Spelling(X, count_entries),
    ".size": Spelling(f"{X} axis?|dim|axis", find_sizes_of),
    **dict.fromkeys(("float", "double", "float32", "float64"), Spelling(X, cast_numbers)),
    **dict.fromkeys(("astype", "to", "type"), Spelling(f"{X} dtype", cast_numbers)),
    **dict.fromkeys(("copy", "clone"), Spelling(X, copy_array)),
    **dict.fromkeys(("detach", "contiguous", "item", "cpu", "cuda", "numpy"), Spelling(X, hand_back)),
    "tolist": Spelling(X, make_list),
    "math.tan": Spelling("x", tangent),
    "math.sinh": Spelling("x", _call(hyperbolic, ast.Sub())),
    "math.cosh": Spelling("x", _call(hyperbolic, ast.Add())),
    "math.log2": Spelling("x", _call(logarithm, 2.0)),
    "math.log10": Spelling("x", _call(logarithm, 10.0)),
    "math.degrees": Spelling("x", _call(scale, 180.0 / pi)),
    "math.radians": Spelling("x", _call(scale, pi / 180.0)),
    "math.isnan": Spelling("x", is_nan),
    "math.isfinite": Spelling("x", is_finite),
    "math.isclose": Spelling("x y rel_tol?=1e-9 abs_tol?=0", is_near),
    "math.trunc": Spelling("x", truncate),
    "math.dist": Spelling("x y", distance),
    "math.prod": Spelling("x", _call(reduce_by, n.Mul)),
    "math.fsum": Spelling("x", _call(reduce_by, n.Add)),
    **dict.fromkeys(("statistics.mean", "statistics.fmean"), Spelling("x", average)),
}
"""Every spelling by its name; where PyTorch, or a method, means something else, by `torch.` or `.` and its name."""

_FUNCTIONS_ONLY = {
    "where", "array", "asarray", "tensor", "as_tensor", "concatenate", "cat", "concat", "hstack", "stack", "zeros",
    "ones", "full", "zeros_like", "ones_like", "full_like", "arange", "shape", "float32", "float64", "Tensor", "std",
    "FloatTensor", "var", "vstack", "select", "interp", "mse_loss", "l1_loss", "smooth_l1_loss", "cosine_similarity",
    "normalize", "softplus",
}  # fmt: skip
METHODS = {name for name in SPELLINGS if "." not in name} - _FUNCTIONS_ONLY
"""The spellings that are methods of an array too."""

OF_VECTORS = ("math.dist", "math.prod", "math.fsum")
"""Functions of the math module that take vectors."""

FLOATS = ("float", "float32", "float64", "double", "single")
INTEGERS = ("bool", "bool_", "int", "int8", "int32", "int64", "long", "uint8")

LISTED = "docs/language.md lists the functions that are. Write it with those, or compute it before scoring."
_SPREAD = "NumPy and PyTorch divide by other counts. Write np.std(v), or torch.std(v)."
_SEARCH = "Compute it before scoring and pass it in as a field."
_NAN = "A NaN never reaches a term: write the function without `nan`, such as np.sum(v)."
_AXIS = f"{BATCH}: drop the call; shapes are brought together as in NumPy."
REFUSED: Mapping[str, str] = {
    **dict.fromkeys(("std", "var"), _SPREAD),
    **dict.fromkeys(("sort", "argsort", "median", "unique"), _SEARCH),
    **dict.fromkeys(("nansum", "nanmean", "nanmax", "nanmin"), _NAN),
    **dict.fromkeys(("expand", "repeat"), _AXIS),
    "einsum": "Write sums of products: np.dot(a, b), m @ v, or sum(a * b for a, b in zip(v, w)).",
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
    if module in ("math", "statistics"):
        return key if (key := f"{module}.{getattr(called, '__name__', '')}") in SPELLINGS else None
    name = (getattr(called, "__name__", "") or "").removeprefix("linalg_").removeprefix("special_")
    if module not in _MODULES and not module.startswith(("jax._src.numpy", "jax._src.nn")):
        return None
    return next((key for key in (f"{get_library(called)}.{name}", name) if key in SPELLINGS), None)

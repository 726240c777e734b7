"""What is known of the classes of values: `isinstance`, `np.isscalar`, `np.ndim`, `hasattr`, `callable`.

The caller of a term decides whether a number is an int or a float, and an array one of NumPy or of PyTorch. So only
questions are answered whose answer does not depend on that.
"""

import ast
import types
from collections.abc import Iterator, Mapping
from typing import Any

from plaudit.errors import ReadError
from plaudit.language import nodes as n
from plaudit.language.field import to_number
from plaudit.language.kinds import FLAG, NUMBER
from plaudit.language.reading.advice import CALLS, FOREIGN
from plaudit.language.reading.context import Context, spells
from plaudit.language.reading.expressions import fit
from plaudit.language.reading.inputs import refuse_record
from plaudit.language.reading.presence import is_own_method
from plaudit.language.reading.values import (
    Constant,
    Dictionary,
    Nested,
    Record,
    Ref,
    Value,
    Vector,
    describe,
    find_kind,
    find_open,
    format_path,
    is_array,
)
from plaudit.language.reading.vectors import find_shape


class _ArrayLike:
    """Has the methods of an array that classes of `collections.abc` ask for."""

    __hash__ = None  # type: ignore[assignment]

    def __len__(self) -> int:
        raise NotImplementedError

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError

    def __contains__(self, item: object) -> bool:
        raise NotImplementedError


_SAMPLES: dict[str, tuple[type, ...]] = {
    NUMBER: (int, float),
    FLAG: (bool,),
    "string": (str,),
    "array": (_ArrayLike,),
    "list": (list, tuple),
    "dict": (dict,),
}
"""What classes a value of each sort may have."""

_LIBRARY_CLASSES = {
    "array": ("ndarray", "Tensor", "Array", "ArrayImpl"),
    NUMBER: ("generic", "number", "inexact", "floating", "integer", "signedinteger", "float64", "float32", "int64"),
    FLAG: ("generic", "bool", "bool_"),
}
"""Classes of libraries: a number or bool of a row may be one of them, and an array is one of its library's."""

_EXACT = {int, float, bool, str, list, tuple, set, frozenset}
"""Classes of Python that a value may have itself."""

_ABSTRACT = ("Array", "generic", "number", "inexact", "floating", "integer", "signedinteger")
"""Classes of libraries that nothing is of itself."""


def read_isinstance(context: Context, node: ast.Call) -> Value:
    """Return `isinstance(value, classes)`, where the answer is the same for every row."""
    value = context.read(node.args[0])
    classes = list(_list_classes(context, node.args[1]))
    if (unknown := find_open(value)) is not None:
        return unknown
    return _find_class(context, value, classes, ast.unparse(node.args[1]), node)


def read_class_test(context: Context, node: ast.Compare) -> Value | None:
    """Return `type(value) is kind`, or `in (list, tuple)`, as `isinstance` is; None for any other comparison."""
    (op, right), left = (node.ops[0], node.comparators[0]), node.left
    if _is_type_call(context, right) and isinstance(op, ast.Is | ast.IsNot | ast.Eq | ast.NotEq):
        left, right = right, left
    if not _is_type_call(context, left) or isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE):
        return None
    assert isinstance(left, ast.Call)
    value = context.read(left.args[0])
    listed = ast.copy_location(ast.Tuple(right.elts, ast.Load()), right) if isinstance(right, ast.List) else right
    classes = [kind for kind in _list_classes(context, listed) if _may_be_exactly(context, value, kind, node)]
    if (unknown := find_open(value)) is not None:
        return unknown
    found = _find_class(context, value, classes, ast.unparse(right), node) if classes else Constant(False)
    return Constant((found == Constant(True)) is isinstance(op, ast.Is | ast.Eq | ast.In))


def _is_type_call(context: Context, node: ast.expr) -> bool:
    """Return whether an expression is `type(value)`."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or len(node.args) != 1 or node.keywords:
        return False
    return context.read(node.func) == Constant(type)


def _may_be_exactly(context: Context, value: Value, kind: type, node: ast.AST) -> bool:
    """Return whether a value may be of a class itself, and not only of one that derives from it."""
    if isinstance(value, Record):
        owner = context.owner if value.path == (context.receiver,) else None
        if owner is None or (owner.receiver is None and owner.kind.__subclasses__()):
            raise _make_unknown(context, value, kind.__name__, node)
        return owner.kind is kind
    if isinstance(value, Constant) and to_number(value.value) is None and type(value.value) is not tuple:
        return type(value.value) is kind
    if isinstance(value, Dictionary) and issubclass(kind, Mapping):
        raise _make_undecided(context, value, kind.__name__, node)
    return kind in _EXACT or (_is_of_library(kind) and kind.__name__ not in _ABSTRACT)


def _find_class(context: Context, value: Value, classes: list[type], shown: str, node: ast.AST) -> Value:
    """Return whether a value is of one of some classes, where the answer is the same for every row."""
    if isinstance(value, Record):
        return _find_class_of_record(context, value, classes, shown, node)
    answers = {_is_instance(context, value, each) for each in classes}
    if True in answers:
        _remember_libraries(context, value, classes, shown, node)
        return Constant(True)
    partial = {sample for each in classes for sample in _find_samples(value, each)}
    if partial and partial == set(_SAMPLES.get(_find_sort(value), ())):
        return Constant(True)  # `(int, float)`
    if None not in answers:
        return Constant(False)
    raise _make_undecided(context, value, shown, node)


def _make_undecided(context: Context, value: Value, kind: str, node: ast.AST) -> ReadError:
    """Return the error that says that callers get other answers; a choice that makes no difference may go on."""
    shown = f"whether {describe(value)} is an instance of {kind} depends on who calls"
    error = context.error(node, f"{shown}.", CALLS["isinstance"])
    context.undecided.append(error)
    return error


def _remember_libraries(context: Context, value: Value, classes: list[type], shown: str, node: ast.AST) -> None:
    """Refuse the second library whose array a value is said to be, where no caller passes arrays of both."""
    libraries = {each.__module__.partition(".")[0].removesuffix("lib") for each in classes if _is_of_library(each)}
    if _find_sort(value) != "array" or len(libraries) != 1:
        return
    if context.libraries - libraries:
        raise _make_undecided(context, value, shown, node)
    context.libraries |= libraries


def _find_class_of_record(context: Context, value: Record, classes: list[type], shown: str, node: ast.AST) -> Value:
    """Return True where the `self` of a method is an object of its class; no class is known of other records."""
    own = context.owner is not None and value.path == (context.receiver,)
    if own and context.owner is not None and any(issubclass(context.owner.kind, each) for each in classes):
        return Constant(True)
    raise _make_unknown(context, value, shown, node)


def _make_unknown(context: Context, value: Record, shown: str, node: ast.AST) -> ReadError:
    """Return the error that says that nothing is known of the class of a record."""
    what = f"whether `{format_path(value.path)}` is an instance of {shown} is not known."
    return context.error(node, what, "Drop the test, or make it a flag: declare Field(..., flag=True) and test that.")


def _list_classes(context: Context, node: ast.expr) -> Iterator[type]:
    """Yield the classes that a value is compared with: one, a tuple of them, or `int | float`."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        yield from _list_classes(context, node.left)
        yield from _list_classes(context, node.right)
        return
    known = context.read(node)
    waiting: list[Any] = [known.value if isinstance(known, Constant) else None]
    while waiting:
        each = waiting.pop()
        if isinstance(each, tuple):
            waiting += each
        elif isinstance(each, types.UnionType):
            waiting += each.__args__
        elif isinstance(each, type):
            yield each
        else:
            raise context.error(node, "isinstance takes classes.", "Write isinstance(x, (int, float)).")


def _is_instance(context: Context, value: Value, kind: type) -> bool | None:
    """Return whether a value is of a class; None where that depends on who calls."""
    sort = _find_sort(value)
    if sort == "other":
        known = value.value if isinstance(value, Constant) else None
        return isinstance(known, kind) if isinstance(value, Constant | Nested) else None
    if _is_of_library(kind):
        of_arrays = kind.__name__ in _LIBRARY_CLASSES["array"]
        if sort == "array" or not of_arrays:
            return of_arrays or _may_be_of_library(sort, kind)
        return None if _may_be_array(context, value, kind.__name__) else False
    if isinstance(value, Constant):
        return None if issubclass(kind, set | frozenset) else isinstance(value.value, kind)  # a set is kept as a tuple
    found = _find_samples(value, kind)
    return False if not found else True if found == set(_SAMPLES[sort]) else None


def _may_be_of_library(sort: str, kind: type) -> bool | None:
    return None if kind.__name__ in _LIBRARY_CLASSES.get(sort, ()) else False


def _may_be_array(context: Context, value: Value, kind: str) -> bool:
    """Return whether a number may be an array without an axis: PyTorch and JAX compute such, and `np.where` does."""
    node = context.builder.nodes[value.at] if isinstance(value, Ref) else None
    if node is None or isinstance(node, n.Param) or (isinstance(node, n.Input) and "[" not in node.name):
        return False
    return kind != "ndarray" or isinstance(node, n.Select)


def _find_samples(value: Value, kind: type) -> set[type]:
    """Return the classes that a value may have and that are classes of a kind."""
    return {each for each in _SAMPLES.get(_find_sort(value), ()) if issubclass(each, kind)}


def _is_of_library(kind: type) -> bool:
    return kind.__module__.partition(".")[0] in (*FOREIGN, "jaxlib")


def _find_sort(value: Value) -> str:
    """Return which of the samples stands for the classes that a value may have; "other" where none does."""
    if is_array(value):
        return "array"
    if isinstance(value, Dictionary):
        return "dict"
    if isinstance(value, Vector) or (isinstance(value, Constant) and isinstance(value.value, tuple)):
        return "list"
    kind = find_kind(value)
    return "string" if kind.startswith("category") else kind


_CONVERSIONS = ("as_tensor", "from_numpy", "is_tensor", "tensor", "asarray", "array")
"""Functions that are called with arrays of another library too."""

_TENSOR_METHODS = {"chunk", "clamp", "expand", "expand_as", "masked_fill", "permute", "tile", "unbind", "unsqueeze"}
"""Methods that arrays of PyTorch alone have."""


def is_written_for(context: Context, library: str) -> bool:
    """Return whether a function is known to be for arrays of one library: it computes with that one, and no other."""
    return {library} == (context.libraries or set(_list_libraries(context)))


def _list_libraries(context: Context) -> Iterator[str]:
    """Yield the libraries of arrays that a function computes with, or names the classes of."""
    for node in ast.walk(context.source.tree):
        if isinstance(node, ast.Attribute) and node.attr in _TENSOR_METHODS:
            yield "torch"
        if isinstance(node, ast.Attribute | ast.Name) and (known := _find_named(context, node)) is not None:
            library = str(getattr(known, "__module__", "") or type(known).__module__).partition(".")[0]
            if library.removesuffix("lib") in FOREIGN and getattr(known, "__name__", "") not in _CONVERSIONS:
                yield library.removesuffix("lib")


def _find_named(context: Context, node: ast.expr) -> object:
    """Return the function or class that a name stands for, such as `torch.sum`; None for anything else."""
    if isinstance(node, ast.Attribute):
        return getattr(_find_named(context, node.value), node.attr, None)
    try:
        return context.find(node.id) if isinstance(node, ast.Name) else None
    except KeyError:
        return None


@spells("isscalar")
def _is_scalar(context: Context, node: ast.AST, x: Value) -> Value:
    """Return `np.isscalar`: whether a value is a number, a bool or a string, and no array."""
    refuse_record(context, x, node)
    return Constant(_find_sort(x) in (NUMBER, FLAG, "string"))


@spells(".dim ndim")
def _count_axes(context: Context, node: ast.AST, x: Value) -> Value:
    return Constant(len(fit(context, find_shape, x, node=node)))


@spells("is_tensor")
def _is_tensor(context: Context, node: ast.AST, x: Value) -> Value:
    refuse_record(context, x, node)
    if not is_array(x) and _may_be_array(context, x, "Tensor"):
        raise _make_undecided(context, x, "torch.Tensor", node)
    return Constant(is_array(x))


def is_callable(context: Context, node: ast.expr) -> Value:
    """Return `callable(value)`: what is computed from a row never is, and a method of the class always."""
    value = context.read(node)
    if (unknown := find_open(value)) is not None:
        return unknown
    base = context.read(node.value) if isinstance(node, ast.Attribute) else value
    named = Record((*base.path, node.attr)) if isinstance(node, ast.Attribute) and isinstance(base, Record) else value
    if isinstance(value, Record) and is_own_method(context, value):
        return Constant(True)
    if isinstance(value, Record) or is_own_method(context, named):
        what = f"whether `{ast.unparse(node)}` can be called is not known."
        raise context.error(
            node, what, "Drop the test, or make it a flag: declare Field(..., flag=True) and test that."
        )
    known = value.value if isinstance(value, Constant) and to_number(value.value) is None else None
    return Constant(isinstance(value, Nested) or callable(known))

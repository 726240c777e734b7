"""Parts of a state as pytrees of arrays: made from plain numbers, validated, registered with JAX, and packed."""

import dataclasses
from typing import TYPE_CHECKING, Any, Self, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from plaudit.errors import OutOfRange, ShapeMismatch, WrongType

Array = jax.Array
T = TypeVar("T", bound="StatePart")

if TYPE_CHECKING:

    class ArrayField:
        """An array, which may be given as a number or a list."""

        def __get__(self, instance: object, owner: Any) -> Array: ...
        def __set__(self, instance: object, value: Array | int | list[Any] | np.ndarray[Any, Any]) -> None: ...

else:
    ArrayField = Array


def array_field(
    default: int | bool | None,
    dtype: Any,
    shape: tuple[int, ...] = (),
    *,
    bits: int = 0,
    low: int | None = None,
    high: int | None = None,
) -> Any:
    """Return a field that holds an array of numbers from `low` to `high`: what is given is converted.

    A field that has `bits` can be packed: its numbers fit in as many. Of arrays of JAX, only numbers with a `high` of
    their own are checked, where their values are known.
    """
    kind = np.dtype(dtype)
    narrow = high is not None and not shape
    if low is None:
        low = 0 if bits or high is not None or kind.kind == "b" else int(np.iinfo(kind).min)
    if high is None:
        high = 1 if kind.kind == "b" else low + 2**bits - 1 if bits else int(np.iinfo(kind).max)
    metadata = {"dtype": kind, "shape": shape, "bits": bits, "low": low, "high": high, "narrow": narrow}
    return dataclasses.field(default=default, metadata=metadata)


class StatePart:
    """A part of the state. Plain numbers and lists become arrays; arrays of whole batches are kept as they are."""

    def __post_init__(self) -> None:
        for each in dataclasses.fields(self):  # type: ignore[arg-type]
            if "dtype" in each.metadata:
                value = _convert(f"{type(self).__name__}({each.name}=…)", each.metadata, getattr(self, each.name))
                object.__setattr__(self, each.name, value)

    def replace(self, **changes: Any) -> Self:
        """Return a copy in which some fields have other values."""
        return dataclasses.replace(self, **changes)  # type: ignore[type-var]

    def __repr__(self) -> str:
        values = ((each.name, getattr(self, each.name)) for each in dataclasses.fields(self))  # type: ignore[arg-type]
        return f"{type(self).__name__}({', '.join(f'{name}={_format_value(value)}' for name, value in values)})"


def _convert(where: str, about: Any, value: Any) -> Any:
    """Return what was given as an array of the dtype that a field has; an error where it cannot be one."""
    dtype, shape = about["dtype"], about["shape"]
    if isinstance(value, jax.Array):
        if about["narrow"] and is_known(value) and jnp.issubdtype(value.dtype, jnp.integer):
            _check_range(where, about, np.asarray(value))
        if value.dtype == dtype and not value.weak_type and value.shape[value.ndim - len(shape) :] == shape:
            return value  # as it is in nearly all of the copies that a step is traced through
        given: Any = value
    elif value is None or isinstance(value, str):
        raise WrongType(f"{where} must be integers, not {value!r}.")
    else:
        given = np.asarray(value)
    if not (jnp.issubdtype(given.dtype, jnp.integer) or given.dtype == bool):
        raise WrongType(f"{where} must be integers, not {given.dtype}.")
    if given.shape[given.ndim - len(shape) :] != shape and given.shape != ():
        raise ShapeMismatch(f"{where} must have shape {shape}, not {given.shape}.")
    if isinstance(given, jax.Array):
        return jnp.broadcast_to(given, given.shape or shape).astype(dtype)
    _check_range(where, about, given)
    return jnp.asarray(np.broadcast_to(given, given.shape or shape).astype(dtype))


def _check_range(where: str, about: Any, given: Any) -> None:
    low, high = about["low"], about["high"]
    if given.size and not low <= given.min() <= given.max() <= high:
        least, most = given.min(), given.max()
        told = f"{least}" if least == most else f"{least} to {most}"
        raise OutOfRange(f"{where} must be from {low} to {high}, not {told}.")


def is_known(value: Any) -> bool:
    """Return whether an array has values already, and not only once a function is compiled."""
    return not isinstance(value, jax.core.Tracer)


def _format_value(value: Any) -> str:
    if isinstance(value, jax.Array) and value.shape == () and is_known(value):
        return str(value)
    return f"{type(value).__name__}(…)" if isinstance(value, StatePart) else "…"


def register_pytree(kind: type[T]) -> type[T]:
    """Let JAX take instances of a dataclass apart, and put others together from whatever it has instead of arrays."""
    names = tuple(each.name for each in dataclasses.fields(kind))  # type: ignore[arg-type]
    keys = tuple(jax.tree_util.GetAttrKey(name) for name in names)

    def flatten_with_keys(tree: T) -> tuple[list[tuple[Any, Any]], None]:
        return [(key, getattr(tree, name)) for key, name in zip(keys, names, strict=True)], None

    def flatten(tree: T) -> tuple[list[Any], None]:
        return [getattr(tree, name) for name in names], None

    def unflatten(_: None, children: Any) -> T:
        made = object.__new__(kind)
        for name, child in zip(names, children, strict=True):
            object.__setattr__(made, name, child)
        return made

    jax.tree_util.register_pytree_with_keys(kind, flatten_with_keys, unflatten, flatten)
    return kind


def pack_fields(tree: StatePart) -> Array:
    """Return all arrays of a part of the state that have bits as one of words, an entry's numbers side by side."""
    word: Array = jnp.uint32(0)
    shift = 0
    for each in dataclasses.fields(tree):  # type: ignore[arg-type]
        if bits := each.metadata["bits"]:
            number = (getattr(tree, each.name).astype(jnp.int32) - each.metadata["low"]) & ((1 << bits) - 1)
            word, shift = word | number.astype(jnp.uint32) << shift, shift + bits
    return word


def unpack_fields(kind: type[T], words: Array, **others: Any) -> T:
    """Return a part of the state from its words, and what has no bits."""
    numbers, shift = {}, 0
    for each in dataclasses.fields(kind):  # type: ignore[arg-type]
        if bits := each.metadata["bits"]:
            number = (words >> shift & ((1 << bits) - 1)).astype(jnp.int32) + each.metadata["low"]
            numbers[each.name], shift = number.astype(each.metadata["dtype"]), shift + bits
    return kind(**numbers, **others)

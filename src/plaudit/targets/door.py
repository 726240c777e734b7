"""Where Python values come in: each is turned into what its field holds, or refused by name."""

import numbers
from collections.abc import Callable, Mapping
from typing import Any

from plaudit.errors import MissingField, OutOfRange, UnknownInput, WrongType, did_you_mean
from plaudit.language.field import LARGEST_WHOLE, Field
from plaudit.targets.refuse import range_error


def converter(reward: str, name: str, field: Field) -> Callable[[Any], Any]:
    """Return the function that turns a Python value into a float, a flag, or the position of a category."""
    convert = {"number": _number, "flag": _flag, "category": _category}[field.kind]

    def converted(value: Any) -> Any:
        if value is None:
            if field.missing is None:
                raise none_given(reward, name)
            value = field.missing
        if type(value).__name__ == "MaskedConstant":
            raise none_given(reward, name)
        if hasattr(value, "dtype") and getattr(value, "ndim", None) == 0:
            if getattr(value.dtype, "kind", "") in "mM":
                raise _wrong(reward, name, value, "a number")
            value = value.item()  # a 0-d array or tensor
        return convert(reward, name, field, value)

    return converted


def _number(reward: str, name: str, field: Field, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise _wrong(reward, name, value, "a number")
    if isinstance(value, numbers.Integral) and abs(int(value)) > LARGEST_WHOLE:
        shown = value if abs(int(value)) < 10**40 else f"a whole number of {int(value).bit_length()} bits"
        raise OutOfRange(
            f"reward {reward!r}, field {name!r}: {shown} is beyond 2**53, so a float cannot hold it exactly."
        )
    try:
        return float(value)
    except OverflowError:
        raise OutOfRange(f"reward {reward!r}, field {name!r}: the number is larger than every float.") from None


def _flag(reward: str, name: str, field: Field, value: Any) -> bool:
    if isinstance(value, numbers.Real) and value in (0, 1):
        return bool(value)
    raise _wrong(reward, name, value, "a flag (True, False, 1 or 0)")


def _category(reward: str, name: str, field: Field, value: Any) -> float:
    if not isinstance(value, str):
        raise _wrong(reward, name, value, f"a text, one of {', '.join(field.labels)}")
    if value in field.labels:
        return float(field.labels.index(value))
    if field.other is not None:
        return float(field.labels.index(field.other))
    raise range_error(reward, name, field, value)


def none_given(reward: str, name: str) -> MissingField:
    """Return the error for a value that is None where nothing stands in for it."""
    advice = "Give a value, or declare the field with missing=."
    return MissingField(f"reward {reward!r}, field {name!r}: a value is None. {advice}")


def _wrong(reward: str, name: str, value: Any, wanted: str) -> WrongType:
    shown = repr(value) if len(repr(value)) <= 40 else f"{repr(value)[:40]}…"
    hint = " Score many rows at once with reward.compile('numpy')." if getattr(value, "ndim", 0) else ""
    return WrongType(
        f"reward {reward!r}, field {name!r}: {shown} is a {type(value).__name__}; {wanted} is needed.{hint}"
    )


def unknown_input(reward: str, name: object, known: Mapping[str, Any] | set[str]) -> UnknownInput:
    """Return the error for an input that the reward does not read."""
    near = did_you_mean(str(name), known)
    return UnknownInput(f"reward {reward!r} does not read {name!r}.{near}\nIt reads: {', '.join(sorted(known))}.")


def missing_input(reward: str, name: str, given: Mapping[str, Any]) -> MissingField:
    """Return the error for an input that was not given."""
    near = did_you_mean(name, map(str, given))
    names = ", ".join(map(str, given)) or "nothing"
    return MissingField(f"reward {reward!r} needs {name!r}, which was not given.{near}\nGiven: {names}.")


def encode_category(reward: str, name: str, field: Field, texts: Any) -> Any:
    """Return the positions of an array of category texts, as small integers."""
    import numpy as np

    column = np.asarray(texts)
    if column.dtype.kind in "iu":
        return column
    flat = column.reshape(-1)
    absent = np.array([text is None for text in flat]) if column.dtype.kind == "O" else np.zeros(flat.shape, bool)
    if absent.any():
        if field.missing is None:
            raise none_given(reward, name)
        flat = np.where(absent, field.missing, flat)
    for entry in flat if column.dtype.kind != "U" else ():
        if not isinstance(entry, str):
            raise _wrong(reward, name, entry, "a text")
    found, inverse = np.unique(flat.astype(str), return_inverse=True)
    positions = [_category(reward, name, field, str(text)) for text in found]
    return np.asarray(positions, dtype=np.int32)[inverse].reshape(column.shape)

"""One row as JSON text and back: what is read again is what was written, and what cannot be trusted is refused."""

import json
import math
from collections.abc import Mapping
from typing import Any, NoReturn

from plaudit.errors import InputError, NotFinite, WrongType, shorten
from plaudit.language.codec import build_object

_DEEPEST = 200
"""How deeply a value may be nested: far less than readers of JSON bear, whatever calls them."""

LONGEST_LINE = 64 << 20
"""Bytes of a line at most: what is longer is no row, and would be held in memory to the end of the file."""


def encode(row: Mapping[str, Any]) -> str:
    r"""Return `row` as one line of JSON without its newline; InputError where reading it again would give another row.

    >>> encode({"step": 2, "note": "a\nb\0"})
    '{"step": 2, "note": "a\\nb\\u0000"}'
    """
    if not isinstance(row, Mapping):
        raise WrongType(f"a JSON line is an object, and this is a {type(row).__name__}: give a mapping.")
    text = _dump(row, "the row", (", ", ": "))
    if len(text) >= LONGEST_LINE:
        raise InputError(f"the row is longer than {LONGEST_LINE >> 20} MiB, which nobody would read again.")
    return text


def encode_compact(value: Any, what: str) -> str:
    """Return any value as JSON without spaces; InputError, which calls it `what`, where JSON cannot hold it.

    >>> encode_compact({"arm": 2, "features": [0.5, 1.0]}, "context")
    '{"arm":2,"features":[0.5,1.0]}'
    """
    text = _dump(value, what, (",", ":"))
    if len(text) > LONGEST_LINE // 2:  # a record with it must fit into a line of an export
        raise InputError(f"{what} is longer than {LONGEST_LINE >> 21} MiB as JSON; keep it in a file, and name that.")
    if "\\ud" in text:
        try:
            json.dumps(json.loads(text), ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise InputError(f"{what} holds half a character (a lone surrogate), which PostgreSQL refuses.") from None
    return text


def _dump(value: Any, what: str, separators: tuple[str, str]) -> str:
    plain = _to_plain(value, what)
    try:
        text = json.dumps(plain, allow_nan=False, separators=separators)
    except ValueError as error:
        raise InputError(f"{what} has no JSON form: {error}.") from None  # a number of very many digits
    if "\\ud" in text and json.loads(text) != plain:
        raise InputError(f"{what} holds two halves of a character (surrogates) side by side, which JSON would join.")
    return text


def _to_plain(value: Any, where: str, depth: int = 0) -> Any:
    """Return a value of which JSON has every part; an InputError says which part it has not."""
    if depth > _DEEPEST:
        raise InputError(f"{where:.40}… is nested too deeply: more than {_DEEPEST} levels, or it holds itself.")
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise NotFinite(f"{where} is {value}, which JSON cannot hold; write it as a string or leave it out.")
        return value
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise WrongType(f"{where} has the key {shorten(key)}; the keys of JSON are strings.")
        return {key: _to_plain(part, f"{where:.200}[{shorten(key)}]", depth + 1) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_to_plain(part, f"{where:.200}[{at}]", depth + 1) for at, part in enumerate(value)]
    if type(value).__module__ == "numpy" and getattr(value, "ndim", 1) == 0:
        return _to_plain(value.item(), where, depth + 1)
    hint = " Its tolist() has one." if hasattr(value, "tolist") else ""
    raise WrongType(f"{where} is a {type(value).__name__}, for which JSON has no form.{hint}")


def decode(text: str | bytes) -> dict[str, Any]:
    """Return the object that a line of JSON holds; ValueError where it holds none, or one that cannot be trusted.

    A key that is there twice, NaN, Infinity, numbers beyond a double and anything that is not an object are refused.
    """
    if isinstance(text, bytes):
        text = text.decode("utf-8")
    try:
        row = json.loads(
            text, object_pairs_hook=_build_unique, parse_constant=_refuse_constant, parse_float=_parse_finite
        )
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(row, dict):
        raise ValueError(f"it is no object but {text[:40]!r}")
    return row


def describe_problem(error: ValueError) -> str:
    """Return what `decode` found wrong with a line, in words."""
    if isinstance(error, json.JSONDecodeError):
        return f"this is not JSON ({error.msg} at character {error.pos + 1})"
    if isinstance(error, UnicodeDecodeError):
        return f"this is not UTF-8 (byte {error.start + 1})"
    return str(error)


def _build_unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return build_object(pairs, lambda key: ValueError(f"the key {key!r} is there twice"))


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a number")


def _parse_finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text[:40]} is beyond every double")
    return number

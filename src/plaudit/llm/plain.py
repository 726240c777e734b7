"""Plain data as JSON and back: what is recorded of samples and of features comes back as it was."""

import base64
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = ["NotPlain", "decode_plain", "encode_plain", "is_large"]

_SIMPLE = frozenset({str, int, float, bool, type(None)})
_LONGEST = 10_000
"""Bits of an integer at most: JSON has longer ones, and Python does not read them."""
_LARGE = 4096
"""Entries of an array that is recorded only if a feature reads it."""
_KINDS = "$tuple", "$set", "$bytes", "$array", "$mapping"
"""How JSON says what it has no word for: an object whose first name is one of these."""


class NotPlain(Exception):
    """Something that JSON cannot give back, such as an object of a trainer."""


def encode_plain(value: Any) -> Any:
    """Return plain data as JSON can represent it.

    Raises:
        NotPlain: It has an object in it that is not plain data.

    >>> encode_plain({"limits": (1, 2), "names": {3: "three"}})
    {'limits': {'$tuple': [1, 2]}, 'names': {'$mapping': [[3, 'three']]}}
    >>> decode_plain(encode_plain({"limits": (1, 2), "names": {3: "three"}}))
    {'limits': (1, 2), 'names': {3: 'three'}}
    """
    try:
        return _encode(value)
    except RecursionError:
        raise NotPlain("it is nested too deeply") from None


def _encode(value: Any) -> Any:
    kind = type(value)
    if kind in _SIMPLE and (kind is not int or value.bit_length() <= _LONGEST):
        return value
    if isinstance(value, np.generic):
        value = value.item()
        if type(value) in _SIMPLE:
            return value
    elif isinstance(value, list):
        return [_encode(each) for each in value]
    elif isinstance(value, Mapping):
        return _encode_mapping(value)
    elif kind is tuple:
        return {"$tuple": [_encode(each) for each in value]}
    elif kind in (set, frozenset):
        return {"$set": sorted(map(_encode, value), key=json.dumps), "frozen": kind is frozenset}
    elif kind is bytes:
        return {"$bytes": base64.b64encode(value).decode()}
    elif kind is np.ndarray and value.dtype.kind in "biufU":
        return {"$array": value.ravel().tolist(), "dtype": value.dtype.str, "shape": list(value.shape)}
    elif isinstance(value, str):  # of an enumeration, say
        return str.__str__(value)
    elif isinstance(value, float):
        return float.__float__(value)
    elif isinstance(value, int) and value.bit_length() <= _LONGEST:
        return int.__int__(value)
    raise NotPlain(f"it contains an object of type {kind.__name__!r}")


def _encode_mapping(value: Mapping[Any, Any]) -> dict[str, Any]:
    entries = [(name, _encode(each)) for name, each in value.items()]
    if all(type(name) is str for name, _ in entries) and next(iter(value), "") not in _KINDS:
        return dict(entries)
    return {"$mapping": [[_encode(name), each] for name, each in entries]}


def decode_plain(value: Any) -> Any:
    """Return what `encode_plain` was given."""
    if isinstance(value, list):
        return [decode_plain(each) for each in value]
    if not isinstance(value, dict):
        return value
    kind = next(iter(value), "")
    if kind not in _KINDS:
        return {name: decode_plain(each) for name, each in value.items()}
    said = value[kind]
    if kind == "$tuple":
        return tuple(map(decode_plain, said))
    if kind == "$set":
        return (frozenset if value["frozen"] else set)(map(decode_plain, said))
    if kind == "$bytes":
        return base64.b64decode(said)
    if kind == "$array":
        return np.array(said, dtype=value["dtype"]).reshape(value["shape"])
    return {decode_plain(name): decode_plain(each) for name, each in said}


def is_large(value: Any) -> bool:
    """Return whether it is an array too large to be recorded without need, such as an image."""
    return isinstance(value, np.ndarray) and value.size > _LARGE

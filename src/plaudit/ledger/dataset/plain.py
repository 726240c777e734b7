"""Between Arrow and NumPy, straight by their buffers: pyarrow's own way imports pandas where that is there."""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

_NAMES = {"halffloat": "float16", "float": "float32", "double": "float64"}


def plain(array: pa.Array) -> NDArray[Any]:
    """Return numbers or flags, none of which is NULL; numbers share the memory of the array.

    >>> plain(pa.array([1.5, 2.5])).tolist(), plain(pa.array([True, False, True])[1:]).tolist()
    ([1.5, 2.5], [False, True])
    """
    size, start = len(array), array.offset
    if pa.types.is_boolean(array.type):
        if not size:
            return np.zeros(0, bool)
        bits = np.frombuffer(array.buffers()[1], np.uint8)[start // 8 : (start + size + 7) // 8]
        flags = np.unpackbits(bits, bitorder="little")[start % 8 : start % 8 + size]
        return flags.view(np.bool_)
    kind = np.dtype(_NAMES.get(str(array.type), str(array.type)))
    buffer = array.buffers()[1]
    if not size or buffer is None:
        return np.zeros(size, kind)
    return np.frombuffer(buffer, kind, size, start * kind.itemsize)


def numbers(array: NDArray[np.float64], known: NDArray[np.bool_] | None = None) -> pa.Array:
    """Return numbers as an Arrow array that shares their memory; NULL where they are not `known`.

    >>> numbers(np.array([1.5, 2.5]), np.array([True, False])).to_pylist()
    [1.5, None]
    """
    valid = None if known is None else _bits(known)
    return pa.Array.from_buffers(pa.float64(), len(array), [valid, pa.py_buffer(np.ascontiguousarray(array))])


def flags(array: NDArray[np.bool_]) -> pa.Array:
    """Return flags as an Arrow array.

    >>> flags(np.array([True, False])).to_pylist()
    [True, False]
    """
    return pa.Array.from_buffers(pa.bool_(), len(array), [None, _bits(array)])


def _bits(array: NDArray[np.bool_]) -> pa.Buffer:
    return pa.py_buffer(np.packbits(array, bitorder="little"))

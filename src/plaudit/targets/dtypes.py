"""The dtype of a column: a number that equals a declared bound, as its dtype rounds it, counts as that bound.

float32 holds 0.4 as 0.4000000059604645. An action space from -0.4 to 0.4 gives that number, and no float64 range has
it. So a range is compared with its bounds rounded to the dtype of each column. Where the reward computes in a wider
dtype than the column has, such a number becomes the bound itself, so inputs stay within the ranges of a proof.
"""

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from plaudit.language.field import Field
from plaudit.language.program import Program
from plaudit.targets.compiled import FLOATS

if TYPE_CHECKING:  # the command line starts without NumPy
    import numpy as np
    from numpy.typing import NDArray

NARROW = ("float32", "bfloat16", "float16")
"""The dtypes of floats that hold fewer numbers than float64."""

_NARROW_CHARS = {"f": "float32", "e": "float16"}
"""What NumPy calls them in short: the long names take a microsecond to ask for."""

Dtypes = tuple[tuple[str, str], ...]
"""The columns of numbers that are narrower than float64, in the order of the reward's inputs, each with its dtype."""

Rounded = Mapping[float, float]
"""Declared numbers that a dtype does not hold, by the number that it rounds each to."""


def name_dtype(dtype: Any) -> str:
    """Return the name of a dtype of NumPy, JAX or PyTorch.

    >>> import numpy as np
    >>> name_dtype(np.dtype("<f4")), name_dtype(np.dtype(bool))
    ('float32', 'bool')
    """
    return str(getattr(dtype, "name", dtype)).removeprefix("torch.")


def round_array(numbers: "NDArray[np.float64]", dtype: str) -> "NDArray[np.float64]":
    """Return numbers as a dtype has them, as float64 of their own."""
    import numpy as np

    with np.errstate(over="ignore"):
        if dtype != "bfloat16":
            return numbers.astype(dtype).astype(np.float64)
        bits = numbers.astype(np.float32).view(np.uint32).astype(np.uint64)  # its upper half, as libraries round it
    upper = (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000
    return upper.astype(np.uint32).view(np.float32).astype(np.float64)


def round_to(number: float, dtype: str) -> float:
    """Return the number that a dtype has for `number`: the nearest, of two the even one; infinite beyond the largest.

    >>> round_to(0.4, "float32"), round_to(0.4, "float16"), round_to(0.4, "bfloat16"), round_to(1e5, "float16")
    (0.4000000059604645, 0.39990234375, 0.400390625, inf)
    """
    import numpy as np

    return float(round_array(np.array([number]), dtype)[0])


def find_rounded(field: Field, dtype: str) -> Rounded:
    """Return which numbers of a column of this dtype count as a bound, or listed number, of `field`, and as which.

    >>> find_rounded(Field("torque", low=-0.4, high=0.4), "float32")
    {-0.4000000059604645: -0.4, 0.4000000059604645: 0.4}
    >>> find_rounded(Field("torque", low=-1, high=1), "float32")
    {}
    """
    if dtype not in NARROW or field.outside == "allow":
        return {}
    return _round_declared(field.low, field.high, field.values or (), dtype)


@lru_cache(4096)  # by what a field declares: hashing all of it takes longer than a small batch
def _round_declared(low: float | None, high: float | None, values: tuple[float | str, ...], dtype: str) -> Rounded:
    declared = [float(number) for number in (*values, low, high) if isinstance(number, int | float)]
    pairs = ((round_to(number, dtype), number) for number in reversed(declared))
    return dict(sorted((near, number) for near, number in pairs if near != number and math.isfinite(near)))


def widen_array(column: "NDArray[Any]", field: Field) -> "NDArray[np.float64]":
    """Return a column of floats as float64, numbers that count as a bound as that bound."""
    wide: NDArray[np.float64] = column.astype("float64", copy=False)
    if wide is not column and column.dtype.char in _NARROW_CHARS:
        for near, number in find_rounded(field, _NARROW_CHARS[column.dtype.char]).items():
            at = column == column.dtype.type(near)
            if at.any():
                wide[at] = number
    return wide


def estimate_rounding(program: Program, dtype: str, numbers: "NDArray[np.float64]") -> "NDArray[np.float64]":
    """Return how far rounding in a dtype can move the outputs of each row: 4·n·eps of its largest number.

    A row of `numbers` holds inputs and outputs; n is the number of operations.
    """
    import numpy as np

    sizes = np.abs(numbers)
    largest = np.where(np.isfinite(sizes), sizes, 0.0).max(axis=1, initial=1.0)
    room: NDArray[np.float64] = 4 * len(program.nodes) * (2.0 / FLOATS[dtype].integer) * largest
    return room

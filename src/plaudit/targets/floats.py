"""The limits of each floating-point type."""

from typing import NamedTuple


class Limits(NamedTuple):
    """What a floating-point type can hold."""

    whole: int
    """Whole numbers up to here are all held exactly."""
    exponent: float
    """The largest argument whose exponential is finite."""


FLOATS = {
    "float64": Limits(2**53, 709.782712893384),
    "float32": Limits(2**24, 88.72283),
    "bfloat16": Limits(2**8, 88.5),
    "float16": Limits(2**11, 11.0859375),
}

"""The limits of each floating-point type."""

import math
from typing import NamedTuple


class Limits(NamedTuple):
    """What a floating-point type can hold."""

    whole: int
    """Whole numbers up to here are all held exactly."""
    exponent: float
    """The largest argument whose exponential is finite."""
    largest: float

    def fitted(self, value: float | bool) -> float | bool:
        """Return a constant as this type holds it; infinite where it is too large."""
        return math.copysign(math.inf, value) if abs(value) > self.largest else value


FLOATS = {
    "float64": Limits(2**53, 709.782712893384, 1.7976931348623157e308),
    "float32": Limits(2**24, 88.72283, 3.4028234663852886e38),
    "bfloat16": Limits(2**8, 88.5, 3.3895313892515355e38),
    "float16": Limits(2**11, 11.0859375, 65504.0),
}

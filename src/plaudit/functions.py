"""Functions that many rewards share, written in the language of terms itself.

A term calls them as it calls helpers of its own; called with numbers they compute numbers. A quaternion is
`(w, x, y, z)`, and with `w_last=True` it is `(x, y, z, w)`, in and out.
"""

import math
from collections.abc import Sequence
from typing import Literal

__all__ = [
    "deadband",
    "huber",
    "quat_angle",
    "quat_error",
    "quat_inverse",
    "quat_multiply",
    "quat_rotate",
    "quat_rotate_inverse",
    "quat_to_yaw",
    "smoothstep",
    "tolerance",
    "wrap_to_pi",
]

Quaternion = tuple[float, float, float, float]
Vector3 = tuple[float, float, float]
Sigmoid = Literal["gaussian", "hyperbolic", "long_tail", "reciprocal", "cosine", "linear", "quadratic", "tanh_squared"]


def tolerance(
    x: float,
    bounds: Sequence[float] = (0.0, 0.0),
    margin: float = 0.0,
    sigmoid: Sigmoid = "gaussian",
    value_at_margin: float = 0.1,
) -> float:
    """Return 1 when `x` is within `bounds`, and less the further outside it is, as in dm_control.

    Args:
        x: The number to rate.
        bounds: The lower and upper bound; either may be infinite.
        margin: How far outside the bounds the value drops to `value_at_margin`. With 0, the value outside is 0.
        sigmoid: The shape of the drop, a constant.
        value_at_margin: The value at a distance of `margin`, above 0 and below 1; `cosine`, `linear` and `quadratic`
            also take 0.

    Returns:
        A number from 0 to 1.

    >>> tolerance(1.5, bounds=(1.2, math.inf)), tolerance(0.0, bounds=(1.0, 2.0))
    (1.0, 0.0)
    >>> round(tolerance(0.6, bounds=(1.2, math.inf), margin=0.6), 6)
    0.1
    >>> tolerance(0.5, margin=1.0, sigmoid="linear", value_at_margin=0.0)
    0.5
    """
    low, high = bounds
    distance = 0.0
    if low > -math.inf:
        distance = max(distance, low - x)
    if high < math.inf:
        distance = max(distance, x - high)
    if margin == 0:
        return 0.0 if distance > 0 else 1.0
    return _fall_off(distance / margin, sigmoid, value_at_margin)


def _fall_off(x: float, sigmoid: Sigmoid, at_one: float) -> float:
    """Return a number that falls from 1 at 0 to `at_one` at 1, and further beyond."""
    if sigmoid == "gaussian":
        scaled = x * math.sqrt(-2 * math.log(at_one))
        return math.exp(-0.5 * (scaled * scaled))
    if sigmoid == "hyperbolic":
        inverse = 1 / at_one
        small = math.exp(-x * math.log(inverse + math.sqrt(inverse * inverse - 1)))
        return 2 * small / (1 + small * small)
    if sigmoid == "long_tail":
        scaled = x * math.sqrt(1 / at_one - 1)
        return 1 / (scaled * scaled + 1)
    if sigmoid == "reciprocal":
        return 1 / (x * (1 / at_one - 1) + 1)
    if sigmoid == "cosine":
        return (1 + math.cos(min(x * math.acos(2 * at_one - 1), math.pi))) / 2
    if sigmoid == "linear":
        return max(1 - x * (1 - at_one), 0.0)
    if sigmoid == "quadratic":
        return max(1 - x * x * (1 - at_one), 0.0)
    if sigmoid == "tanh_squared":
        root = math.sqrt(1 - at_one)
        slope = math.tanh(x * (0.5 * math.log((1 + root) / (1 - root))))
        return 1 - slope * slope
    raise ValueError(
        "sigmoid must be one of gaussian, hyperbolic, long_tail, reciprocal, cosine, linear, quadratic, tanh_squared"
    )


def wrap_to_pi(angle: float) -> float:
    """Wrap an angle to the range from -π up to π.

    Args:
        angle: The angle in radians.

    Returns:
        The same angle, at least -π and below π.

    >>> round(wrap_to_pi(1.5 * math.pi) / math.pi, 12), wrap_to_pi(0.25)
    (-0.5, 0.25)
    """
    return (angle + math.pi) % (2 * math.pi) - math.pi


def smoothstep(x: float, low: float = 0.0, high: float = 1.0) -> float:
    """Rise smoothly from 0 to 1 between `low` and `high`.

    Args:
        x: The number to rate.
        low: The result is 0 up to here.
        high: The result is 1 from here on.

    Returns:
        A number from 0 to 1.

    >>> smoothstep(-1.0), smoothstep(0.25), smoothstep(15.0, 10.0, 20.0), smoothstep(99.0)
    (0.0, 0.15625, 0.5, 1.0)
    """
    t = min(max((x - low) / (high - low), 0.0), 1.0)
    return t * t * (3 - 2 * t)


def huber(x: float, delta: float = 1.0) -> float:
    """Return the Huber loss of `x`: quadratic near 0, linear beyond `delta`.

    Args:
        x: The error.
        delta: Where the loss changes from quadratic to linear.

    Returns:
        The loss, 0 or more.

    >>> huber(0.5), huber(-3.0), huber(3.0, delta=2.0)
    (0.125, 2.5, 4.0)
    """
    size = abs(x)
    return 0.5 * x * x if size <= delta else delta * (size - 0.5 * delta)


def deadband(x: float, width: float) -> float:
    """Return how far `x` is outside -`width` to `width`, with its sign.

    Args:
        x: The number to rate.
        width: Half the width of the band around 0.

    Returns:
        The signed distance to the band, 0 inside it.

    >>> deadband(0.25, 0.5), deadband(2.0, 0.5), deadband(-2.0, 0.5)
    (0.0, 1.5, -1.5)
    """
    return max(x - width, 0.0) + min(x + width, 0.0)


def quat_multiply(a: Sequence[float], b: Sequence[float], w_last: bool = False) -> Quaternion:
    """Multiply two quaternions: the rotation `b`, then the rotation `a`.

    Args:
        a: The quaternion on the left, applied second.
        b: The quaternion on the right, applied first.
        w_last: Whether quaternions are `(x, y, z, w)`, in and out, instead of `(w, x, y, z)`; a constant.

    Returns:
        The product.

    >>> quat_multiply((0.0, 1.0, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0))
    (0.0, 0.0, 0.0, 1.0)
    """
    aw, ax, ay, az = _put_w_first(a, w_last)
    bw, bx, by, bz = _put_w_first(b, w_last)
    w = aw * bw - ax * bx - ay * by - az * bz
    x = aw * bx + ax * bw + ay * bz - az * by
    y = aw * by - ax * bz + ay * bw + az * bx
    z = aw * bz + ax * by - ay * bx + az * bw
    return (x, y, z, w) if w_last else (w, x, y, z)


def quat_inverse(q: Sequence[float], w_last: bool = False) -> Quaternion:
    """Return the quaternion of the opposite rotation.

    Args:
        q: A quaternion of any length except 0.
        w_last: Whether quaternions are `(x, y, z, w)`, in and out, instead of `(w, x, y, z)`; a constant.

    Returns:
        The inverse quaternion.

    >>> quat_inverse((0.0, 0.0, 0.0, 2.0))
    (0.0, -0.0, -0.0, -0.5)
    """
    w, x, y, z = _put_w_first(q, w_last)
    square = w * w + x * x + y * y + z * z
    w, x, y, z = w / square, -x / square, -y / square, -z / square
    return (x, y, z, w) if w_last else (w, x, y, z)


def quat_rotate(q: Sequence[float], v: Sequence[float], w_last: bool = False) -> Vector3:
    """Rotate a vector by a quaternion.

    Args:
        q: A quaternion of length 1.
        v: The vector to rotate.
        w_last: Whether quaternions are `(x, y, z, w)` instead of `(w, x, y, z)`; a constant.

    Returns:
        The rotated vector.

    >>> quat_rotate((0.0, 0.0, 0.0, 1.0), (1.0, 2.0, 3.0))
    (-1.0, -2.0, 3.0)
    """
    w, x, y, z = _put_w_first(q, w_last)
    return _rotate(w, x, y, z, v)


def quat_rotate_inverse(q: Sequence[float], v: Sequence[float], w_last: bool = False) -> Vector3:
    """Rotate a vector by the inverse of a quaternion, such as from the world frame into a body frame.

    Args:
        q: A quaternion of length 1: the orientation of the body.
        v: The vector to rotate.
        w_last: Whether quaternions are `(x, y, z, w)` instead of `(w, x, y, z)`; a constant.

    Returns:
        The rotated vector.

    >>> turned_over = (0.0, 1.0, 0.0, 0.0)
    >>> quat_rotate_inverse(turned_over, (0.0, 0.0, -1.0))[2]
    1.0
    """
    w, x, y, z = _put_w_first(q, w_last)
    return _rotate(w, -x, -y, -z, v)


def quat_angle(q: Sequence[float], w_last: bool = False) -> float:
    """Return the rotation angle of a quaternion.

    Args:
        q: A quaternion.
        w_last: Whether quaternions are `(x, y, z, w)` instead of `(w, x, y, z)`; a constant.

    Returns:
        The angle in radians, from 0 to π.

    >>> round(quat_angle((math.sqrt(0.5), 0.0, math.sqrt(0.5), 0.0)) / math.pi, 12)
    0.5
    """
    w, x, y, z = _put_w_first(q, w_last)
    return 2 * math.atan2(math.sqrt(x * x + y * y + z * z), abs(w))


def quat_error(a: Sequence[float], b: Sequence[float], w_last: bool = False) -> float:
    """Return the angle between two rotations.

    Args:
        a: A quaternion.
        b: A quaternion.
        w_last: Whether quaternions are `(x, y, z, w)` instead of `(w, x, y, z)`; a constant.

    Returns:
        The angle in radians, from 0 to π.

    >>> quat_error((1.0, 0.0, 0.0, 0.0), (-1.0, 0.0, 0.0, 0.0))
    0.0
    >>> round(quat_error((1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0)) / math.pi, 12)
    1.0
    """
    w, x, y, z = _put_w_first(b, w_last)
    return quat_angle(quat_multiply(_put_w_first(a, w_last), (w, -x, -y, -z)))


def quat_to_yaw(q: Sequence[float], w_last: bool = False) -> float:
    """Return the yaw of a quaternion: its rotation about the vertical axis.

    Args:
        q: A quaternion of length 1.
        w_last: Whether quaternions are `(x, y, z, w)` instead of `(w, x, y, z)`; a constant.

    Returns:
        The yaw in radians, from -π to π.

    >>> round(quat_to_yaw((math.sqrt(0.5), 0.0, 0.0, math.sqrt(0.5))) / math.pi, 12)
    0.5
    """
    w, x, y, z = _put_w_first(q, w_last)
    return math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))


def _put_w_first(q: Sequence[float], w_last: bool) -> Quaternion:
    return (q[3], q[0], q[1], q[2]) if w_last else (q[0], q[1], q[2], q[3])


def _rotate(w: float, x: float, y: float, z: float, v: Sequence[float]) -> Vector3:
    """Return `v` turned: t is twice the cross product of (x, y, z) and v; v + w t + (x, y, z) × t."""
    a, b, c = v
    p, q, r = 2 * (y * c - z * b), 2 * (z * a - x * c), 2 * (x * b - y * a)
    return a + w * p + (y * r - z * q), b + w * q + (z * p - x * r), c + w * r + (x * q - y * p)

"""Expressions on arrays, read as rewards and compared with what NumPy makes of them."""

import re

import numpy as np
import pytest

from plaudit import Field, ReadError, Reward, term
from support.strategies import load

FIELDS = {
    "v": Field("v", length=3),
    "w": Field("w", length=3),
    "u": Field("u", length=6),
    "c": Field("c", flag=True, length=3),
    "x": Field("x"),
    "i": Field("i", values=(0, 1, 2)),
}
HEADER = """\
import math
import statistics
import numpy as np

GOAL = np.array([1.0, 0.5, -2.0])
POSE = (0.1, 0.2, 0.3)
TABLE = ((1.0, 2.0), (3.0, 4.0), (5.0, 6.5))
ODD = np.array([0, 2])
MASK = np.array([True, False, True])
LARGE = np.zeros((100, 100))
"""


def write(text, header=HEADER):
    """Return the plain function of an expression; `m` in it is the vector `u` as a matrix of two rows."""
    names = [name for name in FIELDS if re.search(rf"(?<![\w.]){name}\b", text)]
    body = [f"return {text}"]
    if re.search(r"(?<![\w.])m\b", text):
        names += [] if "u" in names else ["u"]
        body.insert(0, "m = u.reshape(2, 3)")
    return load(header + f"def f({', '.join(names)}):\n    " + "\n    ".join(body) + "\n")["f"]


def read_of(text, header=HEADER):
    """Return the reward of an expression."""
    function = write(text, header)
    fields = [FIELDS[name] for name in function.__code__.co_varnames[: function.__code__.co_argcount]]
    return Reward("tried", version="1", terms=[term(function)], fields=fields)


def refusal(text, header=HEADER):
    """Return the message that reading an expression ends in."""
    with pytest.raises(ReadError) as caught:
        read_of(text, header)
    return str(caught.value)


def draw_row(random):
    """Return a row of all fields, vectors as arrays; some of its numbers are whole."""
    row = {name: random.normal(size=FIELDS[name].length) for name in "vwu"}
    row["v"][random.integers(3)] = random.integers(-2, 3)
    return {**row, "c": random.random(3) > 0.5, "x": float(random.normal()), "i": int(random.integers(3))}


def assert_means(text, header=HEADER, convert=lambda value: value):
    """Assert that the reward of an expression is what the plain function gives, called with arrays."""
    reward, function = read_of(text, header), write(text, header)
    random = np.random.default_rng(7)
    for _ in range(12):
        row = draw_row(random)
        given = {name: row[name] for name in function.__code__.co_varnames[: function.__code__.co_argcount]}
        wanted = float(function(**{name: convert(value) for name, value in given.items()}))
        found = reward.score(**{name: np.asarray(value).tolist() for name, value in given.items()}).total
        assert found == pytest.approx(wanted, rel=1e-12, abs=1e-12), given

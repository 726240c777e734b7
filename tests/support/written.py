"""Functions written as text: as plain functions, as rewards, and compared with each other value by value."""

import inspect
import math
from textwrap import dedent

import pytest

from plaudit import Field, ReadError, Reward, term
from plaudit.errors import OutsideDomain
from support.strategies import cases, load

NUMBERS = (-3.5, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, math.nextafter(1.0, 2.0), 2.0, 2.5, 7.0)
REFUSED = (ArithmeticError, ValueError, IndexError)


def module(text):
    """Return the namespace of a module made of `text`; it has imported `math`, so its first line is the second."""
    return load(f"import math\n{dedent(text)}")


def plain(text):
    """Return the plain function `f` of `text`."""
    return module(text)["f"]


def reward_of(function, *fields, name="tried", shared=None, **options):
    """Return the reward of one plain function; fields that are not given are plain numbers."""
    code = inspect.unwrap(function).__code__
    known = {field.name for field in fields} | {"prev", "curr"}
    others = [Field(name) for name in code.co_varnames[: code.co_argcount] if name not in known]
    return Reward(name, version="1", terms=[term(**options)(function)], fields=[*fields, *others], shared=shared)


def reward_from(text, *fields, **options):
    """Return the reward of the function `f` of `text`."""
    return reward_of(plain(text), *fields, **options)


def agree(text, *fields, rows=tuple({"x": x} for x in NUMBERS)):
    """Assert that the reward of `f` in `text` is exactly `f`, and refuses exactly the rows that `f` raises for."""
    function = plain(text)
    reward = reward_of(function, *fields)
    for row in rows:
        try:
            expected = float(function(**row))
        except REFUSED:
            with pytest.raises(OutsideDomain):
                reward.score(**row)
        else:
            assert reward.score(**row).total == expected, row


def readable():
    """Return random rewards that their own fields do not refuse."""

    def is_read(case):
        try:
            return bool(case.reward)
        except ReadError:  # a tuple that holds a label which the field has not
            return False

    return cases().filter(is_read)


def kinds_of(program):
    """Return the names of a Program's operations, in order."""
    return [type(node).__name__ for node in program.nodes]

"""Properties of operations agree with one another, and with what Python does at the ends of a domain."""

import math

import pytest

from plaudit.language import nodes as n
from plaudit.language.program import PYTHON_OPERATIONS

FUNCTIONS = [kind for kind in n.KINDS.values() if kind.domain is not None]


def accepts(kind, x):
    """Return whether Python computes a function there, and the result is finite."""
    try:
        return math.isfinite(PYTHON_OPERATIONS[kind](x))
    except (ArithmeticError, ValueError):
        return False


@pytest.mark.parametrize("kind", FUNCTIONS)
def test_a_function_is_defined_up_to_the_ends_of_its_domain_and_not_beyond(kind):
    low, high = kind.domain.smallest, kind.domain.largest
    assert accepts(kind, max(low, -1e308))
    assert accepts(kind, high)
    assert accepts(kind, kind.harmless)
    assert low == -math.inf or not accepts(kind, math.nextafter(low, -math.inf))
    assert not accepts(kind, math.nextafter(high, math.inf))


@pytest.mark.parametrize("kind", n.KINDS.values())
def test_what_has_a_domain_says_what_goes_wrong_outside(kind):
    assert bool(kind.partial) == (kind.domain is not None or kind in (n.Div, n.FloorDiv, n.Mod, n.Item))


@pytest.mark.parametrize("kind", [kind for kind in FUNCTIONS if kind.monotone])
def test_a_monotone_function_never_falls(kind):
    low, high = max(kind.domain.smallest, -50.0), min(kind.domain.largest, 50.0)
    values = [PYTHON_OPERATIONS[kind](low + (high - low) * i / 1000) for i in range(1001)]
    assert values == sorted(values)


def test_flags_are_flat_and_what_is_inexact_is_a_function():
    kinds = n.KINDS.values()
    assert all(kind.flat for kind in kinds if kind.flag)
    assert all(kind.function.startswith("math.") for kind in kinds if kind.inexact)

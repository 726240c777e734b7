"""Properties of operations agree with one another, and with what Python does at the ends of a domain."""

import math
import re
from pathlib import Path

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


@pytest.mark.parametrize("kind", [kind for kind in n.FUNCTIONS if kind.steep_ends])
def test_only_an_end_that_belongs_to_a_domain_can_be_steep(kind):
    assert not kind.domain.open_low
    assert kind.domain.low <= kind.harmless <= kind.domain.high
    assert kind.domain.low < 0.5 < kind.domain.high  # what stands in for the end in a gradient


@pytest.mark.parametrize("kind", n.KINDS.values())
def test_what_has_a_domain_says_what_goes_wrong_outside(kind):
    assert bool(kind.partial) == (kind.domain is not None or kind in (n.Div, n.FloorDiv, n.Mod, n.Item))


@pytest.mark.parametrize("kind", [kind for kind in n.FUNCTIONS if kind.monotone or kind.falling])
def test_a_function_rises_or_falls_throughout_and_no_faster_than_it_says(kind):
    domain = kind.domain or n.Domain()
    low, high = max(domain.smallest, -50.0), min(domain.largest, 50.0)
    values = [PYTHON_OPERATIONS[kind](low + (high - low) * i / 1000) for i in range(1001)]
    assert values == sorted(values, reverse=kind.falling)
    assert abs(values[1] - values[0]) <= kind.steepness * (high - low) / 1000 * 1.001


def test_the_page_on_the_language_names_every_function():
    page = (Path(__file__).parents[2] / "docs" / "reference" / "language.md").read_text(encoding="utf-8")
    [listed] = [line for line in page.splitlines() if line.startswith("| functions |")]
    for kind in (*n.FUNCTIONS, n.IsInf):
        assert re.search(rf"\b{n.split_function(kind)[1]}\b", listed), (
            f"docs/reference/language.md does not name {kind.function} in its row of functions"
        )


def test_flags_are_flat_and_what_is_inexact_is_a_function():
    kinds = n.KINDS.values()
    assert all(kind.flat for kind in kinds if kind.flag)
    assert all(kind.function.startswith("math.") for kind in kinds if kind.inexact)

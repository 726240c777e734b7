"""Tuples and lists are compared as Python compares them: as a whole, by the first entries that differ."""

import re
from itertools import product

import pytest

from plaudit import Field, ReadError, Reward, term
from support.arrays import assert_means, refusal
from support.strategies import load

FIELDS = [*map(Field, "abcd"), Field("k", values=("red", "blue"))]
HEADER = "PLACES = ((1.0, 2.0), (0.0, 1.0))\nGOAL = [1.0, 2.0]\nWANTED = (('red', 1.0), ('blue', 2.0))\n"
ROWS = list(product((0.0, 1.0, 2.0), (0.0, 1.0, 2.0), (0.0, 1.0), (1.0, 2.0), ("red", "blue")))


def read(text):
    """Return the plain function of an expression of the fields, the names it takes, and its reward."""
    fields = [field for field in FIELDS if re.search(rf"\b{field.name}\b", text)]
    names = [field.name for field in fields]
    function = load(f"{HEADER}def f({', '.join(names)}):\n    return {text}\n")["f"]
    return function, names, Reward("r", version="1", terms=[term(function)], fields=fields)


MEANT = [
    "(a, b) < (c, d)",
    "(a, b) <= (c, d)",
    "(a, b) > (d, c)",
    "[a, b, c] >= [c, d, a]",
    "(a, b) < (c, d, a)",
    "(a, b) + (c,) >= (d, a, b)",
    "(0, 0) <= (a, b) < (2, 1)",
    "((a, b), c) < ((c, d), a)",
    "(a, b) == (c, d)",
    "(a, b) != (c, d)",
    "(a, b) == (c, d, a)",
    "(a > 0, b) == (True, 1)",
    "[a, b] == GOAL",
    "[a, b][:1] + [c] <= GOAL",
    "tuple([a, b]) == tuple(GOAL)",
    "(a, b) in PLACES",
    "[a, b] not in [[1.0, d], [c, 0.0]]",
    "(k, a) == ('red', 1.0)",
    "(k, a) in [('red', b), ('blue', 2.0)]",
    "(k, a) in WANTED",
    "('red', a) < ('red', b)",
    "sorted([a, b]) == [c, d]",
    "sum(3 if pair == (1.0, 2.0) else 1 for pair in zip((a, b), (c, d)))",
    "sum(each == (1, d) for each in enumerate([c, b]))",
    "((a, b) if c > 0.5 else (b, a)) < (1.0, d)",
]


@pytest.mark.parametrize("text", MEANT)
def test_a_comparison_of_tuples_or_lists_means_what_python_means(text):
    function, names, reward = read(text)
    for values in ROWS:
        row = {name: value for name, value in zip("abcdk", values, strict=True) if name in names}
        assert reward.score(**row).total == float(function(**row)), row


def test_a_vector_is_compared_as_a_whole_where_it_is_made_a_tuple():
    assert_means("1.0 if tuple(v) <= tuple(w) else 0.0")
    assert_means("(tuple(v) == (1.0, 0.0, 0.0)) + 2.0 * (POSE < (v[0], *w) < (2, x)) + x")


def test_a_tuple_never_equals_a_list_and_a_note_says_so():
    function, _, reward = read("((a, b) == GOAL) + 2 * ([c, d] != (1.0, 2.0))")
    assert reward.score(a=1.0, b=2.0, c=1.0, d=2.0).total == function(1.0, 2.0, 1.0, 2.0) == 2.0
    assert "`(a, b) == GOAL` compares a tuple with a list, which are never equal." in [n.what for n in reward.notes]


REFUSED = {
    "a tuple and a list in order": ("(a, b) < GOAL", "a tuple and a list have no order", "tuple(a) < tuple(b)"),
    "a tuple or a list": ("((a, b) if c > 1 else [a, b]) == (1.0, 2.0)", "tuple or a list", "tuple(a) == tuple(b)"),
    "a tuple or a list of the same": ("((a, b) if c > 1 else [b, a]) < (1.0, 2.0)", "is not known", "tuple(a)"),
    "categories in order": ("(k, a) < ('red', b)", "categories have no order", "ORDER.index(a)"),
    "other kinds": ("(k, a) == (1, 2)", "cannot be compared with 1", ""),
    "a tuple and a number": ("(a, b) == 3", "this is a tuple of 2", ""),
}


@pytest.mark.parametrize(("text", "what", "advice"), REFUSED.values(), ids=REFUSED)
def test_a_comparison_that_python_makes_otherwise_is_refused(text, what, advice):
    with pytest.raises(ReadError) as caught:
        read(text)
    assert what in str(caught.value)
    assert advice in str(caught.value)


def test_an_array_is_compared_entry_by_entry_and_the_advice_says_how_to_compare_a_tuple():
    message = refusal("1.0 if POSE <= v <= (1, 1, 1) else 0.0")
    assert "comparisons of arrays cannot be chained" in message
    assert "low < tuple(v) < high" in message
    assert "a condition is needed here" in refusal("1.0 if (v, 1) == (w, 1) else x")

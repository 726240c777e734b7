"""Helpers are plain functions above the term; they are read in place."""

import pytest

from plaudit import Field, ReadError, term
from support.written import NUMBERS, agree, module, plain, reward_from, reward_of

ROWS = [{"x": x} for x in NUMBERS]


@pytest.mark.parametrize(
    "text",
    [
        "def g(a, b): return a - 2 * b\ndef f(x): return g(x, 3)",
        "def g(a, b): return a - 2 * b\ndef f(x): return g(b=x, a=3)",
        "def g(a, *, k=4): return a * k\ndef f(x): return g(x) + g(x, k=0.5)",
        "def g(a, *, k): return a * k\ndef f(x): return g(2, k=x)",
        "def g(a):\n    if a > 0:\n        return a\n    return -2 * a\ndef f(x): return g(x) - g(-x)",
        "def g(a):\n    a = a + 1\n    return a\ndef f(x): return g(x) * x",
        "def h(a): return a + 1\ndef g(a): return h(a) * 2\ndef f(x): return g(h(x))",
        "def g(a): return a > 1\ndef f(x): return 5 if g(x) else 6",
        "def g(a): return (a, 2 * a)\ndef f(x): return sum(g(x))",
        "def g(): return 3\ndef f(x): return x + g()",
        "def g(table, a): return table[0] * a\ndef f(x): return g((1, 2), x) + g((3,), x)",
        "def g(a, k): return 1 if k else a\ndef f(x): return g(x, True) + g(x, False)",
        "def g(a):\n    '''Doc.'''\n    return a\ndef f(x): return g(x)",
    ],
)
def test_a_helper_means_what_python_means(text):
    agree(text, rows=ROWS)


def test_a_term_is_a_helper_too():
    space = module(
        "from plaudit import term\n@term(weight=5.0)\ndef g(y, *, k=2.0): return y * k\ndef f(x): return g(x) + 1"
    )
    reward = reward_of(space["f"])
    assert reward.score(x=3.0).total == 7.0
    assert reward.score(x=3.0).total == space["f"](3.0)


def test_a_helper_s_knob_is_a_constant_and_no_parameter():
    reward = reward_from("def g(a, *, k=4): return a * k\ndef f(x, *, gain=2.0): return g(x, k=gain) + g(x)")
    assert dict(reward.params) == {"f.gain": 2.0, "f.weight": 1.0}
    assert reward.with_params(f={"gain": 10.0}).score(x=1.0).total == 14.0


def test_a_helper_reads_a_record_that_it_is_given():
    reward = reward_from(
        "def g(state): return state.level * 2\ndef f(prev, curr): return g(curr) - g(prev)", Field("level")
    )
    assert reward.inputs == ("curr.level", "prev.level")
    assert reward.score(prev={"level": 1}, curr={"level": 4}).total == 6.0


@pytest.mark.parametrize(
    ("text", "who"),
    [
        ("def f(x): return f(x - 1)", "f"),
        ("def g(a): return g(a - 1) if a > 0 else 0\ndef f(x): return g(x)", "g"),
        ("def g(a): return h(a)\ndef h(a): return g(a)\ndef f(x): return g(x)", "g"),
        ("def g(a): return f(a)\ndef f(x): return g(x)", "[fg]"),
    ],
    ids=["itself", "a helper itself", "two helpers each other", "a helper the term"],
)
def test_recursion_is_refused(text, who):
    with pytest.raises(ReadError, match=rf"(?s)'{who}' calls itself.*Recursion cannot be compiled"):
        term(plain(text))


def test_a_knob_without_a_default_must_be_passed_to_a_helper():
    with pytest.raises(ReadError, match="'g' is called without k"):
        term(plain("def g(a, *, k): return a * k\ndef f(x): return g(x)"))


@pytest.mark.parametrize("call", ["g(*(x, 1))", "g(**{'a': x})"])
def test_stars_in_a_call_are_refused(call):
    with pytest.raises(ReadError, match=r"(?s)`\*` and `\*\*` cannot be read in a call.*one by one"):
        term(plain(f"def g(a, b): return a\ndef f(x): return {call}"))


def test_a_helper_that_another_decorator_wrapped_is_refused():
    text = """
        from functools import wraps
        def doubled(function):
            @wraps(function)
            def wrapper(a): return 2 * function(a)
            return wrapper
        @doubled
        def g(a): return a
        def f(x): return g(x)
        """
    with pytest.raises(ReadError, match="'g' cannot be read: another decorator has already wrapped it"):
        term(plain(text))

"""Numbers, flags and categories: what joins what, and what is refused with the way to say it."""

from itertools import product

import pytest

from plaudit import Field, ReadError
from support.written import NUMBERS, agree, reward_from

LIT = Field("lit", flag=True)
PHASE = Field("phase", values=("planning", "coding", "testing"))
MOOD = Field("mood", values=("calm", "busy"))
PHASES = [{"phase": phase, "x": x} for phase, x in product(PHASE.labels, (-1.0, 0.0, 2.0))]


@pytest.mark.parametrize(
    "text",
    [
        "phase == 'coding'",
        "'coding' == phase",
        "phase != 'coding'",
        "phase in ('coding', 'testing')",
        "phase not in ('coding',)",
        "phase == CODING",
        "phase in LATE",
        "1 if phase == 'planning' else 2 if phase == 'coding' else 3",
        "LATE.index(phase) if phase in LATE else -1",
        "ORDER.index(phase)",
        "(1.5, 2.5, 4.0)[ORDER.index(phase)]",
        "ORDER.index(phase) < ORDER.index('coding')",
        "phase == ('testing' if x > 0 else phase)",
        "(phase if x > 0 else 'coding') == 'coding'",
        "same(phase, 'coding')",
    ],
)
def test_a_category_means_what_a_text_means(text):
    header = """
CODING = "coding"
LATE = ("coding", "testing")
ORDER = ("testing", "planning", "coding")
def same(a, b): return a == b
"""
    agree(f"{header}def f(phase, x): return x + ({text})", PHASE, rows=PHASES)


def test_a_local_name_may_hold_a_category():
    body = "p = phase\n    if x > 0:\n        p = 'testing'\n    return 1 if p == 'testing' else 0"
    agree(f"def f(phase, x):\n    {body}", PHASE, rows=PHASES)


def refusal(text, *fields):
    """Return the message that the reward of `text` ends in."""
    with pytest.raises(ReadError) as caught:
        reward_from(text, *fields)
    message = str(caught.value)
    assert ", line 2\n" in message
    assert "^" in message
    return message


def test_a_choice_between_two_texts_is_refused():
    message = refusal("def f(phase, x): return phase == ('testing' if x > 0 else 'coding')", PHASE)
    assert "cannot choose between strings" in message
    assert "Keep the condition instead" in message


def test_an_unknown_label_in_a_tuple_is_refused_too():
    assert "'codeing' is not a value" in refusal("def f(phase): return phase in ('testing', 'codeing')", PHASE)


def test_an_unknown_label_is_refused_with_the_near_one_and_all_of_them():
    message = refusal("def f(phase): return phase == 'codeing'", PHASE)
    assert "'codeing' is not a value of field 'phase'. Did you mean 'coding'?" in message
    assert message.endswith("Its values: planning, coding, testing.")


@pytest.mark.parametrize("text", ["phase < 'coding'", "phase >= 'coding'", "'coding' > phase", "phase < phase"])
def test_categories_have_no_order(text):
    message = refusal(f"def f(phase): return {text}", PHASE)
    assert "categories have no order" in message
    assert "ORDER.index(a) < ORDER.index(b)" in message


@pytest.mark.parametrize("text", ["phase == 1", "1 != phase", "phase == x", "phase == (x > 1)"])
def test_a_category_is_not_compared_with_a_number_or_flag(text):
    message = refusal(f"def f(phase, x): return x + ({text})", PHASE)
    assert "a category of field 'phase' cannot be compared with" in message


@pytest.mark.parametrize("text", ["x == 'coding'", "'coding' != x", "x in (1, 'coding')"])
def test_a_number_is_not_compared_with_a_text(text):
    assert "a string cannot be compared with a number" in refusal(f"def f(x): return {text}", Field("x"))


def test_a_flag_is_not_compared_with_a_text():
    assert "a string cannot be compared with a bool" in refusal("def f(lit): return lit == 'on'", LIT)


def test_categories_of_two_fields_are_not_compared():
    message = refusal("def f(phase, mood): return phase == mood", PHASE, MOOD)
    assert "a category of field" in message
    assert "cannot be compared with a category" in message


@pytest.mark.parametrize(
    "text", ["phase + 1", "-phase", "abs(phase)", "min(phase, 1)", "(1, 2, 3)[phase]", "phase", "'a'"]
)
def test_a_category_is_no_number(text):
    assert "a number is needed here" in refusal(f"def f(phase): return {text}", PHASE)


@pytest.mark.parametrize("text", ["1 if phase else 2", "not phase", "any(p for p in (phase, 1))"])
def test_a_category_is_no_condition(text):
    message = refusal(f"def f(phase): return {text}", PHASE)
    assert "a condition is needed here" in message
    assert "phase == 'coding'" in message


@pytest.mark.parametrize(
    "text", ["x and lit", "lit and x", "lit or x", "lit and 1", "x > 0 and x", "lit or 'a'", "k and lit"]
)
def test_and_and_or_join_flags_only(text):
    message = refusal(f"def f(x, lit, *, k=2.0): return {text}", LIT)
    assert "`and` and `or` join conditions, and this is" in message
    assert "a if condition else b" in message


@pytest.mark.parametrize("text", ["1 if x else 2", "not x", "1 if not x else 2", "any((x, 0))", "all((x, 1))"])
def test_a_number_as_a_condition_means_not_zero(text):
    agree(f"def f(x): return {text}", rows=[{"x": x} for x in NUMBERS])


def test_a_flag_may_be_a_knob():
    reward = reward_from("def f(x, *, strict=True): return x if strict else -x")
    assert reward.score(x=2.0).total == 2.0
    assert reward.with_params(f={"strict": False}).score(x=2.0).total == -2.0


def test_a_shared_knob_has_the_kind_of_its_value():
    text = "def f(x, *, strict): return x if strict and x > 0 else -x"
    assert reward_from(text, shared={"strict": True}).score(x=2.0).total == 2.0
    with pytest.raises(ReadError, match="`and` and `or` join conditions, and this is a number"):
        reward_from(text, shared={"strict": 1.0})


def test_a_table_or_text_as_a_knob_is_a_constant():
    text = "def f(x, phase, *, table=(1.5, 2.5), late='coding'): return table[x] if phase == late else 0"
    reward = reward_from(text, PHASE)
    assert reward.score(x=1, phase="coding").total == 2.5
    assert dict(reward.params) == {"f.weight": 1.0}


def test_a_knob_that_is_none_is_refused():
    with pytest.raises(
        ReadError, match=r"a number is needed here, and this is None(.|\n)*Give a parameter whose default is"
    ):
        reward_from("def f(x, *, k=None): return x + k")


@pytest.mark.parametrize("text", ["prev", "curr", "prev + 1", "1 if prev else 2"])
def test_a_whole_record_is_no_value(text):
    with pytest.raises(ReadError, match=r"the whole of `(prev|curr)`; read one of its fields"):
        reward_from(f"def f(prev, curr): return {text}")


@pytest.mark.parametrize("text", ["math", "abs", "math.sqrt", "'text'"])
def test_a_term_returns_a_number_or_a_flag(text):
    with pytest.raises(ReadError, match="a number is needed here"):
        reward_from(f"def f(): return {text}")

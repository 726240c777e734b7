"""What a row may hold; every other value is refused by an error that names reward, field and value."""

import math
import re
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from plaudit import Field, InputError, OutOfRange, PlauditError
from plaudit.errors import MissingField, NotFinite, UnknownCategory, WrongType
from support.written import reward_from

NUMBER = {"low": -10, "high": 10}
MOOD = {"values": ("calm", "wild")}
BELOW, ABOVE = math.nextafter(-10, -11), math.nextafter(10, 11)


def scored(declared, *given):
    """Return the signal of a reward of one field `x`, which is given or not."""
    field = Field("x", **declared)
    body = {"category": "1 if x == 'calm' else 2", "flag": "x", "number": "0 if math.isinf(x) else x"}[field.kind]
    return reward_from(f"def f(x): return {body}", field, name="strict").score(**dict(zip("x", given, strict=False)))


TAKEN = {
    "a float": (NUMBER, 2.5, 2.5),
    "a whole number": (NUMBER, 3, 3.0),
    "the low end": (NUMBER, -10, -10.0),
    "the high end": (NUMBER, 10.0, 10.0),
    "NumPy's float64": (NUMBER, np.float64(2.5), 2.5),
    "NumPy's float32": (NUMBER, np.float32(2.5), 2.5),
    "NumPy's int": (NUMBER, np.int64(3), 3.0),
    "NumPy's unsigned int": (NUMBER, np.uint8(3), 3.0),
    "a 0-d array": (NUMBER, np.array(2.5), 2.5),
    "a 0-d array of whole numbers": (NUMBER, np.array(3), 3.0),
    "a fraction": (NUMBER, Fraction(5, 2), 2.5),
    "minus zero": (NUMBER, -0.0, 0.0),
    "2**53": ({}, 2**53, 2.0**53),
    "-2**53": ({}, -(2**53), -(2.0**53)),
    "the largest float": ({}, 1.7976931348623157e308, 1.7976931348623157e308),
    "a float beyond 2**53": ({}, 2.0**60, 2.0**60),
    "infinity where it can happen": ({"low": 0, "infinite": True}, math.inf, 0.0),
    "a listed number": ({"values": (0, 1, 2.5)}, 2.5, 2.5),
    "a listed number as another type": ({"values": (0, 1, 2.5)}, np.int32(1), 1.0),
    "clipped from above": ({**NUMBER, "outside": "clip"}, 1e300, 10.0),
    "clipped from below": ({**NUMBER, "outside": "clip"}, -11, -10.0),
    "clipped at one end": ({"low": 0, "outside": "clip"}, -11, 0.0),
    "allowed from above": ({**NUMBER, "outside": "allow"}, 11, 11.0),
    "absent": ({**NUMBER, "missing": 7}, None, 7.0),
    "an absent flag": ({"flag": True, "missing": True}, None, 1.0),
    "an absent category": ({**MOOD, "missing": "calm"}, None, 1.0),
    "True": ({"flag": True}, True, 1.0),
    "1 for a flag": ({"flag": True}, 1, 1.0),
    "0.0 for a flag": ({"flag": True}, 0.0, 0.0),
    "NumPy's flag": ({"flag": True}, np.True_, 1.0),
    "a text": (MOOD, "wild", 2.0),
    "NumPy's text": (MOOD, np.str_("calm"), 1.0),
    "a 0-d array of text": (MOOD, np.array("calm"), 1.0),
    "another text": ({**MOOD, "other": "calm"}, "martian", 1.0),
    "an empty text": ({**MOOD, "other": "calm"}, "", 1.0),
}


@pytest.mark.parametrize(("declared", "value", "total"), TAKEN.values(), ids=TAKEN)
def test_what_a_field_allows_is_scored(declared, value, total):
    assert scored(declared, value).total == total


@pytest.mark.parametrize("declared", [{**NUMBER, "missing": 7}, {"flag": True, "missing": True}])
def test_what_is_not_given_has_its_stand_in(declared):
    assert scored(declared).inputs == {"x": declared["missing"]}
    assert scored(declared) == scored(declared, None)


REFUSED = {
    "NaN": (NUMBER, math.nan, NotFinite, "NaN"),
    "NumPy's NaN": (NUMBER, np.float32(math.nan), NotFinite, "NaN"),
    "NaN where anything is allowed": ({**NUMBER, "outside": "allow"}, math.nan, NotFinite, "NaN"),
    "NaN where it would be clipped": ({**NUMBER, "outside": "clip"}, math.nan, NotFinite, "NaN"),
    "NaN among listed numbers": ({"values": (0, 1)}, math.nan, NotFinite, "NaN"),
    "NaN where infinity can happen": ({"infinite": True}, math.nan, NotFinite, "NaN"),
    "infinity": (NUMBER, math.inf, NotFinite, "inf is not allowed"),
    "infinity without a range": ({}, math.inf, NotFinite, "infinite=True"),
    "infinity that would be clipped": ({**NUMBER, "outside": "clip"}, math.inf, NotFinite, "inf is not allowed"),
    "minus infinity": ({}, -math.inf, NotFinite, "-inf is not allowed"),
    "minus infinity where infinity can happen": ({"infinite": True}, -math.inf, InputError, "-inf"),
    "below": (NUMBER, BELOW, OutOfRange, f"{BELOW!r} is outside its declared range [-10, 10]"),
    "above": (NUMBER, ABOVE, OutOfRange, f"{ABOVE!r} is outside its declared range [-10, 10]"),
    "below without an upper end": (
        {"low": 0, "unit": "m"},
        -1,
        OutOfRange,
        "-1.0 is outside its declared range [0, inf] m",
    ),
    "2**53 + 1": ({}, 2**53 + 1, OutOfRange, "9007199254740993 is beyond 2**53"),
    "-2**53 - 1": ({}, -(2**53) - 1, OutOfRange, "beyond 2**53"),
    "NumPy's large int": ({}, np.int64(2**53 + 1), OutOfRange, "beyond 2**53"),
    "a huge whole number": ({}, 10**400, OutOfRange, "beyond 2**53"),
    "a huge fraction": ({}, Fraction(10**400, 3), OutOfRange, "too large for a float"),
    "not listed": ({"values": (0, 1, 2.5)}, 2, OutOfRange, "is not one of 0, 1, 2.5"),
    "infinity among listed numbers": ({"values": (0, 1)}, math.inf, OutOfRange, "is not one of 0, 1"),
    "a huge number among listed ones": ({"values": (0, 1)}, 10**400, OutOfRange, "beyond 2**53"),
    "a flag for a number": (NUMBER, True, WrongType, "True is a bool; a number is needed"),
    "NumPy's flag for a number": (NUMBER, np.True_, WrongType, "a number is needed"),
    "a flag among listed numbers": ({"values": (0, 1)}, True, WrongType, "a number is needed"),
    "a text for a number": (NUMBER, "1", WrongType, "'1' is a str; a number is needed"),
    "a decimal": (NUMBER, Decimal("1.5"), WrongType, "is a Decimal; a number is needed"),
    "a complex number": (NUMBER, 1j, WrongType, "is a complex; a number is needed"),
    "a list": (NUMBER, [1], WrongType, "is a list; a number is needed"),
    "an object": (NUMBER, object(), WrongType, "is a object; a number is needed"),
    "an array": (NUMBER, np.ones(3), WrongType, "reward.compile('numpy')"),
    "None": (NUMBER, None, MissingField, "a value is None"),
    "None for a flag": ({"flag": True}, None, MissingField, "missing="),
    "None for a category": (MOOD, None, MissingField, "missing="),
    "None for a category with another": ({**MOOD, "other": "calm"}, None, MissingField, "missing="),
    "2 for a flag": ({"flag": True}, 2, WrongType, "2 is a int; a bool (True, False, 1 or 0) is needed"),
    "NaN for a flag": ({"flag": True}, math.nan, WrongType, "a bool"),
    "a text for a flag": ({"flag": True}, "True", WrongType, "a bool"),
    "an unknown text": (MOOD, "clam", UnknownCategory, "'clam' is not one of its values. Did you mean 'calm'?"),
    "a text of another case": (MOOD, "Wild", UnknownCategory, "Its values: calm, wild"),
    "an unknown text, absent set": ({**MOOD, "missing": "calm"}, "clam", UnknownCategory, "Did you mean 'calm'?"),
    "a number for a category": (MOOD, 0, WrongType, "0 is a int; a string, one of calm, wild is needed"),
    "a flag for a category": (MOOD, True, WrongType, "a string"),
    "bytes": (MOOD, b"calm", WrongType, "a string"),
    "a list of text": (MOOD, ["calm"], WrongType, "a string"),
}


@pytest.mark.parametrize(("declared", "value", "error", "words"), REFUSED.values(), ids=REFUSED)
def test_what_a_field_does_not_allow_is_refused_by_name(declared, value, error, words):
    with pytest.raises(error, match=re.escape(words)) as caught:
        scored(declared, value)
    assert isinstance(caught.value, PlauditError)
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, TypeError) == (error is WrongType)
    assert str(caught.value).startswith("reward 'strict', field 'x': ")
    assert len(str(caught.value)) < 400


def test_what_is_not_given_is_refused_by_name():
    with pytest.raises(MissingField, match=r"reward 'strict' needs 'x', which was not given"):
        scored(NUMBER)


def test_a_vector_s_entry_is_named():
    reward = reward_from("def f(v): return sum(v)", Field("v", length=3, low=0), name="strict")
    with pytest.raises(OutOfRange, match=r"reward 'strict', field 'v\[1\]': -2.0 is outside"):
        reward.score(v=(1, -2, 3))
    with pytest.raises(WrongType, match=r"field 'v\[2\]': '3' is a str"):
        reward.score(v=(1, 2, "3"))


def test_a_record_s_entry_is_named():
    reward = reward_from("def f(prev): return prev.x", Field("x", low=0), name="strict")
    with pytest.raises(OutOfRange, match=r"reward 'strict', field 'prev.x': -2.0"):
        reward.score(prev={"x": -2})


def test_the_first_wrong_value_is_named_whatever_else_is_wrong():
    reward = reward_from("def f(x, y): return x / y", Field("x", low=0), Field("y", low=0), name="strict")
    with pytest.raises(OutOfRange, match="field 'x'"):
        reward.score(x=-1, y=-1)
    with pytest.raises(WrongType, match="field 'y'"):
        reward.score(x=-1, y="a")


@pytest.mark.parametrize("value", [2.5, 3, np.float32(0.1), np.int8(7), Fraction(1, 4)])
def test_a_signal_holds_the_number_that_was_scored(value):
    found = scored(NUMBER, value).inputs["x"]
    assert type(found) is float
    assert found == float(value)


def test_an_infinity_that_stands_in_for_an_absent_value_is_kept():
    reward = reward_from(
        "def f(x): return -1 if math.isinf(x) else x", Field("x", low=0, infinite=True, missing=math.inf)
    )
    assert reward.score().total == -1.0
    assert reward.score(x=3).total == 3.0
    assert type(reward).from_json(reward.to_json()) == reward

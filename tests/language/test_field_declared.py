"""Fields: what a declaration says, and which declarations contradict themselves."""

import math
from dataclasses import FrozenInstanceError

import pytest

from plaudit import DefinitionError, Field

REFUSED = {
    "a name that is no identifier": (("a b",), {}, "plain identifier"),
    "an empty name": (("",), {}, "plain identifier"),
    "a name that begins with a digit": (("1a",), {}, "plain identifier"),
    "a name with a dot": (("a.b",), {}, "plain identifier"),
    "a name of other letters": (("größe",), {}, "plain identifier"),
    "a list for a name": ((["x"],), {}, "plain identifier"),
    "prev": (("prev",), {}, "reserved"),
    "curr": (("curr",), {}, "reserved"),
    "total": (("total",), {}, "reserved"),
    "terminal": (("terminal",), {}, "reserved"),
    "an unknown outside": (("x",), {"outside": "clamp"}, "outside='clamp' is not one of 'raise', 'clip', 'allow'"),
    "no outside": (("x",), {"outside": None}, "outside=None is not one of"),
    "a length of 0": (("x",), {"length": 0}, "from 1 to 4,096"),
    "a flag with values": (("x",), {"flag": True, "values": ("a", "b")}, "a flag takes no values"),
    "no values": (("x",), {"values": ()}, "values= is empty"),
    "mixed values": (("x",), {"values": ("a", 1)}, "mixes strings and numbers"),
    "flags as values": (("x",), {"values": (True, False)}, "write flag=True"),
    "an infinite value": (("x",), {"values": (1, math.inf)}, "strings or finite numbers"),
    "NaN as a value": (("x",), {"values": (1, math.nan)}, "strings or finite numbers"),
    "None as a value": (("x",), {"values": (None,)}, "strings or finite numbers"),
    "a value twice": (("x",), {"values": ("a", "b", "a")}, "lists a value twice"),
    "a number twice": (("x",), {"values": (1, 1.0)}, "lists a value twice"),
    "low of a flag": (("x",), {"flag": True, "low": 0}, "low= is for numbers, and this field is a flag"),
    "high of a category": (("x",), {"values": ("a",), "high": 0}, "high= is for numbers, and this field is a category"),
    "an infinite flag": (("x",), {"flag": True, "infinite": True}, "infinite= is for numbers"),
    "a unit of a flag": (("x",), {"flag": True, "unit": "m"}, "unit= is for numbers"),
    "a category clipped": (("x",), {"values": ("a",), "outside": "clip"}, "outside= is for numbers"),
    "a text as low": (("x",), {"low": "0"}, "low='0' must be a finite number"),
    "a flag as high": (("x",), {"high": True}, "high=True must be a finite number"),
    "NaN as low": (("x",), {"low": math.nan}, "low=nan must be a finite number"),
    "an infinite high": (("x",), {"high": math.inf}, "write infinite=True to allow infinity"),
    "low above high": (("x",), {"low": 2, "high": 1}, "low=2 is above high=1"),
    "values and low": (("x",), {"values": (1, 2), "low": 0}, "values= already says"),
    "values and infinite": (("x",), {"values": (1, 2), "infinite": True}, "values= already says"),
    "values and allow": (("x",), {"values": (1, 2), "outside": "allow"}, "values= already says"),
    "nothing to clip to": (("x",), {"outside": "clip"}, "needs low= or high="),
    "other of a number": (("x",), {"other": "a"}, "other= is for categories, and this field is a number"),
    "other that is no value": (("x",), {"values": ("a", "b"), "other": "c"}, "other='c' is not a value"),
    "missing outside the range": (("x",), {"low": 0, "missing": -1}, "missing=-1 is not a value"),
    "missing of another kind": (("x",), {"missing": "a"}, "missing='a' is not a value"),
    "missing flag of a number": (("x",), {"missing": False}, "missing=False is not a value"),
    "missing number of a flag": (("x",), {"flag": True, "missing": 0}, "missing=0 is not a value"),
    "an infinite missing": (("x",), {"missing": math.inf}, "missing=inf is not a value"),
    "a negative infinite missing": (("x",), {"infinite": True, "missing": -math.inf}, "missing=-inf is not a value"),
    "missing that is no value": (("x",), {"values": (1, 2), "missing": 0}, "missing=0 is not a value"),
}


@pytest.mark.parametrize(("names", "parts", "words"), REFUSED.values(), ids=REFUSED)
def test_a_declaration_that_contradicts_itself_is_refused_by_name(names, parts, words):
    with pytest.raises(DefinitionError) as caught:
        Field(*names, **parts)
    assert str(caught.value).startswith(f"field {names[0]!r}: ")
    assert words in str(caught.value)


TYPES = {
    "None for a name": ((None,), {}),
    "True for a name": ((True,), {}),
    "NaN as missing": (("x",), {"missing": math.nan}),
    "a list as missing": (("x",), {"missing": [1]}),
    "a whole number beyond floats as low": (("x",), {"low": 10**400}),
    "a whole number beyond floats as missing": (("x",), {"missing": 10**400}),
    "a whole number beyond floats as a value": (("x",), {"values": (10**400,)}),
    "a whole number that no float holds as missing": (("x",), {"missing": 2**53 + 1}),
    "one text as values": (("x",), {"values": "abc"}),
    "a number as values": (("x",), {"values": 5}),
    "a number as unit": (("x",), {"unit": 5}),
}


@pytest.mark.parametrize(("names", "parts"), TYPES.values(), ids=TYPES)
def test_a_declaration_of_the_wrong_type_is_refused(names, parts):
    with pytest.raises(DefinitionError):
        Field(*names, **parts)


@pytest.mark.parametrize(
    ("parts", "kind", "labels", "numbers", "at_rest"),
    [
        ({}, "number", (), (), 0.0),
        ({"low": 2, "high": 5}, "number", (), (), 2.0),
        ({"low": -5, "high": -2}, "number", (), (), -2.0),
        ({"low": -5, "high": 5}, "number", (), (), 0.0),
        ({"low": 1, "infinite": True}, "number", (), (), 1.0),
        ({"values": (3, -1, 2)}, "number", (), (3.0, -1.0, 2.0), -1.0),
        ({"values": [3, 0.5]}, "number", (), (3.0, 0.5), 0.5),
        ({"flag": True}, "flag", (), (), False),
        ({"values": ("a", "b")}, "category", ("a", "b"), (), "a"),
    ],
)
def test_a_declaration_says_kind_values_and_rest(parts, kind, labels, numbers, at_rest):
    field = Field("x", **parts)
    assert (field.kind, field.labels, field.numbers, field.at_rest) == (kind, labels, numbers, at_rest)
    assert type(field.at_rest) is type(at_rest)
    assert field.holds(field.at_rest)


@pytest.mark.parametrize(
    ("parts", "held", "refused"),
    [
        ({}, (0, -1e308, 2.5), (math.inf, -math.inf, "0", True)),
        ({"low": 0, "high": 1}, (0, 0.5, 1), (math.nextafter(0, -1), math.nextafter(1, 2))),
        ({"low": 0, "infinite": True}, (0, math.inf), (-1, -math.inf)),
        ({"low": 0, "high": 9, "infinite": True}, (9, math.inf), (10,)),
        ({"values": (0, 1.5)}, (0, 0.0, 1.5), (1, math.inf, "0", False)),
        ({"flag": True}, (True, False), (0, 1, "True")),
        ({"values": ("a", "b")}, ("a",), ("c", "", 0, None)),
    ],
)
def test_a_field_holds_what_it_declares_both_sides_of_every_end(parts, held, refused):
    field = Field("x", **parts)
    assert all(field.holds(value) for value in held)
    assert not any(field.holds(value) for value in refused)


def test_a_field_never_changes():
    field = Field("x", low=0)
    with pytest.raises(FrozenInstanceError):
        field.low = 1
    assert field == Field("x", low=0)
    assert field != Field("x", low=1)
    assert hash(field) == hash(Field("x", low=0))


def test_a_list_of_values_is_kept_as_a_tuple():
    values = ["a", "b"]
    field = Field("x", values=values)
    values.append("c")
    assert field.values == ("a", "b")


def test_only_the_name_is_positional():
    with pytest.raises(TypeError):
        Field("x", 0, 1)

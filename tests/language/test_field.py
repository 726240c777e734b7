"""A field: what can be declared, what contradicts itself, and what it allows."""

import dataclasses
import math

import pytest

from plaudit import DefinitionError, Field


def test_the_kind_follows_from_what_is_declared():
    assert Field("x").kind == "number"
    assert Field("x", values=(0, 1, 2.5)).kind == "number"
    assert Field("mood", values=("calm", "wild")).kind == "category"
    assert Field("lit", flag=True).kind == "flag"


def test_a_field_never_changes_and_compares_by_what_it_says():
    field = Field("x", low=0)
    with pytest.raises(dataclasses.FrozenInstanceError):
        field.low = 1
    assert field == Field("x", low=0)
    assert field != Field("x", low=1)
    assert len({field, Field("x", low=0)}) == 1


def test_values_may_be_listed_in_any_sequence():
    assert Field("x", values=[0, 1]).values == (0, 1)
    assert Field("x", values=range(3)).numbers == (0.0, 1.0, 2.0)
    assert Field("mood", values=["calm", "wild"]).labels == ("calm", "wild")


def test_labels_and_numbers_belong_to_their_kind():
    assert Field("x", low=0).labels == Field("x", low=0).numbers == Field("lit", flag=True).labels == ()
    assert Field("mood", values=("calm",)).numbers == ()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        (Field("x"), 0.0),
        (Field("x", low=2), 2.0),
        (Field("x", high=-2), -2.0),
        (Field("x", low=-3, high=3), 0.0),
        (Field("x", values=(5, -2, 3)), -2.0),
        (Field("lit", flag=True), False),
        (Field("mood", values=("calm", "wild")), "calm"),
    ],
    ids=str,
)
def test_at_rest_it_has_the_value_nearest_to_nothing(field, value):
    assert field.at_rest == value
    assert type(field.at_rest) is type(value)


@pytest.mark.parametrize(
    ("field", "inside", "outside"),
    [
        (Field("x"), [0, -1e300, 2.5], [math.nan, math.inf, -math.inf, True, "1", 10**400]),
        (Field("x", low=0, high=1), [0, 1, 0.5], [-1e-300, math.nextafter(1, 2)]),
        (Field("x", infinite=True), [math.inf, 1], [-math.inf, math.nan]),
        (Field("x", values=(0, 1)), [0, 1, 1.0], [2, 0.5, math.nan, True]),
        (Field("lit", flag=True), [True, False], [0, 1, "True"]),
        (Field("mood", values=("calm",)), ["calm"], ["wild", 0, True]),
    ],
    ids=str,
)
def test_it_holds_what_the_declaration_allows(field, inside, outside):
    assert all(field.holds(value) for value in inside)
    assert not any(field.holds(value) for value in outside)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"name": "not a name"}, "plain identifier"),
        ({"name": ""}, "plain identifier"),
        ({"name": "1x"}, "plain identifier"),
        ({"name": "ünicode"}, "plain identifier"),
        ({"name": "x\n"}, "plain identifier"),
        ({"name": "prev"}, "reserved"),
        ({"name": "curr"}, "reserved"),
        ({"name": "total"}, "reserved"),
        ({"name": "terminal"}, "reserved"),
        ({"low": math.nan}, "low=nan must be a finite number"),
        ({"low": "0"}, "low='0' must be a finite number"),
        ({"low": True}, "low=True must be a finite number"),
        ({"low": 10**400}, "must be a finite number"),
        ({"high": math.inf}, "infinite=True"),
        ({"flag": "no"}, "flag='no' must be a bool"),
        ({"infinite": 1}, "infinite=1 must be a bool"),
        ({"low": 2, "high": 1}, "low=2 is above high=1"),
        ({"values": ()}, "values= is empty"),
        ({"values": "calm"}, "values='calm' must be a tuple"),
        ({"values": 5}, "values=5 must be a tuple"),
        ({"values": ("a", 1)}, "mixes strings and numbers"),
        ({"values": (True, False)}, "flag=True"),
        ({"values": (1, 1.0)}, "twice"),
        ({"values": ("a", "a")}, "twice"),
        ({"values": (1, math.nan)}, "finite numbers"),
        ({"values": (1, None)}, "finite numbers"),
        ({"values": (1, 2), "flag": True}, "a flag takes no values"),
        ({"values": (1, 2), "low": 0}, "already says which numbers"),
        ({"values": (1, 2), "outside": "clip"}, "already says which numbers"),
        ({"values": ("a", "b"), "low": 0}, "low= is for numbers"),
        ({"values": ("a", "b"), "outside": "allow"}, "outside= is for numbers"),
        ({"values": ("a", "b"), "infinite": True}, "infinite= is for numbers"),
        ({"flag": True, "high": 1}, "high= is for numbers"),
        ({"flag": True, "unit": "m"}, "unit= is for numbers"),
        ({"outside": "clip"}, "needs low= or high="),
        ({"outside": "ignore"}, "outside='ignore' is not one of 'raise', 'clip', 'allow'"),
        ({"outside": None}, "outside=None is not one of"),
        ({"length": 0}, "integer from 1 to 4,096"),
        ({"length": 4097}, "integer from 1 to 4,096"),
        ({"length": 2.0}, "integer from 1 to 4,096"),
        ({"length": True}, "integer from 1 to 4,096"),
        ({"other": "a"}, "other= is for categories"),
        ({"values": ("a", "b"), "other": "c"}, "other='c' is not a value that the field allows"),
        ({"values": ("a", "b"), "missing": "c"}, "missing='c' is not a value that the field allows"),
        ({"values": ("a", "b"), "missing": 0}, "missing=0 is not a value that the field allows"),
        ({"low": 0, "missing": -1}, "missing=-1 is not a value that the field allows"),
        ({"missing": math.nan}, "missing=nan is not a value that the field allows"),
        ({"missing": "0"}, "missing='0' is not a value that the field allows"),
        ({"flag": True, "missing": 0}, "missing=0 is not a value that the field allows"),
        ({"values": (1, 2), "missing": [1]}, r"missing=\[1\] is not a value that the field allows"),
    ],
    ids=str,
)
def test_what_contradicts_itself_is_refused_by_name(options, words):
    name = options.pop("name", "x")
    with pytest.raises(DefinitionError, match=words) as caught:
        Field(name, **options)
    assert str(caught.value).startswith(f"field {name!r}: ")


def test_everything_but_the_name_is_given_by_keyword():
    with pytest.raises(TypeError):
        Field("x", 0, 1)


WORDS = {
    "a range": ({"range": (0, 1)}, "Field('x', low=0, high=1)"),
    "a lower end": ({"min": 0, "high": 1}, "Field('x', low=0, high=1)"),
    "units": ({"units": "m"}, "Field('x', unit='m')"),
    "choices": ({"choices": ("a", "b")}, "Field('x', values=('a', 'b'))"),
    "a default": ({"default": 0.5}, "Field('x', missing=0.5)"),
    "a size": ({"size": 3}, "Field('x', length=3)"),
    "a type": ({"dtype": float}, "Field('x')"),
    "a bool": ({"dtype": bool}, "Field('x', flag=True)"),
}


@pytest.mark.parametrize(("given", "said"), WORDS.values(), ids=WORDS)
def test_an_argument_in_other_words_is_told_as_it_is_written(given, said):
    with pytest.raises(TypeError) as raised:
        Field("x", **given)
    assert str(raised.value).endswith(f"write {said}")
    assert eval(said, {"Field": Field}).name == "x"


def test_a_misspelled_argument_is_suggested():
    with pytest.raises(TypeError, match="unexpected keyword argument 'lowe'. Did you mean 'low'"):
        Field("x", lowe=0)


def test_only_the_name_goes_without_a_keyword():
    with pytest.raises(TypeError, match=r"the name: Field\('x', low=0, high=1, unit='m'\)"):
        Field("x", 0, 1, unit="m")

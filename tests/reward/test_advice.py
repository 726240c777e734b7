"""Arguments of a reward that are something else: each error says what to write."""

import re

import pytest

from plaudit import DefinitionError, Field, Reward, State, term
from plaudit.errors import InputError


def near(x):
    return x


@term
def far(x):
    return -x


def fade(prev, x):
    return 0.5 * prev.old + x


X = Field("x")
KNOWN = Reward("r", version="1", terms=[far], fields=[X])


def make(*, terms=(far,), fields=(X,), **options):
    return Reward("r", version="1", terms=terms, fields=fields, **options)


TERMS = {
    "functions by name": ({"a": near, "b": far}, "write terms=[term(name='a')(near), far.with_(name='b')]"),
    "weights of functions": ({near: 1.0}, "write Reward.from_functions({near: 1.0}, example=row)"),
    "weights of terms": ({far: 0.5}, "write Reward.from_functions({far: 0.5}, example=row)"),
    "a function": (near, "terms=[term(near)]"),
    "a term": (far, "terms=[far]"),
    "nothing": (None, "terms= is a list of terms"),
    "a string": ("near", "terms= is a list of terms"),
    "a function in a list": ([near], "the function 'near' is not a term; decorate the function with @term, or write term(near)"),
    "a function with its weight": ([(near, 0.5)], "write term(weight=0.5)(near)"),
    "a field": ([X], "'x' is not a term but a field; put it in fields="),
}  # fmt: skip


@pytest.mark.parametrize(("terms", "said"), TERMS.values(), ids=TERMS)
def test_what_is_no_list_of_terms(terms, said):
    with pytest.raises(DefinitionError, match=re.escape(said)):
        make(terms=terms)


FIELDS = {
    "a range by name": ({"x": (0, 1)}, "Field('x', low=0, high=1)"),
    "an open range": ({"x": (0, None)}, "Field('x', low=0)"),
    "arguments by name": ({"x": {"min": 0, "units": "m"}}, "Field('x', low=0, unit='m')"),
    "a number by name": ({"x": float}, "Field('x')"),
    "a bool by name": ({"x": bool}, "Field('x', flag=True)"),
    "categories by name": ({"x": ["a", "b"]}, "Field('x', values=('a', 'b'))"),
    "names": (["x"], "Field('x')"),
    "tuples": ([("x", 0, 1)], "Field('x', low=0, high=1)"),
    "a name": ("x", "fields=[Field('x')]"),
    "a field": (X, "fields=[Field('x')]"),
    "nothing": (None, "fields= must be a list of Field(...)"),
}


@pytest.mark.parametrize(("fields", "said"), FIELDS.values(), ids=FIELDS)
def test_what_is_no_list_of_fields(fields, said):
    with pytest.raises(DefinitionError, match=re.escape(said)) as raised:
        make(fields=fields)
    assert made_of(raised.value) in (None, make(fields=[X]).fields["x"].name)


def made_of(error):
    """Return the name of the field that a message says to write, which must be one; None where it has none."""
    found = re.search(r"Field\('x'.*?\)(?=[,\]])", str(error))
    return eval(found[0], {"Field": Field}).name if found else None


ARGUMENTS = {
    "weights": "term(weight=0.5)(near)",
    "weight": "scale=0.5",
    "functions": "terms=[term(near)]",
    "params": "shared={'radius': 0.1}",
    "example": "Reward.from_functions({near: 0.5}, example=row)",
    "states": "a State in fields=[State(...)]",
    "gamma": "task=Task(discount=0.99)",
    "clip": "low=0.0, high=1.0",
    "on_bad": "reward.compile('numpy', on_bad='mask')",
    "batched": "term(batched=True)(near)",
    "horizon": "task=Task(horizon=...)",
}


@pytest.mark.parametrize(("keyword", "said"), ARGUMENTS.items())
def test_what_belongs_elsewhere(keyword, said):
    with pytest.raises(TypeError, match=re.escape(said)):
        make(**{keyword: 1})


NUMBERS = {
    "a weight": lambda value: term(weight=value)(near),
    "a clamp": lambda value: term(high=value)(near),
    "the weight of a function": lambda value: Reward.from_functions({near: value}, example={"x": 1.0}),
    "a scale": lambda value: make(scale=value),
    "a weight that changes": lambda value: KNOWN.with_weights(far=value),
}


@pytest.mark.parametrize("call", NUMBERS.values(), ids=NUMBERS)
def test_a_function_of_the_step_is_a_schedule(call):
    with pytest.raises(DefinitionError, match=r"'<lambda>'.* is a schedule, such as linear\(0, 1, over=100_000\)"):
        call(lambda step: step / 100)


def test_several_numbers_for_a_weight_are_a_schedule():
    with pytest.raises(DefinitionError, match="near.weight=\\[0, 1\\] .* is a schedule"):
        term(weight=[0, 1])(near)


POSITIONAL = {"a number": (1.0,), "a row": ({"x": 1.0},), "two": (1.0, 2.0)}


@pytest.mark.parametrize("given", POSITIONAL.values(), ids=POSITIONAL)
def test_a_row_is_scored_by_keyword(given):
    with pytest.raises(
        InputError, match=re.escape("reward 'r': score() takes the inputs of one step by keyword, score(x=...)")
    ):
        KNOWN.score(*given)
    with pytest.raises(TypeError, match="by keyword") as raised:
        KNOWN.score(*given, x=1.0)
    assert ("score(**row)" in str(raised.value)) == (given == ({"x": 1.0},))


def test_inputs_may_be_called_like_what_collects_them():
    def odd(given, extra, given_, extra_):
        return given + 10 * extra + 100 * given_ + 1000 * extra_

    names = ("given", "extra", "given_", "extra_")
    reward = Reward("odd", version="1", terms=[term(odd)], fields=[Field(name) for name in names])
    assert reward.score(given=1, extra=2, given_=3, extra_=4).total == 4321
    with pytest.raises(InputError, match="by keyword"):
        reward.score(1)


def test_a_reward_without_inputs_takes_none():
    def step():
        return 1.0

    reward = Reward("step", version="1", terms=[term(step)], fields=[])
    assert reward.score().total == 1.0
    with pytest.raises(InputError, match="by keyword"):
        reward.score(1.0)


OPTIONS = {
    "clip": "write low=0.0, high=1.0",
    "scale": "write weight=0.5",
    "knobs": "write params={'reach': 2.0}",
    "gate": "write Reward(gate=...)",
    "weigth": "Did you mean 'weight'?",
    "reach": "given in params={'reach': 1}",
}


@pytest.mark.parametrize(("keyword", "said"), OPTIONS.items())
def test_what_is_no_option_of_a_term(keyword, said):
    with pytest.raises(TypeError, match=re.escape(said)):
        term(**{keyword: 1})(near)


def test_what_term_is_given_for_a_function():
    with pytest.raises(DefinitionError, match=re.escape("write term(weight=0.5)(near)")):
        term(0.5)
    with pytest.raises(DefinitionError, match=re.escape("write term(name='a')(near)")):
        term("a")
    with pytest.raises(DefinitionError, match=re.escape("write {term(name='a')(near): 1.0}")):
        Reward.from_functions({"a": near}, example={"x": 1.0})


def test_a_term_of_a_term_keeps_what_is_said_of_the_function():
    @term
    def said(x):
        """What it is for."""
        return x

    assert term(weight=2.0)(said).doc == "What it is for."


def test_a_state_is_told_apart_from_a_term():
    with pytest.raises(DefinitionError, match="'old' is not a term but a state"):
        make(terms=[far, State("old", update=fade, reset=0.0)])

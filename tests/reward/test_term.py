"""A term: still the plain function it was, with a weight and clamps."""

import dataclasses
import functools
import inspect
import math

import pytest

from plaudit import DefinitionError, Fact, Field, Reward, Term, term
from plaudit.errors import UnknownField
from support.strategies import load


@term(weight=-0.1, high=0.3, kind="penalty")
def cost(tokens, *, most=100_000, strict=True):
    """Tokens spent, on a log scale: 1 at the whole budget."""
    return min(1.0, math.log1p(tokens) / math.log1p(most)) if strict else 0


def test_it_is_still_the_plain_function_unchecked():
    assert cost(100_000) == 1.0
    assert cost(10**30) == 1.0  # nothing is checked here
    assert cost(5000.0, most=5000) == 1.0
    assert cost(5.0, strict=False) == 0
    with pytest.raises(ValueError, match="math domain error|expected a"):
        cost(-5.0)
    with pytest.raises(TypeError):
        cost()


def test_it_says_what_it_is():
    assert isinstance(cost, Term)
    assert cost.name == cost.__name__ == "cost"
    assert cost.doc == "Tokens spent, on a log scale: 1 at the whole budget."
    assert (cost.weight, cost.low, cost.high, cost.terminal, cost.kind) == (-0.1, None, 0.3, False, "penalty")
    assert dict(cost.knobs) == {"most": 100_000.0, "strict": True}
    assert cost.reads == ("tokens",)
    assert cost.shared == ()
    assert cost.params == {"cost.most": 100_000.0, "cost.strict": True, "cost.weight": -0.1, "cost.high": 0.3}


def test_tools_find_the_function_behind_it():
    assert cost.__wrapped__(100_000) == 1.0
    assert cost.__wrapped__.__doc__ == cost.doc


def test_without_brackets_it_has_a_weight_of_one():
    @term
    def plain(x):
        return x

    assert (plain.weight, plain.low, plain.high, plain.terminal, plain.kind, plain.doc) == (
        1.0,
        None,
        None,
        False,
        None,
        "",
    )


def test_another_name_can_be_given():
    @term(name="price")
    def some_function(x, *, k=1.0):
        return x * k

    assert some_function.name == "price"
    reward = Reward("r", version="1", terms=[some_function], fields=[Field("x")])
    assert reward.score(x=2)["price"].value == 2.0
    assert set(reward.params) == {"price.k", "price.weight"}


def test_it_never_changes():
    with pytest.raises(dataclasses.FrozenInstanceError):
        cost.weight = 2.0
    with pytest.raises(TypeError):
        cost.knobs["most"] = 5
    changed = cost.with_values({"weight": 2.0, "most": 10.0})
    assert (changed.weight, changed.knobs["most"], cost.weight, cost.knobs["most"]) == (2.0, 10.0, -0.1, 100_000.0)


def test_what_it_reads_is_listed_as_written():
    made = term(load("def f(x, prev, curr):\n    return x + curr.y - prev.y + sum(prev.v)\n")["f"])
    assert made.reads == ("x", "curr.y", "prev.y", "prev.v")


@pytest.mark.parametrize("name", ["weight", "low", "high"])
@pytest.mark.parametrize("value", [math.nan, math.inf, "1", 10**400, 1j])
def test_weight_and_clamps_are_finite_numbers(name, value):
    with pytest.raises(DefinitionError, match=rf"f\.{name}="):
        term(**{name: value})(load("def f(x):\n    return x\n")["f"])


def test_a_weight_is_never_absent():
    with pytest.raises(DefinitionError, match=r"f\.weight=None"):
        term(weight=None)(load("def f(x):\n    return x\n")["f"])


def test_clamps_are_in_order():
    with pytest.raises(DefinitionError, match=r"term 'f': low=2.0 is above high=1.0"):
        term(low=2, high=1)(load("def f(x):\n    return x\n")["f"])


@pytest.mark.parametrize("name", ["not a name", "", "1x", "prev", "curr", "total", "terminal", "a.b", "x\n", 3, None])
def test_a_name_is_a_plain_identifier_without_a_meaning_of_its_own(name):
    with pytest.raises(DefinitionError, match="must be a plain identifier"):
        Term(name)


@pytest.mark.parametrize(("made", "how"), [(Term, "@term above it, or term"), (Fact, "@fact above it, or fact")])
def test_a_function_is_no_name(made, how):
    with pytest.raises(DefinitionError, match=f"is a function: write {how}"):
        made(load("def f(x):\n    return x\n")["f"])


def test_tools_see_the_parameters_of_the_class_and_of_the_function():
    assert list(inspect.signature(Term).parameters)[:2] == ["name", "weight"]
    assert str(inspect.signature(cost)) == "(tokens, *, most=100000, strict=True)"


def test_a_kind_is_one_of_four():
    with pytest.raises(DefinitionError, match="kind='bribe' is not one of goal, penalty, shaping, bonus"):
        term(kind="bribe")(load("def f(x):\n    return x\n")["f"])


def test_a_term_from_a_specification_has_no_function_and_says_so():
    reward = Reward("r", version="1", terms=[cost], fields=[Field("tokens", low=0)])
    loaded = Reward.from_json(reward.to_json())
    [bare] = loaded.terms
    assert bare == reward.terms[0]
    with pytest.raises(DefinitionError, match="'cost' was loaded from a specification and has no function"):
        bare(5.0)
    assert not hasattr(bare, "__wrapped__")
    with pytest.raises(DefinitionError, match="works only in its own reward"):
        Reward("other", version="1", terms=[bare], fields=[Field("tokens")])


def test_a_term_can_be_put_into_a_set():
    assert len({cost, cost}) == 1


def scaled(x, scale, *, steep=1.0, mode="up"):
    """Scaled."""
    return x * scale * steep if mode == "up" else -x


class SmoothReward:
    """An object that is called."""

    def __init__(self, gain):
        self.gain = gain

    def __call__(self, x):
        """Smooth."""
        return self.gain * x + self.twice(x)

    def twice(self, x):
        return 2 * x


def reward_with(made, **options):
    return Reward("r", version="1", terms=[made], fields=[Field("x")], **options)


@pytest.mark.parametrize("bound", [{"scale": 3.0}, {"scale": 0.5, "mode": "down"}, {"scale": 2, "steep": -1.5}])
def test_what_a_partial_function_binds_is_a_knob_or_a_constant(bound):
    plain = functools.partial(scaled, **bound)
    made = term(plain)
    reward = reward_with(made)
    assert (made.name, made.doc) == ("scaled", "Scaled.")
    for x in (-2.0, 0.25):
        assert reward.score(x=x).total == made(x) == plain(x)
    assert reward.params["scaled.scale"] == bound["scale"]


def test_params_come_before_what_a_partial_function_binds():
    made = term(params={"steep": 4.0})(functools.partial(functools.partial(scaled, scale=3.0), steep=2.0))
    assert reward_with(made).score(x=1.0).total == 12.0


def test_a_partial_function_binds_by_name():
    with pytest.raises(DefinitionError, match=r"functools\.partial\(scaled, x=2\.0\)"):
        term(functools.partial(scaled, 2.0))


def test_an_object_that_can_be_called_is_a_term():
    smooth = SmoothReward(0.5)
    made = term(smooth)
    assert (made.name, made.doc) == ("smooth_reward", "Smooth.")
    with pytest.raises(UnknownField, match=r"pass it in shared=\{'gain': 0\.5\} if it never changes"):
        reward_with(made)
    reward = reward_with(made, shared={"gain": 0.5})
    for x in (-2.0, 0.25):
        assert reward.score(x=x).total == made(x) == smooth(x)


class ShapedReward:
    """Shaped."""

    def __init__(self):
        self.mode, self.gain, self.weights, self.offset = "plain", 0.5, [1.0, 2.0], None
        self.last, self.unread, self.far = 3.0, 4.0, float("inf")

    def __call__(self, x):
        paid = self.gain * x if self.mode == "plain" else x
        return self.shift(paid) * self.weights[1] + self.last

    def shift(self, paid):
        return paid if self.offset is None else paid + self.offset

    def step(self, x):
        self.last = x


def test_all_that_an_object_holds_and_the_reward_lacks_is_named_at_once():
    shaped = ShapedReward()
    with pytest.raises(UnknownField) as caught:
        reward_with(term(shaped))
    shared = {"mode": "plain", "gain": 0.5, "weights": [1.0, 2.0], "offset": None}
    assert f"Of what this ShapedReward holds, shared={shared} takes those that never change" in str(caught.value)
    with pytest.raises(UnknownField, match=r"'self.last'[^{]*\{'last': 3.0\}(?!.*Of what this)"):
        reward_with(term(shaped), shared=shared)
    reward = reward_with(term(shaped), shared={**shared, "last": 3.0})
    assert reward.score(x=2.0).total == shaped(2.0) == 5.0
    with pytest.raises(UnknownField, match=r"(?s)'self.mode'(?!.*Of what this)"):
        reward_with(term(ShapedReward.__call__))

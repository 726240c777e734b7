"""Names are resolved when a term is defined; a constant changed later changes the plain function and not the reward."""

import math
import types

import pytest

from plaudit import Field, ReadError, Reward, term
from support.written import module, reward_of

LIMIT = 2.0


def later(text, **changes):
    """Return the plain function and the reward of `f` in `text`, with names of its module changed afterwards."""
    space = module(text)
    made = term(space["f"])
    space.update(changes)
    return space["f"], Reward("r", version="1", terms=[made], fields=[Field("x")])


def test_a_constant_is_what_it_was_when_the_term_was_defined():
    function, reward = later("LIMIT = 2.0\ndef f(x): return x * LIMIT", LIMIT=5.0)
    assert function(3.0) == 15.0
    assert reward.score(x=3.0).total == 6.0


def test_a_helper_s_constant_is_what_it_was_when_the_term_was_defined():
    text = "LIMIT = 2.0\ndef g(y): return y * LIMIT\ndef f(x): return g(x)"
    function, reward = later(text, LIMIT=5.0)
    assert function(3.0) == 15.0
    assert reward.score(x=3.0).total == 6.0


def test_a_helper_is_what_it_was_when_the_term_was_defined():
    function, reward = later("def g(y): return y\ndef f(x): return g(x)", g=lambda y: -y)
    assert function(3.0) == -3.0
    assert reward.score(x=3.0).total == 3.0


def test_a_constant_of_a_class_or_module_is_what_it_was_when_the_term_was_defined():
    settings = types.ModuleType("settings")
    settings.GAIN = 10.0
    space = module("class Config:\n    LIMIT = 2.0\ndef f(x): return x * Config.LIMIT + settings.GAIN")
    space["settings"] = settings
    made = term(space["f"])
    settings.GAIN = 20.0
    space["Config"].LIMIT = 3.0
    reward = Reward("r", version="1", terms=[made], fields=[Field("x")])
    assert space["f"](1.0) == 23.0
    assert reward.score(x=1.0).total == 12.0


def test_one_term_in_two_rewards_keeps_its_constants():
    space = module("LIMIT = 2.0\ndef f(x): return x * LIMIT")
    made = term(space["f"])
    first = Reward("r", version="1", terms=[made], fields=[Field("x")])
    space["LIMIT"] = 7.0
    second = Reward("r", version="1", terms=[made], fields=[Field("x")])
    assert first.fingerprint == second.fingerprint


def test_a_branch_on_the_length_of_a_vector_is_read_when_the_term_is_defined():
    space = module("LIMIT = 2.0\ndef f(v): return LIMIT * v[0] if len(v) == 3 else v[0]")
    made = term(space["f"])
    space["LIMIT"] = 5.0
    reward = Reward("r", version="1", terms=[made], fields=[Field("v", length=3)])
    assert reward.score(v=(1, 2, 3)).total == 2.0


def test_names_of_the_enclosing_function_are_read():
    limit, unit = 4.0, math

    def f(x):
        return unit.sqrt(x) + limit * LIMIT

    reward = reward_of(f)
    limit = 9.0
    assert reward.score(x=4.0).total == 10.0


def test_a_local_name_hides_an_outer_one():
    reward = reward_of(module("y = 5\ndef f(x):\n    y = x\n    return y")["f"])
    assert reward.score(x=2.0).total == 2.0


def test_a_name_of_the_module_hides_a_builtin():
    reward = reward_of(module("def abs(y): return -7 * y\ndef f(x): return abs(x)")["f"])
    assert reward.score(x=2.0).total == -14.0


def test_functions_under_other_names_are_the_functions_they_are():
    reward = reward_of(module("from math import sqrt as root\nleast = min\ndef f(x): return least(root(x), 3)")["f"])
    assert [reward.score(x=x).total for x in (4.0, 16.0)] == [2.0, 3.0]


def test_numbers_of_numpy_are_numbers():
    constants = "import numpy\nA, B, C = numpy.float64(0.5), numpy.int32(3), numpy.float32(0.25)"
    reward = reward_of(module(f"{constants}\ndef f(x): return x * A + B + C")["f"])
    assert reward.score(x=1.0).total == 3.75


def test_a_constant_defined_below_the_term_is_not_known():
    space = module("def f(x): return x * LIMIT2")
    with pytest.raises(ReadError, match=r"the name 'LIMIT2' is not known"):
        term(space["f"])


def test_a_name_of_the_enclosing_function_without_a_value_yet_is_not_known():
    def f(x):
        return x + unset

    with pytest.raises(ReadError, match=r"the name 'unset' is not known"):
        term(f)
    unset = 1  # assigned too late


def test_two_terms_share_nothing_but_the_module():
    space = module("def f(x):\n    y = 1\n    return x + y\ndef g(x):\n    return x + y")
    with pytest.raises(ReadError, match="the name 'y' is not known"):
        term(space["g"])


def test_a_generator_s_variable_is_its_own():
    space = module("x = 3.0\ndef f(v): return x * sum(x * x for x in v)")
    reward = reward_of(space["f"], Field("v", length=2))
    assert reward.score(v=(1.0, 2.0)).total == space["f"]((1.0, 2.0))

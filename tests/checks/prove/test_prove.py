"""Two rewards are proved equal, or a row is shown that they really score differently."""

import math
import re
from fractions import Fraction

import pytest
from hypothesis import given

from plaudit import DefinitionError, Field, ReadError, Reward, Task, fact, prove, term
from plaudit.checks.prove.comparison import Comparison, Pair
from plaudit.checks.prove.rounding import bound_rounding
from plaudit.checks.solver.solver import Solver
from support.examples import examples
from support.proofs import assert_real
from support.samples import SAMPLES, following
from support.strategies import cases
from support.written import module


def reward_of(function, *fields, **options):
    return Reward("r", version="1", terms=[term(function)], fields=fields, **options)


# -- equal ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reward", SAMPLES.values(), ids=SAMPLES)
def test_a_reward_equals_itself_and_what_is_rebuilt_from_its_json(reward):
    proof = prove(reward, Reward.from_json(reward.to_json()))
    assert proof.equal
    assert proof.exactly
    assert "in exact arithmetic" in str(proof)
    assert "In float64" in str(proof)


def test_weights_and_knobs_count():
    assert prove(following, following.with_params(comfort={"harsh": 4.5})).equal
    assert not prove(following, following.with_params(comfort={"harsh": 4.6})).equal


def test_facts_can_make_two_rewards_equal():
    gentle = following.with_params(comfort={"harsh": 4.9})  # nobody brakes with anything between 3 and 5
    assert prove(following, gentle).verdict == "different"
    assert prove(following, gentle, facts=True).verdict == "equal"


def test_a_sum_in_another_order_is_equal_and_its_rounding_is_bounded():
    def one(a, b, c):
        return a + b + c

    def other(a, b, c):
        return c + (b + a)

    fields = [Field(name, low=-10, high=10) for name in "abc"]
    proof = prove(reward_of(one, *fields), other)
    assert proof.exactly
    for a, b, c in [(0.1, 0.2, 0.3), (9.9, -9.8, 1e-9), (10.0, 1e-16, -10.0)]:
        assert abs(one(a, b, c) - other(a, b, c)) <= proof.rounding


def test_a_function_that_z3_does_not_know_equals_itself():
    import math

    def one(x):
        return 2 * math.log1p(x) + 1

    def other(x):
        return 1 + math.log1p(x) + math.log1p(x)

    assert prove(reward_of(one, Field("x", low=0, high=100)), other).verdict == "equal"


def test_facts_that_contradict_one_another_prove_nothing():
    @fact
    def faster(x):
        return x > 5

    def f(x):
        return x

    def g(x):
        return x + 1

    reward = reward_of(f, Field("x", low=0, high=1), task=Task(facts=[faster]))
    with pytest.raises(DefinitionError, match="has no steps to compare: no step .* makes the fact 'faster' true"):
        prove(reward, g, facts=True)


# -- different --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reward", SAMPLES.values(), ids=SAMPLES)
def test_a_flipped_sign_is_refuted_and_the_guilty_term_named(reward):
    for guilty in reward.terms:
        flipped = reward.with_weights(**{guilty.name: -guilty.weight})
        proof = prove(reward, flipped)
        assert_real(proof, reward, flipped)
        assert {each.term for each in proof.differences} == {"total", guilty.name}


def test_a_row_that_only_one_of_them_can_score_is_a_difference():
    def safe(x):
        return 1 / x if x != 0 else 0.0

    def careless(x):
        return 1 / x

    field = Field("x", low=0, high=1)
    proof = prove(reward_of(safe, field), reward_of(careless, field))
    assert proof.verdict == "different"
    assert proof.differences[0].inputs == {"x": 0.0}
    assert proof.differences[0].right is None
    assert math.isinf(proof.differences[0].size)


def test_a_term_that_moved_its_pay_to_another_is_a_difference_though_totals_agree():
    @term
    def a(x):
        return x

    @term
    def b(x):
        return 2 * x

    fields = [Field("x", low=0, high=1)]
    left = Reward("r", version="1", terms=[a, b], fields=fields)
    right = Reward("r", version="2", terms=[a, b], fields=fields).with_weights(a=2.0, b=0.5)
    proof = prove(left, right)
    assert {each.term for each in proof.differences} == {"a", "b"}


# -- undecided --------------------------------------------------------------------------------------------------------


def hard(x, y):
    return x * x * x * x * y * y * y - y * x * x * y + x / (1 + y * y)


def hard_too(x, y):
    square = x * x
    return y * y * square * (square * y - 1) + x / (y * y + 1)


def test_without_z3_equality_is_undecided_and_tested():
    fields = [Field("x", low=-2, high=2), Field("y", low=-2, high=2)]
    pair = Pair.of(reward_of(hard, *fields), reward_of(hard_too, *fields), facts=False)
    proof = Comparison(pair, Solver(z3=False)).prove(500)
    assert proof.verdict == "undecided"
    assert proof.tested == 500
    assert "this is not a proof" in str(proof)
    assert "z3 is turned off" in str(proof)


def test_what_cannot_be_decided_in_time_is_said_to_be_undecided():
    def wild(x, y, z):
        return x * y * z % 3 + (x * x * y) // 7 + x * y

    def wild_too(x, y, z):
        return y * x * z % 3 + (x * x * y) // 7 + y * x

    fields = [Field(name, low=-50, high=50) for name in "xyz"]
    proof = prove(reward_of(wild, *fields), wild_too, timeout=0.02, examples=300)
    assert proof.verdict in ("undecided", "equal")
    if proof.verdict == "undecided":
        assert proof.tested
        assert re.search(r"Nothing could be proved: (z3 ran out of time|out of time)\.", str(proof))


# -- what cannot be compared ------------------------------------------------------------------------------------------


def test_rewards_of_different_kinds_of_fields_cannot_be_compared():
    def number(x):
        return x

    def flag(x):
        return 1 if x else 0

    with pytest.raises(DefinitionError, match="'x' is a number in 'r' and a flag in 'r'"):
        prove(reward_of(number, Field("x", low=0, high=1)), reward_of(flag, Field("x", flag=True)))


def test_a_function_outside_the_language_is_refused_with_its_line():
    def loops(distance):
        while distance > 1:
            distance -= 1
        return distance

    with pytest.raises(ReadError, match="while"):
        prove(following, loops)


@pytest.mark.parametrize("right", [3, "following", None])
def test_only_rewards_and_functions_are_compared(right):
    with pytest.raises(DefinitionError, match="prove compares"):
        prove(following, right)
    with pytest.raises(DefinitionError, match="first argument of prove must be a Reward"):
        prove(right, following)


def test_different_ranges_are_said():
    def f(x):
        return x

    wide, narrow = reward_of(f, Field("x", low=0, high=9)), reward_of(f, Field("x", low=0, high=1))
    proof = prove(wide, narrow)
    assert proof.equal
    assert any("ranges differ" in remark for remark in proof.remarks)


def test_a_plain_field_of_a_function_is_the_one_after_the_step():
    @term
    def gain(prev, curr):
        return curr.x - prev.x + 0 * curr.x

    reward = Reward("r", version="1", terms=[gain], fields=[Field("x", low=0, high=1)])

    def after(x):
        return x

    proof = prove(reward, after)
    assert proof.verdict == "different"
    assert set(proof.differences[0].inputs) == {"prev.x", "curr.x"}


# -- rounding ---------------------------------------------------------------------------------------------------------


@examples(0.1)
@given(cases())
def test_a_random_reward_equals_itself_after_a_round_trip(case):
    reward = case.reward
    assert prove(reward, Reward.from_json(reward.to_json()), timeout=1.0).verdict == "equal"


def test_rounding_covers_the_error_of_a_long_sum():
    @term
    def sums(a, b):
        return 0.1 * a + 0.2 * b + 0.3 * a + 0.7 * b + 1e-3 * a

    reward = Reward("r", version="1", terms=[sums], fields=[Field("a", low=0, high=10), Field("b", low=0, high=10)])
    bound = bound_rounding(reward.program.bind())["total"].size
    for a, b in [(0.1, 0.7), (9.99, 3.3), (10.0, 10.0), (1e-9, 2.5)]:
        exact = (
            Fraction(1, 10) * Fraction(a)
            + Fraction(2, 10) * Fraction(b)
            + Fraction(3, 10) * Fraction(a)
            + Fraction(7, 10) * Fraction(b)
            + Fraction(1, 1000) * Fraction(a)
        )
        assert abs(Fraction(reward.score(a=a, b=b).total) - exact) <= Fraction(bound)
    assert bound < 1e-13


def test_rounding_covers_the_error_of_a_remainder_whose_divisor_is_rounded():
    def left_over(x, y):
        return x % (0.1 * y)

    program = reward_of(left_over, Field("x", low=0, high=1e6), Field("y", low=1, high=5)).program.bind()
    exact = Fraction(10**6) % (Fraction(1, 10) * 3)
    assert bound_rounding(program, {"x": 1e6, "y": 3.0})["total"].size >= abs(left_over(1e6, 3.0) - exact) > 1e-11


# -- the reasons that are given ---------------------------------------------------------------------------------------


def quotient(x, y):
    return 0.1 * (x / y)


def quotient_too(x, y):
    return (x / y) * 0.1


def growing(x):
    return math.exp(x) * x - 2 * x * math.exp(x)


def growing_too(x):
    return -x * math.exp(x)


def steep(x):
    return math.sqrt(x + 0.1 - 0.1) * 3


def steep_too(x):
    return 3 * math.sqrt(x + 0.1 - 0.1)


@pytest.mark.parametrize(
    ("one", "other", "fields", "reason"),
    [
        (quotient, quotient_too, [Field("x", low=0, high=5), Field("y", low=0, high=5)], "a divisor may be 0"),
        (growing, growing_too, [Field("x", low=-800, high=800)], "an intermediate number may be too large for a float"),
        (
            steep,
            steep_too,
            [Field("x", low=0, high=5)],
            "sqrt becomes infinitely steep within the range of its argument",
        ),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_rounding_without_bound_says_why(one, other, fields, reason):
    proof = prove(reward_of(one, *fields), other)
    assert proof.equal
    assert proof.rounding == math.inf
    assert reason in proof.unbounded
    assert f"no bound on the rounding error is known, because {proof.unbounded}." in str(proof)
    assert "no declared range" not in str(proof)


def test_a_bounded_rounding_has_no_reason():
    proof = prove(reward_of(quotient, Field("x", low=0, high=5), Field("y", low=1, high=5)), quotient_too)
    assert proof.rounding < 1e-15
    assert proof.unbounded == ""


def test_a_branch_that_is_never_taken_rounds_nothing():
    def guarded(x):
        return 1 / x if x > 5 else 0.1 * x

    program = reward_of(guarded, Field("x", low=0, high=3)).program.bind()
    assert bound_rounding(program)["total"].size < 1e-15


def test_time_is_not_blamed_where_it_was_not_short():
    def power(x):
        return math.exp(x) * math.exp(x)

    def power_too(x):
        return math.exp(2 * x)

    proof = prove(reward_of(power, Field("x", low=0, high=3)), power_too, timeout=30.0, examples=50)
    assert proof.verdict == "undecided"
    assert "z3 cannot reason precisely about exp" in str(proof)
    assert "time" not in str(proof)


def test_what_both_overflow_on_is_no_difference():
    def power(x):
        return math.exp(x) * math.exp(x)

    def power_too(x):
        return math.exp(2 * x)

    assert prove(reward_of(power, Field("x", low=0, high=900)), power_too).verdict != "different"


@pytest.mark.parametrize("name", ["total", "terminal", "prev", "zone"])
def test_a_plain_function_may_have_any_name(name):
    def zone(x):
        return 1.0 if x < 2 else 0.0

    @term
    def pace(x):
        return 0.5 * x

    left = Reward("r", version="1", terms=[term(zone), pace], fields=[Field("x", low=0, high=9)])
    same, other = (module(f"def {name}(x):\n    return (1.0 if x < {at} else 0.0) + x / 2")[name] for at in (2, 3))
    proof = prove(left, same)
    assert (proof.verdict, proof.right) == ("equal", f"{name}@function")
    assert [each.term for each in prove(left, other).differences] == ["total"]

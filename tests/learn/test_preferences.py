"""Fitting to preferences recovers what made the choices, says how sure it is, and says what it cannot know."""

import math
import re
import sys
from dataclasses import replace
from functools import cache
from importlib.util import find_spec

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plaudit import DefinitionError, Field, InputError, Ledger, MissingExtra, OutOfRange, Reward, term
from plaudit.errors import DuplicateName, NotFinite, ShapeMismatch, UnknownInput, UnknownParameter, WrongType
from plaudit.learn.preferences import Steps, fit_preferences
from support.examples import examples

pytestmark = [
    pytest.mark.skipif(find_spec(library) is None, reason=f"needs plaudit[{extra}]")
    for library, extra in (("jax", "jax"), ("scipy", "learn"))
]


@term
def near(distance, *, offset=1.0):
    return offset - distance


@term(weight=-0.5, high=4.0)
def effort(torque, *, free=0.5):
    return max(0.0, torque * torque - free)


@term(weight=0.2)
def bonus(distance, place, *, reach=0.5, paid=True):
    if place == "out" or not paid:
        return 0.0
    return 1.0 if distance < reach else 0.0


REWARD = Reward(
    "reaching",
    version="1",
    terms=[near, effort, bonus],
    fields=[Field("distance", low=0), Field("torque", low=-5, high=5), Field("place", values=("in", "out"))],
)
TRUTH = REWARD.with_params({"near.weight": 1.5, "effort.weight": -0.8, "effort.free": 0.9})


@term
def gain(value, *, offset=1.0):
    return value + offset


GAIN = Reward("gaining", version="1", terms=[gain], fields=[Field("value")])
BLANK = REWARD.with_weights(near=0.0, effort=0.0, bonus=0.0)  # a prior around 0, and no sign to keep
WEIGHTS = ("near.weight", "effort.weight", "bonus.weight")
MIXED = ("near.weight", "effort.weight", "effort.free")
# JAX compiles anew for other parameters and other numbers of rows, and that takes most of the time: so these are few.
FEW, MANY = 300, 800


def steps(generator, rows):
    return {
        "distance": generator.uniform(0, 3, rows),
        "torque": generator.uniform(-2.5, 2.5, rows),
        "place": generator.choice(["in", "out"], rows),
    }


@cache
def compile_once(reward):
    return reward.compile("numpy")


def totals(reward, columns):
    return compile_once(reward)(reward.encode(columns)).total


def judge(reward, seed, rows, *, sharpness=1.0):
    """Return two sides, and which of them people took who follow `reward`."""
    generator = np.random.default_rng(seed)
    first, second = steps(generator, rows), steps(generator, rows)
    ahead = sharpness * (totals(reward, first) - totals(reward, second))
    return first, second, (generator.random(rows) < 0.5 * (1 + np.tanh(ahead / 2))).astype(float)


# -- it is right ----------------------------------------------------------------------------------------------------


def newton(design, share, precision):
    """Return the estimates and covariance of ridge logistic regression without an intercept."""
    beta = np.zeros(design.shape[1])
    for _ in range(50):
        chance = 1 / (1 + np.exp(-design @ beta))
        information = design.T @ (design * (chance * (1 - chance))[:, None]) + precision * np.eye(len(beta))
        beta += np.linalg.solve(information, design.T @ (share - chance) - precision * beta)
    return beta, np.linalg.inv(information)


def scikit_learn(design, share, precision):
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=1 / precision, fit_intercept=False, tol=1e-10, max_iter=1000).fit(design, share)
    return model.coef_[0], newton(design, share, precision)[1]


@pytest.mark.parametrize("oracle", [newton, *([scikit_learn] if find_spec("sklearn") else [])])
def test_weights_alone_are_ridge_logistic_regression(oracle):
    first, second, share = judge(TRUTH, 3, FEW)
    sides = [BLANK.compile("numpy")(BLANK.encode(side)).scores for side in (first, second)]
    held = {"near": None, "effort": (None, 4.0), "bonus": None}  # clamps come before the weight
    design = np.column_stack(
        [
            np.subtract(*(np.clip(side[name], *(limits or (None, None))) for side in sides))
            for name, limits in held.items()
        ]
    )
    expected, covariance = oracle(design, share, precision=1 / 10.0**2)
    fitted = fit_preferences(BLANK, first, second, fit=WEIGHTS, share=share)
    error = np.sqrt(np.diag(covariance))
    np.testing.assert_allclose([e.value for e in fitted.estimates], expected, rtol=1e-4)
    np.testing.assert_allclose([e.standard_error for e in fitted.estimates], error, rtol=1e-4)
    np.testing.assert_allclose(fitted.correlation, covariance / np.outer(error, error), atol=1e-4)
    log_odds = design @ expected
    chances = np.where(share == 1, -np.logaddexp(0, -log_odds), -np.logaddexp(0, log_odds))
    assert fitted.log_likelihood == pytest.approx(chances.sum(), rel=1e-6)
    assert fitted.accuracy == pytest.approx(np.mean((log_odds > 0) == (share == 1)))
    assert fitted.converged
    assert fitted.warnings == ()


@pytest.mark.parametrize(("runs", "least", "off"), [(10, 8, 0.3), pytest.param(25, 21, 0.15, marks=pytest.mark.slow)])
def test_intervals_hold_the_truth_as_often_as_they_say(runs, least, off):
    true = np.array([TRUTH.params[name] for name in MIXED])
    inside, far = np.zeros(3), []
    for seed in range(runs):
        first, second, share = judge(TRUTH, seed, MANY)
        fitted = fit_preferences(REWARD, first, second, fit=MIXED, share=share, starts=1)
        value, error, low, high = np.array([estimate[2:] for estimate in fitted.estimates]).T
        assert fitted.converged
        inside += (low <= true) & (true <= high)
        far.append((value - true) / error)
    assert (inside >= least).all(), inside  # of 25 at 95 %, 20 or fewer has a chance of 0.7 %; of 10, 7 or fewer 1.2 %
    assert 1 - off < np.std(far) < 1 + off
    assert abs(np.mean(far)) < 5 / 3 * off


def test_a_fit_says_what_it_did():
    first, second, share = judge(TRUTH, 1, MANY)
    fitted = fit_preferences(REWARD, first, second, fit=MIXED, share=share, confidence=0.9)
    for estimate in fitted.estimates:
        assert estimate.low < TRUTH.params[estimate.name] < estimate.high
        assert estimate.before == REWARD.params[estimate.name]
        assert fitted.reward.params[estimate.name] == estimate.value
    assert fitted.reward.params["near.offset"] == 1.0
    assert (fitted.reward.version, fitted.choices) == ("1", MANY)
    assert fitted.accuracy > fitted.accuracy_before
    lines = fitted.explain().splitlines()
    assert lines[0].split() == ["parameter", "before", "value", "±", "error", "90%", "interval"]
    assert lines[5].startswith("800 choices, ")
    with pytest.raises(KeyError, match="'effort.wight' was not fitted. Did you mean 'effort.weight'?"):
        fitted["effort.wight"]


def test_the_same_call_gives_the_same_bits():
    first, second, share = judge(TRUTH, 2, MANY)
    one, two = (fit_preferences(REWARD, first, second, fit=MIXED, share=share, seed=3) for _ in "ab")
    assert one.estimates == two.estimates


def test_float64_is_used_and_left_behind_nowhere():
    import jax.numpy as jnp

    first, second, share = judge(TRUTH, 2, MANY)
    here = [{**side, "place": "out"} for side in (first, second)]
    there = [{**side, "distance": side["distance"] + 2.0**27} for side in here]  # float32 would round them to 8
    one, two = (fit_preferences(REWARD, *sides, fit=MIXED, share=share) for sides in (here, there))
    np.testing.assert_allclose([e[2:] for e in two.estimates], [e[2:] for e in one.estimates], rtol=1e-3)
    assert jnp.zeros(1).dtype == "float32"


# -- what a side may be ---------------------------------------------------------------------------------------------


def test_every_form_of_the_same_segments_gives_the_same_fit():
    generator = np.random.default_rng(5)
    lengths = generator.integers(1, 6, 60)
    segment = np.repeat(np.arange(60), lengths)
    sides = []
    for _ in "ab":
        table = steps(generator, len(segment))
        rows = [{name: column[at] for name, column in table.items()} for at in range(len(segment))]
        cuts = np.split(np.arange(len(segment)), np.cumsum(lengths)[:-1])
        sides.append(
            {
                "columns": [{name: column[cut] for name, column in table.items()} for cut in cuts],
                "steps": [[rows[at] for at in cut] for cut in cuts],
                "table": Steps(table, segment),
            }
        )
    share = generator.random(60)

    def fit_form(form, **options):
        found = fit_preferences(REWARD, *(side[form] for side in sides), fit=WEIGHTS, share=share, **options)
        return np.array([estimate[1:] for estimate in found.estimates])

    expected = fit_form("table", discount=0.9)
    np.testing.assert_array_equal(fit_form("columns", discount=0.9), expected)
    np.testing.assert_array_equal(fit_form("steps", discount=0.9), expected)
    assert not np.allclose(fit_form("table"), expected, rtol=1e-3, equal_nan=True)


def test_the_steps_of_a_table_count_in_the_order_of_its_rows():
    reward = GAIN.with_params({"gain.weight": 0.0, "gain.offset": 0.0})
    table = Steps({"value": [1.0, 10.0, 2.0, 5.0, 20.0]}, [0, 1, 0, 2, 1])
    share = [1, 0, 0.75]
    fitted = fit_preferences(reward, table, {"value": [0.0, 1.0, 2.0]}, fit="gain.weight", share=share, discount=0.5)
    design = np.array([[1.0 + 0.5 * 2.0 - 0.0], [10.0 + 0.5 * 20.0 - 1.0], [5.0 - 2.0]])
    (expected,), covariance = newton(design, share, precision=1 / 10.0**2)
    assert fitted["gain.weight"].value == pytest.approx(expected, rel=1e-4)
    assert fitted["gain.weight"].standard_error == pytest.approx(covariance[0, 0] ** 0.5, rel=1e-4)


def test_records_of_a_ledger_are_a_side(tmp_path):
    first, second, share = judge(TRUTH, 4, FEW)
    with Ledger(tmp_path / "rewards.db") as ledger:
        for name, side in (("first", first), ("second", second)):
            ledger.record_batch(REWARD, REWARD.encode(side), run=name)
        sides = [[record.signal.inputs for record in ledger.history(run=name)] for name in ("first", "second")]
    from_ledger = fit_preferences(REWARD, *sides, fit=WEIGHTS, share=share)
    direct = fit_preferences(REWARD, first, second, fit=WEIGHTS, share=share)
    assert repr(from_ledger.estimates) == repr(direct.estimates)


def test_a_transition_and_a_vector_are_a_side():
    @term
    def progress(prev, curr):
        return curr.done - prev.done

    @term(weight=-1.0)
    def strain(torque):
        return torque[0] * torque[0] + torque[1] * torque[1]

    reward = Reward("moving", version="1", terms=[progress, strain], fields=[Field("done"), Field("torque", length=2)])
    generator = np.random.default_rng(0)

    def side():
        return {
            "prev": {"done": generator.normal(size=300)},
            "curr": {"done": generator.normal(size=300)},
            "torque": generator.normal(size=(300, 2)),
        }

    first, second = side(), side()
    ahead = totals(reward, first) - totals(reward, second)
    share = generator.random(300) < 1 / (1 + np.exp(-ahead))
    fitted = fit_preferences(reward, first, second, fit=("progress.weight", "strain.weight"), share=share)
    assert fitted["progress.weight"].low < 1 < fitted["progress.weight"].high
    assert fitted["strain.weight"].low < -1 < fitted["strain.weight"].high


@examples(0.15)
@given(seed=st.integers(0, 10_000))
def test_which_side_comes_first_does_not_matter(seed):
    first, second, share = judge(TRUTH, seed, FEW)
    one = fit_preferences(REWARD, first, second, fit=WEIGHTS, share=share)
    two = fit_preferences(REWARD, second, first, fit=WEIGHTS, share=1 - share)
    np.testing.assert_allclose(one.reward.params["near.weight"], two.reward.params["near.weight"], rtol=1e-4, atol=1e-5)
    assert one.log_likelihood == pytest.approx(two.log_likelihood, abs=1e-6)


def test_a_count_is_that_many_equal_choices_and_a_tie_teaches_only_that_it_is_one():
    first, second, share = judge(TRUTH, 6, FEW)
    thrice = [{name: np.tile(column[:100], 3) for name, column in side.items()} for side in (first, second)]
    one = fit_preferences(REWARD, first, second, fit=WEIGHTS, share=share, count=[3.0] * 100 + [0.0] * 200)
    two = fit_preferences(REWARD, *thrice, fit=WEIGHTS, share=np.tile(share[:100], 3))
    np.testing.assert_allclose([e.value for e in one.estimates], [e.value for e in two.estimates], rtol=1e-4, atol=1e-6)
    assert one.log_likelihood == pytest.approx(two.log_likelihood)
    assert one.accuracy == pytest.approx(two.accuracy)
    tied = fit_preferences(REWARD, first, second, fit=WEIGHTS, share=0.5)
    assert math.isnan(tied.accuracy)
    assert abs(tied["near.weight"].value) < 0.05
    assert f"\n{FEW} choices, all ties, log-likelihood" in tied.explain()
    assert "\n1 choice, all ties, log-likelihood" in replace(tied, choices=1).explain()


# -- what it cannot know --------------------------------------------------------------------------------------------


def fit_to(truth, fit, *, seed=7, rows=FEW, sharpness=1.0, reward=REWARD, **options):
    first, second, share = judge(truth, seed, rows, sharpness=sharpness)
    return fit_preferences(reward, first, second, fit=fit, share=share, **options)


def draw_gains(size):
    """Return two sides whose values go up to `size`, and which people took who care about shares of it."""
    generator = np.random.default_rng(0)
    first, second = generator.uniform(0, size, (2, FEW))
    share = generator.random(FEW) < 1 / (1 + np.exp(-4 * (first - second) / size))
    return {"value": first}, {"value": second}, share


def test_a_threshold_is_refused_by_name():
    with pytest.raises(
        DefinitionError, match="the gradient of bonus.reach is 0 everywhere.*appears only in a comparison"
    ):
        fit_to(TRUTH, "bonus.reach")


def test_a_number_that_moves_both_sides_alike_is_named():
    first, second, share = draw_gains(1.0)
    fitted = fit_preferences(GAIN, first, second, fit=("gain.offset", "gain.weight"), share=share)
    assert len(fitted.warnings) == 1
    assert "no choice depends on gain.offset" in fitted.warnings[0]
    assert fitted["gain.offset"].standard_error == pytest.approx(10.0)  # the prior's
    assert fitted["gain.weight"].standard_error < 0.5


def test_a_knob_that_a_clamp_hides_everywhere_is_named():
    first, second, share = judge(TRUTH, 1, MANY)
    hard = [{**side, "torque": 4.0} for side in (first, second)]
    fitted = fit_preferences(REWARD, *hard, fit=MIXED, share=share)
    assert "no choice depends on effort.weight or effort.free" in fitted.warnings[0]


def test_weights_that_only_count_together_are_named():
    @term
    def near(distance):
        return -distance

    @term(weight=0.5)
    def nearer(distance):
        return -2 * distance

    reward = Reward("twice", version="1", terms=[near, nearer], fields=[Field("distance", low=0)])
    generator = np.random.default_rng(0)
    first, second = ({"distance": generator.uniform(0, 3, 400)} for _ in "ab")
    share = generator.random(400) < 1 / (1 + np.exp(2 * (first["distance"] - second["distance"])))
    fitted = fit_preferences(reward, first, second, fit=("near.weight", "nearer.weight"), share=share)
    assert "cannot separate near.weight and nearer.weight" in fitted.warnings[0]
    assert fitted["near.weight"].standard_error > 1
    assert fitted["near.weight"].value + 2 * fitted["nearer.weight"].value == pytest.approx(2, abs=0.5)
    assert fitted.correlation[0, 1] < -0.99


def test_choices_that_a_reward_decides_perfectly_bound_its_scale_on_one_side_only():
    fitted = fit_to(REWARD, WEIGHTS, sharpness=1e4)
    assert any("do not limit the scale" in warning for warning in fitted.warnings)


@pytest.mark.parametrize("undecided", [pytest.param("shares", marks=pytest.mark.slow), "a tie"])
def test_judges_who_are_of_two_minds_limit_the_scale(undecided):
    ahead = np.linspace(0.1, 2, FEW)
    share = 1 / (1 + np.exp(-2 * ahead)) if undecided == "shares" else np.where(ahead > 1.9, 0.5, 1.0)
    fitted = fit_preferences(GAIN, {"value": ahead}, {"value": 0 * ahead}, fit="gain.weight", share=share, count=50)
    assert (fitted.accuracy, fitted.warnings) == (1.0, ())


@pytest.mark.parametrize(
    "size", [pytest.param(1e3, marks=pytest.mark.slow), pytest.param(1e5, marks=pytest.mark.slow), 1e8]
)
def test_a_scale_that_is_far_off_is_found_where_a_weight_or_the_rationality_can_show_it(size):
    first, second, share = draw_gains(size)
    near = fit_preferences(
        GAIN, *({"value": side["value"] / size} for side in (first, second)), fit="gain.weight", share=share
    )
    fitted = fit_preferences(GAIN, first, second, fit="gain.weight", share=share)
    assert fitted.converged
    assert fitted.warnings == ()
    assert fitted["gain.weight"].value * size == pytest.approx(near["gain.weight"].value, rel=1e-2)  # but for the prior
    assert fitted["gain.weight"].standard_error * size == pytest.approx(near["gain.weight"].standard_error, rel=1e-2)
    free = fit_preferences(GAIN, first, second, fit="gain.offset", share=share, rationality="fit")
    assert free["rationality"].value * size == pytest.approx(near["gain.weight"].value, rel=0.05)


@pytest.mark.parametrize("consistent", [False, True])
def test_a_scale_that_is_far_off_and_held_is_named_as_such(consistent):
    first, second, share = draw_gains(1e5)
    share = first["value"] > second["value"] if consistent else share
    (warning,) = fit_preferences(GAIN, first, second, fit="gain.offset", share=share).warnings
    assert warning.startswith("the scale is far off: the sides typically differ by 3e+04 in log-odds")


def test_a_prior_that_holds_an_estimate_back_is_named():
    fitted = fit_to(TRUTH, WEIGHTS, prior={"near.weight": 0.05})
    assert any("the prior pulls near.weight" in warning for warning in fitted.warnings)
    assert fitted["near.weight"].value < 1.1


def test_the_scale_is_fitted_where_the_weights_cannot_show_it():
    held = fit_to(TRUTH, "effort.weight", sharpness=6.0, reward=TRUTH)
    assert any("more sharply than its scale implies" in warning for warning in held.warnings)
    fitted = fit_to(TRUTH, "effort.weight", sharpness=6.0, reward=TRUTH, rationality="fit")
    assert fitted.warnings == ()
    assert fitted["rationality"].low < 6 < fitted["rationality"].high
    assert fitted["effort.weight"].low < -0.8 < fitted["effort.weight"].high
    known = fit_to(TRUTH, "effort.weight", sharpness=6.0, reward=TRUTH, rationality=6.0)
    assert known.warnings == ()
    everything = fit_to(TRUTH, WEIGHTS, rationality="fit")
    assert any("and rationality:" in warning for warning in everything.warnings)


def test_a_search_that_ends_on_a_ridge_says_so_and_other_starts_leave_it():
    @term
    def bent(value, *, bend=0.0):
        return bend * bend * value

    reward = Reward("bent", version="1", terms=[bent], fields=[Field("value")])
    sides = {"value": [1.0, 2.0]}, {"value": [0.0, 0.5]}
    stuck = fit_preferences(reward, *sides, fit="bent.bend", starts=1)
    assert not stuck.converged
    assert "curves upward where the search ended" in stuck.warnings[0]
    assert "did not converge" in stuck.explain()
    assert math.isnan(stuck["bent.bend"].standard_error)
    assert fit_preferences(reward, *sides, fit="bent.bend").converged


def test_a_weight_that_the_search_leaves_next_to_its_bound_is_at_it():
    contrary = TRUTH.with_params({"effort.weight": 0.8})
    for seed in (1, 3, 9, 10, 32, 37):  # SLSQP stops at 6e-10, 7e-15 …
        fitted = fit_to(contrary, WEIGHTS, seed=seed)
        assert fitted.converged
        assert fitted["effort.weight"].value == 0
        assert math.isnan(fitted["effort.weight"].standard_error)
        assert "effort.weight ends at its bound 0" in fitted.warnings[0]


def test_a_knob_at_which_the_reward_jumps_has_an_error_that_leaves_the_jump_out():
    @term
    def stepped(value, *, knob=1.0):
        return knob if value > knob else 0.0

    @term
    def bent(value, *, knob=1.0):
        return value - knob if value > knob else 0.0

    first, second, share = draw_gains(3.0)
    reward = Reward("jumping", version="1", terms=[stepped, bent], fields=[Field("value")])
    fitted = fit_preferences(reward, first, second, fit=("stepped.knob", "bent.knob"), share=share, starts=1)
    named = [
        warning.split()[5].rstrip(",")
        for warning in fitted.warnings
        if warning.startswith("the likelihood is discontinuous")
    ]
    assert named == ["stepped.knob"]


def test_a_weight_keeps_its_sign_unless_told():
    contrary = TRUTH.with_params({"effort.weight": 0.8})
    fitted = fit_to(contrary, WEIGHTS)
    assert fitted["effort.weight"].value == 0
    assert math.isnan(fitted["effort.weight"].standard_error)
    assert np.isnan(fitted.correlation[1]).all()
    assert "effort.weight ends at its bound 0: the choices would put it above" in fitted.warnings[0]
    assert fitted.explain().splitlines()[3].split() == ["effort.weight", "-0.5", "0", "–", "–"]
    free = fit_to(contrary, WEIGHTS, bounds={"effort.weight": (None, None)})
    assert free["effort.weight"].low < 0.8 < free["effort.weight"].high
    held = fit_to(TRUTH, MIXED, rows=MANY, bounds={"effort.free": (0.0, 0.6)})
    assert held["effort.free"].value == 0.6


# -- bad input ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"fit": "near.wieght"}, UnknownParameter, "no parameter 'near.wieght'. Did you mean 'near.weight'?"),
        ({"fit": ()}, DefinitionError, "fit= names no parameter"),
        ({"fit": ("near.weight", "near.weight")}, DuplicateName, "names 'near.weight' twice"),
        ({"fit": "bonus.paid"}, DefinitionError, "bonus.paid is a bool"),
        ({"confidence": 1.0}, DefinitionError, "confidence=1.0 must lie between 0 and 1"),
        ({"discount": 1.1}, DefinitionError, "discount=1.1 must lie from 0 to 1"),
        ({"starts": 0}, DefinitionError, "starts=0 must be"),
        ({"seed": -1}, DefinitionError, "seed=-1 must be an integer from 0 up"),
        ({"seed": "x"}, DefinitionError, "seed='x' must be an integer from 0 up"),
        ({"bounds": {"near.weight": 3}}, DefinitionError, "bounds of near.weight are two numbers"),
        ({"bounds": {"near.weight": (0, 1, 2)}}, DefinitionError, "bounds of near.weight are two numbers"),
        ({"bounds": {"near.weight": ("a", None)}}, DefinitionError, "bounds of near.weight='a' must be"),
        ({"prior": 0.0}, DefinitionError, "deviation must be above 0"),
        ({"prior": math.inf}, DefinitionError, "prior=inf must be a finite number"),
        ({"prior": {"effort.weight": 1.0}}, DefinitionError, "'effort.weight' is not fitted"),
        ({"bounds": {"near.weight": (2.0, None)}}, DefinitionError, "near.weight is 1, which lies outside bounds"),
        ({"rationality": -1.0}, DefinitionError, "rationality=-1.0 must be above 0"),
        ({"share": [0.5, 1.5, 0.0]}, OutOfRange, r"share must be within [0, 1]"),
        ({"share": [0.5, math.nan, 0.0]}, NotFinite, "share holds a number that is not finite"),
        ({"share": [0.5, 1.0]}, ShapeMismatch, "share has the shape (2,), but there are 3 choices"),
        ({"share": "first"}, WrongType, "share must be numbers"),
        ({"count": [1, -1, 1]}, OutOfRange, "count must be 0 or more"),
        ({"count": 0}, InputError, "count is 0 for every choice"),
        ({"preferred": []}, InputError, "preferred is empty"),
        ({"preferred": {"distance": [], "torque": [], "place": []}}, InputError, "preferred is empty"),
        ({"preferred": [[], []]}, WrongType, "preferred, choice 0: a segment is a mapping or a list of mappings"),
        ({"preferred": [{"distance": [], "torque": 0.0, "place": "in"}]}, ShapeMismatch, "choice 0: the segment has no steps"),
        ({"preferred": ["near"]}, WrongType, "preferred, choice 0: a segment is"),
        ({"rejected": {"distance": [1.0], "torque": 0.0, "place": "in"}}, ShapeMismatch, "3 preferred and 1 rejected"),
        ({"rejected": {"distance": [1.0, math.nan, 1.0], "torque": 0.0, "place": "in"}}, NotFinite, "rejected, choice 1: .*row 1"),
        ({"rejected": {"distance": [1.0, -1.0, 1.0], "torque": 0.0, "place": "in"}}, OutOfRange, "rejected, choice 1: .*row 1"),
        ({"rejected": [{"distance": 1.0, "torque": 0.0, "place": "in"}, {"distance": [1.0, 1.0, -1.0], "torque": 0.0, "place": "in"}]}, OutOfRange, "rejected, choice 1: .*row 2"),
        ({"rejected": Steps({"distance": [1.0, 1.0, -1.0], "torque": 0.0, "place": "in"}, [0, 1, 0])}, OutOfRange, "rejected, choice 0: .*row 2"),
        ({"rejected": {"distance": [[1.0]], "torque": 0.0, "place": "in"}}, ShapeMismatch, "one value per row"),
        ({"rejected": {"distnace": 1.0, "torque": 0.0, "place": "in"}}, UnknownInput, "rejected: .*Did you mean 'distance'"),
        ({"rejected": [{"distance": 1.0, "torque": "x", "place": "in"}] * 3}, WrongType, "rejected: "),
        ({"rejected": Steps({"distance": [1.0], "torque": 0.0, "place": "in"}, [1])}, InputError, "without gaps"),
        ({"rejected": Steps({"distance": [1.0], "torque": 0.0, "place": "in"}, [0, 1])}, ShapeMismatch, "shape (2,)"),
    ],
)  # fmt: skip
def test_bad_input_is_refused_by_name(changes, error, message):
    side = {"distance": [0.0, 1.0, 2.0], "torque": 0.0, "place": "in"}
    asked = {"preferred": side, "rejected": side, "fit": "near.weight", **changes}
    pattern = ".*".join(map(re.escape, message.split(".*")))
    with pytest.raises(error, match=f"(?s){pattern}"):
        fit_preferences(REWARD, asked.pop("preferred"), asked.pop("rejected"), **asked)


@pytest.mark.parametrize(("library", "extra"), [("scipy.optimize", "learn"), ("jax", "jax")])
def test_a_missing_library_is_named_with_its_extra(library, extra, monkeypatch):
    monkeypatch.setitem(sys.modules, library, None)
    reward = REWARD.with_version("2").with_params({"near.offset": 2.0})
    with pytest.raises(MissingExtra, match=rf"plaudit\[{extra}\]"):
        fit_to(TRUTH, "near.weight", reward=reward, rows=10)

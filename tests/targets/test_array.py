"""What every batch target takes and gives: shapes, dtypes, kinds, defaults, bad rows."""

import math
import warnings

import numpy as np
import pytest

from plaudit import Field, InputError, OutOfRange, Reward, Scores, term
from plaudit.errors import (
    MissingField,
    NotFinite,
    ShapeMismatch,
    UnknownCategory,
    UnknownInput,
    UnknownParameter,
    WrongType,
)
from support.running import BATCHES, given, need, options, plain, scored, wide

pytestmark = pytest.mark.parametrize("target", BATCHES)


@term
def same(x):
    return x


@term
def doubled(x):
    return x + x


@term
def constant():
    return 3


@term(weight=2.0)
def added(force):
    return sum(force)


@term
def chosen(mood, lit):
    return (mood == "wild") + lit


LINE = Reward("line", version="1", terms=[same, doubled], fields=[Field("x", low=-100, high=100)])
ANY = Reward("any", version="1", terms=[same], fields=[Field("x")])
VECTOR = Reward("vector", version="1", terms=[added], fields=[Field("force", length=3)])
KINDS = Reward(
    "kinds", version="1", terms=[chosen], fields=[Field("mood", values=("calm", "wild")), Field("lit", flag=True)]
)


def run(reward, target, columns, **settings):
    """Return scores of columns given as they are, without turning them into the target's own arrays."""
    need(target)
    return plain(reward.compile(target, **{**options(target), **settings})(columns))


def test_a_batch_of_every_kind_of_input_scores_what_it_should(target, reward, batch, totals):
    found = scored(reward, target, batch)
    assert found.ok.tolist() == [True, True, True]
    np.testing.assert_allclose(found.total, totals, rtol=1e-12)
    assert found.values["calm"].tolist() == [0.0, 0.0, 0.0]
    assert found.scores["calm"].tolist() == [1.0, 0.0, 0.0]
    assert found.scores["ends"].tolist() == [0.0, 0.0, 10.0]
    assert found.scores["effort"].tolist()[2] == 81.0  # the score itself; its value is clamped
    np.testing.assert_allclose(found.values["effort"], [-0.25, 0.0, -0.4], rtol=1e-12)


def test_every_term_is_always_there_in_declared_order(target, reward, batch):
    found = scored(reward, target, batch)
    assert isinstance(found, Scores)
    assert [*found.values] == [*found.scores] == ["near", "pays", "calm", "effort", "moved", "ends"]


def test_python_and_the_batch_agree_row_by_row(target, reward, batch):
    by_row = scored(reward, "python", batch)
    np.testing.assert_allclose(scored(reward, target, batch).total, by_row.total, rtol=1e-15)


@pytest.mark.parametrize("shape", [(), (0,), (1,), (5,), (2, 3), (0, 3), (2, 1, 2)], ids=str)
def test_outputs_have_the_shape_of_the_batch(target, shape):
    column = np.arange(np.prod(shape, dtype=int), dtype=float).reshape(shape)
    found = scored(LINE, target, {"x": column})
    for array in (found.total, *found.values.values(), *found.scores.values(), found.ok):
        assert array.shape == shape
    np.testing.assert_array_equal(found.total, 3 * column)
    assert found.ok.dtype == bool


@pytest.mark.parametrize("shape", [(), (0,), (4,), (2, 3)], ids=str)
def test_a_term_that_reads_nothing_has_the_batch_s_shape_too(target, shape):
    flat = Reward("flat", version="1", terms=[same, constant], fields=[Field("x")])
    found = scored(flat, target, {"x": np.zeros(shape)})
    np.testing.assert_array_equal(found.scores["constant"], np.full(shape, 3.0))


def test_plain_numbers_score_one_row(target):
    assert run(LINE, target, {"x": 2}).total == 6.0
    assert run(LINE, target, {"x": 2.5}).total == 7.5


def test_a_list_is_a_column(target):
    assert run(LINE, target, {"x": [1.0, 2.0]}).total.tolist() == [3.0, 6.0]


def test_single_values_stand_for_every_row(target, reward, batch):
    columns = {**batch, "distance": 1.0, "lit": True, "terminal": False}
    whole = {**batch, "distance": np.ones(3), "lit": np.ones(3, bool), "terminal": np.zeros(3, bool)}
    np.testing.assert_array_equal(run(reward, target, columns).total, run(reward, target, whole).total)


def test_columns_of_different_lengths_are_refused_by_name(target, reward, batch):
    with pytest.raises(ShapeMismatch, match=r"reward 'all'.*distance \(4,\).*prev\.place \(3,\)"):
        run(reward, target, {**batch, "distance": np.ones(4)})


def test_a_length_of_one_does_not_stand_for_every_row(target, reward, batch):
    with pytest.raises(ShapeMismatch):
        run(reward, target, {**batch, "distance": np.ones(1)})


# -- vectors -------------------------------------------------------------------------------------------------------


def test_a_vector_column_has_its_entries_on_the_last_axis(target):
    assert scored(VECTOR, target, {"force": np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])}).total.tolist() == [
        12.0,
        30.0,
    ]
    assert scored(VECTOR, target, {"force": np.ones((2, 4, 3))}).total.shape == (2, 4)
    assert scored(VECTOR, target, {"force": np.ones((0, 3))}).total.shape == (0,)
    assert scored(VECTOR, target, {"force": np.array([1.0, 2.0, 3.0])}).total == 12.0


def test_a_vector_may_come_entry_by_entry(target):
    columns = {f"force[{i}]": np.array([1.0, 10.0]) * (i + 1) for i in range(3)}
    assert scored(VECTOR, target, columns).total.tolist() == [12.0, 120.0]
    with pytest.raises(MissingField, match=r"'force\[2\]'"):
        run(VECTOR, target, {"force[0]": 1.0, "force[1]": 2.0})


@pytest.mark.parametrize("column", [np.ones((2, 4)), np.ones((3, 2)), 1.0, 7, np.ones(0)], ids=str)
def test_a_vector_of_another_length_is_refused(target, column):
    with pytest.raises(ShapeMismatch, match="reward 'vector', field 'force'.* 3 values"):
        run(VECTOR, target, {"force": column})


def test_rows_that_differ_in_length_are_refused(target):
    with pytest.raises(ShapeMismatch, match="field 'force'.*differ in length"):
        run(VECTOR, target, {"force": [[1.0, 2.0, 3.0], [1.0, 2.0]]})


# -- records, tables, defaults -------------------------------------------------------------------------------------


def test_prev_and_curr_may_be_nested(target, reward, batch):
    nested = {name: column for name, column in batch.items() if "." not in name}
    nested |= {"prev": {"place": batch["prev.place"]}, "curr": {"place": batch["curr.place"]}}
    np.testing.assert_array_equal(run(reward, target, nested).total, run(reward, target, batch).total)


def test_a_structured_array_is_a_batch(target):
    table = np.array([(1.0, 2.0), (3.0, 5.0)], dtype=[("x", "f8"), ("y", "f4")])

    @term
    def product(x, y):
        return x * y

    both = Reward("both", version="1", terms=[product], fields=[Field("x"), Field("y")])
    assert run(both, target, table).total.tolist() == [2.0, 15.0]


def test_a_structured_array_may_nest_records(target):
    @term
    def step(prev, curr):
        return curr.x - prev.x

    moving = Reward("moving", version="1", terms=[step], fields=[Field("x")])
    table = np.zeros(2, dtype=[("prev", [("x", "f8")]), ("curr", [("x", "f8")])])
    table["curr"]["x"] = [1.0, 2.5]
    assert run(moving, target, table).total.tolist() == [1.0, 2.5]


def test_what_is_no_table_is_refused(target):
    with pytest.raises(WrongType, match="a mapping"):
        run(LINE, target, [1.0, 2.0])


def test_a_missing_or_unknown_column_is_named(target, reward, batch):
    with pytest.raises(MissingField, match="reward 'all' needs 'distance'"):
        run(reward, target, {name: column for name, column in batch.items() if name != "distance"})
    with pytest.raises(UnknownInput, match="does not read 'distnce'. Did you mean 'distance'"):
        run(reward, target, {**batch, "distnce": batch["distance"]})


def test_an_absent_column_is_what_its_field_says_is_missing(target):
    @term
    def told(x, mood, lit):
        return x + (10 if mood == "wild" else 0) + (100 if lit else 0)

    fields = [Field("x", missing=2.5), Field("mood", values=("calm", "wild"), missing="wild")]
    fields.append(Field("lit", flag=True, missing=True))
    absent = Reward("absent", version="1", terms=[told], fields=fields)
    assert run(absent, target, {"x": np.array([1.0, 2.0])}).total.tolist() == [111.0, 112.0]
    assert run(absent, target, {}).total == 112.5


def test_none_in_a_column_is_what_its_field_says_is_missing(target):
    column = np.array([1.0, None, 3], object)
    with pytest.raises(MissingField, match="reward 'any', field 'x': a value is None"):
        run(ANY, target, {"x": column})
    told = Reward("told", version="1", terms=[same], fields=[Field("x", missing=2.5)])
    assert run(told, target, {"x": column}).total.tolist() == [1.0, 2.5, 3.0]


def test_what_only_the_end_reads_is_needed_only_there(target, reward, batch):
    steps = {name: column for name, column in batch.items() if name not in ("terminal", "success")}
    assert run(reward, target, steps).scores["ends"].tolist() == [0.0, 0.0, 0.0]
    assert run(reward, target, {**steps, "terminal": False}).ok.all()
    with pytest.raises(MissingField, match="needs 'success'"):
        run(reward, target, {**steps, "terminal": batch["terminal"]})


def test_what_only_the_end_reads_is_checked_only_there(target):
    @term(terminal=True)
    def inverse(steps):
        return 1 / steps

    short = Reward("short", version="1", terms=[same, inverse], fields=[Field("x"), Field("steps", low=1)])
    columns = {"x": np.ones(4), "steps": np.array([0.0, np.nan, 0.5, 4.0])}
    assert scored(short, target, {**columns, "terminal": np.zeros(4, bool)}).total.tolist() == [1.0] * 4
    at_the_end = scored(short, target, {**columns, "terminal": np.ones(4, bool)})
    assert at_the_end.ok.tolist() == [False, False, False, True]
    assert at_the_end.total[3] == 1.25


# -- kinds and dtypes ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, np.int32, np.int64, np.uint64, np.float16, np.float32])
def test_numbers_of_every_width_are_numbers(target, kind):
    assert run(ANY, target, {"x": np.array([0, 1, 100], kind)}).total.tolist() == [0.0, 1.0, 100.0]


@pytest.mark.parametrize("column", [np.array([True]), np.array(["1"]), np.array([1j])], ids=str)
def test_what_is_no_number_is_refused_by_name_and_dtype(target, column):
    with pytest.raises(WrongType, match=r"reward 'any', field 'x': a column of .* does not hold numbers"):
        run(ANY, target, {"x": column})


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int32, np.int64])
def test_positions_of_every_width_are_categories(target, kind):
    columns = {"mood": np.array([0, 1], kind), "lit": np.zeros(2, bool)}
    assert run(KINDS, target, columns).total.tolist() == [0.0, 1.0]


@pytest.mark.parametrize("mood", [np.array(["calm", "wild"]), np.array([0.0, 1.0]), np.array([True, False])], ids=str)
def test_categories_are_positions_and_the_error_says_how_to_make_them(target, mood):
    with pytest.raises(WrongType, match=r"field 'mood'.*reward\.encode\(columns\)"):
        run(KINDS, target, {"mood": mood, "lit": np.zeros(2, bool)})


def test_a_position_beyond_every_category_is_never_wrapped_into_one(target):
    columns = {"mood": np.array([2**32, -(2**32), 2**40 + 1, 1]), "lit": np.zeros(4, bool)}
    assert run(KINDS, target, columns, on_bad="mask").ok.tolist() == [False, False, False, True]


def test_flags_are_true_false_one_and_zero(target):
    columns = {"mood": np.zeros(4, int), "lit": np.array([0, 1, 2, -1])}
    found = run(KINDS, target, columns, on_bad="mask")
    assert found.ok.tolist() == [True, True, False, False]
    assert found.total[:2].tolist() == [0.0, 1.0]
    assert run(KINDS, target, {**columns, "lit": np.array([0.0, 1.0, 0.5, np.nan])}, on_bad="mask").ok.tolist() == [
        *[True, True, False, False]
    ]
    assert run(KINDS, target, {**columns, "lit": np.array([2**32, 1, 0, 2**33])}, on_bad="mask").ok.tolist() == [
        *[False, True, True, False]
    ]
    with pytest.raises(WrongType, match="field 'lit'.* does not hold bools"):
        run(KINDS, target, {**columns, "lit": np.array(["yes"] * 4)})


def test_whole_numbers_too_large_to_be_exact_are_refused(target):
    exact = 2**53 if target in ("numpy", "numba") else 2**24
    column = np.array([exact, -exact, exact + 1, -exact - 1, 2**62])
    found = run(ANY, target, {"x": column}, on_bad="mask")
    assert found.ok.tolist() == [True, True, False, False, False]
    assert found.total[:2].tolist() == [exact, -exact]
    with pytest.raises(InputError, match="reward 'any', field 'x', row 2: .* an integer"):
        run(ANY, target, {"x": column})
    assert run(ANY, target, {"x": np.array([2**64 - 1, 3], np.uint64)}, on_bad="mask").ok.tolist() == [False, True]


def test_whole_numbers_too_large_in_a_vector_spoil_their_row_alone(target):
    column = np.array([[1, 2, 3], [1, 2**60, 3], [4, 5, 6]])
    assert run(VECTOR, target, {"force": column}, on_bad="mask").ok.tolist() == [True, False, True]


def test_encode_turns_texts_into_positions_once(target):
    @term
    def calm(mood):
        return mood == "calm"

    moods = Field("mood", values=("calm", "wild", "other"), other="other")
    calming = Reward("calming", version="1", terms=[calm], fields=[moods])
    encoded = calming.encode({"mood": np.array(["calm", "martian", "wild"])})
    assert encoded["mood"].tolist() == [0, 2, 1]
    assert encoded["mood"].dtype.kind == "i"
    assert run(calming, target, encoded).scores["calm"].tolist() == [1.0, 0.0, 0.0]
    np.testing.assert_array_equal(calming.encode(encoded)["mood"], encoded["mood"])
    with pytest.raises(UnknownCategory, match="field 'mood'.*'clam' is not one of its values. Did you mean 'calm'"):
        KINDS.encode({"mood": ["clam"], "lit": [True]})
    with pytest.raises(MissingField, match="None"):
        KINDS.encode({"mood": np.array([None, "calm"], object), "lit": [True, True]})


# -- bad rows ------------------------------------------------------------------------------------------------------

BAD = np.array([1.0, np.nan, np.inf, -np.inf, 101.0, -101.0, -100.0])


def test_bad_rows_are_masked_whole_and_good_ones_kept(target):
    found = scored(LINE, target, {"x": BAD})
    assert found.ok.tolist() == [True, False, False, False, False, False, True]
    for array in (found.total, *found.values.values(), *found.scores.values()):
        assert np.isnan(array[1:6]).all()
    assert found.total[[0, 6]].tolist() == [3.0, -300.0]


@pytest.mark.parametrize(
    ("column", "error", "words"),
    [
        ([1.0, np.nan], NotFinite, "field 'x', row 1: the value is NaN"),
        ([1.0, 2.0, -np.inf], NotFinite, "field 'x', row 2: -inf is not allowed"),
        ([101.0], OutOfRange, r"field 'x', row 0: 101\.0 is outside its declared range \[-100, 100\]"),
    ],
    ids=str,
)
def test_the_first_bad_row_is_raised_by_number(target, column, error, words):
    with pytest.raises(error, match=f"reward 'line', {words}"):
        run(LINE, target, {"x": np.array(column)})


def test_the_row_number_counts_through_a_batch_of_any_shape(target):
    column = np.zeros((2, 3))
    column[1, 1] = np.nan
    with pytest.raises(NotFinite, match="row 4"):
        run(LINE, target, {"x": column})


def test_an_unknown_position_is_an_unknown_category(target):
    with pytest.raises(UnknownCategory, match="field 'mood', row 1"):
        run(KINDS, target, {"mood": np.array([0, 5]), "lit": np.zeros(2, bool)})


def test_without_guard_ranges_are_not_checked(target):
    found = scored(LINE, target, {"x": BAD}, guard=False)
    assert found.ok.tolist() == [True, False, False, False, True, True, True]  # what is not finite cannot be added up
    assert found.total[4] == 303.0


def test_clipped_and_allowed_numbers_pass(target):
    clip, allow = (
        Reward(way, version="1", terms=[same], fields=[Field("x", low=-1, high=1, outside=way)])
        for way in ("clip", "allow")
    )
    column = np.array([-5.0, 0.5, 5.0, np.nan, np.inf])
    assert scored(clip, target, {"x": column}).total[:3].tolist() == [-1.0, 0.5, 1.0]
    assert scored(allow, target, {"x": column}).total[:3].tolist() == [-5.0, 0.5, 5.0]
    assert scored(clip, target, {"x": column}).ok.tolist() == [True, True, True, False, False]


def test_infinity_is_allowed_where_it_is_declared(target):
    @term
    def headway(x):
        return 0.0 if x > 1e6 else x

    open_road = Reward("open", version="1", terms=[headway], fields=[Field("x", low=0, infinite=True)])
    found = scored(open_road, target, {"x": np.array([np.inf, 2.0, -np.inf, np.nan])})
    assert found.ok.tolist() == [True, True, False, False]
    assert found.total[:2].tolist() == [0.0, 2.0]


def test_a_score_that_is_not_finite_is_refused(target):
    @term(high=1.0)
    def large(x):
        return x * 1e30 * 1e30

    @term
    def small(x):
        return x * 0

    huge = Reward("huge", version="1", terms=[large, small], fields=[Field("x")])
    column = np.array([1e300, 1.0]) if target in ("numpy", "numba") else np.array([1e30, 1e-30], np.float32)
    assert scored(huge, target, {"x": column}).ok.tolist() == [False, True]
    words = "term 'large' of reward 'huge' scores a number that is not finite"
    with pytest.raises(
        InputError, match=words if target in ("numpy", "numba") else "row 0: a number overflows the dtype"
    ):
        scored(huge, target, {"x": column}, on_bad="raise")


def test_an_overflow_of_the_batch_s_own_dtype_is_refused_whatever_the_declared_range(target):
    @term
    def grows(x):
        return math.exp(x) * 0 + (1 if x * 1e37 > 1 else 0)

    bounded = Reward("bounded", version="1", terms=[grows], fields=[Field("x", low=1e-60, high=100)])
    column = np.array([1.0, 95.0], np.float32)
    assert scored(bounded, target, {"x": column}).ok.tolist() == [True, target in ("numpy", "numba")]


def test_every_term_may_overflow_what_the_others_add_up_to(target):
    @term
    def up(x):
        return x

    @term
    def more(x):
        return x

    both = Reward("both", version="1", terms=[up, more], fields=[Field("x")])
    found = scored(both, target, {"x": np.array([1e308, 1.0])})
    assert found.ok.tolist() == [False, True]


# -- parameters ----------------------------------------------------------------------------------------------------


def test_parameters_given_with_a_call_are_what_the_reward_would_have_been(target, reward, batch):
    changed = {"near.reach": 0.5, "far": 10.0, "effort.weight": 3.0, "effort.high": 1.0, "total.low": -1.0}
    found = scored(reward, target, batch, params=changed)
    wanted = scored(reward.with_params(changed), "python", batch)
    np.testing.assert_allclose(found.total, wanted.total, rtol=1e-15)
    assert found.total[2] != scored(reward, target, batch).total[2]


def test_a_flag_is_a_parameter_too(target):
    @term
    def switched(x, *, on=True):
        return x if on else -x

    flagged = Reward("flagged", version="1", terms=[switched], fields=[Field("x")])
    assert scored(flagged, target, {"x": np.array([2.0])}, params={"switched.on": False}).total.tolist() == [-2.0]


def test_an_unknown_parameter_is_refused_by_name(target):
    with pytest.raises(UnknownParameter, match="no parameter 'same.wieght'. Did you mean 'same.weight'"):
        scored(LINE, target, {"x": np.zeros(1)}, params={"same.wieght": 1.0})


def test_what_goes_wrong_under_other_parameters_is_said_of_them(target):
    @term
    def ratio(x, *, shift=1.0):
        return 1 / (x - shift)

    shifted = Reward("shifted", version="1", terms=[ratio], fields=[Field("x")])
    columns = {"x": np.array([5.0, 3.0])}
    assert scored(shifted, target, columns).ok.all()
    assert scored(shifted, target, columns, params={"ratio.shift": 3.0}).ok.tolist() == [True, False]
    with pytest.raises(ArithmeticError, match="term 'ratio' of reward 'shifted' divides by zero, row 1"):
        scored(shifted, target, columns, params={"ratio.shift": 3.0}, on_bad="raise")


def test_nothing_warns_about_rows_that_are_masked_anyway(target):
    @term
    def wild(x):
        return 1 / x + x // x

    compiled = Reward("wild", version="1", terms=[wild], fields=[Field("x")]).compile(
        target, on_bad="mask", **options(target)
    )
    with warnings.catch_warnings(), wide(target):
        warnings.simplefilter("error")
        assert plain(compiled(given(target, {"x": np.array([0.0, np.nan, 1.0])}))).ok.tolist() == [False, False, True]

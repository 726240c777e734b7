"""A reward of functions and weights: what an example says of their fields."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from plaudit import DefinitionError, Field, ReadError, Reward, State, Task, bounds, check, term
from plaudit.errors import OutsideDomain, UnknownField
from plaudit.schedules import linear
from support.strategies import load
from support.written import plain


def near(robot, reach=2.0):
    return 1 if robot.distance < reach else 0


def effort(torque):
    return sum(each**2 for each in torque)


def landed(prev, curr):
    return 1.0 if curr.contact and not prev.contact else 0.0


ROW = {"distance": 1.5, "torque": [0.5, 1.0], "contact": np.array([True]), "when": object(), "3rd": 4}


def make(functions, example, **options):
    return Reward.from_functions(functions, example=example, **options)


def test_names_shapes_and_kinds_are_those_of_the_row():
    reward = make({near: 1.0, effort: -0.1}, ROW)
    assert list(reward.fields.values()) == [Field("distance"), Field("torque", length=2)]
    assert reward.score(distance=1.0, torque=[1.0, 2.0]).values == {"near": 1.0, "effort": -0.5}
    assert (reward.name, reward.version) == ("reward", "1")


def test_it_is_the_reward_that_is_declared_by_hand():
    terms = [term(weight=1.0)(near), term(weight=-0.1)(effort)]
    by_hand = Reward("walk", version="2", terms=terms, fields=[Field("distance"), Field("torque", length=2)], high=1.0)
    assert make({near: 1.0, effort: -0.1}, ROW, name="walk", version="2", high=1.0) == by_hand


def test_bools_are_flags_and_both_ends_of_a_step_are_one_field():
    flag = {"contact": True}
    reward = make({landed: 1.0}, {"prev": flag, "curr": flag})
    assert dict(reward.fields) == {"contact": Field("contact", flag=True)}
    assert reward.inputs == ("curr.contact", "prev.contact")


def test_a_mapping_inside_a_row_is_a_record():
    def height(robot):
        return robot["body"]["pos"][2]

    reward = make({height: 1.0}, {"body": {"pos": (0.0, 0.0, 1.0), "vel": 3.0}})
    assert list(reward.fields) == ["body_pos"]


def test_infinity_in_a_row_is_allowed():
    reward = make({near: 1.0}, {"distance": math.inf})
    assert reward.fields["distance"] == Field("distance", infinite=True)


def test_terms_and_schedules_are_taken_with_their_weights():
    close = term(params={"reach": 0.5}, name="close", weight=9.0)(near)
    reward = make({close: linear(0, 2, over=10), near: 1.0}, {"distance": 1.0, "step": 0})
    assert reward.params["close.reach"] == 0.5
    assert reward.params["close.weight.end"] == 2.0
    assert "step" in reward.fields
    assert close.weight == 9.0


def test_a_default_is_a_field_where_the_example_has_it():
    reward = make({near: 1.0}, {"distance": 1.0, "reach": 2.0})
    assert list(reward.fields) == ["distance", "reach"]


def test_fields_states_and_options_are_those_of_a_reward():
    def smooth(prev, average):
        return average - prev.average

    def fade(prev, distance):
        return 0.5 * prev.average + 0.5 * distance

    fields = [State("average", reset=0.0, update=fade), Field("distance", low=0, high=9)]
    reward = make({smooth: 1.0}, {"distance": 3}, fields=fields, doc="Smooth.", task=Task(horizon=9))
    assert (reward.fields["distance"].high, reward.doc, reward.task.horizon) == (9.0, "Smooth.", 9)
    with pytest.raises(TypeError, match="unexpected keyword argument 'trems'"):
        make({near: 1.0}, ROW, trems=[])
    with pytest.raises(TypeError, match="unexpected keyword argument 'terms'"):
        make({near: 1.0}, ROW, terms=[])


# -- batches and data frames ---------------------------------------------------------------------------------------


def slip(self):
    return np.sum(np.square(self.speed), axis=1) * self.moving


BATCH = {"speed": np.arange(12.0).reshape(4, 3), "moving": np.array([True, False, True, True]), "names": ["a"] * 3}


def test_a_batch_has_the_rows_along_its_first_axis():
    reward = make({slip: 1.0}, BATCH, batched=True)
    assert dict(reward.fields) == {"speed": Field("speed", length=3), "moving": Field("moving", flag=True)}
    assert reward.compile("numpy")({"speed": BATCH["speed"], "moving": BATCH["moving"]}).total.tolist() == [
        *(5.0, 0.0, 149.0, 302.0)
    ]


def test_tensors_are_read():
    torch = pytest.importorskip("torch", reason="needs plaudit[torch]")
    batch = {"speed": torch.ones(4, 3, requires_grad=True), "moving": torch.ones(4, dtype=torch.bool)}
    assert make({slip: 1.0}, batch, batched=True).fields == make({slip: 1.0}, BATCH, batched=True).fields


def pay(gait, speed, torque):
    return speed - sum(torque) if gait == "walk" else 0.0


COLUMNS = {
    "gait": ["walk", "trot", "walk"],
    "speed": [1, 2, 4],
    "torque[0]": [0.1, 0.2, 0.3],
    "torque[1]": [0.0, -0.5, 0.0],
    "unused": [None, "x", 3.0],
}
FRAME_FIELDS = [
    Field("gait", values=("trot", "walk")),
    Field("speed", integers="int64"),
    Field("torque", length=2),
]


@pytest.mark.parametrize("library", ["polars", "pandas", "pyarrow"])
def test_the_columns_of_a_data_frame_are_fields(library):
    module = pytest.importorskip(library)
    columns = {name: column for name, column in COLUMNS.items() if name != "unused"}
    frame = module.table(columns) if library == "pyarrow" else module.DataFrame(columns)
    reward = make({pay: 1.0}, frame)
    assert sorted(reward.fields.values(), key=lambda each: each.name) == FRAME_FIELDS


def test_declared_categories_are_all_there():
    polars, pandas = pytest.importorskip("polars"), pytest.importorskip("pandas")
    kinds = ["walk", "trot", "stand"]
    columns = {"speed": [1.0], "torque": [[0.1, 0.2]]}
    frames = [
        polars.DataFrame({**columns, "gait": polars.Series(["walk"], dtype=polars.Enum(kinds))}),
        pandas.DataFrame({**columns, "gait": pandas.Categorical(["walk"], categories=kinds)}),
    ]
    for frame in frames:
        assert make({pay: 1.0}, frame).fields["gait"].labels == tuple(kinds)


def test_observed_ranges_are_seen_and_not_declared():
    polars = pytest.importorskip("polars")
    reward = make({pay: -1.0}, polars.DataFrame(COLUMNS, strict=False), observed=True)
    assert reward.fields["speed"] == Field("speed", integers="int64")
    assert reward.task.fields["speed"] == Field("speed", low=1, high=4)
    assert reward.task.fields["torque"] == Field("torque", length=2, low=-0.5, high=0.3)
    assert reward.task.find_basis("fields", "speed") == "seen"
    assert bounds(reward).total.low == -math.inf
    assert reward.score(gait="walk", speed=99.0, torque=[0.0, 0.0]).total == -99.0
    task = Task(better={"speed": "high"})
    findings = check(make({pay: -1.0}, polars.DataFrame(COLUMNS, strict=False), observed=True, task=task)).findings
    [wrong] = [each for each in findings if each.code == "wrong-way"]
    assert "the range of speed" in {ground.says for ground in wrong.grounds if ground.basis == "seen"}


# -- spaces --------------------------------------------------------------------------------------------------------


def test_spaces_say_shapes_ranges_and_choices():
    spaces = pytest.importorskip("gymnasium").spaces

    def everything(obs, action, buttons, level, held, many):
        return obs[0] + action + buttons[0] + level + held[0] + many

    declared = spaces.Dict(
        {
            "obs": spaces.Box(np.array([-1, -8], np.float32), np.array([1, 8], np.float32)),
            "action": spaces.Discrete(3, start=1),
            "buttons": spaces.MultiBinary(4),
            "level": spaces.Box(-np.inf, 5.0, ()),
            "held": spaces.MultiDiscrete([2, 5]),
            "many": spaces.Discrete(1000),
        }
    )
    reward = make({everything: 1.0}, declared)
    assert dict(reward.fields) == {
        "obs": Field("obs", length=2, low=-8, high=8),
        "action": Field("action", values=(1, 2, 3)),
        "buttons": Field("buttons", flag=True, length=4),
        "level": Field("level", high=5),
        "held": Field("held", length=2, low=0, high=4, integers="int64"),
        "many": Field("many", low=0, high=999, integers="int64"),
    }
    assert make({everything: 1.0}, dict(declared.spaces)) == reward


# -- integers ------------------------------------------------------------------------------------------------------


def masked(k, x):
    out = np.zeros_like(k)
    out[x > 0] = x[x > 0]
    return out.sum()


def filled(k, x):
    return (np.full_like(k, 0.5) + k + x).sum()


def replaced(k, x):
    copy = k.copy()
    copy[0] = x[0]
    return copy.sum()


@pytest.mark.parametrize("function", [masked, filled, replaced])
def test_a_fraction_in_an_array_of_integers_is_refused(function):
    x = np.array([1.7, 2.7, -1.0])
    with pytest.raises(ReadError, match="where rows hold floats, write it so"):
        make({function: 1.0}, {"k": np.array([1, 2, 3]), "x": x})
    row = {"k": np.array([1.0, 2.0, 3.0]), "x": x}
    assert make({function: 1.0}, row).score(**row).total == function(**row)


def test_a_fraction_in_a_tensor_of_integers_is_refused():
    torch = pytest.importorskip("torch", reason="needs plaudit[torch]")

    def cast(k):
        copy = k.float()
        copy[0] = 0.5
        return copy.sum()

    def kept(k):
        copy = k.clone()
        copy[0] = 0.5
        return copy.sum()

    row = {"k": torch.tensor([1, 2, 3])}
    assert make({cast: 1.0}, row).score(k=[1, 2, 3]).total == 5.5
    with pytest.raises(ReadError, match="'k' is of integers"):
        make({kept: 1.0}, row)


WRAPPING = {
    "a difference": "obs[0] - obs[1]",
    "a difference of arrays": "np.abs(obs[:2] - obs[1:]).sum()",
    "a negative": "-obs[0]",
    "a sum": "obs[0] + obs[1]",
    "a product": "obs[0] * 2",
    "the other bits": "(~obs)[0]",
}


@pytest.mark.parametrize("text", WRAPPING.values(), ids=WRAPPING)
def test_integers_that_wrap_around_are_refused(text):
    spaces = pytest.importorskip("gymnasium").spaces
    function = plain(f"import numpy as np\ndef f(obs): return {text}\n")
    for example in (np.array([3, 5, 7], np.uint8), spaces.Box(0, 255, (3,), np.uint8)):
        with pytest.raises(ReadError, match="'obs' has the dtype uint8, and a result that it does not hold wraps"):
            make({function: 1.0}, {"obs": example})


def test_small_integers_that_are_converted_first_are_read():
    def pixels(obs):
        whole, wide = obs.astype(float), obs.astype(np.int64)
        return whole[0] - whole[1] + (wide[1] - wide[2]) + obs[0] / 255 + (obs[2] >> 1) + np.mean(obs) + obs.max()

    row = np.array([3, 5, 7], np.uint8)
    assert make({pixels: 1.0}, {"obs": row}).score(obs=row).total == pytest.approx(float(pixels(row)))


def test_bits_are_those_of_an_integer_in_the_example():
    def bits(k):
        return (k >> 1) + (k & 1)

    reward = make({bits: 1.0}, {"k": 3})
    assert [reward.score(k=k).total for k in (3, -3, 8)] == [bits(3), bits(-3), bits(8)]
    assert reward.evolve(version="2").score(k=5).total == bits(5)
    with pytest.raises(OutsideDomain, match="takes the bits of a number that is no integer"):
        reward.score(k=0.5)
    assert not [each for each in check(reward).findings if each.code == "not-a-number"]


def test_integers_in_a_careless_example_refuse_no_row():
    def halve(speed):
        return int(speed) + speed / 2 - 1

    reward = make({halve: 1.0}, {"speed": 0})
    assert reward.score(speed=1.5).total == halve(1.5)


# -- mistakes ------------------------------------------------------------------------------------------------------

WRONG = {
    "rows instead of a row": (lambda: make({effort: 1.0, near: 1.0}, {"torque": np.ones((9, 2)), "distance": np.ones(9)}),
        ReadError, "Every value of the example has 9 entries along its first axis. .* batched=True"),
    "two lengths": (lambda: make({slip: 1.0}, {**BATCH, "moving": np.ones(3, bool)}, batched=True),
        DefinitionError, "'moving' has 3 rows and 'speed' has 4"),
    "a number in a batch": (lambda: make({slip: 1.0}, {**BATCH, "moving": 1.0}, batched=True),
        DefinitionError, r"'moving' is a single value, .* shared=\{'moving': ...\}"),
    "what is not there": (lambda: make({near: 1.0}, {"distanc": 1.0}), UnknownField, "Did you mean 'distanc'"),
    "a string": (lambda: make({pay: 1.0}, {"gait": "walk", "speed": 1.0, "torque": [1.0]}),
        DefinitionError, r"'gait' is a string, .* fields=\[Field\('gait', values=\('walk', ...\)\)\]"),
    "None": (lambda: make({near: 1.0}, {"distance": None}), DefinitionError, "None .* with missing="),
    "an object": (lambda: make({near: 1.0}, {"distance": SimpleNamespace()}), DefinitionError, "not a number, a bool"),
    "NaN": (lambda: make({near: 1.0}, {"distance": math.nan}), DefinitionError, "NaN or minus infinity"),
    "ragged": (lambda: make({effort: 1.0}, {"torque": [[1.0], [1.0, 2.0]]}), DefinitionError, "differ in length"),
    "a list": (lambda: make({near: 1.0}, [1.0]), DefinitionError, r"example= is a list, and its values need names"),
    "functions in a list": (lambda: make([near], ROW), DefinitionError, "the weight of each function, .* not a list"),
    "one row observed": (lambda: make({near: 1.0}, ROW, observed=True), DefinitionError, "needs several rows"),
}  # fmt: skip


@pytest.mark.parametrize(("call", "error", "match"), WRONG.values(), ids=WRONG)
def test_an_example_that_does_not_fit_is_one_clear_message(call, error, match):
    with pytest.raises(error, match=match):
        call()


def test_a_field_that_is_missing_is_no_question_of_batches():
    with pytest.raises(UnknownField) as raised:
        make({near: 1.0}, {"torque": np.ones(9)})
    assert "batch" not in str(raised.value)


def test_a_space_without_a_name_is_refused():
    spaces = pytest.importorskip("gymnasium").spaces
    with pytest.raises(DefinitionError, match=r"the space Box.* need names: .* \{'obs': env.observation_space"):
        make({near: 1.0}, spaces.Box(-1, 1, (3,)))
    with pytest.raises(DefinitionError, match="'distance' is a Text space"):
        make({near: 1.0}, {"distance": spaces.Text(5)})


@pytest.mark.parametrize("default", ["[[]]", "None", "np.array([[]])", "'arms'"])
def test_a_field_of_the_example_takes_the_place_of_a_default_that_cannot_be_read(default):
    function = load(f"import numpy as np\ndef f(v, w={default}): return v - np.sum(np.linalg.norm(w, axis=-1))")["f"]
    row = {"v": 1.0, "w": [[3.0, 4.0]]}
    assert make({function: 2.0}, row).score(**row).total == 2.0 * function(**row) == -8.0
    declared = make({function: 1.0}, {"v": 1.0}, fields=[Field("w", shape=(1, 2))])
    assert declared.score(**row).total == -4.0


@pytest.mark.parametrize(
    "call",
    [
        lambda: make({near: 1.0}, {"distance": []}),
        lambda: make({effort: 1.0}, {"torque": [[], []]}),
        lambda: make({pay: 1.0}, {"gait": 1.0, "speed": 1.0}, shared={"torque": []}),
        lambda: Field("torque", shape=(0,)),
    ],
)
def test_an_empty_list_says_that_its_length_may_not_vary(call):
    with pytest.raises(DefinitionError, match="a list whose length varies cannot be a field: pass a flag or a count"):
        call()

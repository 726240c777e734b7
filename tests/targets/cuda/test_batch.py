"""A batch of CUDA: arrays that are refused, outputs that are left out, knobs as bytes, and states over steps."""

import numpy as np
import pytest

from plaudit import Field, Reward, State, term
from plaudit.errors import DefinitionError, MissingField, ShapeMismatch, TargetError, UnknownInput, WrongType
from support.cuda_batches import CudaFunction, convert_columns, empty_outputs
from support.strategies import load

# -- arrays ------------------------------------------------------------------------------------------------------------


def test_arrays_stand_in_the_order_of_the_struct(reward):
    compiled = reward.compile("cuda", knobs="struct")
    struct = compiled.header.partition("typedef struct all_batch {")[2].partition("} all_batch;")[0]
    members = [
        line.partition("*")[2].partition(";")[0] for line in struct.splitlines() if "*" in line.partition(";")[0]
    ]
    assert members == [array.place.rpartition(".")[2] for array in compiled.arrays]
    assert [array.name for array in compiled.arrays if not array.required and array.name.startswith("in.")] == [
        "in.terminal"
    ]


def test_outputs_that_are_not_given_are_not_written(reward, batch, totals):
    compiled = reward.compile("cuda")
    arrays = convert_columns(compiled, batch) | {"out.total": np.zeros(3)}
    CudaFunction(compiled)(arrays, rows=3)
    np.testing.assert_allclose(arrays["out.total"], totals, rtol=1e-15)


def test_without_a_terminal_column_no_row_is_the_end(reward, batch, totals):
    arrays = convert_columns(reward.compile("cuda"), batch)
    del arrays["in.terminal"]
    arrays["out.total"] = np.zeros(3)
    CudaFunction(reward.compile("cuda"))(arrays, rows=3)
    np.testing.assert_allclose(arrays["out.total"], [*totals[:2], totals[2] - 10], rtol=1e-15)


def test_a_bad_row_says_why_in_arrays(reward, batch):
    compiled = reward.compile("cuda")
    columns = batch | {"force": np.array([[1.0, 2.0], [0.0, 99.0], [0.0, 0.0]])}
    arrays = convert_columns(compiled, columns) | empty_outputs(compiled, 3)
    CudaFunction(compiled)(arrays, rows=3)
    assert arrays["out.ok"].tolist() == [True, False, True]
    assert arrays["out.status"].tolist() == [0, 2, 0]
    assert arrays["out.entry"].tolist() == [0, 1, 0]
    assert list(compiled.structs.field_names)[arrays["out.field"][1]] == "force"
    assert "force" in compiled.checks[arrays["out.check"][1] - 1].text
    assert np.isnan([arrays[name][1] for name in ("out.total", "out.values.near", "out.scores.effort")]).all()


def test_no_rows_are_no_rows(reward, batch):
    compiled = reward.compile("cuda")
    arrays = convert_columns(compiled, batch) | {"out.total": np.full(3, 7.0)}
    empty = {name: array[:0] for name, array in arrays.items()}
    CudaFunction(compiled)(empty, rows=0)
    assert arrays["out.total"].tolist() == [7.0] * 3


@pytest.mark.parametrize(
    ("change", "error", "told"),
    [
        ({"in.distance": np.zeros(3, np.float32)}, WrongType, "'in.distance': double is needed, but the dtype is f4"),
        ({"in.mood": np.zeros(3, np.int64)}, WrongType, "int is needed, but the dtype is i8"),
        ({"in.lit": np.zeros(3)}, WrongType, "bool is needed"),
        ({"in.lit": np.full(3, 2, np.uint8)}, WrongType, "bool is needed, but the dtype is u1"),
        ({"in.distance": np.zeros(4)}, ShapeMismatch, r"3 rows of 1, contiguous, are needed, but the shape is \(4,\)"),
        ({"in.force": np.zeros((3, 3))}, ShapeMismatch, "3 rows of 2"),
        ({"in.force": np.zeros((2, 3)).T}, ShapeMismatch, "contiguous"),
        ({"in.distance": [1.0, 2.0, 3.0]}, WrongType, "list has no __cuda_array_interface__"),
        ({"in.distanse": np.zeros(3)}, UnknownInput, "Did you mean 'in.distance'"),
        ({"out.total": np.zeros(3, np.float32)}, WrongType, "double is needed"),
        ({"in.distance": None}, MissingField, "'in.distance' of the batch is not given"),
    ],
)
def test_an_array_that_the_kernel_would_misread_is_refused(reward, batch, change, error, told):
    compiled = reward.compile("cuda")
    arrays = convert_columns(compiled, batch) | change
    with pytest.raises(error, match=told):
        compiled.describe_batch({name: array for name, array in arrays.items() if array is not None}, rows=3)


def test_an_array_of_a_device_is_read_by_its_interface(reward, batch):
    class OnDevice:
        def __init__(self, array):
            self.__cuda_array_interface__ = array.__array_interface__

    compiled = reward.compile("cuda")
    arrays = convert_columns(compiled, batch)
    wanted = compiled.describe_batch(arrays, rows=3)
    assert compiled.describe_batch({name: OnDevice(array) for name, array in arrays.items()}, rows=3) == wanted


# -- knobs -------------------------------------------------------------------------------------------------------------

KNOBS = """\
import numpy as np

REST = np.array([[0.5, 2.0], [0.25, 1.0]])


def pose(joint, *, strict=False, rest=REST, gain=3.0, far, tidy=True):
    off = sum(abs(joint[i] - rest[1][i]) * rest[0][i] for i in range(2))
    return (gain if strict else 1.0) * off / far + (1.0 if tidy else 0.0)


def first(joint, *, scaled=True):
    return joint[0] if scaled else 0.0


def opened(joint, *, always=False, never=False):
    return (joint[1] < 1.5 or always) and not never
"""


@pytest.mark.parametrize(("real", "dtype"), [("double", "float64"), ("float", "float32")])
def test_knobs_are_packed_as_the_struct_has_them(real, dtype):
    space = load(KNOBS)
    reward = Reward(
        "pose",
        version="1",
        terms=[term(space["pose"]), term(high=2.0)(space["first"])],
        gate=space["opened"],
        fields=[Field("joint", length=2, low=-3, high=3)],
        shared={"far": 4.0},
    )
    columns = {"joint": np.array([[1.0, 2.0], [0.25, -1.0]])}
    params = {"pose.strict": True, "pose.rest": [[1.0, 0.5], [0.0, 0.25]], "far": 8.0, "pose.tidy": False}
    params |= {"first.scaled": False, "gate.always": True, "first.weight": 0.5}
    function = CudaFunction(reward.compile("cuda", knobs="struct", real=real))
    for given in ({}, params):
        wanted = reward.compile("numpy", dtype=dtype)(columns, given)
        assert function.score(columns, params=given).total.tolist() == wanted.total.tolist()
    assert function.score(columns).total.tolist() == reward.compile("numpy", dtype=dtype)(columns).total.tolist()


def test_knobs_that_cannot_be_are_refused(reward, batch):
    compiled = reward.compile("cuda", knobs="struct")
    arrays = convert_columns(compiled, batch)
    for knobs, error in ((np.zeros(3, np.uint8), ShapeMismatch), (np.zeros(len(compiled.pack_knobs())), WrongType)):
        with pytest.raises(error, match="'knobs'"):
            compiled.describe_batch({**arrays, "knobs": knobs}, rows=3)
    with pytest.raises(TargetError, match='knobs="struct"'):
        reward.compile("cuda").pack_knobs()
    with pytest.raises(DefinitionError, match="near.reech"):
        reward.compile("cuda", knobs="struct").pack_knobs({"near.reech": 1.0})


# -- states ------------------------------------------------------------------------------------------------------------

STATES = """\
def count(contact, prev):
    return [0.0 if contact[i] else prev.air[i] + 0.5 for i in range(2)]


def was(contact, prev):
    return [contact[0], prev.seen[0], contact[1]]


def pays(air, prev, seen, contact):
    return sum(prev.air[i] * contact[i] for i in range(2)) + air[0] + (1.0 if seen[1] else 0.0)
"""


@pytest.mark.parametrize("resets", [True, False])
def test_states_are_carried_over_steps_and_kept_where_a_row_is_bad(resets):
    space = load(STATES)
    fields = [
        Field("contact", flag=True, length=2),
        State("air", shape=(2,), reset=[0.0, 0.25], low=0, high=3, update=space["count"]),
        State("seen", flag=True, shape=(3,), reset=[True, False, True], update=space["was"]),
    ]
    reward = Reward("feet", version="1", terms=[term(space["pays"])], fields=fields)
    compiled, numpy = reward.compile("cuda"), reward.compile("numpy", on_bad="mask")
    function, rng, rows = CudaFunction(compiled), np.random.default_rng(0), 40
    state = reward.initial_state(rows)
    arrays = {f"state.{name}": array.copy() for name, array in state.items()} | empty_outputs(compiled, rows)
    bad = 0
    for _ in range(12):
        contact, reset = rng.random((rows, 2)) < 0.2, rng.random(rows) < 0.1
        arrays["in.contact"] = contact
        if resets:
            arrays["reset"] = reset
        function(arrays, rows=rows)
        scores, state = numpy.step({"contact": contact}, state, reset=reset if resets else None)
        np.testing.assert_array_equal(arrays["out.ok"], scores.ok)
        np.testing.assert_array_equal(arrays["out.total"], scores.total)
        for name, array in state.items():
            np.testing.assert_array_equal(arrays[f"state.{name}"], array)
        bad += (~scores.ok).sum()
    assert bad > 5, "no row left the range of a state"


def test_a_reward_that_reads_nothing_but_its_state_needs_no_columns():
    space = load("def count(prev):\n    return prev.steps + 1\n\n\ndef late(curr):\n    return -curr.steps\n")
    steps = State("steps", reset=0.0, low=0, update=space["count"])
    reward = Reward("late", version="1", terms=[term(space["late"])], fields=[steps])
    arrays = {"state.steps": np.array([4.0, 9.0]), "out.total": np.zeros(2)}
    CudaFunction(reward.compile("cuda"))(arrays, rows=2)
    assert (arrays["out.total"].tolist(), arrays["state.steps"].tolist()) == ([-5.0, -10.0], [5.0, 10.0])

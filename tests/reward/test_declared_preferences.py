"""Preferences: flat, fitted to the inputs of their reward, and refused where they name anything else."""

import math

import numpy as np
import pytest

from plaudit import DefinitionError, Field, Preference, Reward, Task, prefer, term
from plaudit.errors import UnknownField
from support.written import module

SPACE = module("""
def gap(distance, lit): return 1 if distance > 5 and lit else -1
def moved(prev, curr, mood): return curr.level - prev.level if mood == "calm" else 0
def effort(torque): return -sum(abs(t) for t in torque)
def won(bonus): return bonus
""")
FIELDS = (
    Field("distance", low=0, infinite=True),
    Field("lit", flag=True),
    Field("level", values=(0, 1, 2)),
    Field("mood", values=("calm", "wild"), other="wild"),
    Field("torque", length=2, low=-1, high=1),
    Field("bonus"),
)


def made(*preferences):
    terms = [term(terminal=name == "won")(SPACE[name]) for name in ("gap", "moved", "effort", "won")]
    return Reward("r", version="1", terms=terms, fields=FIELDS, task=Task(prefer=preferences))


def fitted(better, over=({},)):
    return made(prefer(better, over=over))._bound.prefer[0]


def test_each_side_is_one_step_or_several():
    one = prefer({"distance": 9}, over=[{"distance": 1}, {"distance": 2}], because="space")
    assert isinstance(one, Preference)
    assert [dict(row) for row in one.better] == [{"distance": 9}]
    assert [dict(row) for row in one.over] == [{"distance": 1}, {"distance": 2}]
    assert one.because == "space"
    assert one == prefer([{"distance": 9}], over=({"distance": 1}, {"distance": 2}), because="space")
    assert hash(one) == hash(prefer({"distance": 9}, over={"distance": 1}, because="space"))


def test_the_two_ends_of_a_step_are_flat():
    flat = prefer({"prev": {"level": 0}, "curr": {"level": 1}}, over={"prev.level": 1})
    assert dict(flat.better[0]) == {"prev.level": 0, "curr.level": 1}
    with pytest.raises(TypeError):
        flat.better[0]["prev.level"] = 2


def test_in_a_reward_names_and_values_are_those_of_its_inputs():
    assert fitted({"distance": 9, "lit": True, "mood": "wild", "prev": {"level": 2}}).better[0] == {
        "distance": 9.0,
        "lit": True,
        "mood": "wild",
        "prev.level": 2.0,
    }
    assert repr(fitted({"distance": np.float32(9)}).better[0]["distance"]) == "9.0"
    assert fitted({"distance": math.inf}).better[0] == {"distance": math.inf}
    assert fitted({"curr": {"distance": 9}}).better[0] == {"distance": 9.0}  # read plainly: after the step
    assert fitted({"terminal": True, "bonus": 1}).better[0] == {"terminal": True, "bonus": 1.0}


def test_a_vector_is_given_whole_or_by_its_entries():
    whole = {"torque[0]": 0.5, "torque[1]": 1.0}
    assert fitted({"torque": (0.5, 1)}).better[0] == whole
    assert fitted({"torque": np.array([0.5, 1])}).better[0] == whole
    assert fitted({"torque[1]": 1}).better[0] == {"torque[1]": 1.0}


def test_what_a_side_leaves_out_is_free():
    assert fitted({"distance": 1}).over == ({},)
    assert fitted({"distance": 1, "lit": True}).reads == {"distance", "lit"}


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"distnce": 1}, "'distnce', which neither the reward nor the task declares. Did you mean 'distance'?"),
        ({"level": 1}, "'level', which the reward does not read"),
        ({"prev": {"distance": 1}}, "'prev.distance', which the reward does not read"),
        ({"torque[2]": 1}, "'torque\\[2\\]', which the reward does not read"),
        ({"total": 1}, "'total', which neither the reward nor the task declares"),
    ],
)
def test_a_name_that_is_no_input_is_refused(row, words):
    with pytest.raises(UnknownField, match=words):
        fitted(row)


@pytest.mark.parametrize(
    "row",
    [
        {"distance": -1},
        {"distance": math.nan},
        {"distance": True},
        {"distance": "9"},
        {"distance": None},
        {"distance": [9]},
        {"distance": 2**53 + 1},
        {"bonus": math.inf},
        {"lit": 1},
        {"mood": "martian"},
        {"mood": 0},
        {"prev.level": 3},
        {"torque": (0, 0, 0)},
        {"torque": 0.5},
        {"torque": (0, 2)},
    ],
    ids=str,
)
def test_a_value_that_the_field_does_not_hold_is_refused(row):
    with pytest.raises(DefinitionError, match=r"is not a value that the field allows|2 values are needed"):
        fitted(row)


@pytest.mark.parametrize("side", [None, 5, "distance", [], [5], [{"distance": 1}, None], {5: 1}, {"prev": 5}])
def test_a_side_that_is_no_step_is_refused(side):
    with pytest.raises(DefinitionError):
        prefer(side, over={"distance": 1})
    with pytest.raises(DefinitionError):
        prefer({"distance": 1}, over=side)


def test_other_mistakes_are_refused():
    with pytest.raises(DefinitionError, match="must be a string"):
        prefer({"distance": 1}, over={"distance": 2}, because=5)
    with pytest.raises(DefinitionError, match="twice, in two ways"):
        prefer({"prev.level": 1, "prev": {"level": 2}}, over={})
    with pytest.raises(DefinitionError, match="twice, in two ways"):
        fitted({"torque": (0, 0), "torque[0]": 1})
    with pytest.raises(DefinitionError, match="the same on both sides"):
        fitted({"distance": 1}, over={"distance": 1.0})
    with pytest.raises(DefinitionError, match="is not a preference"):
        made({"distance": 1})

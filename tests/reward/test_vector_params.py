"""Parameters that are vectors: arrays as defaults, shared tuples, overrides whole and by entry, specifications."""

import json

import numpy as np
import pytest

from plaudit import DefinitionError, Field, Reward, check, term
from plaudit.cli._support.options import parse_setting
from plaudit.errors import SpecError, UnknownParameter

DEFAULT = np.array([0.1, 0.8, -1.5])
MIXING = np.array([[1, 2, 3], [4, 5, 6]])
ON = np.array([True, False])


@term(weight=-1.0)
def pose(joints, *, default=DEFAULT, scale=2.0):
    return sum(scale * (q - d) ** 2 for q, d in zip(joints, default, strict=True))


@term
def home(joints, *, homing):
    return -max(abs(q - d) for q, d in zip(joints, homing, strict=True)) + homing[1]


@term
def mixed(joints, *, mixing=MIXING, on=ON):
    first = sum(m * q for m, q in zip(mixing[0], joints, strict=True)) if on[0] else 0.0
    return first + (mixing[1][2] if on[1] else 0.0)


FIELDS = [Field("joints", length=3, low=-3, high=3)]
POSED = Reward("posed", version="1", terms=[pose, home], fields=FIELDS, shared={"homing": (0.0, 0.5, 1)})
MIXED = Reward("mixed", version="1", terms=[mixed], fields=FIELDS)
JOINTS = (1.0, 0.5, -2.0)


def expect(default=(0.1, 0.8, -1.5), homing=(0.0, 0.5, 1.0)):
    off = sum(2.0 * (q - d) * (q - d) for q, d in zip(JOINTS, default, strict=True))
    return -off + (-max(abs(q - d) for q, d in zip(JOINTS, homing, strict=True)) + homing[1])


def test_an_array_is_one_parameter_an_entry():
    assert dict(POSED.params) == {
        "pose.default[0]": 0.1,
        "pose.default[1]": 0.8,
        "pose.default[2]": -1.5,
        "pose.scale": 2.0,
        "pose.weight": -1.0,
        "home.weight": 1.0,
        "homing[0]": 0.0,
        "homing[1]": 0.5,
        "homing[2]": 1.0,
    }
    assert pose.knobs == {"default": (0.1, 0.8, -1.5), "scale": 2.0}
    assert POSED.shared == {"homing": (0.0, 0.5, 1.0)}
    assert POSED.score(joints=JOINTS).total == pytest.approx(expect(), rel=1e-14)
    assert POSED.gradients()["pose.default[1]"]


def test_matrices_and_bools_are_parameters_too():
    assert MIXED.params["mixed.mixing[1][2]"] == 6.0
    assert MIXED.params["mixed.on[0]"] is True
    assert MIXED.score(joints=JOINTS).total == -4.0
    assert MIXED.with_params(mixed={"on": [False, True]}).score(joints=JOINTS).total == 6.0
    assert MIXED.with_params({"mixed.mixing[1][2]": 7.5, "mixed.on[1]": True}).score(joints=JOINTS).total == 3.5
    assert MIXED.with_params({"mixed.mixing": np.ones((2, 3))}).score(joints=JOINTS).total == -0.5
    assert Reward.from_json(MIXED.to_json()) == MIXED


def test_a_vector_is_overridden_whole_or_by_entry(tmp_path):
    other = (0.0, 1.0, 2.0)
    ways = [
        POSED.with_params(pose={"default": other}),
        POSED.with_params({"pose.default": list(other)}),
        POSED.with_params({"pose.default": np.array(other)}),
        POSED.with_params({f"pose.default[{at}]": number for at, number in enumerate(other)}),
        POSED.with_params({"pose.default": (9, 1, 2), "pose.default[0]": 0.0}),
        POSED.with_params(dict([parse_setting("pose.default=[0, 1.0, 2]")])),
    ]
    path = tmp_path / "other.toml"
    path.write_text("homing = [1, 1, 1]\n[pose]\ndefault = [0.0, 1, 2.0]\n", encoding="utf-8")
    tuned = POSED.with_file(path)
    assert all(each == ways[0] for each in ways)
    assert ways[0].fingerprint != POSED.fingerprint
    assert ways[0].score(joints=JOINTS).total == pytest.approx(expect(other), rel=1e-14)
    assert tuned.score(joints=JOINTS).total == pytest.approx(expect(other, (1.0, 1.0, 1.0)), rel=1e-14)
    assert POSED.with_params({"pose.default": [0.1, 0.8, -1.5]}) == POSED
    assert ways[0].terms[0](np.array(JOINTS)) == pytest.approx(2.0 + 0.5 + 32.0)


REFUSED = {
    "too few": ({"pose.default": [1, 2]}, "has the shape (3,), and this value has the shape (2,)"),
    "a matrix": ({"pose.default": [[1, 2, 3]]}, "has the shape (3,), and this value has the shape (1, 3)"),
    "a number": ({"pose.default": 1.0}, "values of the shape (3,) are needed"),
    "a bool among numbers": ({"pose.default": [1, 2, True]}, "numbers or bools, not both"),
    "bools": ({"pose.default": [True, False, True]}, "numbers are needed"),
    "a text": ({"pose.default": [1, 2, "a"]}, "pose.default[2]='a' must be a finite number"),
    "NaN": ({"pose.default": [1, float("nan"), 2]}, "pose.default[1]=nan must be a finite number"),
    "a vector for a number": ({"pose.scale": [1.0, 2.0]}, "pose.scale=[1.0, 2.0] must be a finite number"),
    "a ragged matrix": ({"homing": [[1, 2], [3]]}, "rows that differ"),
    "nothing": ({"homing": []}, "homing: "),
}


@pytest.mark.parametrize(("values", "words"), REFUSED.values(), ids=REFUSED)
def test_a_value_that_the_parameter_cannot_have_is_refused(values, words):
    with pytest.raises(DefinitionError) as caught:
        POSED.with_params(values)
    assert words in str(caught.value)


def test_an_entry_that_there_is_not_is_refused_with_whole_names():
    with pytest.raises(UnknownParameter) as caught:
        POSED.with_params({"pose.default[3]": 1.0})
    assert "Its parameters: pose.default, pose.scale, pose.weight, home.weight, homing." in str(caught.value)


@pytest.mark.parametrize(
    "default",
    [np.array([]), np.zeros((1, 1, 1, 1)), np.zeros(5_000), np.array(["a"])],
    ids=str,
)
def test_an_array_that_cannot_be_a_parameter_is_refused(default):
    def held(joints, *, pose=default):
        return joints[0]

    with pytest.raises(DefinitionError, match=r"held\.pose"):
        term(held)


def test_a_tuple_stays_the_constant_that_it_was():
    @term
    def pays(level, mode, torque, *, table=(0.0, 0.5, 2.0), modes=("a", "b"), gains=(1.0, 3.0)):
        bonus = 1.0 if mode in modes else 0.0
        return table[level] + table[1] + modes.index(mode) + bonus + sum(g * t for g, t in zip(gains, torque))  # noqa: B905 - as it was read first

    fields = [Field("level", values=(0, 1, 2)), Field("mode", values=("a", "b")), Field("torque", length=2)]
    reward = Reward("tables", version="1", terms=[pays], fields=fields)
    assert reward.fingerprint == "88cb009758d44c31a25b9fd8b839419bfb7204f2d0b5d6e8c6755afe7d854970"
    assert reward.domain_fingerprint == "a8f68885edeb468d06ae9b333a9d7adf38330f2daa88ac21f77e2eabbdb51614"
    assert dict(reward.params) == {"pays.weight": 1.0}
    with pytest.raises(UnknownParameter, match=r"'table' is a constant .* a vector of knobs is an array"):
        reward.with_params(pays={"table": (1.0, 2.0, 3.0)})


def test_a_specification_holds_vectors_as_lists():
    data = POSED.to_dict()
    assert data["terms"][0]["knobs"] == {"default": [0.1, 0.8, -1.5], "scale": 2.0}
    assert data["params"] == {"homing": [0.0, 0.5, 1.0]}
    loaded = Reward.from_json(POSED.to_json())
    assert loaded == POSED
    assert loaded.with_params({"pose.default": (0, 1, 2)}) == POSED.with_params({"pose.default": (0, 1, 2)})


def deep():
    value = 1.0
    for _ in range(900):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value", [[], [1, 2], 0.5, [1, 2, "a"], [[1], [2, 3]], deep(), [0.0] * 5_000, {"0": 1}, "abc", None, [1, 2, None]]
)
@pytest.mark.parametrize("shared", [True, False])
def test_a_hostile_vector_in_a_specification_is_refused(value, shared):
    data = json.loads(POSED.to_json())
    if shared:
        data["params"]["homing"] = value
    else:
        data["terms"][0]["knobs"]["default"] = value
    with pytest.raises(SpecError):
        Reward.from_dict(data)


def test_it_is_read_back_as_python_and_checked():
    assert "def pose(joints, *, scale=2.0, default=(0.1, 0.8, -1.5)):" in POSED.source()
    assert "homing[1]" in POSED.formula()
    assert not [finding for finding in check(POSED).findings if finding.code == "unused-knob"]

    @term
    def idle(joints, *, unread=DEFAULT):
        return joints[0] + joints[1] + joints[2]

    found = check(Reward("idle", version="1", terms=[idle], fields=FIELDS)).findings
    assert [each.message for each in found if each.code == "unused-knob"] == [
        "the knob 'idle.unread' changes nothing: its term does not use it."
    ]

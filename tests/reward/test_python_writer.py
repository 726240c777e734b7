"""A reward written as Python: the text is a module that makes the same reward, and errors name what it cannot import."""

import enum
import importlib.util
import linecache
import math
import subprocess
import sys
import types
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pytest

from plaudit import DefinitionError, Event, Field, Reward, State, Task, fact, term
from plaudit.adapters.isaaclab import read_rewards
from plaudit.schedules import linear, piecewise
from plaudit.systems import BUILT_IN, hackmatrix
from support.command_line import built_in

FIELDS = [Field("speed", low=-5, high=5, unit="m/s", doc='Of the "hull".'), Field("fallen", flag=True)]


@pytest.fixture
def keep(tmp_path):
    """Return the reward that a reward's text makes, read from a file as anybody's is."""

    def keep(reward):
        (tmp_path / "kept.py").write_text(reward.to_python(), encoding="utf-8")
        spec = importlib.util.spec_from_file_location("kept", tmp_path / "kept.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.reward

    return keep


def assert_same(kept, reward):
    assert kept == reward
    assert kept.fingerprint == reward.fingerprint
    assert kept.domain_fingerprint == reward.domain_fingerprint
    assert kept.params == reward.params
    assert [vars(each).keys() for each in kept.terms] == [vars(each).keys() for each in reward.terms]
    for one, other in zip(kept.terms, reward.terms, strict=True):
        assert (one.doc, one.kind, one.allow, one.batched) == (other.doc, other.kind, other.allow, other.batched)
    assert (kept.doc, kept.allow, kept.action) == (reward.doc, reward.allow, reward.action)


# -- functions of this module --------------------------------------------------------------------------------------


class Gait(enum.Enum):
    WALK = "walk"
    TROT = "trot"


@dataclass
class Entity:
    name: str
    joint_names: object = None
    joint_ids: object = field(default_factory=lambda: slice(None))


@dataclass
class RewTerm:
    func: object
    weight: float
    params: dict = field(default_factory=dict)


ROBOT = Entity("robot")


def forward(speed, *, far=2.0):
    """Go."""
    return min(speed, far)


@term(weight=0.5, high=1.0, kind="penalty", allow={"jump": "it is meant"}, gated=False)
def slow(speed, *, least=1.0):
    return 1.0 if abs(speed) < least else 0.0


REST = np.array([0.1, 0.8])


def posture(joints, default=REST, gains=(1.0, 2.0)):
    return sum(gain * (q - d) ** 2 for q, d, gain in zip(joints, default, gains, strict=True))


def min_(speed):  # what the text calls it must not be what it calls something else
    return speed


def reward(speed, mode, table, limit):
    return table[mode["gait"]] * min(speed, limit)


def gate(speed, *, reach=0.5):
    return speed > reach


def lost(average, *, floor=-4.0):
    return average < floor


def fade(prev, speed, *, keep=0.9):
    """Smoothed."""
    return keep * prev.average + (1 - keep) * speed


def parked(speed, fallen):
    return abs(speed) < 0.1 and not fallen


@fact
def upright(speed, fallen):
    return not fallen or speed == 0


class Robot:
    sigma = 0.25

    def __init__(self, sigma):
        self.sigma = sigma

    def tracking(self, speed):
        return math.exp(-speed * speed / self.sigma)

    @classmethod
    def falls(cls, fallen):
        return cls.sigma * fallen


HEAVY = Robot(0.5)


@dataclass
class Follower:
    wanted: float
    slack: float = 0.5

    def __call__(self, speed):
        return -abs(speed - self.wanted)

    def miss(self, speed):
        return abs(speed - self.wanted) > self.slack


FOLLOWER = Follower(2.0)


def torques(env, scale, asset_cfg=ROBOT):
    return scale * env.scene[asset_cfg.name].data.torque[:, asset_cfg.joint_ids].square().sum(dim=1)


def standing(env, gait=Gait.WALK):
    return 1.0 * (env.height > (0.5 if gait == Gait.WALK else 0.7))


# -- the same reward -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_version_of_a_built_in_system_is_written_whole(keep, name):
    module = importlib.import_module(f"plaudit.systems.{name}")
    assert module.VERSIONS
    for version in module.VERSIONS:
        assert_same(keep(module.version(version)), module.version(version))


def test_functions_and_their_weights(keep):
    row = {"speed": 1.0, "joints": np.zeros(2), "unread": 3}
    functions = {forward: 1.0, posture: linear(-1, -2, over=1000), slow: 2.0}
    made = Reward.from_functions(functions, example=row, name="moving", fields=[Field("step", low=0)], scale=0.02)
    assert_same(keep(made), made)
    changed = made.with_params({"posture.default": (0.3, 0.4), "forward.far": 3.0, "slow.high": 0.25})
    assert_same(keep(changed), changed)
    assert "slow.with_(weight=2.0, high=0.25)" in changed.to_python()


def test_a_config_with_its_objects(keep):
    torch = pytest.importorskip("torch", reason="needs plaudit[torch]")
    config = {
        "knees": RewTerm(torques, -0.1, {"scale": 0.5, "asset_cfg": Entity("robot", joint_names=".*_knee")}),
        "stand": RewTerm(standing, 1.0, {"gait": Gait.TROT}),
    }
    made = read_rewards(
        config,
        example={"torque": torch.zeros(2, 4), "height": torch.zeros(2)},
        scene={"robot": {"joint_names": ["L_hip", "L_knee", "R_hip", "R_knee"]}},
        scale=0.02,
    )
    kept = keep(made)
    assert_same(kept, made)
    assert kept.inputs == ("torque[1]", "torque[3]", "height")
    assert kept.score(torque=[9.0, 2.0, 9.0, 1.0], height=0.6) == made.score(torque=[9.0, 2.0, 9.0, 1.0], height=0.6)


def test_everything_a_reward_can_have(keep):
    made = Reward(
        "whole",
        version="2",
        terms=[
            term(forward),
            slow.with_(name="slower", least=0.5),
            term(weight=2.0, terminal=True, low=-1.0, after_clamp=True, params={"gains": np.array([3.0, 4.0])})(
                posture
            ),
            term(name="min", high=linear(1, 2, over=50, begin=10, counter="updates"))(min_),
            term(params={"limit": math.inf})(reward),
        ],
        fields=[
            *FIELDS,
            Field("joints", length=2, infinite=True),
            Field("updates", low=0, missing=0, outside="clip"),
            State("average", update=fade, reset=1.0, low=0, high=30, unit="m/s"),
        ],
        task=Task(
            "whole",
            goal=parked,
            better={"speed": "high"},
            facts=[upright],
            events={"fallen": Event(at_most=1)},
            doc="Stand still.",
        ),
        doc="Has all there is.",
        action="joints",
        shared={"table": {"walk": 1.0, "trot": 2.0}, "mode": {"gait": "trot"}, "dt": 0.02},
        low=-4.0,
        high=piecewise([1, 2], at=[5], counter="updates"),
        scale="dt",
        gate=gate,
        override=[(lost, -2.0)],
        allow={"unused-knob": 'for "later"'},
    )
    assert_same(keep(made), made)
    changed = made.with_params({"gate.reach": 0.25, "average.keep": 0.5, "lost.floor": -3.0, "override.lost": -1.0})
    assert_same(keep(changed), changed)
    row = {"speed": 1.0, "joints": [0.0, 1.0], "updates": 20, "terminal": True}
    assert keep(changed).score(**row, prev={"average": 1.0}) == changed.score(**row, prev={"average": 1.0})


def test_methods_of_classes_and_of_objects(keep):
    terms = [term(Robot.falls), term(HEAVY.tracking), term(name="light", weight=0.0)(Robot.tracking)]
    made = Reward("robot", version="1", terms=terms, fields=FIELDS, shared={"sigma": 0.25})
    assert "HEAVY.tracking" in made.to_python()
    assert_same(keep(made), made)


def test_partial_functions_and_objects_that_are_called(keep):
    terms = [term(partial(forward, far=1.5)), term(Follower(2.0)), term(name="named")(FOLLOWER)]
    made = Reward("r", version="1", terms=terms, fields=FIELDS[:1], shared={"wanted": 2.0})
    assert 'params={"far": 1.5})(forward)' in made.to_python()
    assert_same(keep(made), made)


def test_the_method_of_a_dataclass_is_written_with_its_object(keep):
    shared = {"wanted": 2.0, "slack": 0.5}
    made = Reward("r", version="1", terms=[term(Follower(2.0).miss)], fields=FIELDS[:1], shared=shared)
    assert "term(Follower(wanted=2.0).miss)" in made.to_python()
    assert_same(keep(made), made)


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_part_of_a_reward_is_written_without_the_rest(keep, name):
    whole = importlib.import_module(f"plaudit.systems.{name}").reward
    for each in whole.terms:
        part = whole.select_terms(each.name).with_task(None)
        assert_same(keep(part), part)


def test_a_task_that_needs_what_is_left_out_is_told():
    with pytest.raises(DefinitionError, match="the text makes no reward: .* which neither the reward nor the task"):
        hackmatrix.reward.select_terms("step_penalty").to_python()


# -- where functions come from -------------------------------------------------------------------------------------

SCRIPT = """
from plaudit import Field, Reward, term

@term
def near(distance):
    return 1 if distance < 2 else 0

reward = Reward("reaching", version="1", terms=[near], fields=[Field("distance", low=0)])
"""


@pytest.mark.parametrize("run", [["script.py"], ["-m", "script"]], ids=" ".join)
def test_a_script_is_imported_by_its_name(keep, tmp_path, monkeypatch, run):
    (tmp_path / "script.py").write_text(f"{SCRIPT}\nif __name__ == '__main__':\n    print(reward.to_python())\n")
    done = subprocess.run([sys.executable, *run], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "\nfrom script import near\n" in done.stdout
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "kept_script.py").write_text(done.stdout, encoding="utf-8")
    kept = importlib.import_module("kept_script").reward
    assert kept == importlib.import_module("script").reward


def test_functions_of_a_notebook_are_named_in_a_comment(monkeypatch):
    notebook = types.ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", notebook)
    monkeypatch.setitem(linecache.cache, "<cell>", (len(SCRIPT), None, SCRIPT.splitlines(keepends=True), "<cell>"))
    exec(compile(SCRIPT, "<cell>", "exec"), vars(notebook))
    text = notebook.reward.to_python()
    assert "# of the notebook where this runs: near\n" in text
    before = notebook.reward
    exec(text, vars(notebook))
    assert notebook.reward is not before
    assert notebook.reward == before


# -- what cannot be written ----------------------------------------------------------------------------------------


def test_functions_that_nobody_can_import_are_named():
    def inner(speed):
        return speed

    made = Reward("r", version="1", terms=[term(inner), term(forward)], fields=FIELDS[:1], gate=inner)
    with pytest.raises(DefinitionError, match="cannot be written as Python") as raised:
        made.to_python()
    message = str(raised.value)
    where = "inner() is defined inside test_functions_that_nobody_can_import_are_named()"
    assert f"term 'inner': {where}" in message
    assert f"the gate: {where}" in message
    assert "forward" not in message


def test_the_method_of_an_object_that_nobody_can_name_is_told():
    made = Reward("r", version="1", terms=[term(Robot(1.0).tracking)], fields=FIELDS[:1], shared={"sigma": 1.0})
    with pytest.raises(DefinitionError, match=r"term 'tracking': tracking\(\) is of an object that has no name"):
        made.to_python()


def test_a_value_without_a_text_is_named():
    class Hidden:
        __slots__ = ("scale",)

    hidden = Hidden()
    hidden.scale = 2.0

    made = Reward("r", version="1", terms=[term(params={"far": hidden})(scaled)], fields=FIELDS[:1])
    with pytest.raises(DefinitionError, match=r"term 'scaled': .* is a Hidden, which has no text"):
        made.to_python()


def scaled(speed, *, far):
    return speed * far.scale


def test_a_module_that_has_changed_is_told(monkeypatch):
    made = Reward("r", version="1", terms=[term(limited)], fields=FIELDS[:1])
    monkeypatch.setattr(sys.modules[__name__], "LIMIT", 3.0)
    with pytest.raises(
        DefinitionError, match="its functions make another formula. A value outside of them has changed"
    ):
        made.to_python()


LIMIT = 2.0


def limited(speed):
    return min(speed, LIMIT)


def test_a_reward_of_a_specification_has_nothing_to_import():
    loaded = Reward.from_json(built_in("roadsense").to_json())
    with pytest.raises(DefinitionError, match=r"no functions to import. reward.source\(\)"):
        loaded.to_python()

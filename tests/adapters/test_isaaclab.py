"""Configs of rewards in the shapes of Isaac Lab and mjlab: functions, weights and params become a reward."""

from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np
import pytest

from plaudit import DefinitionError, Field, Reward, State, term
from plaudit.adapters.isaaclab import read_rewards
from plaudit.errors import UnknownField

torch = pytest.importorskip("torch", reason="needs plaudit[torch]")

# -- what a simulator brings ---------------------------------------------------------------------------------------


@dataclass
class EntityCfg:
    """Which joints and bodies of an asset a term looks at."""

    name: str
    joint_names: object = None
    joint_ids: object = field(default_factory=lambda: slice(None))
    body_names: object = None
    body_ids: object = field(default_factory=lambda: slice(None))
    preserve_order: bool = False


@dataclass
class RewTerm:
    func: object = None
    weight: float = 0.0
    params: dict = field(default_factory=dict)


JOINTS = ["LF_hip", "LF_knee", "RF_hip", "RF_knee"]
BODIES = ["trunk", "LF_foot", "RF_foot", "LF_thigh"]
SCENE = {"robot": SimpleNamespace(joint_names=JOINTS, body_names=BODIES), "contacts": {"body_names": BODIES}}


class FakeEnv:
    """An environment of a simulator, made of columns."""

    def __init__(self, row):
        data = SimpleNamespace(**row)
        asset = SimpleNamespace(data=data)
        sensor = SimpleNamespace(data=data, first_contact=lambda dt: data.first_contact)
        self.scene = FakeScene(robot=asset)
        self.scene.sensors = {"contacts": sensor}
        self.commands = SimpleNamespace(wanted=lambda name: data.wanted)
        self.actions = data
        self.ends = data
        self.step_dt = 0.02


class FakeScene(dict):
    sensors: dict


ROBOT = EntityCfg("robot")


# -- functions as people write them for it -------------------------------------------------------------------------


def follow_plane(env, width: float, command_name: str, asset_cfg: EntityCfg = ROBOT) -> torch.Tensor:
    """Speed in the plane beside what was commanded."""
    asset = env.scene[asset_cfg.name]
    miss = torch.sum(torch.square(env.commands.wanted(command_name)[:, :2] - asset.data.lin_vel[:, :2]), dim=1)
    return torch.exp(-miss / width**2)


def follow_turn(env, width: float, command_name: str, asset_cfg: EntityCfg = ROBOT) -> torch.Tensor:
    asset = env.scene[asset_cfg.name]
    return torch.exp(-torch.square(env.commands.wanted(command_name)[:, 2] - asset.data.ang_vel[:, 2]) / width**2)


def bounce(env, asset_cfg: EntityCfg = ROBOT):
    return env.scene[asset_cfg.name].data.lin_vel[:, 2] ** 2


def wobble(env, asset_cfg: EntityCfg = ROBOT):
    return torch.sum(torch.square(env.scene[asset_cfg.name].data.ang_vel[:, :2]), dim=1)


def lean(env, asset_cfg: EntityCfg = ROBOT):
    return env.scene[asset_cfg.name].data.gravity[:, :2].square().sum(dim=1)


def strain(env, asset_cfg: EntityCfg = ROBOT):
    asset = env.scene[asset_cfg.name]
    return torch.sum(torch.abs(asset.data.torque[:, asset_cfg.joint_ids]), dim=1)


def jolt(env):
    return torch.sum(torch.square(env.actions.action - env.actions.prev_action), dim=1)


def off_pose(env, asset_cfg: EntityCfg = ROBOT):
    asset = env.scene[asset_cfg.name]
    angle = asset.data.joint_pos[:, asset_cfg.joint_ids] - asset.data.rest_pos[:, asset_cfg.joint_ids]
    return angle.abs().mean(dim=1)


def near_stops(env, asset_cfg: EntityCfg = ROBOT):
    asset = env.scene[asset_cfg.name]
    now = asset.data.joint_pos[:, asset_cfg.joint_ids]
    over = -(now - asset.data.stops[:, asset_cfg.joint_ids, 0]).clip(max=0.0)
    over += (now - asset.data.stops[:, asset_cfg.joint_ids, 1]).clip(min=0.0)
    return torch.sum(over, dim=1)


def steps_taken(env, command_name: str, sensor_cfg: EntityCfg, least: float):
    """Time in the air of feet that have just landed, while walking is asked for."""
    sensor = env.scene.sensors[sensor_cfg.name]
    landed = sensor.first_contact(env.step_dt)[:, sensor_cfg.body_ids]
    flown = sensor.data.air_time[:, sensor_cfg.body_ids]
    pay = torch.sum((flown - least) * landed, dim=1)
    pay *= torch.norm(env.commands.wanted(command_name)[:, :2], dim=1) > 0.1
    return pay


def bumps(env, threshold, sensor_cfg):
    force = env.scene.sensors[sensor_cfg.name].data.force_history
    hit = torch.max(torch.norm(force[:, :, sensor_cfg.body_ids], dim=-1), dim=1)[0] > threshold
    return torch.sum(hit, dim=1)


def over_early(env):
    return env.ends.terminated.float()


SLOW = {"command_name": "base"}
FEET = EntityCfg("contacts", body_names=".*_foot")


@dataclass
class BaseRewards:
    plane: object = field(default_factory=lambda: RewTerm(func=follow_plane, weight=1.5, params={"width": 0.5, **SLOW}))
    turn: object = field(default_factory=lambda: RewTerm(func=follow_turn, weight=0.75, params={"width": 0.5, **SLOW}))
    bounce: object = field(default_factory=lambda: RewTerm(func=bounce, weight=-2.0))
    wobble: object = field(default_factory=lambda: RewTerm(func=wobble, weight=-0.05))
    lean: object = field(default_factory=lambda: RewTerm(func=lean, weight=-2.5))
    strain: object = field(default_factory=lambda: RewTerm(func=strain, weight=-2e-4))
    jolt: object = field(default_factory=lambda: RewTerm(func=jolt, weight=-0.01))


@dataclass
class RewardsCfg(BaseRewards):
    hips: object = field(
        default_factory=lambda: RewTerm(
            func=off_pose, weight=-0.1, params={"asset_cfg": EntityCfg("robot", joint_names=[".*_hip"])}
        )
    )
    stops: object = field(default_factory=lambda: RewTerm(func=near_stops, weight=-1.0))
    steps: object = field(
        default_factory=lambda: RewTerm(
            func=steps_taken, weight=0.25, params={"sensor_cfg": FEET, "least": 0.5, **SLOW}
        )
    )
    bumps: object = field(
        default_factory=lambda: RewTerm(
            func=bumps, weight=-1.0, params={"sensor_cfg": EntityCfg("contacts", body_ids=[0, 3]), "threshold": 1.0}
        )
    )
    over: object = field(default_factory=lambda: RewTerm(func=over_early, weight=-200.0))
    unused: object = None


def draw_batch(rows=64):
    torch.manual_seed(3)
    real = {name: torch.randn(rows, *shape, dtype=torch.float64) for name, shape in SHAPES.items()}
    flags = {"first_contact": torch.rand(rows, 4) > 0.5, "terminated": torch.rand(rows) > 0.8}
    return {**real, **flags}


SHAPES = {
    "wanted": (3,),
    "lin_vel": (3,),
    "ang_vel": (3,),
    "gravity": (3,),
    "torque": (4,),
    "action": (4,),
    "prev_action": (4,),
    "joint_pos": (4,),
    "rest_pos": (4,),
    "stops": (4, 2),
    "air_time": (4,),
    "force_history": (3, 4, 3),
    "unread": (7,),
}
POSITIONS = {"hips": {"joint_ids": [0, 2]}, "steps": {"body_ids": [1, 2]}}


def run_manager(cfg, batch):
    """Return what the functions of a config pay, as a manager of rewards adds it up."""
    env, total = FakeEnv(batch), 0.0
    for name, each in vars(cfg).items():
        if each is not None:
            params = dict(each.params)
            for value in params.values():
                if isinstance(value, EntityCfg) and name in POSITIONS:
                    vars(value).update(POSITIONS[name])
            total = total + each.func(env, **params) * each.weight * env.step_dt
    return total.numpy()


# -- whole configs -------------------------------------------------------------------------------------------------


def test_a_config_of_twelve_terms_is_read_whole():
    batch = draw_batch()
    reward = read_rewards(RewardsCfg(), example=batch, scene=SCENE, scale=0.02)
    assert [each.name for each in reward.terms] == [name for name in vars(RewardsCfg()) if name != "unused"]
    assert len(reward.terms) == 12
    assert reward.params["plane.width"] == 0.5
    assert reward.params["bumps.threshold"] == 1.0
    assert "unread" not in reward.fields
    columns = {name: batch[name].numpy() for name in reward.fields}
    found = reward.compile("numpy")(columns).total
    np.testing.assert_allclose(found, run_manager(RewardsCfg(), batch), rtol=1e-6)  # its flags are float32
    tensors = {name: batch[name] for name in reward.fields}
    np.testing.assert_allclose(reward.compile("torch")(tensors).total.numpy(), found, rtol=1e-12)


class ClassBase:
    lean = RewTerm(func=lean, weight=-1.0)
    jolt = RewTerm(func=jolt, weight=-0.5)


class ClassCfg(ClassBase):
    jolt = None
    wobble = RewTerm(func=wobble, weight=-2.0)
    _hidden = 3

    def note(self):
        return 0


DICT = {"lean": {"func": lean, "weight": -1.0}, "jolt": None, "wobble": RewTerm(wobble, -2.0)}
SHAPED = {"a class": ClassCfg, "an object of it": ClassCfg(), "a dict": DICT, "an object": SimpleNamespace(**DICT)}


@pytest.mark.parametrize("cfg", SHAPED.values(), ids=SHAPED)
def test_configs_are_objects_classes_and_dicts(cfg):
    reward = read_rewards(cfg, example=draw_batch())
    assert {each.name: each.weight for each in reward.terms} == {"lean": -1.0, "wobble": -2.0}


def test_a_function_may_be_named_by_its_module():
    reward = read_rewards(
        {"slow": RewTerm("language.pasted.isaac_lab:away_from_pose", 1.0)},
        fields=[Field("joint_pos", length=2), Field("default_joint_pos", length=2)],
    )
    assert reward.score(joint_pos=[1.0, 2.0], default_joint_pos=[0.0, 0.0]).values == {"slow": 1.5}


def test_one_function_is_used_by_several_terms():
    cfg = {
        "left": RewTerm(strain, -1.0, {"asset_cfg": EntityCfg("robot", joint_names="LF_.*")}),
        "right": RewTerm(strain, -2.0, {"asset_cfg": EntityCfg("robot", joint_names="RF_.*")}),
    }
    reward = read_rewards(cfg, example=draw_batch(), scene=SCENE)
    assert reward.score(torque=[1.0, 2.0, 4.0, 8.0]).values == {"left": -3.0, "right": -24.0}


def test_names_of_joints_are_in_the_order_of_the_asset_or_of_the_patterns():
    def first(env, asset_cfg):
        return env.scene[asset_cfg.name].data.torque[:, asset_cfg.joint_ids][:, 0]

    names = ["RF_hip", "LF_.*"]
    for ordered, wanted in [(False, 1.0), (True, 4.0)]:
        cfg = {"first": RewTerm(first, 1.0, {"asset_cfg": EntityCfg("robot", names, preserve_order=ordered)})}
        assert read_rewards(cfg, example=draw_batch(), scene=SCENE).score(torque=[1.0, 2.0, 4.0, 8.0]).total == wanted


def test_a_term_may_be_replaced_or_left_out():
    class AirTime:
        """A function that remembers something."""

        def __call__(self, env):
            return env.time

    @term(weight=3.0)
    def air(prev, aloft):
        return aloft - prev.aloft

    cfg = {"air": RewTerm(AirTime, 1.0), "jolt": RewTerm(jolt, -1.0)}
    assert [each.name for each in read_rewards(cfg, example=draw_batch(), terms={"air": None}).terms] == ["jolt"]
    aloft = State("aloft", reset=0.0, update=count)
    reward = read_rewards(cfg, example=draw_batch(), terms={"air": air}, fields=[aloft, Field("dt")])
    assert [each.name for each in reward.terms] == ["air", "jolt"]
    with pytest.raises(DefinitionError, match=r"term 'air' .* the class AirTime, .* State .* terms="):
        read_rewards(cfg, example=draw_batch())


def count(prev, dt):
    return prev.aloft + dt


# -- mistakes ------------------------------------------------------------------------------------------------------


def odd(env, mode):
    while env.x > mode:
        mode += 1
    return mode


def clipped(env, force, most):
    return torch.clamp(force, max=most)


def held(env, most, sensor_cfg):
    return torch.clamp(env.scene[sensor_cfg.name].data.force, max=most)


WRONG = {
    "no term": ({"lean": 3.0}, {}, "'lean' of the config dict is 3.0, and not a reward term"),
    "the config of everything": ({"rewards": ClassCfg}, {}, r"give its rewards, `cfg.rewards`"),
    "nothing": ({"lean": None}, {}, "has no reward terms"),
    "no function": ({"lean": RewTerm(None, 1.0)}, {}, "term 'lean' of the config: its function is None"),
    "a module that is not there": ({"lean": RewTerm("nowhere.at:all", 1.0)}, {}, "term 'lean' .* cannot be imported"),
    "what cannot be read": ({"odd": RewTerm(odd, 1.0, {"mode": 2.0})}, {}, r"term 'odd' of the config: .*`while`|term 'odd' of the config: .*loop"),
    "a misspelt param": ({"strain": RewTerm(strain, 1.0, {"asset": 1})}, {}, "term 'strain' .* Did you mean 'asset_cfg'"),
    "a param that is missing": (
        {"held": RewTerm(held, 1.0, {"most": 1.0})}, {}, r"term 'held' .* its params lack 'sensor_cfg', which held\(env"
    ),
    "params in a list": ({"lean": RewTerm(lean, 1.0, [1])}, {}, "term 'lean' .* its params are"),
    "a weight in words": ({"lean": RewTerm(lean, "high")}, {}, "lean.weight='high' must be a finite number"),
    "names without a scene": (
        {"hips": RewTerm(off_pose, 1.0, {"asset_cfg": EntityCfg("robot", joint_names=".*_hip")})},
        {},
        r"term 'hips' .* joint '.*_hip' of 'robot', .* scene=\{'robot': \{'joint_names': \[...\]\}\}",
    ),
    "a name that is not there": (
        {"hips": RewTerm(off_pose, 1.0, {"asset_cfg": EntityCfg("robot", joint_names=["LF_hipp"])})},
        {"scene": SCENE},
        "names 'LF_hipp', which is none of LF_hip, .* Did you mean 'LF_hip'",
    ),
    "a term that is not there": (DICT, {"terms": {"leen": None}}, "'leen', which is no term of the config. Did you mean"),
}  # fmt: skip


@pytest.mark.parametrize(("cfg", "options", "match"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_read_is_one_message_that_names_the_term(cfg, options, match):
    with pytest.raises(DefinitionError, match=match):
        read_rewards(cfg, example=draw_batch(), **options)


def test_what_the_example_or_shared_has_need_not_be_a_param():
    reward = read_rewards({"held": RewTerm(clipped, 1.0)}, example={"force": torch.ones(2)}, shared={"most": 2.0})
    assert reward.score(force=3.0).total == 2.0


def test_what_the_example_lacks_is_named():
    with pytest.raises(UnknownField, match=r"term 'lean' reads .*gravity.* Declare Field\('gravity'\)|gravity"):
        read_rewards({"lean": RewTerm(lean, 1.0)}, example={"torque": torch.ones(2, 4)})


def test_an_inverted_part_that_the_example_lacks_is_named():
    def alive(env):
        return 1.0 * (~env.fallen)

    with pytest.raises(UnknownField, match=r"term 'alive' reads 'env.fallen'"):
        read_rewards({"alive": RewTerm(alive, 1.0)})


@pytest.mark.parametrize("cfg", [None, "cfg.yaml", [RewTerm(lean, 1.0)], lean])
def test_what_is_no_config_is_refused(cfg):
    with pytest.raises(DefinitionError, match="takes a config, an object, a class or a dict of terms by name"):
        read_rewards(cfg, example=draw_batch())


def test_a_config_is_left_as_it_was():
    cfg = {"hips": RewTerm(off_pose, 1.0, {"asset_cfg": EntityCfg("robot", joint_names=".*_hip")})}
    assert isinstance(read_rewards(cfg, example=draw_batch(), scene=SCENE), Reward)
    assert cfg["hips"].params["asset_cfg"].joint_ids == slice(None)

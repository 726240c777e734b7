"""R0, the first reward of the convoy, where the car ahead stops; wanted is that ours stops behind it."""

from plaudit import Field, Reward
from plaudit.systems.roadsense.env import RoadSenseEnv
from plaudit.systems.roadsense.hazard import Hazard
from plaudit.systems.roadsense.measurement import build_input_reader
from plaudit.systems.roadsense.versions import version

STOPS = Hazard(first=50, last=50, kind="stop", target="nearest")


def drive(assist=True):
    """Return the convoy; with `assist` the car keeps a safe gap by itself, whatever is commanded."""
    return RoadSenseEnv(scale="per_step" if assist else "real", hazard=STOPS, assist=assist, limit=300)


def stops_behind(distance, truncated):
    """It is there at the end, behind the car that stopped: not in it, and not far away."""
    return truncated and distance < 40


def build(label):
    """Return a version of the reward with this goal."""
    base = version(label)
    return Reward(
        "convoy",
        version=label,
        terms=base.terms,
        fields=[*base.fields.values(), Field("truncated", flag=True)],
        action=base.action,
        shared=base.shared,
        task=base.task.evolve(goal=stops_behind),
    )


convoy = build("R0")


def features(obs, action, next_obs, info, env):
    """Return what the reward reads of a step."""
    return build_input_reader(version("R0"))(env.measured)

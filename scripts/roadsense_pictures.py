"""Draw the pictures of the convoy: `python scripts/roadsense_pictures.py [FOLDER]` writes them, or to docs/pictures.

The film is a drive on the curved road that brakes when it is warned, scored by R11. The chart compares two drives
before the same hazard, scored by R0: one that is always cautious and so parks on the road, and a sensible one.

The chart is of the origin's scale of actions (`scale="per_step"`), at which every braking action brakes at 4.5 m/s².
It does not hold at the environment's own scale: there both rules collide before this hazard, and earn the same.
"""

import sys
from collections.abc import Callable
from pathlib import Path

from plaudit.systems.roadsense.env import RoadSenseEnv
from plaudit.systems.roadsense.hazard import Hazard
from plaudit.systems.roadsense.measurement import Measurement
from plaudit.systems.roadsense.pictures import Frame, find_zones, save_film, save_strip_chart
from plaudit.systems.roadsense.scenario import Scenario
from plaudit.systems.roadsense.sumo import find_road
from plaudit.systems.roadsense.world import CarModel

SEED = 7
TITLE = "R0, actions at their original scale: parking pays, a safe stop is fined"

Rule = Callable[[Measurement], int | list[float]]


def drive(env: RoadSenseEnv, rule: Rule) -> list[Frame]:
    """Return the frames of an episode, and free the simulator."""
    env.reset(seed=SEED)
    frames, over = [], False
    while not over:
        _, _, terminated, truncated, _ = env.step(rule(env.measured))
        frames.append(env.frame)
        over = terminated or truncated
    env.close()
    return frames


def always_cautious(measured: Measurement) -> int:
    """Brake a little, whatever happens."""
    return 1


def sensible(measured: Measurement) -> int:
    """Brake when the car ahead is near, and harder when it is nearer."""
    return 3 if measured.distance < 15 else 2 if measured.distance < 20 else 0


def warned(measured: Measurement) -> list[float]:
    """Brake at 4 m/s² until the warning has faded, else let the car follow on its own."""
    return [0.5 if measured.warned_fading > 0.01 else 0.0]


def draw_film(path: Path) -> None:
    """Draw the drive that brakes when it is warned, from where the road begins to bend."""
    env = RoadSenseEnv(
        reward="R11",
        actions="continuous",
        scenario=Scenario(network="curved", spacing=25.0, speed=13.0, model=CarModel(sigma=0.0)),
        hazard=Hazard(first=260, last=260, target="nearest"),
        limit=315,
    )
    frames = drive(env, warned)[200:]
    save_film(frames, path, road=find_road("curved").shape, zones=find_zones(env.reward))


def draw_chart(path: Path) -> None:
    """Draw the drive that parks beside the sensible one."""
    rules = {"always Caution: parks on the road": always_cautious, "brakes when near: stops safely": sensible}
    hazard = Hazard(first=60, last=60, target="nearest")
    drives = {
        name: drive(RoadSenseEnv(reward="R0", scale="per_step", hazard=hazard, limit=400), rule)
        for name, rule in rules.items()
    }
    save_strip_chart(drives, path, title=TITLE)


if __name__ == "__main__":
    folder = Path(*sys.argv[1:]) if sys.argv[1:] else Path(__file__).parent.parent / "docs" / "pictures"
    folder.mkdir(exist_ok=True)
    draw_film(folder / "roadsense.gif")
    draw_chart(folder / "roadsense-parking.png")

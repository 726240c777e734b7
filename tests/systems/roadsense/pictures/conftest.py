"""A drive to draw: no simulator, the same in every run."""

from math import atan2, cos, degrees, sin

import pytest

from plaudit.systems.roadsense.measurement import Measurement, build_input_reader, find_nearest_action
from plaudit.systems.roadsense.pictures import Frame
from plaudit.systems.roadsense.versions import version
from plaudit.systems.roadsense.world import STEP, CarState


def along(path, metres):
    """Return x, y and heading on a path: straight to the east, or a bend of this radius to the left."""
    if path == "straight":
        return metres, 0.0, 90.0
    x, y = path * sin(metres / path), path - path * cos(metres / path)
    return x, y, degrees(atan2(cos(metres / path), sin(metres / path))) % 360


@pytest.fixture(scope="session")
def drive():
    """Return the maker of a drive of three cars, the second of which stops in the step `hazard`."""

    def made(steps=80, *, label="R11", hazard=20, path="straight", reaction=5, peers=2):
        reward = version(label)
        inputs = build_input_reader(reward)
        names = [f"V{number:03}" for number in range(1, peers + 2)]
        places, speeds = [30.0 * at for at in range(peers + 1)], [15.0] * (peers + 1)
        fading, frames = 0.0, []
        for step in range(1, steps + 1):
            begun = hazard is not None and step >= hazard
            brakes = [0.0] * (peers + 1)
            if begun:
                brakes[1] = min(4.5, speeds[1] / STEP)
                brakes[0] = min(4.0, speeds[0] / STEP) if step >= hazard + reaction else 0.0
            fading = 1.0 if brakes[1] >= 2.5 else 0.95 * fading
            speeds = [speed - brake * STEP for speed, brake in zip(speeds, brakes, strict=True)]
            places = [place + speed * STEP for place, speed in zip(places, speeds, strict=True)]
            cars = {
                name: CarState(*along(path, place)[:2], speed, -brake, along(path, place)[2])
                for name, place, speed, brake in zip(names, places, speeds, brakes, strict=True)
            }
            fresh = brakes[1] >= 2.5
            step_measured = Measurement(
                places[1] - places[0], brakes[0], find_nearest_action(brakes[0]), speeds[0] - speeds[1], speeds[0],
                fresh, fresh, fresh, begun, begun, fading,
            )  # fmt: skip
            signal = reward.score(**inputs(step_measured))
            source = names[1] if begun else None
            frames.append(
                Frame(step, cars, step_measured, dict(signal.values), signal.total, source, frozenset(names[1:]))
            )
        return frames

    return made

"""Tasks without a simulator of robots: a cave, a satellite, a greenhouse, answers of a language model, shepherds, pumps."""

import math
from dataclasses import dataclass
from enum import Enum, IntEnum
from types import SimpleNamespace

import numpy as np
import torch

from plaudit import Field
from support.pasted import Pasted, flags, make, numbers, on_rows, on_tensors

EXIT_BIT, PIT_BIT = 1, 2
DEPTHS = {(0, 0): -1.0, (0, 1): 0.5, (1, 0): 0.25, (1, 1): 1.0}


def cave_reward(tile, here, steps, max_steps):
    """What a tile is, is in its bits"""
    if (tile >> EXIT_BIT) & 1:
        return 2 - steps / max_steps
    if (tile >> PIT_BIT) & 1:
        return -2
    return DEPTHS[(here[0], here[1])] * 0.02


class Satellite:
    def compute_pointing_reward(self):
        # wanted^T now: the rotation that is left
        left = torch.bmm(self.wanted_rot.transpose(1, 2), self.body_rot)
        cosine = (torch.einsum("bii->b", left) - 1.0) / 2.0
        angle = torch.acos(torch.clamp(cosine, -1.0 + 1e-7, 1.0 - 1e-7))
        load = torch.einsum("bi,bi->b", self.wheel_speed, self.wheel_torque)
        return torch.exp(-2.0 * angle) - 0.01 * load


DARK_MONTHS = (11, 12, 1, 2)


class GreenhouseReward:
    def __init__(self, dark_range=(14.0, 19.0), light_range=(18.0, 26.0), share=0.4):
        self.dark_range = dark_range
        self.light_range = light_range
        self.share = share

    def __call__(self, obs_dict):
        if obs_dict["month"] in DARK_MONTHS:
            coldest, hottest = self.dark_range
        else:
            coldest, hottest = self.light_range
        stress = 0.0
        for bed in obs_dict["bed_temperatures"]:
            if bed < coldest or bed > hottest:
                stress += min(abs(coldest - bed), abs(hottest - bed)) ** 2
        gas = obs_dict["gas"] * 1e-4
        return -self.share * gas - (1 - self.share) * stress


def answer_reward(correct, n_tokens, n_steps, repetition):
    """Right answers count for less the longer they are; steps and repetition aside."""
    brevity = 1.0 / (1.0 + math.exp((n_tokens - 1500) / 400))
    score = 1.0 if correct else -0.4
    score += 0.1 * (2 <= n_steps <= 8)
    if repetition > 0.25:
        score -= min(2 * repetition, 1.0)
    return score * brevity if correct else score * (1 - 0.3 * brevity)


@dataclass
class Animal:
    where: np.ndarray
    size: float = 0.15


def herd_reward(dog, field):
    # all sheep near a dog, no dog on top of another one
    total = 0
    for sheep in field.sheep:
        total -= min([np.sqrt(np.sum((each.where - sheep.where) ** 2)) for each in field.dogs])
    for each in field.dogs:
        if each is not dog and np.linalg.norm(dog.where - each.where) < dog.size + each.size:
            total -= 2
    return total


def first_dog_reward(field):
    """Which dog it is about has to be said: this is all that is written for plaudit."""
    return herd_reward(field.dogs[0], field)


def _herd(row):
    dogs, sheep = [Animal(row.dogs_0_where), Animal(row.dogs_1_where, 0.3)], [Animal(row.sheep_0_where)]
    return first_dog_reward(SimpleNamespace(dogs=dogs, sheep=sheep))


class Valve(IntEnum):
    SHUT = 0
    OPEN = 1
    STUCK = 2


class Alarm(Enum):
    NONE = 0
    LEAK = 3


def pump_reward(obs, pumps):
    """Pumps run against open valves; a leak costs most of all."""
    if obs["alarm"] == Alarm.LEAK.value:
        return -10.0
    flow = 0.0
    for number, pump in enumerate(pumps):
        if pump.valve is None or pump.valve == Valve.STUCK:
            continue
        flow += pump.speed * (1.0 if pump.valve == Valve.OPEN else -0.5) / (number + 1)
    return flow / len(pumps)


def _pump(row):
    pumps = [
        SimpleNamespace(valve=int(row.pumps_0_valve), speed=row.pumps_0_speed),
        SimpleNamespace(valve=int(row.pumps_1_valve), speed=row.pumps_1_speed),
    ]
    return pump_reward({"alarm": row.alarm}, pumps)


GREENHOUSE = {"dark_range": (14.0, 19.0), "light_range": (18.0, 26.0), "share": 0.4}

PASTED = [
    Pasted(
        function=cave_reward,
        shared={"max_steps": 100},
        fields=[
            Field("tile", values=tuple(range(8))),
            Field("here", length=2, values=(0, 1)),
            *numbers(0, 100, steps=()),
        ],
        original=on_rows(lambda row: cave_reward(int(row.tile), [int(each) for each in row.here], row.steps, 100)),
    ),
    Pasted(
        function=Satellite.compute_pointing_reward,
        name="pointing",
        batched=True,
        fields=numbers(-0.9, 0.9, wanted_rot=(3, 3), body_rot=(3, 3), wheel_torque=3, wheel_speed=3),
        original=on_tensors(lambda row: make(Satellite, row).compute_pointing_reward()),
    ),
    Pasted(
        function=GreenhouseReward.__call__,
        name="greenhouse",
        shared=GREENHOUSE,
        fields=[
            Field("month", values=tuple(range(1, 13))),
            *numbers(10, 30, bed_temperatures=4),
            *numbers(0, 9000, gas=()),
        ],
        original=on_rows(lambda row: GreenhouseReward()(vars(row))),
    ),
    Pasted(
        function=answer_reward,
        fields=[
            *flags(correct=()),
            *numbers(0, 4096, n_tokens=()),
            Field("n_steps", values=tuple(range(12))),
            *numbers(0, 1, repetition=()),
        ],
        original=on_rows(lambda row: answer_reward(row.correct, row.n_tokens, row.n_steps, row.repetition)),
    ),
    Pasted(
        function=first_dog_reward,
        shared={"dogs_0_size": 0.15, "dogs_1_size": 0.3},
        fields=numbers(-1, 1, dogs_0_where=2, dogs_1_where=2, sheep_0_where=2),
        original=on_rows(_herd),
    ),
    Pasted(
        function=pump_reward,
        fields=[
            Field("alarm", values=(0, 3)),
            *(Field(f"pumps_{at}_valve", values=(0, 1, 2)) for at in range(2)),
            *numbers(0, 50, pumps_0_speed=(), pumps_1_speed=()),
        ],
        original=on_rows(_pump),
    ),
]

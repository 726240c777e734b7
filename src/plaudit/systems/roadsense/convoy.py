"""A convoy on the road, driven step by step: the simulator, the car under command, and the hazard ahead of it."""

from collections.abc import Mapping

import numpy as np

from plaudit.systems.roadsense.action_applicator import RELEASED
from plaudit.systems.roadsense.errors import SimulatorError
from plaudit.systems.roadsense.hazard import Hazard
from plaudit.systems.roadsense.hazard_injector import HazardInjector
from plaudit.systems.roadsense.observation_builder import NOBODY, build_sighting
from plaudit.systems.roadsense.sumo import Command, Simulation, speed_mode
from plaudit.systems.roadsense.world import EGO, CarState, World

SETTLING = 30
"""Steps more that are waited, at most, while the driven car is close to another one."""
CLOSE = 8.0


class Convoy:
    """Cars in a simulator, one of which is driven; `drive` is one step of 0.1 s for all of them."""

    def __init__(self, simulation: Simulation, *, mode: int) -> None:
        """Keep what runs the cars, and the `speed_mode` in which commands to the driven one are carried out."""
        self._simulation, self._mode = simulation, mode
        self.hazard = HazardInjector()
        self.cars: dict[str, CarState] = {}
        self.seen: Mapping[str, CarState] = {}
        """The cars after the last step in which the driven one was among them."""
        self.ego: CarState | None = None
        """The driven car; None once it has left the road."""
        self.step = 0
        """Steps since the episode began."""
        self.rolled = 0
        """Steps that passed before it."""
        self.time = 0.0
        """Milliseconds since the simulation began."""
        self._commanded = RELEASED

    def begin(self, world: World) -> None:
        """Put the cars on the road; none of them is driven yet."""
        self._simulation.begin(world)
        self.cars, self.ego, self.step, self.rolled, self.time, self._commanded = {}, None, 0, 0, 0.0, RELEASED
        self.seen = {}
        self.hazard = HazardInjector()
        self._advance([])
        missing = [car.id for car in world.cars if car.id not in self.cars]
        if missing:
            raise SimulatorError(f"SUMO did not place {', '.join(missing)} on the road of {world.network}.")
        self.step = 0

    def roll(self) -> None:
        """Let a step pass without commands, before the episode begins."""
        if self._advance([]) is None:
            raise SimulatorError("the driven car left the road before the episode began: the road is too short.")
        self.step = 0
        self.rolled += 1

    def is_settling(self, rolled: int) -> bool:
        """Return whether it is worth waiting for more room ahead, after `rolled` steps before the episode."""
        return self.rolled < rolled + SETTLING and self.measure_distance() <= CLOSE

    def set_hazard(self, hazard: Hazard, rng: np.random.Generator) -> None:
        """Choose the hazard of the episode."""
        self.hazard = HazardInjector()
        self.hazard.reset(hazard, rng, EGO)

    @property
    def speed(self) -> float:
        """How fast the driven car goes."""
        return 0.0 if self.ego is None else self.ego.speed

    def drive(self, speed: float) -> float:
        """Command a speed to the driven car for one step, or nothing if it is negative; return its speed after it."""
        assert self.ego is not None  # the environment ends an episode without one
        before = self.ego
        commands = self.hazard.next_commands(self.step, self.cars, before)
        if speed != self._commanded:  # a command holds until another one comes
            commands += self._command(speed)
        after = self._advance(commands)
        return before.speed if after is None else after.speed

    def _command(self, speed: float) -> list[Command]:
        """Return the commands that set the driven car's speed; one that follows on its own checks everything."""
        commands: list[Command] = [("speed", EGO, speed)]
        if (speed < 0) != (self._commanded < 0):
            commands.append(("speed_mode", EGO, speed_mode.ORIGIN if speed < 0 else self._mode))
        self._commanded = speed
        return commands

    def _advance(self, commands: list[Command]) -> CarState | None:
        self.cars = self._simulation.step(commands)
        self.ego = self.cars.get(EGO)
        if self.ego is not None:
            self.seen = self.cars
        self.step += 1
        self.time += 100.0
        return self.ego

    def measure_distance(self) -> float:
        """Return how far it is to the nearest car ahead in truth, whatever the radio says; inf where there is none."""
        others = self.cars.copy()
        ego = others.pop(EGO, None)
        return NOBODY.distance if ego is None else build_sighting(ego, others).distance

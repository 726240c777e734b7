"""The libsumo of this process, driven by plans and commands."""

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from plaudit.errors import SimulatorError
from plaudit.systems.roadsense.sumo.network import in_one_line
from plaudit.systems.roadsense.sumo.notice import imported
from plaudit.systems.roadsense.sumo.orders import Command, carry_out, orders
from plaudit.systems.roadsense.sumo.plan import Plan
from plaudit.systems.roadsense.sumo.vehicles import place

State = TypeVar("State", bound=tuple[Any, ...])


class Engine(Generic[State]):
    """The one simulation that libsumo holds; what a car's state is made into is the caller's choice."""

    def __init__(self, state: type[State]) -> None:
        """Import libsumo and start nothing yet."""
        self.libsumo = imported()
        self._refusal = self.libsumo.TraCIException
        self._orders = orders(self.libsumo.vehicle)
        self._advance, self._cars = _fast_calls(self.libsumo, state)

    @property
    def is_running(self) -> bool:
        """Whether libsumo has a simulation, whoever started it."""
        return bool(self.libsumo.isLoaded())

    def begin(self, plan: Plan) -> None:
        """Start SUMO on a plan, or load it where SUMO runs already."""
        try:
            if self.is_running:
                self.libsumo.load(plan.options)
            else:
                self.libsumo.start(["sumo", *plan.options])
            place(self.libsumo, plan)
        except self._refusal as error:
            raise SimulatorError(f"SUMO refuses the world on {plan.path}: {in_one_line(error)}") from error

    def step(self, commands: Sequence[Command]) -> dict[str, State]:
        """Carry the commands out, advance by one step, and return the cars on the road."""
        try:
            carry_out(self._orders, commands)
            self._advance()
            return self._cars()
        except self._refusal as error:
            raise SimulatorError(f"SUMO refuses to go on: {in_one_line(error)}") from error

    def close(self) -> None:
        """End the simulation, which leaves libsumo to others."""
        if self.is_running:
            self.libsumo.close()


def _fast_calls(libsumo: Any, state: type[State]) -> tuple[Callable[[], None], Callable[[], dict[str, State]]]:
    """Return how to advance by one step, and how to read all cars.

    The functions under libsumo's Python classes are called directly: a fifth of the time of a step with its reads.
    They are faster than subscriptions too. Only cars that SUMO lists are read, since it answers for a car that is not
    yet on the road with sentinels.
    """
    calls = libsumo.libsumo._libsumo
    listed, position, speed = calls.vehicle_getIDList, calls.vehicle_getPosition, calls.vehicle_getSpeed
    acceleration, heading = calls.vehicle_getAcceleration, calls.vehicle_getAngle
    new = tuple.__new__

    def cars() -> dict[str, State]:
        return {id: new(state, (*position(id), speed(id), acceleration(id), heading(id), 0.0, 0)) for id in listed()}

    return calls.simulation_step, cars

"""A world in the terms of SUMO: the network file, the edges, and where on them every car departs."""

from dataclasses import astuple
from numbers import Real
from typing import Any, NamedTuple

from plaudit.errors import InputError, OutOfRange
from plaudit.systems.roadsense.sumo.network import find_road
from plaudit.systems.roadsense.sumo.route import Road
from plaudit.systems.roadsense.world import STEP, CarModel, Departure, World


class Start(NamedTuple):
    """A car at the start: the edge it departs on, how far along it, and how fast."""

    id: str
    edge: int
    position: float
    speed: float


class Plan(NamedTuple):
    """All that SUMO needs to begin; plain values, so that it crosses to another process as it is."""

    path: str
    seed: int
    edges: tuple[str, ...]
    starts: tuple[Start, ...]
    model: tuple[float, ...]

    @property
    def options(self) -> list[str]:
        """The options that SUMO loads the world with."""
        return ["-n", self.path, "--seed", str(self.seed), *OPTIONS]

    @property
    def car_model(self) -> CarModel:
        """How the cars drive."""
        return CarModel(*self.model)


OPTIONS = (
    *("--step-length", str(STEP)),
    *("--no-step-log", "true"),
    *("--no-warnings", "true"),
    *("--duration-log.disable", "true"),
    # Colliding cars stay on the road, overlapping: the default would remove or move them. Without the factor SUMO would
    # call it a collision when a car comes nearer than the gap it likes to keep.
    *("--collision.action", "warn"),
    *("--collision.mingap-factor", "0"),
    *("--time-to-teleport", "-1"),
    # A convoy begins as it is asked for. SUMO would keep back a car that is not at a safe gap, or above its own limit,
    # and let it in later, behind the others.
    *("--insertion-checks", "none"),
    # SUMO's schemas are looked up under SUMO_HOME, which is the user's own affair.
    *("--xml-validation", "never"),
    *("--xml-validation.net", "never"),
)
"""The same for every world."""


RANGES = {
    "accel": (0.1, 50.0),
    "decel": (0.1, 50.0),
    "sigma": (0.0, 1.0),
    "tau": (0.1, 10.0),
    "length": (0.1, 50.0),
    "min_gap": (0.0, 50.0),
    "max_speed": (0.1, 200.0),
    "speed_factor": (0.1, 5.0),
    "speed_deviation": (0.0, 0.5),
}
"""What SUMO can drive; beyond it, SUMO takes a number and drives nonsense."""
SEEDS = 2**31
"""SUMO's seeds are below this."""


def plan_world(world: World) -> Plan:
    """Return a world in the terms of SUMO; one that SUMO would refuse, or drive as nonsense, is refused."""
    _validate(world)
    way = find_road(world.network)
    starts = tuple(_locate_start(car, way) for car in world.cars)
    return Plan(way.path, int(world.seed), way.edges, starts, tuple(map(float, astuple(world.model))))


def _validate(world: World) -> None:
    ids = [car.id for car in world.cars]
    if len(set(ids)) < len(ids) or not all(ids):
        raise InputError(f"every car of a world needs its own id, but the ids are {ids}")
    if not 0 <= world.seed < SEEDS:
        raise OutOfRange(f"the seed of a world is {world.seed}: SUMO takes 0 to {SEEDS - 1}")
    values = {
        **{f"{name} of the car model": (getattr(world.model, name), *RANGES[name]) for name in RANGES},
        **{f"the speed of {car.id}": (car.speed, 0.0, world.model.max_speed) for car in world.cars},
    }
    for what, (value, low, high) in values.items():
        if not isinstance(value, Real) or not low <= float(value) <= high:
            raise OutOfRange(f"{what} is {value!r}: it must be from {low} to {high}")


def _locate_start(car: Departure, way: Road) -> Start:
    for index, piece in enumerate(way.pieces):
        if 0 <= car.position - piece.begin <= piece.length:
            return Start(car.id, index, float(car.position - piece.begin), float(car.speed))
    parts = " and ".join(f"{piece.begin:.1f} to {piece.begin + piece.length:.1f} m" for piece in way.pieces)
    raise OutOfRange(f"car {car.id!r} cannot depart at {car.position} m: the road of {way.path} has {parts}")


VEHICLE_TYPE = "convoy"
"""The vehicle type of every car."""


def place_cars(api: Any, plan: Plan) -> None:  # libsumo and a TraCI connection have the same calls and no types
    """Add the vehicle type, the route and the cars; SUMO inserts them at its next step."""
    _define_vehicle_type(api.vehicletype, plan)
    for edge in sorted({start.edge for start in plan.starts}):
        api.route.add(f"from {edge}", list(plan.edges[edge:]))
    for start in plan.starts:
        api.vehicle.add(
            start.id,
            f"from {start.edge}",
            typeID=VEHICLE_TYPE,
            depart="0",
            departLane="first",
            departPos=repr(start.position),
            departSpeed=repr(start.speed),
        )


def _define_vehicle_type(types: Any, plan: Plan) -> None:
    model = plan.car_model
    types.copy("DEFAULT_VEHTYPE", VEHICLE_TYPE)
    types.setAccel(VEHICLE_TYPE, model.accel)
    types.setDecel(VEHICLE_TYPE, model.decel)
    types.setImperfection(VEHICLE_TYPE, model.sigma)
    types.setTau(VEHICLE_TYPE, model.tau)
    types.setLength(VEHICLE_TYPE, model.length)
    types.setMinGap(VEHICLE_TYPE, model.min_gap)
    types.setMaxSpeed(VEHICLE_TYPE, model.max_speed)
    types.setSpeedFactor(VEHICLE_TYPE, model.speed_factor)
    types.setSpeedDeviation(VEHICLE_TYPE, model.speed_deviation)

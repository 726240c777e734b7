"""Put the cars of a plan on the road, through SUMO's API: the same calls for libsumo and for TraCI."""

from typing import Any

from plaudit.systems.roadsense.sumo.plan import Plan

MODEL = "convoy"
"""The vehicle type of every car."""


def place(api: Any, plan: Plan) -> None:  # libsumo and a TraCI connection have the same calls and no types
    """Add the vehicle type, the route and the cars; SUMO inserts them at its next step."""
    _describe(api.vehicletype, plan)
    for edge in sorted({start.edge for start in plan.starts}):
        api.route.add(f"from {edge}", list(plan.edges[edge:]))
    for start in plan.starts:
        api.vehicle.add(
            start.id,
            f"from {start.edge}",
            typeID=MODEL,
            depart="0",
            departLane="first",
            departPos=repr(start.position),
            departSpeed=repr(start.speed),
        )


def _describe(types: Any, plan: Plan) -> None:
    model = plan.car_model
    types.copy("DEFAULT_VEHTYPE", MODEL)
    types.setAccel(MODEL, model.accel)
    types.setDecel(MODEL, model.decel)
    types.setImperfection(MODEL, model.sigma)
    types.setTau(MODEL, model.tau)
    types.setLength(MODEL, model.length)
    types.setMinGap(MODEL, model.min_gap)
    types.setMaxSpeed(MODEL, model.max_speed)
    types.setSpeedFactor(MODEL, model.speed_factor)
    types.setSpeedDeviation(MODEL, model.speed_deviation)

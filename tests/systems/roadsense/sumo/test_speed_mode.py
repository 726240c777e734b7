"""Which command a car carries out in which speed mode: the table of `speed_mode`, on the SUMO that is installed."""

import pytest

from plaudit.systems.roadsense.sumo import Command, Simulation
from plaudit.systems.roadsense.sumo.speed_mode import ASSISTED, EXACT, ORIGIN
from plaudit.systems.roadsense.world import EGO, STEP, CarModel, CarState, Departure, World

LEAD = "V002"
LIMIT = 22.22
MODEL = CarModel(sigma=0.0)
PAIR = World("straight", (Departure(EGO, 0.0, 15.0), Departure(LEAD, 30.0, 15.0)), MODEL)

CARRIED_OUT = {
    ORIGIN: {0.5: 0.5, 2.0: 2.0, 4.5: 4.5, 8.0: 4.5, 20.0: 4.5},
    ASSISTED: {0.5: 0.5, 2.0: 2.0, 4.5: 4.5, 8.0: 8.0, 20.0: 20.0},
    EXACT: {0.5: 0.5, 2.0: 2.0, 4.5: 4.5, 8.0: 8.0, 20.0: 20.0},
}
"""What is asked of a car with a `decel` of 4.5 m/s², and what it does."""


def begun(sumo: Simulation, *commands: Command) -> dict[str, CarState]:
    """Return the cars after a second of driving and one step with commands."""
    sumo.begin(PAIR)
    for _ in range(10):
        sumo.step()
    return sumo.step(commands)


def stopped(sumo: Simulation, *, mode: int, steps: int = 300) -> tuple[float, float]:
    """Return the least distance and the ego's hardest braking, commanded to drive on behind a car that stops."""
    cars = begun(sumo, ("speed_mode", EGO, mode), ("speed", LEAD, 0.0))
    least, hardest, drive_on = float("inf"), 0.0, ("speed", EGO, cars[EGO].speed)
    for _ in range(steps):
        before, cars = cars[EGO].speed, sumo.step([drive_on])
        least = min(least, cars[LEAD].x - cars[EGO].x)
        hardest = max(hardest, (before - cars[EGO].speed) / STEP)
    return least, hardest


@pytest.mark.parametrize(
    ("mode", "asked", "done"), [(mode, asked, done) for mode, row in CARRIED_OUT.items() for asked, done in row.items()]
)
def test_a_command_brakes_as_hard_as_its_mode_lets_it(sumo: Simulation, mode: int, asked: float, done: float) -> None:
    """The scale of the actions is real in ASSISTED and EXACT, and up to the car's `decel` in ORIGIN."""
    cars = begun(sumo, ("speed_mode", EGO, mode))
    for _ in range(5):
        before = cars[EGO].speed
        cars = sumo.step([("speed", EGO, before - asked * STEP)])
        assert (before - cars[EGO].speed) / STEP == pytest.approx(done)
        assert cars[EGO].acceleration == pytest.approx(-done)


@pytest.mark.parametrize("mode", [ORIGIN, ASSISTED])
def test_the_safe_gap_is_kept_with_assistance(sumo: Simulation, mode: int) -> None:
    """The car ahead stops at its `decel`; the ego stops behind it at 5 m of car and 2.5 m of gap."""
    least, hardest = stopped(sumo, mode=mode)
    assert least == pytest.approx(7.5, abs=0.01)
    assert hardest <= 4.5 + 1e-9


def test_a_car_without_checks_drives_into_the_one_ahead(sumo: Simulation) -> None:
    """So that a collision can happen, and be scored."""
    least, hardest = stopped(sumo, mode=EXACT)
    assert least < 0
    assert hardest == 0


@pytest.mark.parametrize("mode", [ORIGIN, ASSISTED, EXACT])
def test_a_released_car_follows_again(sumo: Simulation, mode: int) -> None:
    """It accelerates to the limit, keeps its gap, and stops behind a car that stops."""
    begun(sumo, ("speed_mode", EGO, mode), ("speed", EGO, 10.0))
    sumo.step([("speed", EGO, -1.0), ("speed_mode", EGO, ORIGIN)])
    steps = [sumo.step([("speed", LEAD, 0.0)] if step == 150 else ()) for step in range(400)]
    assert steps[0][EGO].acceleration == pytest.approx(2.6)
    assert max(cars[EGO].speed for cars in steps) <= LIMIT + 1e-9
    assert steps[-1][EGO].speed == 0
    assert min(cars[LEAD].x - cars[EGO].x for cars in steps) == pytest.approx(7.5, abs=0.01)


@pytest.mark.parametrize(("mode", "beyond"), [(ASSISTED, False), (EXACT, True)])
def test_a_car_released_without_checks_forgets_the_limit(sumo: Simulation, mode: int, beyond: bool) -> None:
    """The reason to go back to ORIGIN with the release."""
    begun(sumo, ("speed_mode", LEAD, mode), ("speed", LEAD, 10.0))
    sumo.step([("speed", LEAD, -1.0)])
    fastest = max(sumo.step()[LEAD].speed for _ in range(100))
    assert (fastest > LIMIT + 1) == beyond


@pytest.mark.parametrize(
    ("mode", "command", "hardest"),
    [
        (ORIGIN, ("speed", LEAD, 0.0), 4.5),
        (ORIGIN, ("slow_down", LEAD, 0.0, 1.0), 4.5),
        (ASSISTED, ("slow_down", LEAD, 0.0, 2.0), None),
        (ASSISTED, ("speed", LEAD, 0.0), None),
    ],
)
def test_a_hazard_is_as_hard_as_its_cars_mode_lets_it(
    sumo: Simulation, mode: int, command: Command, hardest: float | None
) -> None:
    """At most the car's `decel` in ORIGIN; else over the seconds asked for, or at once."""
    cars = begun(sumo, ("speed_mode", LEAD, mode))
    speed, drops = cars[LEAD].speed, []
    for step in range(12):
        before, cars = cars[LEAD].speed, sumo.step([command] if step == 0 else ())
        drops.append((before - cars[LEAD].speed) / STEP)
    seconds = command[3] if command[0] == "slow_down" else STEP
    assert max(drops) == pytest.approx(hardest or speed / seconds, rel=0.02)


def test_a_car_drives_on_after_it_has_slowed_down(sumo: Simulation) -> None:
    """Whoever wants it to stay commands its speed."""
    begun(sumo, ("speed_mode", LEAD, ASSISTED), ("slow_down", LEAD, 0.0, 1.0))
    speeds = [sumo.step()[LEAD].speed for _ in range(30)]
    assert min(speeds) == pytest.approx(0.0, abs=1e-9)
    assert speeds[-1] > 2

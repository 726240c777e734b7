"""The same world gives the same drive, whichever way SUMO is run."""

from dataclasses import replace
from time import perf_counter
from typing import Any

import pytest

from plaudit.errors import InputError, OutOfRange
from plaudit.systems.roadsense.errors import SimulatorError
from plaudit.systems.roadsense.sumo import Simulation, build_simulation, speed_mode
from plaudit.systems.roadsense.world import CarModel, CarState, Departure, World

CONVOY = World("straight", tuple(Departure(f"V00{i + 1}", 30.0 * i, 15.0) for i in range(3)), seed=7)
BENDS = replace(CONVOY, network="curved", cars=tuple(car._replace(speed=2.0) for car in CONVOY.cars))

DRIVE = """
def drive(sumo, world):
    sumo.begin(world)
    states = [sumo.step([("speed", "V001", 12.0), ("slow_down", "V003", 5.0, 2.0)] if step == 30 else ())
              for step in range(120)]
    return [tuple(state) for step in states for state in step.values()]
"""


def drive(sumo: Simulation, world: World, *, steps: int = 120) -> list[dict[str, CarState]]:
    """Return every step of a drive in which the ego is held, and a car ahead slows down."""
    sumo.begin(world)
    commands = [("speed", "V001", 12.0), ("slow_down", "V003", 5.0, 2.0)]
    return [sumo.step(commands if step == 30 else ()) for step in range(steps)]


def test_cars_start_where_they_should_and_are_read_as_they_are(elsewhere: Simulation) -> None:
    """The first step puts the cars on the road; SUMO moves them from the second on."""
    elsewhere.begin(CONVOY)
    first, second = elsewhere.step(), elsewhere.step()
    assert list(first) == ["V001", "V002", "V003"]
    assert first["V002"] == CarState(x=30.0, y=0.0, speed=15.0, acceleration=0.0, heading=90.0)
    assert isinstance(second["V002"], CarState)
    assert second["V002"].x - 30.0 == pytest.approx(second["V002"].speed * 0.1)


def test_a_world_drives_to_the_same_bit_on_every_binding(fresh: Any) -> None:
    """Process and TraCI are compared here, libsumo in a Python of its own."""
    (process, traci) = (build_simulation(binding) for binding in ("process", "traci"))
    for world in (CONVOY, BENDS):
        there = drive(process, world)
        assert there == drive(traci, world)
        printed = fresh(
            f"{DRIVE}\nsumo = build_simulation('libsumo')\nassert type(sumo).__name__ == 'InprocessSimulation'\n"
            f"world = {world!r}\nprint(drive(sumo, world))"
        )
        assert printed.strip() == repr([tuple(state) for step in there for state in step.values()])
    process.close()
    traci.close()


def test_a_seed_repeats_its_drive_and_another_differs(elsewhere: Simulation) -> None:
    """Cars hold their speed imperfectly, by SUMO's own random numbers."""
    once = drive(elsewhere, CONVOY)
    assert drive(elsewhere, replace(CONVOY, seed=8)) != once
    assert drive(elsewhere, CONVOY) == once


def test_nothing_of_an_earlier_world_is_left_in_the_next(elsewhere: Simulation) -> None:
    """Neither cars nor commands, models, networks or random numbers."""
    once = drive(elsewhere, CONVOY)
    elsewhere.begin(World("curved", (Departure("V001", 50.0, 3.0),), CarModel(decel=8.0, sigma=0.0), seed=99))
    for _ in range(50):
        elsewhere.step([("speed_mode", "V001", 0), ("speed", "V001", 1.0)])
    assert drive(elsewhere, CONVOY) == once


def test_a_fresh_libsumo_and_a_used_one_drive_alike(fresh: Any) -> None:
    """As above, in the process that holds libsumo."""
    fresh(
        f"""{DRIVE}
sumo = build_simulation("libsumo")
once = drive(sumo, convoy(seed=7))
sumo.begin(convoy(seed=5, network="curved", cars=6, speed=2.0, decel=8.0))
for _ in range(50):
    sumo.step([("speed_mode", "V002", 0), ("speed", "V002", 1.0)])
assert drive(sumo, convoy(seed=7)) == once
sumo.close()
assert drive(sumo, convoy(seed=7)) == once
assert drive(sumo, convoy(seed=8)) != once
"""
    )


def test_a_car_that_is_not_on_the_road_yet_is_not_returned(fresh: Any) -> None:
    """SUMO, asked for it, answers with sentinels."""
    fresh(
        """
        from plaudit.systems.roadsense.sumo.inprocess_engine import LibsumoEngine
        from plaudit.systems.roadsense.sumo.plan import plan_world
        engine = LibsumoEngine(CarState)
        engine.begin(plan_world(convoy()))
        assert engine.libsumo.vehicle.getPosition("V001")[0] < -1e9
        assert engine._cars() == {}
        assert len(engine.step([])) == 3
        engine.close()
        """
    )


def test_cars_begin_where_they_are_put_however_close(elsewhere: Simulation) -> None:
    """SUMO would hold one back that is not at a safe gap, and let it in behind the others."""
    cars = tuple(Departure(f"V00{i + 1}", 6.0 * i, 18.0) for i in range(3))
    elsewhere.begin(World("straight", cars))
    assert {id: car.x for id, car in elsewhere.step().items()} == {"V001": 0.0, "V002": 6.0, "V003": 12.0}


def test_a_world_may_be_in_numbers_of_numpy(elsewhere: Simulation) -> None:
    """As they come of a sweep."""
    import numpy as np

    cars = tuple(Departure(f"V00{i + 1}", np.float32(30.0) * i, np.float64(15.0)) for i in range(3))
    elsewhere.begin(World("straight", cars, CarModel(decel=np.float32(4.5)), np.int64(7)))
    plain = World("straight", CONVOY.cars, CarModel(decel=4.5), 7)
    drives = [elsewhere.step() for _ in range(9)]
    elsewhere.begin(plain)
    assert drives == [elsewhere.step() for _ in range(9)]


def test_a_car_leaves_at_the_end_of_the_road(elsewhere: Simulation) -> None:
    """The others drive on, and nothing ends."""
    elsewhere.begin(World("straight", (Departure("V001", 0.0, 15.0), Departure("V002", 3990.0, 15.0))))
    steps = [elsewhere.step() for _ in range(15)]
    assert list(steps[0]) == ["V001", "V002"]
    assert list(steps[-1]) == ["V001"]


def test_cars_that_collide_stay_on_the_road(elsewhere: Simulation) -> None:
    """SUMO would remove or move them; the ego drives through the car ahead, and the next step goes on."""
    elsewhere.begin(CONVOY)
    elsewhere.step()
    elsewhere.step([("speed_mode", "V001", speed_mode.EXACT), ("speed", "V001", 20.0), ("speed", "V002", 0.0)])
    steps = [elsewhere.step() for _ in range(60)]
    gaps = [cars["V002"].x - cars["V001"].x for cars in steps]
    assert min(abs(gap) for gap in gaps) < 2.5
    assert {tuple(cars) for cars in steps} == {("V001", "V002", "V003")}
    assert steps[-1]["V001"].speed == 20.0


def test_nothing_is_printed(elsewhere: Simulation, capfd: pytest.CaptureFixture[str]) -> None:
    """Neither libsumo's notice nor TraCI's line about trying again, nor a warning of a collision."""
    elsewhere.close()
    drive(elsewhere, CONVOY)
    elsewhere.close()
    assert capfd.readouterr() == ("", "")


def test_resetting_takes_a_third_of_a_new_start_at_most(elsewhere: Simulation) -> None:
    """The best of some, since others may use this machine."""

    def measure(times: int, *, closed: bool) -> float:
        took = []
        for _ in range(times):
            if closed:
                elsewhere.close()
            start = perf_counter()
            elsewhere.begin(CONVOY)
            took.append(perf_counter() - start)
        return min(took)

    started = measure(3, closed=True)
    assert measure(20, closed=False) <= started / 3


def test_a_simulation_can_be_closed_twice_and_begun_again(elsewhere: Simulation) -> None:
    """Closing ends SUMO, not the simulation."""
    once = drive(elsewhere, CONVOY, steps=5)
    elsewhere.close()
    elsewhere.close()
    with pytest.raises(SimulatorError, match="begin a world first"):
        elsewhere.step()
    assert drive(elsewhere, CONVOY, steps=5) == once


def test_a_process_may_have_many(elsewhere: Simulation) -> None:
    """Two at once, each with its own cars."""
    other = build_simulation("process")
    elsewhere.begin(CONVOY)
    other.begin(replace(CONVOY, cars=CONVOY.cars[:1]))
    assert (len(elsewhere.step()), len(other.step())) == (3, 1)
    other.close()
    assert len(elsewhere.step()) == 3


@pytest.mark.parametrize(
    "command",
    [("fly", "V001", 1.0), ("speed", "V001"), ("speed", "V001", "x"), ("speed", "V001", float("nan")), ("speed",), 5],
    ids=repr,
)
def test_what_is_not_a_command_is_refused_by_name(elsewhere: Simulation, command: Any) -> None:
    """And the drive can go on."""
    elsewhere.begin(CONVOY)
    with pytest.raises(InputError, match="is not a command"):
        elsewhere.step([command])
    assert len(elsewhere.step()) == 3


def test_a_command_for_a_car_that_is_not_there_is_an_error(elsewhere: Simulation) -> None:
    """SUMO says which."""
    elsewhere.begin(CONVOY)
    with pytest.raises(SimulatorError, match="'V009' is not known"):
        elsewhere.step([("speed", "V009", 1.0)])


def test_numbers_of_numpy_are_commands_too(elsewhere: Simulation) -> None:
    """Those that SUMO's bindings refuse, or would misread."""
    import numpy as np

    elsewhere.begin(CONVOY)
    elsewhere.step()
    cars = elsewhere.step([("speed_mode", "V001", np.int64(27)), ("speed", "V001", np.float32(14.5))])
    assert cars["V001"].speed == 14.5


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"model": CarModel(decel=-1.0)}, "decel of the car model is -1.0"),
        ({"model": CarModel(tau=float("nan"))}, "tau of the car model is nan"),
        ({"model": CarModel(tau="1")}, "tau of the car model is '1'"),
        ({"seed": 2**31}, "seed"),
        ({"seed": -1}, "seed"),
        ({"cars": (Departure("V001", 4001.0, 1.0),)}, "'V001' cannot depart at 4001.0 m"),
        ({"cars": (Departure("V001", 0.0, float("nan")),)}, "speed of V001 is nan"),
        ({"cars": (Departure("V001", 0.0, 60.0),)}, "speed of V001 is 60.0"),
    ],
    ids=repr,
)
def test_a_world_that_sumo_would_drive_as_nonsense_is_refused(change: dict[str, Any], says: str) -> None:
    """Before SUMO is started."""
    with pytest.raises(OutOfRange, match=says):
        build_simulation("process").begin(replace(CONVOY, **change))


@pytest.mark.parametrize("ids", [("V001", "V001"), ("",)])
def test_cars_need_ids_of_their_own(ids: tuple[str, ...]) -> None:
    """A second car of the same name would be lost."""
    cars = tuple(Departure(id, 30.0 * place, 10.0) for place, id in enumerate(ids))
    with pytest.raises(InputError, match="needs its own id"):
        build_simulation("process").begin(World("straight", cars))


def test_a_departure_above_the_limit_is_refused_in_sumos_words(
    elsewhere: Simulation, capfd: pytest.CaptureFixture[str]
) -> None:
    """And a good world begins after it."""
    with pytest.raises(SimulatorError, match="Departure speed for vehicle 'V001' is too high"):
        elsewhere.begin(World("straight", (Departure("V001", 0.0, 30.0),)))
    elsewhere.begin(CONVOY)
    assert len(elsewhere.step()) == 3
    assert capfd.readouterr() == ("", "")


def test_a_binding_that_is_none_is_refused() -> None:
    """With the ones that are."""
    with pytest.raises(InputError, match="libsumo, process, traci. Did you mean 'libsumo'"):
        build_simulation("libsomo")  # type: ignore[arg-type]


def test_a_window_needs_traci_and_a_display(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both are said before SUMO starts."""
    with pytest.raises(InputError, match='binding="traci"'):
        build_simulation("process", gui=True)
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(SimulatorError, match="there is no display for SUMO.s window"):
        build_simulation("traci", gui=True)


@pytest.mark.parametrize("binding", ["process", "traci"])
def test_the_version_of_sumo_is_known_before_it_starts(binding: Any) -> None:
    """Results record it."""
    assert build_simulation(binding).version.startswith("1.")

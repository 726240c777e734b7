"""The convoy environment against bare libsumo in the same simulation, stepped and read by turns; and its resets."""

from timing import QUICK, Result, measure, table

from plaudit.systems.roadsense.env import RoadSenseEnv
from plaudit.systems.roadsense.scenario import Scenario

STEPS, TURNS, ROUNDS = (5, 1, 3) if QUICK else (50, 8, 60)
CASES = (
    # peers, radio, what the environment is asked for, the ratio that is wanted. Where the radio has an end, the car
    # follows by itself: one that holds its speed would fall behind and hear nobody
    (2, "ideal", {}, 0.5),
    (3, "ideal", {}, 0.5),
    (5, "ideal", {}, 0.5),
    (5, "ideal", {"actions": "continuous", "reward": "R11"}, 0.5),
    (5, "field", {"actions": "continuous", "reward": "R8", "observation": "vector"}, 0.2),
    (5, "field", {"actions": "continuous", "reward": "R11"}, 0.2),
)


def bare() -> None:
    """Step libsumo, list the cars, and read position, speed, acceleration and heading of each."""
    import libsumo

    vehicle = libsumo.vehicle
    for _ in range(STEPS):
        libsumo.simulationStep()
        for car in vehicle.getIDList():
            vehicle.getPosition(car)
            vehicle.getSpeed(car)
            vehicle.getAcceleration(car)
            vehicle.getAngle(car)


def measured(env: RoadSenseEnv) -> tuple[Result, float]:
    """Return the best time of a step of each, and of a reset."""
    action = 0 if env.action_space.shape == () else env.action_space.low
    best = {"bare": float("inf"), "env": float("inf")}
    resets = []
    for _ in range(ROUNDS):
        resets.append(measure(lambda: env.reset(seed=1))[1])
        for _ in range(TURNS):
            best["env"] = min(best["env"], measure(lambda: [env.step(action) for _ in range(STEPS)])[1] / STEPS)
            best["bare"] = min(best["bare"], measure(bare)[1] / STEPS)
    return Result(best), sorted(resets[1:])[len(resets) // 2]


def main() -> None:
    heading = ("cars, radio", "actions", "env steps/s", "bare libsumo", "ratio", "wanted", "reset")
    rows: list[tuple[str, ...]] = [heading]
    for peers, radio, asked, wanted in CASES:
        env = RoadSenseEnv(scenario=Scenario(peers=peers), hazard="none", radio=radio, limit=10**6, **asked)
        result, reset = measured(env)
        env.close()
        speeds = [f"{1 / result.best[name]:,.0f}" for name in ("env", "bare")]
        ratio = result.ratio("env", "bare")
        case = (f"{peers + 1}, {radio}", asked.get("actions", "discrete"))
        rows.append((*case, *speeds, f"{ratio:.2f}x", f">= {wanted}", f"{reset * 1e3:.1f} ms"))
    table(rows)


if __name__ == "__main__":
    main()

"""Small worlds with known truth: what must be learnt from each, and what else is true of it."""

import numpy as np

from support.simulators import Simulator

# ---- what moves


def _integrate(row, action, rng):
    return {"x": row["x"] + 0.05 * row["v"], "v": row["v"] + 0.1 * action}, False


def _integrate_new_speed(row, action, rng):
    v = float(np.clip(0.98 * row["v"] + 0.002 * (action - 1) - 0.001 * np.cos(3 * row["x"]), -0.07, 0.07))
    x = float(np.clip(row["x"] + v, -1.2, 0.6))
    return {"x": x, "v": v}, False


def _turn(row, action, rng):
    omega = 0.98 * row["omega"] + 0.3 * action
    theta = (row["theta"] + 0.05 * omega + np.pi) % (2 * np.pi) - np.pi
    return {"theta": theta, "omega": omega, "cos": float(np.cos(theta)), "sin": float(np.sin(theta))}, False


def _start_turn(rng):
    theta = rng.uniform(-np.pi, np.pi)
    return {"theta": theta, "omega": rng.normal(), "cos": float(np.cos(theta)), "sin": float(np.sin(theta))}


def _read_coarsely(row, action, rng):
    v = 0.95 * row["v"] + 0.2 * action
    position = row["position"] + 0.05 * v + 0.001 * np.sin(v)
    return {"position": position, "v": v, "x": round(position * 4) / 4}, False


class _Hidden:
    """A speed that is not a field, with a noisy reading of it."""

    def reset(self, rng):
        self.speed = 0.0
        return {"x": rng.normal(), "v": rng.normal(0, 0.01)}

    def step(self, row, action, rng):
        self.speed = 0.95 * self.speed + 0.2 * action
        return {"x": row["x"] + 0.05 * self.speed, "v": self.speed + rng.normal(0, 0.01)}, False


_HIDDEN = _Hidden()


def _drain(row, action, rng):
    battery = max(0.0, row["battery"] - (0.25, 0.5, 1.25)[action])
    return {"battery": battery, "low": battery < 20}, battery <= 0


def _tick(row, action, rng):
    t = row["t"] + 1
    return {"t": t, "left": 50 - t, "noise": rng.normal()}, False


def _walk_randomly(row, action, rng):
    return {name: row[name] + rng.normal() for name in row}, False


# ---- grids and events


def _start_coins(rng):
    cells = rng.permutation(36)[:4]
    return {"x": int(cells[0]) % 6, "y": int(cells[0]) // 6, "collected": 0, "coins": tuple(cells[1:].tolist())}


class _Coins:
    """Three coins on a grid; a coin is gone once it is collected."""

    def reset(self, rng):
        row = _start_coins(rng)
        self.left = set(row.pop("coins"))
        return row

    def step(self, row, action, rng):
        dx, dy = ((0, 0), (1, 0), (-1, 0), (0, 1), (0, -1))[action]
        x, y = min(max(row["x"] + dx, 0), 5), min(max(row["y"] + dy, 0), 5)
        coin = x + 6 * y in self.left
        self.left -= {x + 6 * y}
        return {"x": x, "y": y, "collected": row["collected"] + coin, "coin": coin}, False


_COINS = _Coins()


class _Beeper:
    """A signal that cannot come again within five steps."""

    def reset(self, rng):
        self.wait = 0
        return {"load": float(rng.normal())}

    def step(self, row, action, rng):
        self.wait -= 1
        beep = self.wait <= 0 and bool(rng.random() < 0.3)
        if beep:
            self.wait = 5
        return {"load": 0.9 * row["load"] + float(rng.normal()), "beep": beep}, False


_BEEPER = _Beeper()


def _heat(row, action, rng):
    heater = action == 1
    return {"temperature": row["temperature"] + 0.1 * (10 - row["temperature"]) + 2.0 * heater, "heater": heater}, False


def _pump(row, action, rng):
    a, b, c = row["a"], row["b"], row["c"]
    down, up = min(a, rng.uniform(0, 0.5)), min(c, rng.uniform(0, 0.5) * (action == 1))
    middle = min(b, 0.2)
    return {"a": a - down + up, "b": b + down - middle, "c": c + middle - up}, False


def _start_tanks(rng):
    a, b = rng.uniform(0, 10, 2)
    return {"a": a, "b": b, "c": 30 - a - b}


def _stride(row, action, rng):
    height = float(row["height"] + 0.1 * (1.0 - row["height"]) + rng.normal(0, 0.12))
    pitch = float(0.95 * row["pitch"] + 0.2 * action + rng.normal(0, 0.05))
    return {"height": height, "pitch": pitch, "speed": float(rng.normal())}, height < 0.3 or abs(pitch) > 1.0


def _open(row, action, rng):
    key = row["key"] or bool(rng.random() < 0.05)
    return {"key": key, "open": key and action == 1, "noise": rng.normal()}, False


def _cross(row, action, rng):
    phase = row["phase"] if rng.random() < 0.8 else str(rng.choice(["red", "amber", "green"]))
    speed = 0.0 if phase == "red" else float(rng.uniform(1, 5))
    return {"phase": phase, "speed": speed}, False


def _push(row, action, rng):
    effort = float(action * action)
    return {"effort": effort, "cost": 2.5 * abs(action), "drag": float(rng.normal())}, False


def _record(row, action, rng):
    x = row["x"] + rng.normal() - 0.02 * row["x"]
    return {"x": x, "best": max(row["best"], x)}, False


def _correlate(row, action, rng):
    x = 0.9 * row["x"] + rng.normal()
    return {
        "x": x,
        "y": 2 * x + rng.normal(0, 0.01),
        "busy": bool(x > rng.normal(0, 0.05)),
        "above": x + 3.2 + rng.normal(0, 1),
    }, False


def _fail_rarely(row, action, rng):
    x = 0.9 * row["x"] + rng.normal()
    slip = rng.random() < 0.001
    on = bool(rng.random() < 0.4)
    return {
        "x": x,
        "y": 2 * x + (0.5 if slip else 0.0),
        "on": on,
        "lit": on != bool(rng.random() < 0.001),
        "z": row["z"] + 1 - 3 * bool(rng.random() < 0.001),
    }, False


def _end_by_chance(row, action, rng):
    x = 0.95 * row["x"] + rng.normal(0, 0.3)
    return {"x": x, "y": rng.normal()}, bool(rng.random() < 0.03 * (1 + max(x, 0)) ** 3)


def _wait(row, action, rng):
    return {"x": 0.9 * row["x"] + rng.normal()}, False


MOVING = Simulator(
    "integrator",
    lambda rng: {"x": rng.normal(), "v": rng.normal()},
    _integrate,
    must={"rates.x": ("v", 0.05), "rates.v": ("action", 0.1), "horizon": 200},
    may={"still.v": True},
)
SIMULATORS = [
    MOVING,
    Simulator(
        "integrator, float32",
        MOVING.reset,
        MOVING.step,
        single=True,
        must=MOVING.must,
        may=MOVING.may,
    ),
    Simulator(
        "valley",
        lambda rng: {"x": rng.uniform(-0.6, -0.4), "v": 0.0},
        _integrate_new_speed,
        actions=3,
        idle=1,
        single=True,
        must={"rates.x": ("v", 1.0), "horizon": 200},
    ),
    Simulator(
        "angle",
        _start_turn,
        _turn,
        must={"rates.theta": ("omega", 0.05), "facts.norm_of_cos_sin": None, "horizon": 200},
    ),
    Simulator(
        "coarse sensor",
        lambda rng: {"position": 0.0, "v": rng.normal(), "x": 0.0},
        _read_coarsely,
        must={"horizon": 200},
        may={"max_change.x": 0.25},
    ),
    Simulator("noisy speed", _HIDDEN.reset, _HIDDEN.step, must={"horizon": 200}),
    Simulator(
        "battery",
        lambda rng: {"battery": float(rng.integers(160, 400)) / 4, "low": False},
        _drain,
        actions=3,
        limit=None,
        must={
            "monotone.battery": "down",
            "ends.battery_below": 0.0,
            "max_change.battery": 1.25,
            "facts.low_from_battery": None,
        },
    ),
    Simulator(
        "timer",
        lambda rng: {"t": 0, "left": 50, "noise": 0.0},
        _tick,
        limit=50,
        must={
            "monotone.t": "up",
            "monotone.left": "down",
            "max_change.t": 1.0,
            "max_change.left": 1.0,
            "horizon": 50,
            "facts.sum_of_left_t": None,
        },
    ),
    Simulator("random walk", lambda rng: {"x": 0.0, "y": 0.0, "z": 0.0}, _walk_randomly, must={"horizon": 200}),
    Simulator(
        "coins",
        _COINS.reset,
        _COINS.step,
        actions=5,
        must={
            "still.x": True,
            "still.y": True,
            "max_change.x": 1.0,
            "max_change.y": 1.0,
            "max_change.collected": 1.0,
            "monotone.collected": "up",
            "events.coin": None,
            "events.coin.at_most": 3,
            "horizon": 200,
        },
        may={"still.collected": True, "events.coin.renews": None},
    ),
    Simulator(
        "cooldown", _BEEPER.reset, _BEEPER.step, must={"events.beep": None, "events.beep.renews": 5, "horizon": 200}
    ),
    Simulator(
        "thermostat",
        lambda rng: {"temperature": rng.uniform(5, 30), "heater": False},
        _heat,
        actions=2,
        must={"facts.action_fixes_heater": None, "horizon": 200},
        may={"still.heater": None},
    ),
    Simulator(
        "tanks",
        _start_tanks,
        _pump,
        actions=2,
        must={"facts.sum_of_a_b_c": None, "horizon": 200},
        may={"max_change.c": 0.2, "max_change.b": None},
    ),
    Simulator(
        "walker",
        lambda rng: {"height": 1.0, "pitch": 0.0, "speed": 0.0},
        _stride,
        limit=None,
        must={"ends.height_below": 0.3, "ends.pitch_outside": 1.0},
    ),
    Simulator(
        "key and door",
        lambda rng: {"key": False, "open": False, "noise": 0.0},
        _open,
        actions=2,
        limit=60,
        must={"facts.open_implies_key": None, "horizon": 60},
        may={"facts.action_fixes_open": None, "facts.not_key_implies_not_open": None, "events.open": None},
    ),
    Simulator(
        "traffic light",
        lambda rng: {"phase": "red", "speed": 0.0},
        _cross,
        must={"facts.phase_fixes_speed": None, "horizon": 200},
    ),
    Simulator(
        "effort",
        lambda rng: {"effort": 0.0, "cost": 0.0, "drag": 0.0},
        _push,
        must={"facts.effort_from_square_of_action": None, "facts.cost_from_size_of_action": None, "horizon": 200},
    ),
    Simulator(
        "best so far",
        lambda rng: (lambda x: {"x": x, "best": x})(rng.normal()),
        _record,
        must={"facts.x_at_most_best": None, "monotone.best": "up", "horizon": 200},
    ),
    Simulator(
        "correlated", lambda rng: {"x": 0.0, "y": 0.0, "busy": False, "above": 3.0}, _correlate, must={"horizon": 200}
    ),
    Simulator(
        "rarely failing",
        lambda rng: {"x": 0.0, "y": 0.0, "on": False, "lit": False, "z": 0.0},
        _fail_rarely,
        must={"horizon": 200},
        may={"max_change.z": None},
    ),
    Simulator("ends by chance", lambda rng: {"x": 0.0, "y": 0.0}, _end_by_chance, limit=None),
    Simulator("two limits", lambda rng: {"x": 0.0}, _wait, limit=lambda rng: int(rng.choice([50, 80]))),
]

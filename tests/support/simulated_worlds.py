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


# ---- worlds that were written after the rules of learning were settled


def _ride(row, action, rng):
    door = action == 3
    floor = row["floor"] + (action == 1) - (action == 2)
    boarding = int(rng.integers(-1, 2)) if door else 0
    return {
        "floor": min(max(floor, 0), 9),
        "door": door,
        "passengers": min(max(row["passengers"] + boarding, 0), 6),
    }, False


def _oscillate(row, action, rng):
    a = -row["x"] + action
    v = row["v"] + 0.1 * a
    return {"x": row["x"] + 0.1 * v, "v": v, "a": a}, False


def _sell(row, action, rng):
    demand = int(rng.poisson(4))
    sold = min(row["stock"], demand)
    stock = row["stock"] - sold + (0, 3, 8)[action]
    return {"stock": stock, "demand": demand, "sold": sold, "lost": demand - sold}, False


def _drive(row, action, rng):
    speed = float(np.clip(row["speed"] + 0.004 * action + rng.normal(0, 0.001), 0, 0.08))
    position = row["position"] + speed
    lap = position >= 1
    return {"position": position - lap, "speed": speed, "lap": bool(lap), "laps": row["laps"] + int(lap)}, False


def _water(row, action, rng):
    humidity = float(np.clip(row["humidity"] + 4 * action + rng.normal(0, 3), 0, 100))
    alarm = humidity > 80 or (row["alarm"] and humidity > 70)
    leak = humidity > 60 and bool(rng.random() < 0.02)
    return {"humidity": humidity, "alarm": alarm, "leak": leak}, leak


def _fly(row, action, rng):
    vz = row["vz"] + 0.1 * (4 * action + rng.normal(0, 0.5))
    z = row["z"] + 0.1 * vz
    battery = row["battery"] - 0.05 - 0.1 * abs(action)
    return {"z": z, "vz": vz, "battery": battery}, z <= 0 or z >= 50


class _Wear:
    """A machine that breaks by wear, which is not a field; a noisy reading of it is."""

    def reset(self, rng):
        self.wear = 0.0
        return {"load": 0.0, "heat": 0.0}

    def step(self, row, action, rng):
        load = 0.8 * row["load"] + 0.2 * action
        self.wear += load * load + 0.005
        return {"load": load, "heat": self.wear + rng.normal(0, 0.05)}, self.wear > 1


_WEAR = _Wear()


def _clip(row, action, rng):
    temperature = row["temperature"] + 0.3 * action + rng.normal(0, 2) - 0.02 * (row["temperature"] - 80)
    return {"temperature": temperature, "reading": min(temperature, 90.0), "too_hot": temperature > 95}, False


class _Delay:
    def reset(self, rng):
        self.last = 0.0
        return {"x": rng.normal()}

    def step(self, row, action, rng):
        x = row["x"] + 0.1 * self.last
        self.last = action
        return {"x": x}, False


_DELAY = _Delay()


def _steer(row, action, rng):
    v = row["v"] * 0.95 + 0.1 * rng.normal()
    heading = row["heading"] + 0.2 * action
    speed = abs(v)
    return {
        "x": row["x"] + 0.1 * v * float(np.cos(heading)),
        "y": row["y"] + 0.1 * v * float(np.sin(heading)),
        "v": v,
        "heading": heading,
        "speed": speed,
        "odometer": row["odometer"] + 0.1 * speed,
    }, False


def _clock(row, action, rng):
    minute = row["minute"] + 5
    hour = (row["hour"] + minute // 60) % 24
    return {
        "minute": minute % 60,
        "hour": hour,
        "night": hour < 6 or hour >= 22,
        "light": 0.0 if (hour < 6 or hour >= 22) else float(rng.uniform(1, 9)),
    }, False


def _jitter(row, action, rng):
    dt = float(rng.uniform(0.09, 0.11))
    v = 0.98 * row["v"] + 0.1 * action
    return {"t": row["t"] + dt, "dt": dt, "x": row["x"] + row["v"] * dt, "v": v}, False


def _fight(row, action, rng):
    hit = bool(rng.random() < 0.15) and action != 2
    kill = action == 1 and bool(rng.random() < 0.1)
    health = row["health"] - (int(rng.integers(1, 4)) if hit else 0)
    if action == 0 and not hit:
        health = min(health + 1, 20)
    return {
        "health": max(health, 0),
        "hit": hit,
        "kill": kill,
        "kills": row["kills"] + kill,
        "shield": action == 2,
    }, health <= 0


def _arrive(row, action, rng):
    x = row["x"] + 0.5 * action + rng.normal(0, 0.3)
    return {"x": x, "arrived": 4 < x < 5 and abs(action) < 0.5, "gap": 4.5 - x}, (
        4 < x < 5 and abs(action) < 0.5
    ) or abs(x) > 8


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
HELD_BACK = [
    Simulator(
        "elevator",
        lambda rng: {"floor": int(rng.integers(10)), "door": False, "passengers": 0},
        _ride,
        actions=4,
        limit=300,
        must={
            "still.floor": True,
            "max_change.floor": 1.0,
            "max_change.passengers": 1.0,
            "facts.action_fixes_door": None,
            "horizon": 300,
        },
        may={"still.passengers": True, "events.door": None},
    ),
    Simulator(
        "oscillator",
        lambda rng: {"x": rng.normal(), "v": rng.normal(), "a": 0.0},
        _oscillate,
        single=True,
        must={"rates.x": ("v", 0.1), "rates.v": ("a", 0.1), "horizon": 200},
        may={"facts.x_from_action_a_v": None},
    ),
    Simulator(
        "inventory",
        lambda rng: {"stock": 10, "demand": 0, "sold": 0, "lost": 0},
        _sell,
        actions=3,
        limit=100,
        must={"facts.sold_from_demand_lost": None, "horizon": 100},
        may={"facts.sold_at_most_demand": None, "events.lost": None},
    ),
    Simulator(
        "laps",
        lambda rng: {"position": 0.0, "speed": 0.0, "lap": False, "laps": 0},
        _drive,
        limit=400,
        must={
            "rates.position": ("speed", 1.0),
            "monotone.laps": "up",
            "events.lap": None,
            "max_change.laps": 1.0,
            "horizon": 400,
        },
        may={"events.lap.renews": None, "max_change.position": None},
    ),
    Simulator(
        "greenhouse",
        lambda rng: {"humidity": 50.0, "alarm": False, "leak": False},
        _water,
        limit=250,
        must={"ends.leak": True, "horizon": 250},
        may={"events.leak": None, "events.leak.at_most": 1},
    ),
    Simulator(
        "drone",
        lambda rng: {"z": 25.0, "vz": 0.0, "battery": 100.0},
        _fly,
        limit=None,
        must={"rates.z": ("vz", 0.1), "monotone.battery": "down", "ends.z_below": 0.0, "ends.z_above": 50.0},
    ),
    Simulator("wear", _WEAR.reset, _WEAR.step, limit=None),
    Simulator(
        "clipped reading",
        lambda rng: {"temperature": 80.0, "reading": 80.0, "too_hot": False},
        _clip,
        must={"facts.reading_at_most_temperature": None, "horizon": 200},
        may={"facts.too_hot_from_temperature": None, "facts.too_hot_fixes_reading": None},
    ),
    Simulator("delay", _DELAY.reset, _DELAY.step, must={"horizon": 200}),
    Simulator(
        "steering",
        lambda rng: {"x": 0.0, "y": 0.0, "v": 0.0, "heading": rng.uniform(-3, 3), "speed": 0.0, "odometer": 0.0},
        _steer,
        must={
            "rates.odometer": ("speed", 0.1),
            "rates.heading": ("action", 0.2),
            "monotone.odometer": "up",
            "facts.speed_from_size_of_v": None,
            "horizon": 200,
        },
        may={"still.heading": True, "facts.v_at_most_speed": None},
    ),
    Simulator(
        "clock",
        lambda rng: {"minute": 0, "hour": int(rng.integers(24)), "night": False, "light": 5.0},
        _clock,
        limit=300,
        must={"facts.night_fixes_light": None, "horizon": 300},
    ),
    Simulator(
        "jitter",
        lambda rng: {"t": 0.0, "dt": 0.1, "x": 0.0, "v": rng.normal()},
        _jitter,
        must={"rates.t": ("dt", 1.0), "monotone.t": "up", "horizon": 200},
    ),
    Simulator(
        "fight",
        lambda rng: {"health": 20, "kills": 0, "hit": False, "kill": False, "shield": False},
        _fight,
        actions=3,
        idle=0,
        limit=None,
        must={
            "monotone.kills": "up",
            "max_change.kills": 1.0,
            "max_change.health": 3.0,
            "events.hit": None,
            "events.kill": None,
            "facts.action_fixes_shield": None,
        },
        may={
            "ends.health_is_0": None,
            "facts.action_fixes_hit": None,
            "facts.action_fixes_kill": None,
            "facts.shield_implies_not_hit": None,
            "facts.shield_implies_not_kill": None,
            "still.kills": True,
            "events.shield": None,
            "facts.kill_implies_not_shield": None,
            "facts.hit_implies_not_shield": None,
        },
    ),
    Simulator(
        "arrive",
        lambda rng: {"x": 0.0, "arrived": False, "gap": 4.5},
        _arrive,
        limit=None,
        must={"ends.arrived": True, "ends.x_outside": 8.0, "facts.sum_of_gap_x": None},
        may={"events.arrived": None, "events.arrived.at_most": 1},
    ),
]
"""Worlds that were written after the rules of learning were settled."""


KINDS = ("slow", "noise", "flag", "sticky", "latch", "category", "integer", "count", "drift", "heavy")
FIRST = {"flag": False, "sticky": False, "latch": False, "category": "a", "integer": 0, "count": 5}


def make_structureless(seed: int) -> Simulator:
    """Return a world of random fields of all kinds, perhaps correlated, in which nothing holds but the step limit."""
    made = np.random.default_rng(seed)
    kinds = dict(enumerate(made.choice(KINDS, made.integers(3, 9)).tolist()))
    shares = made.uniform(0.05, 0.6, len(kinds))
    common = made.normal(size=len(kinds)) * (made.random(len(kinds)) < 0.4)
    ends, limit = float(made.choice([0, 0.005, 0.03])), int(made.choice([100, 600]))

    def step(row, action, rng):
        shared = rng.normal()
        noise = [float(rng.normal() + weight * shared) for weight in common]
        after = {f"f{at}": _draw(kind, row[f"f{at}"], noise[at], shares[at], action, rng) for at, kind in kinds.items()}
        return after, bool(rng.random() < ends)

    return Simulator(
        f"structureless {seed}", lambda rng: {f"f{at}": FIRST.get(kind, 0.0) for at, kind in kinds.items()}, step,
        actions=int(made.integers(2, 5)) if made.random() < 0.5 else None, limit=limit,
        may={"horizon": limit, "ends.timeout": None, **{f"events.f{at}": None for at, kind in kinds.items() if kind == "flag"}},
    )  # fmt: skip


def _draw(kind, value, noise, share, action, rng):
    """Return what a field is after a step that it was `value` before."""
    match kind:
        case "slow":
            return (1 - 0.5 * share) * value + noise + 0.3 * action
        case "noise":
            return noise
        case "flag":
            return bool(rng.random() < share)
        case "sticky":
            return value != bool(rng.random() < 0.2 * share)
        case "latch":
            return value or bool(rng.random() < 0.02 * share)
        case "category":
            return str(rng.choice(["a", "b", "c"])) if rng.random() < share else value
        case "integer":
            return int(rng.integers(4))
        case "count":
            return int(value + rng.poisson(2) - rng.poisson(2))
        case "drift":
            return value + 0.5 + noise
    return 0.9 * value + float(rng.standard_t(2))

"""Small worlds that were written to try rules of learning that were made without them."""

import numpy as np

from support.simulators import Simulator


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


def _start_robot(rng):
    row = {}
    for i in range(6):
        row[f"q{i}"] = float(rng.normal(0, 0.1))
        row[f"dq{i}"] = 0.0
    row.update(z=0.6, vz=0.0, x=0.0, vx=0.0, contact=True)
    return row


def _step_robot(row, action, rng):
    out = {}
    power = 0.0
    for i in range(6):
        tau = float(
            np.clip(action * np.sin(i + 1) - 0.5 * row[f"q{i}"] - 0.1 * row[f"dq{i}"] + rng.normal(0, 0.2), -1, 1)
        )
        dq = row[f"dq{i}"] + 0.05 * tau * 20
        out[f"tau{i}"] = tau
        out[f"dq{i}"] = dq
        out[f"q{i}"] = row[f"q{i}"] + 0.05 * dq
        power += abs(tau * dq)
    vz = 0.9 * row["vz"] + float(rng.normal(0, 0.15)) + 0.2 * (0.6 - row["z"])
    vx = 0.9 * row["vx"] + 0.05 * out["dq0"]
    out.update(vz=vz, z=row["z"] + 0.05 * vz, vx=vx, x=row["x"] + 0.05 * vx, power=power, contact=bool(row["z"] < 0.62))
    return out, out["z"] < 0.45


def _trade(row, action, rng):
    price = row["price"] * float(np.exp(rng.normal(0, 0.01)))
    trade_ = (0, 1, -1)[action] if row["position"] + (0, 1, -1)[action] >= 0 else 0
    fee = 0.25 * abs(trade_)
    return {
        "price": price,
        "position": row["position"] + trade_,
        "cash": row["cash"] - trade_ * price - fee,
        "fee": fee,
        "fees": row["fees"] + fee,
        "traded": trade_ != 0,
    }, False


def _stack(row, action, rng):
    lines = int(rng.choice([0, 0, 0, 0, 0, 0, 0, 1, 2], p=None))
    height = row["height"] + int(rng.integers(0, 3)) - 2 * lines
    height = max(height, 0)
    return {
        "height": height,
        "lines": lines,
        "cleared": row["cleared"] + lines,
        "level": (row["cleared"] + lines) // 10,
    }, height >= 20


class _Lift:
    def reset(self, rng):
        self.goal = int(rng.integers(5))
        self.rest = 0
        return {"at": 0, "open": False, "waiting": 1}

    def step(self, row, action, rng):
        at = min(max(row["at"] + (action == 1) - (action == 2), 0), 4)
        open_ = action == 3 and at == self.goal
        return {"at": at, "open": open_, "waiting": 0 if open_ else row["waiting"]}, open_


_LIFT = _Lift()


def _start_lander(rng):
    return {"h": 100.0, "v": 0.0, "fuel": 50.0, "landed": False, "crashed": False}


def _land(row, action, rng):
    thrust = 1.6 * (action == 1) if row["fuel"] > 0 else 0.0
    v = row["v"] + 0.2 * (thrust - 1.0)
    h = max(0.0, row["h"] + 0.2 * v * 5)
    fuel = max(0.0, row["fuel"] - 0.5 * (action == 1))
    down = h <= 0
    return {"h": h, "v": v, "fuel": fuel, "landed": bool(down and v > -2), "crashed": bool(down and v <= -2)}, bool(
        down
    )


def _queue(row, action, rng):
    t = (row["t"] + 1) % 40
    return {
        "t": t,
        "green": t < 20,
        "queue": max(0, row["queue"] + int(rng.random() < 0.4) - (2 if t < 20 else 0)),
        "passed": bool(t < 20 and row["queue"] > 0),
    }, False


def _convert(row, action, rng):
    celsius = float(0.95 * row["celsius"] + rng.normal())
    kelvin = celsius + 273.15
    return {
        "celsius": celsius,
        "kelvin": kelvin,
        "fahrenheit": 1.8 * celsius + 32,
        "delta": celsius - row["celsius"],
    }, False


def _tumble(row, action, rng):
    q = np.array([row[k] for k in "wijk"]) + 0.1 * rng.normal(size=4)
    q = q / np.linalg.norm(q)
    return dict(zip("wijk", q.tolist(), strict=True)), False


JOINTS = {f"rates.q{at}": (f"dq{at}", 0.05) for at in range(6)} | {
    f"rates.dq{at}": (f"tau{at}", 1.0) for at in range(6)
}
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
    Simulator(
        "robot",
        _start_robot,
        _step_robot,
        limit=300,
        single=True,
        must={**JOINTS, "rates.z": ("vz", 0.05), "rates.x": ("vx", 0.05), "ends.z_below": 0.45},
        may={"horizon": 300, "ends.timeout": None, **{f"max_change.dq{at}": 1.0 for at in range(6)}},
    ),
    Simulator(
        "trading",
        lambda rng: {"price": 100.0, "position": 0, "cash": 1000.0, "fee": 0.0, "fees": 0.0, "traded": False},
        _trade,
        actions=3,
        must={
            "max_change.position": 1.0,
            "monotone.fees": "up",
            "rates.fees": ("fee", 1.0),
            "still.position": True,
            "horizon": 200,
        },
        may={
            "max_change.fees": 0.25,
            "still.cash": True,
            "still.fees": True,
            "facts.traded_fixes_fee": None,
            "facts.action_fixes_fee": None,
            "facts.action_fixes_traded": None,
            "facts.traded_from_fee": None,
            "events.fee": None,
            "events.traded": None,
        },
    ),
    Simulator(
        "blocks",
        lambda rng: {"height": 0, "lines": 0, "cleared": 0, "level": 0},
        _stack,
        limit=None,
        must={"monotone.cleared": "up", "rates.cleared": ("lines", 1.0), "ends.height_above": 20.0},
        may={
            "ends.height_is_20": None,
            "monotone.level": "up",
            "max_change.cleared": 2.0,
            "max_change.level": 1.0,
            "events.lines": None,
            "facts.level_at_most_cleared": None,
            "max_change.height": 4.0,
            "facts.lines_at_most_cleared": None,
        },
    ),
    Simulator(
        "call",
        _LIFT.reset,
        _LIFT.step,
        actions=4,
        limit=100,
        must={"ends.open": True, "max_change.at": 1.0, "horizon": 100},
        may={
            "still.at": True,
            "monotone.waiting": "down",
            "ends.waiting_is_0": None,
            "events.open": None,
            "events.open.at_most": 1,
            "facts.open_fixes_waiting": None,
            "facts.action_fixes_open": None,
        },
    ),
    Simulator(
        "lander",
        _start_lander,
        _land,
        actions=2,
        idle=0,
        limit=None,
        must={"rates.h": ("v", 1.0), "monotone.fuel": "down", "max_change.fuel": 0.5, "ends.crashed": True},
        may={
            "ends.landed": True,
            "ends.h_below": 0.0,
            "events.crashed": None,
            "events.crashed.at_most": 1,
            "still.fuel": True,
            "max_change.v": 0.2,
            "events.landed": None,
            "events.landed.at_most": 1,
        },
    ),
    Simulator(
        "crossing",
        lambda rng: {"t": 0, "green": True, "queue": 0, "passed": False},
        _queue,
        limit=200,
        must={
            "horizon": 200,
            "facts.green_from_t": None,
        },
        may={"max_change.queue": 2.0, "facts.passed_implies_green": None, "events.passed": None, "max_change.t": None},
    ),
    Simulator(
        "units",
        lambda rng: {"celsius": 10.0, "kelvin": 283.15, "fahrenheit": 50.0},
        _convert,
        must={
            "facts.fahrenheit_from_celsius": None,
            "facts.kelvin_from_celsius": None,
            "rates.celsius": ("delta", 1.0),
            "rates.kelvin": ("delta", 1.0),
            "rates.fahrenheit": ("delta", 1.8),
            "horizon": 200,
        },
    ),
    Simulator(
        "quaternion",
        lambda rng: {"w": 1.0, "i": 0.0, "j": 0.0, "k": 0.0},
        _tumble,
        must={"facts.norm_of_i_j_k_w": None, "horizon": 200},
    ),
]

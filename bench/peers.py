"""The four rewards as one would write them by hand: what the compiled ones are measured against, and on which rows."""

import math

import numpy as np


def draw_roadsense(count: int, rng: np.random.Generator | None = None) -> dict[str, np.ndarray]:
    """Return columns of random transitions of roadsense."""
    rng = rng or np.random.default_rng(0)
    return {
        "distance": rng.uniform(0, 60, count),
        "deceleration": rng.uniform(-6, 6, count),
        "action": rng.integers(0, 4, count).astype(np.float64),
    }


class Calculator:
    """The roadsense reward as a class: constants on the class, a method a component, a dict of parts."""

    COLLISION, UNSAFE, SAFE_MIN, SAFE_MAX = 5.0, 15.0, 20.0, 40.0
    AT_COLLISION, AT_UNSAFE, AT_SAFE, AT_FAR = -100.0, -5.0, 1.0, 0.5
    HARSH, UNCOMFORTABLE, FOR_HARSH, FOR_UNCOMFORTABLE = 4.5, 3.0, -10.0, -2.0
    FOR_ALERT, FOR_MISSED = -2.0, -3.0

    def safety(self, distance):
        """Price the zone the car is in."""
        if distance < self.COLLISION:
            return self.AT_COLLISION
        if distance < self.UNSAFE:
            return self.AT_UNSAFE
        if self.SAFE_MIN <= distance <= self.SAFE_MAX:
            return self.AT_SAFE
        if distance > self.SAFE_MAX:
            return self.AT_FAR
        return 0.0

    def comfort(self, deceleration):
        """Price hard braking."""
        force = abs(deceleration)
        if force > self.HARSH:
            return self.FOR_HARSH
        if force > self.UNCOMFORTABLE:
            return self.FOR_UNCOMFORTABLE
        return 0.0

    def appropriateness(self, distance, action):
        """Price an action that does not fit."""
        if distance > self.SAFE_MAX and action > 1:
            return self.FOR_ALERT
        if distance < self.UNSAFE and action == 0:
            return self.FOR_MISSED
        return 0.0

    def calculate(self, distance, action, deceleration):
        """Return the total and its parts."""
        safety = self.safety(distance)
        comfort = self.comfort(deceleration)
        appropriateness = self.appropriateness(distance, action)
        total = safety + comfort + appropriateness
        info = {
            "reward_safety": safety,
            "reward_comfort": comfort,
            "reward_appropriateness": appropriateness,
            "reward_total": total,
            "distance": distance,
            "action": action,
            "deceleration": deceleration,
        }
        return total, info


PHASES = ["planning", "coding", "testing", "critique", "done"]


def apex(prev, curr):
    """The apex step reward, total and terms, from two state dicts."""
    before, after = prev.get("phase"), curr.get("phase")
    advance = 0.0
    if before in PHASES and after in PHASES and PHASES.index(after) > PHASES.index(before):
        advance = 0.3
    tests = 0.7 * (curr.get("test_pass_rate", 0.0) - prev.get("test_pass_rate", 0.0))
    tokens = -1e-4 * (curr.get("tokens_used", 0) - prev.get("tokens_used", 0))
    switch = -0.05 if curr.get("switch_committed", False) else 0.0
    return advance + tests + tokens + switch, advance, tests, tokens, switch


def deepthinker(score, consistency, grounding, tokens, latency, events, time_used):
    """The deepthinker reward, total and terms."""
    score = 0.3 * min(max(score, -1.0), 1.0)
    consistency = 0.2 * min(max(consistency, -1.0), 1.0)
    grounding = 0.2 * min(max(grounding, -1.0), 1.0)
    cost = -0.1 * min(min(1.0, math.log1p(tokens) / math.log1p(100_000)), 0.3)
    alignment = -0.1 * min(min(1.0, 0.1 * events), 0.4)
    time = -0.1 * min(min(1.0, time_used), 0.3)
    total = min(max(score + consistency + grounding + cost + alignment + time, -1.0), 1.0)
    return total, score, consistency, grounding, cost, alignment, time


STAGES = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 100.0)
BEFORE = (0.0, 1.0, 3.0, 7.0, 15.0, 31.0, 63.0, 127.0)


def hackmatrix(row):
    """The hackmatrix reward, total and its 15 components, from a dict of inputs."""
    d = row
    stage = int(d["stage"])
    step = -0.01
    completion = STAGES[stage - 1] if d["stage_completed"] else 0.0
    points = 0.5 * (d["curr.score"] - d["prev.score"])
    kills = 0.3 * d["kills"]
    pickup = 1.0 if d["picked_up"] else 0.0
    if d["died"]:
        delta = 0.0
    elif d["stage_completed"]:
        delta = d["prev.exit_distance"]
    else:
        delta = d["prev.exit_distance"] - d["curr.exit_distance"]
    distance = 0.05 * max(0.0, delta)
    victory = 500.0 + 100.0 * d["curr.score"] if d["won"] else 0.0
    death = -0.5 * BEFORE[stage - 1] if d["died"] else 0.0
    gain = 0.05 * (d["curr.credits"] - d["prev.credits"]) + 0.05 * (d["curr.energy"] - d["prev.energy"])
    holding = 0.01 * d["curr.credits"] + 0.01 * d["curr.energy"] if d["stage_completed"] else 0.0
    damage = -max(0.0, d["prev.hp"] - d["curr.hp"])
    healing = max(0.0, d["curr.hp"] - d["prev.hp"])
    quality = -0.5 * (0.05 * d["missed_credits"] + 0.05 * d["missed_energy"]) if d["action"] == 4 else 0.0
    waste = -0.3 if d["action"] == 19 and d["prev.hp"] == 2 else 0.0
    siphon_death = -10.0 if d["died"] and d["siphon_death"] else 0.0
    total = (
        step + completion + points + kills + pickup + distance + victory + death + gain + holding + damage
        + healing + quality + waste + siphon_death
    )  # fmt: skip
    return (
        total, step, completion, points, kills, pickup, distance, victory, death, gain, holding, damage, healing,
        quality, waste, siphon_death,
    )  # fmt: skip


def roadsense_columns(distance, deceleration, action):
    """The roadsense reward on columns, as a careful person writes it with np.select and np.where."""
    safety = np.select(
        [distance < 5, distance < 15, distance < 20, distance <= 40], [-100.0, -5.0, 0.0, 1.0], default=0.5
    )
    force = np.abs(deceleration)
    comfort = np.where(force > 4.5, -10.0, np.where(force > 3.0, -2.0, 0.0))
    alert = (distance > 40) & (action > 1)
    missed = (distance < 15) & (action == 0)
    appropriateness = np.where(alert, -2.0, np.where(missed, -3.0, 0.0))
    return safety + comfort + appropriateness, safety, comfort, appropriateness


def roadsense_expressions(*, ranges):
    """The roadsense reward as expressions of Polars, as a careful person writes them; with `ranges`, masked by them."""
    import polars as pl

    distance, force, action = pl.col("distance"), pl.col("deceleration").abs(), pl.col("action")
    safety = (
        pl.when(distance < 5).then(-100.0).when(distance < 15).then(-5.0).when(distance < 20).then(0.0)
        .when(distance <= 40).then(1.0).otherwise(0.5)
    )  # fmt: skip
    comfort = pl.when(force > 4.5).then(-10.0).when(force > 3.0).then(-2.0).otherwise(0.0)
    alert, missed = (distance > 40) & (action > 1), (distance < 15) & (action == 0)
    appropriateness = pl.when(alert).then(-2.0).when(missed).then(-3.0).otherwise(0.0)
    total = safety + comfort + appropriateness
    found = {"total": total, "safety": safety, "comfort": comfort, "appropriateness": appropriateness}
    if not ranges:
        return found
    ok = (distance >= 0) & distance.is_not_nan() & pl.col("deceleration").is_between(-15, 15)
    ok &= action.is_in([0.0, 1.0, 2.0, 3.0])
    return {"ok": ok, **{name: pl.when(ok).then(number) for name, number in found.items()}}

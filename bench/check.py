"""`plaudit check` of the four built-in rewards, with and without z3, and of large ones; reader and intervals alone.

Budgets: all four in under 5 s in one process, z3 included; a walking robot of 12 joints in 2 s, 200 terms in 5 s, all
with less than 1 GB; reader and interval bounds under 10 ms a reward.
"""

import time
import tracemalloc
from collections.abc import Callable

from timing import QUICK, compare, table

from plaudit import Field, Report, Reward, Task, check, term
from plaudit.language.intervals import bound_nodes
from plaudit.systems import BUILT_IN, load

ALL_SECONDS, READ_SECONDS = 5.0, 0.010
ROUNDS = 1 if QUICK else 3
JOINTS = {1: 2.0} if QUICK else {12: 2.0, 40: 60.0}
"""Walking robots, by their joints, and the seconds that a check of each may take."""
PARTS = ("name", "version", "terms", "action", "low", "high", "doc", "task", "allow")


def main() -> None:
    rewards = {name: load(name) for name in (["apex"] if QUICK else BUILT_IN)}
    checks(rewards)
    print()
    sizes()
    print()
    readings(rewards)


def checks(rewards: dict[str, Reward]) -> None:
    first, best = 0.0, dict.fromkeys(("with", "without"), 0.0)
    rows: list[tuple[str, ...]] = [
        ("check", "warnings", "advice", "undecided", "time", "undecided without z3", "time without z3")
    ]
    for name, reward in rewards.items():
        report, times = timed(lambda reward=reward: check(reward))
        bare, bare_times = timed(lambda reward=reward: check(reward, z3=False))
        first += times[0]
        best["with"] += min(times)
        best["without"] += min(bare_times)
        rows.append((name, *counts(report), ms(min(times)), str(len(bare.undecided)), ms(min(bare_times))))
    rows.append(("all", "", "", "", ms(best["with"]), "", ms(best["without"])))
    table(rows)
    print(f"all: {best['with'] / ALL_SECONDS:.2f}x the budget of {ALL_SECONDS:g} s, ", end="")
    print(f"{first / ALL_SECONDS:.2f}x the first time, when z3 is loaded")


def sizes() -> None:
    rows: list[tuple[str, ...]] = [("check", "terms", "inputs", "undecided", "time", "of the budget", "memory")]
    made = {f"{joints} joints": (walking(joints), budget) for joints, budget in JOINTS.items()}
    made["many terms"] = wide(), 5.0
    for name, (reward, budget) in made.items():
        report, times = timed(lambda reward=reward: check(reward))
        tracemalloc.start()
        check(reward)
        used = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        parts = str(len(reward.terms)), str(len(reward.program.inputs)), str(len(report.undecided))
        rows.append((name, *parts, ms(min(times)), f"{min(times) / budget:.2f}x", f"{used / 1e6:.0f} MB"))
    table(rows)


def walking(joints: int) -> Reward:
    """Return a walking reward of ten terms over so many joints."""

    @term
    def pace(velocity, command):
        return 1 - min(1.0, abs(command - velocity))

    @term(weight=0.5)
    def turn(yaw_rate, command):
        return 1 / (1 + (yaw_rate - command) ** 2)

    @term(weight=-2e-4, kind="penalty")
    def effort(torque):
        return sum(each * each for each in torque)

    @term(weight=-1e-3, kind="penalty")
    def power(torque, joint_velocity):
        return sum(abs(a * b) for a, b in zip(torque, joint_velocity, strict=True))

    @term(weight=-0.01, kind="penalty")
    def jerks(prev, curr):
        return sum((b - a) ** 2 for a, b in zip(prev.action, curr.action, strict=True))

    @term(weight=-0.05, kind="penalty")
    def limits(joint):
        return sum(max(0.0, abs(each) - 1.2) for each in joint)

    @term(weight=-0.1, kind="penalty")
    def posture(joint):
        return sum(abs(each) for each in joint)

    @term(weight=-2.0, kind="penalty")
    def bounce(height):
        return (height - 0.3) ** 2

    @term(weight=-1.0, kind="penalty")
    def tilt(roll, pitch):
        return roll * roll + pitch * pitch

    @term(weight=-10, terminal=True, kind="penalty")
    def fallen(fell):
        return fell

    vectors = {"torque": 40, "joint_velocity": 20, "joint": 1.5}
    numbers = {"velocity": 3, "command": 1, "yaw_rate": 2, "roll": 1, "pitch": 1}
    fields = [Field(name, length=joints, low=-most, high=most) for name, most in vectors.items()]
    fields += [Field(name, low=-most, high=most) for name, most in numbers.items()]
    fields += [Field("height", low=0, high=1), Field("fell", flag=True)]
    fields += [Field("action", length=joints, low=-1, high=1)]
    terms = [pace, turn, effort, power, jerks, limits, posture, bounce, tilt, fallen]
    task = Task(discount=0.99, states=[*vectors, *numbers, "height"])
    return Reward("walking", version="1", terms=terms, fields=fields, action="action", task=task)


def wide(count: int = 3 if QUICK else 200) -> Reward:
    """Return a reward of so many terms over a third more inputs, each of which reads three of them."""
    inputs = count * 4 // 3

    def make(at: int) -> object:
        first, second, third = at, (7 * at + 3) % inputs, (at + count) % inputs
        edge = at % 9 + 1

        @term(name=f"term{at}", weight=(1.0, -0.5, 0.1)[at % 3])
        def one(x):
            return abs(x[first] - edge) + (1.0 if x[second] < edge else -0.5) + max(0.0, x[third] - edge)

        return one

    terms = [make(at) for at in range(count)]
    fields = [Field("x", length=inputs, low=0, high=10)]
    return Reward("wide", version="1", terms=terms, fields=fields, task=Task(states=["x"]))


def counts(report: Report) -> tuple[str, str, str]:
    warnings = len(report.at_least("warning"))
    return str(warnings), str(len(report) - warnings), str(len(report.undecided))


def timed(work: Callable[[], Report]) -> tuple[Report, list[float]]:
    """Return a report, and how long each of a few calls took."""
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        report = work()
        times.append(time.perf_counter() - start)
    return report, times


def readings(rewards: dict[str, Reward]) -> None:
    rows: list[tuple[str, ...]] = [("reader and interval bounds", "nodes", "read", "bounds", "of the budget")]
    for name, reward in rewards.items():
        made = {
            "read": lambda reward=reward: reread(reward),
            "bounds": lambda reward=reward: bound_nodes(reward.program),
        }
        best = compare(made, calls=1, rounds=20).best
        share = (best["read"] + best["bounds"]) / READ_SECONDS
        rows.append((name, str(len(reward.program.nodes)), ms(best["read"]), ms(best["bounds"]), f"{share:.2f}x"))
    table(rows)


def reread(reward: Reward) -> object:
    """Read every term of a reward again, from its syntax tree to one Program."""
    parts = {part: getattr(reward, part) for part in PARTS}
    return Reward(**parts, fields=reward.fields.values(), shared=reward.shared).program


def ms(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms"


if __name__ == "__main__":
    main()

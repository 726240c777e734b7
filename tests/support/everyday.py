"""Random rewards such as people write, with random tasks: a seed gives the same one every time."""

import re
from random import Random
from typing import Any

from plaudit import Field, Reward, prefer, term
from plaudit.errors import DefinitionError
from support.strategies import load

RANGES: tuple[dict[str, Any], ...] = (
    {"low": 0, "high": 200},
    {"low": 0, "high": 35},
    {"low": -5, "high": 5},
    {"low": 0, "high": 1},
    {"low": -4.800000190734863, "high": 4.800000190734863},
    {"low": 0, "high": 1e-3},
    {"low": 0},
    {},
)
PIECES = (
    "{c} if {x} > {e} else {d}",
    "{c} if {e} <= {x} < {f} else {d}",
    "{c} if {x} < {e} else {d} if {x} < {f} else 0",
    "-abs({x} - {e})",
    "{c} * {x}",
    "max(0.0, {e} - {x})",
    "min({x}, {e})",
    "-{x} * {x}",
    "exp(-abs({x}))",
    "log1p(abs({x} - {e}))",
    "{x} / (1 + abs({x}))",
    "{c} * {x} if {x} > {e} else {d}",
    "({x} - {e}) / {f}",
    "{x} * {y}",
    "{c} * {x} - {y}",
    "1.0 if {x} > {y} else {d}",
)
STEPS = (
    "prev.{x} - curr.{x}",
    "max(0.0, prev.{x} - curr.{x})",
    "{c} if curr.{x} > prev.{x} else 0",
    "0.9 * curr.{x} - prev.{x}",
    "0.99 * abs(curr.{x}) - abs(prev.{x})",
    "-abs(curr.{x} - prev.{x})",
    "{c} if prev.{x} < {e} <= curr.{x} else {d}",
)
FLAGS = ("{c} if hit else 0", "-{c} * hit", "{c} if hit and {x} > {e} else {d}", "not hit")
ACTIONS = ("-{c} * action", "{c} if action == 2 else {d}", "-abs(action - 1) * {x}")
WEIGHTS = (1, 1.0, 0.05, -0.01, -1, 0.3, 2.5, 1 / 3, -0.1)
KINDS = (None, None, "penalty", "bonus", "shaping", "goal")


class Draw:
    """One random reward with its task."""

    def __init__(self, seed: int) -> None:
        self.chance = Random(seed)
        self.numbers = {
            name: Field(name, unit=self.chance.choice(("", "", "m")), **self.chance.choice(RANGES))
            for name in ("x", "y", "z")[: self.chance.choice((1, 1, 2, 3))]
        }

    def sometimes(self, often: float) -> bool:
        return self.chance.random() < often

    def place(self, name: str) -> float:
        """Return a number within the range of a field, with few digits."""
        field = self.numbers[name]
        low = -10.0 if field.low is None else field.low
        high = low + 100.0 if field.high is None else field.high
        return float(f"{self.chance.uniform(low, high):.{self.chance.choice((1, 2, 2, 3))}g}")

    def function(self, name: str, pieces: tuple[str, ...]) -> str:
        """Return the text of a function of one or two numbers."""
        x, y = self.chance.choice(list(self.numbers)), self.chance.choice(list(self.numbers))
        e, f = sorted((self.place(x), self.place(x)))
        given = {"x": x, "y": y, "e": e, "f": f or 1.0, "c": self.chance.choice((1, 0.5, 3, 10, 0.1, -2)), "d": -0.2}
        body = self.chance.choice(pieces).format(**{**given, "d": self.chance.choice((0, -0.2, 1, -5))})
        reads = [each for each in (*self.numbers, "hit", "action") if _reads(each, body)]
        ends = ["prev", "curr"] if "prev." in body else []
        return f"def {name}({', '.join([*ends, *reads])}):\n    return {body}"

    def reward(self) -> Reward:
        """Return the reward, with whatever of its task fits."""
        families = [PIECES, PIECES, PIECES, STEPS, FLAGS, ACTIONS]
        texts = [
            self.function(f"term{at}", self.chance.choice(families)) for at in range(self.chance.choice((1, 2, 3)))
        ]
        end = self.sometimes(0.35)
        texts += [self.function("end", (*PIECES[:6], *FLAGS))] if end else []
        space = load("from math import exp, log1p\n\n" + "\n\n\n".join(texts) + "\n")
        terms = [self.term(space[text[4 : text.index("(")]]) for text in texts]
        read = " ".join(texts)
        fields = [each for name, each in self.numbers.items() if _reads(name, read)]
        fields += [Field("hit", flag=True)] if _reads("hit", read) else []
        fields += [Field("action", values=(0, 1, 2))] if _reads("action", read) else []
        low, high = self.chance.choice(((None, None), (None, None), (None, None), (-1.0, 1.0), (None, 2.5)))
        action = "action" if _reads("action", read) and self.sometimes(0.7) else None
        made = Reward("drawn", version="1", terms=terms, fields=fields, low=low, high=high, action=action)
        for part, said in self.statements(made):
            try:
                made = made.with_task(made.task.evolve(**{part: said}))
            except DefinitionError:
                continue  # it contradicts what is said already
        return made

    def term(self, function: Any) -> Any:
        low, high = self.chance.choice(((None, None), (None, None), (None, None), (0, None), (-1.0, 1.0), (None, 0.3)))
        kind, end = self.chance.choice(KINDS), function.__name__ == "end"
        return term(weight=self.chance.choice(WEIGHTS), kind=kind, low=low, high=high, terminal=end)(function)

    def statements(self, made: Reward) -> list[tuple[str, Any]]:
        """Return what a task may say of a reward, in any order."""
        numbers = [name for name in made.fields if name in self.numbers]
        said: list[tuple[str, Any]] = []
        for name in made.fields:
            if name in numbers:
                choices = [("better", {name: "high"}), ("better", {name: "low"}), ("aim", {name: self.place(name)})]
                choices += [("states", [name]), ("states", [name]), ("events", [name])]
                choices += [("max_change", {name: self.chance.choice((1, 0.5, 10))}), ("monotone", {name: "up"})]
                said += self.chance.sample(choices, self.chance.choice((0, 1, 2, 3)))
            elif name == "hit":
                said += self.chance.sample(
                    [("better", {name: "low"}), ("ends", {name: "bad"}), ("events", {name: 3})], 1
                )
        if numbers and self.sometimes(0.4):
            name = self.chance.choice(numbers)
            how = self.chance.choice(("<=", ">"))
            goal = load(f"def reached({name}):\n    return {name} {how} {self.place(name)!r}\n")["reached"]
            said += [("goal", goal), *([("goal_ends", False)] if self.sometimes(0.3) else [])]
        if numbers and self.sometimes(0.3):
            name = self.chance.choice(numbers)
            said.append(("prefer", [prefer({name: self.place(name)}, over={name: self.place(name)})]))
        if numbers and self.sometimes(0.4):
            said.append(("idle", {name: self.place(name) for name in numbers}))
        said += [("horizon", self.chance.choice((50, 200, 1000)))] if self.sometimes(0.6) else []
        said += [("discount", self.chance.choice((0.9, 0.99)))] if self.sometimes(0.4) else []
        return said


def _reads(name: str, text: str) -> bool:
    return re.search(rf"\b{name}\b", text) is not None


def draw_reward(seed: int) -> Reward:
    """Return the random reward of a seed."""
    return Draw(seed).reward()

"""The goal, the ends and the wishes of a task, read off the steps of an episode as far as its fields are given."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from plaudit.adapters.gymnasium.scoring import OWN
from plaudit.analysis.probe.measures import GOAL, NATIVE, is_counted, is_wish, list_measures
from plaudit.checks.solver.boxes import compile_question
from plaudit.checks.solver.ranges import encode_value
from plaudit.language.field import RECORDS
from plaudit.language.program import Program
from plaudit.reward.reward import Reward


class Readings:
    """What an episode is like by every measure but what it is paid."""

    def __init__(self, reward: Reward) -> None:
        self.fields: Any = {}
        bound, task = reward._bound, reward.task
        self._every = tuple(each.name for each in list_measures(reward) if each.name != NATIVE)
        self._goal = None if bound.goal is None else _build_condition(bound.goal_program, bound.goal.name)
        self._goal_ends = task.goal_ends
        self._signs = {name: end.sign for name, end in task.ends.items() if end.sign in ("good", "bad")}
        self._ends: dict[str, Callable[[Mapping[str, Any]], bool]] = {
            name: _build_condition(bound.end_programs[name], name) if name in bound.end_programs else _Input(name)
            for name in self._signs
        }
        self._wishes = {
            name: (_Input(name), each.aim, is_counted(each)) for name, each in bound.fields.items() if is_wish(each)
        }
        self.lacking: set[str] = set()
        """What could be measured, if the fields that are read for it were given."""
        self.begin()

    @property
    def names(self) -> tuple[str, ...]:
        """What there is to measure by."""
        return tuple(name for name in self._every if name not in self.lacking)

    def begin(self) -> None:
        """Begin an episode."""
        self._reached, self._sums, self._steps = False, dict.fromkeys(self._wishes, 0.0), 0
        self._finals: dict[str, float] = {}
        self._step: Mapping[str, Any] = {}

    def add(self, own: float, terminated: bool, truncated: bool) -> None:
        """Read a step, whose `fields` are given before."""
        outcomes = {OWN: own, "terminated": terminated, "truncated": truncated, "terminal": terminated}
        self._step = fields = {**outcomes, **self.fields}
        self._steps += 1
        if self._goal is not None and not self._reached and GOAL not in self.lacking:
            try:
                self._reached = self._goal(fields)
            except KeyError:
                self.lacking.add(GOAL)
        for name, (read, aim, _) in self._wishes.items():
            if name not in self.lacking:
                try:
                    value = float(read(fields))
                except KeyError:
                    self.lacking.add(name)
                else:
                    self._finals[name] = value = value if aim is None else abs(value - aim)
                    self._sums[name] += value

    def list_measures(self) -> dict[str, float]:
        """Return the measures of the episode; a field is told as it is, whichever way is better."""
        found = {GOAL: float(self._reached)} if self._goal else {}
        found |= {name: float(met) for name in self._ends if (met := self._meets(name)) is not None}
        for name, (_, _, counted) in self._wishes.items():
            found[name] = self._sums[name] / (1 if counted else max(self._steps, 1))
        return {name: found[name] for name in self._every if name in found and name not in self.lacking}

    def list_finals(self) -> dict[str, float]:
        """Return each wish as it was in the last step."""
        return dict(self._finals)

    def find_sign(self) -> Literal["good", "bad"] | None:
        """Return whether the episode ended as is wanted or as is not; None where nothing says so."""
        met = {self._signs[name] for name in self._ends if self._meets(name)}
        if "bad" in met:
            return "bad"
        return "good" if met or (self._reached and self._goal_ends) else None

    def _meets(self, end: str) -> bool | None:
        if end in self.lacking:
            return None
        try:
            return bool(self._ends[end](self._step))
        except KeyError:
            self.lacking.add(end)
            return None


class _Input:
    """Reads one input of a program out of the fields of a step; KeyError where it is not there."""

    def __init__(self, name: str) -> None:
        match = re.fullmatch(r"(?:(prev|curr)\.)?([^.\[]+)((?:\[\d+\])*)", name)
        assert match is not None, name
        self._whole = name
        self._record, self._name = match[1], match[2]
        self._entry = tuple(int(at) for at in re.findall(r"\d+", match[3]))

    def __call__(self, fields: Mapping[str, Any]) -> Any:
        if self._whole in fields:  # as records have it: "torque[0]"
            return fields[self._whole]
        value = self._find(fields)
        return np.asarray(value)[self._entry].item() if self._entry else value

    def _find(self, fields: Mapping[str, Any]) -> Any:
        if self._record is None and self._name in fields:
            return fields[self._name]
        for record in RECORDS if self._record is None else (self._record,):
            if f"{record}.{self._name}" in fields:
                return fields[f"{record}.{self._name}"]
            part = fields.get(record)
            if record == "prev" and self._record is None:
                continue
            if isinstance(part, Mapping) and self._name in part:
                return part[self._name]
            if part is not None and hasattr(part, self._name):
                return getattr(part, self._name)
        raise KeyError(self._name)


def _build_condition(program: Program, name: str) -> Callable[[Mapping[str, Any]], bool]:
    """Return the function from the fields of a step to whether a condition holds in it."""
    at = program.outputs[name]
    ask = compile_question(replace(program, outputs={"given": at, "asked": at}))
    inputs = [(name, _Input(name), declared) for name, declared in program.inputs.items()]

    def is_met(fields: Mapping[str, Any]) -> bool:
        row = {name: encode_value(declared, read(fields)) for name, read, declared in inputs}
        return ask(row) == 1.0

    return is_met

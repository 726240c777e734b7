"""What a reward should give, worked out by hand from the plain functions: no part of plaudit computes anything here."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from plaudit.language.field import Field
from plaudit.testing.cases import Case, Dtype, TermSpec, round_to
from plaudit.testing.rows import Row

Numbers = dict[str, float]
REFUSED = (ZeroDivisionError, ValueError, IndexError, OverflowError)


@dataclass(frozen=True)
class Outcome:
    """The total, each term's value and score; None and nothing where the row does not count."""

    total: Any
    values: dict[str, float]
    scores: dict[str, float]

    @property
    def ok(self) -> bool:
        """Whether the row counts."""
        return self.total is not None


NOTHING = Outcome(None, {}, {})
NOTHING_FINITE = Outcome(math.nan, {}, {})


class Oracle:
    """The plain functions of a case, called one by one, clamped, weighted and added up."""

    def __init__(self, case: Case, *, dtype: Dtype = np.float64) -> None:
        self.case = case
        self.dtype = dtype
        self.functions = case.functions(dtype=dtype)
        self.fields = {f.name: f for f in case.fields}
        self.at_rest = {f.name: (f.at_rest,) * f.length if f.length else f.at_rest for f in case.fields}
        """What is read and makes no difference is not asked for; any value will do."""
        self.arguments = {each.name: each for each in case.reward._functions}
        self.only_terminal = case.reward.program.terminal

    def _round(self, number: Any) -> Any:
        return None if number is None else round_to(number, self.dtype)

    def __call__(self, row: Row) -> Outcome:
        """Return what `row` should score."""
        final = bool(row.get("terminal", False))
        try:
            known = {column: self._read(column, value, final) for column, value in row.items()}
            scores = {t.name: self._score(t, known, final) for t in self.case.terms}
            above = [each.name for each in self.case.reward._composition.functions]
            results = {name: self._call(name, known) for name in above}
        except REFUSED:
            return NOTHING
        if not all(map(math.isfinite, (*scores.values(), *results.values()))):
            return NOTHING
        values = {}
        for t in self.case.terms:
            clamped = clamp(scores[t.name], self._round(t.low), self._round(t.high))
            weight = t.weight(known["tick"]) if callable(t.weight) else self._round(t.weight)
            values[t.name] = clamped * weight
            if self.case.scale is not None:
                values[t.name] *= self._round(self.case.scale)
        outcome = self._compose(values, scores, results) if self.case.reward._composed else self._add_up(values, scores)
        return outcome if all(map(math.isfinite, (outcome.total, *outcome.values.values()))) else NOTHING

    def _add_up(self, values: Numbers, scores: Numbers) -> Outcome:
        total = add_in_order(values.values())
        if not math.isfinite(total):
            return NOTHING_FINITE
        return Outcome(self._clamp_total(total), values, scores)

    def _clamp_total(self, total: float) -> float:
        return clamp(total, self._round(self.case.low), self._round(self.case.high))

    def _compose(self, values: Numbers, scores: Numbers, results: Numbers) -> Outcome:
        """Return the outcome of a reward whose total is more than a sum, with a row for each step away from it."""
        early = [t for t in self.case.terms if not t.after_clamp]
        rows, seen = {}, {}
        if self.case.gate:
            gated = add_in_order(values[t.name] for t in early if t.gated)
            opened = None if gated is None else gated * results["gate"]
            rows["gate"], seen["gate"] = 0.0 if gated is None else opened - gated, results["gate"]
            total = add_in_order((values[t.name] for t in early if not t.gated), opened)
        else:
            total = add_in_order(values[t.name] for t in early)
        total = 0.0 if total is None else total
        if not math.isfinite(total):
            return NOTHING_FINITE
        if self.case.low is not None or self.case.high is not None:
            rows["clamp"], seen["clamp"] = self._clamp_total(total) - total, total
            total = self._clamp_total(total)
        total = add_in_order((values[t.name] for t in self.case.terms if t.after_clamp), total)
        held = [(name, self._round(value)) for name, value in self.case.override if results[name]]
        for name, value in self.case.override:
            wins = held and held[0][0] == name
            rows[name], seen[name] = self._round(value) - total if wins else 0.0, results[name]
        if not math.isfinite(total):
            return NOTHING_FINITE
        return Outcome(held[0][1] if held else total, {**values, **rows}, {**scores, **seen})

    def _read(self, column: str, value: Any, final: bool) -> Any:
        """Return a value as the functions see it; ValueError where its field does not allow it."""
        if column == "terminal":
            return value
        field = self.fields[column.rpartition(".")[2]]
        if field.length:
            checked = [self._is_checked(f"{column}{entry}", final) for entry in field.entries]
            return tuple(self._read_entry(field, *each) for each in zip(value, checked, strict=True))
        return self._read_entry(field, value, self._is_checked(column, final))

    def _is_checked(self, name: str, final: bool) -> bool:
        return name in self.case.reward.inputs and (final or name not in self.only_terminal)

    def _read_entry(self, field: Field, value: Any, checked: bool) -> Any:
        if value is None:
            if field.missing is None and checked:
                raise ValueError("missing")
            value = field.missing if field.missing is not None else field.at_rest
        if field.kind == "category":
            value = field.other if value not in field.labels and field.other else value
            if value not in field.labels and checked:
                raise ValueError("unknown")
            return value
        if field.kind == "flag":
            return value
        if field.numbers:
            if checked and value not in field.numbers:
                raise ValueError("not listed")
            return value
        value = round_to(value, self.dtype)
        low, high = self._round(field.low), self._round(field.high)
        if checked and not self._is_allowed(field, value, low, high):
            raise ValueError("outside")
        return clamp(value, low, high) if field.outside == "clip" else value

    def _is_allowed(self, field: Field, value: float, low: float | None, high: float | None) -> bool:
        if math.isnan(value):
            return False
        if field.outside != "raise":
            return math.isfinite(value)
        if math.isinf(value):
            return field.infinite and value > 0
        return (low is None or low <= value) and (high is None or value <= high)

    def _score(self, spec: TermSpec, known: Row, final: bool) -> float:
        return 0.0 if spec.terminal and not final else self._call(spec.name, known)

    def _call(self, called: str, known: Row) -> float:
        made = self.arguments[called]
        records = {end: SimpleNamespace(**self.at_rest) for end in ("prev", "curr")}
        for column, value in known.items():
            end, _, name = column.rpartition(".")
            if end:
                setattr(records[end], name, value)
        assert made.source is not None
        code = made.source.function.__code__
        names = code.co_varnames[: code.co_argcount]
        given = [records[a] if a in records else known.get(a, getattr(records["curr"], a, None)) for a in names]
        knobs = {k: v if isinstance(v, bool) else self._round(v) for k, v in made.knobs.items()}
        knobs |= {k: self._round(v) for k, v in self.case.params if k in made.shared}
        return float(self.functions[called](*given, **knobs))


def add_in_order(numbers: Iterable[float], start: float | None = None) -> Any:
    """Return a sum, added one by one; None of nothing."""
    for number in numbers:
        start = number if start is None else start + number
    return start


def clamp(number: float, low: float | None, high: float | None) -> float:
    """Return `number` held within `[low, high]`."""
    if low is not None and number < low:
        return low
    return high if high is not None and number > high else number

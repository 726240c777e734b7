"""What a reward should give, worked out by hand from the plain functions: no part of plaudit computes anything here."""

import math
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np

from support.strategies import rounded

REFUSED = (ZeroDivisionError, ValueError, IndexError, OverflowError)


@dataclass(frozen=True)
class Outcome:
    """The total, each term's value and score; all None where the row does not count."""

    total: float | None
    values: dict[str, float] | None
    scores: dict[str, float] | None

    @property
    def ok(self) -> bool:
        return self.total is not None


NOTHING = Outcome(None, None, None)
NOTHING_FINITE = Outcome(math.nan, {}, {})


class Oracle:
    """The plain functions of a case, called one by one, clamped, weighted and added up."""

    def __init__(self, case, *, dtype=np.float64):
        self.case = case
        self.dtype = dtype
        self.functions = case.functions(dtype=dtype)
        self.fields = {f.name: f for f in case.fields}
        self.at_rest = {f.name: (f.at_rest,) * f.length if f.length else f.at_rest for f in case.fields}
        """What is read and makes no difference is not asked for; any value will do."""
        self.arguments = {each.name: each for each in case.reward.functions}
        self.only_terminal = case.reward.program.terminal

    def rounded(self, number):
        return None if number is None else rounded(number, self.dtype)

    def __call__(self, row) -> Outcome:
        """Return what `row` should score."""
        final = bool(row.get("terminal", False))
        try:
            known = {column: self.past_the_door(column, value, final) for column, value in row.items()}
            scores = {t.name: self.score(t, known, final) for t in self.case.terms}
            above = [each.name for each in self.case.reward.composition.functions]
            results = {name: self.call(name, known) for name in above}
        except REFUSED:
            return NOTHING
        if not all(map(math.isfinite, (*scores.values(), *results.values()))):
            return NOTHING
        values = {}
        for t in self.case.terms:
            clamped = clamp(scores[t.name], self.rounded(t.low), self.rounded(t.high))
            weight = t.weight(known["tick"]) if callable(t.weight) else self.rounded(t.weight)
            values[t.name] = clamped * weight
            if self.case.scale is not None:
                values[t.name] *= self.rounded(self.case.scale)
        outcome = self.compose(values, scores, results) if self.case.reward.composed else self.add_up(values, scores)
        return outcome if all(map(math.isfinite, (outcome.total, *outcome.values.values()))) else NOTHING

    def add_up(self, values, scores):
        total = left_to_right(values.values())
        if not math.isfinite(total):
            return NOTHING_FINITE
        return Outcome(self.limited(total), values, scores)

    def limited(self, total):
        return clamp(total, self.rounded(self.case.low), self.rounded(self.case.high))

    def compose(self, values, scores, results):
        """Return the outcome of a reward whose total is more than a sum, with a row for each step away from it."""
        early = [t for t in self.case.terms if not t.after_clamp]
        rows, seen = {}, {}
        if self.case.gate:
            gated = left_to_right(values[t.name] for t in early if t.gated)
            opened = None if gated is None else gated * results["gate"]
            rows["gate"], seen["gate"] = 0.0 if gated is None else opened - gated, results["gate"]
            total = left_to_right((values[t.name] for t in early if not t.gated), opened)
        else:
            total = left_to_right(values[t.name] for t in early)
        total = 0.0 if total is None else total
        if not math.isfinite(total):
            return NOTHING_FINITE
        if self.case.low is not None or self.case.high is not None:
            rows["clamp"], seen["clamp"] = self.limited(total) - total, total
            total = self.limited(total)
        total = left_to_right((values[t.name] for t in self.case.terms if t.after_clamp), total)
        held = [(name, self.rounded(value)) for name, value in self.case.override if results[name]]
        for name, value in self.case.override:
            wins = held and held[0][0] == name
            rows[name], seen[name] = self.rounded(value) - total if wins else 0.0, results[name]
        if not math.isfinite(total):
            return NOTHING_FINITE
        return Outcome(held[0][1] if held else total, {**values, **rows}, {**scores, **seen})

    def past_the_door(self, column, value, final):
        """Return a value as the functions see it; ValueError where its field does not allow it."""
        if column == "terminal":
            return value
        field = self.fields[column.rpartition(".")[2]]
        if field.length:
            return tuple(self.one(field, part, self.checked(f"{column}[{i}]", final)) for i, part in enumerate(value))
        return self.one(field, value, self.checked(column, final))

    def checked(self, name, final):
        return name in self.case.reward.inputs and (final or name not in self.only_terminal)

    def one(self, field, value, checked):
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
        value = rounded(value, self.dtype)
        low, high = self.rounded(field.low), self.rounded(field.high)
        if checked and not self.allowed(field, value, low, high):
            raise ValueError("outside")
        return clamp(value, low, high) if field.outside == "clip" else value

    def allowed(self, field, value, low, high):
        if math.isnan(value):
            return False
        if field.outside != "raise":
            return math.isfinite(value)
        if math.isinf(value):
            return field.infinite and value > 0
        return (low is None or low <= value) and (high is None or value <= high)

    def score(self, spec, known, final):
        return 0.0 if spec.terminal and not final else self.call(spec.name, known)

    def call(self, called, known):
        """Return what the plain function of a term, a gate or a condition returns."""
        made = self.arguments[called]
        records = {end: SimpleNamespace(**self.at_rest) for end in ("prev", "curr")}
        for column, value in known.items():
            end, _, name = column.rpartition(".")
            if end:
                setattr(records[end], name, value)
        code = made.source.function.__code__
        names = code.co_varnames[: code.co_argcount]
        given = [records[a] if a in records else known.get(a, getattr(records["curr"], a, None)) for a in names]
        knobs = {k: v if isinstance(v, bool) else self.rounded(v) for k, v in made.knobs.items()}
        knobs |= {k: self.rounded(v) for k, v in self.case.params if k in made.shared}
        return float(self.functions[called](*given, **knobs))


def left_to_right(numbers, start=None):
    """Return a sum, added one by one; None of nothing."""
    for number in numbers:
        start = number if start is None else start + number
    return start


def clamp(number, low, high):
    """Return `number` held within `[low, high]`."""
    if low is not None and number < low:
        return low
    return high if high is not None and number > high else number

"""Implications that held in every step: what a flag, a category or an action fixes, and flags of thresholds."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from plaudit.analysis.observe.relations import FEWEST, Relation, make_relation
from plaudit.analysis.observe.rounding import find_round, is_telling, write_number
from plaudit.analysis.observe.steps import Numbers, Steps
from plaudit.analysis.observe.transitions import Column, Mask

FEWEST_TIMES = 20
"""How often a condition must have begun to be true: one that stays true for long is a single case."""
EXPECTED = 12
"""How often a consequence would have failed, were it only as common as in the other steps.

That it did not fail by chance is then less likely than 1 in 100,000; there may be a thousand pairs of fields.
"""
MOST_VALUES = 8
WIDEST_GAP = 0.02
"""The share of a field's range within which a threshold must be known."""


@dataclass(frozen=True)
class _Atom:
    """That a field has a value."""

    field: str
    value: Any

    def write(self, *, opposite: bool = False) -> str:
        if isinstance(self.value, bool):
            return self.field if self.value != opposite else f"not {self.field}"
        value = repr(self.value) if isinstance(self.value, str) else write_number(self.value)
        return f"{self.field} {'!=' if opposite else '=='} {value}"

    def negate(self) -> "_Atom | None":
        return _Atom(self.field, not self.value) if isinstance(self.value, bool) else None


@dataclass(frozen=True)
class _Implication:
    condition: _Atom
    consequence: _Atom
    count: int


def find_implications(steps: Steps, actions: tuple[str, ...], known: list[Relation]) -> list[Relation]:
    """Return what flags, categories and actions of a few values fix, and the flags that say where a number is."""
    thresholds = _find_thresholds(steps, [name for name in actions if steps.is_few.get(name)])
    related = [set(relation.fields) for relation in (*known, *thresholds)]
    found = [
        each
        for each in _list_implications(steps, actions)
        if not any({each.condition.field, each.consequence.field} <= fields for fields in related)
    ]
    return [*thresholds, *_write_all(steps, _drop_implied(found))]


def _list_conditions(steps: Steps, actions: tuple[str, ...]) -> Iterator[tuple[_Atom, Mask]]:
    few = {name: steps.numbers[name] for name in actions if steps.is_few.get(name)}
    for name, column in {**steps.flags, **steps.categories, **few}.items():
        values = np.unique(column)
        if 2 <= len(values) <= MOST_VALUES:
            yield from ((_Atom(name, value), column == value) for value in values.tolist())


def _is_often(steps: Steps, rows: Mask) -> bool:
    """Return whether a condition was true in enough steps, and began to be true often enough."""
    rows = rows & steps.fresh
    return bool(rows.sum() >= FEWEST and _count_times(steps, rows) >= FEWEST_TIMES and steps.count_episodes(rows) >= 5)


def _count_times(steps: Steps, rows: Mask) -> int:
    """Return how often a condition began to be true."""
    rows = rows & steps.fresh
    return int((rows & ~(np.concatenate(([False], rows[:-1])) & (steps.position > 1))).sum())


def _count_stretches(steps: Steps, column: Column, rows: Mask) -> int:
    """Return in how many stretches, in which a field kept its value, one of `rows` is: each is one case."""
    begun = np.concatenate(([True], column[1:] != column[:-1])) | (steps.position == 1)
    return len(np.unique(np.cumsum(begun)[rows & steps.fresh]))


def _list_implications(steps: Steps, actions: tuple[str, ...]) -> Iterator[_Implication]:
    columns = {name: column for name, column in steps.scalars.items() if name not in actions}
    starts = {name: _find_starts(steps, name) for name in columns}
    for condition, rows in _list_conditions(steps, actions):
        if not _is_often(steps, rows):
            continue
        times = _count_times(steps, rows)
        for name, column in columns.items():
            if name == condition.field:
                continue
            value = column[rows][0]
            if (column[rows] != value).any():
                continue
            otherwise = float((column[~rows] != value).mean())
            chosen = condition.field in actions  # whatever the state, so that each time is a case of its own
            cases = times if chosen else min(times, _count_stretches(steps, column, rows))
            if otherwise * cases < EXPECTED:
                continue
            began, ended_up = starts.get(condition.field), starts[name]
            if began is not None and ended_up is not None and (ended_up[began == condition.value] != value).any():
                continue
            yield _Implication(condition, _Atom(name, value.item()), int(rows.sum()))


def _find_starts(steps: Steps, name: str) -> Column | None:
    before, known = steps.find_before(name)
    return before[steps.starts] if known[steps.starts].all() else None


def _drop_implied(found: list[_Implication]) -> list[_Implication]:
    """Return the implications without contraposed ones and those that follow from two others."""
    kept: dict[tuple[_Atom, _Atom], _Implication] = {}
    for each in sorted(found, key=lambda each: each.condition.value is False):
        if (each.consequence.negate(), each.condition.negate()) not in kept:
            kept[each.condition, each.consequence] = each
    every = {(each.condition, each.consequence) for each in found}
    every |= {(b, a) for x, y in every if (b := y.negate()) is not None and (a := x.negate()) is not None}
    dropped: set[tuple[_Atom, _Atom]] = set()
    for condition, consequence in kept:
        middles = {b for a, b in every - dropped if a == condition and b != consequence}
        if any((middle, consequence) in every - dropped and (middle, condition) not in every for middle in middles):
            dropped.add((condition, consequence))
    return [each for key, each in kept.items() if key not in dropped]


def _write_all(steps: Steps, found: list[_Implication]) -> Iterator[Relation]:
    """Yield a fact for each pair of fields: which values of one determine the other."""
    groups: dict[tuple[str, str], list[_Implication]] = {}
    for each in found:
        groups.setdefault((each.condition.field, each.consequence.field), []).append(each)
    for (condition, consequence), members in groups.items():
        values = {each.condition.value: each.consequence.value for each in members}
        is_flag = all(isinstance(each, bool) for each in (*values, *values.values()))
        if is_flag and len(values) == 2 and len(set(values.values())) == 2:
            name = f"{condition}_{'is' if values[True] else 'is_not'}_{consequence}"
            text = f"{condition} {'==' if values[True] else '!='} {consequence}"
        else:
            name = _name_implication(members)
            clauses = [f"{m.condition.write(opposite=True)} or {m.consequence.write()}" for m in members]
            text = clauses[0] if len(clauses) == 1 else " and ".join(f"({clause})" for clause in clauses)
        count = sum(each.count for each in members)
        yield make_relation(name, (condition, consequence), text, count)


def _name_implication(members: list[_Implication]) -> str:
    condition, consequence = members[0].condition, members[0].consequence
    if len(members) == 1 and isinstance(condition.value, bool) and isinstance(consequence.value, bool):
        head = condition.field if condition.value else f"not_{condition.field}"
        return f"{head}_implies_{'' if consequence.value else 'not_'}{consequence.field}"
    return f"{condition.field}_fixes_{consequence.field}"


# ---- flags that say on which side of a threshold a number is


def _find_thresholds(steps: Steps, choices: Collection[str]) -> list[Relation]:
    """Return the flags that say on which side of a threshold a number is; numbers of choices have no sides."""
    found = []
    for name, flag in steps.flags.items():
        if not (_is_often(steps, flag) and _is_often(steps, ~flag)):
            continue
        others = [other for other in steps.changing if other not in choices]
        splits = (split for other in others if (split := _find_split(steps, name, other)) is not None)
        if (first := next(splits, None)) is not None:
            found.append(first)
    return found


def _find_split(steps: Steps, name: str, other: str) -> Relation | None:
    """Return that a flag says on which side of a threshold a number is, or its size."""
    flag, column = steps.flags[name], steps.numbers[other]
    began, flags = _find_starts(steps, other), _find_starts(steps, name)
    if began is not None and flags is not None:
        flag, column = np.concatenate((flag, flags)), np.concatenate((column, began.astype(np.float64)))
    sides = [(other, column)] if column.min() >= 0 else [(other, column), (f"abs({other})", np.abs(column))]
    for written, values in sides:
        text = _split(written, values, flag, steps.is_whole[other])
        if text is not None:
            return make_relation(f"{name}_from_{other}", (name, other), f"{name} == ({text})", len(steps))
    return None


def _split(written: str, column: Numbers, flag: Mask, whole: bool) -> str | None:
    """Return the comparison that a flag is, where it is with an integer or a round number."""
    for above, high, low in ((True, column[flag], column[~flag]), (False, column[~flag], column[flag])):
        lower, upper = float(low.max()), float(high.min())
        if lower >= upper:
            continue
        if whole:
            bound, comparison = (upper, ">=") if above else (lower, "<=")
            return (
                f"{written} {comparison} {write_number(bound)}" if upper - lower == 1 and np.ptp(column) > 2 else None
            )
        bound, spacing = find_round(lower, upper)
        if not is_telling(lower, upper, spacing) or upper - lower > WIDEST_GAP * np.ptp(column):
            return None
        at_bound = bound == upper
        comparison = (">=" if at_bound else ">") if above else ("<" if at_bound else "<=")
        return f"{written} {comparison} {write_number(bound)}"
    return None

"""Rows aimed at the places where a reward changes: a quick look before anything is proved."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from plaudit.checks.aims import cuts, numbers_to_try
from plaudit.checks.subject import Subject
from plaudit.language.field import Field
from plaudit.language.program import Program

ROWS = 400


def aimed_columns(fields: Mapping[str, Field], programs: Sequence[Program], count: int) -> dict[str, np.ndarray]:
    """Return `count` rows as columns, each value drawn from those worth trying; the same rows every time."""
    chance = np.random.default_rng(0)
    places: dict[str, set[float]] = {name: set() for name in fields}
    for program in programs:
        for name, at in cuts(program).items():
            places.get(name, places.get(f"curr.{name}", set())).update(at)
    return {
        name: as_column(chance.choice(numbers_to_try(field, places[name]), count), field)
        for name, field in fields.items()
    }


def as_column(values: np.ndarray, field: Field) -> np.ndarray:
    """Return values as a column of the kind that a compiled reward takes."""
    return values.astype({"flag": np.bool_, "category": np.int64, "number": np.float64}[field.kind])


def can_matter(subject: Subject, names: Iterable[str]) -> bool:
    """Return whether other values of these inputs have changed a total; False proves nothing."""
    fields = subject.program.inputs
    columns = aimed_columns(fields, [subject.program], ROWS)
    others = aimed_columns(fields, [subject.program], 2 * ROWS)
    compiled = subject.reward.compile("numpy", on_bad="mask")
    before = compiled(columns).total
    after = compiled({**columns, **{name: others[name][ROWS:] for name in names}}).total
    return bool((np.abs(before - after) > 1e-12).any())

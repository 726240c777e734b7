"""Golden rows: chosen rows with their scores, for the tests of an implementation that runs without Python.

They take every branch that can be taken, lie on both sides of every comparison, and include rows that must be refused.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from plaudit.checks.branches import Branches
from plaudit.checks.model import RewardModel
from plaudit.checks.parity.aim import Aim
from plaudit.checks.parity.candidates import list_odd_values
from plaudit.checks.parity.coverage import BranchQuestions
from plaudit.checks.parity.judge import Judge
from plaudit.checks.solver.ranges import encode_value
from plaudit.language.program import Program
from plaudit.reward.reward import Reward
from plaudit.targets.compiled import GoldenRow, NumericRow, Scores
from plaudit.targets.diagnose import RowDiagnosis
from plaudit.targets.dtypes import estimate_rounding
from plaudit.targets.inputs import list_columns

MOST_ROWS = 400
SOLVING = 10.0
"""Time limit for the solver on branches that are rarely taken, in seconds."""


def list_golden_rows(reward: Reward, *, float32: bool = False, guard: bool = True) -> list[GoldenRow]:
    """Return rows of every branch and both sides of every comparison, and rows that are refused, with their outcome.

    With `float32`, of a computation in 32-bit floats. The same reward gives the same rows.
    """
    judge = Judge(reward.program, None, single=float32)
    questions = BranchQuestions(Branches(judge.program.bind()), RewardModel(reward), seconds=SOLVING)
    inputs = reward.program.inputs
    rest = {name: field.at_rest for name, field in inputs.items()}
    chosen = Aim(reward, judge, questions).list_rows(most=2 * MOST_ROWS) or [rest]
    good = [tuple(encode_value(field, row[name]) for name, field in inputs.items()) for row in chosen]
    rows = [*good, *_list_bad_rows(reward.program, good, float32=float32)]
    scores, after = _score(reward, rows, float32=float32, guard=guard)
    bound = judge.program.bind()
    diagnosis = RowDiagnosis(bound, ranges=guard)
    terms = reward.program.terms
    parts = [scores.total, *(scores.values[term] for term in terms), *(scores.scores[term] for term in terms)]
    numbers = np.stack([np.broadcast_to(np.asarray(part, np.float64), len(rows)) for part in parts], axis=1)
    fine = np.broadcast_to(scores.ok, len(rows))  # one outcome for all rows if there are no inputs
    inexact = any(node.inexact for node in bound.nodes)
    room = estimate_rounding(
        bound,
        "float32" if float32 else "float64",
        np.hstack([np.array(rows, np.float64).reshape(len(rows), -1), numbers]),
    )
    found = []
    for at, row in enumerate(rows):
        ok = bool(fine[at])
        refused = None if ok else type(diagnosis(_decode(reward.program, row)))
        allowed = float(room[at]) if inexact and ok else 0.0
        found.append(GoldenRow(row, refused, tuple(map(float, numbers[at])), tuple(map(float, after[at])), allowed))
    return found


def _list_bad_rows(program: Program, good: Sequence[NumericRow], *, float32: bool) -> Iterator[NumericRow]:
    """Yield rows that differ from a good one in one input, which is just at or beyond what its field allows."""
    first = good[0]
    for at, field in enumerate(program.inputs.values()):
        for value in list_odd_values(field, single=float32):
            yield (*first[:at], value, *first[at + 1 :])


def _score(reward: Reward, rows: Sequence[NumericRow], *, float32: bool, guard: bool) -> tuple[Scores, Any]:
    program = reward.program
    table = np.array(rows, np.float64)
    places = {name: at for at, name in enumerate(program.inputs)}
    columns: dict[str, Any] = {}
    for column in list_columns(program):
        field = column.slots[0].field
        kind = {"flag": np.bool_, "category": np.int64, "number": np.float32 if float32 else np.float64}[field.kind]
        whole: Any = np.zeros((len(rows), max(1, math.prod(field.shape))), kind)
        for slot in column.slots:
            whole[:, slot.entry or 0] = table[:, places[slot.name]]
        columns[column.name] = whole.reshape(len(rows), *field.shape)
    made = reward.compile("numpy", on_bad="mask", guard=guard, dtype="float32" if float32 else "float64")
    with np.errstate(all="ignore"):
        if not program.states:
            return made(columns), np.zeros((len(rows), 0))
        before = {name: columns.pop(f"prev.{name}") for name in program.states}
        scores, after = made.step(columns, before)
    flat = [np.asarray(after[name], np.float64).reshape(len(rows), -1) for name in program.states]
    return scores, np.hstack(flat)


def _decode(program: Program, row: NumericRow) -> list[Any]:
    return [bool(v) if field.kind == "flag" else v for v, field in zip(row, program.inputs.values(), strict=True)]

"""Computing rows again, and comparing bits: what verification does, and whatever takes in numbers from outside."""

import json
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from plaudit.errors import InputError, LedgerError
from plaudit.ledger.storage.codec import PackedRecord, RecordLayout, Rows, find_needed
from plaudit.ledger.storage.computation import LIBRARIES, Computation, parse_computation, score_in
from plaudit.targets.dtypes import estimate_rounding
from plaudit.targets.numpy import NumpyReward

ULP = 4
"""How many units in the last place an operation that is not exactly rounded may differ by between machines."""

Flags = NDArray[np.bool_]


class Recomputer:
    """A stored reward, run again over stored inputs."""

    def __init__(self, layout: RecordLayout) -> None:
        """Prepare the reward of a layout."""
        self.layout = layout
        self.program = layout.scored.program

    @cached_property
    def exact(self) -> bool:
        """Whether every machine computes the same bits."""
        return not any(node.inexact for node in self.program.nodes)

    @cached_property
    def _compiled(self) -> NumpyReward:
        return NumpyReward(self.program, on_bad="mask")

    def run_numpy(self, rows: Rows) -> Rows:
        """Return the outputs of stored rows by the NumPy target, NaN where a row is refused."""
        with np.errstate(invalid="ignore"):
            scores = self._compiled(self.layout.split_columns(rows))
        return self._refuse_gaps(self.layout.stack_scores(scores, len(rows)), rows)

    def run_python(self, rows: Rows) -> Rows:
        """Return the outputs of stored rows by the Python target, NaN where a row is refused."""
        outputs = np.full((len(rows), self.layout.breadth), np.nan)
        for at, row in enumerate(rows.tolist()):
            outputs[at] = self._run_row(row)
        return self._refuse_gaps(outputs, rows)

    def _refuse_gaps(self, outputs: Rows, rows: Rows) -> Rows:
        """Return the outputs with NaN in rows that lack an input which the reward reads there."""
        gaps = self.layout.find_gaps(rows)
        if gaps:
            terminal = rows[:, self.layout.scored.inputs.index("terminal")] == 1 if self.program.terminal else False
            for lacking in find_needed(self.program, gaps, terminal).values():
                outputs[lacking] = np.nan
        return outputs

    def _run_row(self, row: list[float]) -> list[float]:
        try:
            found = self._run_everything(row)
        except InputError:
            return [float("nan")] * self.layout.breadth
        layout = self.layout.scored._compiled.layout
        pairs = zip(layout.scores, layout.values, strict=True)
        return [found[0], *(found[at] for pair in pairs for at in pair)]

    def _run_everything(self, row: list[float]) -> tuple[float, ...]:
        """Return every output of the Python target; InputError where it refuses the row."""
        signal = self.layout.build_signal(row, [0.0] * self.layout.breadth)
        return self.layout.scored._compiled._everything(*signal.row)

    def parse(self, target: str) -> Computation:
        """Return what computed records, as their block says it; LedgerError where no plaudit wrote it."""
        return parse_computation(target, self.program)

    def run_library(self, rows: Rows, computation: Computation) -> Rows:
        """Return the outputs of stored rows by JAX or PyTorch, NaN where a row is refused."""
        scores = score_in(computation, self.layout.scored, self.layout.split_columns(rows))
        return self._refuse_gaps(self.layout.stack_scores(scores, len(rows)), rows)

    def find_different(self, rows: Rows, stored: Rows, *, target: str, here: bool) -> Flags:
        """Return which rows are not what was stored; `here` says that this machine computed them.

        JAX and PyTorch add in an order of their own, and have functions of their own for each device: what they
        computed may differ as far as rounding can move it.
        """
        computation = self.parse(target)
        if computation.target in LIBRARIES:
            return self._find_beyond(self.run_library(rows, computation), rows, stored, computation)
        target = computation.target
        compute = self.run_numpy if self.exact or target == "numpy" else self.run_python
        different = _find_different(compute(rows), stored)
        if different.any() and compute == self.run_numpy and target == "python":
            odd = np.flatnonzero(different)  # the sign of a zero may differ between targets
            different[odd] = _find_different(self.run_python(rows[odd]), stored[odd])
        if different.any() and not self.exact and not here:
            odd = np.flatnonzero(different)
            again = (self.run_numpy if target == "numpy" else self.run_python)(rows[odd])
            different[odd] = _find_distant(again, stored[odd])
        return different

    def _find_beyond(self, computed: Rows, rows: Rows, stored: Rows, computation: Computation) -> Flags:
        room = estimate_rounding(self.program, computation.dtype, np.concatenate([rows, stored], axis=1))[:, None]
        near = (np.abs(computed - stored) <= room) | (np.isnan(computed) & np.isnan(stored))
        beyond: Flags = np.asarray(~near.all(axis=1))
        return beyond

    def describe_difference(self, row: Rows, stored: Rows, *, target: str) -> str:
        """Return what is wrong with one row that is not what was stored, in words."""
        computation = self.parse(target)
        if computation.target in LIBRARIES:
            computed = self.run_library(row[None], computation)[0]
        else:
            computed = (self.run_numpy if computation.target == "numpy" else self.run_python)(row[None])[0]
        if np.isnan(computed[0]):
            try:
                self._run_everything(row.tolist())
            except InputError as error:
                return f"{error}".removesuffix(".")
            return "its reward refuses these inputs"
        names = json.loads(self.layout.outputs)
        parts = [
            f"{name} is {there!r} but recomputes as {here!r}"
            for name, there, here in zip(names, stored.tolist(), computed.tolist(), strict=True)
            if there != here or np.signbit(there) != np.signbit(here)
        ]
        return "; ".join([*parts[:3], *(["…"] if len(parts) > 3 else [])]) or "its values do not add up to its total"

    def find_wrong_sums(self, stored: Rows, target: str = "numpy") -> Flags:
        """Return in which rows the values do not add up to the total, in the dtype of `target`.

        Of a reward with adjustments they do so only nearly: an adjustment is a difference, and was rounded.
        """
        computation = self.parse(target)
        if self.program.adjustments:
            values = stored[:, 2::2]
            allowed = ULP * values.shape[1] * np.finfo(np.float64).eps * np.abs(values).sum(axis=1)
            if not computation.is_wide:
                allowed = allowed + estimate_rounding(self.program, computation.dtype, stored)
            apart: Flags = np.abs(values.sum(axis=1) - stored[:, 0]) > allowed
            return apart
        reward = self.layout.scored
        late = [reward._composed and term.after_clamp for term in reward.terms]
        first, *others = sorted(range(len(late)), key=late.__getitem__)  # those after the clamp are added last
        total = stored[:, 2 + 2 * first]
        for at in others:
            total = total + stored[:, 2 + 2 * at]
        if isinstance(reward.low, float):
            total = np.where(total < reward.low, reward.low, total)
        if isinstance(reward.high, float):
            total = np.where(total > reward.high, reward.high, total)
        room = 0.0 if computation.is_wide else estimate_rounding(self.program, computation.dtype, stored)
        wrong: Flags = ~(np.abs(total - stored[:, 0]) <= room) & ~np.isnan(stored[:, 0])
        return wrong


def _find_different(computed: Rows, stored: Rows) -> Flags:
    """Return which rows differ in a bit; two NaN are the same."""
    same = computed.view(np.int64) == np.ascontiguousarray(stored).view(np.int64)
    same |= np.isnan(computed) & np.isnan(stored)
    different: Flags = ~same.all(axis=1)
    return different


def _find_distant(computed: Rows, stored: Rows) -> Flags:
    spacing = np.spacing(np.maximum(np.abs(computed), np.abs(stored)))
    near = (np.abs(computed - stored) <= ULP * spacing) | (np.isnan(computed) & np.isnan(stored))
    different: Flags = np.asarray(~near.all(axis=1))
    return different


@lru_cache(256)
def get_recomputer(layout: RecordLayout) -> Recomputer:
    """Return the one recomputer of a layout."""
    return Recomputer(layout)


def check_recomputes(record: PackedRecord) -> PackedRecord:
    """Return a record whose numbers came from outside, with the target that computes them here, to the bit.

    Raises:
        LedgerError: No target does; in the ledger it could never be verified.
    """
    again = get_recomputer(record.layout)
    row, stored = record.layout.decode_inputs(record.inputs, 1), record.layout.decode_outputs(record.outputs, 1)
    for target in ("python", "numpy"):
        if not again.find_different(row, stored, target=target, here=True)[0]:
            return record._replace(target=target)
    elsewhere = again.exact or again.find_different(row, stored, target="python", here=False)[0]
    hint = (
        "" if elsewhere else (" Another machine rounds this way; record it there, export it, and import the file here.")
    )
    raise LedgerError(
        f"a signal read from data is not what its reward {record.layout.reward.name!r} computes: "
        f"{again.describe_difference(row[0], stored[0], target='python')}. It was not recorded.{hint}"
    )

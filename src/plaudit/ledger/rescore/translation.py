"""From the recorded rows of one reward to rows and scores of another."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plaudit.ledger.record import Page
from plaudit.ledger.rescore.replay import LedgerReplay, needs_replay
from plaudit.ledger.storage.batch import collect_inputs
from plaudit.ledger.storage.codec import Gaps, RecordLayout, Rows, find_needed
from plaudit.ledger.storage.computation import LIBRARIES, Computation, parse_computation, restore_columns, score_in
from plaudit.ledger.storage.episode_parts import list_ends
from plaudit.ledger.storage.specs import SpecCache
from plaudit.targets.inputs import find_default, list_slots, make_converter
from plaudit.targets.numpy import NumpyReward

NO_TERMINAL_TERM = ("a terminal term",)
"""What a record of the end of an episode lacks for a reward that pays nothing there."""


@dataclass(frozen=True, eq=False)
class Translation:
    """A way from stored rows of `source` to rows and scores of `layout`."""

    source: RecordLayout
    layout: RecordLayout

    @cached_property
    def _compiled(self) -> NumpyReward:
        return NumpyReward(self.layout.scored.program, on_bad="mask")

    def find_computation(self, target: str, *, as_recorded: bool) -> Computation:
        """Return what computes the new scores of records that `target` computed: NumPy, or the same `as_recorded`."""
        recorded = parse_computation(target, self.source.scored.program)
        read = {name for slot in list_slots(self.layout.scored.program) for name in (slot.name, slot.column)}
        inputs = tuple((name, dtype) for name, dtype in recorded.inputs if name in read)
        if as_recorded and recorded.target in LIBRARIES:
            return recorded._replace(inputs=inputs)
        return Computation("numpy", inputs=inputs)

    def score(
        self, rows: Rows, computation: Computation, carried: Mapping[str, Any] | None = None
    ) -> tuple[Rows, Rows]:
        """Return the inputs and outputs of recorded rows under the other reward; NaN where it refuses a row.

        `carried` holds states that were computed anew, by the names of inputs.
        """
        taken, gaps = self._take_columns(rows, carried or {})
        taken = restore_columns(self.layout.scored.program, taken, computation.inputs)
        library = computation.target in LIBRARIES
        scores = score_in(computation, self.layout.scored, taken) if library else self._compiled(taken)
        inputs = collect_inputs(self.layout, taken, len(rows))
        outputs = self.layout.stack_scores(scores, len(rows))
        for name, missing in gaps.items():
            inputs[missing, self.layout.scored.inputs.index(name)] = np.nan
        for missing in self._find_needed(gaps, taken).values():
            outputs[missing] = np.nan
        return inputs, outputs

    def take_measured(self, rows: Rows) -> dict[str, Any]:
        """Return the columns that the other reward reads of recorded rows, without its states."""
        states = self.layout.scored.program.states
        taken, _ = self._take_columns(rows, {})
        return {name: column for name, column in taken.items() if _name_field(name) not in states}

    def find_lacking(self, rows: Rows, carried: Mapping[str, Any]) -> Gaps:
        """Return the inputs that the other reward reads and that some of the recorded rows do not have."""
        taken, gaps = self._take_columns(rows, carried)
        return self._find_needed(gaps, taken)

    @cached_property
    def may_lack(self) -> bool:
        """Whether the other reward may need an input where it did not have to be recorded."""
        old, new = self.source.scored.program, self.layout.scored.program
        return any(
            name in old.terminal - new.terminal or (name in new.terminal and name not in old.inputs)
            for name, field in new.inputs.items()
            if field.missing is None
        )

    @cached_property
    def reads_ends(self) -> bool:
        """Whether the other reward asks if the episode ended, which the recorded one did not."""
        return "terminal" in self.layout.scored.inputs and "terminal" not in self.source.scored.inputs

    def _find_needed(self, gaps: Gaps, taken: Mapping[str, Any]) -> Gaps:
        return find_needed(self.layout.scored.program, gaps, taken.get("terminal", False))

    def _take_columns(self, rows: Rows, carried: Mapping[str, Any]) -> tuple[dict[str, Any], Gaps]:
        """Return the columns that the other reward reads, and where they are not known; `carried` comes first."""
        given, unknown = self.source.split_columns(rows), self.source.find_gaps(rows)
        old, program = self.source.scored.program.inputs, self.layout.scored.program
        taken: dict[str, Any] = {}
        gaps: Gaps = {}
        for slot in list_slots(program):
            name, wanted = slot.name, slot.field
            if name in carried:
                taken[name] = carried[name]
            elif name in given:
                column = given[name]
                if wanted.kind == "category" and old[name].labels != wanted.labels:
                    known = {label: at for at, label in enumerate(wanted.labels)}
                    column = np.asarray([known.get(label, -1) for label in old[name].labels])[column]
                if name in unknown:
                    absent = self._find_absent(name, unknown[name], given)
                    if wanted.missing is not None and absent.any():
                        stand_in = make_converter(program.name, name, wanted)(wanted.missing)
                        column = np.where(absent, stand_in, column).astype(column.dtype)
                        unknown[name] &= ~absent
                    gaps[name] = unknown[name]
                taken[name] = column
            elif name in program.terminal and wanted.missing is None:
                gaps[name] = np.ones(len(rows), np.bool_)
                rest = np.asarray(make_converter(program.name, name, wanted)(wanted.at_rest))
                taken[name] = np.full(len(rows), rest.astype(np.intp) if wanted.kind == "category" else rest)
        return taken, gaps

    def _find_absent(self, name: str, unknown: NDArray[np.bool_], given: Mapping[str, Any]) -> NDArray[np.bool_]:
        """Return in which rows an input that is not known was not given, rather than given and not readable.

        Only what the end alone reads need not be given, and only before the end; without a stand-in of its own.
        """
        program = self.source.scored.program
        if name not in program.terminal or program.inputs[name].missing is not None:
            return np.zeros_like(unknown)
        return unknown & ~np.asarray(given.get("terminal", False), np.bool_)


def _name_field(name: str) -> str:
    """Return the field that an input is a value of: `air_time` of `prev.air_time[0]`."""
    return name.rpartition(".")[2].partition("[")[0]


def find_translation(
    cache: SpecCache, source: RecordLayout, layout: RecordLayout, *, replayed: bool = False
) -> "Translation | tuple[str, ...]":
    """Return how recorded rows become rows of another reward, or the inputs that they lack.

    Where episodes are `replayed`, states need not be recorded.
    """
    if source.part == "final":
        if replayed:
            return ("a step of its own: state is carried from step to step",)
        if not any(term.terminal for term in layout.reward.terms):
            return NO_TERMINAL_TERM
        layout = cache.get_layout(layout.reward, "final")
    old, program = source.scored.program.inputs, layout.scored.program
    lacking = []
    anew = needs_replay(layout.reward, [source])
    for place in list_slots(program):
        if place.key in program.states and (replayed or anew):
            if not replayed:
                lacking.append(f"{place.name} (carried in another way)")
            continue
        if place.name in old:
            if old[place.name].kind != place.field.kind:
                lacking.append(f"{place.name} (a {place.field.kind}, not a {old[place.name].kind})")
        elif find_default(program, place, False) is None:
            lacking.append(place.name)
    return tuple(lacking) or Translation(source, layout)


Carried = Mapping[int, Mapping[str, Any]]
"""Of each page, by its first record, the states that were computed anew for its records."""


def carry_states(
    cache: SpecCache, layout: RecordLayout, replay: LedgerReplay | None, pages: Sequence[Page]
) -> Carried | None:
    """Return what the reward carries into the records of `pages`; None where what is recorded will do."""
    if replay is None:
        return None

    def translate(source: RecordLayout, rows: Rows) -> dict[str, Any] | None:
        found = find_translation(cache, source, layout, replayed=True)
        return found.take_measured(rows) if isinstance(found, Translation) else None

    with pages[0].report_damage():
        return replay.fill(pages, translate)


def join_known(found: Translation, carried: Carried | None, pages: Sequence[Page]) -> dict[str, Any]:
    """Return what is known of the records of `pages` besides their inputs, all of them in one column an input.

    That is what is carried into them and, where the other reward asks and the recorded one did not, whether the episode
    terminated.
    """
    parts = [] if carried is None else [carried[page.row.first] for page in pages]
    known = {name: np.concatenate([part[name] for part in parts]) for name in (parts[0] if parts else ())}
    if found.reads_ends:
        known["terminal"] = np.concatenate([find_terminated(page.row)[page.positions()] for page in pages])
    return known


def find_terminated(row: Any) -> NDArray[np.bool_]:
    """Return which records of a block say that their episode terminated."""
    flags = np.zeros(row.records, np.bool_)
    flags[[at for at, how in list_ends(row.contexts, row.records) if how == "terminated"]] = True
    return flags

"""Recorded steps as transitions, whole episodes in order; and those of a ledger."""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from plaudit.analysis.observe.columns import build_transitions, find_idle, join_entries
from plaudit.analysis.observe.transitions import Column, Mask, Transitions
from plaudit.errors import InputError
from plaudit.language.field import Field
from plaudit.ledger.ledger import Ledger
from plaudit.ledger.record import Page
from plaudit.ledger.storage.episode_parts import ENDS, list_ends
from plaudit.ledger.summary.returns import Classes, join_classes, read_episodes, read_steps
from plaudit.terminal import format_count

_PLAYED = ("idle", "constant", "random", "smooth")
"""Names of actors and policies that say what kind of policy it is."""
Progress: TypeAlias = Callable[[int, int], None] | None


@dataclass
class RecordedSteps:
    """Steps in the order in which they were recorded; `codes` says which of the `labels` is the episode of each."""

    columns: dict[str, Column]
    labels: Sequence[Any]
    codes: NDArray[np.intp]
    numbers: NDArray[np.float64]
    """The number of each step in its episode; NaN where it has none."""
    terminated: Mask
    truncated: Mask
    policies: NDArray[np.str_]
    gaps: Mask
    """Rows that lack a field."""

    def end(self, labels: Collection[Any]) -> None:
        """Mark the last step of some episodes as terminated, where nothing says how they ended."""
        ended = np.bincount(self.codes, self.terminated | self.truncated, len(self.labels)) > 0
        order = np.lexsort((self.numbers, self.codes))
        for row in order[np.flatnonzero(np.diff(self.codes[order], append=-1))].tolist():
            code = self.codes[row]
            self.terminated[row] |= self.labels[code] in labels and not ended[code]

    def arrange(
        self, source: str, *, action: str | None, idle: Any, declared: Mapping[str, Field], notes: Sequence[str] = ()
    ) -> Transitions:
        """Return them as transitions, episode by episode; episodes that lack steps are left out, and counted."""
        numbered = not np.isnan(self.numbers).any()
        order = np.lexsort((self.numbers, self.codes)) if numbered else np.argsort(self.codes, kind="stable")
        codes, numbers, ended = self.codes[order], self.numbers[order], (self.terminated | self.truncated)[order]
        begins = np.concatenate(([True], (codes[1:] != codes[:-1]) | ended[:-1]))
        episode = np.cumsum(begins) - 1
        broken = self.gaps[order]
        if numbered:
            broken = broken | np.concatenate(([False], (np.diff(numbers) != 1) & ~begins[1:]))
        lost = np.unique(episode[broken])
        kept = ~np.isin(episode, lost)
        if not kept.any():
            raise InputError(f"{source}: nothing to learn from: every episode lacks steps or values.")
        order, episode = order[kept], np.unique(episode[kept], return_inverse=True)[1]
        columns = join_entries({name: column[order] for name, column in self.columns.items()})
        names = [name for name in columns if action is not None and _is_action(name, action)]
        entries = [columns[name] for name in names]
        actions = None if not entries else entries[0] if len(entries) == 1 else np.stack(entries, 1)
        counted = f"{format_count(len(order), 'step')} of {format_count(int(episode[-1]) + 1, 'episode')}"
        left_out = [f"{format_count(len(lost), 'episode')} excluded for missing steps or values"] if len(lost) else []
        return build_transitions(
            columns,
            episode=episode,
            policy=self.policies[order],
            terminated=self.terminated[order],
            truncated=self.truncated[order],
            actions=actions,
            action_names=names,
            idle=find_idle(actions) if idle is None else idle,
            declared=declared,
            source=", ".join([source, counted, *left_out, *notes]),
        )


def _is_action(name: str, action: str) -> bool:
    """Return whether a column is the action, or an entry of it.

    >>> [_is_action(name, "action") for name in ("action", "action_2", "action_space")]
    [True, True, False]
    """
    rest = name.rpartition(".")[2].removeprefix(action)
    return not name.startswith("prev.") and (rest == "" or (rest[:1] == "_" and rest[1:].isdecimal()))


def name_policy(actor: str | None) -> str:
    """Return the kind of policy that an actor is, as `probe` names them."""
    if actor is not None and actor.startswith("always "):
        return "constant"
    return actor if actor in _PLAYED else "recorded"


# -- a ledger ----------------------------------------------------------------------------------------------------------


def read_ledger(
    ledger: Ledger, *, steps: int, idle: Any, progress: Progress, query: Mapping[str, Any]
) -> tuple[Transitions, str]:
    """Return recorded steps, and the name of the reward they were recorded with."""
    history = ledger.history(**query)
    count, done = history.count(), 0
    every = max(1, math.ceil(count / steps))
    pages: list[RecordedSteps] = []
    seen: dict[Any, int] = {}
    declared: dict[str, Field] = {}
    reward = None
    over: set[Any] = set()
    for page in history.pages():
        if page.layout.part != "whole":  # what the end of an episode paid, which is no step
            over |= {(page.layout.reward.name, *label) for label in read_episodes(page.row, page.chosen).labels}
        else:
            reward = page.layout.reward
            declared |= {name.rpartition(".")[2]: each for name, each in page.layout.scored.program.inputs.items()}
            with page.report_damage():
                pages.append(_read_page(page, seen, every))
        done += page.row.records
        if progress is not None:
            progress(min(done, count), count)
    pages = [each for each in pages if len(each.codes)]
    if reward is None or not pages:
        history.first()  # which says where nothing was recorded
        raise InputError(f"{ledger.name}: no record{history.query.describe()} says which episode it belongs to.")
    shared = [name for name in pages[0].columns if all(name in each.columns for each in pages)]
    if not shared:
        raise InputError(f"{ledger.name}: these records belong to several rewards that share no input; choose one.")
    joined = _join_pages(pages, shared)
    joined.end(over)
    notes = [f"1 in {every} episodes"] if every > 1 else []
    made = joined.arrange(
        ledger.name, action=reward.action or "action", idle=idle, declared=_list_scalars(declared), notes=notes
    )
    return made, reward.name


def _list_scalars(declared: Mapping[str, Field]) -> dict[str, Field]:
    return {each.name: each for name, each in declared.items() if name == each.name}


def _read_page(page: Page, seen: dict[Any, int], every: int) -> RecordedSteps:
    """Return the steps of a page that belong to an episode; of more episodes than are wanted, one of so many."""
    row, rows, program = page.row, page.positions(), page.layout.scored.program
    (labels, codes), numbers = read_steps(row, rows)
    labels = [(page.layout.reward.name, *label) for label in labels]
    wanted = [label[-1] is not None and seen.setdefault(label, len(seen)) % every == 0 for label in labels]
    chosen = np.array(wanted, bool)[codes]
    rows, codes, numbers = rows[chosen], codes[chosen], numbers[chosen]
    ends = {end: np.zeros(row.records, bool) for end in ENDS}
    for at, how in list_ends(row.contexts, row.records):
        ends[how][at] = True
    inputs = page.inputs[rows]
    columns: dict[str, Column] = dict(page.layout.split_columns(inputs))
    if "terminal" in columns and not ends[ENDS[0]].any() and not ends[ENDS[1]].any():
        ends[ENDS[0]][rows] = columns["terminal"]
    carried = {f"{record}{name}" for name in (*program.states, *program.counters) for record in ("", "prev.", "curr.")}
    gaps = np.zeros(len(rows), bool)
    for name, absent in page.layout.find_gaps(inputs).items():
        gaps |= absent & (name not in carried)
    for name, field in program.inputs.items():
        if field.kind == "category":
            columns[name] = np.array(field.labels)[columns[name]]
    columns = {name: column for name, column in columns.items() if name not in carried}
    policy = np.full(len(rows), name_policy(row.actor))
    return RecordedSteps(
        columns, labels, codes, numbers, ends["terminated"][rows], ends["truncated"][rows], policy, gaps
    )


def _join_pages(pages: Sequence[RecordedSteps], names: Sequence[str]) -> RecordedSteps:
    labels, codes = join_classes([Classes(each.labels, each.codes) for each in pages])
    parts = ("numbers", "terminated", "truncated", "policies", "gaps")
    return RecordedSteps(
        {name: np.concatenate([each.columns[name] for each in pages]) for name in names},
        labels,
        codes,
        *(np.concatenate([getattr(each, part) for each in pages]) for part in parts),
    )

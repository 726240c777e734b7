"""Steps drawn from what fields declare, so that facts are kept: by construction, or by leaving draws out."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plaudit.analysis.compare.coverage import (
    BLOCKS,
    LARGEST_BLOCK,
    Block,
    Coverage,
    Entry,
    Steps,
    join_steps,
    list_entries,
    select_inputs,
)
from plaudit.checks.solver.breakpoints import find_breakpoints
from plaudit.checks.solver.ranges import strip_step_end
from plaudit.errors import DefinitionError
from plaudit.reward.declared import add_fact_guards, find_fact_inputs, select_facts
from plaudit.reward.reward import Reward
from plaudit.targets.inputs import list_slots
from plaudit.targets.numpy import NumpyReward
from plaudit.terminal import format_count, format_value

Ranges = Mapping[str, tuple[float, float]]

FEWEST_KEPT = 0.01
"""Where fewer draws than this keep the facts, fields that they name take the numbers that they name, too."""
LEAST_KEPT = 0.0005
"""Where even then fewer do, nothing is drawn."""


def draw_coverage(rewards: Sequence[Reward], *, samples: int, means: int, seed: int, ranges: Ranges) -> Coverage:
    """Return steps drawn uniformly and independently from what fields declare, or all of them where they are few."""
    entries = list_entries(rewards)
    if unknown := ranges.keys() - {each.declared.name for each in entries.values()}:
        raise DefinitionError(f"ranges= names {', '.join(map(repr, sorted(unknown)))}, which no reward reads.")
    spans, texts = find_spans(rewards, entries, ranges)
    drawn = Drawn(rewards, entries, spans, samples, means, seed)
    names = ", ".join(drawn.facts_left_out)
    lost = (f"Facts not applied, because no term reads their inputs: {names}.",) if names else ()
    if (steps := drawn.enumerate()) is not None:
        kept = drawn.keeps_facts(steps)
        if not kept.any():
            raise DefinitionError("no step satisfies the facts that the rewards declare.")
        whole = steps.take(np.flatnonzero(kept))
        every = _drop_repeated(whole)
        rest = float(1 - kept.mean())
        if len(every) <= means:
            text = f"all {len(whole):,} steps that the listed values allow"
            return Coverage(
                text,
                exact=True,
                rejected=rest,
                remarks=lost,
                blocks=(Block(whole, every),),
                keeps_facts=drawn.keeps_facts,
            )
    bases = {each.declared.range_basis for each in entries.values() if each.declared.name not in ranges}
    what = "declared and seen ranges" if "seen" in bases else "declared ranges"
    text = f"{format_count(samples, 'step')} drawn from {what}, each field independently"
    named = drawn.settle()
    remarks = [f"{each}." for each in texts]
    if named:
        remarks.append(f"Few draws satisfy the facts: half of them take {', '.join(named)} from numbers in the facts.")
    remarks += lost
    return Coverage(text, rejected=drawn.rejected, remarks=tuple(remarks), blocks=drawn, keeps_facts=drawn.keeps_facts)


def find_spans(
    rewards: Sequence[Reward], entries: Mapping[str, Entry], ranges: Ranges
) -> tuple[dict[str, tuple[float, float]], list[str]]:
    """Return between what each open number is drawn, and what is to be said of those that have no end."""
    cuts: dict[str, set[float]] = {}
    for reward in rewards:
        found = find_breakpoints(reward.program.bind())
        for slot in list_slots(reward.program):
            cuts.setdefault(slot.plain, set()).update(map(abs, found[slot.name]))
    spans, texts = {}, {}
    for entry in entries.values():
        declared = entry.declared
        if entry.choices is not None:
            continue
        if declared.name in ranges:
            low, high = ranges[declared.name]
            inside = all(math.isfinite(end) and declared.holds(float(end)) for end in (low, high))
            if not inside or low > high:
                raise DefinitionError(
                    f"ranges={{{declared.name!r}: ({low}, {high})}} is not a valid range of that field."
                )
            spans[entry.name] = (float(low), float(high))
            continue
        furthest = 2 * max(cuts[entry.name], default=0.0)
        if (declared.low is None or declared.high is None) and not furthest:
            raise DefinitionError(
                f"{declared.name!r} has no {'low' if declared.low is None else 'high'}=, and no reward compares it "
                f"with a number, so its range is unknown. Declare it, or give ranges= (--range)."
            )
        low = -furthest if declared.low is None else declared.low
        high = furthest if declared.high is None else declared.high
        spans[entry.name] = (min(low, high), max(low, high))
        if declared.low is None or declared.high is None:
            shown = f"{format_value(spans[entry.name][0])} to {format_value(spans[entry.name][1])}"
            texts[declared.name] = (
                f"{declared.name} has no declared range: drawn from {shown}, twice the largest threshold"
            )
    return spans, list(texts.values())


class Drawn:
    """Blocks of steps that are drawn when they are asked for, the same ones every time."""

    def __init__(
        self,
        rewards: Sequence[Reward],
        entries: Mapping[str, Entry],
        spans: Ranges,
        samples: int,
        means: int,
        seed: int,
    ) -> None:
        self.rewards, self.entries, self.spans = rewards, entries, spans
        self.samples, self.means, self.seed = samples, means, seed
        self.named: dict[str, NDArray[np.float64]] = {}
        self.rejected = 0.0
        self._guards: list[tuple[Reward, NumpyReward]] = []
        left_out: dict[str, None] = {}
        for reward in rewards:
            known = set(reward.program.inputs)
            facts = reward._bound.facts_program
            lost = [name for name in facts.outputs if not find_fact_inputs(facts, name).keys() <= known]
            left_out |= dict.fromkeys(lost)
            kept = select_facts(facts, {each.name for each in reward.program.inputs.values()}) if lost else facts
            if kept.outputs and not any(name not in known for name in kept.inputs):
                self._guards.append((reward, NumpyReward(add_fact_guards(reward.program, kept), on_bad="mask")))
        self.facts_left_out = tuple(left_out)
        listed = [each for each in entries.values() if each.before and each.choices is not None]
        self._must_check = bool(self._guards) or any(each.declared.step is not None for each in listed)

    def enumerate(self) -> Steps | None:
        """Return every step there is, where all fields list what they can be and they are no more than `samples`."""
        columns = [(each, record) for each in self.entries.values() for record in ("before", "after")]
        wanted = [(each, record) for each, record in columns if record == "after" or each.before]
        size = 1
        for each, _ in wanted:
            size *= self.samples + 1 if each.choices is None else len(each.choices)
            if size > self.samples:
                return None
        choices = [each.choices for each, _ in wanted if each.choices is not None]
        grid: Sequence[NDArray[Any]] = np.meshgrid(*choices, indexing="ij")
        found: dict[str, dict[str, NDArray[Any]]] = {"before": {}, "after": {}}
        for (each, record), column in zip(wanted, grid, strict=True):
            found[record][each.name] = column.reshape(-1)
        return Steps(found["before"], found["after"])

    def keeps_facts(self, steps: Steps) -> NDArray[np.bool_]:
        """Return which steps break no fact of any reward."""
        kept = np.ones(len(steps), bool)
        for reward, guard in self._guards:
            kept &= np.asarray(guard(select_inputs(reward, steps.before, steps.after)).ok)
        for name in steps.before:
            declared = self.entries[name].declared
            if declared.kind == "number":
                change = steps.after[name] - steps.before[name]
                if declared.monotone is not None:
                    kept &= change >= 0 if declared.monotone == "up" else change <= 0
                if declared.step is not None:
                    kept &= np.abs(change) <= declared.step * (1 + 1e-12)
        return kept

    def settle(self) -> tuple[str, ...]:
        """Find out how many draws keep the facts; return fields that must take the numbers that facts name."""
        if not self._must_check:
            return ()
        trial = min(max(self.samples, 10_000), 100_000)
        if self._try(trial) >= FEWEST_KEPT:
            return ()
        for reward in self.rewards:
            for name, cuts in find_breakpoints(reward._bound.facts_program).items():
                entry = self.entries.get(strip_step_end(name))
                if cuts and entry is not None and entry.choices is None:
                    self.named[entry.name] = np.union1d(self.named.get(entry.name, np.empty(0)), np.array(cuts))
        if self._try(trial) < LEAST_KEPT:
            raise DefinitionError(
                f"only {1 - self.rejected:.2%} of the steps drawn from declared ranges satisfy the facts; compare on "
                "recorded steps instead: transitions= or a ledger."
            )
        return tuple(self.named)

    def _try(self, trial: int) -> float:
        kept = float(self.keeps_facts(self._draw(np.random.default_rng([self.seed, 1]), trial)).mean())
        self.rejected = 1 - kept
        return kept

    def __iter__(self) -> Iterator[Block]:
        count = max(BLOCKS, math.ceil(self.samples / LARGEST_BLOCK))
        sizes = [self.samples * (at + 1) // count - self.samples * at // count for at in range(count)]
        for at, size in enumerate(sizes):
            rng = np.random.default_rng([self.seed, 0, at])
            drawn = self._draw_kept(rng, size + self.means)
            yield Block(drawn.take(slice(size)), drawn.take(slice(size, None)))

    def _draw_kept(self, rng: np.random.Generator, size: int) -> Steps:
        if not self._must_check:
            return self._draw(rng, size)
        parts, left = [], size
        while left > 0:
            drawn = self._draw(rng, min(int(left / max(1 - self.rejected, LEAST_KEPT) * 1.1) + 16, 4 * LARGEST_BLOCK))
            parts.append(drawn.take(np.flatnonzero(self.keeps_facts(drawn))[:left]))
            left -= len(parts[-1])
        return join_steps(parts)

    def _draw(self, rng: np.random.Generator, size: int) -> Steps:
        before = {each.name: self._draw_column(rng, each, size) for each in self.entries.values() if each.before}
        after = {each.name: self._draw_column(rng, each, size) for each in self.entries.values()}
        for name, first in before.items():
            declared, listed = self.entries[name].declared, self.entries[name].choices is not None
            if declared.step is not None and not listed:
                low, high = self.spans[name]
                down = np.zeros(size) if declared.monotone == "up" else np.minimum(declared.step, first - low)
                up = np.zeros(size) if declared.monotone == "down" else np.minimum(declared.step, high - first)
                after[name] = first + rng.uniform(-down, up)
            elif declared.kind == "number" and declared.monotone is not None:
                ends = np.minimum(first, after[name]), np.maximum(first, after[name])
                before[name], after[name] = ends if declared.monotone == "up" else ends[::-1]
        return Steps(before, after)

    def _draw_column(self, rng: np.random.Generator, entry: Entry, size: int) -> NDArray[Any]:
        if (choices := entry.choices) is not None:
            return choices[rng.integers(len(choices), size=size)]
        found = rng.uniform(*self.spans[entry.name], size)
        if entry.name in self.named:
            numbers = self.named[entry.name]
            aimed = rng.random(size) < 0.5
            found[aimed] = numbers[rng.integers(len(numbers), size=int(aimed.sum()))]
        return found


def _drop_repeated(steps: Steps) -> Steps:
    """Return one step for each that differs in what follows: all that means over next states need."""
    names = list(steps.after)
    table = np.stack([steps.after[name].astype(np.float64) for name in names])
    _, first = np.unique(table, axis=1, return_index=True)
    return steps.take(first)

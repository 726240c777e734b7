"""Whether observed steps show what a finding says, contradict it, or did not try it."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from plaudit.checks.finding import Claim, Evidence, Finding, Step
from plaudit.checks.formats.plain import format_number
from plaudit.checks.model import RewardModel
from plaudit.checks.seen_steps import KEPT, STILL, Mask, Numbers, SeenSteps, list_lasting_fields
from plaudit.checks.solver.ranges import encode_value, strip_step_end
from plaudit.language.field import Field
from plaudit.terminal import format_count

NEAR = 0.1
"""How far a number may be from the witness to count as near it, as a share of its range."""
VISITS = 20
"""How many steps must have come near a state, and gone away, before it counts as one that cannot be kept."""
TRIALS = 50
"""How many steps must have begun near a witness before what none of them did counts as impossible."""
EPISODES = 3
OUTCOMES = ("terminal", "terminated", "truncated")


def judge_findings(steps: SeenSteps, model: RewardModel, findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings, each with its evidence from observed steps, if there is any."""
    judge = _Judge(steps, model)
    return [replace(each, evidence=judge.judge(each)) for each in findings]


@dataclass(frozen=True)
class _Motion:
    """One step of a witness: what it begins with and where it leads, by the names of the fields of the state."""

    before: Mapping[str, float]
    after: Mapping[str, float]

    @property
    def moved(self) -> list[str]:
        return [name for name, value in self.before.items() if self.after.get(name, value) != value]


@dataclass(frozen=True)
class _Judge:
    """Steps, and a reward whose findings are checked against them."""

    steps: SeenSteps
    model: RewardModel

    def judge(self, finding: Finding) -> Evidence | None:
        """Return the evidence for a finding; None if it claims nothing, or the steps lack its inputs."""
        if finding.claims is None or not finding.witness:
            return None
        reads = self.model.reads
        about = reads.get(finding.term, reads["total"])
        rows = [self._encode(step, step.about or about) for step in finding.witness]
        claim = _read_claim(finding.claims, rows)
        if claim == "cycle":
            return self._judge_cycle(rows)
        if claim == "end":
            ends = [(row, step) for row, step in zip(rows, finding.witness, strict=True) if row.get("terminal")]
            row, step = ends[0] if ends else (rows[-1], finding.witness[-1])
            return self._judge_end(row, is_sure=bool(step.about))
        if claim == "stay" and self.list_state(rows[0]).keys() & list_lasting_fields(self.model).keys():
            return self._judge_stays(rows)
        return self._judge_steps(rows)

    def _encode(self, step: Step, about: Collection[str]) -> dict[str, float]:
        """Return what a step of a witness is about, as the checker computes with it."""
        fields, carried = self.model.fields, self.model.reward.states
        return {
            name: encode_value(fields[name], value)
            for name, value in step.inputs.items()
            if (name in about or name == "terminal") and name in fields and fields[name].name not in carried
        }

    # -- what is near ------------------------------------------------------------------------------------------------

    def _field(self, name: str) -> Field:
        fields = self.model.fields
        return next(fields[each] for each in (name, f"curr.{name}", f"prev.{name}") if each in fields)

    def _find(self, name: str) -> tuple[Numbers, Mask]:
        """Return a column, and where it is known: nowhere if it was not given."""
        found = self.steps.find_column(name, self._field(strip_step_end(name)))
        return found or (np.zeros(len(self.steps)), np.zeros(len(self.steps), bool))

    def _knows(self, names: Sequence[str]) -> bool:
        return all(self._find(name)[1].any() for name in names)

    def _is_near(self, name: str, value: float) -> Mask:
        values, known = self._find(name)
        reach = NEAR * self.steps.find_width(name, self._field(strip_step_end(name)))
        with np.errstate(invalid="ignore"):
            return np.asarray(known & ((values == value) | (np.abs(values - value) <= reach)))

    def _near_rows(self, row: Mapping[str, float]) -> Mask:
        near = np.ones(len(self.steps), bool)
        for name, value in row.items():
            near &= self._is_near(name, value)
        return near

    def list_state(self, row: Mapping[str, float]) -> dict[str, float]:
        """Return the state that a row is in, by the names of fields: after the step where it is known there."""
        found: dict[str, float] = {}
        for name, value in row.items():
            plain = strip_step_end(name)
            if name not in OUTCOMES and self.model.role(self.model.fields[name]) == "state":
                found[plain] = found.get(plain, value) if name.startswith("prev.") else value
        return found

    # -- staying -----------------------------------------------------------------------------------------------------

    def _judge_stays(self, rows: Sequence[Mapping[str, float]]) -> Evidence | None:
        """Return what was seen of places to stay: it is enough if one was kept, and contradicted if none could be."""
        judged = [self._judge_stay(self.list_state(row)) for row in rows]
        known = [each for each in judged if each is not None]
        order = ("seen", "not tried", "contradicted")
        return min(known, key=lambda each: order.index(each.verdict), default=None)

    def _judge_stay(self, state: Mapping[str, float]) -> Evidence | None:
        steps, lasting = self.steps, list_lasting_fields(self.model)
        known = {name: value for name, value in state.items() if self._knows([name])}
        fields = {name: lasting[name] for name in known if name in lasting}
        if not fields:
            return None
        near = self._near_rows(known)
        kept = near & steps.find_kept(fields)
        if kept.any():
            text = (
                f"the agent stayed in this state for {KEPT} or more steps in {steps.count_episodes(kept):,} of "
                f"{self._episodes}."
            )
            return Evidence("seen", f"Seen: {text}") if len(known) == len(state) else None
        for part in self._list_parts(known, fields):
            if (went_away := self._find_visits_that_left(part, fields)) is not None:
                where = format_count(steps.count_episodes(went_away), "episode")
                text = f"{int(went_away.sum()):,} steps in {where} came near this state, and none stayed there."
                return Evidence("contradicted", f"Contradicted: {text}")
        return self._deny(near, f" this state, but no episode stayed there for {KEPT} steps")

    def _list_parts(self, state: Mapping[str, float], fields: Mapping[str, Field]) -> Iterator[Mapping[str, float]]:
        """Yield the state, and each flag and category of it: what is never kept alone is not kept with others."""
        yield state
        for name, field in fields.items():
            if field.kind != "number" and len(state) > 1:
                yield {name: state[name]}

    def _find_visits_that_left(self, state: Mapping[str, float], fields: Mapping[str, Field]) -> Mask | None:
        """Return the steps that came near a state, if there are enough and none of them stayed or came back."""
        steps, own = self.steps, {name: field for name, field in fields.items() if name in state}
        tried = self._near_rows(state) & (steps.goes_on(KEPT) | self._ends_within)
        did = np.roll(tried, 1) & ~steps.first  # what was done there is the next step
        is_enough = self._is_enough(tried, VISITS, did, 2) or (tried & self.steps.terminated).sum() >= VISITS
        return tried if is_enough and not (tried & self._comes_back(own)).any() else None

    @cached_property
    def _ends_within(self) -> Mask:
        """Rows that an end follows so soon that nothing could be kept."""
        found = self.steps.terminated.copy()
        for _ in range(KEPT):
            found[:-1] |= found[1:] & (self.steps.episode[1:] == self.steps.episode[:-1])
        return found

    def _comes_back(self, fields: Mapping[str, Field]) -> Mask:
        """Return the rows whose state is there again soon, as where random actions cancel out."""
        found = np.zeros(len(self.steps), bool)
        for later in range(1, KEPT + 1):
            same = self.steps.goes_on(later)
            for name, field in fields.items():
                values = self._find(name)[0]
                same &= np.abs(np.roll(values, -later) - values) <= 2 * STILL * self.steps.find_width(name, field)
            found |= same
        return found

    def _is_enough(self, rows: Mask, least: int, did: Mask | None = None, spread: int = 0) -> bool:
        """Return whether enough was tried: steps of several episodes, some of which `did` different things."""
        if rows.sum() < least or self.steps.count_episodes(rows) < EPISODES:
            return False
        actions = self.steps.distinct_actions
        if actions is None or did is None:
            return True
        return len(np.unique(actions[did])) >= min(spread, int(actions.max()) + 1)

    # -- going -------------------------------------------------------------------------------------------------------

    def _judge_cycle(self, rows: Sequence[Mapping[str, float]]) -> Evidence | None:
        states = [self.list_state(row) for row in rows]
        motions = []
        for at, row in enumerate(rows):
            begins = {
                **states[at - 1],
                **{n[5:]: v for n, v in row.items() if n.startswith("prev.") and n[5:] in states[at]},
            }
            motions.append(_Motion(begins, states[at]))
        if not all(self._knows([*each.before]) for each in motions):
            return None
        seen = [self._follows(each) for each in motions]
        if all(each.any() for each in seen):
            least = min(int(each.sum()) for each in seen)
            text = f"every step of the cycle occurred, the rarest {format_count(least, 'time')} in {self._count}."
            return Evidence("seen", f"Seen: {text}")
        missing = next(motion for motion, rows in zip(motions, seen, strict=True) if not rows.any())
        return self._find_contradiction(motions) or self._deny(self._begins(missing), ", but none made this step")

    def _judge_steps(self, rows: Sequence[Mapping[str, float]]) -> Evidence | None:
        given = [{name: value for name, value in row.items() if name not in OUTCOMES} for row in rows]
        motions = [self._read_motion(row) for row in rows]
        if found := self._find_contradiction([each for each in motions if each.moved and self._knows([*each.before])]):
            return found
        if not all(self._knows([*row]) for row in given):
            return None
        seen = [self._near_rows(row) for row in given]
        if all(each.any() for each in seen):
            text = f"{int(np.any(seen, axis=0).sum()):,} of {self._count} were like this."
            return Evidence("seen", f"Seen: {text}")
        return self._deny(np.any(seen, axis=0), " one of these rows, but none near another")

    def _read_motion(self, row: Mapping[str, float]) -> _Motion:
        state = self.list_state(row)
        before = {name.removeprefix("prev."): value for name, value in row.items() if name.startswith("prev.")}
        before = {name: value for name, value in before.items() if name in state}
        after = {name: value for name, value in state.items() if name in row or f"curr.{name}" in row}
        return _Motion(before, after)

    def _begins(self, motion: _Motion) -> Mask:
        near = np.ones(len(self.steps), bool)
        for name, value in motion.before.items():
            near &= self._is_near(f"prev.{name}", value)
        return near

    def _follows(self, motion: _Motion) -> Mask:
        """Return the rows that go from near where a step begins to near where it leads, about as far."""
        found = self._begins(motion)
        for name, value in motion.after.items():
            found &= self._is_near(name, value)
            if name in motion.before:
                width, change = self.steps.find_width(name, self._field(name)), value - motion.before[name]
                moved = self._find(name)[0] - self._find(f"prev.{name}")[0]
                found &= np.abs(moved - change) <= max(STILL * width, min(NEAR * width, abs(change) / 2))
        return found

    def _find_contradiction(self, motions: Sequence[_Motion]) -> Evidence | None:
        """Return that a step goes further than any did, where enough began near it.

        That none went there, or that way, or set such a flag, says little: it may take skill.
        """
        for motion in motions:
            begun = self._begins(motion)
            if not self._is_enough(begun, TRIALS, begun, 3):
                continue
            for name in motion.moved:
                moved = np.abs(self._find(name)[0] - self._find(f"prev.{name}")[0])[self._find(f"prev.{name}")[1]]
                if self._field(name).kind != "number" or np.count_nonzero(moved) < TRIALS:
                    continue
                if moved.max() < abs(motion.after[name] - motion.before[name]) / 2:
                    most = format_number(moved.max())
                    text = f"{int(begun.sum()):,} steps started near there, and {name} never moved by more than {most}."
                    return Evidence("contradicted", f"Contradicted: {text}")
        return None

    # -- ending ------------------------------------------------------------------------------------------------------

    def _judge_end(self, row: Mapping[str, float], *, is_sure: bool) -> Evidence | None:
        fields = self.model.fields
        chosen = {n: v for n, v in row.items() if n not in OUTCOMES and self.model.role(fields[n]) != "action"}
        if not self._knows([*chosen]):
            return None
        near = self._near_rows(chosen)
        ended = near & self.steps.terminated
        if ended.any():
            text = f"{int(ended.sum()):,} of {self._episodes} ended like this."
            return Evidence("seen", f"Seen: {text}")
        if is_sure and chosen and self._is_enough(near, TRIALS):
            return Evidence(
                "contradicted", f"Contradicted: {int(near.sum()):,} steps were like this, and none ended the episode."
            )
        return self._deny(near, ", but none ended the episode")

    # -- words -------------------------------------------------------------------------------------------------------

    @property
    def _episodes(self) -> str:
        return format_count(self.steps.episodes, "episode")

    @property
    def _count(self) -> str:
        return format_count(len(self.steps), "step")

    def _deny(self, near: Mask, how: str) -> Evidence:
        count = int(near.sum())
        text = (
            f"Not seen: {count:,} of {self._count} came near{how}"
            if count
            else f"Not tried: none of {self._count} came near"
        )
        return Evidence("not tried", f"{text}.")


def _read_claim(claim: Claim, rows: Sequence[Mapping[str, float]]) -> Claim:
    """Return what a witness really claims, of a rule that knows several ways to be paid without finishing."""
    if claim != "stay":
        return claim
    if rows[0].get("terminal"):
        return "end"
    moves = any(
        name.startswith("prev.") and value != _find_after(row, name) for row in rows for name, value in row.items()
    )
    return "cycle" if moves else "stay"


def _find_after(row: Mapping[str, float], name: str) -> float:
    plain = strip_step_end(name)
    return row.get(f"curr.{plain}", row.get(plain, row[name]))

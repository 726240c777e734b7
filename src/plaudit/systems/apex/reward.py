"""What one step of the runtime earned: phases reached, tests gained, tokens spent, switches made."""

import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby, pairwise
from numbers import Real
from pathlib import Path
from secrets import token_hex
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from plaudit import Field, Reward, Signal, term
from plaudit.errors import DefinitionError, FileError, InputError, NotFinite, OutOfRange, WrongType, did_you_mean

PHASES = ("planning", "coding", "testing", "critique", "done")
"""The phases of a task, in order."""

ROLES = ("planner", "coder_runner", "critic")
"""The roles whose share of the messages is watched; the order settles a tie."""

ALIASES: Mapping[str, str] = MappingProxyType({"implementation": "coding", "debug": "critique"})
"""Other names of a phase: what the runtime's own guess at the phase calls it."""

NONE = "other"
"""What an unknown or absent phase or role is called inside the reward."""

ORDER = (*PHASES, NONE)
"""What is no phase stands behind every phase: leaving it is never a step forward."""


class State(Protocol):
    """What the reward reads of the runtime, before and after a step."""

    phase: str
    role: str
    test_pass_rate: float
    tokens_used: float
    switch_committed: bool


def moved_forward(before: str, after: str) -> bool:
    """Return whether `after` is a later phase than `before`, and both are phases."""
    return ORDER.index(before) < ORDER.index(after) < ORDER.index(NONE)


def handed_on(before: str, after: str) -> bool:
    """Return whether the lead went from the planner to the coder, to the critic, or back to a new plan."""
    if before == "planner":
        return after == "coder_runner"
    if before == "coder_runner":
        return after == "critic"
    return before == "critic" and after == "planner"


@term(weight=0.3, kind="shaping")
def phase_advance(prev: State, curr: State) -> bool:
    """Reach a later phase; a jump over several counts once."""
    return moved_forward(prev.phase, curr.phase)


@term(weight=0.3, kind="shaping", name="phase_advance")
def role_advance(prev: State, curr: State) -> bool:
    """Hand the lead on to the next role."""
    return handed_on(prev.role, curr.role)


@term(weight=0.3, kind="shaping", name="phase_advance")
def phase_or_role_advance(prev: State, curr: State) -> bool:
    """Reach a later phase or, where a phase is unknown, hand the lead on to the next role."""
    if prev.phase == NONE or curr.phase == NONE:
        return handed_on(prev.role, curr.role)
    return moved_forward(prev.phase, curr.phase)


@term(weight=0.7, kind="goal")
def test_improvement(prev: State, curr: State) -> float:
    """Pass more of the tests; losing some costs as much as gaining them earns."""
    return curr.test_pass_rate - prev.test_pass_rate


@term(weight=-1e-4, kind="penalty")
def token_cost(prev: State, curr: State) -> float:
    """Spend tokens: 10,000 of them weigh as much as the terminal bonus."""
    return curr.tokens_used - prev.tokens_used


@term(weight=-0.05, kind="penalty")
def switch_cost(curr: State) -> bool:
    """Commit a switch of topology; one that is refused or aborted is free."""
    return curr.switch_committed


@term(weight=1.0, kind="bonus", terminal=True)
def terminal_bonus(success: bool) -> bool:
    """End the episode with every test passing."""
    return success


PHASE = Field("phase", values=ORDER, other=NONE, missing=NONE, role="state", doc="Where the task stands.")
ROLE = Field("role", values=(*ROLES, NONE), other=NONE, missing=NONE, role="state", doc="Who sends most messages.")

_ADVANCES = {
    "explicit": (phase_advance, [PHASE]),
    "role_share": (role_advance, [ROLE]),
    "explicit_then_role": (phase_or_role_advance, [PHASE, ROLE]),
}
_REWARDS = {
    label: Reward(
        "apex",
        version=label,
        terms=[advance, test_improvement, token_cost, switch_cost, terminal_bonus],
        fields=[
            *watched,
            Field("test_pass_rate", low=0, high=1, role="state", doc="Tests passing, of all tests."),
            Field("tokens_used", low=0, monotone="up", unit="tokens", role="state", doc="Tokens so far."),
            Field("switch_committed", flag=True, role="event", doc="A switch of topology took effect."),
            Field("success", flag=True, role="event", doc="Every test passes at the end of the episode."),
        ],
        doc="Progress of a task shared by several agents, less what it cost.",
    )
    for label, (advance, watched) in _ADVANCES.items()
}

VERSIONS = tuple(_REWARDS)
"""The ways of noticing that a task advanced; the default first."""


def version(label: str) -> Reward:
    """Return the reward that notices an advance in the way called `label`.

    >>> version("role_share").version
    'role_share'
    """
    if label not in VERSIONS:
        hint = did_you_mean(str(label), VERSIONS)
        raise DefinitionError(f"apex has no version {label!r}, only {', '.join(VERSIONS)}.{hint}")
    return _REWARDS[label]


reward = version("explicit")


def detect_phase_advance(
    prev: Mapping[str, Any], curr: Mapping[str, Any], *, aliases: Mapping[str, str] = ALIASES
) -> bool:
    """Return whether the phase moved forward; one that is missing or unknown never does.

    >>> detect_phase_advance({"phase": "planning"}, {"phase": "testing"})
    True
    >>> detect_phase_advance({"phase": "planning"}, {"phase": "lunch"})
    False
    """
    return moved_forward(_phase(prev, aliases), _phase(curr, aliases))


def detect_role_transition(prev: Mapping[str, Any], curr: Mapping[str, Any]) -> bool:
    """Return whether the role with the largest share of `role_shares` handed on to the next.

    >>> detect_role_transition({"role_shares": {"planner": 0.8}}, {"role_shares": {"coder_runner": 0.6}})
    True
    """
    before = _role(prev)
    return handed_on(before, _role(curr, previous=before))


def dominant_role(shares: Mapping[str, Any], *, previous: str = NONE) -> str:
    """Return the role with the largest share, or "other" where none of the three leads.

    Of equals the `previous` leader stays; failing that, the first in the order of `ROLES` leads.

    >>> dominant_role({"critic": 0.4, "planner": 0.4})
    'planner'
    >>> dominant_role({"critic": 0.4, "planner": 0.4}, previous="critic")
    'critic'
    """
    for role, share in shares.items():
        if not isinstance(share, Real) or not math.isfinite(share) or share < 0:
            kind = WrongType if not isinstance(share, Real) else OutOfRange if share < 0 else NotFinite
            raise kind(f"reward 'apex', field 'role_shares': {role!r} has {share!r}, not a number from 0 up.")
    most = max(shares.values(), default=0.0)
    leaders = [role for role, share in shares.items() if share == most > 0]
    return next((role for role in (previous, *ROLES) if role in leaders), NONE)


def all_tests_pass(state: Mapping[str, Any]) -> bool:
    """Return whether `state` ends an episode well: a pass rate of 1, give or take a rounding error.

    >>> all_tests_pass({"test_pass_rate": 0.1 + 0.2 + 0.7})
    True
    """
    return bool(state.get("test_pass_rate", 0.0) >= 1 - 1e-9)


class RewardAccumulator:
    """What each step and the end of an episode earn, from states as the runtime keeps them.

    A state is a mapping. A key it lacks counts as 0 or False, and a phase that is missing or unknown is no
    advance; everything else is checked as strictly as by `reward.score`. No call depends on an earlier one.

    >>> RewardAccumulator().step_reward({"phase": "planning"}, {"phase": "coding", "tokens_used": 50})
    0.295
    """

    def __init__(self, detector: str = "explicit", *, aliases: Mapping[str, str] = ALIASES) -> None:
        """Notice advances by `detector`, one of `VERSIONS`, with `aliases` as other names of a phase."""
        self.reward = version(detector)
        self._aliases = aliases
        self._phases = "phase" in self.reward.fields
        self._roles = "role" in self.reward.fields

    def step_reward(self, prev: Mapping[str, Any], curr: Mapping[str, Any]) -> float:
        """Return what the step from `prev` to `curr` earned."""
        return self.signal(prev, curr).total

    def final_bonus(self, success: bool) -> float:
        """Return 1.0 when the episode ended in `success`, else 0.0."""
        return self.reward.final(success=success).total

    def signal(self, prev: Mapping[str, Any], curr: Mapping[str, Any]) -> Signal:
        """Return what the step from `prev` to `curr` earned, term by term."""
        before = self._state(prev)
        after = self._state(curr, previous=before.get("role", NONE))
        after["switch_committed"] = curr.get("switch_committed", False)
        signal = self.reward.score(prev=before, curr=after)
        if after["tokens_used"] < before["tokens_used"]:
            # The reward would pay for it: tokens given back are negative costs.
            change = f"{before['tokens_used']!r} to {after['tokens_used']!r}"
            raise OutOfRange(f"reward 'apex', field 'tokens_used': it fell from {change} in a step.")
        return signal

    def _state(self, state: Mapping[str, Any], *, previous: str = NONE) -> dict[str, Any]:
        """Return what the reward reads of `state` before and after a step, 0 where a number is missing."""
        rate, tokens = state.get("test_pass_rate", 0.0), state.get("tokens_used", 0)
        read = {"test_pass_rate": rate, "tokens_used": tokens}
        if self._phases:
            read["phase"] = _phase(state, self._aliases)
        if self._roles:
            read["role"] = _role(state, previous=previous)
        return read


def reward_rows(
    states: Iterable[Mapping[str, Any]], success: bool | None = None, *, detector: str = "explicit"
) -> Iterator[dict[str, Any]]:
    """Yield the record of every step of an episode, then that of its end.

    A step has the number of the state it reaches, counted from 1, so the first is step 2; the end has the
    number after the last. Where `success` is not given, the last state decides.

    >>> [row["r_step"] for row in reward_rows([{}, {"phase": "coding"}, {"phase": "testing"}], success=True)]
    [0.0, 0.3, 1.0]
    """
    accumulator = RewardAccumulator(detector)
    states = iter(states)
    last = next(states, None)
    if last is None:
        raise InputError("reward 'apex': an episode needs at least one state.")
    step = 1
    for step, state in enumerate(states, start=2):
        try:
            signal = accumulator.signal(last, state)
        except InputError as error:
            error.add_note(f"in the step to state {step}")
            raise
        yield _row(step, {each.name: each.score for each in signal.terms}, signal.total)
        last = state
    bonus = accumulator.final_bonus(all_tests_pass(last) if success is None else success)
    yield _row(step + 1, {}, bonus) | {"terminal": True}


def write_rewards(path: str | os.PathLike[str], rows: Iterable[Mapping[str, Any]]) -> None:
    """Write `rows` to `path`, one JSON object a line; where that fails, what was there before stays."""
    path = Path(path)
    draft = path.with_name(f".{path.name}.{token_hex(4)}")
    try:
        with draft.open("x", encoding="utf-8", newline="\n") as file:
            file.writelines(json.dumps(row, allow_nan=False) + "\n" for row in rows)
        draft.replace(path)
    except OSError as error:
        raise FileError(f"cannot write {path}: {error.strerror}.") from error
    finally:
        draft.unlink(missing_ok=True)


class PhaseCounts(NamedTuple):
    """How an episode went through its phases."""

    visits: int
    changes: int
    advances: int
    """Changes that went forward, and were paid for."""
    repaid: int
    """Advances to a phase that an earlier advance had already been paid for."""


def count_phases(states: Iterable[Mapping[str, Any]], *, aliases: Mapping[str, str] = ALIASES) -> PhaseCounts:
    """Return how an episode went through its phases.

    >>> count_phases(scenario())
    PhaseCounts(visits=7, changes=6, advances=5, repaid=1)
    """
    visits = [phase for phase, _ in groupby(_phase(state, aliases) for state in states)]
    paid = [after for before, after in pairwise(visits) if moved_forward(before, after)]
    return PhaseCounts(len(visits), max(len(visits) - 1, 0), len(paid), len(paid) - len(set(paid)))


def scenario() -> list[dict[str, Any]]:
    """Return the 25 states of a task that goes well: two switches, a round of critique, all tests passing."""
    names = ("phase", "test_pass_rate", "tokens_used", "switch_committed")
    states = [
        ("planning", 0.0, 0, False),
        ("planning", 0.0, 50, False),
        ("planning", 0.0, 100, False),
        ("planning", 0.0, 150, False),
        ("coding", 0.0, 200, False),
        ("coding", 0.1, 300, False),
        ("coding", 0.2, 500, False),
        ("coding", 0.3, 700, False),
        ("coding", 0.3, 900, True),
        ("coding", 0.4, 1100, False),
        ("coding", 0.5, 1400, False),
        ("testing", 0.5, 1500, False),
        ("testing", 0.6, 1600, False),
        ("testing", 0.7, 1750, False),
        ("testing", 0.75, 1900, False),
        ("testing", 0.8, 2100, True),
        ("testing", 0.85, 2300, False),
        ("critique", 0.85, 2400, False),
        ("critique", 0.85, 2500, False),
        ("critique", 0.87, 2650, False),
        ("coding", 0.87, 2800, False),
        ("coding", 0.9, 3000, False),
        ("testing", 0.92, 3200, False),
        ("testing", 0.95, 3400, False),
        ("done", 1.0, 3500, False),
    ]
    return [dict(zip(names, state, strict=True)) for state in states]


def episode() -> list[dict[str, Any]]:
    """Return the steps of `scenario`, each as keyword arguments of `reward.score`; the last one ends it."""
    steps: list[dict[str, Any]] = []
    for before, after in pairwise(scenario()):
        del before["switch_committed"]  # an event: the reward reads it of the state reached, and only there
        steps.append({"prev": before, "curr": dict(after)})
    steps[-1] |= {"terminal": True, "success": True}
    return steps


def _phase(state: Mapping[str, Any], aliases: Mapping[str, str]) -> str:
    """Return the phase of `state` by its own name, or "other"."""
    phase = state.get("phase")
    if isinstance(phase, str):
        phase = aliases.get(phase, phase)
    return phase if phase in PHASES else NONE


def _role(state: Mapping[str, Any], *, previous: str = NONE) -> str:
    return dominant_role(state.get("role_shares") or {}, previous=previous)


def _row(step: int, changes: Mapping[str, float], earned: float) -> dict[str, Any]:
    """Return the record of `step`: the score of each term in `changes`, 0 where it has none, and what was earned."""
    tokens = changes.get("token_cost", 0.0)
    return {
        "step": step,
        "delta_pass_rate": changes.get("test_improvement", 0.0),
        "delta_tokens": int(tokens) if tokens.is_integer() else tokens,
        "phase_advance": bool(changes.get("phase_advance")),
        "switch_committed": bool(changes.get("switch_cost")),
        "r_step": earned,
    }

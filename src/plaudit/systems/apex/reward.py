"""What one step of the runtime earned: phases reached, tests gained, tokens spent, switches made."""

from collections.abc import Callable, Mapping
from functools import cache
from itertools import pairwise
from typing import Any, Protocol

from plaudit import Field, Reward, Signal, Task, term
from plaudit.errors import DefinitionError, InputError, OutOfRange
from plaudit.language.field import LARGEST_INTEGER
from plaudit.plugins.registry import validate_label
from plaudit.systems.apex.phases import (
    ALIASES,
    NONE,
    ORDER,
    PHASES,
    ROLES,
    is_advance,
    is_handover,
    read_phase,
    read_role,
)


class RunState(Protocol):
    """What the reward reads of the runtime, before and after a step."""

    phase: str
    role: str
    furthest: float
    test_pass_rate: float
    tokens_used: float
    switch_committed: bool


@term(weight=0.3, kind="shaping")
def phase_advance(prev: RunState, curr: RunState) -> bool:
    """Reach a later phase; a jump over several counts once."""
    return is_advance(prev.phase, curr.phase)


@term(weight=0.3, kind="shaping", name="phase_advance")
def role_advance(prev: RunState, curr: RunState) -> bool:
    """Hand the lead on to the next role."""
    return is_handover(prev.role, curr.role)


@term(weight=0.3, kind="shaping", name="phase_advance")
def phase_or_role_advance(prev: RunState, curr: RunState) -> bool:
    """Reach a later phase or, where a phase is unknown, hand the lead on to the next role."""
    if prev.phase == NONE or curr.phase == NONE:
        return is_handover(prev.role, curr.role)
    return is_advance(prev.phase, curr.phase)


@term(weight=0.3, kind="shaping", name="phase_advance")
def new_furthest(prev: RunState, curr: RunState) -> bool:
    """Come further than ever before in the episode; a jump over several phases counts once."""
    return curr.furthest > prev.furthest


@term(weight=0.7, kind="goal")
def test_improvement(prev: RunState, curr: RunState) -> float:
    """Pass more of the tests; losing some costs as much as gaining them earns."""
    return curr.test_pass_rate - prev.test_pass_rate


@term(weight=-1e-4, kind="penalty")
def token_cost(prev: RunState, curr: RunState) -> float:
    """Spend tokens: 10,000 of them weigh as much as the terminal bonus."""
    return curr.tokens_used - prev.tokens_used


@term(weight=-0.05, kind="penalty")
def switch_cost(curr: RunState) -> bool:
    """Commit a switch of topology; one that is refused or aborted is free."""
    return curr.switch_committed


@term(weight=1.0, kind="bonus", terminal=True)
def terminal_bonus(success: bool) -> bool:
    """End the episode with every test passing."""
    return success


def task_is_done(success: bool, terminal: bool) -> bool:
    """The episode ends with every test passing."""
    return terminal and success


PHASE = Field("phase", values=ORDER, other=NONE, missing=NONE, doc="Where the task stands.")
ROLE = Field("role", values=(*ROLES, NONE), other=NONE, missing=NONE, doc="Who sends most messages.")
FURTHEST = Field(
    "furthest",
    values=tuple(range(len(PHASES))),
    doc="The furthest phase reached so far in the episode, as a position in PHASES.",
)

_MEASURED = (
    Field("test_pass_rate", low=0, high=1, doc="Tests passing, of all tests."),
    Field("tokens_used", low=0, unit="tokens", doc="Tokens so far."),
    Field("switch_committed", flag=True, doc="A switch of topology took effect."),
    Field("success", flag=True, doc="Every test passes at the end of the episode."),
)

task = Task(
    "apex",
    goal=task_is_done,
    better={"test_pass_rate": "high", "tokens_used": "low", "switch_committed": "low", "success": "high"},
    fields=[PHASE, ROLE, FURTHEST, *_MEASURED],
    states=["phase", "role", "furthest", "test_pass_rate", "tokens_used"],
    events=["switch_committed", "success"],
    monotone={"furthest": "up", "tokens_used": "up"},
    doc="Make every test pass, with few tokens and few switches.",
)
"""What is wanted of a team of agents, and what can happen to it, whichever way an advance is noticed."""

_DETECTORS = {
    "explicit": (phase_advance, [PHASE]),
    "role_share": (role_advance, [ROLE]),
    "explicit_then_role": (phase_or_role_advance, [PHASE, ROLE]),
}
_ADVANCES = {**_DETECTORS, "high_water": (new_furthest, [FURTHEST])}
_REWARDS = {
    label: Reward(
        "apex",
        version=label,
        terms=[advance, test_improvement, token_cost, switch_cost, terminal_bonus],
        fields=[*watched, *_MEASURED],
        task=task,
        doc="Progress of a task shared by several agents, less what it cost.",
    )
    for label, (advance, watched) in _ADVANCES.items()
}

DETECTORS = tuple(_DETECTORS)
"""The ways of noticing from two states that a task advanced; the default first."""
VERSIONS = tuple(_REWARDS)
"""The ways of noticing that a task advanced, the default first; the last one needs to know how far it had come."""


def version(label: str) -> Reward:
    """Return a version of the reward.

    Args:
        label: How it detects an advance: one of `VERSIONS`.

    Returns:
        The reward.

    >>> version("role_share").version
    'role_share'
    """
    return _REWARDS[validate_label("apex", label, VERSIONS)]


reward = version("explicit")


class RewardAccumulator:
    """What each step and the end of an episode earn, from states as the runtime keeps them.

    A state is a mapping. A key it lacks counts as 0 or False, and a phase that is missing or unknown is no
    advance; everything else is checked as strictly as by `reward.score`. No call depends on an earlier one.

    >>> RewardAccumulator().step_reward({"phase": "planning"}, {"phase": "coding", "tokens_used": 50})
    0.295
    """

    def __init__(self, detector: str = "explicit", *, aliases: Mapping[str, str] = ALIASES) -> None:
        """Notice advances by `detector`, one of `DETECTORS`, with `aliases` as other names of a phase."""
        self.reward = version(detector)
        if detector not in DETECTORS:
            raise DefinitionError(
                f"an accumulator sees two states at a time, and {detector!r} needs the whole episode: score "
                f"apex.version({detector!r}) with apex.find_furthest_phases(states)"
            )
        self._aliases = dict(aliases)
        self._phases = "phase" in self.reward.fields
        self._roles = "role" in self.reward.fields
        self._score = _compile(detector)
        names = {name: self._aliases.get(name, name) for name in (*PHASES, *self._aliases)}
        self._positions = {name: PHASES.index(phase) for name, phase in names.items() if phase in PHASES}

    def step_reward(self, prev: Mapping[str, Any], curr: Mapping[str, Any]) -> float:
        """Compute the reward of a step.

        Args:
            prev: The state before the step.
            curr: The state after it.

        Returns:
            The reward.
        """
        if self._score is not None:
            tokens: Any
            last_tokens: Any
            try:  # two usual states go straight to the compiled formula; what is unusual, or wrong, `signal` deals with
                rate, last_rate = curr.get("test_pass_rate"), prev.get("test_pass_rate")
                tokens, last_tokens = curr.get("tokens_used"), prev.get("tokens_used")
                switched = curr.get("switch_committed", False)
                usual = type(rate) is type(last_rate) is float and type(tokens) is type(last_tokens) is int
                if usual and last_tokens <= tokens <= LARGEST_INTEGER and type(switched) is bool:
                    phases = self._positions[prev.get("phase", "")], self._positions[curr.get("phase", "")]
                    return self._score(*phases, rate, last_rate, tokens, last_tokens, switched, False, False)[0]
            except (KeyError, TypeError, InputError):
                pass
        return self.signal(prev, curr).total

    def final_bonus(self, success: bool) -> float:
        """Compute the terminal bonus.

        Args:
            success: Whether the episode ended in success.

        Returns:
            1.0 for success, else 0.0.
        """
        return self.reward.score_terminal(success=success).total

    def signal(self, prev: Mapping[str, Any], curr: Mapping[str, Any]) -> Signal:
        """Score a step, term by term.

        Args:
            prev: The state before the step.
            curr: The state after it.

        Returns:
            The signal, with every term and input.

        Raises:
            OutOfRange: `tokens_used` fell.
        """
        before = self._read_state(prev)
        after = self._read_state(curr, previous=before.get("role", NONE))
        after["switch_committed"] = curr.get("switch_committed", False)
        signal = self.reward.score(prev=before, curr=after)
        if after["tokens_used"] < before["tokens_used"]:
            # The reward would pay for it: tokens given back are negative costs.
            change = f"{before['tokens_used']!r} to {after['tokens_used']!r}"
            raise OutOfRange(f"reward 'apex', field 'tokens_used': it fell from {change} in a step.")
        return signal

    def _read_state(self, state: Mapping[str, Any], *, previous: str = NONE) -> dict[str, Any]:
        """Return what the reward reads of `state` before and after a step, 0 where a number is missing."""
        rate, tokens = state.get("test_pass_rate", 0.0), state.get("tokens_used", 0)
        read = {"test_pass_rate": rate, "tokens_used": tokens}
        if self._phases:
            read["phase"] = read_phase(state, self._aliases)
        if self._roles:
            read["role"] = read_role(state, previous=previous)
        return read


@cache
def _compile(detector: str) -> Callable[..., tuple[float, ...]] | None:
    """Return the formula as a function of values by position, for the detector that reads phases alone."""
    compiled = version(detector).compile("python")
    return compiled.function if compiled.inputs == _POSITIONS else None


_POSITIONS = (
    *("prev.phase", "curr.phase", "curr.test_pass_rate", "prev.test_pass_rate"),
    *("curr.tokens_used", "prev.tokens_used", "curr.switch_committed", "terminal", "success"),
)


def scenario() -> list[dict[str, Any]]:
    """Return the 25 states of a successful task: two switches, a round of critique, all tests passing.

    Returns:
        The states, for `build_reward_rows`.

    >>> scenario()[-1]["test_pass_rate"]
    1.0
    """
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
    """Return the steps of `scenario` for `reward.score`; the last one ends the episode.

    Returns:
        Keyword arguments, one dict per step.

    >>> len(episode())
    24
    """
    steps: list[dict[str, Any]] = []
    for before, after in pairwise(scenario()):
        del before["switch_committed"]  # an event: the reward reads it of the state reached, and only there
        steps.append({"prev": before, "curr": dict(after)})
    steps[-1] |= {"terminal": True, "success": True}
    return steps

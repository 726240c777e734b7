"""Phases and roles: in which order they come, when a task has advanced, and which phase it seems to be in."""

import math
from collections import deque
from collections.abc import Iterable, Mapping
from itertools import accumulate, groupby, pairwise
from numbers import Real
from types import MappingProxyType
from typing import Any, NamedTuple

from plaudit.errors import NotFinite, OutOfRange, WrongType

PHASES = ("planning", "coding", "testing", "critique", "done")
"""The phases of a task, in order."""

ALIASES: Mapping[str, str] = MappingProxyType({"implementation": "coding", "debug": "critique"})
"""Other names of a phase: what the runtime's own guess at the phase calls it."""

NONE = "other"
"""What an unknown or absent phase or role is called inside the reward."""

ORDER = (*PHASES, NONE)
"""Anything that is not a phase stands behind every phase, so that leaving it is never a step forward."""

ROLES = ("planner", "coder_runner", "critic")
"""The roles whose share of the messages is watched; the order settles a tie."""

SENDERS = ("planner", "coder", "runner", "critic")
"""The roles of the specification: a router has them, and features count their messages, unless others are given."""

SENDER_ALIASES: Mapping[str, str] = MappingProxyType(
    {"plan": "planner", "code": "coder", "run": "runner", "critique": "critic", "review": "critic"}
)
"""Other names that a sender may go by."""

GUESSES = ("planning", "implementation", "debug")
"""What can be guessed; the reward takes the last two for coding and critique, see `ALIASES`."""

RECENT_MESSAGES = 5
"""How many messages back are looked at."""


def detect_phase_advance(
    prev: Mapping[str, Any], curr: Mapping[str, Any], *, aliases: Mapping[str, str] = ALIASES
) -> bool:
    """Report whether the phase moved forward; a missing or unknown phase never does.

    Args:
        prev: The state before the step.
        curr: The state after it.
        aliases: Other names of phases.

    Returns:
        Whether the step is an advance.

    >>> detect_phase_advance({"phase": "planning"}, {"phase": "testing"})
    True
    >>> detect_phase_advance({"phase": "planning"}, {"phase": "lunch"})
    False
    """
    return is_advance(read_phase(prev, aliases), read_phase(curr, aliases))


def detect_role_transition(prev: Mapping[str, Any], curr: Mapping[str, Any]) -> bool:
    """Report whether the lead passed from one role to the next.

    Args:
        prev: The state before the step, with `role_shares`.
        curr: The state after it.

    Returns:
        Whether the step is an advance.

    >>> detect_role_transition({"role_shares": {"planner": 0.8}}, {"role_shares": {"coder_runner": 0.6}})
    True
    """
    before = read_role(prev)
    return is_handover(before, read_role(curr, previous=before))


def find_dominant_role(shares: Mapping[str, Any], *, previous: str = NONE) -> str:
    """Find the role with the largest share.

    Args:
        shares: The share of each role.
        previous: The role that led before. It stays on a tie; otherwise the first in the order of `ROLES` leads.

    Returns:
        The role, or "other" if none of the three leads.

    Raises:
        OutOfRange: A share is below 0.

    >>> find_dominant_role({"critic": 0.4, "planner": 0.4})
    'planner'
    >>> find_dominant_role({"critic": 0.4, "planner": 0.4}, previous="critic")
    'critic'
    """
    for role, share in shares.items():
        if not isinstance(share, Real) or not math.isfinite(share) or share < 0:
            kind = WrongType if not isinstance(share, Real) else OutOfRange if share < 0 else NotFinite
            raise kind(f"reward 'apex', field 'role_shares': {role!r} has {share!r}, not a number of 0 or more.")
    most = max(shares.values(), default=0.0)
    leaders = [role for role, share in shares.items() if share == most > 0]
    return next((role for role in (previous, *ROLES) if role in leaders), NONE)


class PhaseCounts(NamedTuple):
    """The phase changes of an episode; `count_phases` returns it.

    >>> count_phases([{"phase": "planning"}, {"phase": "coding"}]).advances
    1
    """

    visits: int
    changes: int
    advances: int
    """Changes that went forward, and were paid for."""
    repaid: int
    """Advances to a phase that an earlier advance had already been paid for."""


def count_phases(states: Iterable[Mapping[str, Any]], *, aliases: Mapping[str, str] = ALIASES) -> PhaseCounts:
    """Count the phase changes of an episode.

    Args:
        states: The states of the episode.
        aliases: Other names of phases.

    Returns:
        The counts.

    >>> count_phases([{'phase': p} for p in ('planning', 'coding', 'testing', 'coding', 'testing', 'done')])
    PhaseCounts(visits=6, changes=5, advances=4, repaid=1)
    """
    visits = [phase for phase, _ in groupby(read_phase(state, aliases) for state in states)]
    paid = [after for before, after in pairwise(visits) if is_advance(before, after)]
    return PhaseCounts(len(visits), max(len(visits) - 1, 0), len(paid), len(paid) - len(set(paid)))


def find_furthest_phases(states: Iterable[Mapping[str, Any]], *, aliases: Mapping[str, str] = ALIASES) -> list[int]:
    """Find the furthest phase reached so far, for each state of an episode.

    Going back does not lower it, and an unknown phase leaves it unchanged.

    Args:
        states: The states of the episode.
        aliases: Other names of phases.

    Returns:
        Positions in `PHASES`.

    >>> find_furthest_phases([{'phase': p} for p in ('planning', 'coding', 'testing', 'lunch', 'coding', 'done')])
    [0, 1, 2, 2, 2, 4]
    """
    phases = (read_phase(state, aliases) for state in states)
    return list(accumulate((0 if phase == NONE else PHASES.index(phase) for phase in phases), max))


class PhaseGuess:
    """Keeps what `guess_phase` needs as an episode goes on.

    >>> guess = PhaseGuess()
    >>> for sender in ("planner", "coder", "runner"):
    ...     guess.add_message(sender)
    >>> guess.add_edit(), guess.add_test_run(passed=2, total=5)
    (None, None)
    >>> guess.phase
    'implementation'
    """

    def __init__(self) -> None:
        """Begin in the phase of planning."""
        self._senders: deque[str] = deque(maxlen=RECENT_MESSAGES)
        self._edits = 0
        self._tested = False
        self._failing = False
        self._phase = GUESSES[0]

    def add_message(self, sender: str) -> None:
        """Add a message.

        Args:
            sender: The sender's role; a sender without one is ignored.
        """
        if _normalise_sender(sender) in SENDERS:
            self._senders.append(sender)
            self._update()

    def add_edit(self) -> None:
        """Notice that a file was edited."""
        self._edits += 1
        self._update()

    def add_test_run(self, *, passed: int, total: int) -> None:
        """Add a run of the tests.

        Args:
            passed: Tests that passed.
            total: All tests.
        """
        self._tested, self._failing = True, passed < total
        self._update()

    @property
    def phase(self) -> str:
        """The phase, as guessed now."""
        return self._phase

    def _update(self) -> None:
        self._phase = guess_phase(
            self._senders, edits=self._edits, tests_run=self._tested, failing=self._failing, current=self._phase
        )


def guess_phase(
    senders: Iterable[str], *, edits: int, tests_run: bool, failing: bool, current: str = "planning"
) -> str:
    """Guess the phase from the last five messages and the state of the work.

    - planning: the planner sent at least 60 % of them, or no test was run yet;
    - implementation: coder and runner sent at least half of them, and something was edited;
    - debug: the critic sent at least 40 % of them, or tests fail.

    If several hold, the `current` phase stays if it is among them, else the first counts. If none holds, the current
    phase stays.

    Args:
        senders: The senders of the messages; those without a role are not counted.
        edits: Edits so far.
        tests_run: Whether tests were run.
        failing: Whether tests fail.
        current: The current phase.

    Returns:
        The phase.

    >>> guess_phase(["planner", "coder", "coder", "runner"], edits=1, tests_run=True, failing=False)
    'implementation'
    >>> guess_phase(["coder", "runner"], edits=1, tests_run=False, failing=False)
    'planning'
    """
    roles = [role for sender in senders if (role := _normalise_sender(sender)) in SENDERS][-RECENT_MESSAGES:]
    count = len(roles) or 1
    planner, coder_runner, critic = (
        sum(role in named for role in roles) / count for named in (("planner",), ("coder", "runner"), ("critic",))
    )
    claims = (
        planner >= 0.6 or not tests_run,
        coder_runner >= 0.5 and edits > 0,
        critic >= 0.4 or (tests_run and failing),
    )
    candidates = [phase for phase, claimed in zip(GUESSES, claims, strict=True) if claimed]
    return current if current in candidates or not candidates else candidates[0]


def read_phase(state: Mapping[str, Any], aliases: Mapping[str, str]) -> str:
    """Return the phase of `state` by its own name, or "other"."""
    phase = state.get("phase")
    if isinstance(phase, str):
        phase = aliases.get(phase, phase)
    return phase if phase in PHASES else NONE


def read_role(state: Mapping[str, Any], *, previous: str = NONE) -> str:
    """Return the role that leads in `state`, or "other"."""
    return find_dominant_role(state.get("role_shares") or {}, previous=previous)


def is_advance(before: str, after: str) -> bool:
    """Return whether `after` is a later phase than `before`, and both are phases."""
    return ORDER.index(before) < ORDER.index(after) < ORDER.index(NONE)


def is_handover(before: str, after: str) -> bool:
    """Return whether the lead went from the planner to the coder, to the critic, or back to a new plan."""
    if before == "planner":
        return after == "coder_runner"
    if before == "coder_runner":
        return after == "critic"
    return before == "critic" and after == "planner"


def _normalise_sender(sender: str) -> str:
    name = sender.strip().lower()
    return SENDER_ALIASES.get(name, name)

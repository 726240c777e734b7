"""Phases and roles: in which order they come, and when a task has advanced."""

import math
from collections.abc import Iterable, Mapping
from itertools import accumulate, groupby, pairwise
from numbers import Real
from types import MappingProxyType
from typing import Any, NamedTuple

from plaudit.errors import NotFinite, OutOfRange, WrongType

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


def detect_phase_advance(
    prev: Mapping[str, Any], curr: Mapping[str, Any], *, aliases: Mapping[str, str] = ALIASES
) -> bool:
    """Return whether the phase moved forward; one that is missing or unknown never does.

    >>> detect_phase_advance({"phase": "planning"}, {"phase": "testing"})
    True
    >>> detect_phase_advance({"phase": "planning"}, {"phase": "lunch"})
    False
    """
    return moved_forward(phase_of(prev, aliases), phase_of(curr, aliases))


def detect_role_transition(prev: Mapping[str, Any], curr: Mapping[str, Any]) -> bool:
    """Return whether the role with the largest share of `role_shares` handed on to the next.

    >>> detect_role_transition({"role_shares": {"planner": 0.8}}, {"role_shares": {"coder_runner": 0.6}})
    True
    """
    before = role_of(prev)
    return handed_on(before, role_of(curr, previous=before))


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

    >>> count_phases([{'phase': p} for p in ('planning', 'coding', 'testing', 'coding', 'testing', 'done')])
    PhaseCounts(visits=6, changes=5, advances=4, repaid=1)
    """
    visits = [phase for phase, _ in groupby(phase_of(state, aliases) for state in states)]
    paid = [after for before, after in pairwise(visits) if moved_forward(before, after)]
    return PhaseCounts(len(visits), max(len(visits) - 1, 0), len(paid), len(paid) - len(set(paid)))


def furthest_phases(states: Iterable[Mapping[str, Any]], *, aliases: Mapping[str, str] = ALIASES) -> list[int]:
    """Return for each state of an episode how far the task had come by then, as a position in `PHASES`.

    Going back does not lower it, and what is no phase leaves it as it was.

    >>> furthest_phases([{'phase': p} for p in ('planning', 'coding', 'testing', 'lunch', 'coding', 'done')])
    [0, 1, 2, 2, 2, 4]
    """
    phases = (phase_of(state, aliases) for state in states)
    return list(accumulate((0 if phase == NONE else PHASES.index(phase) for phase in phases), max))


def phase_of(state: Mapping[str, Any], aliases: Mapping[str, str]) -> str:
    """Return the phase of `state` by its own name, or "other"."""
    phase = state.get("phase")
    if isinstance(phase, str):
        phase = aliases.get(phase, phase)
    return phase if phase in PHASES else NONE


def role_of(state: Mapping[str, Any], *, previous: str = NONE) -> str:
    """Return the role that leads in `state`, or "other"."""
    return dominant_role(state.get("role_shares") or {}, previous=previous)

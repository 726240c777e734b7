"""A log of another tool: its rollouts one by one, with what the tool paid for each."""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

_LONGEST_SHOWN = 10_000
"""Characters of a bad row to keep."""


@dataclass(frozen=True, slots=True)
class Logged:
    """A rollout as a log has it."""

    id: str
    """What tells it from the others of the log; the same whenever the log is read."""
    group: str
    """What tells completions of one prompt from others."""
    file: str
    line: int
    """Which line, row or sample of the file it is, from 1."""
    parts: Mapping[str, Any]
    """The parts of the sample, named as `Scoring` names them."""
    scores: Mapping[str, float] = field(default_factory=dict)
    """What the tool paid, by name, where it gave a number."""
    weights: Mapping[str, float] = field(default_factory=dict)
    """What each score counts for in the total, where that is not 1."""
    inputs: Mapping[str, Any] = field(default_factory=dict)
    """Inputs of rewards, by name, where the log has them; not which version of their features found them."""
    failed: str | None = None
    """Why it has no total, where the log says so."""
    step: int | None = None
    policy: str | None = None
    at: int | None = None
    """When it was made, in microseconds since 1970; None where the log does not say."""


@dataclass(frozen=True, slots=True)
class BadRow:
    """A line, row or sample that cannot be read, and why."""

    file: str
    line: int
    reason: str
    content: str = ""
    """What stands there."""


class Log(Protocol):
    """A log that can be read."""

    tool: str
    path: Path

    def read(self) -> Iterator[Logged | BadRow]:
        """Yield its rollouts."""

    def choose(self, names: Set[str]) -> Sequence[str]:
        """Return which of its scores make the total, after all was read; LedgerError where it does not say."""


def refuse(file: str, line: int, error: Exception, content: object) -> BadRow:
    """Return a line, row or sample that cannot be read."""
    reason = f"it has no {error}" if isinstance(error, KeyError) else str(error).rstrip(".")
    return BadRow(file, line, reason, str(content)[:_LONGEST_SHOWN])


def require(given: Any, name: str, kind: type | tuple[type, ...]) -> Any:
    """Return an entry of a mapping; KeyError or TypeError where it is not there, or of another type."""
    if not isinstance(given, Mapping):
        raise TypeError(f"it is not an object but {given!r:.60}")
    if not isinstance(given[name], kind):
        raise TypeError(f"{name!r} is {given[name]!r:.60}")
    return given[name]


def read_number(name: str, value: Any) -> float:
    """Return a score as a number; TypeError where it is none."""
    if isinstance(value, bool | int | float):
        return float(value)
    raise TypeError(f"the score {name!r} is not a number but {value!r:.60}")

"""A case of the corpus: a small reward, where it comes from, and what a check must make of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from plaudit import Reward
from plaudit.checks.finding import Severity

Episode = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Case:
    """A reward that is known to be bad or known to be good."""

    name: str
    source: str
    """Who wrote it down, or in whose work it went wrong."""
    story: str
    """What went wrong with it, or why it is fine."""
    reward: Reward
    finds: tuple[str, ...] = ()
    """The rules that must speak up; none where the reward is fine, and then there may be no warning at all."""
    severity: Severity = "warning"
    """How grave what is found must be at least."""
    outcomes: Mapping[str, Episode] | None = None
    """Whole episodes by name, the worst first, where the case is about those."""

    @property
    def bad(self) -> bool:
        """Whether something is wrong with the reward."""
        return bool(self.finds)


def bad(
    *finds: str, source: str, severity: Severity = "warning", outcomes: Mapping[str, Episode] | None = None
) -> Callable[[Callable[[], Reward]], Case]:
    """Make a case of a function that returns a bad reward; its docstring is the story."""

    def made(define: Callable[[], Reward]) -> Case:
        return Case(define.__name__, source, _story(define), define(), finds, severity, outcomes)

    return made


def good(*, source: str, outcomes: Mapping[str, Episode] | None = None) -> Callable[[Callable[[], Reward]], Case]:
    """Make a case of a function that returns a good reward; its docstring says why it is good."""

    def made(define: Callable[[], Reward]) -> Case:
        return Case(define.__name__, source, _story(define), define(), outcomes=outcomes)

    return made


def _story(define: Callable[[], Reward]) -> str:
    return " ".join((define.__doc__ or "").split())

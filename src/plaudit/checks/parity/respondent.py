"""What can be asked for the reward of a row: the shape that a child process and a function share."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, Self, runtime_checkable

from plaudit.checks.parity.answer import Answer


class Respondent(Protocol):
    """Something that is asked row by row."""

    def ask(self, row: Mapping[str, Any]) -> Answer:
        """Return the answer to a row as `reward.score` takes it; Failed where there is none."""

    def check_silence(self) -> None:
        """Raise Failed where there is a second answer to the same row."""

    def finish(self) -> None:
        """Raise Failed where something comes after the last row."""

    def renew(self) -> None:
        """Begin afresh."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *error: object) -> None: ...


@runtime_checkable
class Adapter(Protocol):
    """A way to ask: `Command` or `Function`."""

    @property
    def name(self) -> str:
        """What it is called in reports."""

    def start(self, terms: Sequence[str], timeout: float) -> Respondent:
        """Return what is asked."""

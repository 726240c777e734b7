"""A Python function, asked in this process."""

import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from plaudit.checks.parity.answer import Answer, Failed, understood


@dataclass(frozen=True, slots=True)
class Function:
    """A function that takes what `reward.score` takes, by keyword, and returns what a program answers.

    That is a total, a mapping with `total` and perhaps `values`, or an object with these two. It runs without a time
    limit.

    >>> Function(max).name
    'builtins:max'
    """

    function: Callable[..., Any]
    title: str = ""

    @property
    def name(self) -> str:
        """What it is called in reports."""
        module = getattr(self.function, "__module__", None)
        name = getattr(self.function, "__qualname__", repr(self.function))
        return self.title or (f"{module}:{name}" if module else name)

    def start(self, terms: Sequence[str], timeout: float) -> "Called":
        """Return the function, ready to be asked."""
        return Called(self.function, tuple(terms))


class Called:
    """A function that is asked."""

    def __init__(self, function: Callable[..., Any], terms: Sequence[str]) -> None:
        self._function = function
        self._terms = terms

    def ask(self, row: Mapping[str, Any]) -> Answer:
        """Return what it answers to a row."""
        try:
            found = self._function(**row)
        except (Exception, SystemExit) as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            text = traceback.format_exception_only(error)[-1].strip()
            where = "" if last.filename == __file__ else f"\n    {last.filename}, line {last.lineno}:  {last.line}"
            raise Failed("raised", f"raised {text}{where}") from None
        return understood(found, self._terms)

    def check_silence(self) -> None:
        """Do nothing: a function returns once."""

    def finish(self) -> None:
        """Do nothing: a function needs no end."""

    def renew(self) -> None:
        """Do nothing: a function cannot be started afresh."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """Do nothing."""

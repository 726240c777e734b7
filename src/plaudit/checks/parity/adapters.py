"""Implementations to compare with: a Python function, or a program in any language as a child process."""

import os
import shlex
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self, runtime_checkable

from plaudit.checks.parity.answers import Answer, NoAnswer, parse_answer, parse_line
from plaudit.checks.parity.conversation import Conversation
from plaudit.errors import DefinitionError
from plaudit.rows.row import encode_row


class Session:
    """An implementation that is asked row by row; a function needs nothing else."""

    def ask(self, row: Mapping[str, Any]) -> Answer:
        """Return the answer to a row as `reward.score` takes it; NoAnswer if it gives none."""
        raise NotImplementedError

    def check_silence(self) -> None:
        """Raise NoAnswer if there is a second answer to the same row."""

    def finish(self) -> None:
        """Raise NoAnswer if there is output after the last row."""

    def restart(self) -> None:
        """Start again."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.restart()


@runtime_checkable
class Adapter(Protocol):
    """An implementation to compare with: `Command` or `Function`."""

    @property
    def name(self) -> str:
        """Its name in reports."""

    def start(self, terms: Sequence[str], timeout: float) -> Session:
        """Return a session, ready to be asked."""


@dataclass(frozen=True, slots=True)
class Function:
    """A Python implementation to compare with: a function with the keywords of `reward.score`.

    It returns a total, a mapping with `total` and optionally `values`, or an object with these two attributes. It runs
    without a time limit.

    >>> Function(max).name
    'builtins:max'
    """

    function: Callable[..., Any]
    title: str = ""

    @property
    def name(self) -> str:
        """Its name in reports."""
        module = getattr(self.function, "__module__", None)
        name = getattr(self.function, "__qualname__", repr(self.function))
        return self.title or (f"{module}:{name}" if module else name)

    def start(self, terms: Sequence[str], timeout: float) -> "FunctionSession":
        """Return a session of the function.

        Args:
            terms: Names of the terms whose values it may return.
            timeout: Not used.

        Returns:
            The session.
        """
        return FunctionSession(self.function, tuple(terms))


class FunctionSession(Session):
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
            raise NoAnswer("raised", f"raised {text}{where}") from None
        return parse_answer(found, self._terms)


STRAY = 0.05
"""Seconds to wait for an unexpected second line for the same row."""


@dataclass(frozen=True, slots=True)
class Command:
    """A program to compare with, by its command line. It runs without a shell unless `shell` is true.

    >>> Command("./reward --fast").name
    './reward --fast'
    """

    command: str | Sequence[str]
    shell: bool = False

    @property
    def name(self) -> str:
        """The command line as a string."""
        return self.command if isinstance(self.command, str) else shlex.join(self.command)

    def start(self, terms: Sequence[str], timeout: float) -> "CommandSession":
        """Start the program.

        Args:
            terms: Names of the terms whose values it may answer.
            timeout: Time limit for each answer, in seconds.

        Returns:
            The session with the running program.

        Raises:
            DefinitionError: The command line is empty or cannot be split into words.
        """
        words: str | Sequence[str] = self.command
        if isinstance(words, str) and not self.shell and os.name != "nt":
            try:
                words = shlex.split(words)
            except ValueError as error:
                raise DefinitionError(f"{self.command!r} is not a valid command line: {error}.") from None
        if not words:
            raise DefinitionError("the command line is empty.")
        return CommandSession(words, self.shell, tuple(terms), timeout)


class CommandSession(Session):
    """A running program, which is restarted after it fails."""

    def __init__(self, command: str | Sequence[str], shell: bool, terms: Sequence[str], timeout: float) -> None:
        self._command = command
        self._shell = shell
        self._terms = terms
        self._timeout = timeout
        self._conversation: Conversation | None = Conversation(command, shell=shell)
        self._understood = False

    def ask(self, row: Mapping[str, Any]) -> Answer:
        """Return what it answers to a row."""
        if self._conversation is None:
            self._conversation = Conversation(self._command, shell=self._shell)
        try:
            line = self._conversation.ask(f"{encode_row(row)}\n".encode(), self._timeout)
            answer = self._parse(line, self._conversation)
        except NoAnswer:
            self.restart()
            raise
        self._understood = True
        return answer

    def _parse(self, line: bytes, conversation: Conversation) -> Answer:
        try:
            return parse_line(line, self._terms)
        except NoAnswer:
            if self._understood:  # it may be a second line for the row before, and the answer is still to come
                conversation.check_silence(wait=STRAY, row_before=True)
            raise

    def check_silence(self) -> None:
        """Raise NoAnswer for a second line for the same row."""
        if self._conversation is not None:
            self._conversation.check_silence(wait=STRAY)

    def finish(self) -> None:
        """Close its input; raise NoAnswer if it still prints something."""
        if self._conversation is not None:
            self._conversation.finish()

    def restart(self) -> None:
        """End the program; the next row starts it again."""
        if self._conversation is not None:
            self._conversation.end()
            self._conversation = None
            self._understood = False

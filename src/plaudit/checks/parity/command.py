"""A program in any language, asked as a child process: one JSON line in, one JSON line out."""

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from plaudit.checks.parity.answer import Answer, Failed, decoded
from plaudit.checks.parity.conversation import Conversation
from plaudit.checks.parity.rows import encoded
from plaudit.errors import DefinitionError

STRAY = 0.05
"""Seconds in which a second line for the same row would come."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command line, which is started without a shell unless `shell` is true.

    >>> Command("./reward --fast").name
    './reward --fast'
    """

    command: str | Sequence[str]
    shell: bool = False

    @property
    def name(self) -> str:
        """The command line as a text."""
        return self.command if isinstance(self.command, str) else shlex.join(self.command)

    def start(self, terms: Sequence[str], timeout: float) -> "Child":
        """Return the running program."""
        words: str | Sequence[str] = self.command
        if isinstance(words, str) and not self.shell and os.name != "nt":
            try:
                words = shlex.split(words)
            except ValueError as error:
                raise DefinitionError(f"{self.command!r} is no command line: {error}.") from None
        if not words:
            raise DefinitionError("the command line is empty.")
        return Child(words, self.shell, tuple(terms), timeout)


class Child:
    """A program that is asked, and started again after it has failed."""

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
            line = self._conversation.ask(f"{encoded(row)}\n".encode(), self._timeout)
            answer = self._decoded(line, self._conversation)
        except Failed:
            self.renew()
            raise
        self._understood = True
        return answer

    def _decoded(self, line: bytes, conversation: Conversation) -> Answer:
        try:
            return decoded(line, self._terms)
        except Failed:
            if self._understood:  # it may be a second line for the row before, and the answer is still to come
                conversation.check_silence(wait=STRAY, row_before=True)
            raise

    def check_silence(self) -> None:
        """Refuse a second line for the same row."""
        if self._conversation is not None:
            self._conversation.check_silence(wait=STRAY)

    def finish(self) -> None:
        """Tell it that there are no more rows, and refuse what it still prints."""
        if self._conversation is not None:
            self._conversation.finish()

    def renew(self) -> None:
        """Let the next row be asked of a fresh start."""
        if self._conversation is not None:
            self._conversation.end()
            self._conversation = None
            self._understood = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.renew()

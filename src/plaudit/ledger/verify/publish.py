"""Heads published elsewhere, every so many records: what shows that a ledger was put back, or lost its end."""

import json
import os
import subprocess
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from plaudit.errors import LedgerError, WrongType
from plaudit.language.field import Field
from plaudit.ledger.heads import read_head
from plaudit.ledger.jsonl import append_line
from plaudit.ledger.storage.signing import format_ledger_end
from plaudit.ledger.storage.store import Store
from plaudit.reward.reward import Reward
from plaudit.reward.term import term

Destination = str | os.PathLike[str] | Sequence[str] | Callable[[dict[str, Any]], object]
"""Where heads go: a file of JSON lines, a command that reads one from its input, or a function that takes one."""

Sender = Callable[[dict[str, Any]], object]

_SECONDS = 60
"""How long a command may take."""


class Publisher:
    """Publishes the head of a ledger when enough was recorded since the last time, and when the ledger closes.

    Records are durable before: what fails is published with the next records, a warning says so at once, and closing
    the ledger raises where the last head could not be published.
    """

    def __init__(self, store: Store, send: Sender, every: int) -> None:
        """Publish heads of a store by `send`."""
        if every < 1:
            raise LedgerError(f"publish_every={every} must be at least 1.")
        self._store = store
        self._send = send
        self._every = every
        self._published = 0
        """How many records this process had written when the last head was published."""

    def publish_if_due(self) -> None:
        """Publish the head where enough was recorded; warn where that fails."""
        recorded = self._store.writer.recorded
        if recorded - self._published >= self._every:
            try:
                self._publish(recorded)
            except LedgerError as error:
                told = f"{error} All records are durable; publishing will be retried."
                with suppress(RuntimeWarning):  # as an error it would say that nothing was recorded
                    warnings.warn(told, RuntimeWarning, stacklevel=2)

    def close(self) -> None:
        """Publish what has not been published; LedgerError where that fails."""
        recorded = self._store.writer.recorded
        if recorded > self._published:
            self._publish(recorded)

    def _publish(self, recorded: int) -> None:
        try:
            self._send(self._build_line())
        except Exception as error:  # whatever a destination raises: what was recorded is recorded
            raise LedgerError(f"{self._store.backend.name}: its head could not be published: {error}") from error
        self._published = recorded

    def _build_line(self) -> dict[str, Any]:
        with self._store.backend.snapshot() as connection:
            head = read_head(connection)
        signer = self._store.writer.signer
        if signer is not None:
            head = replace(head, signature=signer.sign(format_ledger_end(head.digest)))
        return {"ledger": self._store.backend.name, "records": head.records, **head.to_dict()}


def build_sender(destination: Destination) -> Sender:
    """Return the function that takes a head to its destination; WrongType where it is none."""
    if callable(destination):
        return destination
    if isinstance(destination, str | os.PathLike):
        path = Path(destination).absolute()

        def append(line: dict[str, Any]) -> None:
            if torn := append_line(path, line):
                warnings.warn(
                    f"{path} ended in a torn line, which was cut off: {torn[:200]!r}", RuntimeWarning, stacklevel=2
                )

        return append
    if isinstance(destination, list | tuple) and destination and all(isinstance(part, str) for part in destination):
        command = list(destination)

        def run(line: dict[str, Any]) -> None:
            done = subprocess.run(
                command, input=json.dumps(line) + "\n", text=True, capture_output=True, timeout=_SECONDS, check=False
            )
            if done.returncode:
                said = done.stderr.strip()[-200:]
                raise LedgerError(f"{command[0]} exited with {done.returncode}{f': {said}' if said else ''}")

        return run
    raise WrongType(f"publish={destination!r:.60} is neither a file, nor a command as a list, nor a function.")


@cache
def build_head_reward() -> Reward:
    """Return the reward as which a ledger records the heads of others: how many records they cover."""

    @term
    def records(records: float) -> float:
        """How many records the head covers."""
        return records

    return Reward("ledger_head", version="1", terms=[records], fields=[Field("records", low=0)])

"""The steps of wrapped environments in a ledger, gathered and written many at a time."""

import atexit
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plaudit.errors import WrongType
from plaudit.ledger.ledger import Ledger
from plaudit.reward.reward import Reward

MOST_WAITING = 10_000
"""How many steps may wait to be written."""


def build_recorder(
    ledger: Ledger | None, reward: Reward, *, run: str | None, actor: str | None, envs: int = 1
) -> "Recorder | None":
    """Return what writes steps to a ledger, or None where there is none."""
    if ledger is None:
        return None
    if not isinstance(ledger, Ledger):
        raise WrongType(f"ledger={ledger!r:.60} is not a Ledger; give Ledger('rewards.db').")
    return Recorder(ledger, reward, run=run, actor=actor, envs=envs)


class Recorder:
    """Gathers the inputs of steps, numbers them, and writes them when many wait or the ledger or the program ends.

    Episodes of the i-th of n environments, from 0, are numbered i + 1, i + 1 + n, i + 1 + 2n …; steps count from 1.
    """

    def __init__(self, ledger: Ledger, reward: Reward, *, run: str | None, actor: str | None, envs: int) -> None:
        self._ledger, self._reward = ledger, reward
        self._scope = {"run": run, "actor": actor}
        self._envs = envs
        self._episode = 1 + np.arange(envs)
        self._step = np.zeros(envs, np.int64)
        self._waiting: list[tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]] = []
        self._count = 0
        self._process = os.getpid()
        ledger._before_close(self.flush)

    def begin_episodes(self, which: Any = slice(None)) -> None:
        """Begin another episode in some of the environments; one without a step is none."""
        self._episode[which] += np.where(self._step[which] > 0, self._envs, 0)
        self._step[which] = 0

    def add_step(self, values: Sequence[float]) -> None:
        """Add a step of the only environment."""
        self.add_steps(np.array([values], np.float64), slice(None))

    def add_steps(self, inputs: NDArray[np.float64], which: Any) -> None:
        """Add a step of some of the environments: a row of inputs for each."""
        if self._process != os.getpid():  # what waits is the parent's, which writes it
            self._process, self._waiting, self._count = os.getpid(), [], 0
        if not self._waiting:
            atexit.register(self.flush)
        self._step[which] += 1
        self._waiting.append((inputs, self._episode[which].copy(), self._step[which].copy()))
        self._count += len(inputs)
        if self._count >= MOST_WAITING:
            self.flush()

    def flush(self) -> None:
        """Write what waits; what a ledger refuses is not tried again."""
        atexit.unregister(self.flush)
        waiting, self._waiting, self._count = self._waiting, [], 0
        if not waiting or self._process != os.getpid():
            return
        inputs, episodes, steps = (np.concatenate(parts) for parts in zip(*waiting, strict=True))
        columns = {
            name: inputs[:, at].astype(np.intp) if field.kind == "category" else inputs[:, at]
            for at, (name, field) in enumerate(self._reward.program.inputs.items())
        }
        self._ledger.record_batch(self._reward, columns, episode=episodes, step=steps, **self._scope)

    close = flush

    def __getstate__(self) -> dict[str, Any]:
        """Leave what waits to this process: a copy records its own steps."""
        return {**vars(self), "_waiting": [], "_count": 0}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take the place of another one."""
        vars(self).update(state)
        self._ledger._before_close(self.flush)

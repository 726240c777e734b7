"""The steps of wrapped environments on their way into a ledger: numbered, dated and added to the ledger's buffer."""

import threading
from abc import ABC
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plaudit.adapters.gymnasium.termination import flush_at_termination
from plaudit.errors import DefinitionError, WrongType
from plaudit.ledger.ledger import Ledger
from plaudit.ledger.storage import steps
from plaudit.reward.reward import Reward


class _Recorder(ABC):
    """Adds the steps of a wrapper to the buffer of its ledger, which all wrappers of that ledger share."""

    _envs: int | None = None

    def __init__(
        self, ledger: Ledger, reward: Reward, *, run: str | None, actor: str | None, flush_every: float
    ) -> None:
        if not isinstance(ledger, Ledger):
            raise WrongType(f"ledger={ledger!r:.60} is not a Ledger; give Ledger('rewards.db').")
        if isinstance(flush_every, bool) or not isinstance(flush_every, int | float):
            raise WrongType(f"flush_every={flush_every!r:.60} is not a number of seconds.")
        if not 0 < flush_every <= threading.TIMEOUT_MAX:
            raise DefinitionError(f"flush_every={flush_every:g} is no time to wait; give seconds, such as 1.0.")
        self._given = {"ledger": ledger, "reward": reward, "run": run, "actor": actor, "flush_every": flush_every}
        self._attach(**self._given)

    def _attach(self, ledger: Ledger, reward: Reward, run: str | None, actor: str | None, flush_every: float) -> None:
        ledger.register(reward)  # a label that stands for another formula is an error now, not in mid-run
        self._buffer = buffer = ledger._buffer_steps(flush_every)
        self._stream = buffer.open_stream(reward, run=run, actor=actor, many=self._envs is not None)
        self._waiting, self._append, self._now = buffer.waiting, buffer.add, buffer.now
        self._most = max(1, steps.MOST_WAITING // (self._envs or 1))
        flush_at_termination()

    def _add(self, episode: Any, step: Any, inputs: Any) -> None:
        """Add what happened now; raise what went wrong with earlier steps."""
        self._append((self._stream, self._now(), episode, step, inputs))
        if self._buffer.needs_attention or len(self._waiting) >= self._most:
            self._buffer.attend(self._most)

    def flush(self) -> None:
        """Write what waits in the buffer, and raise what went wrong."""
        self._buffer.flush()

    def __getstate__(self) -> dict[str, Any]:
        """Leave what waits to this process: a copy opens the ledger for itself, and goes on counting from here."""
        attached = ("_buffer", "_stream", "_waiting", "_append", "_now")
        return {name: value for name, value in vars(self).items() if name not in attached}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._attach(**self._given)


class Recorder(_Recorder):
    """Records the steps of one environment. Episodes and steps count from 1."""

    def __init__(self, ledger: Ledger, reward: Reward, **options: Any) -> None:
        """Enter the reward in the ledger; VersionConflict where its label stands for another formula there."""
        super().__init__(ledger, reward, **options)
        self._episode, self._step = 1, 0

    def begin_episode(self) -> None:
        """Begin another episode; one without a step is none."""
        if self._step:
            self._episode += 1
            self._step = 0

    def add_step(self, inputs: Sequence[float]) -> None:
        """Add a step that happened now; raise what went wrong with earlier ones."""
        self._step += 1
        self._add(self._episode, self._step, inputs)


class VectorRecorder(_Recorder):
    """Records the steps of many environments.

    Episodes of the i-th of n, from 0, are numbered i + 1, i + 1 + n, i + 1 + 2n …; steps count from 1.
    """

    def __init__(self, ledger: Ledger, reward: Reward, *, envs: int, **options: Any) -> None:
        """Enter the reward in the ledger; VersionConflict where its label stands for another formula there."""
        self._envs: int = envs
        super().__init__(ledger, reward, **options)
        self._episodes = 1 + np.arange(envs)
        self._steps = np.zeros(envs, np.int64)

    def begin_episodes(self, which: NDArray[np.intp]) -> None:
        """Begin another episode in some of the environments; one without a step is none."""
        self._episodes[which] += np.where(self._steps[which] > 0, self._envs, 0)
        self._steps[which] = 0

    def add_steps(self, inputs: NDArray[np.float64], which: NDArray[np.bool_]) -> None:
        """Add a step of some of the environments that happened now: a row of inputs for each."""
        self._steps[which] += 1
        self._add(self._episodes[which], self._steps[which], inputs)

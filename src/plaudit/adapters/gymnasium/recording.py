"""The steps of wrapped environments on their way into a ledger: numbered, dated and added to the ledger's buffer."""

import threading
import weakref
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from plaudit.adapters.gymnasium.termination import flush_at_termination
from plaudit.errors import DefinitionError, WrongType
from plaudit.ledger.ledger import Ledger
from plaudit.ledger.storage.episode_parts import to_number
from plaudit.ledger.storage.steps import Steps
from plaudit.reward.reward import Reward
from plaudit.targets.dtypes import Dtypes


class RecordingOptions(TypedDict):
    """Where to record, and how soon."""

    run: str | None
    actor: str | None
    flush_every: float


class Recorder:
    """Records the steps of one environment, or of `envs` at once, by the buffer that all wrappers of a ledger share.

    It records as an actor of its run that no other live writer has. Steps count from 1. Episodes go on from the last
    one that the ledger has of the actor: those of one environment by 1, those of the i-th of n environments by n.
    """

    def __init__(self, ledger: Ledger, reward: Reward, options: RecordingOptions, *, envs: int | None = None) -> None:
        """Enter the reward in the ledger, and claim the actor.

        Raises:
            WrongType: `ledger` is not a Ledger, or `flush_every` not a number.
            DefinitionError: `flush_every` is not a time to wait.
            VersionConflict: The reward's label stands for another formula in the ledger.
            ActorInUse: Another live writer has the actor.
            InputError: No ledger can keep such a `run` or `actor`.
        """
        if not isinstance(ledger, Ledger):
            raise WrongType(f"ledger={ledger!r:.60} is not a Ledger; give Ledger('rewards.db').")
        flush_every = options["flush_every"]
        if isinstance(flush_every, bool) or not isinstance(flush_every, int | float):
            raise WrongType(f"flush_every={flush_every!r:.60} is not a number of seconds.")
        if not 0 < flush_every <= threading.TIMEOUT_MAX:
            raise DefinitionError(f"flush_every={flush_every:g} is not a time to wait; give seconds, such as 1.0.")
        self._ledger, self._reward, self._options, self._envs = ledger, reward, options, envs
        self._step: Any = 0 if envs is None else np.zeros(envs, np.int64)
        self._begin_writing()

    @property
    def actor(self) -> str:
        """The actor that steps are recorded as."""
        return self._claim[1]

    def _begin_writing(self) -> None:
        """Claim the actor, and go on from its last episode. Copies, by `fork` or `pickle`, are other actors."""
        self._ledger.register(self._reward)  # a label that stands for another formula is an error now, not in mid-run
        claims, self._claim, last = self._ledger._claim_actor(self._options["run"], self._options["actor"])
        self._released = weakref.finalize(self, claims.abandon, self._claim)
        self._episode: Any = last + 1 if self._envs is None else last + 1 + np.arange(self._envs)
        self._attach()

    def _attach(self) -> None:
        self._buffer = buffer = self._ledger._buffer_steps(self._options["flush_every"])
        self._process, self._now = buffer.process, buffer.now
        run, actor = self._claim
        self._stream = buffer.open_stream(self._reward, run=run, actor=actor, envs=self._envs)
        self._append, self._pack = self._stream.waiting.append, self._stream.pack
        self._change_dtypes(())
        flush_at_termination()

    def _change_dtypes(self, dtypes: Dtypes) -> None:
        self._dtypes = dtypes
        self._stream.change_dtypes(dtypes)

    def change_reward(self, reward: Reward) -> None:
        """Record another reward from now on; episodes and steps go on being counted.

        Raises:
            VersionConflict: The reward's label stands for another formula; nothing has changed then.
        """
        self._ledger.register(reward)
        self._reward = reward
        self._attach()

    def begin_episode(self) -> None:
        """Begin another episode of the only environment; one without a step is none."""
        if not self._released.alive:  # it was closed, and goes on after all
            self._begin_writing()
        elif self._step:
            self._episode += 1
        self._step = 0

    def begin_episodes(self, which: NDArray[np.intp]) -> None:
        """Begin another episode in some of the environments; one without a step is none."""
        if not self._released.alive:
            self._begin_writing()
            self._step[:] = 0
        self._episode[which] += np.where(self._step[which] > 0, self._envs or 1, 0)
        self._step[which] = 0

    def add_step(
        self,
        inputs: Sequence[float],
        dtypes: Dtypes | None,
        original: Any,
        terminated: bool,
        truncated: bool,
        about: Mapping[str, Any] | None = None,
    ) -> None:
        """Add a step of the only environment, which happened now; raise what went wrong with earlier ones.

        Of a step that could not be scored, `dtypes` is None. `original` is what the environment itself paid, and
        `about` what else its context says.
        """
        if self._process is not self._buffer.process:
            self._begin_writing()
        if dtypes is not self._dtypes and dtypes is not None and dtypes != self._dtypes:
            self._change_dtypes(dtypes)
        self._step = step = self._step + 1
        now = self._now()
        unpaid = False
        if not isinstance(original, float):
            original = to_number(original)
            if original is None:
                original, unpaid = 0.0, True
        if about is not None:
            self._stream.about[self._episode, step] = about
        self._append(self._pack(now, self._episode, step, original, unpaid, terminated, truncated, *inputs))
        if now >= self._buffer.attend_at:
            self._buffer.attend(full=self._stream.is_full)

    def add_steps(
        self,
        inputs: NDArray[np.float64],
        dtypes: Dtypes,
        which: NDArray[np.bool_],
        *outcomes: NDArray[Any],
        about: Mapping[int, Mapping[str, Any]] | None = None,
    ) -> None:
        """Add a step of some of the environments, a row of inputs for each; raise what went wrong with earlier ones.

        `outcomes` are what each of all environments paid itself, and whether it terminated or was truncated; `about` is
        what else the contexts of some of them say, by environment.
        """
        if self._process is not self._buffer.process:
            self._begin_writing()
        if dtypes != self._dtypes:
            self._change_dtypes(dtypes)
        self._step[which] += 1
        now = self._now()
        for env, said in (about or {}).items():
            self._stream.about[int(self._episode[env]), int(self._step[env])] = said
        original, terminated, truncated = (outcome[which] for outcome in outcomes)
        self._append(Steps(now, self._episode[which], self._step[which], original, terminated, truncated, inputs))
        if now >= self._buffer.attend_at or self._stream.is_full:
            self._buffer.attend(full=self._stream.is_full)

    def flush(self) -> None:
        """Write what waits in the buffer, and raise what went wrong."""
        self._buffer.flush()

    def close(self) -> None:
        """Write what waits in the buffer, and let others have the actor; where steps still wait, that is an error."""
        self.flush()
        if self._released.detach() is not None:
            self._ledger._release_actor(self._claim)

    def __getstate__(self) -> dict[str, Any]:
        """Leave what waits to this process: a copy opens the ledger for itself, as an actor of its own."""
        return {name: getattr(self, name) for name in ("_ledger", "_reward", "_options", "_envs", "_step")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._begin_writing()

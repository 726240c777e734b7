"""Recording the steps of wrapped environments: they get numbers and times, and go into the ledger's buffer."""

import threading
import weakref
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from plaudit.adapters.sampling import EpisodeSample, SampledEpisodes
from plaudit.adapters.termination import flush_at_termination
from plaudit.errors import DefinitionError, WrongType
from plaudit.ledger.context import validate_rate
from plaudit.ledger.ledger import Ledger
from plaudit.ledger.storage.buffer import Source
from plaudit.ledger.storage.episode_parts import to_number
from plaudit.ledger.storage.steps import Steps
from plaudit.reward.reward import Reward
from plaudit.targets.dtypes import Dtypes


class RecordingOptions(TypedDict):
    """Where, how often and what to record."""

    run: str | None
    actor: str | None
    flush_every: float
    sample: float
    """With which probability an episode is recorded."""
    seed: int


class Recorder:
    """Records the steps of one environment, or of `envs` at once, through the buffer of the ledger.

    It records as an actor that no other live writer of the run has. Steps count from 1. Episode numbers continue from
    the actor's last one in the ledger: one environment counts by 1, each of n environments by n. Of a sample, only
    what is recorded counts.
    """

    def __init__(
        self,
        ledger: Ledger,
        reward: Reward,
        options: RecordingOptions,
        *,
        envs: int | None = None,
        source: Source | None = None,
    ) -> None:
        """Add the reward to the ledger, and claim the actor.

        What comes from a `source` is the sample already; otherwise steps of other episodes are left out here.

        Raises:
            WrongType: `ledger` is not a Ledger, or `flush_every` or `sample` not a number.
            DefinitionError: `flush_every` is not positive or too large.
            VersionConflict: The ledger has another formula under the reward's label.
            ActorInUse: Another live writer has the actor.
            InputError: `run` or `actor` is not a valid name, or `sample` not above 0 and at most 1.
        """
        if not isinstance(ledger, Ledger):
            raise WrongType(f"ledger={ledger!r:.60} is not a Ledger; pass Ledger('rewards.db').")
        flush_every = options["flush_every"]
        if isinstance(flush_every, bool) or not isinstance(flush_every, int | float):
            raise WrongType(f"flush_every={flush_every!r:.60} is not a number of seconds.")
        if not 0 < flush_every <= threading.TIMEOUT_MAX:
            raise DefinitionError(f"flush_every={flush_every:g} is out of range; give seconds, such as 1.0.")
        self._ledger, self._reward, self._options, self._envs = ledger, reward, options, envs
        self._rate, self.source = validate_rate(options["sample"]), source
        self._step: Any = 0 if envs is None else np.zeros(envs, np.int64)
        self._begin_writing()

    @property
    def actor(self) -> str:
        """The actor that steps are recorded as."""
        return self._claim[1]

    def _begin_writing(self) -> None:
        """Claim the actor, and continue from its last episode. Copies by `fork` or `pickle` are other actors."""
        self._ledger.register(self._reward)  # a label conflict is an error now, not in the middle of a run
        claims, self._claim, last = self._ledger._claim_actor(self._options["run"], self._options["actor"])
        self._released = weakref.finalize(self, claims.abandon, self._claim)
        self.sample = (
            None if self._rate is None else EpisodeSample.draw(self._rate, self._options["seed"], *self._claim, last)
        )
        self._sampled = SampledEpisodes(self.sample, self._envs or 1) if self.sample and self.source is None else None
        self._episode: Any = last + 1 if self._envs is None else last + 1 + np.arange(self._envs)
        self._attach()

    def _attach(self) -> None:
        self._buffer = buffer = self._ledger._buffer_steps(self._options["flush_every"])
        self._process, self._now = buffer.process, buffer.now
        if self.source is not None:
            buffer.sources.add(self.source)
        run, actor = self._claim
        self._stream = buffer.open_stream(self._reward, run=run, actor=actor, envs=self._envs, sample_rate=self._rate)
        self._append, self._pack = self._stream.waiting.append, self._stream.pack
        self._change_dtypes(())
        flush_at_termination()

    def _change_dtypes(self, dtypes: Dtypes) -> None:
        self._dtypes = dtypes
        self._stream.change_dtypes(dtypes)

    def change_reward(self, reward: Reward) -> None:
        """Record another reward from now on; episode and step numbers continue.

        Raises:
            VersionConflict: The ledger has another formula under the reward's label; nothing changes.
        """
        self._ledger.register(reward)
        self._reward = reward
        self._attach()

    def begin_episode(self) -> None:
        """Begin another episode of the only environment; one without steps does not count."""
        if not self._released.alive:  # it was closed and is used again
            self._begin_writing()
        elif self._step:
            self._episode += 1
        self._step = 0
        if self._sampled is not None:
            self._sampled.begin(0)

    def begin_episodes(self, which: NDArray[np.intp]) -> None:
        """Begin another episode in some of the environments; one without steps does not count."""
        if not self._released.alive:
            self._begin_writing()
            self._step[:] = 0
        self._episode[which] += np.where(self._step[which] > 0, self._envs or 1, 0)
        self._step[which] = 0
        if self._sampled is not None:
            self._sampled.begin(which)

    def add_step(
        self,
        inputs: Sequence[float],
        dtypes: Dtypes | None,
        original: Any,
        terminated: bool,
        truncated: bool,
        about: Mapping[str, Any] | None = None,
    ) -> None:
        """Add a step of the only environment, dated now; raise errors of earlier writes.

        `dtypes` is None for a step that could not be scored. `original` is the environment's own reward, and `about`
        the rest of its context.
        """
        if self._sampled is not None and not self._sampled.step(0):
            return
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
        which: NDArray[np.intp],
        *outcomes: NDArray[Any],
        about: Mapping[int, Mapping[str, Any]] | None = None,
        at: int | None = None,
    ) -> None:
        """Add a step of some of the environments, a row of inputs for each; raise errors of earlier writes.

        `outcomes` are their own rewards and whether they terminated or were truncated; `about` is the rest of the
        contexts, by environment. `at` is when the step happened, if not now.
        """
        if self._sampled is not None:
            chosen = self._sampled.step(which)
            which, inputs = which[chosen], inputs[chosen]
            outcomes = tuple(outcome[chosen] for outcome in outcomes)
            about = {env: said for env, said in (about or {}).items() if self._sampled.recorded[env]}
        if not len(which):
            return
        if self._process is not self._buffer.process:
            self._begin_writing()
        if dtypes != self._dtypes:
            self._change_dtypes(dtypes)
        self._step[which] += 1
        now = self._now() if at is None else at
        for env, said in (about or {}).items():
            self._stream.about[int(self._episode[env]), int(self._step[env])] = said
        self._append(Steps._make((now, self._episode[which], self._step[which], *outcomes, inputs)))
        if now >= self._buffer.attend_at or self._stream.is_full:
            self._buffer.attend(full=self._stream.is_full)

    def now(self) -> int:
        """Return the time by the ledger's clock, in nanoseconds."""
        return self._now()

    def flush(self) -> None:
        """Write the buffer, and raise errors."""
        self._buffer.flush()

    def close(self) -> None:
        """Write the buffer and release the actor; steps that cannot be written are an error."""
        self.flush()
        if self._released.detach() is not None:
            self._ledger._release_actor(self._claim)

    def __getstate__(self) -> dict[str, Any]:
        """Leave the buffer to this process: a copy opens the ledger on its own, as another actor."""
        return {
            name: getattr(self, name)
            for name in ("_ledger", "_reward", "_options", "_rate", "_envs", "_step", "source")
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._begin_writing()

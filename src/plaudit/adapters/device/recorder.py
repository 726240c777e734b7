"""The recorder for environments on a device: it begins copies to the host, and a thread makes records of them."""

import os
from collections.abc import Mapping
from itertools import pairwise
from types import TracebackType
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from plaudit.adapters.device.packing import Copy
from plaudit.adapters.device.pending import Pending
from plaudit.adapters.device.rows import RowBuilder
from plaudit.adapters.recording import Recorder, RecordingOptions
from plaudit.adapters.sampling import EpisodeSample
from plaudit.errors import DefinitionError, LedgerError, MissingExtra, ShapeMismatch, WrongType, shorten
from plaudit.ledger.ledger import Ledger
from plaudit.ledger.storage.episode_parts import MASKED
from plaudit.reward.reward import Reward
from plaudit.targets.inputs import collect_columns, drop_unread

_OWN, _ENDS = "original_reward", ("terminated", "truncated")
_APART = "step."
"""Before the names of outcomes among the columns that are copied; no input of a reward has such a name."""


class Copier(Protocol):
    """Begins copies from a device to the host."""

    def start(self, columns: Mapping[str, Any], lead: tuple[int, ...]) -> Copy:
        """Begin the copy of columns; `lead` is the shape of the batch."""
        ...


class _Step(NamedTuple):
    """Steps on their way."""

    at: int
    """When they were added."""
    copy: Copy
    given: Mapping[str, Any]
    """The inputs that are one value for all steps."""


class DeviceRecorder:
    """Record the steps of environments whose arrays are on a device: of JAX or PyTorch.

    `add` begins a copy to the host and returns; a thread turns what arrived into records. Close it, or leave its `with`
    block, to make everything durable.

    >>> import tempfile, torch
    >>> from plaudit import Field, Ledger, Reward, term
    >>> @term
    ... def upright(angle):
    ...     return 1 - abs(angle)
    >>> balance = Reward("balance", version="1", terms=[upright], fields=[Field("angle", unit="rad")])
    >>> with Ledger(tempfile.mkdtemp() + "/rewards.db") as ledger:
    ...     with DeviceRecorder(ledger, balance, num_envs=3, run="night") as recorder:
    ...         recorder.add({"angle": torch.tensor([0.0, 0.5, 0.25])}, terminated=torch.tensor([False, False, True]))
    ...     ledger.history().totals().sum
    2.25
    """

    def __init__(
        self,
        ledger: Ledger,
        reward: Reward,
        num_envs: int,
        *,
        run: str | None = None,
        actor: str | None = None,
        sample: float = 1.0,
        seed: int = 0,
        max_pending: int = 8,
        max_masked: float = 0.01,
        flush_every: float = 1.0,
    ) -> None:
        """Claim an actor of the ledger.

        Args:
            ledger: Ledger to record in.
            reward: The reward of each step. It may not carry states.
            num_envs: Number of environments.
            run: Name of the run to record.
            actor: Name of the actor to record as; if omitted, the first of env0, env1 … that no live writer has.
            sample: Share of episodes to record, chosen at random when they begin; the others stay on the device.
            seed: Random seed of the choice.
            max_pending: Maximum calls of `add` whose steps are on their way; the next one waits. A device
                works ahead by as many.
            max_masked: Maximum share of steps so far that cannot be scored before an error is raised.
            flush_every: Maximum seconds until a step that arrived is durable.

        Raises:
            DefinitionError: A number is out of range, or the reward carries states.
            InputError: `sample` is not above 0 and at most 1.
            WrongType: `ledger` is not a Ledger, or `flush_every` or `sample` is not a number.
            VersionConflict: The ledger has another formula under the reward's label.
            ActorInUse: Another live writer records as this actor of the run.
        """
        _check_count("num_envs", num_envs)
        _check_count("max_pending", max_pending)
        if reward.states:
            raise DefinitionError(f"reward {reward.name!r} carries states, which a device recorder does not follow.")
        self._ledger, self._reward, self._envs = ledger, reward, num_envs
        self._options = RecordingOptions(run=run, actor=actor, flush_every=flush_every, sample=sample, seed=seed)
        self._max_pending, self._rows = max_pending, RowBuilder(reward, max_masked)
        self._closed = False
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._pending: Pending[_Step] = Pending(self._record, self._max_pending, lambda step: step.copy.is_ready())
        self._recorder = Recorder(self._ledger, self._reward, self._options, envs=self._envs, source=self._pending)
        self._copier: Copier | None = None

    @property
    def actor(self) -> str:
        """The actor that steps are recorded as."""
        return self._recorder.actor

    @property
    def waits(self) -> int:
        """How often `add` waited for the ledger: steps had arrived, and `max_pending` calls were on their way."""
        return self._pending.waits

    def add(
        self,
        inputs: Mapping[str, Any],
        *,
        terminated: Any,
        truncated: Any = None,
        original_reward: Any = None,
    ) -> None:
        """Record a step of every environment, or a rollout of several, without waiting for the device.

        Args:
            inputs: The reward's inputs by name: arrays [environments] or [times, environments], with the axes of a
                vector behind. Python numbers stand for all steps. Names that the reward does not read are ignored.
            terminated: Whether the episode of each environment terminated with the step; the next step begins another.
            truncated: Whether it was cut off; if omitted, none was.
            original_reward: The environment's own reward.

        Raises:
            MissingField: An input is missing.
            ShapeMismatch: An array is not of the shape of `terminated`, or that has not `num_envs` entries.
            WrongType: `terminated` is not an array of JAX or PyTorch.
            LedgerError: The recorder or the ledger is closed, or earlier steps could not be recorded. Also other errors
                of earlier steps, such as TooManyMasked.
        """
        if self._closed:
            raise LedgerError("this recorder is closed; it records nothing more.")
        if self._process != os.getpid():
            self._begin()
        self._pending.raise_failure()
        lead = tuple(getattr(terminated, "shape", ()))
        if len(lead) not in (1, 2) or lead[-1] != self._envs:
            raise ShapeMismatch(
                f"terminated has the shape {lead}; give one entry for each of {self._envs} environments."
            )
        outcomes = {_OWN: original_reward, "terminated": terminated, "truncated": truncated}
        told = {name: outcome for name, outcome in outcomes.items() if outcome is not None}
        known = {
            name: outcome for name, outcome in {**told, "terminal": terminated}.items() if name in self._reward.inputs
        }
        columns = collect_columns(self._reward.program, {**known, **drop_unread(self._reward.program, inputs)})
        arrays = {name: column for name, column in columns.items() if getattr(column, "shape", ()) != ()}
        given = {name: column for name, column in columns.items() if name not in arrays}
        ended = terminated if truncated is None else terminated | truncated
        sent = {**arrays, "ended": ended, **{_APART + name: outcome for name, outcome in told.items()}}
        if self._copier is None:
            self._copier = _build_copier(terminated, self._recorder.sample, self._envs)
        self._pending.put(_Step(self._recorder.now(), self._copier.start(sent, lead), given))

    def _record(self, step: _Step) -> None:
        """Make records of steps that arrive; the thread does."""
        columns, places = step.copy.fetch()
        inputs = {name: column for name, column in columns.items() if not name.startswith(_APART) and name != "ended"}
        count, envs = len(places), places % self._envs
        rows = self._rows.build({**inputs, **step.given}, count)
        missing = {_OWN: np.full(count, None), **{end: np.zeros(count, np.bool_) for end in _ENDS}}
        outcomes = [columns.get(_APART + name, missing[name]) for name in (_OWN, *_ENDS)]
        bounds = np.flatnonzero(np.diff(places // self._envs, prepend=-1, append=-1)).tolist() if count else [0]
        for start, end in pairwise(bounds):
            which = envs[start:end]
            about = {int(envs[at]): {MASKED: why} for at, why in rows.reasons.items() if start <= at < end}
            parts = (outcome[start:end] for outcome in outcomes)
            self._recorder.add_steps(rows.inputs[start:end], rows.dtypes, which, *parts, about=about, at=step.at)
            if len(over := which[columns["ended"][start:end]]):
                self._recorder.begin_episodes(over)

    def flush(self) -> None:
        """Wait until every step is durable.

        Raises:
            LedgerError: Steps could not be recorded. Also other errors of earlier steps, such as TooManyMasked.
        """
        self._pending.drain()
        self._recorder.flush()
        self._pending.raise_failure()

    def close(self) -> None:
        """Make every step durable and release the actor; closing twice is no error. Raises what `flush` does."""
        if self._closed or self._process != os.getpid():
            return
        self._closed = True
        self._pending.drain()
        self._recorder.close()
        self._pending.raise_failure()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _check_count(name: str, count: object) -> None:
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise DefinitionError(f"{name}={shorten(count)} is not a positive integer.")


def _build_copier(array: Any, sample: EpisodeSample | None, envs: int) -> Copier:
    """Return what copies arrays of the library that made one."""
    library = type(array).__module__.partition(".")[0]
    try:
        if library in ("jax", "jaxlib"):
            from plaudit.adapters.device.jax import JaxCopier

            return JaxCopier(sample, envs)
        if library == "torch":
            from plaudit.adapters.device.torch import TorchCopier

            return TorchCopier(sample, envs)
    except ModuleNotFoundError as error:
        raise MissingExtra(f"the recorder needs {error.name}. Install it: pip install 'plaudit[{library}]'") from None
    raise WrongType(
        f"{shorten(array)} is not an array of JAX or PyTorch; wrap environments of NumPy with RewardWrapper."
    )

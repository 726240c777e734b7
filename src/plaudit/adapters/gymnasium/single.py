"""The wrapper for one environment; many environments get a `VectorRewardWrapper`."""

import inspect
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, SupportsFloat, Unpack, overload

import gymnasium
from gymnasium.error import ResetNeeded
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import VectorEnv
from gymnasium.wrappers import Autoreset

from plaudit.adapters.components import COMPONENTS, EPISODE_COMPONENTS, split_total
from plaudit.adapters.gymnasium.arguments import (
    WrapperOptions,
    read_arguments,
    refuse_environment,
    to_json_arguments,
    with_task,
)
from plaudit.adapters.gymnasium.scoring import (
    MAX_MASKED,
    ORIGINAL,
    OWN,
    Features,
    Mode,
    Scoring,
    copy_observation,
    extend_info,
    join_reasons,
)
from plaudit.adapters.gymnasium.vector import VectorRewardWrapper
from plaudit.adapters.recording import Recorder, RecordingOptions
from plaudit.errors import NotFinite
from plaudit.ledger.ledger import Ledger
from plaudit.ledger.storage.episode_parts import MASKED
from plaudit.reward.reward import Reward
from plaudit.reward.signal import Signal
from plaudit.reward.task.task import Task
from plaudit.targets import OnBad
from plaudit.targets.states import join_state


class _SingleEnvWrapper(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """The `RewardWrapper` around one environment.

    It is a separate class because type checkers use `__init__` if a class has both that and its own `__new__`.
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        reward: Reward,
        features: Features,
        *,
        task: Task | None = None,
        mode: Mode = "replace",
        on_bad: OnBad = "mask",
        max_masked: float = MAX_MASKED,
        ledger: Ledger | None = None,
        run: str | None = None,
        actor: str | None = None,
        flush_every: float = 1.0,
        sample: float = 1.0,
        num_envs: int | None = None,
        steps_taken: int = 0,
    ) -> None:
        reward, features, ledger = read_arguments(reward, features, ledger)
        reward = with_task(reward, task)
        recording = RecordingOptions(run=run, actor=actor, flush_every=flush_every, sample=sample, seed=0)
        super().__init__(env)
        self.signal: Signal | None = None
        """The signal of the last step, with `signal.explain()`; None if it could not be scored."""
        options: dict[str, Any] = {"on_bad": on_bad, "max_masked": max_masked, "num_envs": num_envs}
        self._scoring = Scoring(reward, features, mode, steps_taken=steps_taken, **options)
        self._record = None if ledger is None else Recorder(ledger, reward, recording)
        options |= {"mode": mode, "steps_taken": steps_taken, **recording}
        del options["seed"]
        named = to_json_arguments(reward, features, ledger)
        RecordConstructorArgs.__init__(self, _disable_deepcopy=True, **options, **named)
        self._sums = dict.fromkeys(self._scoring.components, 0.0)
        self._autoreset = _has_autoreset(env)
        self._begun = self._over = False
        self._state = reward.initial_state()
        """The states that the reward carries into the next step."""
        self._obs: Any = None

    @property
    def reward(self) -> Reward:
        """The reward. Assign another one with the same terms to use it from the next step on."""
        return self._scoring.reward

    @reward.setter
    def reward(self, reward: Reward) -> None:
        self._scoring.validate_change(reward)
        if self._record is not None:
            self._record.change_reward(reward)
        self._scoring.change_reward(reward)

    @property
    def actor(self) -> str | None:
        """The actor that steps are recorded as; None without a ledger."""
        return None if self._record is None else self._record.actor

    @property
    def steps_taken(self) -> int:
        """Number of steps that all environments have taken, as far as known; pass it on when training is resumed."""
        return self._scoring.steps_taken

    def sync_steps(self, steps_taken: int, num_envs: int) -> None:
        """Let schedules follow the trainer's step count of `num_envs` parallel environments.

        Args:
            steps_taken: The trainer's step count.
            num_envs: Number of parallel environments.
        """
        self._scoring.sync_steps(steps_taken, num_envs)

    def freeze_steps(self, steps_taken: int) -> None:
        """Fix scheduled weights for evaluation.

        Args:
            steps_taken: The training step whose weights to use; steps are not counted any more.
        """
        self._scoring.freeze_steps(steps_taken)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode.

        Args:
            seed: Random seed of the environment.
            options: Options of the environment.

        Returns:
            The observation and the info.
        """
        obs, info = self.env.reset(seed=seed, options=options)
        self._begin(obs)
        return obs, info

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Take a step and score it.

        Args:
            action: The action.

        Returns:
            The observation, the reward, terminated, truncated and the info.
        """
        if not self._begun:
            raise ResetNeeded("call reset() before the first step().")
        obs, original, terminated, truncated, info = self.env.step(action)
        if self._over and self._autoreset:  # this was not a step: the environment was reset
            self._begin(obs)
            return obs, original, terminated, truncated, info
        scoring = self._scoring
        before, self._obs = self._obs, copy_observation(obs)
        fields = scoring.read_fields(before, action, obs, info, (original, terminated, truncated))
        if self._state:
            fields = join_state(scoring.reward.program, fields, self._state)
        self.signal, about = scoring.score(fields)
        signal = self.signal
        scoring.count_steps(1)
        if signal is None:
            components, reward = dict.fromkeys(scoring.components, 0.0), 0.0
        else:
            components, reward = split_total(signal), signal.total
            if self._state:
                self._state = signal.state
        told = about
        if scoring.adds:
            components[ORIGINAL], told = self._take_original(original, about)
            reward += components[ORIGINAL]
        for name, value in components.items():
            self._sums[name] += value
        if self._record is not None:
            row = scoring.convert_row(fields) if signal is None else signal.row
            dtypes = None if signal is None else signal.frame.dtypes
            self._record.add_step(row, dtypes, original, terminated, truncated, about)
        ours: dict[str, Any] = {COMPONENTS: components, OWN: original, **scoring.describe(fields, told)}
        self._over = terminated or truncated
        if self._over:
            ours[EPISODE_COMPONENTS] = dict(self._sums)
        return obs, reward, terminated, truncated, extend_info(info, **ours)

    def _take_original(
        self, original: SupportsFloat, about: Mapping[str, Any] | None
    ) -> tuple[float, Mapping[str, Any] | None]:
        """Return the environment's own reward for mode="add", and the entries of `info` `about` the step."""
        value = float(original)
        if math.isfinite(value):
            return value, about
        reason = f"the environment's own reward is {value}; mode='add' needs a finite one."
        if self._scoring.on_bad != "mask":
            raise NotFinite(reason)
        if about is None:  # otherwise the step is already counted
            self._scoring.mask(1, 0, reason)
        return 0.0, {MASKED: join_reasons((about or {}).get(MASKED), reason)}

    def _begin(self, obs: Any) -> None:
        self._obs = copy_observation(obs)
        self._begun, self._over = True, False
        self._sums = dict.fromkeys(self._sums, 0.0)
        self._state = self._scoring.reward.initial_state()
        if self._record is not None:
            self._record.begin_episode()

    def close(self) -> None:
        """Write buffered steps to the ledger and close the environment."""
        try:
            if self._record is not None:
                self._record.close()
        finally:
            super().close()


class RewardWrapper(_SingleEnvWrapper):
    """Wrap a Gymnasium environment so that a plaudit reward scores its steps.

    `info` gets `reward_components`, which add up to the reward, `original_reward` and, at the end of an episode,
    `episode_reward_components`. The wrapper keeps states that the reward carries and resets them with each episode;
    `features` does not return them.

    Args:
        env: One environment, or many at once (a `VectorEnv`).
        reward: The reward of each step.
        features: A function of (obs, action, next_obs, info) that returns the reward's inputs by name, as batches for
            many environments. It may return more than the reward reads.
        task: A task to record with the reward, in addition to its own.
        mode: "replace" the environment's own reward, or "add" to it.
        on_bad: What to do with a step that cannot be scored. "mask": the reward is 0, and `info["reward_masked"]` has
            the reason. "clip": clip numbers to their ranges, and raise for anything else. "raise": raise the error.
        max_masked: Maximum share of masked steps so far before an error is raised.
        ledger: Ledger to record every step in; none if omitted.
        run: Name of the run to record.
        actor: Name of the actor to record as; if omitted, the first of env0, env1 … that no live writer has.
        flush_every: Maximum seconds until a step is durable; of several wrappers of one ledger, the shortest applies.
        sample: Share of episodes to record, chosen at random when they begin; the others are not recorded at all.
        num_envs: Number of environments that run in parallel, each in its own wrapper: schedules follow the steps of
            all of them.
        steps_taken: Number of steps taken before, if training is resumed: schedules continue from it.

    Returns:
        A `RewardWrapper` around one environment, a `VectorRewardWrapper` around many.

    Raises:
        DefinitionError: `env`, `reward`, `features`, `mode` or a number is invalid.
        WrongType: `ledger` is not a Ledger, or `flush_every` is not a number.
        VersionConflict: The ledger has another formula under the reward's label.
        ActorInUse: Another live writer records as this actor of the run.

    >>> from plaudit import Field, Reward, term
    >>> @term
    ... def upright(angle):
    ...     return 1 - abs(angle)
    >>> balance = Reward("balance", version="1", terms=[upright], fields=[Field("angle", unit="rad")])
    >>> def features(obs, action, next_obs, info):
    ...     return {"angle": next_obs[2]}
    >>> env = RewardWrapper(gymnasium.make("CartPole-v1"), balance, features)
    >>> obs, info = env.reset(seed=0)
    >>> obs, reward, terminated, truncated, info = env.step(0)
    >>> round(reward, 2), info["original_reward"], list(info["reward_components"])
    (0.95, 1.0, ['upright'])
    """

    @overload
    def __new__(  # type: ignore[misc]  # many environments have a wrapper of their own
        cls, env: VectorEnv[Any, Any, Any], reward: Reward, features: Features, **options: Unpack[WrapperOptions]
    ) -> VectorRewardWrapper: ...

    @overload
    def __new__(
        cls, env: gymnasium.Env[Any, Any], reward: Reward, features: Features, **options: Unpack[WrapperOptions]
    ) -> Self: ...

    def __new__(cls, *arguments: Any, **options: Any) -> Any:  # noqa: D102 - see the class
        env = next(iter(arguments), options.get("env"))
        if cls is RewardWrapper and isinstance(env, VectorEnv):
            refuse_environment(env, arguments, options)
            return VectorRewardWrapper(*arguments, **options)
        return super().__new__(cls)

    # `help` shows what it takes
    __new__.__signature__ = inspect.signature(_SingleEnvWrapper.__init__)  # type: ignore[attr-defined]

    if not TYPE_CHECKING:  # which goes by `__new__`

        def __init__(self, *arguments, **options):
            # not in `__new__`, which copying calls with nothing
            refuse_environment(next(iter(arguments), options.get("env")), arguments, options)
            super().__init__(*arguments, **options)


def _has_autoreset(env: gymnasium.Env[Any, Any]) -> bool:
    """Return whether a step after the end of an episode resets the environment."""
    while isinstance(env, gymnasium.Wrapper):
        if isinstance(env, Autoreset):
            return True
        env = env.env
    return False

"""A wrapper that pays one environment by a reward, and hands many environments over to `VectorRewardWrapper`."""

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
from plaudit.adapters.gymnasium.recording import Recorder, RecordingOptions
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
from plaudit.errors import NotFinite
from plaudit.ledger.ledger import Ledger
from plaudit.ledger.storage.episode_parts import MASKED
from plaudit.reward.reward import Reward
from plaudit.reward.signal import Signal
from plaudit.reward.task.task import Task
from plaudit.targets import OnBad
from plaudit.targets.states import join_state


class _SingleEnvWrapper(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Pays the steps of one environment: what `RewardWrapper` is around one.

    It stands apart because type checkers go by `__init__` where a class has both that and a `__new__` of its own.
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
        num_envs: int | None = None,
        steps_taken: int = 0,
    ) -> None:
        reward, features, ledger = read_arguments(reward, features, ledger)
        reward = with_task(reward, task)
        recording = RecordingOptions(run=run, actor=actor, flush_every=flush_every)
        super().__init__(env)
        self.signal: Signal | None = None
        """What the last step was paid for, as `signal.explain()` tells it; None where it could not be scored."""
        options: dict[str, Any] = {"on_bad": on_bad, "max_masked": max_masked, "num_envs": num_envs}
        self._scoring = Scoring(reward, features, mode, steps_taken=steps_taken, **options)
        self._record = None if ledger is None else Recorder(ledger, reward, recording)
        options |= {"mode": mode, "steps_taken": steps_taken, **recording}
        named = to_json_arguments(reward, features, ledger)
        RecordConstructorArgs.__init__(self, _disable_deepcopy=True, **options, **named)
        self._sums = dict.fromkeys(self._scoring.components, 0.0)
        self._autoreset = _has_autoreset(env)
        self._begun = self._over = False
        self._state = reward.initial_state()
        """What the reward carries into the next step."""
        self._obs: Any = None

    @property
    def reward(self) -> Reward:
        """What pays each step. Assign another one with the same terms, and it pays from the next step on."""
        return self._scoring.reward

    @reward.setter
    def reward(self, reward: Reward) -> None:
        self._scoring.validate_change(reward)
        if self._record is not None:
            self._record.change_reward(reward)
        self._scoring.change_reward(reward)

    @property
    def actor(self) -> str | None:
        """The actor that steps are recorded as; None where they are not."""
        return None if self._record is None else self._record.actor

    @property
    def steps_taken(self) -> int:
        """How many steps all environments have taken, as far as is known: for the wrapper of a resumed training."""
        return self._scoring.steps_taken

    def sync_steps(self, steps_taken: int, num_envs: int) -> None:
        """Let schedules follow the trainer's own count of steps, of `num_envs` environments side by side."""
        self._scoring.sync_steps(steps_taken, num_envs)

    def freeze_steps(self, steps_taken: int) -> None:
        """Score every step by the weights that training has after `steps_taken` steps, and count none: to evaluate."""
        self._scoring.freeze_steps(steps_taken)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode: the sums of its terms begin at 0."""
        obs, info = self.env.reset(seed=seed, options=options)
        self._begin(obs)
        return obs, info

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Take a step and pay for it."""
        if not self._begun:
            raise ResetNeeded("call reset() before the first step().")
        obs, original, terminated, truncated, info = self.env.step(action)
        if self._over and self._autoreset:  # this was no step: the environment began anew
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
        """Return the environment's own reward, which is to be added to, and what `info` says `about` the step."""
        value = float(original)
        if math.isfinite(value):
            return value, about
        reason = f"the environment's own reward, which is to be added to, is {value}."
        if self._scoring.on_bad != "mask":
            raise NotFinite(reason)
        if about is None:  # or else the step is counted already
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
        """Write what waits to be recorded and close the environment."""
        try:
            if self._record is not None:
                self._record.close()
        finally:
            super().close()


class RewardWrapper(_SingleEnvWrapper):
    """An environment whose steps are paid by a reward; around many environments it is a `VectorRewardWrapper`.

    `info` tells `reward_components`, which add up to the reward, the `original_reward` and, at the end of an episode,
    `episode_reward_components`. States that the reward carries are kept from step to step, and begin anew with each
    episode; `features` does not give them.

    Args:
        env: One environment, or many at once (a `VectorEnv`).
        reward: What pays each step.
        features: A function of (obs, action, next_obs, info) to the reward's inputs by name; of many environments it
            takes and gives batches. It may give more than the reward reads.
        task: What is wanted and what can happen, to be recorded with the reward and its own task.
        mode: "replace" the environment's own reward, or "add" to it.
        on_bad: What to do about a step that cannot be scored. "mask": pay 0, say so in `info["reward_masked"]`, and go
            on; "clip": hold numbers within their ranges, and raise for anything else; "raise" an error.
        max_masked: Which share of all steps so far may be masked before it is an error.
        ledger: Where to record every step; nowhere unless given.
        run: Under which run to record.
        actor: Under which actor of the run to record; unless given, the first of env0, env1 … that no live writer has.
        flush_every: After how many seconds at the latest a step is durable; of several wrappers of one ledger, the
            shortest time holds.
        num_envs: How many environments take their steps side by side, each in a wrapper of its own: schedules follow
            the steps of all of them.
        steps_taken: How many steps training had taken before, where it is resumed: what schedules follow.

    Returns:
        A `RewardWrapper` around one environment, a `VectorRewardWrapper` around many.

    Raises:
        DefinitionError: `env`, `reward`, `features`, `mode` or a number is not what it should be.
        WrongType: `ledger` is not a Ledger, or `flush_every` not a number.
        VersionConflict: In the ledger the reward's label stands for another formula.
        ActorInUse: Another live writer records as this actor of the run.
    """

    @overload
    def __new__(  # type: ignore[misc]  # many environments have a wrapper of their own
        cls, env: VectorEnv[Any, Any, Any], reward: Reward, features: Features, **options: Unpack[WrapperOptions]
    ) -> VectorRewardWrapper: ...

    @overload
    def __new__(
        cls, env: gymnasium.Env[Any, Any], reward: Reward, features: Features, **options: Unpack[WrapperOptions]
    ) -> Self: ...

    def __new__(cls, *arguments: Any, **options: Any) -> Any:  # noqa: D102 - the class says it
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
    """Return whether a step after the end of an episode begins the next one."""
    while isinstance(env, gymnasium.Wrapper):
        if isinstance(env, Autoreset):
            return True
        env = env.env
    return False

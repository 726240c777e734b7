"""Stable-Baselines3: environments with a plaudit reward, and a callback that logs every term."""

import math
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Unpack

from plaudit.adapters.components import (
    COMPONENTS,
    EPISODE_COMPONENTS,
    MASKED_STEPS,
    WEIGHTS,
    Profile,
    average,
    find_profile,
    missing_components,
)
from plaudit.adapters.gymnasium import RewardWrapper
from plaudit.adapters.gymnasium.arguments import WrapperOptions
from plaudit.adapters.gymnasium.scoring import OWN, Features
from plaudit.errors import DefinitionError, MissingExtra
from plaudit.reward.reward import Reward

__all__ = ["RewardTermsCallback", "make_vec_env"]

try:
    import gymnasium
    from stable_baselines3.common import env_util
    from stable_baselines3.common.callbacks import BaseCallback, EvalCallback
    from stable_baselines3.common.vec_env import VecEnv
except ModuleNotFoundError as error:
    raise MissingExtra(f"the callback needs {error.name}. Install it: pip install 'plaudit[sb3]'") from None

Components = Mapping[str, float]

_NATIVE_SHOWN = (
    "rollout/ep_rew_mean and EvalCallback show the environment's own reward and not the one that is trained on, "
    "because Monitor is inside RewardWrapper. Make environments with "
    "plaudit.adapters.sb3.make_vec_env(env_id, reward, features, n_envs=...), or as "
    "Monitor(RewardWrapper(env, reward, features))."
)


def make_vec_env(
    env_id: str | Callable[..., gymnasium.Env[Any, Any]],
    reward: Reward,
    features: Features,
    *,
    n_envs: int = 1,
    seed: int | None = None,
    start_index: int = 0,
    monitor_dir: str | None = None,
    env_kwargs: Mapping[str, Any] | None = None,
    vec_env_cls: type[Any] | None = None,
    vec_env_kwargs: dict[str, Any] | None = None,
    monitor_kwargs: dict[str, Any] | None = None,
    **options: Unpack[WrapperOptions],
) -> VecEnv:
    """Make a vector environment for Stable-Baselines3 with a plaudit reward.

    Each environment is `Monitor(RewardWrapper(env, ...))`. Stable-Baselines3's own
    `make_vec_env(wrapper_class=RewardWrapper)` puts `Monitor` inside the wrapper and reports the environment's own
    reward. Schedules follow the steps of all environments together.

    Args:
        env_id: The id of an environment, or a class or function that makes one (it may add other wrappers).
        reward: The reward of each step.
        features: A function of (obs, action, next_obs, info) that returns the reward's inputs by name.
        n_envs: Number of environments.
        seed: Random seed of the first environment; the others get the following numbers.
        start_index: Number of the first environment, if others are made separately.
        monitor_dir: Folder for the files of `Monitor`; none if omitted.
        env_kwargs: Arguments for the environment.
        vec_env_cls: `DummyVecEnv` if omitted; `SubprocVecEnv` runs one process per environment.
        vec_env_kwargs: Arguments for `vec_env_cls`.
        monitor_kwargs: Arguments for `Monitor`.
        **options: Options of `RewardWrapper`: `ledger`, `run`, `on_bad` …

    Returns:
        A vector environment for an algorithm.

    Raises:
        DefinitionError: An argument is invalid, or an `actor` is given for several environments.

    >>> from plaudit import Field, Reward, term
    >>> @term
    ... def upright(angle):
    ...     return 1 - abs(angle)
    >>> reward = Reward("balance", version="1", terms=[upright], fields=[Field("angle", unit="rad")])
    >>> env = make_vec_env("CartPole-v1", reward, lambda obs, action, next_obs, info: {"angle": next_obs[2]}, n_envs=4)
    >>> env.reset().shape
    (4, 4)
    """
    if options.get("actor") is not None and n_envs > 1:
        raise DefinitionError(
            f"actor={options['actor']!r:.60} names one environment, and there are {n_envs}. Leave it out: each "
            "environment then records as its own actor."
        )
    options.setdefault("num_envs", n_envs)

    def make_env(**kwargs: Any) -> RewardWrapper:
        made = _make_with_pictures(env_id, kwargs) if isinstance(env_id, str) else env_id(**kwargs)
        return RewardWrapper(made, reward, features, **options)

    return env_util.make_vec_env(
        make_env,
        n_envs,
        seed,
        start_index,
        monitor_dir,
        env_kwargs=dict(env_kwargs or {}),
        vec_env_cls=vec_env_cls,
        vec_env_kwargs=vec_env_kwargs,
        monitor_kwargs=monitor_kwargs,
    )


def _make_with_pictures(env_id: str, kwargs: Mapping[str, Any]) -> gymnasium.Env[Any, Any]:
    """Make an environment with render_mode="rgb_array" if it supports one, as Stable-Baselines3 does."""
    try:
        return gymnasium.make(env_id, **{"render_mode": "rgb_array", **kwargs})
    except TypeError:
        return gymnasium.make(env_id, **kwargs)


class RewardTermsCallback(BaseCallback):
    """Log a curve for each term of the reward of environments wrapped in a `RewardWrapper`.

    Weights that follow a schedule and the number of steps that could not be scored get curves too. Schedules follow the
    algorithm's step count, and an `EvalCallback` next to this one evaluates with the current training weights.

    Args:
        profile: Names of the curves. "isaac": mean sums over the same recent episodes as `rollout/ep_rew_mean`.
            "trl": mean of all steps since the last log. Or a `Profile`.
        verbose: Verbosity of Stable-Baselines3.

    Example:
        ```python
        env = make_vec_env("CartPole-v1", reward, features, n_envs=8)
        PPO("MlpPolicy", env, tensorboard_log="logs").learn(100_000, callback=RewardTermsCallback())
        ```
    """

    def __init__(self, profile: str | Profile = "isaac", *, verbose: int = 0) -> None:
        """Set the names of the curves."""
        super().__init__(verbose)
        self.profile = find_profile(profile)
        self._sums: list[dict[str, float]] = []
        self._native: list[float] = []
        self._episodes: deque[Components] = deque()
        self._synced = self._warned = False
        self._evaluations: list[EvalCallback] = []

    def _on_training_start(self) -> None:
        if not self._sums or self.model.num_timesteps == 0:
            self._sums = [{} for _ in range(self.training_env.num_envs)]
            self._native = [0.0] * self.training_env.num_envs
            self._episodes = deque(maxlen=self.model._stats_window_size)
        self._synced = self.training_env.has_attr("sync_steps")
        found = _find_evaluations(self.locals.get("callback"))
        self._evaluations = [each for each in found if each.eval_env.has_attr("freeze_steps")]
        self._freeze_evaluations()

    def _freeze_evaluations(self) -> None:
        """Set the evaluation environments to the current training weights before each evaluation."""
        for each in self._evaluations:
            if each.eval_freq > 0 and (each.n_calls + 1) % each.eval_freq == 0:
                each.eval_env.env_method("freeze_steps", self.model.num_timesteps)

    def _on_rollout_start(self) -> None:
        if self._synced:
            self.training_env.env_method("sync_steps", self.model.num_timesteps, self.training_env.num_envs)

    def _on_step(self) -> bool:
        self._freeze_evaluations()
        infos: list[Mapping[str, Any]] = self.locals["infos"]
        steps: list[Components] = [_read_components(info) for info in infos]
        for name, weight in infos[0].get(WEIGHTS, {}).items():
            self.logger.record(self.profile.weight.format(name), weight)
        if masked := sum(info.get(MASKED_STEPS, 0) for info in infos):
            self.logger.record(f"reward/{MASKED_STEPS}", masked)
        if self.profile.over == "step":
            for tag, value in self.profile.tags(_average_all(steps)).items():
                self.logger.record_mean(tag, value)
        ended = [self._add_step(env, components) for env, components in enumerate(steps)]
        if any(ended) and self.profile.over == "episode":
            # before the next dump, so that it covers the same episodes as SB3's own means
            for tag, value in self.profile.tags(_average_all(self._episodes)).items():
                self.logger.record(tag, value)
        return True

    def _add_step(self, env: int, components: Components) -> bool:
        """Add a step to the sums of its episode, and return whether the episode ended."""
        sums, info = self._sums[env], self.locals["infos"][env]
        for name, value in components.items():
            sums[name] = sums.get(name, 0.0) + value
        self._native[env] += float(info.get(OWN, math.nan))
        ended = bool(self.locals["dones"][env])
        if ended:
            paid = info.get(EPISODE_COMPONENTS, sums)
            self._check_monitor(info.get("episode"), sum(paid.values()), self._native[env])
            self._episodes.append(paid)
            self._sums[env], self._native[env] = {}, 0.0
        return ended

    def _check_monitor(self, episode: Mapping[str, Any] | None, paid: float, native: float) -> None:
        """Warn once if the reported return is that of the environment's own reward."""
        if self._warned or episode is None:
            return
        reported = float(episode["r"])
        is_native = math.isclose(reported, native, rel_tol=1e-4, abs_tol=1e-4)
        if is_native and not math.isclose(reported, paid, rel_tol=1e-2, abs_tol=1e-3):
            self._warned = True
            warnings.warn(_NATIVE_SHOWN, stacklevel=2)


def _find_evaluations(callback: Any) -> Iterator[EvalCallback]:
    if isinstance(callback, EvalCallback):
        yield callback
    within = (getattr(callback, name, None) for name in ("callback", "callback_on_new_best"))
    for each in (*getattr(callback, "callbacks", ()), *within):
        if isinstance(each, BaseCallback):
            yield from _find_evaluations(each)


def _read_components(info: Mapping[str, Any]) -> Components:
    if COMPONENTS not in info:
        raise missing_components(COMPONENTS)
    components: Components = info[COMPONENTS]
    return components


def _average_all(many: Any) -> dict[str, float]:
    """Return the mean of each component; a missing one counts as 0."""
    names = dict.fromkeys(name for each in many for name in each)
    return average({name: [each.get(name, 0.0) for each in many] for name in names})

"""An environment, and features of its steps, whose failures are one message each that says where it happened."""

import inspect
import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, NoReturn

import gymnasium
import numpy as np
from gymnasium.wrappers import TimeLimit

from plaudit.adapters.gymnasium.scoring import Features
from plaudit.errors import DefinitionError, EnvironmentFailed, NotFinite, PlauditError, shorten


class GuardedEnvironment(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Tells in one message what an environment did wrong: raised, or gave NaN."""

    def __init__(self, env: gymnasium.Env[Any, Any], name: str) -> None:
        super().__init__(env)
        self._name, self._policy, self._seed, self._steps = name, "", 0, 0

    def begin(self, policy: str, seed: int) -> None:
        """Say who plays the next episode, and with which seed."""
        self._policy, self._seed, self._steps = policy, seed, 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode."""
        try:
            obs, info = self.env.reset(seed=seed, options=options)
        except Exception as error:
            self._fail(error)
        self._require_numbers(obs, 0.0, info)
        return obs, info

    def step(self, action: Any) -> Any:
        """Take a step."""
        self._steps += 1
        try:
            obs, reward, terminated, truncated, info = self.env.step(action)
        except Exception as error:
            self._fail(error, action)
        self._require_numbers(obs, reward, info)
        return obs, reward, terminated, truncated, info

    def describe_step(self) -> str:
        """Return which step this is: "in step 3 of 'random' with seed 0", "in the reset of …"."""
        return f"in {f'step {self._steps}' if self._steps else 'the reset'} of {self._policy!r} with seed {self._seed}"

    def _fail(self, error: Exception, action: Any = None) -> NoReturn:
        given = "" if action is None else f", given the action {shorten(action, 40)}"
        raise EnvironmentFailed(
            f"the environment {self._name} failed {self.describe_step()}{given}: {type(error).__name__}: {error}"
        ) from error

    def _require_numbers(self, obs: Any, reward: Any, info: Any) -> None:
        if not isinstance(info, dict):
            what = f"gave {shorten(info, 40)} as info {self.describe_step()}, which is not a dictionary"
            raise EnvironmentFailed(f"the environment {self._name} {what}.")
        try:
            unpaid = math.isnan(reward)
        except TypeError:
            what = f"paid {shorten(reward, 40)} {self.describe_step()}, which is not a number"
            raise EnvironmentFailed(f"the environment {self._name} {what}.") from None
        if unpaid:
            raise NotFinite(f"the environment {self._name} paid NaN {self.describe_step()}.")
        for name, part in _list_arrays(obs):
            if np.isnan(part).any():
                at = [int(each) for each in np.argwhere(np.isnan(part))[0]]
                where = f"{name}[{', '.join(map(str, at))}]" if at else name
                step = self.describe_step()
                raise NotFinite(f"the environment {self._name} gave NaN as {where} {step}. Fix the environment.")


def _list_arrays(obs: Any, name: str = "observation") -> Iterator[tuple[str, Any]]:
    if isinstance(obs, np.ndarray):
        if obs.dtype.kind == "f":
            yield name, obs
    elif isinstance(obs, float | np.floating):
        yield name, np.asarray(obs)
    elif isinstance(obs, Mapping):
        for key, part in obs.items():
            yield from _list_arrays(part, f"{name}[{key!r}]")
    elif isinstance(obs, tuple):
        for at, part in enumerate(obs):
            yield from _list_arrays(part, f"{name}[{at}]")


def find_step_limit(env: gymnasium.Env[Any, Any]) -> int | None:
    """Return after how many steps an environment itself cuts an episode off; None where it does not say."""
    if env.spec is not None and env.spec.max_episode_steps is not None:
        return env.spec.max_episode_steps
    while isinstance(env, gymnasium.Wrapper):
        if isinstance(env, TimeLimit):
            return env._max_episode_steps
        env = env.env
    return None


def guard_features(given: Any, env: gymnasium.Env[Any, Any], whose: str = "") -> Features:
    """Return features that are handed the environment where they take `env`, and whose errors say what raised them.

    `whose` follows "the features" in messages: " of reward 'balance'".
    """
    if not callable(given):
        raise DefinitionError(f"features={shorten(given, 60)} is not a function of (obs, action, next_obs, info).")
    takes_env = "env" in _list_parameters(given)
    features: Callable[..., Any] = partial(given, env=env.unwrapped) if takes_env else given

    def read(obs: Any, action: Any, next_obs: Any, info: dict[str, Any]) -> Any:
        try:
            return features(obs, action, next_obs, info)
        except PlauditError:
            raise
        except Exception as error:
            raise DefinitionError(f"the features{whose} raised {type(error).__name__}: {error}") from error

    return read


def _list_parameters(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):  # some builtins do not say what they take
        return {}

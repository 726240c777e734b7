"""Episodes of a probe: an environment paid by a reward, played by a policy, and what came of it by every measure."""

from collections.abc import Callable, Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium.wrappers import TimeLimit

from plaudit.adapters.components import EPISODE_COMPONENTS
from plaudit.adapters.gymnasium import RewardWrapper
from plaudit.adapters.gymnasium.scoring import OWN, Features
from plaudit.analysis.guard import GuardedEnvironment, find_step_limit, guard_features
from plaudit.analysis.probe.measures import NATIVE
from plaudit.analysis.probe.policies import Policy
from plaudit.analysis.probe.readings import Readings
from plaudit.analysis.probe.result import PlayedEpisode
from plaudit.errors import DefinitionError, InputError
from plaudit.ledger.ledger import Ledger
from plaudit.reward.reward import Reward
from plaudit.reward.signal import Signal

_CLOSE = 1e-6
"""By how much of itself a reward may differ from the environment's own and be the same: that may be a float32."""


class ProbedEnvironment:
    """An environment whose every episode is paid by a reward and measured.

    Args:
        env: The environment; one without a limit of steps gets `max_steps`.
        reward: What pays.
        features: From (obs, action, next_obs, info) to the reward's inputs; it may take `env` as well. None where the
            inputs are parts of the observation, of `info` or the action, under the same names.
        ledger: Where episodes that are to be kept go.
        run: Under which run.
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        reward: Reward,
        features: Callable[..., Mapping[str, Any]] | None,
        *,
        ledger: Ledger | None,
        run: str | None,
        max_steps: int,
        name: str,
    ) -> None:
        self.name, self.reward, self.ledger, self.run = name, reward, ledger, run
        limited = env if find_step_limit(env) is not None else TimeLimit(env, max_steps)
        self._guard = guard = GuardedEnvironment(limited, name)
        self.action_space, self.observation_space = env.action_space, env.observation_space
        self._readings = Readings(reward)
        self._features = self._capture(
            FeaturesByName(reward) if features is None else guard_features(features, env, f" of reward {reward.name!r}")
        )
        self._plain = RewardWrapper(guard, reward, self._features, on_bad="raise", num_envs=1)
        self._recording: dict[str, RewardWrapper] = {}
        self.steps = 0
        self.same_as_native = True
        """Whether the environment has always paid the same itself."""
        self.pays_nothing = True
        """Whether the environment has always paid 0 itself."""
        self.on_step: Callable[[], None] = lambda: None

    @property
    def measures(self) -> tuple[str, ...]:
        """What episodes are measured by, beside what they earn."""
        return (NATIVE, *self._readings.names)

    @property
    def lacking(self) -> set[str]:
        """What could be measured, if the features gave what is read for it."""
        return self._readings.lacking

    def _capture(self, features: Features) -> Features:
        """Return features that keep what they give for the measures, which may read more than the reward does."""
        readings = self._readings

        def read(obs: Any, action: Any, next_obs: Any, info: dict[str, Any]) -> Mapping[str, Any]:
            readings.fields = fields = features(obs, action, next_obs, info)
            return fields

        return read

    def record(self, policy: str) -> gymnasium.Env[Any, Any]:
        """Return the environment, its steps recorded under the name of a policy where there is a ledger."""
        if self.ledger is None:
            return self._plain
        if policy not in self._recording:
            self._recording[policy] = RewardWrapper(
                self._guard,
                self.reward,
                self._features,
                on_bad="raise",
                num_envs=1,
                ledger=self.ledger,
                run=self.run,
                actor=policy,
            )
        return self._recording[policy]

    def flush(self) -> None:
        """Have everything recorded by now."""
        for each in self._recording.values():
            assert each._record is not None
            each._record.flush()

    def play(
        self,
        policy: Policy,
        seed: int,
        *,
        env: gymnasium.Env[Any, Any] | None = None,
        seen: list[Any] | None = None,
    ) -> PlayedEpisode:
        """Play an episode, in `env` where it is to be recorded; observations are added to those `seen`."""
        env = self._plain if env is None else env
        guard, readings, discount = self._guard, self._readings, self.reward.task.discount or 1.0
        guard.begin(policy.name, seed)
        obs, info = env.reset(seed=seed)
        act, informed = policy.start(seed), policy.kind == "reference"
        readings.begin()
        earned, native, factor, length, over = 0.0, 0.0, 1.0, 0, False
        signals: list[Signal] = []
        while not over:
            if seen is not None:
                seen.append(obs)
            try:
                obs, paid, terminated, truncated, info = env.step(
                    act(obs, info if informed else info.get("action_mask"))
                )
            except InputError as error:
                error.add_note(f"It is step {length + 1} of {policy.name!r} with seed {seed} in {self.name}.")
                raise
            own = float(info[OWN])
            readings.add(own, bool(terminated), bool(truncated))
            total = float(paid)
            earned += factor * total
            native += own
            factor *= discount
            length += 1
            over = bool(terminated or truncated)
            signal = env.signal  # type: ignore[attr-defined]  # the wrapper's own
            signals = [signal] if not signals else [signals[0], signal]
            if self.same_as_native and abs(total - own) > _CLOSE * max(1.0, abs(own)):
                self.same_as_native = False
            self.pays_nothing &= own == 0.0
            self.steps += 1
            self.on_step()
        return PlayedEpisode(
            policy=policy.name,
            seed=seed,
            earned=earned,
            measures={NATIVE: native, **readings.list_measures()},
            terms=dict(info[EPISODE_COMPONENTS]),
            length=length,
            ended="terminated" if terminated else "truncated",
            first=signals[0],
            last=signals[-1],
            finals=readings.list_finals(),
            sign=readings.find_sign(),
        )


# -- what is read of a step --------------------------------------------------------------------------------------------


class FeaturesByName:
    """Features where none are given: an input is what has its name in the observation, in `info`, or the action."""

    def __init__(self, reward: Reward) -> None:
        names = dict.fromkeys(name.partition("[")[0] for name in reward._bound.known_inputs)
        self._names = [name for name in names if name not in (OWN, "terminated", "truncated", "terminal")]
        self._names = [name for name in self._names if name.removeprefix("prev.") not in reward.states]
        self._needed = {name.partition("[")[0] for name in reward.inputs}
        self._action, self._reward = reward.action or "action", reward.name

    def __call__(self, obs: Any, action: Any, next_obs: Any, info: dict[str, Any]) -> Mapping[str, Any]:
        """Return what a step has of the names that the reward and its task know."""
        found: dict[str, Any] = {}
        for name in self._names:
            record, _, plain = name.rpartition(".")
            seen = obs if record == "prev" else next_obs
            if plain == self._action and record != "prev":
                value = action
            elif isinstance(seen, Mapping) and plain in seen:
                value = seen[plain]
            elif record != "prev" and plain in info:
                value = info[plain]
            elif plain in ("obs", "observation"):
                value = seen
            elif name in self._needed:
                raise self._explain(plain, next_obs, info)
            else:
                continue
            value = value.item() if isinstance(value, np.ndarray) and value.size == 1 else value
            if record:
                found.setdefault(record, {})[plain] = value
            else:
                found[plain] = value
        return found

    def _explain(self, name: str, obs: Any, info: dict[str, Any]) -> DefinitionError:
        parts = [*(obs if isinstance(obs, Mapping) else ("observation",)), self._action, *info]
        return DefinitionError(
            f"reward {self._reward!r} reads {name!r}, but a step of the environment has nothing of that name "
            f"(it has {', '.join(map(str, dict.fromkeys(parts)))}).\nDefine a function "
            f"`features(obs, action, next_obs, info)` next to the reward: return {{{name!r}: next_obs[0], …}}."
        )

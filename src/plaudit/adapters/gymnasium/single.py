"""One environment, paid by a reward."""

import math
from typing import Any, SupportsFloat

import gymnasium
from gymnasium.error import ResetNeeded
from gymnasium.utils import RecordConstructorArgs
from gymnasium.wrappers import Autoreset

from plaudit.adapters.gymnasium.recording import Recorder, recorder
from plaudit.adapters.gymnasium.scoring import COMPONENTS, EPISODE, ORIGINAL, OWN, Features, Scoring, copied, told
from plaudit.adapters.gymnasium.vector import VectorRewardWrapper
from plaudit.adapters.samples import added
from plaudit.errors import NotFinite
from plaudit.ledger.store import Ledger
from plaudit.reward.reward import Reward
from plaudit.reward.signal import Signal


class RewardWrapper(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """An environment whose steps are paid by `reward`; many environments at once give a `VectorRewardWrapper`.

    `features(obs, action, next_obs, info)` gives the reward's inputs by name. With `mode="add"` the environment's own
    reward is added, else it is replaced. `info` tells `reward_components`, which add up to the reward, the
    `original_reward` and, at the end, `episode_reward_components`. A `ledger` gets every step, under `run` and `actor`.
    """

    def __new__(cls, env: Any = None, *args: Any, **options: Any) -> Any:
        """Return the wrapper that fits the environment; a copy is made without one."""
        if cls is RewardWrapper and isinstance(env, gymnasium.vector.VectorEnv):
            return VectorRewardWrapper(env, *args, **options)
        return super().__new__(cls)

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        reward: Reward,
        features: Features,
        *,
        mode: str = "replace",
        ledger: Ledger | None = None,
        run: str | None = None,
        actor: str | None = None,
    ) -> None:
        given = {"reward": reward, "features": features, "mode": mode, "ledger": ledger, "run": run, "actor": actor}
        RecordConstructorArgs.__init__(self, _disable_deepcopy=True, **given)  # a ledger stays the one that it is
        super().__init__(env)
        self.signal: Signal | None = None
        """What the last step was paid for, as `signal.explain()` tells it."""
        self._scoring = Scoring(reward, features, mode)
        self._record: Recorder | None = recorder(ledger, reward, run=run, actor=actor)
        self._sums = dict.fromkeys(self._scoring.components, 0.0)
        self._autoreset = _resets_itself(env)
        self._begun = self._over = False
        self._obs: Any = None

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
        before, self._obs = self._obs, copied(obs)
        fields = self._scoring.fields(before, action, obs, info, terminated)
        self.signal = signal = self._scoring.reward.score(**fields)
        components, reward = added(signal), signal.total
        if self._scoring.adds:
            components[ORIGINAL] = own = _finite(original)
            reward += own
        for name, value in components.items():
            self._sums[name] += value
        if self._record is not None:
            self._record.row(signal.row)
        ours: dict[str, Any] = {COMPONENTS: components, OWN: original}
        self._over = terminated or truncated
        if self._over:
            ours[EPISODE] = dict(self._sums)
        return obs, reward, terminated, truncated, told(info, **ours)

    def _begin(self, obs: Any) -> None:
        self._obs = copied(obs)
        self._begun, self._over = True, False
        self._sums = dict.fromkeys(self._sums, 0.0)
        if self._record is not None:
            self._record.begin()

    def close(self) -> None:
        """Write what waits to be recorded and close the environment."""
        try:
            if self._record is not None:
                self._record.close()
        finally:
            super().close()


def _finite(original: SupportsFloat) -> float:
    value = float(original)
    if not math.isfinite(value):
        raise NotFinite(f"the environment's own reward, which is to be added to, is {value}.")
    return value


def _resets_itself(env: gymnasium.Env[Any, Any]) -> bool:
    """Return whether a step after the end of an episode begins the next one."""
    while isinstance(env, gymnasium.Wrapper):
        if isinstance(env, Autoreset):
            return True
        env = env.env
    return False

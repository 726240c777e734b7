"""Many environments at once, paid by a reward: one call for all of them."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper
from numpy.typing import NDArray

from plaudit.adapters.gymnasium.endings import last_seen, last_told
from plaudit.adapters.gymnasium.recording import Recorder, recorder
from plaudit.adapters.gymnasium.rows import Rows
from plaudit.adapters.gymnasium.scoring import COMPONENTS, EPISODE, OWN, Features, Scoring, copied, told
from plaudit.errors import NotFinite
from plaudit.ledger.store import Ledger
from plaudit.reward.reward import Reward

if TYPE_CHECKING:
    Base = VectorWrapper[Any, Any, Any, Any, Any]
else:  # Gymnasium before 1.4 has no such parameters
    Base = VectorWrapper

Floats = NDArray[np.float64]

_NOBODY = np.zeros(0, np.intp)


class VectorRewardWrapper(Base):
    """Many environments whose steps are paid by `reward`, as `RewardWrapper` does for one.

    `features` takes and gives batches: a column for each input of the reward, or one value for all environments. In
    `info`, `reward_components`, `original_reward` and `episode_reward_components` are arrays, and
    `_reward_components` and so on say which environments they are about. The step in which an environment only begins
    anew is not paid for, and `features` is not asked where all of them do.
    """

    def __init__(
        self,
        env: VectorEnv[Any, Any, Any],
        reward: Reward,
        features: Features,
        *,
        mode: str = "replace",
        ledger: Ledger | None = None,
        run: str | None = None,
        actor: str | None = None,
    ) -> None:
        super().__init__(env)
        self._scoring = Scoring(reward, features, mode)
        self._rows = Rows(reward, self.num_envs, spare=int(self._scoring.adds))
        self._record: Recorder | None = recorder(ledger, reward, run=run, actor=actor, envs=self.num_envs)
        self._autoreset = _autoreset(env)
        self._sums = np.zeros((len(self._scoring.components), self.num_envs))
        self._over = _NOBODY
        """Which environments begin anew in the next step."""
        self._begun = False
        self._obs: Any = None

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode in every environment, or in those of `options["reset_mask"]`."""
        mask = None if options is None else options.get("reset_mask")  # the environment takes it out
        obs, info = self.env.reset(seed=seed, options=options)
        self._obs, self._begun = copied(obs), True
        which = np.arange(self.num_envs) if mask is None else np.flatnonzero(mask)
        self._over = np.setdiff1d(self._over, which)
        self._begin(which)
        return obs, info

    def step(self, actions: Any) -> tuple[Any, Floats, Any, Any, dict[str, Any]]:
        """Take a step in every environment and pay for it."""
        if not self._begun:
            raise ResetNeeded("call reset() before the first step().")
        obs, original, terminated, truncated, info = self.env.step(actions)
        before, self._obs = self._obs, copied(obs)
        ended = np.logical_or(terminated, truncated)
        over = np.flatnonzero(ended)
        seen, about = obs, info
        if len(over) and self._autoreset is AutoresetMode.SAME_STEP:
            seen, about = last_seen(self.single_observation_space, obs, info, ended), last_told(info, ended)
        fields: Mapping[str, Any] | None = None
        if len(self._over) < self.num_envs:
            fields = self._scoring.fields(before, actions, seen, about, terminated)
        reward, block = self._rows.nothing() if fields is None else self._rows(fields, self._over)
        own = np.array(original, np.float64)
        if self._scoring.adds:
            block[-1] = own
            block[-1, self._over] = 0.0
            reward += _finite(block[-1])
        self._sums += block
        paid = np.ones(own.shape, np.bool_)
        paid[self._over] = False
        if self._record is not None and fields is not None:
            self._record.rows(self._rows.inputs(fields)[paid], paid)
        ours = {COMPONENTS: self._named(block), f"_{COMPONENTS}": paid, OWN: own, f"_{OWN}": paid}
        if len(over):
            ours |= {EPISODE: self._named(self._summed(ended)), f"_{EPISODE}": ended}
            self._begin(over)
        self._over = over if self._autoreset is AutoresetMode.NEXT_STEP else _NOBODY
        return obs, reward, terminated, truncated, told(info, **ours)

    def _named(self, rows: Floats) -> dict[str, Floats]:
        return dict(zip(self._scoring.components, rows, strict=True))

    def _summed(self, ended: NDArray[np.bool_]) -> Floats:
        """Return the sums of episodes that ended, and 0 for the others."""
        sums = np.zeros(self._sums.shape)
        np.copyto(sums, self._sums, where=ended)
        return sums

    def _begin(self, which: NDArray[np.intp]) -> None:
        """Begin the sums of some environments at 0."""
        self._sums[:, which] = 0.0
        if self._record is not None:
            self._record.begin(which)

    def close(self, **options: Any) -> None:
        """Write what waits to be recorded and close the environments."""
        try:
            if self._record is not None:
                self._record.close()
        finally:
            super().close(**options)


def _finite(original: Floats) -> Floats:
    bad = np.flatnonzero(~np.isfinite(original))
    if len(bad):
        raise NotFinite(f"environment {bad[0]}: its own reward, which is to be added to, is {original[bad[0]]}.")
    return original


def _autoreset(env: VectorEnv[Any, Any, Any]) -> AutoresetMode:
    """Return when environments begin anew; NEXT_STEP, with Gymnasium's own warning, where they do not say."""
    mode = env.metadata.get("autoreset_mode")
    if mode is None:
        gymnasium.logger.warn(
            f"{env} does not say in metadata['autoreset_mode'] when it begins anew; NEXT_STEP is taken for granted."
        )
        return AutoresetMode.NEXT_STEP
    return AutoresetMode(mode)

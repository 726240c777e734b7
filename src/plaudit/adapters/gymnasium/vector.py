"""The wrapper for many environments at once: one call scores all of them."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper
from gymnasium.vector.utils import concatenate, create_empty_array
from numpy.typing import NDArray

from plaudit.adapters.components import CLIPPED_STEPS, COMPONENTS, EPISODE_COMPONENTS, MASKED_STEPS, WEIGHTS
from plaudit.adapters.gymnasium.arguments import with_task
from plaudit.adapters.gymnasium.batch_scoring import BatchScorer, PaidSteps
from plaudit.adapters.gymnasium.scoring import (
    CLIPPED,
    MAX_MASKED,
    OWN,
    Features,
    Floats,
    Mode,
    Scoring,
    copy_observation,
    extend_info,
    join_reasons,
    shorten_error,
)
from plaudit.adapters.recording import Recorder, RecordingOptions
from plaudit.errors import MissingField, NotFinite
from plaudit.ledger.ledger import Ledger
from plaudit.ledger.storage.episode_parts import MASKED
from plaudit.reward.reward import Reward
from plaudit.reward.task.task import Task
from plaudit.targets import OnBad

if TYPE_CHECKING:
    Base = VectorWrapper[Any, Any, Any, Any, Any]
else:  # Gymnasium before 1.4 has no such parameters
    Base = VectorWrapper

Mask = NDArray[np.bool_]

_NONE = np.zeros(0, np.intp)
_FINAL = ("final_obs", "final_info")


class VectorRewardWrapper(Base):
    """Wrap many environments so that a plaudit reward scores their steps; `RewardWrapper` returns it for a `VectorEnv`.

    In `info`, `reward_components`, `original_reward` and `episode_reward_components` are arrays, and
    `_reward_components` and so on are masks of the environments they apply to; so are `reward_masked` and
    `reward_clipped`, with None elsewhere, and their counts. A step that only resets an environment earns nothing, and
    `features` is not called if all of them reset. States that the reward carries are kept for each environment;
    `features` does not return them.

    >>> from plaudit import Field, Reward, term
    >>> @term
    ... def upright(angle):
    ...     return 1 - abs(angle)
    >>> balance = Reward("balance", version="1", terms=[upright], fields=[Field("angle", unit="rad")])
    >>> def features(obs, actions, next_obs, info):
    ...     return {"angle": next_obs[:, 2]}
    >>> envs = VectorRewardWrapper(gymnasium.make_vec("CartPole-v1", num_envs=3), balance, features)
    >>> obs, info = envs.reset(seed=0)
    >>> obs, rewards, terminated, truncated, info = envs.step(envs.action_space.sample())
    >>> rewards.shape, info["reward_components"]["upright"].shape
    ((3,), (3,))
    """

    def __init__(
        self,
        env: VectorEnv[Any, Any, Any],
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
        """Wrap many environments.

        Args:
            env: The environments.
            reward: The reward of each step.
            features: A function of batches (obs, action, next_obs, info) that returns the reward's inputs by name: a
                column for each, or one value for all environments.
            task: A task to record with the reward, in addition to its own.
            mode: "replace" the environments' own rewards, or "add" to them.
            on_bad: What to do with steps that cannot be scored: "mask", "clip" or "raise", as for one environment.
            max_masked: Maximum share of masked steps so far before an error is raised.
            ledger: Ledger to record every step in; none if omitted.
            run: Name of the run to record.
            actor: Name of the actor to record as; if omitted, the first of env0, env1 … that no live writer has.
            flush_every: Maximum seconds until a step is durable; of several wrappers of one ledger, the shortest
                applies.
            sample: Share of episodes to record, chosen at random when they begin; the others are not recorded at all.
            num_envs: Number of environments that run in parallel, if there are more than these.
            steps_taken: Number of steps taken before, if training is resumed: schedules continue from it.

        Raises:
            DefinitionError: `reward`, `features`, `mode` or a number is invalid.
            WrongType: `ledger` is not a Ledger, or `flush_every` is not a number.
            VersionConflict: The ledger has another formula under the reward's label.
            ActorInUse: Another live writer records as this actor of the run.
        """
        super().__init__(env)
        reward = with_task(reward, task)
        self._scoring = Scoring(
            reward,
            features,
            mode,
            on_bad=on_bad,
            max_masked=max_masked,
            num_envs=num_envs,
            steps_taken=steps_taken,
        )
        self._masked, self._clipped = np.zeros((2, self.num_envs), np.int64)
        self._scorer = self._build_scorer(reward)
        recording = RecordingOptions(run=run, actor=actor, flush_every=flush_every, sample=sample, seed=0)
        self._record = None if ledger is None else Recorder(ledger, reward, recording, envs=self.num_envs)
        self._autoreset = _find_autoreset_mode(env)
        self._sums = np.zeros((len(self._scoring.components), self.num_envs))
        self._over = _NONE
        """Environments that reset in the next step."""
        self._begun = False
        self._obs: Any = None

    def _build_scorer(self, reward: Reward) -> BatchScorer:
        return BatchScorer(reward, self.num_envs, on_bad=self._scoring.on_bad, spare=int(self._scoring.adds))

    @property
    def reward(self) -> Reward:
        """The reward. Assign another one with the same terms to use it from the next step on."""
        return self._scoring.reward

    @reward.setter
    def reward(self, reward: Reward) -> None:
        self._scoring.validate_change(reward)
        scorer = self._build_scorer(reward)
        if self._record is not None:
            self._record.change_reward(reward)
        self._scorer = scorer
        self._scoring.change_reward(reward)

    @property
    def actor(self) -> str | None:
        """The actor that steps are recorded as; None without a ledger."""
        return None if self._record is None else self._record.actor

    @property
    def steps_taken(self) -> int:
        """Number of steps that all environments have taken; pass it on when training is resumed."""
        return self._scoring.steps_taken

    def freeze_steps(self, steps_taken: int) -> None:
        """Fix scheduled weights for evaluation.

        Args:
            steps_taken: The training step whose weights to use; steps are not counted any more.
        """
        self._scoring.freeze_steps(steps_taken)

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode in every environment, or in those of `options["reset_mask"]`.

        Args:
            seed: Random seed, or one for each environment.
            options: Options of the environments.

        Returns:
            The observations and the info.
        """
        mask = None if options is None else options.get("reset_mask")  # the environment removes it
        obs, info = self.env.reset(seed=seed, options=options)
        self._obs, self._begun = copy_observation(obs), True
        which = np.arange(self.num_envs) if mask is None else np.flatnonzero(mask)
        self._over = np.setdiff1d(self._over, which)
        self._begin(which)
        return obs, info

    def step(self, actions: Any) -> tuple[Any, Floats, Any, Any, dict[str, Any]]:
        """Take a step in every environment and score it.

        Args:
            actions: An action for each environment.

        Returns:
            The observations, the rewards, terminated, truncated and the info.

        Raises:
            ResetNeeded: `reset` was not called.
            InputError: A step cannot be scored, and `on_bad` is "raise".
            TooManyMasked: More than `max_masked` of all steps so far could not be scored.
        """
        if not self._begun:
            raise ResetNeeded("call reset() before the first step().")
        obs, original, terminated, truncated, info = self.env.step(actions)
        before, self._obs = self._obs, copy_observation(obs)
        ended = np.logical_or(terminated, truncated)
        over = np.flatnonzero(ended)
        seen, about = obs, info
        if len(over) and self._autoreset is AutoresetMode.SAME_STEP:
            seen, about = (
                restore_final_obs(self.single_observation_space, obs, info, ended),
                restore_final_info(info, ended),
            )
        own = np.array(original, np.float64)
        outcomes = own, np.asarray(terminated), np.asarray(truncated)
        paid = np.ones(own.shape, np.bool_)
        paid[self._over] = False
        steps = self._scorer.zeros()
        if paid.any():
            fields = self._scoring.read_fields(before, actions, seen, about, outcomes, envs=self.num_envs)
            steps = self._scorer(fields, self._over)
        reward, block = steps.total, steps.block
        reasons = masked = {env: shorten_error(error) for env, error in steps.errors.items()}
        if self._scoring.adds:
            block[-1] = own
            block[-1, self._over] = 0.0
            odd = self._replace_not_finite(block[-1])
            reward += block[-1]
            masked = reasons | {env: join_reasons(reasons.get(env), reason) for env, reason in odd.items()}
        ours = self._describe(steps, paid, masked)
        self._sums += block
        if self._record is not None and paid.any():
            inputs, dtypes = self._scorer.build_inputs(steps.fields)
            said: dict[int, dict[str, Any]] = {env: {CLIPPED: given} for env, given in steps.clipped.items()}
            said |= {env: {MASKED: reason} for env, reason in reasons.items()}
            rows: Any = slice(None) if paid.all() else paid
            kept = (np.array(each[rows]) for each in outcomes)  # the environments may write into their own arrays
            self._record.add_steps(inputs[rows], dtypes, np.flatnonzero(paid), *kept, about=said)
        ours |= {COMPONENTS: self._name_rows(block), f"_{COMPONENTS}": paid, OWN: own, f"_{OWN}": paid}
        if len(over):
            ours |= {EPISODE_COMPONENTS: self._name_rows(self._select_sums(ended)), f"_{EPISODE_COMPONENTS}": ended}
            self._begin(over)
        self._over = over if self._autoreset is AutoresetMode.NEXT_STEP else _NONE
        return obs, reward, terminated, truncated, extend_info(info, **ours)

    def _describe(self, steps: PaidSteps, paid: Mask, masked: Mapping[int, str]) -> dict[str, Any]:
        """Count the steps, and return further entries of `info`; `masked` has the reasons of unscored steps.

        Raises:
            TooManyMasked: More than `max_masked` of all steps so far could not be scored.
        """
        scoring, count = self._scoring, int(np.count_nonzero(paid))
        told: dict[str, Any] = {}
        if count and (weights := scoring.find_weights(steps.fields, self.num_envs)):
            told |= {WEIGHTS: weights, f"_{WEIGHTS}": paid}
        scoring.count_steps(count, self.num_envs)
        scoring.masked.seen += count
        for name, by_env, steps_name, counts in (
            (MASKED, masked, MASKED_STEPS, self._masked),
            (CLIPPED, steps.clipped, CLIPPED_STEPS, self._clipped),
        ):
            if by_env:
                told |= self._list_by_env(f"reward_{name}", by_env)
                counts[list(by_env)] += 1
            if counts.any():
                told |= {steps_name: counts.copy(), f"_{steps_name}": np.ones_like(paid)}
        if masked:
            scoring.mask(len(masked), 0, next(iter(masked.values())))
        return told

    def _list_by_env(self, name: str, by_env: Mapping[int, Any]) -> dict[str, Any]:
        """Return values of some environments in Gymnasium's format: an array, None elsewhere, and a mask."""
        values, which = np.full(self.num_envs, None), np.zeros(self.num_envs, np.bool_)
        for env, value in by_env.items():
            values[env], which[env] = value, True
        return {name: values, f"_{name}": which}

    def _replace_not_finite(self, original: Floats) -> dict[int, str]:
        """Replace own rewards that are not finite by 0, for mode="add"; return the reasons by environment."""
        reasons: dict[int, str] = {}
        for env in np.flatnonzero(~np.isfinite(original)).tolist():
            reasons[env] = f"environment {env}: its own reward is {original[env]}; mode='add' needs a finite one."
            if self._scoring.on_bad != "mask":
                raise NotFinite(reasons[env])
            original[env] = 0.0
        return reasons

    def _name_rows(self, rows: Floats) -> dict[str, Floats]:
        return dict(zip(self._scoring.components, rows, strict=True))

    def _select_sums(self, ended: NDArray[np.bool_]) -> Floats:
        """Return the sums of episodes that ended, and 0 for the others."""
        sums = np.zeros(self._sums.shape)
        np.copyto(sums, self._sums, where=ended)
        return sums

    def _begin(self, which: NDArray[np.intp]) -> None:
        """Reset the sums and states of some environments."""
        self._sums[:, which] = 0.0
        self._scorer.begin(which)
        if self._record is not None:
            self._record.begin_episodes(which)

    def close(self, **options: Any) -> None:
        """Write buffered steps to the ledger and close the environments.

        Args:
            **options: Options of the environments' `close`.
        """
        try:
            if self._record is not None:
                self._record.close()
        finally:
            super().close(**options)


def _find_autoreset_mode(env: VectorEnv[Any, Any, Any]) -> AutoresetMode:
    """Return when environments reset; NEXT_STEP, with a warning, if they do not declare it."""
    mode = env.metadata.get("autoreset_mode")
    if mode is None:
        gymnasium.logger.warn(f"{env} does not declare metadata['autoreset_mode']; NEXT_STEP is assumed.")
        return AutoresetMode.NEXT_STEP
    return AutoresetMode(mode)


def restore_final_obs(space: spaces.Space[Any], obs: Any, info: Mapping[str, Any], ended: Mask) -> Any:
    """Return a batch of observations with the last one of each episode that ended; `space` is that of one of them."""
    if "final_obs" not in info:
        raise MissingField(
            "an episode ended in autoreset mode SAME_STEP, and info has no 'final_obs' with its last observation."
        )
    final = info["final_obs"]
    if isinstance(final, np.ndarray) and final.dtype == object:
        which = list(final[ended])
        empty: Any = create_empty_array(space, n=len(which))
        final = concatenate(space, which, empty)
    else:
        final = _take_rows(final, ended)
    return _put_rows(space, obs, final, ended)


def _take_rows(batch: Any, which: Mask) -> Any:
    if isinstance(batch, Mapping):
        return {name: _take_rows(part, which) for name, part in batch.items()}
    if isinstance(batch, tuple):
        return tuple(_take_rows(part, which) for part in batch)
    return batch[which]


def _put_rows(space: spaces.Space[Any], batch: Any, part: Any, which: Mask) -> Any:
    """Return `batch` with `part` in some of its places, in the structure that Gymnasium gives a batch of `space`."""
    if isinstance(space, spaces.Dict):
        return {name: _put_rows(each, batch[name], part[name], which) for name, each in space.items()}
    if isinstance(space, spaces.Tuple):
        return tuple(_put_rows(each, batch[at], part[at], which) for at, each in enumerate(space.spaces))
    if isinstance(batch, np.ndarray):
        replaced = batch.copy()
        replaced[which] = part
        return replaced
    parts = list(batch)  # a batch of strings, graphs and the like is a tuple of them
    for at, value in zip(np.flatnonzero(which), part, strict=True):
        parts[at] = value
    return tuple(parts)


def restore_final_info(info: Mapping[str, Any], ended: Mask) -> dict[str, Any]:
    """Return the info of the step: for environments that were reset, that of their last step."""
    final = info.get("final_info", {})
    begun = {name: value for name, value in info.items() if name.removeprefix("_") not in _FINAL}
    return _merge_info(begun, final, ended)


def _merge_info(begun: Mapping[str, Any], final: Mapping[str, Any], ended: Mask) -> dict[str, Any]:
    merged = dict(begun)
    for name, value in begun.items():
        if name not in final and name[:1] == "_" and isinstance(value, np.ndarray):
            merged[name] = value & ~ended  # only from the reset
    for name, value in final.items():
        there = begun.get(name)
        if isinstance(value, Mapping):
            merged[name] = _merge_info(there if isinstance(there, Mapping) else {}, value, ended)
        else:
            merged[name] = np.where(_widen(ended, value), value, np.zeros_like(value) if there is None else there)
    return merged


def _widen(mask: Mask, like: NDArray[Any]) -> Mask:
    return mask.reshape(-1, *(1,) * (like.ndim - 1))

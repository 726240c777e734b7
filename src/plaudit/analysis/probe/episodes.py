"""Episodes of a probe: an environment paid by a reward, played by a policy, and what came of it by every measure."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import gymnasium
import numpy as np
from gymnasium.wrappers import TimeLimit

from plaudit.adapters.components import EPISODE_COMPONENTS
from plaudit.adapters.gymnasium import RewardWrapper
from plaudit.adapters.gymnasium.scoring import OWN, Features
from plaudit.analysis.guard import GuardedEnvironment, find_step_limit, guard_features
from plaudit.analysis.probe.policies import Policy
from plaudit.analysis.probe.result import GOAL, NATIVE, PlayedEpisode
from plaudit.checks.solver.boxes import compile_question
from plaudit.checks.solver.ranges import encode_value
from plaudit.errors import DefinitionError, InputError
from plaudit.language.field import RECORDS
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
        self._readings = _Readings(reward)
        self._features = self._capture(
            FeaturesByName(reward) if features is None else guard_features(features, env, f" of reward {reward.name!r}")
        )
        self._plain = RewardWrapper(guard, reward, self._features, on_bad="raise", num_envs=1)
        self._recording: dict[str, RewardWrapper] = {}
        self.steps = 0
        self.same_as_native = True
        """Whether the environment has always paid the same itself."""
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
        act, mask = policy.start(seed), info.get("action_mask")
        readings.begin()
        earned, native, factor, length, over = 0.0, 0.0, 1.0, 0, False
        signals: list[Signal] = []
        while not over:
            if seen is not None:
                seen.append(obs)
            try:
                obs, paid, terminated, truncated, info = env.step(act(obs, mask))
            except InputError as error:
                error.add_note(f"It is step {length + 1} of {policy.name!r} with seed {seed} in {self.name}.")
                raise
            mask = info.get("action_mask")
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
            self.steps += 1
            self.on_step()
        measures, terms = {NATIVE: native, **readings.finish()}, dict(info[EPISODE_COMPONENTS])
        ended = "terminated" if terminated else "truncated"
        return PlayedEpisode(policy.name, seed, earned, measures, terms, length, ended, signals[0], signals[-1])


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
            f"reward {self._reward!r} reads {name!r}, and nothing in a step of the environment has this name "
            f"(it has {', '.join(map(str, dict.fromkeys(parts)))}).\nSay where it is in a function "
            f"`features(obs, action, next_obs, info)` beside the reward: return {{{name!r}: next_obs[0], …}}."
        )


class _Readings:
    """Goal and `better` fields of the steps of an episode, as far as the features give them."""

    def __init__(self, reward: Reward) -> None:
        self.fields: Any = {}
        self._reward = reward
        self._goal = None if reward._bound.goal is None else _build_goal(reward)
        self._better = {
            name: (_Input(name), each.aim, each.kind == "flag" or each.role == "event")
            for name, each in reward._bound.fields.items()
            if (each.better is not None or each.aim is not None) and not each.shape
        }
        self.lacking: set[str] = set()
        self.begin()

    @property
    def names(self) -> tuple[str, ...]:
        every = (*((GOAL,) if self._goal else ()), *self._better)
        return tuple(name for name in every if name not in self.lacking)

    def begin(self) -> None:
        self._reached, self._sums, self._steps = False, dict.fromkeys(self._better, 0.0), 0

    def add(self, own: float, terminated: bool, truncated: bool) -> None:
        outcomes = {OWN: own, "terminated": terminated, "truncated": truncated, "terminal": terminated}
        fields = {**outcomes, **self.fields}
        self._steps += 1
        if self._goal is not None and not self._reached and GOAL not in self.lacking:
            try:
                self._reached = self._goal(fields)
            except KeyError:
                self.lacking.add(GOAL)
        for name, (read, aim, _) in self._better.items():
            if name not in self.lacking:
                try:
                    value = float(read(fields))
                except KeyError:
                    self.lacking.add(name)
                else:
                    self._sums[name] += value if aim is None else abs(value - aim)

    def finish(self) -> dict[str, float]:
        """Return the measures of the episode; a field is told as it is, whichever way is better."""
        found = {GOAL: float(self._reached)} if self._goal else {}
        for name, (_, _, is_event) in self._better.items():
            found[name] = self._sums[name] / (1 if is_event else max(self._steps, 1))
        return {name: value for name, value in found.items() if name not in self.lacking}


class _Input:
    """Reads one input of a program out of the fields of a step; KeyError where it is not there."""

    def __init__(self, name: str) -> None:
        match = re.fullmatch(r"(?:(prev|curr)\.)?([^.\[]+)((?:\[\d+\])*)", name)
        assert match is not None, name
        self._record, self._name = match[1], match[2]
        self._entry = tuple(int(at) for at in re.findall(r"\d+", match[3]))

    def __call__(self, fields: Mapping[str, Any]) -> Any:
        value = self._find(fields)
        return np.asarray(value)[self._entry].item() if self._entry else value

    def _find(self, fields: Mapping[str, Any]) -> Any:
        if self._record is None and self._name in fields:
            return fields[self._name]
        for record in RECORDS if self._record is None else (self._record,):
            if f"{record}.{self._name}" in fields:
                return fields[f"{record}.{self._name}"]
            part = fields.get(record)
            if record == "prev" and self._record is None:
                continue
            if isinstance(part, Mapping) and self._name in part:
                return part[self._name]
            if part is not None and hasattr(part, self._name):
                return getattr(part, self._name)
        raise KeyError(self._name)


def _build_goal(reward: Reward) -> Callable[[Mapping[str, Any]], bool]:
    """Return the function from the fields of a step to whether the goal is reached in it."""
    assert reward._bound.goal is not None
    program = reward._bound.goal_program
    at = program.outputs[reward._bound.goal.name]
    ask = compile_question(replace(program, outputs={"given": at, "asked": at}))
    inputs = [(name, _Input(name), declared) for name, declared in program.inputs.items()]

    def is_reached(fields: Mapping[str, Any]) -> bool:
        row = {name: encode_value(declared, read(fields)) for name, read, declared in inputs}
        return ask(row) == 1.0

    return is_reached

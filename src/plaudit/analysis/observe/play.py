"""Playing an environment to see what can happen in it: idle, constant, random and smooth policies, by their shares."""

from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces

from plaudit.adapters.gymnasium.scoring import copy_observation
from plaudit.analysis.environments import Env
from plaudit.analysis.guard import GuardedEnvironment, find_step_limit, guard_features
from plaudit.analysis.observe.columns import build_transitions, join_entries
from plaudit.analysis.observe.readers import FeatureReader, LeafTable, SpaceReader, find_action_names
from plaudit.analysis.observe.smooth import Held, Wave, list_smooth_policies
from plaudit.analysis.observe.spaces import list_action_leaves, list_declared, list_observation_leaves
from plaudit.analysis.observe.transitions import Transitions
from plaudit.analysis.probe.policies import Act, Constant, Policy, list_baseline_policies
from plaudit.errors import DefinitionError, shorten
from plaudit.terminal import format_count

SHARES = {"idle": 0.15, "constant": 0.25, "random": 0.3, "smooth": 0.3}
"""How many of the steps each kind of policy plays; one that is not there leaves its share to the others."""
_PROGRESS_EVERY = 64


class Turn(NamedTuple):
    """A policy, its kind, and how many steps it plays."""

    kind: str
    policy: Policy | Held | Wave
    steps: int


def plan_turns(space: spaces.Space[Any], steps: int, idle: Any = None) -> list[Turn]:
    """Return who plays how many of the steps.

    Args:
        space: The actions.
        steps: Of all policies together.
        idle: The action that does nothing; unless given, 0 of a Box or of a MultiBinary, and none of any other.

    Raises:
        DefinitionError: There is no simple policy for such actions, or `idle` is not one of them.
    """
    baseline = list_baseline_policies(space)
    if idle is not None:
        try:
            action = np.asarray(idle, space.dtype) if space.shape else idle
        except (ValueError, TypeError, OverflowError):
            action = None
        if action is None or not space.contains(action):
            raise DefinitionError(f"idle={shorten(idle, 40)} is not an action of {space}.")
        others = [each for each in baseline if not (isinstance(each, Constant) and np.array_equal(each.action, action))]
        baseline = [Constant("idle", "idle", action), *(each for each in others if each.kind != "idle")]
    by_kind: dict[str, list[Any]] = {}
    for each in baseline:
        by_kind.setdefault(each.kind, []).append(each)
    doing_nothing = next((each.action for each in by_kind.get("idle", ())), None)
    by_kind["smooth"] = [*list_smooth_policies(space, doing_nothing)]
    whole = sum(SHARES[kind] for kind in by_kind)
    listed = [(kind, each) for kind, policies in by_kind.items() for each in policies]
    shares = [SHARES[kind] / whole / len(by_kind[kind]) for kind, _ in listed]
    counts = np.diff(np.round(np.cumsum(shares) * steps).astype(int), prepend=0).tolist()
    return [Turn(kind, each, count) for (kind, each), count in zip(listed, counts, strict=True) if count]


def play(
    env: Env,
    name: str,
    features: Callable[..., Mapping[str, Any]] | None,
    *,
    steps: int,
    seed: int,
    max_steps: int,
    idle: Any = None,
    progress: Callable[[int, int], None] | None = None,
) -> Transitions:
    """Play an environment, and return the steps; the arguments are those of `observe`."""
    for part in ("action_space", *(("observation_space",) if features is None else ())):
        if not isinstance(getattr(env, part, None), spaces.Space):
            raise DefinitionError(f"the environment {name} has no {part}; give it one of gymnasium.spaces.")
    turns = plan_turns(env.action_space, steps, idle)
    session = _Session(env, name, features, steps, max_steps, progress)
    for turn in turns:
        until, act = session.taken + turn.steps, turn.policy.start(seed)
        while session.taken < until:
            started = seed + session.episodes
            session.play_episode(turn, turn.policy.start(started) if turn.kind == "smooth" else act, started, until)
    idles = (each.policy for each in turns if each.kind == "idle")
    return session.finish(seed, next((each.action for each in idles if isinstance(each, Constant)), None))


class _Session:
    """What was played so far."""

    def __init__(
        self,
        env: Env,
        name: str,
        features: Callable[..., Mapping[str, Any]] | None,
        steps: int,
        max_steps: int,
        progress: Callable[[int, int], None] | None,
    ) -> None:
        self._env, self._name, self._progress = GuardedEnvironment(env, name), name, progress
        self._limit = max_steps if find_step_limit(env) is None else None
        actions = list_action_leaves(env.action_space)
        self._reader: FeatureReader | SpaceReader
        self._declared = {}
        if features is None:
            leaves = list_observation_leaves(env.observation_space)
            taken = [name for leaf in actions for name in leaf.names]
            self._reader = SpaceReader(env.observation_space, leaves, steps, taken)
            self._declared = {**list_declared(actions), **list_declared(leaves)}
        else:
            self._reader = FeatureReader(guard_features(features, env))
        self._actions = LeafTable(actions, steps)
        self._terminated, self._truncated = np.zeros(steps, bool), np.zeros(steps, bool)
        self._episode = np.zeros(steps, np.int64)
        self._paid = np.full(steps, np.nan)
        self._policies: list[tuple[str, int, str]] = []
        self.taken = 0
        self.episodes = 0

    def play_episode(self, turn: Turn, act: Act, seed: int, until: int) -> None:
        """Play an episode, or as much of it as there are steps left until a number of them."""
        env, reader, actions, at = self._env, self._reader, self._actions, self.taken
        copies = isinstance(reader, FeatureReader)
        self._policies.append((turn.policy.name, seed, turn.kind))
        env.begin(turn.policy.name, seed)
        obs, info = env.reset(seed=seed)
        mask = info.get("action_mask")
        reader.begin(obs)
        until = until if self._limit is None else min(until, at + self._limit)
        over = False
        while at < until and not over:
            before = copy_observation(obs) if copies else obs
            action = act(obs, mask)
            actions.write(at, action)
            obs, paid, terminated, truncated, info = env.step(action)
            self._paid[at] = paid
            self._episode[at] = self.episodes
            reader.read(at, before, action, obs, info, self._describe_row)
            self._terminated[at], self._truncated[at] = terminated, truncated
            over = bool(terminated or truncated)
            mask = info.get("action_mask")
            at += 1
            if self._progress is not None and not at % _PROGRESS_EVERY:
                self._progress(at, len(self._episode))
        self.taken = at
        self.episodes += 1

    def _describe_row(self, row: int) -> str:
        number = int(self._episode[row])
        policy, seed, _ = self._policies[number]
        step = row - int(np.argmax(self._episode == number)) + 1
        return f"in step {step} of {policy!r} with seed {seed} in {self._name}"

    def finish(self, seed: int, idle: Any) -> Transitions:
        """Return all that was played."""
        first = np.concatenate(([True], np.diff(self._episode) != 0))
        columns, left_out = self._reader.finish(first, self._describe_row)
        actions = self._actions.stack()
        if isinstance(self._reader, SpaceReader):
            told = find_action_names(columns, actions)  # `info` often says what was done
            columns = {name: column for name, column in columns.items() if "." in name or name not in told}
            taken = {name.rpartition(".")[2] for name in columns}
            named = {_find_free_name(name, taken): column for name, column in self._actions.split().items()}
            columns, names = {**columns, **named}, list(named)
        else:
            columns = join_entries(columns)
            names = find_action_names(columns, actions)
        kinds = np.array([kind for *_, kind in self._policies])
        source = f"{self._name}, {format_count(len(self._episode), 'step')} of {format_count(self.episodes, 'episode')}"
        without = f", without {', '.join(left_out)} (missing in some steps)" if left_out else ""
        return build_transitions(
            columns,
            episode=self._episode,
            policy=kinds[self._episode],
            terminated=self._terminated,
            truncated=self._truncated,
            actions=actions,
            action_names=names,
            idle=idle,
            declared=self._declared,
            paid=self._paid,
            source=f"{source}, seed {seed}{without}",
        )


def _find_free_name(name: str, taken: Collection[str]) -> str:
    """Return what the action is called, where an observation may have something else of that name."""
    return name if name not in taken else _find_free_name(f"taken_{name}", taken)

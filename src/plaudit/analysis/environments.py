"""Environments of Gymnasium, made from whatever names them, and steps of their random policy for `compare`."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from plaudit.adapters.gymnasium.scoring import Features, Scoring, copy_observation
from plaudit.analysis.compare.transitions import Transitions
from plaudit.errors import DefinitionError, EnvironmentFailed, InputError, PlauditError, shorten
from plaudit.reward.reward import Reward
from plaudit.targets.inputs import make_converter
from plaudit.targets.states import join_state
from plaudit.terminal import format_count

if TYPE_CHECKING:
    import gymnasium

Env: TypeAlias = "gymnasium.Env[Any, Any]"


def _make_environment(given: object, options: Mapping[str, Any]) -> tuple[Env, str, bool]:
    """Return an environment, its name, and whether it was made here; errors say what is wrong with it."""
    import gymnasium
    from gymnasium.vector import VectorEnv

    if isinstance(given, VectorEnv):
        raise DefinitionError(f"{shorten(given)} is a vector environment; give a single one.")
    if isinstance(given, gymnasium.Env):
        if options:
            raise DefinitionError(
                f"{name_environment(given)} already exists, so it takes no options ({', '.join(options)})."
            )
        return given, name_environment(given), False
    if not isinstance(given, str) and not callable(given):
        raise DefinitionError(
            f"{shorten(given)} is not an environment, a function that makes one, or an environment id."
        )
    what = given if isinstance(given, str) else getattr(given, "__name__", shorten(given))
    try:
        made: object = gymnasium.make(given, **options) if isinstance(given, str) else given(**options)
    except PlauditError:
        raise
    except gymnasium.error.Error as error:
        raise DefinitionError(f"the environment {what} cannot be made: {error}") from None
    except Exception as error:
        raise EnvironmentFailed(f"the environment {what} cannot be made: {type(error).__name__}: {error}") from error
    if not isinstance(made, gymnasium.Env):
        raise DefinitionError(f"{what} returned {shorten(made)}, which is not an environment.")
    return made, given if isinstance(given, str) else name_environment(made), True


@contextmanager
def open_environment(given: object, options: Mapping[str, Any]) -> Iterator[tuple[Env, str]]:
    """Yield an environment and its name; one that was made here is closed at the end."""
    made, name, ours = _make_environment(given, options)
    try:
        yield made, name
    finally:
        if ours:
            try:
                made.close()
            except PlauditError:
                raise
            except Exception as error:
                raise EnvironmentFailed(f"the environment {name} failed to close: {error}") from error


def name_environment(env: Env) -> str:
    """Return what an environment is called."""
    return type(env.unwrapped).__name__ if env.spec is None else env.spec.id


def sample_transitions(
    env: object,
    rewards: Reward | Sequence[Reward],
    features: Features,
    *,
    steps: int = 10_000,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Transitions:
    """Return steps of an environment in which every action is drawn from its action space, for `compare`.

    Args:
        env: One environment, which is reset and not closed; or the id of one, a class or a function that makes it.
        rewards: The rewards that are to be compared.
        features: What `RewardWrapper` takes: a function of (obs, action, next_obs, info) to the inputs of the rewards
            by name. Each reward gets those that it reads.
        steps: How many steps to take, in as many episodes as that needs.
        seed: Of the environment and of the actions.
        progress: Called with how many steps are taken, and how many there are to take.

    Returns:
        What the rewards read of each step, and the episode it belongs to: `compare(one, other, transitions=...)`.

    Raises:
        DefinitionError: There is no such environment, or something else that was given is not what it should be.
        InputError: The features fail, or lack something that a reward reads.
    """
    if steps < 1:
        raise DefinitionError(f"steps={steps} must be at least 1.")
    with open_environment(env, {}) as (made, name):
        columns, episodes = _play(made, rewards, features, steps, seed, progress)
    text = f"{format_count(steps, 'step')} of {name} under its random policy"
    return Transitions({name: np.asarray(column) for name, column in columns.items()}, np.asarray(episodes), text)


def _play(
    env: Env,
    rewards: Reward | Sequence[Reward],
    features: Features,
    steps: int,
    seed: int,
    progress: Callable[[int, int], None] | None,
) -> tuple[dict[str, list[Any]], list[int]]:
    """Take steps with random actions; return what rewards read of each, and in which episode it was."""
    readers = [_Reader(reward, features) for reward in ([rewards] if isinstance(rewards, Reward) else rewards)]
    env.action_space.seed(seed)
    columns: dict[str, list[Any]] = {}
    episodes: list[int] = []
    obs: Any = None
    over, episode = True, -1
    for taken in range(steps):
        if over:
            obs, _ = env.reset(seed=seed if episode < 0 else None)
            episode += 1
            for reader in readers:
                reader.begin()
        before, action = copy_observation(obs), env.action_space.sample()
        obs, original, terminated, truncated, info = env.step(action)
        over = terminated or truncated
        found: dict[str, Any] = {}
        for reader in readers:
            found |= reader.read(before, action, obs, info, (original, terminated, truncated))
        for name, value in found.items():
            columns.setdefault(name, []).append(value)
        episodes.append(episode)
        if progress is not None:
            progress(taken + 1, steps)
    return columns, episodes


class _Reader:
    """Reads the inputs of one reward off the steps of an environment, with the states that it carries."""

    def __init__(self, reward: Reward, features: Features) -> None:
        self._scoring = Scoring(reward, features, "replace", num_envs=1)
        self._compiled = reward.compile("python")
        fields = reward.program.inputs.items()
        self._rest = {name: make_converter(reward.name, name, field)(field.at_rest) for name, field in fields}
        self.begin()

    def begin(self) -> None:
        """Begin an episode."""
        self._state = self._scoring.reward.initial_state()

    def read(
        self, obs: Any, action: Any, next_obs: Any, info: dict[str, Any], outcomes: tuple[Any, Any, Any]
    ) -> Mapping[str, Any]:
        """Return the inputs of a step by name: numbers, flags, positions of categories."""
        try:
            fields = self._scoring.read_fields(obs, action, next_obs, info, outcomes)
        except PlauditError:
            raise
        except Exception as error:
            raise InputError(f"the features failed on a step: {type(error).__name__}: {error}") from error
        if self._state:
            fields = join_state(self._compiled.program, fields, self._state)
        row = self._compiled.convert_row(fields)
        self._scoring.count_steps(1)
        if self._state:
            self._state = self._compiled.carry(row)
        named = zip(self._compiled.inputs, row, strict=True)
        return {name: value if value == value else self._rest[name] for name, value in named}

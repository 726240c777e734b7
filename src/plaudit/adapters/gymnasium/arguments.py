"""The arguments of wrappers: checks, and their text in the JSON specification of an environment."""

from collections.abc import Mapping, Sequence
from typing import Any, Self, TypedDict

import gymnasium
from gymnasium.envs.registration import load_env_creator
from gymnasium.vector import VectorEnv

from plaudit.adapters.gymnasium.scoring import Features, Mode
from plaudit.errors import DefinitionError
from plaudit.ledger.ledger import Ledger
from plaudit.reward.reward import Reward
from plaudit.reward.task.task import Task
from plaudit.targets import OnBad


class WrapperOptions(TypedDict, total=False):
    """Keyword options of `RewardWrapper`."""

    task: Task | None
    mode: Mode
    on_bad: OnBad
    max_masked: float
    ledger: Ledger | None
    run: str | None
    actor: str | None
    flush_every: float
    sample: float
    num_envs: int | None
    steps_taken: int


def refuse_environment(env: object, arguments: Sequence[Any], options: Mapping[str, Any]) -> None:
    """Raise DefinitionError unless a wrapper is given environments, a reward and features."""
    given = bool(arguments) or "env" in options
    if given and not isinstance(env, gymnasium.Env | VectorEnv):
        raise DefinitionError(_describe_environment(env))
    for at, name in enumerate(("env", "reward", "features")):
        if len(arguments) <= at and name not in options:
            raise DefinitionError(
                f"RewardWrapper needs {name}: RewardWrapper(env, reward, features), where features is a function of "
                "(obs, action, next_obs, info) that returns the reward's inputs by name."
            )


def _describe_environment(env: object) -> str:
    """Return the error message for an object that is not a Gymnasium environment."""
    library = type(env).__module__.partition(".")[0]
    if library == "stable_baselines3":
        return (
            f"env is a {type(env).__name__} of Stable-Baselines3, whose environments must be wrapped one by one, "
            "inside Monitor. Make them with plaudit.adapters.sb3.make_vec_env(env_id, reward, features, n_envs=...)."
        )
    if library == "pettingzoo" or hasattr(env, "possible_agents"):
        return (
            "env is a PettingZoo environment of several agents, and RewardWrapper supports one. Convert it to a "
            "Gymnasium environment of one agent, or of a batch of agents, first."
        )
    if isinstance(env, str):
        return f"env={env!r:.60} is a string; pass the environment itself: gymnasium.make({env!r:.60})."
    return f"env={env!r:.60} is not a Gymnasium environment."


class JsonArgument(str):
    """Text for JSON that stands for a value; a wrapper made in the same process gets the value again."""

    value: Any

    def __new__(cls, text: str, value: Any) -> Self:
        """Let `text` stand for `value`."""
        made = super().__new__(cls, text)
        made.value = value
        return made

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return JsonArgument, (str(self), self.value)


def with_task(reward: Any, task: Task | None) -> Any:
    """Return a reward joined with the task; an object that is not a reward is refused later."""
    return reward._join_task(task) if isinstance(reward, Reward) else reward


def to_json_arguments(reward: Reward, features: Features, ledger: Ledger | None) -> dict[str, JsonArgument | None]:
    """Return the arguments for `spec.to_json()`: the reward's specification, and where to find the rest."""
    place = f"{getattr(features, '__module__', '')}:{getattr(features, '__qualname__', repr(features))}"
    return {
        "reward": JsonArgument(reward.to_json(), reward),
        "features": JsonArgument(place, features),
        "ledger": None if ledger is None else JsonArgument(ledger.name, ledger),
    }


def read_arguments(reward: Any, features: Any, ledger: Any) -> tuple[Reward, Features, Ledger | None]:
    """Return reward, features and ledger, also from a specification; invalid ones are refused later."""
    reward, features, ledger = (
        each.value if isinstance(each, JsonArgument) else each for each in (reward, features, ledger)
    )
    if not isinstance(reward, str):
        return reward, features, ledger
    try:  # the specification was read from JSON
        features = load_env_creator(features)
    except (ImportError, AttributeError, ValueError) as error:
        raise DefinitionError(
            f"features={features!r:.100} cannot be imported ({error}). A specification can only name functions of a "
            "module; wrap the environment yourself."
        ) from None
    return Reward.from_json(reward), features, None if ledger is None else Ledger(ledger)

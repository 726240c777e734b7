"""`observe`: learn a task from an environment that is played, or from steps that were recorded."""

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from plaudit.analysis.probe.probe import validate_counts
from plaudit.errors import WrongType, shorten
from plaudit.ledger.ledger import Ledger
from plaudit.reward.task.task import Task

if TYPE_CHECKING:
    import gymnasium

    from plaudit.checks.seen_steps import SeenSteps

MOST_RECORDED = 200_000
"""Default number of recorded steps to learn from."""


class Observation(NamedTuple):
    """What was observed: the learned task and the steps.

    Example:
        ```python
        task, steps = observe("CartPole-v1")
        check(reward, task=task, steps=steps)
        ```
    """

    task: Task
    steps: "SeenSteps"


def observe(
    env: "gymnasium.Env[Any, Any] | Callable[..., gymnasium.Env[Any, Any]] | str",
    features: Callable[..., Mapping[str, Any]] | None = None,
    *,
    steps: int = 10_000,
    seed: int = 0,
    max_steps: int = 1000,
    idle: Any = None,
    make: Mapping[str, Any] | None = None,
    name: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Observation:
    """Play an environment and learn a task from it: ranges, rates, events, ends and facts, each with a count.

    It plays idle, constant, random and slowly changing actions, and calls only `reset` and `step`. The same seed gives
    the same task.

    Example:
        ```python
        task, steps = observe("CartPole-v1", steps=20_000)
        print(check(reward, task=task, steps=steps))
        ```

    Args:
        env: An environment, a function that makes one, or an environment id: "CartPole-v1".
        features: A function of (obs, action, next_obs, info), and optionally `env`, to fields by name, as for `probe`.
            If omitted, fields are the entries of the observation (`obs_0`, or its own names), numbers and bools of
            `info`, and the action.
        steps: Number of steps to play, over all policies.
        seed: Random seed of the environment and the policies.
        max_steps: Time limit of an episode if the environment sets none.
        idle: The action that does nothing. If omitted, 0 for a Box or MultiBinary action space, and unknown for others.
        make: Options for making the environment: {"gravity": 5}.
        name: Name of the task. If omitted, that of the environment.
        progress: Called with the number of steps played and their total.

    Returns:
        The task and the steps.

    Raises:
        DefinitionError: There is no such environment, the features fail, or an argument is invalid.
        EnvironmentFailed: The environment raised an error.
        NotFinite: The environment or the features returned NaN.
        MissingExtra: Gymnasium is not installed.
    """
    import plaudit.adapters.gymnasium  # noqa: F401  # which says what to install where Gymnasium is not
    from plaudit.analysis.environments import open_environment
    from plaudit.analysis.guard import find_step_limit
    from plaudit.analysis.observe.learn import learn_task
    from plaudit.analysis.observe.play import play

    validate_counts(1, steps=steps, max_steps=max_steps)
    validate_counts(0, seed=seed)
    options = dict(make or {})
    chosen = ", ".join(f"{key}={value}" for key, value in options.items())
    with open_environment(env, options) as (made, found):
        label = f"{found} ({chosen})" if chosen else found
        transitions = play(
            made, label, features, steps=steps, seed=seed, max_steps=max_steps, idle=idle, progress=progress
        )
        limit = find_step_limit(made)
    task = learn_task(transitions, name=name or found)
    if limit is not None and task.horizon is None:  # declared, though no episode got there
        task = task.evolve(horizon=limit, ends={**task.ends, "timeout": "time"})
    return Observation(task, transitions.to_seen_steps())


def observe_ledger(
    ledger: Ledger,
    *,
    steps: int = MOST_RECORDED,
    idle: Any = None,
    name: str | None = None,
    progress: Callable[[int, int], None] | None = None,
    **query: Any,
) -> Observation:
    """Learn a task from recorded episodes.

    Fields are the inputs of the recorded reward. The records say how an episode ended.

    Example:
        ```python
        with Ledger("rewards.db") as ledger:
            task, steps = observe_ledger(ledger, run="night-3")
        ```

    Args:
        ledger: The ledger.
        steps: Approximate maximum number of steps to read; of more, every second, third, … episode is read.
        idle: The action that does nothing. If omitted, 0 for numbers that are not all integers, or False.
        name: Name of the task. If omitted, that of the reward.
        progress: Called with the number of records read and their total.
        query: Which records to read, as for `Ledger.history`: `run="night-3"`.

    Returns:
        The task and the steps.

    Raises:
        NotInLedger: There is no such record.
        InputError: The records have no episodes, or belong to rewards that share no input.
        WrongType: `ledger` is not a Ledger.
    """
    from plaudit.analysis.observe.learn import learn_task
    from plaudit.analysis.observe.recorded import read_ledger

    if not isinstance(ledger, Ledger):
        raise WrongType(f"ledger={shorten(ledger)} is not a Ledger; give Ledger('rewards.db').")
    validate_counts(1, steps=steps)
    transitions, reward = read_ledger(ledger, steps=steps, idle=idle, progress=progress, query=query)
    return Observation(learn_task(transitions, name=name or reward), transitions.to_seen_steps())


def observe_file(
    path: str | os.PathLike[str],
    *,
    action: str = "action",
    idle: Any = None,
    name: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Observation:
    """Learn a task from the steps in a Parquet, CSV or JSON Lines file.

    Each row is a step. Rows of an episode are in order, or have a column `step`. The column `episode` names the
    episode; `terminated` and `truncated`, or `end` with these words, say how it ended. Every other column is a field:
    `x` after the step or, if both are known, `prev.x` and `curr.x`.

    Example:
        ```python
        task, steps = observe_file("steps.parquet", action="throttle")
        ```

    Args:
        path: The file.
        action: The action column, or the start of the names of its entries: `action_0`, `action[0]`.
        idle: The action that does nothing. If omitted, 0 for numbers that are not all integers, or False.
        name: Name of the task. If omitted, that of the file.
        progress: Called with how much was read, and the total.

    Returns:
        The task and the steps.

    Raises:
        FileError: The file cannot be read or is not valid.
        InputError: It has no steps, or no column `episode`.
    """
    from plaudit.analysis.observe.learn import learn_task
    from plaudit.analysis.observe.recorded_files import read_file

    transitions = read_file(os.fspath(path), action=action, idle=idle, progress=progress)
    learnt = learn_task(transitions, name=name or os.path.splitext(os.path.basename(path))[0])
    return Observation(learnt, transitions.to_seen_steps())

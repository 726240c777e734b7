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
"""Recorded steps that are learnt from unless more are asked for."""


class Observation(NamedTuple):
    """What was seen: the task that was learnt of it, and the steps themselves, for `check(reward, task=…, steps=…)`."""

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
    """Play an environment, and learn a task of what is seen: ranges, rates, events, ends, facts, each with a count.

    Doing nothing, constant, random and slowly changing actions are played. Of the environment only `reset` and `step`
    are called. The same seed gives the same task. `task, steps = observe(env)` also has the steps that were played.

    Args:
        env: An environment, a function that makes one, or the id of one: "CartPole-v1".
        features: A function of (obs, action, next_obs, info) to fields by name, and `env` if it takes that too, as for
            `probe`. Unless given, fields are the entries of the observation (`obs_0`, or its own names), numbers and
            bools of `info`, and the action.
        steps: How many steps are played, by all policies together.
        seed: Random seed, of the environment and of the policies.
        max_steps: After how many steps an episode is cut off where the environment itself sets no limit.
        idle: The action that does nothing. Unless given, 0 where actions are numbers that can be anything in between
            (a Box), or switches (a MultiBinary); of others, none is known.
        make: Options for making the environment, where it is not there yet: {"gravity": 5}.
        name: What the task is called; as the environment unless given.
        progress: Called with how many steps were played, and how many there are to play.

    Raises:
        DefinitionError: There is no such environment, the features fail, or an argument is not what it should be.
        EnvironmentFailed: The environment raised an error.
        NotFinite: The environment or the features gave NaN.
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
    """Learn a task of what recorded episodes show; return it and their steps.

    Fields are the inputs of the recorded reward; how an episode ended is what its records say.

    Args:
        ledger: Where the steps are recorded.
        steps: About how many steps are read at most; of more, every second episode, every third, ….
        idle: The action that does nothing. Unless given, 0 of numbers that are not all integers, or False.
        name: What the task is called; as the reward unless given.
        progress: Called with how many records were read, and how many there are.
        query: Which records, as `Ledger.history` takes them: `run="night-3"`.

    Raises:
        NotInLedger: There is no such record.
        InputError: No record says which episode it belongs to, or rewards with nothing in common are recorded.
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
    """Learn a task of what the steps in a file show, Parquet, CSV or JSON lines; return it and the steps.

    A row is a step, and rows of an episode are in order, or have a column `step`. The column `episode` says which
    episode it is, `terminated` and `truncated`, or `end` with these words, how it ended. Every other column is a field:
    `x` as it is after the step or, where both ends are known, `prev.x` and `curr.x`.

    Args:
        path: The file.
        action: The column that is the action, or begins the names of its entries: `action_0`, `action[0]`.
        idle: The action that does nothing. Unless given, 0 of numbers that are not all integers, or False.
        name: What the task is called; as the file unless given.
        progress: Called with how much was read, and how much there is.

    Raises:
        FileError: The file cannot be read, or is not what its format says.
        InputError: It has no steps, or no column `episode`.
    """
    from plaudit.analysis.observe.learn import learn_task
    from plaudit.analysis.observe.recorded_files import read_file

    transitions = read_file(os.fspath(path), action=action, idle=idle, progress=progress)
    learnt = learn_task(transitions, name=name or os.path.splitext(os.path.basename(path))[0])
    return Observation(learnt, transitions.to_seen_steps())

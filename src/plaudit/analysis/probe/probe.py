"""`probe`: is what earns most also what is wanted, in the environment that an agent would be trained in?"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from plaudit.errors import DefinitionError, WrongType, shorten
from plaudit.ledger.ledger import Ledger
from plaudit.reward.reward import Reward
from plaudit.reward.task.task import Task

if TYPE_CHECKING:
    import gymnasium

    from plaudit.analysis.probe.result import Probe
    from plaudit.ledger.history import History

SECONDS = 60.0
"""How long a probe takes unless told otherwise."""


def probe(
    env: "gymnasium.Env[Any, Any] | Callable[[], gymnasium.Env[Any, Any]] | str",
    reward: Reward,
    features: Callable[..., Mapping[str, Any]] | None = None,
    *,
    task: Task | None = None,
    make: Mapping[str, Any] | None = None,
    seconds: float | None = None,
    steps: int | None = None,
    seeds: int = 10,
    seed: int = 0,
    against: Sequence[str] | None = None,
    reference: "Callable[..., Any] | History | Any" = None,
    ledger: Ledger | None = None,
    run: str | None = None,
    max_steps: int = 1000,
    progress: Callable[[int, int], None] | None = None,
) -> "Probe":
    """Play simple policies in an environment, pay them by a reward, and tell whether what earns most is wanted.

    Doing nothing, each constant action, chance, and what a cross-entropy search finds: linear policies and short cycles
    of actions that earn most, and linear policies that are best by the environment's own reward and by the goal. All
    are compared in episodes with the same seeds, which the search has not seen. What earns most is compared with
    everything else; what is found wrong is confirmed in as many other seeds. Ctrl-C ends it with what is known then.

    Args:
        env: An environment, a function that makes one, or the id of one: "CartPole-v1".
        reward: What pays.
        features: A function of (obs, action, next_obs, info) to the reward's inputs by name, and `env` if it takes that
            too. Unless given, an input is the part of the observation or of `info` that has its name, or the action.
        task: What is wanted and what can happen; what only the reward's own task says is kept.
        make: Options for making the environment, where it is not there yet: {"render_mode": None}.
        seconds: About how long it may take; 60 unless `steps` are given.
        steps: About how many steps it may take. With this alone the result is the same for a seed.
        seeds: In how many episodes each policy is compared: `seed`, `seed` + 1, …
        seed: Where seeds begin, and what the search is drawn by.
        against: The measures that the verdict goes by: "native", "goal", names of ends and of fields that say what is
            better. All there are unless given.
        reference: What does as is wanted: a function of an observation, or of an observation and `info`, to an action;
            an object with `predict(observation)`, such as a model of Stable-Baselines3; or episodes that were recorded,
            `ledger.history(run="expert")`, which the reward pays as they were recorded.
        ledger: Where the episodes that are compared are recorded, with the policy as actor.
        run: Under which run; "probe ENV" unless given, and numbered where that is taken.
        max_steps: After how many steps an episode is cut off where the environment itself sets no limit.
        progress: Called with how much of the budget is spent, and of how much.

    Raises:
        DefinitionError: An argument is not what it should be, or there is no simple policy for such actions.
        EnvironmentFailed: The environment raised an error; episodes that were recorded before are kept.
        InputError: A step cannot be scored, the environment gave NaN, or a reference lacks inputs of the reward.
        MissingExtra: Gymnasium is not installed.
    """
    import plaudit.adapters.gymnasium  # noqa: F401  # which says what to install where Gymnasium is not
    from plaudit.analysis.environments import open_environment
    from plaudit.analysis.probe.run import ProbeRun
    from plaudit.analysis.probe.search import FIRST_SEARCH_SEED

    if not isinstance(reward, Reward):
        raise DefinitionError(f"probe takes a Reward, and {shorten(reward)} is none.")
    reward = reward._join_task(task)
    if ledger is not None and not isinstance(ledger, Ledger):
        raise WrongType(f"ledger={shorten(ledger)} is not a Ledger; give Ledger('rewards.db').")
    validate_counts(1, seeds=seeds, max_steps=max_steps, **({} if steps is None else {"steps": steps}))
    validate_counts(0, seed=seed)
    if seed + 2 * seeds > FIRST_SEARCH_SEED:
        raise DefinitionError(f"seed={seed} and the {2 * seeds} after it must be below {FIRST_SEARCH_SEED:,}.")
    if seconds is None and steps is None:
        seconds = SECONDS
    if seconds is not None and not seconds > 0:
        raise DefinitionError(f"seconds={seconds!r:.60} must be above 0.")
    with open_environment(env, make or {}) as (made, name):
        job = ProbeRun(
            made, reward, features, name=name, ledger=ledger, run=run, max_steps=max_steps, reference=reference
        )
        return job.run(seconds=seconds, steps=steps, seeds=seeds, seed=seed, against=against, progress=progress)


def validate_counts(least: int, **counts: object) -> None:
    """Refuse arguments that are not integers from `least` up."""
    for name, count in counts.items():
        if isinstance(count, bool) or not isinstance(count, int) or count < least:
            raise DefinitionError(f"{name}={count!r:.60} must be an integer from {least} up.")

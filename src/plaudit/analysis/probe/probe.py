"""`probe`: does the best-paid policy meet the objective, in the environment that an agent would be trained in?"""

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
"""Default time budget of a probe."""


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
    """Play simple policies in an environment, score them with a reward, and report whether the best-paid one is wanted.

    It plays doing nothing, each constant action, random actions, and the results of a cross-entropy search: linear
    policies and short action cycles that earn most, and linear policies that are best by the environment's own reward
    and by the goal. All are compared on the same seeds, which the search has not seen. A problem is confirmed on as
    many new seeds. Ctrl-C ends the probe with the results so far.

    Example:
        ```python
        found = probe("CartPole-v1", reward, seconds=30)
        print(found)                     # the verdict, a table of policies, the findings
        ```

    Args:
        env: An environment, a function that makes one, or an environment id: "CartPole-v1".
        reward: The reward that scores the policies.
        features: A function of (obs, action, next_obs, info), and optionally `env`, to the reward's inputs by name. If
            omitted, an input is the part of the observation or of `info` of that name, or the action.
        task: The task to add to the reward's own.
        make: Options for making the environment: {"render_mode": None}.
        seconds: Approximate time budget.  [default: 60, unless `steps` is given]
        steps: Approximate budget in steps. With this alone the result is reproducible.
        seeds: Number of episodes per policy, with the seeds `seed`, `seed` + 1, …
        seed: First seed, and random seed of the search.
        against: Measures that decide the verdict: "native", "goal", names of ends and of `better=` or `aim=` fields. If
            omitted, all of them.
        reference: A policy that does what is wanted: a function of an observation, or of an observation and `info`, to
            an action; an object with `predict(observation)`, such as a Stable-Baselines3 model; or recorded episodes,
            `ledger.history(run="expert")`, which the reward scores as recorded.
        ledger: A ledger to record the compared episodes in, with the policy as actor.
        run: Name of the run in the ledger. If omitted, "probe ENV", with a number if that exists.
        max_steps: Time limit of an episode if the environment sets none.
        progress: Called with how much of the budget is spent, and its total.

    Returns:
        The policies, the verdict and the findings.

    Raises:
        DefinitionError: An argument is invalid, or the action space is not supported.
        EnvironmentFailed: The environment raised an error; episodes recorded before are kept.
        InputError: A step cannot be scored, the environment returned NaN, or a reference lacks inputs of the reward.
        MissingExtra: Gymnasium is not installed.
        WrongType: `ledger` is not a Ledger.
    """
    import plaudit.adapters.gymnasium  # noqa: F401  # which says what to install where Gymnasium is not
    from plaudit.analysis.environments import open_environment
    from plaudit.analysis.probe.run import ProbeRun
    from plaudit.analysis.probe.search import FIRST_SEARCH_SEED

    if not isinstance(reward, Reward):
        raise DefinitionError(f"probe takes a Reward, but got {shorten(reward)}.")
    reward = reward._join_task(task)
    if ledger is not None and not isinstance(ledger, Ledger):
        raise WrongType(f"ledger={shorten(ledger)} is not a Ledger; give Ledger('rewards.db').")
    validate_counts(1, seeds=seeds, max_steps=max_steps, **({} if steps is None else {"steps": steps}))
    validate_counts(0, seed=seed)
    if seed + 2 * seeds > FIRST_SEARCH_SEED:
        raise DefinitionError(f"seed={seed} and the {2 * seeds} seeds after it must be below {FIRST_SEARCH_SEED:,}.")
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
            raise DefinitionError(f"{name}={count!r:.60} must be an integer of at least {least}.")

"""`plaudit probe`: what earns most in an environment, and whether you want that."""

import json
from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import click

from plaudit.cli._support.environments import (
    budget_option,
    find_environment,
    find_features,
    find_reference,
    make_option,
    parse_option,
)
from plaudit.cli._support.options import apply_task, task_option, tune, tuning_options
from plaudit.plugins.arguments import find_reward, open_ledger_to_write
from plaudit.plugins.options import COUNT
from plaudit.terminal import ExitCode, show_progress

if TYPE_CHECKING:
    from plaudit.analysis import Probe


@click.command(epilog="Example: plaudit probe balance.py CartPole-v1 --budget 2m --ledger probe.db")
@click.argument("reward")
@click.argument("env")
@click.option(
    "--features",
    metavar="FILE.py:NAME",
    help="Function from a step to the reward's inputs.  [default: `features` beside the reward]",
)
@budget_option()
@click.option("--seeds", metavar="COUNT", type=COUNT, default=10, show_default=True, help="Episodes per policy.")
@click.option(
    "--seed",
    metavar="NUMBER",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Random seed of the first episode.",
)
@click.option(
    "--max-steps",
    metavar="COUNT",
    type=COUNT,
    default=1000,
    show_default=True,
    help="Maximum steps per episode if ENV has no time limit.",
)
@click.option(
    "--against",
    metavar="NAME",
    multiple=True,
    help="Measure to judge by: native, goal or a field of `better`; can be repeated.  [default: all]",
)
@click.option(
    "--reference",
    metavar="POLICY|LEDGER#RUN",
    help="What you want: a policy FILE.py:NAME (a function of an observation and optionally info, or an object with "
    "predict()), or recorded episodes LEDGER#run or LEDGER#run/actor.",
)
@make_option()
@task_option()
@tuning_options()
@click.option(
    "--ledger", "where", metavar="LEDGER", help="Record the compared episodes in this ledger, new or existing."
)
@click.option("--run", metavar="TEXT", help="With --ledger: name of the run; numbered if it exists.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def probe(
    reward: str,
    env: str,
    features: str | None,
    budget: dict[str, Any],
    seeds: int,
    seed: int,
    max_steps: int,
    against: Sequence[str],
    reference: str | None,
    options: Sequence[str],
    task: str | None,
    settings: Sequence[str],
    params: str | None,
    where: str | None,
    run: str | None,
    as_json: bool,
) -> None:
    """Find what earns most in an environment.

    Plays ENV with baseline policies (no-op, each constant action, random) and policies found by search, paid by
    REWARD, and ranks them. Beside their returns it shows the environment's own reward, the goal, the ends and the
    fields of `better`. If a policy other than the one that earns most is clearly better by such a measure, that is a
    finding, with episodes that show it. If search cannot do the task, name a policy that can with --reference. Ctrl-C
    prints the results so far.

    ENV is the id of a Gymnasium environment, or file.py:Name or package.module:Name of a class, function or instance.

    Exit code: 0 if what earns most is also what you want, 1 if there are warnings, 2 if ENV or the reference cannot
    be played or fails, 3 if undecided: the report says why.
    """
    if run is not None and where is None:
        raise click.UsageError("--run names a run in a ledger; name the ledger with --ledger.")
    paying = apply_task(tune(find_reward(reward), params, settings), task)
    chosen = {"seeds": seeds, "seed": seed, "max_steps": max_steps, "against": against or None, **budget}
    with ExitStack() as stack:
        ledger = None if where is None else stack.enter_context(open_ledger_to_write(where, new=True))
        wanted = None if reference is None else find_reference(reference, stack)
        found = _probe(
            find_environment(env),
            paying,
            find_features(features, reward),
            make=dict(map(parse_option, options)),
            ledger=ledger,
            run=run,
            reference=wanted,
            **chosen,
        )
    click.echo(json.dumps(found.to_dict(), indent=2) if as_json else str(found))
    if found.interrupted:
        raise click.exceptions.Exit(ExitCode.INTERRUPTED)
    if not found.ok:
        raise click.exceptions.Exit(ExitCode.FOUND)
    if found.verdict.answer == "undecided":
        raise click.exceptions.Exit(ExitCode.INCOMPLETE)


def _probe(env: Any, reward: Any, features: Any, **options: Any) -> "Probe":
    from plaudit.analysis import probe as play

    with show_progress("probing") as progress:
        return play(env, reward, features, progress=progress, **options)

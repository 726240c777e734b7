"""`plaudit run apex`: agents write code together, and a controller decides how they talk."""

import click

from plaudit.cli.naming import named

_COUNT = click.IntRange(min=1)


@click.command(epilog="Example: plaudit run apex --seed 7 --out runs/apex")
@click.option("--seed", metavar="NUMBER", type=click.IntRange(0, 2**32 - 1), help="What chance depends on; 7 at first.")
@click.option(
    "--episodes", metavar="COUNT", type=_COUNT, default=1, show_default=True, help="Episodes, one learner for all."
)
@click.option(
    "--budget", metavar="TOKENS", type=_COUNT, default=10_000, show_default=True, help="Tokens of an episode."
)
@click.option(
    "--steps", metavar="COUNT", type=_COUNT, default=60, show_default=True, help="Steps of an episode at most."
)
@click.option(
    "-o",
    "--out",
    metavar="FOLDER",
    callback=named,
    help="Keep logs, rewards and learner there, or go on with those there.",
)
@click.option("--messages", is_flag=True, help="Show what the agents said.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as one JSON object, but for times.")
def apex(
    seed: int | None, episodes: int, budget: int, steps: int, out: str | None, messages: bool, as_json: bool
) -> None:
    """Let four agents write a small module whose tests fail at first.

    A planner, a coder, a runner and a critic send real messages, edit a real project and run its real tests with
    pytest; only what they say is scripted. At every step the controller decides whether they talk through the planner
    (star), down a line (chain) or freely (flat), and learns from what the step earned. The same seed gives the same
    run.
    """
    import asyncio

    from plaudit.cli.errors import terminable
    from plaudit.cli.run.apex_prints import print_json, print_run, progress
    from plaudit.cli.run.folder import stoppable
    from plaudit.systems.apex.coding import coding_run

    with terminable(), stoppable(out), progress() as told:
        found = asyncio.run(coding_run(episodes, out=out, seed=seed, budget=budget, most=steps, told=told))
    if as_json:
        print_json(found)
    else:
        print_run(found, out, messages=messages)

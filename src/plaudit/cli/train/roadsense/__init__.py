"""`plaudit train roadsense`: a policy that learns to follow a convoy, and a report on how it drives."""

from typing import Any

import click

from plaudit.cli.naming import named

_EXAMPLE = "Example: plaudit train roadsense --reward R8 --steps 300_000 --seed 0 --out runs/r8-0"
_COUNT = click.IntRange(min=1)


@click.command(epilog=_EXAMPLE)
@click.option(
    "-o",
    "--out",
    metavar="DIR",
    callback=named,
    help="The folder of the run; runs/roadsense-VERSION-SEED if not given.",
)
@click.option("--resume", is_flag=True, help="Go on with the run in --out, where its checkpoint is.")
@click.option("--reward", metavar="VERSION", help="What pays: a version, or a REWARD of your own that reads the same.")
@click.option("--steps", metavar="COUNT", type=_COUNT, help="Steps of the whole run, over all convoys.  [300_000]")
@click.option("--envs", metavar="COUNT", type=_COUNT, help="Convoys side by side, each on a SUMO of its own.  [4]")
@click.option(
    "--actions",
    type=click.Choice(["discrete", "continuous"]),
    help="The four actions of the seed, or braking by degrees; by what the reward reads if not given.",
)
@click.option(
    "--radio",
    type=click.Choice(["ideal", "default", "bench", "field"]),
    help="What cars hear of one another: everything, or what a measured radio lets through.  [ideal]",
)
@click.option("--hazards", metavar="SHARE", type=float, help="The share of episodes in which a car ahead brakes.")
@click.option("--rollout", metavar="COUNT", type=_COUNT, help="Steps of all convoys between two updates.")
@click.option("--epochs", metavar="COUNT", type=_COUNT, help="How often an update goes through its batch.")
@click.option("--minibatch", metavar="COUNT", type=_COUNT, help="Steps that one step of the optimizer sees.")
@click.option("--lr", "learning_rate", metavar="RATE", type=float, help="The learning rate.")
@click.option("--entropy", metavar="WEIGHT", type=float, help="The weight of the policy's entropy.")
@click.option("--gamma", metavar="FACTOR", type=float, help="What a reward one step later is worth.")
@click.option("--log-std", metavar="NUMBER", type=float, help="How widely continuous actions are tried at first.")
@click.option("--normalise/--no-normalise", default=None, help="Scale rewards by the deviation of returns, or do not.")
@click.option(
    "--limit", metavar="COUNT", type=_COUNT, help="Cut an episode of training off after so many steps.  [400]"
)
@click.option("--threads", metavar="COUNT", type=_COUNT, help="Threads of PyTorch.  [1]")
@click.option("--seed", metavar="NUMBER", type=click.IntRange(0, 2**32 - 1), help="What all chance depends on.")
@click.option(
    "--episodes",
    metavar="COUNT",
    type=_COUNT,
    default=4,
    show_default=True,
    help="Episodes in which the trained policy is evaluated, for each of 15 kinds of convoy.",
)
@click.option("--baselines", is_flag=True, help="Evaluate policies that need no training too, to compare with.")
@click.option("--save-every", metavar="COUNT", type=_COUNT, help="Updates between two checkpoints.")
@click.option("--ledger", metavar="LEDGER", callback=named, help="Record the steps of some evaluated episodes there.")
@click.option("--tensorboard/--no-tensorboard", default=True, help="Write curves for TensorBoard, or do not.")
@click.option("--quiet", is_flag=True, help="Show no progress.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON for a script.")
def roadsense(
    out: str | None,
    resume: bool,
    reward: str | None,
    episodes: int,
    baselines: bool,
    save_every: int | None,
    ledger: str | None,
    tensorboard: bool,
    quiet: bool,
    as_json: bool,
    **settings: Any,
) -> None:
    """Train a policy to follow a convoy on SUMO with PPO, and report how it drives.

    The folder of a run holds a line of figures for each update (log.jsonl), curves for TensorBoard, the newest
    checkpoint, the policy alone, and at the end a report (report.json). Ctrl-C ends a run after the update that it is
    in and keeps it; --resume goes on, with the settings it began with. Episodes that were under way begin anew.

    The report is on convoys of one to five peers and every rank of the car that brakes: collisions, reactions,
    distances, and what each term gave.

    The exit code is 0 if the run is complete, 130 if it was stopped, 2 if it could not be done.
    """
    from plaudit.cli.train.job import Job
    from plaudit.cli.train.roadsense.job import trained

    if resume and out is None:
        raise click.UsageError("--resume needs the folder of the run: --out DIR.")
    given = {name: value for name, value in settings.items() if value is not None}
    trained(
        Job(
            out=out,
            resume=resume,
            reward=reward,
            settings=given,
            episodes=episodes,
            baselines=baselines,
            save_every=save_every,
            ledger=ledger,
            tensorboard=tensorboard,
            quiet=quiet,
            as_json=as_json,
        )
    )

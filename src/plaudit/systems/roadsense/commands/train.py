"""`plaudit train roadsense`: a policy that learns to follow a convoy, and a report on how it drives."""

import click

from plaudit.plugins.options import COUNT, TrainingJob, evaluation_options, run_options

_EXAMPLE = "Example: plaudit train roadsense --reward R8 --steps 300_000 --seed 0 --output runs/r8-0"


@click.command("roadsense", epilog=_EXAMPLE)
@run_options("roadsense")
@click.option("--steps", metavar="COUNT", type=COUNT, help="Steps of the whole run, over all convoys.  [300_000]")
@click.option("--envs", metavar="COUNT", type=COUNT, help="Convoys side by side, each on a SUMO of its own.  [4]")
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
@click.option("--rollout", metavar="COUNT", type=COUNT, help="Steps of all convoys between two updates.")
@click.option("--epochs", metavar="COUNT", type=COUNT, help="How often an update goes through its batch.")
@click.option("--minibatch", metavar="COUNT", type=COUNT, help="Steps that one step of the optimizer sees.")
@click.option("--lr", "learning_rate", metavar="RATE", type=float, help="The learning rate.")
@click.option("--entropy", metavar="WEIGHT", type=float, help="The weight of the policy's entropy.")
@click.option("--gamma", metavar="FACTOR", type=float, help="What a reward one step later is worth.")
@click.option("--log-std", metavar="NUMBER", type=float, help="How widely continuous actions are tried at first.")
@click.option("--normalise/--no-normalise", default=None, help="Scale rewards by the deviation of returns, or do not.")
@click.option("--limit", metavar="COUNT", type=COUNT, help="Cut an episode of training off after so many steps.  [400]")
@click.option("--threads", metavar="COUNT", type=COUNT, help="Threads of PyTorch.  [1]")
@evaluation_options(episodes=4, each=", for each of 15 kinds of convoy", baselines="policies that need no training")
def train(job: TrainingJob) -> None:
    """Train a policy to follow a convoy on SUMO with PPO, and report how it drives.

    The folder of a run holds a line of figures for each update (log.jsonl), curves for TensorBoard, the newest
    checkpoint, the policy alone, and at the end a report (report.json). Ctrl-C ends a run after the update that it is
    in and keeps it; --resume goes on, with the settings it began with. Episodes that were under way begin anew.

    The report is on convoys of one to five peers and every rank of the car that brakes: collisions, reactions,
    distances, and what each term gave.

    The exit code is 0 if the run is complete, 2 if it could not be done, 130 if it was stopped.
    """
    from plaudit.systems.roadsense.commands.training_run import run_training

    run_training(job)

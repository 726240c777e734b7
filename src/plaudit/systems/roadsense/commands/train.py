"""`plaudit train roadsense`: train a policy to follow a convoy, and report how it drives."""

import click

from plaudit.plugins.options import COUNT, TrainingJob, evaluation_options, run_options

_EXAMPLE = "Example: plaudit train roadsense --reward R8 --steps 300_000 --seed 0 --output runs/r8-0"


@click.command("roadsense", epilog=_EXAMPLE)
@run_options("roadsense")
@click.option("--steps", metavar="COUNT", type=COUNT, help="Total training steps over all convoys.  [default: 300_000]")
@click.option(
    "--envs", metavar="COUNT", type=COUNT, help="Parallel convoys, each in its own SUMO process.  [default: 4]"
)
@click.option(
    "--actions",
    type=click.Choice(["discrete", "continuous"]),
    help="Four discrete actions, or continuous braking.  [default: by the reward's inputs]",
)
@click.option(
    "--radio",
    type=click.Choice(["ideal", "default", "bench", "field"]),
    help="Radio model: lossless, or with measured losses.  [default: ideal]",
)
@click.option("--hazards", metavar="SHARE", type=float, help="Share of episodes in which a car ahead brakes.")
@click.option("--rollout", metavar="COUNT", type=COUNT, help="Steps per update, over all convoys.")
@click.option("--epochs", metavar="COUNT", type=COUNT, help="Epochs per update.")
@click.option("--minibatch", metavar="COUNT", type=COUNT, help="Minibatch size.")
@click.option("--lr", "learning_rate", metavar="RATE", type=float, help="Learning rate.")
@click.option("--entropy", metavar="WEIGHT", type=float, help="Entropy coefficient.")
@click.option("--gamma", metavar="FACTOR", type=float, help="Discount factor.")
@click.option("--log-std", metavar="NUMBER", type=float, help="Initial log standard deviation of continuous actions.")
@click.option("--normalise/--no-normalise", default=None, help="Scale rewards by the standard deviation of returns.")
@click.option(
    "--limit", metavar="COUNT", type=COUNT, help="Time limit of a training episode, in steps.  [default: 400]"
)
@click.option("--threads", metavar="COUNT", type=COUNT, help="PyTorch threads.  [default: 1]")
@evaluation_options(episodes=4, each=", for each of 15 kinds of convoy", baselines="policies without training")
def train(job: TrainingJob) -> None:
    """Train a policy to follow a convoy with PPO.

    It drives on SUMO. The folder of a run holds metrics of each update (log.jsonl), TensorBoard logs, the latest
    checkpoint, the policy, and at the end a report (report.json). Ctrl-C stops a run after the current update and
    keeps it; --resume continues it with the same settings. Unfinished episodes restart.

    The report covers convoys of one to five peers and every position of the braking car: collisions, reactions,
    distances, and the value of each term.

    Exit code: 0 if the run is complete, 2 if it failed, 130 if it was stopped.
    """
    from plaudit.systems.roadsense.commands.training_run import run_training

    run_training(job)

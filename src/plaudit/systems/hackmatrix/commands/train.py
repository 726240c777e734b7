"""`plaudit train hackmatrix`: train an agent on the game, and report how well it plays."""

from dataclasses import replace

import click

from plaudit.plugins.options import COUNT, TrainingJob, evaluation_options, run_options

_EXAMPLE = "Example: plaudit train hackmatrix --envs 256 --steps 5_000_000 --reward potential --output runs/first"


@click.command("hackmatrix", epilog=_EXAMPLE)
@run_options("hackmatrix")
@click.option(
    "--preset", type=click.Choice(["cpu", "gpu"]), help="Settings for a kind of machine.  [default: this machine]"
)
@click.option("--steps", metavar="COUNT", type=COUNT, help="Total training steps over all games.")
@click.option("--envs", metavar="COUNT", type=COUNT, help="Parallel games.")
@click.option("--rollout", metavar="COUNT", type=COUNT, help="Steps per game and update.")
@click.option("--epochs", metavar="COUNT", type=COUNT, help="Epochs per update.")
@click.option("--minibatches", metavar="COUNT", type=COUNT, help="Minibatches per epoch.")
@click.option("--lr", "learning_rate", metavar="RATE", type=float, help="Initial learning rate.")
@click.option("--decay/--no-decay", default=None, help="Decay the learning rate linearly to 0.")
@click.option("--entropy", metavar="WEIGHT", type=float, help="Entropy coefficient.")
@click.option("--entropy-end", metavar="WEIGHT", type=float, help="Entropy coefficient at the end of the run.")
@click.option("--gamma", metavar="FACTOR", type=float, help="Discount factor.")
@click.option("--precision", type=click.Choice(["float32", "bfloat16"]), help="Precision of matrix products.")
@click.option("--max-steps", metavar="COUNT", type=COUNT, help="Time limit of a training episode, in steps.")
@click.option(
    "--view", type=click.Choice(["board", "player"]), help="Observation: the whole board, or centered on the player."
)
@click.option("--hidden", metavar="WIDTHS", help="Widths of the hidden layers, such as 256,256.")
@evaluation_options(episodes=1000, each="", baselines="scripted and random policies")
def train(job: TrainingJob) -> None:
    """Train an agent on the tactical game with PPO.

    The folder of a run holds metrics of each update (log.jsonl), TensorBoard logs, the latest checkpoint, the policy,
    and at the end a report (report.json). Ctrl-C stops a run after the current update and keeps it; --resume
    continues it with the same settings and gives the same numbers.

    The policy is always also evaluated with the standard reward, so that runs can be compared.

    Exit code: 0 if the run is complete, 2 if it failed, 130 if it was stopped.
    """
    from plaudit.systems.hackmatrix.commands.training_run import run_training

    settings = dict(job.settings)
    preset = settings.pop("preset", None)
    if "hidden" in settings:
        settings["hidden"] = _parse_widths(settings["hidden"])
    if job.resume and preset:
        raise click.UsageError("--resume keeps the settings of the run; --preset is for a new run.")
    run_training(replace(job, settings=settings), preset)


def _parse_widths(text: str) -> tuple[int, ...]:
    """Return the widths of layers in a text.

    >>> _parse_widths("256,128")
    (256, 128)
    """
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise click.BadParameter(f"--hidden {text}: write integers separated by commas, as in 256,256.") from None

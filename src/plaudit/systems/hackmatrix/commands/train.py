"""`plaudit train hackmatrix`: an agent that learns the game, and a report on how well."""

from dataclasses import replace

import click

from plaudit.plugins.options import COUNT, TrainingJob, evaluation_options, run_options

_EXAMPLE = "Example: plaudit train hackmatrix --envs 256 --steps 5_000_000 --reward potential --output runs/first"


@click.command("hackmatrix", epilog=_EXAMPLE)
@run_options("hackmatrix")
@click.option("--preset", type=click.Choice(["cpu", "gpu"]), help="Settings for a machine; this one's if not given.")
@click.option("--steps", metavar="COUNT", type=COUNT, help="Steps of the whole run, over all games.")
@click.option("--envs", metavar="COUNT", type=COUNT, help="Games played at once.")
@click.option("--rollout", metavar="COUNT", type=COUNT, help="Steps of each game between two updates.")
@click.option("--epochs", metavar="COUNT", type=COUNT, help="How often an update goes through its batch.")
@click.option("--minibatches", metavar="COUNT", type=COUNT, help="Into how many parts a batch is cut.")
@click.option("--lr", "learning_rate", metavar="RATE", type=float, help="The learning rate at the start.")
@click.option("--decay/--no-decay", default=None, help="Let the learning rate fall to 0 along the run, or keep it.")
@click.option("--entropy", metavar="WEIGHT", type=float, help="The weight of the policy's entropy.")
@click.option("--entropy-end", metavar="WEIGHT", type=float, help="The same at the end of the run.")
@click.option("--gamma", metavar="FACTOR", type=float, help="What a reward one step later is worth.")
@click.option("--precision", type=click.Choice(["float32", "bfloat16"]), help="What matrices are multiplied in.")
@click.option("--max-steps", metavar="COUNT", type=COUNT, help="Cut an episode off after so many steps.")
@click.option("--view", type=click.Choice(["board", "player"]), help="The board as it is, or around the player.")
@click.option("--hidden", metavar="WIDTHS", help="The widths of the hidden layers, as in 256,256.")
@evaluation_options(episodes=1000, each="", baselines="a script and random policies")
def train(job: TrainingJob) -> None:
    """Train an agent on the tactical game with PPO, and report how well it plays.

    The folder of a run holds a line of figures for each update (log.jsonl), curves for TensorBoard, the newest
    checkpoint, the policy alone, and at the end a report (report.json). Ctrl-C ends a run after the update that it is
    in and keeps it; --resume goes on, with the settings it began with, and comes to the same numbers.

    Whatever reward was trained on, the policy is evaluated by the standard one, so that runs compare.

    The exit code is 0 if the run is complete, 2 if it could not be done, 130 if it was stopped.
    """
    from plaudit.systems.hackmatrix.commands.training_run import run_training

    settings = dict(job.settings)
    preset = settings.pop("preset", None)
    if "hidden" in settings:
        settings["hidden"] = _parse_widths(settings["hidden"])
    if job.resume and preset:
        raise click.UsageError("--resume goes on with the settings of the run; --preset is for a new one.")
    run_training(replace(job, settings=settings), preset)


def _parse_widths(text: str) -> tuple[int, ...]:
    """Return the widths of layers that a text lists.

    >>> _parse_widths("256,128")
    (256, 128)
    """
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise click.BadParameter(f"--hidden {text}: write integers with commas between, as in 256,256.") from None

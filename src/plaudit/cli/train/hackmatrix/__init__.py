"""`plaudit train hackmatrix`: an agent that learns the game, and a report on how well."""

from typing import Any

import click

from plaudit.cli.naming import named

_EXAMPLE = "Example: plaudit train hackmatrix --envs 256 --steps 5_000_000 --reward potential --out runs/first"
_COUNT = click.IntRange(min=1)


@click.command(epilog=_EXAMPLE)
@click.option(
    "-o",
    "--out",
    metavar="DIR",
    callback=named,
    help="The folder of the run; runs/hackmatrix-VERSION-SEED if not given.",
)
@click.option("--resume", is_flag=True, help="Go on with the run in --out, where its checkpoint is.")
@click.option("--preset", type=click.Choice(["cpu", "gpu"]), help="Settings for a machine; this one's if not given.")
@click.option("--reward", metavar="VERSION", help="What pays: a version, or a REWARD of your own that reads the same.")
@click.option("--steps", metavar="COUNT", type=_COUNT, help="Steps of the whole run, over all games.")
@click.option("--envs", metavar="COUNT", type=_COUNT, help="Games played at once.")
@click.option("--rollout", metavar="COUNT", type=_COUNT, help="Steps of each game between two updates.")
@click.option("--epochs", metavar="COUNT", type=_COUNT, help="How often an update goes through its batch.")
@click.option("--minibatches", metavar="COUNT", type=_COUNT, help="Into how many parts a batch is cut.")
@click.option("--lr", "learning_rate", metavar="RATE", type=float, help="The learning rate at the start.")
@click.option("--decay/--no-decay", default=None, help="Let the learning rate fall to 0 along the run, or keep it.")
@click.option("--entropy", metavar="WEIGHT", type=float, help="The weight of the policy's entropy.")
@click.option("--entropy-end", metavar="WEIGHT", type=float, help="The same at the end of the run.")
@click.option("--gamma", metavar="FACTOR", type=float, help="What a reward one step later is worth.")
@click.option("--precision", type=click.Choice(["float32", "bfloat16"]), help="What matrices are multiplied in.")
@click.option("--max-steps", metavar="COUNT", type=_COUNT, help="Cut an episode off after so many steps.")
@click.option("--view", type=click.Choice(["board", "player"]), help="The board as it is, or around the player.")
@click.option("--hidden", metavar="WIDTHS", help="The widths of the hidden layers, as in 256,256.")
@click.option("--seed", metavar="NUMBER", type=click.IntRange(0, 2**32 - 1), help="What all chance depends on.")
@click.option(
    "--episodes",
    metavar="COUNT",
    type=_COUNT,
    default=1000,
    show_default=True,
    help="Episodes in which the trained policy is evaluated.",
)
@click.option("--baselines", is_flag=True, help="Evaluate a script and random policies too, to compare with.")
@click.option("--save-every", metavar="COUNT", type=_COUNT, help="Updates between two checkpoints.")
@click.option("--ledger", metavar="LEDGER", callback=named, help="Record the steps of some evaluated episodes there.")
@click.option("--tensorboard/--no-tensorboard", default=True, help="Write curves for TensorBoard, or do not.")
@click.option("--quiet", is_flag=True, help="Show no progress.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON for a script.")
def hackmatrix(
    out: str | None,
    resume: bool,
    preset: str | None,
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
    """Train an agent on the tactical game with PPO, and report how well it plays.

    The folder of a run holds a line of figures for each update (log.jsonl), curves for TensorBoard, the newest
    checkpoint, the policy alone, and at the end a report (report.json). Ctrl-C ends a run after the update that it is
    in and keeps it; --resume goes on, with the settings it began with, and comes to the same numbers.

    Whatever reward was trained on, the policy is evaluated by the standard one, so that runs compare.

    The exit code is 0 if the run is complete, 130 if it was stopped, 2 if it could not be done.
    """
    from plaudit.cli.train.hackmatrix.job import GameJob, trained

    given = {name: value for name, value in settings.items() if value is not None}
    if "hidden" in given:
        given["hidden"] = _widths(given["hidden"])
    if resume and preset:
        raise click.UsageError("--resume goes on with the settings of the run; --preset is for a new one.")
    if resume and out is None:
        raise click.UsageError("--resume needs the folder of the run: --out DIR.")
    trained(
        GameJob(
            out=out,
            resume=resume,
            preset=preset,
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


def _widths(text: str) -> tuple[int, ...]:
    """Return the widths of layers that a text lists.

    >>> _widths("256,128")
    (256, 128)
    """
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise click.BadParameter(f"--hidden {text}: write whole numbers with commas between, as in 256,256.") from None

"""What is asked of a training run, whatever the game: the options that all of them have."""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import click

from plaudit.cli.naming import named

COUNT = click.IntRange(min=1)

Command = Callable[..., None]


@dataclass(frozen=True, kw_only=True)
class Job:
    """What is asked for."""

    out: str | None
    resume: bool
    reward: str | None
    settings: Mapping[str, Any]
    episodes: int
    baselines: bool
    save_every: int | None
    ledger: str | None
    tensorboard: bool
    quiet: bool
    as_json: bool


def run_options(game: str) -> Callable[[Command], Command]:
    """Return what gives a command the options that name a run, and hands it a Job with all others as settings.

    It is the first decorator of a command, so that these options come first; `evaluation_options` is the last one.
    """

    def decorated(command: Command) -> Command:
        @functools.wraps(command)
        def asked(
            *,
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
            **others: Any,
        ) -> None:
            if resume and out is None:
                raise click.UsageError("--resume needs the folder of the run: --out DIR.")
            job = Job(
                out=out,
                resume=resume,
                reward=reward,
                settings={name: value for name, value in others.items() if value is not None},
                episodes=episodes,
                baselines=baselines,
                save_every=save_every,
                ledger=ledger,
                tensorboard=tensorboard,
                quiet=quiet,
                as_json=as_json,
            )
            command(job)

        what_pays = "What pays: a version, or a REWARD of your own that reads the same."
        return _with(
            asked,
            click.option(
                "-o",
                "--out",
                metavar="DIR",
                callback=named,
                help=f"The folder of the run; runs/{game}-VERSION-SEED if not given.",
            ),
            click.option("--resume", is_flag=True, help="Go on with the run in --out, where its checkpoint is."),
            click.option("--reward", metavar="VERSION", help=what_pays),
        )

    return decorated


def evaluation_options(*, episodes: int, each: str, baselines: str) -> Callable[[Command], Command]:
    """Return what gives a command the options on how a run is judged, kept and shown.

    `episodes` is how many there are if not given, `each` what of, and `baselines` what else is evaluated.
    """
    judged = f"Episodes in which the trained policy is evaluated{each}."

    def decorated(command: Command) -> Command:
        return _with(
            command,
            click.option(
                "--seed", metavar="NUMBER", type=click.IntRange(0, 2**32 - 1), help="What all chance depends on."
            ),
            click.option("--episodes", metavar="COUNT", type=COUNT, default=episodes, show_default=True, help=judged),
            click.option("--baselines", is_flag=True, help=f"Evaluate {baselines} too, to compare with."),
            click.option("--save-every", metavar="COUNT", type=COUNT, help="Updates between two checkpoints."),
            click.option(
                "--ledger", metavar="LEDGER", callback=named, help="Record the steps of some evaluated episodes there."
            ),
            click.option(
                "--tensorboard/--no-tensorboard", default=True, help="Write curves for TensorBoard, or do not."
            ),
            click.option("--quiet", is_flag=True, help="Show no progress."),
            click.option("--json", "as_json", is_flag=True, help="Print the report as JSON for a script."),
        )

    return decorated


def _with(command: Command, *options: Callable[[Command], Command]) -> Command:
    """Return a command with options, in this order."""
    for option in reversed(options):
        command = option(command)
    return command

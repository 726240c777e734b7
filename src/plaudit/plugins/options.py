"""What the commands of systems share: options, those of a training run among them, and what is said at Ctrl-C."""

import functools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import click

from plaudit.errors import MissingExtra

__all__ = ["evaluation_options", "output_option", "run_options"]

COUNT = click.IntRange(min=1)
SEED = click.IntRange(0, 2**32 - 1)

Command = TypeVar("Command", bound=Callable[..., Any])


def refuse_empty(context: click.Context, option: click.Parameter, value: str | None) -> str | None:
    """Refuse a name that is empty: a variable of the shell was."""
    if value is not None and not value.strip():
        raise click.BadParameter("it is empty; give a name, or leave the option out.")
    return value


@contextmanager
def explain_interrupt(kept: str) -> Iterator[None]:
    """Say at Ctrl-C what is kept."""
    try:
        yield
    except KeyboardInterrupt:
        click.echo(f"\nStopped: {kept}.", err=True, nl=False)
        raise


def output_option(text: str, *, metavar: str = "FILE", **settings: Any) -> Callable[[Command], Command]:
    """Return what adds `-o`/`--output`, which every command has that writes a file or a folder."""
    return click.option("-o", "--output", metavar=metavar, help=text, **settings)


def describe_kept(output: str | None) -> str:
    """Return what a run that is stopped leaves behind.

    >>> describe_kept(None)
    'without --output nothing is kept'
    """
    return f"{output} keeps what was done, and the next run goes on" if output else "without --output nothing is kept"


@contextmanager
def explain_missing(what: str, extra: str) -> Iterator[None]:
    """Say which extra brings a library that cannot be imported."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "plaudit").startswith("plaudit"):
            raise
        raise MissingExtra(f"{what} needs {error.name}. Install it: pip install 'plaudit[{extra}]'") from None


# -- the options of a training run ------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class TrainingJob:
    """What is asked of a training run, whatever the game."""

    output: str | None
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


def run_options(game: str) -> Callable[[Callable[[TrainingJob], None]], Callable[..., None]]:
    """Return what gives a command the options that name a run, and hands it a TrainingJob with all others as settings.

    It is the first decorator of a command, so that these options come first; `evaluation_options` is the last one.
    """

    def decorate(command: Callable[[TrainingJob], None]) -> Callable[..., None]:
        @functools.wraps(command)
        def run(
            *,
            output: str | None,
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
            if resume and output is None:
                raise click.UsageError("--resume needs the folder of the run: --output FOLDER.")
            job = TrainingJob(
                output=output,
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
        return add_options(
            run,
            output_option(
                f"The folder of the run; runs/{game}-VERSION-SEED if not given.",
                metavar="FOLDER",
                callback=refuse_empty,
            ),
            click.option("--resume", is_flag=True, help="Go on with the run in --output, where its checkpoint is."),
            click.option("--reward", metavar="VERSION", help=what_pays),
        )

    return decorate


def evaluation_options(*, episodes: int, each: str, baselines: str) -> Callable[[Command], Command]:
    """Return what gives a command the options on how a run is judged, kept and shown.

    `episodes` is how many there are if not given, `each` what of, and `baselines` what else is evaluated.
    """
    judged = f"Episodes in which the trained policy is evaluated{each}."

    def decorate(command: Command) -> Command:
        return add_options(
            command,
            click.option("--seed", metavar="NUMBER", type=SEED, help="Random seed."),
            click.option("--episodes", metavar="COUNT", type=COUNT, default=episodes, show_default=True, help=judged),
            click.option("--baselines", is_flag=True, help=f"Evaluate {baselines} too, to compare with."),
            click.option("--save-every", metavar="COUNT", type=COUNT, help="Updates between two checkpoints."),
            click.option(
                "--ledger",
                metavar="LEDGER",
                callback=refuse_empty,
                help="Record the steps of some evaluated episodes there.",
            ),
            click.option(
                "--tensorboard/--no-tensorboard", default=True, help="Write curves for TensorBoard, or do not."
            ),
            click.option("--quiet", is_flag=True, help="Show no progress."),
            click.option("--json", "as_json", is_flag=True, help="Print the report as JSON for a script."),
        )

    return decorate


def add_options(command: Command, *options: Callable[[Command], Command]) -> Command:
    """Return a command with options, in this order."""
    for option in reversed(options):
        command = option(command)
    return command

"""Shared by the commands of systems: output, training and evaluation options, and Ctrl-C messages."""

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
    """Refuse an empty name, such as from an unset shell variable."""
    if value is not None and not value.strip():
        raise click.BadParameter("it is empty; give a name, or omit the option.")
    return value


@contextmanager
def explain_interrupt(kept: str) -> Iterator[None]:
    """Print at Ctrl-C what is kept."""
    try:
        yield
    except KeyboardInterrupt:
        click.echo(f"\nStopped: {kept}.", err=True, nl=False)
        raise


def output_option(text: str, *, metavar: str = "FILE", **settings: Any) -> Callable[[Command], Command]:
    """Return a decorator that adds `-o`/`--output`, for a command that writes a file or a folder.

    Args:
        text: The help of the option.
        metavar: What the option names: FILE or FOLDER.
        **settings: More arguments for `click.option`, such as `default` or `required`.

    Returns:
        The decorator.

    >>> import click
    >>> @click.command()
    ... @output_option("File to write.", default="-")
    ... def copy(output): ...
    >>> copy.params[0].opts
    ['-o', '--output']
    """
    return click.option("-o", "--output", metavar=metavar, help=text, **settings)


def describe_kept(output: str | None) -> str:
    """Return what an interrupted run leaves behind.

    >>> describe_kept(None)
    'nothing is kept without --output'
    """
    return f"{output} keeps the results so far; run again to resume" if output else "nothing is kept without --output"


@contextmanager
def explain_missing(what: str, extra: str) -> Iterator[None]:
    """Turn a failed import into an error that names the extra to install."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "plaudit").startswith("plaudit"):
            raise
        raise MissingExtra(f"{what} needs {error.name}. Install it: pip install 'plaudit[{extra}]'") from None


# -- the options of a training run ------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class TrainingJob:
    """The options of a training run."""

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
    """Return a decorator that adds the options naming a training run, and passes them as a TrainingJob.

    Use it as the first decorator of a command, and `evaluation_options` as the last, so that the help lists the
    options in that order. All other options of the command become the `settings` of the job.

    Args:
        game: The name of the system, used in the default output folder.

    Returns:
        The decorator.

    Raises:
        UsageError: By the command, if --resume is given without --output.

    Example:
        @click.command("parking")
        @run_options("parking")
        @click.option("--steps", type=int, help="Training steps.")
        @evaluation_options(episodes=100, each="", baselines="random policies")
        def train(job):
            print(job.reward, job.settings["steps"])
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
                raise click.UsageError("--resume needs the folder of the run: add --output FOLDER.")
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

        what_pays = "Version of the reward, or your own REWARD with the same inputs."
        return add_options(
            run,
            output_option(
                f"Folder of the run.  [default: runs/{game}-VERSION-SEED]",
                metavar="FOLDER",
                callback=refuse_empty,
            ),
            click.option("--resume", is_flag=True, help="Resume the run in --output from its checkpoint."),
            click.option("--reward", metavar="VERSION", help=what_pays),
        )

    return decorate


def evaluation_options(*, episodes: int, each: str, baselines: str) -> Callable[[Command], Command]:
    """Return a decorator that adds the options for seed, evaluation, checkpoints and output of a training run.

    Args:
        episodes: Default number of evaluation episodes.
        each: What that number is multiplied by, such as ", for each of 15 kinds of convoy"; "" for nothing.
        baselines: The policies that `--baselines` also evaluates.

    Returns:
        The decorator.

    Example:
        See `run_options`.
    """
    judged = f"Evaluation episodes{each}."

    def decorate(command: Command) -> Command:
        return add_options(
            command,
            click.option("--seed", metavar="NUMBER", type=SEED, help="Random seed."),
            click.option("--episodes", metavar="COUNT", type=COUNT, default=episodes, show_default=True, help=judged),
            click.option("--baselines", is_flag=True, help=f"Also evaluate baselines: {baselines}."),
            click.option("--save-every", metavar="COUNT", type=COUNT, help="Updates between checkpoints."),
            click.option(
                "--ledger",
                metavar="LEDGER",
                callback=refuse_empty,
                help="Record the steps of some evaluation episodes in this ledger.",
            ),
            click.option(
                "--tensorboard/--no-tensorboard", default=True, help="Write TensorBoard logs.", show_default=True
            ),
            click.option("--quiet", is_flag=True, help="Do not show progress."),
            click.option("--json", "as_json", is_flag=True, help="Print the result as JSON."),
        )

    return decorate


def add_options(command: Command, *options: Callable[[Command], Command]) -> Command:
    """Return a command with options, in this order."""
    for option in reversed(options):
        command = option(command)
    return command

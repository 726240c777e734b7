"""What the commands of systems share: options, what is said at Ctrl-C, a training run up to its report."""

import functools
import json
import os
import signal
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from plaudit.errors import DefinitionError, MissingExtra
from plaudit.reward.reward import Reward
from plaudit.systems.arguments import find_reward, open_ledger_to_write
from plaudit.systems.folder_lock import lock_folder
from plaudit.terminal import INTERRUPTED, TERMINATED, Bars, Screen, build_table, show_status

if TYPE_CHECKING:
    from plaudit.systems.training.run import RunResult, Stop
    from plaudit.systems.training.settings import Settings

COUNT = click.IntRange(min=1)
SEED = click.IntRange(0, 2**32 - 1)

Command = TypeVar("Command", bound=Callable[..., Any])
Report = dict[str, Any]
FormatUpdate = Callable[[Mapping[str, Any]], str]
"""What matters of an update, in a line."""

LINES = 10
"""How many lines of progress there are where there is no terminal."""


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


def describe_kept(out: str | None) -> str:
    """Return what a run that is stopped leaves behind.

    >>> describe_kept(None)
    'without --out nothing is kept'
    """
    return f"{out} keeps what was done, and the next run goes on" if out else "without --out nothing is kept"


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


def run_options(game: str) -> Callable[[Callable[[TrainingJob], None]], Callable[..., None]]:
    """Return what gives a command the options that name a run, and hands it a TrainingJob with all others as settings.

    It is the first decorator of a command, so that these options come first; `evaluation_options` is the last one.
    """

    def decorate(command: Callable[[TrainingJob], None]) -> Callable[..., None]:
        @functools.wraps(command)
        def run(
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
            job = TrainingJob(
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
        return add_options(
            run,
            click.option(
                "-o",
                "--out",
                metavar="DIR",
                callback=refuse_empty,
                help=f"The folder of the run; runs/{game}-VERSION-SEED if not given.",
            ),
            click.option("--resume", is_flag=True, help="Go on with the run in --out, where its checkpoint is."),
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
            click.option("--seed", metavar="NUMBER", type=SEED, help="What all chance depends on."),
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


# -- a training run ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Game:
    """A game by its name, and the versions of its reward."""

    name: str
    versions: Collection[str]
    version: Callable[[str], Reward]

    def find_reward(self, text: str) -> Reward:
        """Return the reward that a version, or the name of a reward, stands for."""
        own = ":" in text or "@" in text or text.endswith(".json") or text == self.name
        return find_reward(text) if own else self.version(text)

    def name_reward(self, job: TrainingJob, out: Path, label: str) -> str:
        """Return by which name the reward of a run that goes on is found; an error where it has none here."""
        if job.reward is None and label not in self.versions:
            raise DefinitionError(f"{out} was trained on a reward of your own, {label!r}: add --reward REWARD.")
        return job.reward or label

    def check_complete(self, run: "RunResult[Any]", stop: "Stop", job: TrainingJob, out: Path) -> None:
        """End the program where a run was stopped, and say how to go on with it."""
        if run.complete:
            return
        reward = f" --reward {job.reward}" if job.reward and job.reward not in self.versions else ""
        click.echo(f"Stopped after {run.update:,} of {run.config.updates:,} updates. Go on with:", err=True)
        click.echo(f"  plaudit train {self.name} --out {out} --resume{reward}", err=True)
        raise click.exceptions.Exit(TERMINATED if stop.signal == signal.SIGTERM else INTERRUPTED)


def train_and_report(
    job: TrainingJob, reward: Reward, out: Path, *, run: Callable[[], Report], show: Callable[[Report, Path], None]
) -> None:
    """Do what is asked for in a folder that nobody else writes to, and show the report."""
    if job.ledger is not None:
        with open_ledger_to_write(job.ledger, new=True) as ledger:
            ledger.register(reward)  # a label that means another formula is an error before the run
    with lock_folder(out):
        report = run()
    if job.as_json:
        click.echo(json.dumps(report, indent=2))
    else:
        show(report, out)


def print_terms(screen: Screen, evaluations: Mapping[str, Any], *, digits: int) -> None:
    """Print what each term gave in an episode, a policy a column."""
    table = build_table("term, an episode", *evaluations, right=tuple(evaluations))
    for term in next(iter(evaluations.values()))["terms"]:
        table.add_row(term, *(f"{each['terms'][term]:+.{digits}f}" for each in evaluations.values()))
    screen.print()
    screen.print(table)


# -- how a run goes --------------------------------------------------------------------------------------------------


class Watch:
    """What is shown of a run while it goes on: nothing."""

    def show_update(self, row: Mapping[str, Any]) -> None:
        """Show an update."""

    def show_stopping(self) -> None:
        """Show that the run is to be stopped."""

    @contextmanager
    def show_work(self, what: str) -> Iterator[None]:
        """Show what is going on besides updates."""
        yield


class _StoppableWatch(Watch):
    def show_stopping(self) -> None:
        """Say that the run ends soon; this may come in the middle of a print, so it does without one."""
        with suppress(OSError, ValueError):  # there is no real stderr here
            os.write(sys.stderr.fileno(), b"\nStopping after this update; once more to stop at once.\n")


class LineWatch(_StoppableWatch):
    """A line now and then."""

    def __init__(self, updates: int, form: FormatUpdate) -> None:
        self._updates, self._every, self._format = updates, max(1, updates // LINES), form

    def show_update(self, row: Mapping[str, Any]) -> None:
        """Print an update, if it is its turn."""
        if row["update"] % self._every == 0 or row["update"] == self._updates:
            click.echo(f"update {row['update']:,} of {self._updates:,}: {self._format(row)}", err=True)


class BarWatch(_StoppableWatch):
    """A bar of steps on a terminal."""

    def __init__(self, bars: Bars, steps: int, first: str, form: FormatUpdate) -> None:
        self._bars, self._steps, self._first, self._format = bars, steps, first, form
        bars.update(first, 0, steps)

    def show_update(self, row: Mapping[str, Any]) -> None:
        """Move the bar."""
        self._bars.update(self._first, row["steps"], self._steps, text=self._format(row))

    @contextmanager
    def show_work(self, what: str) -> Iterator[None]:
        """Show what is going on."""
        with show_status(what):
            yield


@contextmanager
def watch_training(config: "Settings", form: FormatUpdate, *, first: str = "compiling", quiet: bool) -> Iterator[Watch]:
    """Yield what shows how a run goes; `form` writes an update, `first` is what happens before there is one."""
    if quiet:
        yield Watch()
    elif not sys.stderr.isatty():
        yield LineWatch(config.updates, form)
    else:
        with Screen(stderr=True).show_bars() as bars:
            yield BarWatch(bars, config.updates * config.batch, first, form)

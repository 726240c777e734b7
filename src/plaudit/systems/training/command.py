"""One run of `plaudit train` for any game: find its reward and settings, show its progress, report."""

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from plaudit.errors import DefinitionError
from plaudit.file_lock import lock_folder
from plaudit.plugins.arguments import find_reward, open_ledger_to_write
from plaudit.plugins.options import TrainingJob
from plaudit.reward.reward import Reward
from plaudit.systems.training.checkpoint import CheckpointInfo
from plaudit.systems.training.run import CHECKPOINT, RunResult, Stop, catch_signals
from plaudit.systems.training.settings import Settings, SettingsT
from plaudit.terminal import Bars, ExitCode, Screen, build_table, show_status

Report = dict[str, Any]
FormatUpdate = Callable[[Mapping[str, Any]], str]
"""Returns a one-line summary of an update."""
RunT = TypeVar("RunT", bound=RunResult[Any])

LINES = 10
"""Number of progress lines without a terminal."""


@dataclass(frozen=True)
class Game:
    """A game and the versions of its reward."""

    name: str
    versions: Sequence[str]
    version: Callable[[str], Reward]
    check_inputs: Callable[[Reward], object]
    """Raises if a reward reads what the game does not measure."""

    def find_reward(self, text: str) -> Reward:
        """Return the reward that a version, or the name of a reward, stands for."""
        own = ":" in text or "@" in text or text.endswith((".json", ".py")) or text == self.name
        reward = find_reward(text) if own else self.version(text)
        self.check_inputs(reward)
        return reward

    def prepare(
        self,
        job: TrainingJob,
        read_info: Callable[[Path], CheckpointInfo[SettingsT]],
        build_config: Callable[[Reward], SettingsT],
    ) -> tuple[Reward, SettingsT, Path]:
        """Return the reward, the settings and the folder of a run: those of its checkpoint, or new ones."""
        if job.resume:
            assert job.output is not None  # the command asks for it
            out = Path(job.output)
            info = read_info(out / CHECKPOINT)
            config = info.config.from_dict({**info.config.to_dict(), **job.settings})
            if job.reward is None and info.version not in self.versions:
                raise DefinitionError(f"{out} was trained on your own reward {info.version!r}: add --reward REWARD.")
            return self.find_reward(job.reward or info.version), config, out
        reward = self.find_reward(job.reward or self.versions[0])
        config = build_config(reward)
        return reward, config, Path(job.output or f"runs/{self.name}-{reward.version}-{config.seed}")

    def run(
        self,
        job: TrainingJob,
        reward: Reward,
        config: Settings,
        out: Path,
        *,
        train: Callable[..., RunT],
        report: Callable[[RunT, "Watch"], Report],
        show: Callable[[Report, Path], None],
        form: FormatUpdate,
        first: str = "compiling",
    ) -> None:
        """Train in a locked folder, report, and show the report.

        `train` and `report` do that for the game, `form` formats an update, and `first` names what precedes the first.
        """
        if job.ledger is not None:
            with open_ledger_to_write(job.ledger, new=True) as ledger:
                ledger.register(reward)  # a label with another formula is an error before the run
        with lock_folder(out):
            with (
                watch_training(config, form, first=first, quiet=job.quiet) as watch,
                catch_signals(watch.show_stopping) as stop,
            ):
                run = train(
                    resume=job.resume,
                    save_every=job.save_every,
                    tensorboard=job.tensorboard,
                    on_update=watch.show_update,
                    stop=stop,
                )
            self.check_complete(run, stop, job, out)
            found = report(run, watch)
        if job.as_json:
            click.echo(json.dumps(found, indent=2))
        else:
            show(found, out)

    def check_complete(self, run: RunResult[Any], stop: Stop, job: TrainingJob, out: Path) -> None:
        """Exit if the run was stopped, and print how to resume it."""
        if run.complete:
            return
        reward = f" --reward {job.reward}" if job.reward and job.reward not in self.versions else ""
        click.echo(f"Stopped after {run.update:,} of {run.config.updates:,} updates. Resume with:", err=True)
        click.echo(f"  plaudit train {self.name} --output {out} --resume{reward}", err=True)
        raise click.exceptions.Exit(ExitCode.TERMINATED if stop.signal == signal.SIGTERM else ExitCode.INTERRUPTED)


def print_terms(screen: Screen, evaluations: Mapping[str, Any], *, digits: int) -> None:
    """Print the mean value of each term per episode, one column per policy."""
    table = build_table("term, per episode", *evaluations, right=tuple(evaluations))
    for term in next(iter(evaluations.values()))["terms"]:
        table.add_row(term, *(f"{each['terms'][term]:+.{digits}f}" for each in evaluations.values()))
    screen.print()
    screen.print(table)


# -- progress --------------------------------------------------------------------------------------------------------


class Watch:
    """Progress of a run: shows nothing."""

    def show_update(self, row: Mapping[str, Any]) -> None:
        """Show an update."""

    def show_stopping(self) -> None:
        """Show that the run will stop."""

    @contextmanager
    def show_work(self, what: str) -> Iterator[None]:
        """Show work other than updates."""
        yield


class _StoppableWatch(Watch):
    def show_stopping(self) -> None:
        """Print that the run will stop, without `print`, which a signal may have interrupted."""
        with suppress(OSError, ValueError):  # there is no real stderr here
            os.write(sys.stderr.fileno(), b"\nStopping after this update; press Ctrl-C again to stop now.\n")


class LineWatch(_StoppableWatch):
    """Progress as occasional lines."""

    def __init__(self, updates: int, form: FormatUpdate) -> None:
        self._updates, self._every, self._format = updates, max(1, updates // LINES), form

    def show_update(self, row: Mapping[str, Any]) -> None:
        """Print an update if it is due."""
        if row["update"] % self._every == 0 or row["update"] == self._updates:
            click.echo(f"update {row['update']:,} of {self._updates:,}: {self._format(row)}", err=True)


class BarWatch(_StoppableWatch):
    """Progress as a bar of steps on a terminal."""

    def __init__(self, bars: Bars, steps: int, first: str, form: FormatUpdate) -> None:
        self._bars, self._steps, self._first, self._format = bars, steps, first, form
        bars.update(first, 0, steps)

    def show_update(self, row: Mapping[str, Any]) -> None:
        """Move the bar."""
        self._bars.update(self._first, row["steps"], self._steps, text=self._format(row))

    @contextmanager
    def show_work(self, what: str) -> Iterator[None]:
        """Show a status text."""
        with show_status(what):
            yield


@contextmanager
def watch_training(config: Settings, form: FormatUpdate, *, first: str, quiet: bool) -> Iterator[Watch]:
    """Yield a display of progress; `form` formats an update, `first` names what precedes the first."""
    if quiet:
        yield Watch()
    elif not sys.stderr.isatty():
        yield LineWatch(config.updates, form)
    else:
        with Screen(stderr=True).show_bars() as bars:
            yield BarWatch(bars, config.updates * config.batch, first, form)

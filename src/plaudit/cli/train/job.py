"""What training does alike on every game: what is asked for, how a run ends, and what is shown of it."""

import json
import signal
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from plaudit.cli.errors import INTERRUPTED, TERMINATED
from plaudit.cli.ledger.opening import opened_to_write
from plaudit.cli.rewards import find_reward
from plaudit.cli.train.asked import Job
from plaudit.errors import DefinitionError
from plaudit.reward.reward import Reward
from plaudit.systems.alone import alone_in
from plaudit.systems.training.ran import Ran
from plaudit.systems.training.stopping import Stop

Report = dict[str, Any]


@dataclass(frozen=True)
class Game:
    """A game by its name, and the versions of its reward."""

    name: str
    versions: Collection[str]
    version: Callable[[str], Reward]

    def reward(self, text: str) -> Reward:
        """Return the reward that a version, or the name of a reward, stands for."""
        own = ":" in text or "@" in text or text.endswith(".json") or text == self.name
        return find_reward(text) if own else self.version(text)

    def reward_of_run(self, job: Job, out: Path, label: str) -> str:
        """Return by which name the reward of a run that goes on is found; an error where it has none here."""
        if job.reward is None and label not in self.versions:
            raise DefinitionError(f"{out} was trained on a reward of your own, {label!r}: add --reward REWARD.")
        return job.reward or label

    def check_complete(self, run: Ran[Any], stop: Stop, job: Job, out: Path) -> None:
        """End the program where a run was stopped, and say how to go on with it."""
        if run.complete:
            return
        reward = f" --reward {job.reward}" if job.reward and job.reward not in self.versions else ""
        click.echo(f"Stopped after {run.update:,} of {run.config.updates:,} updates. Go on with:", err=True)
        click.echo(f"  plaudit train {self.name} --out {out} --resume{reward}", err=True)
        raise click.exceptions.Exit(TERMINATED if stop.signal == signal.SIGTERM else INTERRUPTED)


def carried_out(
    job: Job, reward: Reward, out: Path, *, run: Callable[[], Report], show: Callable[[Report, Path], None]
) -> None:
    """Do what is asked for in a folder that nobody else writes to, and show the report."""
    if job.ledger is not None:
        with opened_to_write(job.ledger, new=True) as ledger:
            ledger.register(reward)  # a label that means another formula is told before the run
    with alone_in(out):
        report = run()
    if job.as_json:
        click.echo(json.dumps(report, indent=2))
    else:
        show(report, out)

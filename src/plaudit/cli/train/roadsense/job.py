"""What one run of `plaudit train roadsense` does: settings, training, evaluation, report."""

import json
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from plaudit.cli.errors import INTERRUPTED, TERMINATED
from plaudit.cli.ledger.opening import opened_to_write
from plaudit.cli.rewards import find_reward
from plaudit.cli.train.roadsense.prints import figures, print_report
from plaudit.cli.train.watching import Watch, watched
from plaudit.errors import MissingExtra
from plaudit.reward.reward import Reward
from plaudit.systems import roadsense
from plaudit.systems.roadsense.measured import inputs_of

try:
    from plaudit.systems.roadsense.training import (
        TRAINED,
        Config,
        Run,
        config_for,
        described,
        evaluated,
        read_about,
        record_drives,
        stoppable,
        train,
        write_report,
    )
except ModuleNotFoundError as error:
    if (error.name or "plaudit").startswith("plaudit"):
        raise
    raise MissingExtra(f"training needs {error.name}. Install it: pip install 'plaudit[gym,sumo]'") from None

STANDARD = roadsense.VERSIONS[0]


@dataclass(frozen=True, slots=True)
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


def carried_out(job: Job) -> None:
    """Train, evaluate and report."""
    reward, config, out = _prepared(job)
    if job.ledger is not None:
        with opened_to_write(job.ledger, new=True) as ledger:
            ledger.register(reward)  # a label that means another formula is told before the run
    with watched(config, figures, first="starting SUMO", quiet=job.quiet) as watch, stoppable(watch.stopping) as stop:
        run = train(
            config,
            reward,
            out,
            resume=job.resume,
            save_every=job.save_every,
            tensorboard=job.tensorboard,
            told=watch.told,
            stop=stop,
        )
    if not run.complete:
        click.echo(f"Stopped after {run.update:,} of {config.updates:,} updates. Go on with:", err=True)
        click.echo(f"  plaudit train roadsense --out {out} --resume{_reward_again(job)}", err=True)
        raise click.exceptions.Exit(TERMINATED if stop.signal == signal.SIGTERM else INTERRUPTED)
    report = _reported(job, run, reward, out, watch)
    if job.as_json:
        click.echo(json.dumps(report, indent=2))
    else:
        print_report(report, out)


def _prepared(job: Job) -> tuple[Reward, Config, Path]:
    """Return the reward, the settings and the folder of the run."""
    if job.resume:
        assert job.out is not None  # the command asks for it
        out = Path(job.out)
        about = read_about(out / "checkpoint.npz")
        config = Config.from_dict({**about.config.to_dict(), **job.settings})
        return _reward(job.reward or about.version), config, out
    reward = _reward(job.reward or STANDARD)
    config = config_for(reward, **job.settings)
    return reward, config, Path(job.out or f"runs/roadsense-{reward.version}-{config.seed}")


def _reward(text: str) -> Reward:
    """Return the reward that a version or a name stands for; UnknownField where it reads what is not measured."""
    own = ":" in text or "@" in text or text.endswith(".json") or text == "roadsense"
    reward = find_reward(text) if own else roadsense.version(text)
    inputs_of(reward)
    return reward


def _reward_again(job: Job) -> str:
    return f" --reward {job.reward}" if job.reward and job.reward not in roadsense.VERSIONS else ""


def _reported(job: Job, run: Run, reward: Reward, out: Path, watch: Watch) -> dict[str, Any]:
    with watch.doing("evaluating"):
        found = evaluated(run, reward, episodes=job.episodes, baselines=job.baselines)
    report = described(run, reward, found)
    write_report(out, report)
    if job.ledger is not None:
        with opened_to_write(job.ledger, new=True) as ledger:
            record_drives(ledger, reward, found.drives, run=str(out), actor=TRAINED, steps=run.steps)
    return report

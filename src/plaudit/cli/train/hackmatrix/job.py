"""What one run of `plaudit train hackmatrix` does: settings, training, evaluation, report."""

import json
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from plaudit.cli.errors import INTERRUPTED, TERMINATED
from plaudit.cli.ledger.opening import opened_to_write
from plaudit.cli.rewards import find_reward
from plaudit.cli.train.hackmatrix.prints import figures, print_report
from plaudit.cli.train.watching import Watch, watched
from plaudit.errors import MissingExtra, UnknownField
from plaudit.reward.reward import Reward
from plaudit.systems import hackmatrix

try:
    from plaudit.systems.hackmatrix.training import (
        NETWORK,
        Config,
        Environment,
        Run,
        described,
        evaluated,
        games,
        machine,
        preset,
        read_about,
        record_episodes,
        stoppable,
        train,
        write_report,
    )
except ModuleNotFoundError as error:
    if (error.name or "plaudit").startswith("plaudit"):
        raise
    raise MissingExtra(f"training needs {error.name}. Install it: pip install 'plaudit[train]'") from None

RECORDED = 8
"""Episodes whose steps go into a ledger."""
STANDARD = hackmatrix.VERSIONS[0]


@dataclass(frozen=True, slots=True)
class Job:
    """What is asked for."""

    out: str | None
    resume: bool
    preset: str | None
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
    with watched(config, figures, quiet=job.quiet) as watch, stoppable(watch.stopping) as stop:
        run = train(
            games(reward, view=config.view, max_steps=config.max_steps),
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
        click.echo(f"  plaudit train hackmatrix --out {out} --resume{_reward_again(job)}", err=True)
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
    config = preset(job.preset or machine(), **job.settings)
    return reward, config, Path(job.out or f"runs/hackmatrix-{reward.version}-{config.seed}")


def _reward(text: str) -> Reward:
    """Return the reward that a version or the name of a reward stands for."""
    own = ":" in text or "@" in text or text.endswith(".json") or text == "hackmatrix"
    reward = find_reward(text) if own else hackmatrix.version(text)
    for name in reward.program.inputs:
        if name not in hackmatrix.reward.program.inputs:
            known = ", ".join(sorted(hackmatrix.reward.program.inputs))
            raise UnknownField(
                f"reward {reward.name!r} reads {name!r}, which the game does not measure.\nIt measures: {known}"
            )
    return reward


def _reward_again(job: Job) -> str:
    return f" --reward {job.reward}" if job.reward and job.reward not in hackmatrix.VERSIONS else ""


def _reported(job: Job, run: Run, reward: Reward, out: Path, watch: Watch) -> dict[str, Any]:
    keep = RECORDED if job.ledger else 0
    with watch.doing("evaluating"):
        found = evaluated(run, reward, _paid_by(run.config), episodes=job.episodes, baselines=job.baselines, keep=keep)
    report = described(run, reward, found)
    write_report(out, report)
    if job.ledger is not None:
        with opened_to_write(job.ledger, new=True) as ledger:
            for name in NETWORK:
                record_episodes(ledger, reward, found.episodes[name], run=str(out), actor=name, steps=run.steps)
    return report


def _paid_by(config: Config) -> Callable[[Reward], Environment]:
    """Return what makes the game for a reward."""
    return lambda reward: games(reward, view=config.view)

"""What one run of `plaudit train hackmatrix` does: settings, training, evaluation, report."""

from collections.abc import Callable
from pathlib import Path

from plaudit.cli.ledger.opening import opened_to_write
from plaudit.cli.train.asked import Job
from plaudit.cli.train.hackmatrix.prints import figures, print_report
from plaudit.cli.train.job import Game, Report, carried_out
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
GAME = Game("hackmatrix", hackmatrix.VERSIONS, hackmatrix.version)


def trained(job: Job, preset: str | None) -> None:
    """Train, evaluate and report; `preset` names settings for a machine, this one's if it is None."""
    reward, config, out = _prepared(job, preset)
    carried_out(job, reward, out, run=lambda: _run(job, reward, config, out), show=print_report)


def _run(job: Job, reward: Reward, config: Config, out: Path) -> Report:
    """Return the report of the run, once it is complete; a run that was stopped ends the program."""
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
    GAME.check_complete(run, stop, job, out)
    return _reported(job, run, reward, out, watch)


def _prepared(job: Job, machine_preset: str | None) -> tuple[Reward, Config, Path]:
    """Return the reward, the settings and the folder of the run."""
    if job.resume:
        assert job.out is not None  # the command asks for it
        out = Path(job.out)
        about = read_about(out / "checkpoint.npz")
        config = Config.from_dict({**about.config.to_dict(), **job.settings})
        return _reward(GAME.reward_of_run(job, out, about.version)), config, out
    reward = _reward(job.reward or hackmatrix.VERSIONS[0])
    config = preset(machine_preset or machine(), **job.settings)
    return reward, config, Path(job.out or f"runs/hackmatrix-{reward.version}-{config.seed}")


def _reward(text: str) -> Reward:
    """Return the reward that a text stands for; UnknownField where it reads what the game does not measure."""
    reward = GAME.reward(text)
    for name in reward.program.inputs:
        if name not in hackmatrix.reward.program.inputs:
            known = ", ".join(sorted(hackmatrix.reward.program.inputs))
            raise UnknownField(
                f"reward {reward.name!r} reads {name!r}, which the game does not measure.\nIt measures: {known}"
            )
    return reward


def _reported(job: Job, run: Run, reward: Reward, out: Path, watch: Watch) -> Report:
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

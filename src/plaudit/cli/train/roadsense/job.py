"""What one run of `plaudit train roadsense` does: settings, training, evaluation, report."""

from pathlib import Path

from plaudit.cli.ledger.opening import opened_to_write
from plaudit.cli.train.asked import Job
from plaudit.cli.train.job import Game, Report, carried_out
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

GAME = Game("roadsense", roadsense.VERSIONS, roadsense.version)


def trained(job: Job) -> None:
    """Train, evaluate and report."""
    reward, config, out = _prepared(job)
    carried_out(job, reward, out, run=lambda: _run(job, reward, config, out), show=print_report)


def _run(job: Job, reward: Reward, config: Config, out: Path) -> Report:
    """Return the report of the run, once it is complete; a run that was stopped ends the program."""
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
    GAME.check_complete(run, stop, job, out)
    return _reported(job, run, reward, out, watch)


def _prepared(job: Job) -> tuple[Reward, Config, Path]:
    """Return the reward, the settings and the folder of the run."""
    if job.resume:
        assert job.out is not None  # the command asks for it
        out = Path(job.out)
        about = read_about(out / "checkpoint.npz")
        config = Config.from_dict({**about.config.to_dict(), **job.settings})
        return _reward(GAME.reward_of_run(job, out, about.version)), config, out
    reward = _reward(job.reward or roadsense.VERSIONS[0])
    config = config_for(reward, **job.settings)
    return reward, config, Path(job.out or f"runs/roadsense-{reward.version}-{config.seed}")


def _reward(text: str) -> Reward:
    """Return the reward that a text stands for; UnknownField where it reads what is not measured."""
    reward = GAME.reward(text)
    inputs_of(reward)
    return reward


def _reported(job: Job, run: Run, reward: Reward, out: Path, watch: Watch) -> Report:
    with watch.doing("evaluating"):
        found = evaluated(run, reward, episodes=job.episodes, baselines=job.baselines)
    report = described(run, reward, found)
    write_report(out, report)
    if job.ledger is not None:
        with opened_to_write(job.ledger, new=True) as ledger:
            record_drives(ledger, reward, found.drives, run=str(out), actor=TRAINED, steps=run.steps)
    return report

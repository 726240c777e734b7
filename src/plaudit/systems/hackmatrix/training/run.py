"""A run from its first update to its report: logged, kept, stopped and gone on with."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import jax

from plaudit import __version__
from plaudit.reward.reward import Reward
from plaudit.systems.hackmatrix.training import checkpoint, ppo
from plaudit.systems.hackmatrix.training.checkpoint import CheckpointInfo
from plaudit.systems.hackmatrix.training.config import Config
from plaudit.systems.hackmatrix.training.health import Verdict, judge_health
from plaudit.systems.hackmatrix.training.ppo import Environment, Params, Training
from plaudit.systems.training.checkpoint import check_resumable
from plaudit.systems.training.journal import Row, drop_rows_after, open_journals
from plaudit.systems.training.run import CHECKPOINT, LOG, POLICY, SAVES, RunResult, Stop, create_run_folder


@dataclass(frozen=True, kw_only=True)
class Run(RunResult[Config]):
    """A run that ended, or was stopped."""

    params: Params
    compiling: float
    """Seconds that the compiler took."""

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """Whether it was healthy."""
        return judge_health(self.rows)


def train(
    environment: Environment,
    config: Config,
    reward: Reward,
    out: Path,
    *,
    resume: bool = False,
    save_every: int | None = None,
    tensorboard: bool = True,
    on_update: Callable[[Row], None] = lambda row: None,
    stop: Stop | None = None,
) -> Run:
    """Train on `environment`, which pays `reward`, and keep everything in the folder `out`.

    `on_update` is called with a row for each update. With `resume` the run in `out` goes on where its checkpoint is.
    """
    info = CheckpointInfo("run", __version__, reward.version, reward.fingerprint, 0, config)
    training = resume_run(out, environment, info) if resume else begin_run(out, environment, config)
    every = save_every or max(1, config.updates // SAVES)
    done = int(training.update)
    stop = stop or Stop()
    with open_journals(out, after=done * config.batch, tensorboard=tensorboard) as journals:
        if not resume:
            # before the compiler takes its time: whatever happens, there is a run to go on with
            save_run(out, training, info)
        before = time.perf_counter()
        update = ppo.compile_update(config, environment)
        compiling = time.perf_counter() - before
        while done < config.updates and not stop.asked:
            before = time.perf_counter()
            training, metrics = update(training)
            figures = {name: float(value) for name, value in jax.device_get(metrics).items()}
            seconds = time.perf_counter() - before
            done += 1
            row = {
                "update": done,
                "steps": done * config.batch,
                "seconds": seconds,
                "steps_per_second": config.batch / seconds,
                **figures,
            }
            journals.write(row)
            on_update(row)
            if done % every == 0 or done == config.updates or stop.asked:
                save_run(out, training, info)
    return Run(config=config, params=training.params, rows=journals.rows, update=done, compiling=compiling)


def begin_run(out: Path, environment: Environment, config: Config) -> Training:
    """Return the beginning of a run in a folder that holds none."""
    create_run_folder(out)
    return ppo.begin(config, environment)


def resume_run(out: Path, environment: Environment, wanted: CheckpointInfo) -> Training:
    """Return the state in which the run in a folder was kept; FileError if it is another run than the one wanted."""
    path = out / CHECKPOINT
    info = checkpoint.read_info(path)
    check_resumable(path, info, wanted, system="hackmatrix")
    like = jax.eval_shape(lambda: ppo.begin(wanted.config, environment))
    training = Training(*checkpoint.load(path, like)[0])
    drop_rows_after(out / LOG, info.update)
    return training


def save_run(out: Path, training: Training, info: CheckpointInfo) -> None:
    """Write the run as it is now, and the policy alone."""
    now = replace(info, update=int(training.update))
    checkpoint.save(out / CHECKPOINT, training, now)
    checkpoint.save(out / POLICY, training.params, replace(now, kind="policy"))


def detect_preset() -> str:
    """Return the preset for the device that JAX uses."""
    return "cpu" if jax.default_backend() == "cpu" else "gpu"

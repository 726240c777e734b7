"""A run from its first update to its report: logged, kept, stopped and gone on with."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import jax

from plaudit.reward.reward import Reward
from plaudit.systems.hackmatrix.training import checkpoint, ppo
from plaudit.systems.hackmatrix.training.checkpoint import About
from plaudit.systems.hackmatrix.training.config import Config
from plaudit.systems.hackmatrix.training.health import Verdict, verdicts
from plaudit.systems.hackmatrix.training.ppo import Environment, Params, Training
from plaudit.systems.training.about import check_fits
from plaudit.systems.training.folder import CHECKPOINT, LOG, POLICY, SAVES, begin_in, installed
from plaudit.systems.training.journal import Row, cut, journals, numbers, read_lines
from plaudit.systems.training.ran import Ran
from plaudit.systems.training.stopping import Stop


@dataclass(frozen=True, kw_only=True)
class Run(Ran[Config]):
    """A run that ended, or was stopped."""

    params: Params
    compiling: float
    """Seconds that the compiler took."""

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """Whether it was healthy."""
        return verdicts(self.rows)


def train(
    environment: Environment,
    config: Config,
    reward: Reward,
    out: Path,
    *,
    resume: bool = False,
    save_every: int | None = None,
    tensorboard: bool = True,
    told: Callable[[Row], None] = lambda row: None,
    stop: Stop | None = None,
) -> Run:
    """Train on `environment`, which pays `reward`, and keep everything in the folder `out`.

    `told` gets a row for each update. With `resume` the run in `out` goes on where its checkpoint is.
    """
    about = About("run", installed(), reward.version, reward.fingerprint, 0, config)
    training = resumed(out, environment, about) if resume else begun(out, environment, config)
    every = save_every or max(1, config.updates // SAVES)
    done = int(training.update)
    if resume:
        cut(out / LOG, done)
    rows = read_lines(out / LOG) if resume else []
    stop = stop or Stop()
    with journals(out, after=done * config.batch, tensorboard=tensorboard) as books:
        if not resume:
            # before the compiler takes its time: whatever happens, there is a run to go on with
            keep(out, training, about)
        before = time.perf_counter()
        update = ppo.updating(config, environment)
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
            for book in books:
                book.write(row)
            rows.append(numbers(row))
            told(row)
            if done % every == 0 or done == config.updates or stop.asked:
                keep(out, training, about)
    return Run(config=config, params=training.params, rows=rows, update=done, compiling=compiling)


def begun(out: Path, environment: Environment, config: Config) -> Training:
    """Return the beginning of a run in a folder that holds none."""
    begin_in(out)
    return ppo.begin(config, environment)


def resumed(out: Path, environment: Environment, wanted: About) -> Training:
    """Return the state in which the run in a folder was kept; FileError if it is another run than the one wanted."""
    path = out / CHECKPOINT
    about = checkpoint.read_about(path)
    check_fits(path, about, wanted, system="hackmatrix")
    like = jax.eval_shape(lambda: ppo.begin(wanted.config, environment))
    return Training(*checkpoint.load(path, like)[0])


def keep(out: Path, training: Training, about: About) -> None:
    """Write the run as it is now, and the policy alone."""
    now = replace(about, update=int(training.update))
    checkpoint.save(out / CHECKPOINT, training, now)
    checkpoint.save(out / POLICY, training.params, replace(now, kind="policy"))


def machine() -> str:
    """Return the preset for the device that JAX uses."""
    return "cpu" if jax.default_backend() == "cpu" else "gpu"

"""A run from its first update to its last: logged, kept, stopped and gone on with."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from stable_baselines3 import PPO
from stable_baselines3.common.logger import configure
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.vec_env import VecEnv

from plaudit.adapters.sb3 import RewardTermsCallback
from plaudit.reward.reward import Reward
from plaudit.systems.roadsense.training import checkpoint
from plaudit.systems.roadsense.training.checkpoint import About
from plaudit.systems.roadsense.training.config import Config
from plaudit.systems.roadsense.training.convoys import convoys, seed_after
from plaudit.systems.roadsense.training.episodes import Episodes
from plaudit.systems.roadsense.training.network import network_settings
from plaudit.systems.training.about import check_fits
from plaudit.systems.training.folder import CHECKPOINT, LOG, POLICY, SAVES, begin_in, installed
from plaudit.systems.training.journal import Row, cut, journals, numbers, read_lines
from plaudit.systems.training.ran import Ran
from plaudit.systems.training.stopping import Stop

_FIGURES = {
    "kl": "approx_kl",
    "clip_fraction": "clip_fraction",
    "explained_variance": "explained_variance",
    "loss": "loss",
    "policy_loss": "policy_gradient_loss",
    "value_loss": "value_loss",
}
"""Figures of an update, and what Stable-Baselines3 calls them."""
_THEIRS = ("train/", "rollout/", "time/")
"""What it logs itself; the rest is what each term of the reward gave."""


@dataclass(frozen=True, kw_only=True)
class Run(Ran[Config]):
    """A run that ended, or was stopped."""

    policy: BasePolicy


def train(
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
    """Train a policy that `reward` pays, and keep everything in the folder `out`.

    `told` gets a row for each update. With `resume` the run in `out` goes on where its checkpoint is; the episodes
    that were under way begin anew.
    """
    about = About("run", installed(), reward.version, reward.fingerprint, 0, config)
    done = _begun(out, about, resume=resume)
    rows = read_lines(out / LOG)
    every = save_every or max(1, config.updates // SAVES)
    stop = stop or Stop()
    torch.set_num_threads(config.threads)
    with convoys(reward, config) as envs:
        model, terms = learner(config, envs, after=done), RewardTermsCallback()
        if resume:
            checkpoint.load_run(out / CHECKPOINT, model)
        with journals(out, after=done * config.batch, tensorboard=tensorboard, extra="gym") as books:
            if not resume:
                keep(out, model, about)  # whatever happens, there is a run to go on with
            while done < config.updates and not stop.asked:
                done += 1
                row = updated(model, done, terms)
                for book in books:
                    book.write(row)
                rows.append(numbers(row))
                told(row)
                if done % every == 0 or done == config.updates or stop.asked:
                    keep(out, model, replace(about, update=done))
    return Run(config=config, policy=model.policy, rows=rows, update=done)


def _begun(out: Path, wanted: About, *, resume: bool) -> int:
    """Return how many updates the run in a folder has; FileError where it is another one than is wanted."""
    if not resume:
        begin_in(out)
        return 0
    path = out / CHECKPOINT
    about = checkpoint.read_about(path)
    check_fits(path, about, wanted, system="roadsense")
    cut(out / LOG, about.update)
    return about.update


def learner(config: Config, envs: VecEnv, *, after: int = 0) -> PPO:
    """Return a PPO with nothing learnt; its episodes are those that begin after so many updates."""
    model = PPO(
        "MultiInputPolicy",
        envs,
        learning_rate=config.learning_rate,
        n_steps=config.rollout // config.envs,
        batch_size=config.minibatch,
        n_epochs=config.epochs,
        gamma=config.gamma,
        gae_lambda=config.gae_lambda,
        clip_range=config.clip,
        ent_coef=config.entropy,
        vf_coef=config.value_weight,
        max_grad_norm=config.max_gradient,
        policy_kwargs=network_settings(config.log_std),
        seed=config.seed,
        device="cpu",
    )
    model.set_logger(configure(None, []))  # its figures are taken from it, and written by the journals
    envs.seed(seed_after(config, after))
    return model


def updated(model: PPO, update: int, terms: RewardTermsCallback) -> dict[str, Any]:
    """Play a rollout, learn from it, and return the figures of the update; `terms` is the same one for a whole run."""
    episodes, before = Episodes(), time.perf_counter()
    batch = model.n_steps * model.n_envs
    model.learn(batch, callback=[episodes, terms], reset_num_timesteps=False, log_interval=2)  # one iteration, unlogged
    seconds = time.perf_counter() - before
    found = dict(model.logger.name_to_value)
    model.logger.dump(model.num_timesteps)  # which forgets them
    return {
        "update": update,
        "steps": update * batch,
        "seconds": seconds,
        "steps_per_second": batch / seconds,
        **episodes.figures(),
        **{name: float(found[f"train/{theirs}"]) for name, theirs in _FIGURES.items()},
        "entropy": -float(found["train/entropy_loss"]),
        **({"std": float(found["train/std"])} if "train/std" in found else {}),
        **{name: float(value) for name, value in found.items() if not name.startswith(_THEIRS)},
    }


def keep(out: Path, model: PPO, about: About) -> None:
    """Write the run as it is now, and the policy alone."""
    checkpoint.save_run(out / CHECKPOINT, model, about)
    checkpoint.save_policy(out / POLICY, model.policy, replace(about, kind="policy"))

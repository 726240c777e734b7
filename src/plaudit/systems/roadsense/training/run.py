"""A run from its first update to its last: logged, kept, stopped and gone on with."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import fsum
from pathlib import Path
from typing import Any

import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import configure
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.vec_env import VecEnv

from plaudit import __version__
from plaudit.adapters.sb3 import RewardTermsCallback
from plaudit.reward.reward import Reward
from plaudit.systems.roadsense.training import checkpoint
from plaudit.systems.roadsense.training.checkpoint import CheckpointInfo
from plaudit.systems.roadsense.training.config import Config
from plaudit.systems.roadsense.training.envs import derive_seed, open_envs
from plaudit.systems.roadsense.training.network import build_network_settings
from plaudit.systems.training.checkpoint import check_resumable
from plaudit.systems.training.journal import Row, drop_rows_after, open_journals
from plaudit.systems.training.run import CHECKPOINT, LOG, POLICY, SAVES, RunResult, Stop, create_run_folder

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
class Run(RunResult[Config]):
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
    on_update: Callable[[Row], None] = lambda row: None,
    stop: Stop | None = None,
) -> Run:
    """Train a policy that `reward` pays, and keep everything in the folder `out`.

    `on_update` gets a row for each update. With `resume` the run in `out` goes on where its checkpoint is; the episodes
    that were under way start again.
    """
    info = CheckpointInfo("run", __version__, reward.version, reward.fingerprint, 0, config)
    done = _begin_or_resume(out, info, resume=resume)
    every = save_every or max(1, config.updates // SAVES)
    stop = stop or Stop()
    torch.set_num_threads(config.threads)
    with open_envs(reward, config) as envs:
        model, terms = build_learner(config, envs, after=done), RewardTermsCallback()
        if resume:
            checkpoint.load_run(out / CHECKPOINT, model)
        with open_journals(out, after=done * config.batch, tensorboard=tensorboard, extra="tensorboard") as journals:
            if not resume:
                save_run(out, model, info)  # whatever happens, there is a run to go on with
            while done < config.updates and not stop.asked:
                done += 1
                row = run_update(model, done, terms)
                journals.write(row)
                on_update(row)
                if done % every == 0 or done == config.updates or stop.asked:
                    save_run(out, model, replace(info, update=done))
    return Run(config=config, policy=model.policy, rows=journals.rows, update=done)


def _begin_or_resume(out: Path, wanted: CheckpointInfo, *, resume: bool) -> int:
    """Return how many updates the run in a folder has; FileError where it is another one than is wanted."""
    if not resume:
        create_run_folder(out)
        return 0
    path = out / CHECKPOINT
    info = checkpoint.read_info(path)
    check_resumable(path, info, wanted, system="roadsense")
    drop_rows_after(out / LOG, info.update)
    return info.update


def build_learner(config: Config, envs: VecEnv, *, after: int = 0) -> PPO:
    """Return an untrained PPO; its episodes are those that begin after that many updates."""
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
        policy_kwargs=build_network_settings(config.log_std),
        seed=config.seed,
        device="cpu",
    )
    model.set_logger(configure(None, []))  # its figures are taken from it, and written by the journals
    envs.seed(derive_seed(config, after))
    return model


def run_update(model: PPO, update: int, terms: RewardTermsCallback) -> dict[str, Any]:
    """Play a rollout, learn from it, and return the figures of the update; `terms` is the same one for a whole run."""
    episodes, before = EpisodeStatistics(), time.perf_counter()
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
        **episodes.summarise(),
        **{name: float(found[f"train/{theirs}"]) for name, theirs in _FIGURES.items()},
        "entropy": -float(found["train/entropy_loss"]),
        **({"std": float(found["train/std"])} if "train/std" in found else {}),
        **{name: float(value) for name, value in found.items() if not name.startswith(_THEIRS)},
    }


def save_run(out: Path, model: PPO, info: CheckpointInfo) -> None:
    """Write the run as it is now, and the policy alone."""
    checkpoint.save_run(out / CHECKPOINT, model, info)
    checkpoint.save_policy(out / POLICY, model.policy, replace(info, kind="policy"))


class EpisodeStatistics(BaseCallback):
    """Counts what steps pay and the episodes that end: their return, how long they were, and how they ended."""

    def __init__(self) -> None:
        super().__init__()
        self._steps = 0
        self._paid: list[float] = []
        self._ended: list[dict[str, Any]] = []

    def _on_step(self) -> bool:
        for done, info in zip(self.locals["dones"], self.locals["infos"], strict=True):
            self._steps += 1
            self._paid += info["reward_components"].values()
            if done:
                self._ended.append(info)
        return True

    def summarise(self) -> dict[str, Any]:
        """Return what a step paid in the mean, the number of episodes and their means.

        Rewards are as the environment pays them, before they are scaled for the network. Where no episode ended,
        their means are NaN.
        """
        count = len(self._ended)

        def mean(values: list[float]) -> float:
            return fsum(values) / count if count else float("nan")

        return {
            "reward": fsum(self._paid) / max(1, self._steps),
            "episodes": count,
            "return": mean([fsum(info["episode_reward_components"].values()) for info in self._ended]),
            "length": mean([info["step"] for info in self._ended]),
            "collision_rate": mean([info["collision"] for info in self._ended]),
            "hazard_rate": mean([info["hazard_injected"] for info in self._ended]),
        }

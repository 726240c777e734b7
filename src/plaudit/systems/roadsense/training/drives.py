"""Evaluation episodes: the same ones for every policy."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces

from plaudit.ledger.ledger import Ledger
from plaudit.reward.reward import Reward
from plaudit.systems.roadsense.action_applicator import HARDEST, RELEASE
from plaudit.systems.roadsense.env import RoadSenseEnv
from plaudit.systems.roadsense.fields import BRAKE
from plaudit.systems.roadsense.hazard import HAZARDS
from plaudit.systems.roadsense.measurement import Measurement, select_columns
from plaudit.systems.roadsense.policies import Policy, PolicyInput
from plaudit.systems.roadsense.scenario import SCENARIOS

SEED = 1_000_003
"""All runs are judged by the same episodes, which no run was trained on."""
MOST_PEERS = 5


class Bucket(NamedTuple):
    """Which convoys: how many cars are ahead, and which of them brakes, counted from the driven one."""

    peers: int
    rank: int

    def __str__(self) -> str:
        return f"{self.peers}/{self.rank}"


BUCKETS = tuple(Bucket(peers, rank) for peers in range(1, MOST_PEERS + 1) for rank in range(1, peers + 1))


class Drive(NamedTuple):
    """One episode, step by step."""

    bucket: Bucket
    measured: dict[str, np.ndarray[Any, Any]]
    """Every measure under its name, a row for each step."""
    true_distance: np.ndarray[Any, Any]
    requested: np.ndarray[Any, Any]
    """How hard the policy asked to brake, in m/s², whatever the car did on its own."""
    terms: dict[str, float]
    """What each term of the reward gave in all."""
    collision: bool
    truncated: str | None
    """Why the episode was cut off; None where it was not."""
    hazard: int | None
    """The step in which a car ahead began to brake; None where none did."""
    failed: str | None
    """Why none did."""
    warned: bool
    """Whether its warning arrived."""

    @property
    def returned(self) -> float:
        """What the episode paid in all."""
        return float(sum(self.terms.values()))


def drive_buckets(env: RoadSenseEnv, driver: Policy, *, episodes: int) -> Iterator[Drive]:
    """Yield `episodes` drives of every bucket; each bucket has its own convoys, the same ones for every driver."""
    for bucket in BUCKETS:
        for number in range(episodes):
            yield drive_episode(env, driver, bucket, seed=np.random.SeedSequence([SEED, *bucket, number]))


def drive_episode(env: RoadSenseEnv, driver: Policy, bucket: Bucket, *, seed: np.random.SeedSequence) -> Drive:
    """Drive one episode of a bucket to its end."""
    rng = np.random.default_rng(seed)
    options = {
        "scenario": SCENARIOS["late"].sample(rng, peers=bucket.peers),
        "hazard": replace(HAZARDS["evaluation"], target=f"rank:{bucket.rank}"),
    }
    observation, info = env.reset(seed=int(rng.integers(2**31)), options=options)
    discrete, last, over = isinstance(env.action_space, spaces.Discrete), info, False
    rows: list[Measurement] = []
    distances: list[float] = []
    requested: list[float] = []
    while not over:
        action = driver(PolicyInput(env.measured, len(rows), rng, observation))
        observation, _, terminated, truncated, info = env.step(action)
        over = terminated or truncated
        if "reward_components" in info:  # else the car had left the road, and nothing was measured
            last = info
            rows.append(env.measured)
            distances.append(env.true_distance)
            requested.append(compute_requested_deceleration(action, discrete=discrete))
    return Drive(
        bucket,
        dict(zip(Measurement._fields, map(np.array, zip(*rows, strict=True)), strict=True)),
        np.array(distances),
        np.array(requested),
        dict(info["episode_reward_components"]),
        info["collision"],
        info.get("truncated_reason"),
        last["hazard_step"] if last["hazard_injected"] else None,
        last["hazard_injection_failed_reason"],
        env.measured.warned_ever > 0,
    )


def compute_requested_deceleration(action: Any, *, discrete: bool) -> float:
    """Return how hard an action asks the car to brake, in m/s².

    >>> compute_requested_deceleration(2, discrete=True)
    2.0
    >>> [compute_requested_deceleration(level, discrete=False) for level in (np.array([0.5]), 0.01)]
    [4.0, 0.0]
    """
    level = np.asarray(action).item()
    if discrete:
        return BRAKE[level]
    return HARDEST * level if level > RELEASE else 0.0


def stack_measures(drives: Iterable[Drive]) -> dict[str, np.ndarray[Any, Any]]:
    """Return every measure of some drives under its name, one drive after the other."""
    rows = [each.measured for each in drives]
    return {name: np.concatenate([each[name] for each in rows]) for name in rows[0]}


def record_drives(
    ledger: Ledger, reward: Reward, drives: Sequence[Drive], *, run: str, actor: str, steps: int
) -> list[int]:
    """Record every step of some drives and return the numbers of the records.

    `actor` is the policy that drove, after that many `steps` of training. An episode is called by its bucket.
    """
    lengths = [len(drive.requested) for drive in drives]
    return ledger.record_batch(
        reward,
        select_columns(reward, stack_measures(drives)),
        run=run,
        episode=[str(drive.bucket) for drive, length in zip(drives, lengths, strict=True) for _ in range(length)],
        step=[step for length in lengths for step in range(1, length + 1)],
        phase="evaluation",
        actor=actor,
        context={"trained_steps": steps},
    )

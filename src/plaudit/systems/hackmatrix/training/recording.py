"""Episodes of a trained policy in a ledger: each step with what the reward read, so that it can be explained."""

from collections.abc import Sequence

import numpy as np

from plaudit.ledger.store import Ledger
from plaudit.reward.reward import Reward
from plaudit.systems.hackmatrix.training.evaluation import Inputs


def record_episodes(
    ledger: Ledger, reward: Reward, episodes: Sequence[Inputs], *, run: str, actor: str, steps: int
) -> list[int]:
    """Record every step of some episodes and return the numbers of the records.

    `actor` is the policy that played them, after so many `steps` of training.
    """
    lengths = [len(episode["action"]) for episode in episodes]
    return ledger.record_batch(
        reward,
        {name: np.concatenate([episode[name] for episode in episodes]) for name in reward.program.inputs},
        run=run,
        episode=[number for number, length in enumerate(lengths, 1) for _ in range(length)],
        step=[step for length in lengths for step in range(1, length + 1)],
        phase="evaluation",
        actor=actor,
        context={"trained_steps": steps},
    )

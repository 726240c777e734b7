"""Drives of a policy in a ledger: each step with what the reward read, so that it can be explained."""

from collections.abc import Sequence

from plaudit.ledger.store import Ledger
from plaudit.reward.reward import Reward
from plaudit.systems.roadsense.measured import columns_of
from plaudit.systems.roadsense.training.drives import Drive
from plaudit.systems.roadsense.training.evaluation import stacked


def record_drives(
    ledger: Ledger, reward: Reward, drives: Sequence[Drive], *, run: str, actor: str, steps: int
) -> list[int]:
    """Record every step of some drives and return the numbers of the records.

    `actor` is the policy that drove, after so many `steps` of training. An episode is called by its bucket.
    """
    lengths = [len(drive.requested) for drive in drives]
    return ledger.record_batch(
        reward,
        columns_of(reward, stacked(drives)),
        run=run,
        episode=[str(drive.bucket) for drive, length in zip(drives, lengths, strict=True) for _ in range(length)],
        step=[step for length in lengths for step in range(1, length + 1)],
        phase="evaluation",
        actor=actor,
        context={"trained_steps": steps},
    )

"""Score drives under every version, all of them at once: what was measured is read by whoever reads it."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from plaudit.reward.reward import Reward
from plaudit.systems.roadsense.experiment.driving import Drive
from plaudit.systems.roadsense.experiment.storing import columns
from plaudit.systems.roadsense.measured import columns_of

Returns = NDArray[np.float64]


def returns(rewards: Mapping[str, Reward], drives: Sequence[Drive]) -> dict[str, Returns]:
    """Return what each reward pays for each drive as a whole, by the reward's name in `rewards`."""
    rows = np.concatenate([drive.rows for drive in drives])
    lengths = [len(drive.rows) for drive in drives]
    starts = np.cumsum([0, *lengths[:-1]])
    measured = columns(rows)
    found = {}
    for name, reward in rewards.items():
        totals = reward.compile("numpy")(columns_of(reward, measured)).total
        found[name] = np.add.reduceat(np.asarray(totals, np.float64), starts)
    return found

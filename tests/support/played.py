"""Steps that happened, written down by hand."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from plaudit.checks.seen_steps import SeenSteps


def make_steps(*episodes: Mapping[str, Sequence[Any]], ends: bool = False) -> SeenSteps:
    """Return episodes as steps; each field has a value for where an episode begins, and one after every step.

    With `ends` every episode is over after its last step, and else its time was up.
    """
    lengths = [len(next(iter(each.values()))) - 1 for each in episodes]
    last = np.concatenate([np.arange(length) == length - 1 for length in lengths])
    return SeenSteps(
        before={name: np.concatenate([np.asarray(each[name][:-1]) for each in episodes]) for name in episodes[0]},
        after={name: np.concatenate([np.asarray(each[name][1:]) for each in episodes]) for name in episodes[0]},
        episode=np.repeat(np.arange(len(episodes)), lengths),
        terminated=last if ends else np.zeros(sum(lengths), bool),
        truncated=np.zeros(sum(lengths), bool) if ends else last,
    )

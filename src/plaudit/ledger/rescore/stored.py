"""Changes of a part kept in a file, until those of all parts are merged: arrays, and the rest as JSON."""

import json
import os
from dataclasses import asdict
from typing import Any

import numpy as np

from plaudit.ledger.rescore.changes import Candidates, Changes, Flips, Spread
from plaudit.ledger.rescore.rounding import Rounding
from plaudit.ledger.summary.returns import EpisodeReturns

_COUNTS = ("records", "unchanged", "lost", "gained", "without")
_SPREADS = ("old", "new", "difference")


def save_changes(changes: Changes, path: str | os.PathLike[str]) -> None:
    """Write changes to a file; a label that JSON does not have, as of a date, is kept as its text."""
    positions, pairs = changes.sample.settle()
    keys, sums = changes.episodes.sums
    plain = {
        "counts": [getattr(changes, name) for name in _COUNTS],
        "spreads": [asdict(getattr(changes, name)) for name in _SPREADS],
        "flips": [[label, asdict(flips)] for label, flips in changes.flips.items()],
        "ends": changes.ends,
        "rounding": asdict(changes.rounding),
        "episodes": keys,
    }
    text = np.frombuffer(json.dumps(plain, default=str).encode(), np.uint8)
    with open(path, "wb") as file:
        np.savez(file, text=text, positions=positions, pairs=pairs, sums=sums)


def load_changes(path: str | os.PathLike[str]) -> Changes:
    """Return what `save_changes` wrote."""
    with np.load(path, allow_pickle=False) as file:
        text, positions, pairs, sums = (file[name] for name in ("text", "positions", "pairs", "sums"))
    plain = json.loads(text.tobytes())
    spreads: dict[str, Any] = {name: Spread(**each) for name, each in zip(_SPREADS, plain["spreads"], strict=True)}
    changes = Changes(
        **dict(zip(_COUNTS, plain["counts"], strict=True)),
        **spreads,
        flips={label: Flips(**flips) for label, flips in plain["flips"]},
        rounding=Rounding(**plain["rounding"]),
        episodes=EpisodeReturns.restore([tuple(key) for key in plain["episodes"]], sums),
    )
    changes.ends = [Candidates(*each) for each in plain["ends"]]
    changes.sample.add(pairs[0], pairs[1], positions)
    return changes

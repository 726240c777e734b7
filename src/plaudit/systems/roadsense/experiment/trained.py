"""Policies that `plaudit train roadsense` found, driving in the experiment beside the fixed ones."""

import hashlib
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from plaudit.errors import DefinitionError, FileError
from plaudit.plugins.options import explain_missing
from plaudit.systems.roadsense.action_applicator import Actions
from plaudit.systems.roadsense.policies import Policy
from plaudit.systems.training.run import POLICY


class TrainedPolicy(NamedTuple):
    """A trained policy: the file it is in, and which actions it takes."""

    name: str
    """That of its folder and a digest of its weights: another training in the same folder is another policy."""
    path: str
    actions: Actions


def is_run(text: str) -> bool:
    """Return whether the name of a policy is the path of a run, or of a file in it."""
    return "/" in text or "\\" in text or text.endswith(".npz") or Path(text).exists()


def find_trained(text: str) -> TrainedPolicy:
    """Return the policy of a run, given by its folder or by a file in it; DefinitionError if it cannot drive here."""
    path = Path(text) / POLICY if Path(text).is_dir() else Path(text)
    with explain_missing("a trained policy", "sumo,sb3"):
        from plaudit.systems.roadsense.training.checkpoint import load_policy, read_info
    try:
        info = read_info(path)
        load_policy(path)  # weights of another shape are refused before anything is driven
    except FileError as error:
        raise DefinitionError(f"{text} is not a run of `plaudit train roadsense`: {error}") from None
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:8]
    return TrainedPolicy(f"{path.resolve().parent.name}@{digest}", str(path), info.config.actions)


@lru_cache(maxsize=4)
def load_trained(path: str) -> Policy:
    """Return what drives as the network in a file finds best."""
    from plaudit.systems.roadsense.training import load_driver

    return load_driver(Path(path))

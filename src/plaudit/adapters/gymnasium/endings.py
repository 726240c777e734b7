"""Environments that begin anew within the step that ends an episode: what that step led to, not what it began."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector.utils import concatenate, create_empty_array
from numpy.typing import NDArray

from plaudit.errors import MissingField

Mask = NDArray[np.bool_]

_FINAL = ("final_obs", "final_info")


def last_seen(space: spaces.Space[Any], obs: Any, info: Mapping[str, Any], ended: Mask) -> Any:
    """Return a batch of observations with the last one of each episode that ended; `space` is that of one of them."""
    if "final_obs" not in info:
        raise MissingField(
            "an episode ended in autoreset mode SAME_STEP, and info has no 'final_obs', so nothing says where."
        )
    final = info["final_obs"]
    if isinstance(final, np.ndarray) and final.dtype == object:
        which = list(final[ended])
        place: Any = create_empty_array(space, n=len(which))
        final = concatenate(space, which, place)
    else:
        final = _taken(final, ended)
    return _placed(space, obs, final, ended)


def _taken(batch: Any, which: Mask) -> Any:
    if isinstance(batch, Mapping):
        return {name: _taken(part, which) for name, part in batch.items()}
    if isinstance(batch, tuple):
        return tuple(_taken(part, which) for part in batch)
    return batch[which]


def _placed(space: spaces.Space[Any], batch: Any, part: Any, which: Mask) -> Any:
    """Return `batch` with `part` in some of its places, in the structure that Gymnasium gives a batch of `space`."""
    if isinstance(space, spaces.Dict):
        return {name: _placed(each, batch[name], part[name], which) for name, each in space.items()}
    if isinstance(space, spaces.Tuple):
        return tuple(_placed(each, batch[at], part[at], which) for at, each in enumerate(space.spaces))
    if isinstance(batch, np.ndarray):
        placed = batch.copy()
        placed[which] = part
        return placed
    listed = list(batch)  # a batch of texts, graphs and the like is a tuple of them
    for at, value in zip(np.flatnonzero(which), part, strict=True):
        listed[at] = value
    return tuple(listed)


def last_told(info: Mapping[str, Any], ended: Mask) -> dict[str, Any]:
    """Return the info of the step: for environments that began anew, what their last step told instead of the reset."""
    final = info.get("final_info", {})
    begun = {name: value for name, value in info.items() if name.removeprefix("_") not in _FINAL}
    return _merged(begun, final, ended)


def _merged(begun: Mapping[str, Any], final: Mapping[str, Any], ended: Mask) -> dict[str, Any]:
    merged = dict(begun)
    for name, value in begun.items():
        if name not in final and name[:1] == "_" and isinstance(value, np.ndarray):
            merged[name] = value & ~ended  # only the reset told it
    for name, value in final.items():
        there = begun.get(name)
        if isinstance(value, Mapping):
            merged[name] = _merged(there if isinstance(there, Mapping) else {}, value, ended)
        else:
            merged[name] = np.where(_wide(ended, value), value, np.zeros_like(value) if there is None else there)
    return merged


def _wide(mask: Mask, like: NDArray[Any]) -> Mask:
    """Return a mask that fits an array with more axes."""
    return mask.reshape(-1, *(1,) * (like.ndim - 1))

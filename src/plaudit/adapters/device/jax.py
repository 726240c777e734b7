"""Copies from JAX to the host: one jitted call gathers what is to be recorded, in arrays of fixed shapes."""

from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from plaudit.adapters.device.packing import Fetched, Packing, check_capacity
from plaudit.adapters.sampling import EpisodeSample


class JaxCopy(NamedTuple):
    """Arrays on their way to the host."""

    packing: Packing
    arrays: dict[str, jax.Array]
    chosen: jax.Array | None
    """How many rows are meant, and then where these were; None for all."""

    def is_ready(self) -> bool:
        """Return whether the device has made them."""
        return all(array.is_ready() for array in self.arrays.values())  # type: ignore[attr-defined]

    def fetch(self) -> Fetched:
        """Wait for the copies and return them."""
        columns = self.packing.unpack({group: np.asarray(array) for group, array in self.arrays.items()})
        if self.chosen is None:
            return Fetched(columns, np.arange(self.packing.rows))
        count, *places = np.split(np.asarray(self.chosen, np.int64), [1])
        check_capacity(int(count[0]), len(places[0]))
        kept = slice(int(count[0]))
        return Fetched({name: column[kept] for name, column in columns.items()}, places[0][kept])


class JaxCopier:
    """Begins copies of steps, and counts on the device which episode each environment is in."""

    def __init__(self, sample: EpisodeSample | None, envs: int) -> None:
        """Let every environment begin its first episode."""
        self._begun = jnp.zeros(envs, jnp.uint32)
        self._gather = jax.jit(partial(_gather, sample=sample))
        self._is_sample = sample is not None

    def start(self, columns: Mapping[str, Any], lead: tuple[int, ...]) -> JaxCopy:
        """Begin the copy of steps; `columns` has `ended` besides what is recorded."""
        packing = Packing(columns, lead)
        arrays, chosen, self._begun = self._gather(dict(columns), self._begun)
        for array in (*arrays.values(), *(() if chosen is None else (chosen,))):
            array.copy_to_host_async()
        return JaxCopy(packing, arrays, chosen)


def _gather(
    columns: dict[str, jax.Array], begun: jax.Array, *, sample: EpisodeSample | None
) -> tuple[dict[str, jax.Array], jax.Array | None, jax.Array]:
    lead = columns["ended"].shape
    packing = Packing(columns, lead)
    packed = {group: jnp.concatenate(packing.flatten(group, columns), axis=1) for group in packing.groups}
    if sample is None:
        return packed, None, begun
    envs = len(begun)
    ended = columns["ended"].reshape((-1, envs)).astype(jnp.uint32)
    before = jnp.cumsum(ended, axis=0, dtype=jnp.uint32) - ended
    chosen = sample.choose(jnp.arange(envs, dtype=jnp.uint32), begun + before, np.uint32)
    counts = jnp.cumsum(chosen.reshape(-1), dtype=jnp.int32)
    capacity = len(ended) * sample.estimate_capacity(envs)
    places = jnp.searchsorted(counts, jnp.arange(1, capacity + 1, dtype=jnp.int32), method="scan_unrolled")
    kept = {group: array.at[places].get(mode="clip") for group, array in packed.items()}
    return kept, jnp.concatenate([counts[-1:], places.astype(jnp.int32)]), begun + ended.sum(0, dtype=jnp.uint32)

"""Copies from PyTorch to the host: through pinned memory, on a stream of their own."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import torch

from plaudit.adapters.device.packing import Fetched, Packing, check_capacity
from plaudit.adapters.sampling import EpisodeSample


class TorchCopy(NamedTuple):
    """Tensors on their way to the host."""

    packing: Packing
    arrays: dict[str, torch.Tensor]
    chosen: torch.Tensor | None
    """How many rows are meant, and then where these were; None for all."""
    done: torch.cuda.Event | None
    """What tells that they have arrived; None on a host."""

    def is_ready(self) -> bool:
        """Return whether the copies have arrived."""
        return self.done is None or bool(self.done.query())  # type: ignore[no-untyped-call]

    def fetch(self) -> Fetched:
        """Wait for the copies and return them."""
        if self.done is not None:
            self.done.synchronize()
        columns = self.packing.unpack({group: array.numpy() for group, array in self.arrays.items()})
        if self.chosen is None:
            return Fetched(columns, np.arange(self.packing.rows))
        count, places = int(self.chosen[0]), self.chosen[1:].numpy()
        check_capacity(count, len(places))
        return Fetched({name: column[:count] for name, column in columns.items()}, places[:count])


class TorchCopier:
    """Begins copies of steps, and counts on the device which episode each environment is in."""

    def __init__(self, sample: EpisodeSample | None, envs: int) -> None:
        """Let every environment begin its first episode."""
        self._sample, self._envs = sample, envs
        self._begun: torch.Tensor | None = None
        self._stream: torch.cuda.Stream | None = None

    @torch.no_grad()
    def start(self, columns: Mapping[str, Any], lead: tuple[int, ...]) -> TorchCopy:
        """Begin the copy of steps; `columns` has `ended` besides what is recorded."""
        columns = {name: _to_known(column) for name, column in columns.items()}
        packing = Packing(columns, lead)
        packed = {group: torch.cat(packing.flatten(group, columns), 1) for group in packing.groups}
        chosen = None if self._sample is None else self._choose(self._sample, columns["ended"])
        if chosen is not None:
            places = chosen[1:].clamp(max=packing.rows - 1)
            packed = {group: array[places] for group, array in packed.items()}
        if not columns["ended"].is_cuda:
            return TorchCopy(packing, packed, chosen, None)
        return self._copy(packing, packed, chosen)

    def _choose(self, sample: EpisodeSample, ended: torch.Tensor) -> torch.Tensor:
        """Return how many rows to record, and then where they are, in a tensor of fixed length."""
        if self._begun is None:
            self._begun = torch.zeros(self._envs, dtype=torch.int64, device=ended.device)
        over = ended.reshape(-1, self._envs).long()
        chosen = sample.choose(torch.arange(self._envs, device=ended.device), self._begun + over.cumsum(0) - over)
        self._begun = self._begun + over.sum(0)
        counts = chosen.reshape(-1).cumsum(0)
        capacity = len(over) * sample.estimate_capacity(self._envs)
        places = torch.searchsorted(counts, torch.arange(1, capacity + 1, device=ended.device))
        return torch.cat([counts[-1:], places])

    def _copy(self, packing: Packing, packed: dict[str, torch.Tensor], chosen: torch.Tensor | None) -> TorchCopy:
        """Begin to copy to pinned memory, without a wait of the stream that computes."""
        if self._stream is None:
            self._stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        self._stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self._stream):
            arrays = {group: self._pin(array) for group, array in packed.items()}
            chosen = None if chosen is None else self._pin(chosen)
            done = torch.cuda.Event()  # type: ignore[no-untyped-call]
            done.record(self._stream)
        return TorchCopy(packing, arrays, chosen, done)

    def _pin(self, array: torch.Tensor) -> torch.Tensor:
        assert self._stream is not None
        array.record_stream(self._stream)
        return torch.empty_like(array, device="cpu", pin_memory=True).copy_(array, non_blocking=True)


def _to_known(column: torch.Tensor) -> torch.Tensor:
    """Return a column in a dtype that NumPy has: float32 holds every bfloat16."""
    column = column.detach()
    return column.float() if column.dtype is torch.bfloat16 else column

"""How one reward's records lie in a block: so many float64 in, so many out, row after row."""

import json
import struct
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plaudit.reward.reward import Reward
from plaudit.reward.signal import Frame, Signal
from plaudit.targets.scores import Scores

FLOAT = np.dtype("<f8")

Rows = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Shape:
    """The rows of a reward: inputs as numbers in order; the total, then score and value of each term."""

    reward: Reward
    part: str = "whole"
    """"final" for the terminal terms alone."""

    @cached_property
    def scored(self) -> Reward:
        """The reward that computes these rows: the whole one, or its terminal terms."""
        return self.reward if self.part == "whole" else self.reward._final

    @cached_property
    def identity(self) -> tuple[str, str, str, str, str]:
        """Name, version, part and both fingerprints."""
        reward = self.reward
        return reward.name, reward.version, self.part, reward.fingerprint, reward.domain_fingerprint

    @cached_property
    def inputs(self) -> str:
        """The inputs in order, as JSON."""
        fields = self.scored.program.inputs.items()
        return json.dumps([{"name": n, "kind": f.kind, "labels": list(f.labels)} for n, f in fields])

    @cached_property
    def outputs(self) -> str:
        """The outputs in order, as JSON."""
        terms = self.scored.program.terms
        return json.dumps(["total", *(f"{term}.{part}" for term in terms for part in ("score", "value"))])

    @cached_property
    def width(self) -> int:
        """How many numbers go in."""
        return len(self.scored.inputs)

    @cached_property
    def breadth(self) -> int:
        """How many numbers come out."""
        return 1 + 2 * len(self.scored.terms)

    # -- from signals and scores to bytes ---------------------------------------------------------------------------

    @cached_property
    def pack_inputs(self) -> Callable[..., bytes]:
        """The function from the numbers of a row to its bytes."""
        return struct.Struct(f"<{self.width}d").pack

    @cached_property
    def pack_outputs(self) -> Callable[..., bytes]:
        """The function from the outputs of a row to its bytes."""
        return struct.Struct(f"<{self.breadth}d").pack

    def packer(self, frame: Frame) -> Callable[[Signal], tuple[bytes, bytes]]:
        """Return the function from a signal with this frame to the bytes of its inputs and outputs."""
        pairs = zip(frame.scores, frame.values, strict=True)
        pick = itemgetter(0, *(at for pair in pairs for at in pair))
        pack_inputs, pack_outputs = self.pack_inputs, self.pack_outputs
        if frame.source is not None:
            return lambda signal: (pack_inputs(*signal.row), pack_outputs(*pick(signal.outputs)))

        def from_data(signal: Signal) -> tuple[bytes, bytes]:
            return pack_inputs(*self.row_of(signal.inputs)), pack_outputs(*pick(signal.outputs))

        return from_data

    def row_of(self, inputs: dict[str, Any]) -> tuple[Any, ...]:
        """Return the row past the door of inputs by name."""
        return self.scored._compiled.row(inputs)

    def columns_to_rows(self, columns: list[Any], count: int) -> Rows:
        """Return columns side by side: row after row, as a block holds them."""
        rows = np.empty((count, len(columns)), FLOAT)
        for at, column in enumerate(columns):
            rows[:, at] = column
        return rows

    def scores_to_rows(self, scores: Scores, count: int) -> Rows:
        """Return a batch of scores as a block holds them."""
        terms = self.scored.program.terms
        parts = [scores.total, *(part[term] for term in terms for part in (scores.scores, scores.values))]
        return self.columns_to_rows(parts, count)

    # -- from bytes to signals ----------------------------------------------------------------------------------

    @cached_property
    def frame(self) -> Frame:
        """What the signals of stored rows share: their outputs stand as they are stored, clamped scores after."""
        own = self.scored._frame
        terms = self.scored.terms
        scores = tuple(1 + 2 * at for at in range(len(terms)))
        clamps = [at for at, term in enumerate(terms) if term.low is not None or term.high is not None]
        clamped = tuple(self.breadth + clamps.index(at) if at in clamps else scores[at] for at in range(len(terms)))
        return replace(own, scores=scores, values=tuple(at + 1 for at in scores), clamped=clamped)

    @cached_property
    def _clamps(self) -> list[tuple[int, float | None, float | None]]:
        terms = enumerate(self.scored.terms)
        return [(1 + 2 * at, t.low, t.high) for at, t in terms if t.low is not None or t.high is not None]

    @cached_property
    def _flags(self) -> tuple[int, ...]:
        fields = self.scored.program.inputs.values()
        return tuple(at for at, field in enumerate(fields) if field.kind == "flag")

    def signal(self, inputs: list[float], outputs: list[float]) -> Signal:
        """Return the signal of one stored row."""
        for at in self._flags:
            inputs[at] = bool(inputs[at])
        for at, low, high in self._clamps:
            score = outputs[at]
            low_bound = score if low is None else max(score, low)
            outputs.append(low_bound if high is None else min(low_bound, high))
        return Signal(self.frame, tuple(inputs), tuple(outputs))

    @cached_property
    def _unpack_inputs(self) -> Callable[[bytes], tuple[float, ...]]:
        return struct.Struct(f"<{self.width}d").unpack

    @cached_property
    def _unpack_outputs(self) -> Callable[[bytes], tuple[float, ...]]:
        return struct.Struct(f"<{self.breadth}d").unpack

    def signal_of(self, inputs: bytes, outputs: bytes) -> Signal:
        """Return the signal of a block of one row."""
        return self.signal(list(self._unpack_inputs(inputs)), list(self._unpack_outputs(outputs)))

    def fits(self, inputs: bytes, outputs: bytes, count: int) -> bool:
        """Return whether a block holds as many bytes as `count` rows have."""
        return len(inputs) == 8 * count * self.width and len(outputs) == 8 * count * self.breadth

    def input_rows(self, inputs: bytes, count: int) -> Rows:
        """Return the inputs of `count` records; a reward may read nothing, and then there are no bytes."""
        return np.frombuffer(inputs, FLOAT).reshape(count, self.width)

    def output_rows(self, outputs: bytes, count: int) -> Rows:
        """Return the outputs of `count` records."""
        return np.frombuffer(outputs, FLOAT).reshape(count, self.breadth)

"""The steps of running environments: each packed in a moment, thousands of them scored and encoded at once."""

import struct
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from plaudit.ledger.context import Scope
from plaudit.ledger.storage.codec import FEWEST, FLOAT, Block, NotFaithful, RecordLayout, Rows
from plaudit.ledger.storage.computation import Computation
from plaudit.ledger.storage.episode_parts import ENDS, MASKED, encode_outcomes
from plaudit.ledger.storage.recompute import get_recomputer
from plaudit.targets.dtypes import Dtypes

Integers: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]


class Steps(NamedTuple):
    """Steps in order, a column for each thing that is known of them."""

    times: Any
    """In nanoseconds; one for all where many environments took a step at once."""
    episodes: Integers
    steps: Integers
    originals: Sequence[Any] | NDArray[Any]
    """What the environment itself paid."""
    terminated: Flags
    truncated: Flags
    inputs: Rows


class StepStream:
    """Steps of one reward, run and actor that wait to be written, in order.

    While the environment runs, a step is one object in `waiting`; all else is done later, for thousands of them at
    once. A step of one environment is bytes, which `pack` makes: neither the collector of garbage nor the core that
    writes them has to look at every number. A step of many environments is `Steps`. A tuple of dtypes says what the
    inputs of the steps after it came in, where that is narrower than float64.
    """

    def __init__(
        self, layout: RecordLayout, scope: Scope, envs: int | None, *, most: int, segments: Any = None
    ) -> None:
        """Begin with nothing; `envs` says how many environments take a step at once, if it is not one alone.

        `most` steps may wait; many at once go to `segments`, where there are any.
        """
        self._segments = segments
        self._dtypes: Dtypes = ()
        """Those of the first step that waits."""
        self._last_dtypes: Dtypes = ()
        self._layout, self._scope, self._envs = layout, scope, envs
        self.most = max(1, most // (envs or 1))
        """How many entries may wait."""
        self._recomputer = get_recomputer(layout)
        self.waiting: deque[Any] = deque()
        self.about: dict[tuple[int, int], Mapping[str, Any]] = {}
        """What the contexts of some steps say besides, by episode and step: of those that could not be scored, why."""
        self.pack: Callable[..., bytes] = struct.Struct(f"<qqqd3?{layout.width}d").pack
        """Takes time, episode, step, original reward, whether that is no number, terminated, truncated, inputs."""
        self._packed = np.dtype(
            [
                *((name, "<i8") for name in ("time", "episode", "step")),
                ("original", "<f8"),
                *((name, "?") for name in ("unpaid", *ENDS)),
                ("inputs", FLOAT, (layout.width,)),
            ]
        )

    @property
    def is_full(self) -> bool:
        """Whether a step has to wait until others are written."""
        return len(self.waiting) >= self.most

    def change_dtypes(self, dtypes: Dtypes) -> None:
        """Say in which dtypes the inputs of further steps come."""
        if dtypes != self._last_dtypes:
            self._last_dtypes = dtypes
            self.waiting.append(dtypes)

    def drop(self) -> None:
        """Forget what waits."""
        self.waiting.clear()
        self._last_dtypes = self._dtypes

    def count(self, taken: list[Any]) -> int:
        """Return how many steps were taken."""
        steps = [entry for entry in taken if type(entry) is not tuple]
        return len(steps) if self._envs is None else sum(len(entry.steps) for entry in steps)

    def encode(self, taken: list[Any]) -> Iterator[Block]:
        """Yield steps as blocks; those whose inputs came in the same dtypes are scored at once."""
        dtypes = self._dtypes
        self._dtypes = next((entry for entry in reversed(taken) if type(entry) is tuple), dtypes)
        for is_dtypes, entries in groupby(taken, lambda entry: type(entry) is tuple):
            if is_dtypes:
                *_, dtypes = entries
            else:
                yield from self._encode_alike(list(entries), dtypes)

    def _encode_alike(self, taken: list[Any], dtypes: Dtypes) -> Iterator[Block]:
        steps = self._unpack(taken) if self._envs is None else _sort_by_environment(_join_steps(taken), self._envs)
        unknown = np.isnan(steps.inputs)
        if unknown.any():  # of all NaN that there are, one: bytes are compared
            steps = steps._replace(inputs=np.where(unknown, np.nan, steps.inputs))
        inputs = steps.inputs
        outputs = self._recomputer.run_numpy(inputs)
        about = self._take_about(steps)
        masked = np.isnan(outputs[:, 0])
        masked[[at for at, said in about.items() if MASKED in said]] = False
        if masked.any():  # it was paid, so that it must have a score: this raises why it has none
            self._layout.scored.compile("numpy")(self._layout.split_columns(inputs[masked]))
        target = Computation("numpy", inputs=dtypes).format(self._layout.scored.program)
        if self._segments is not None and len(outputs) >= FEWEST:
            with suppress(NotFaithful):
                yield from self._segments.store_steps(self._layout, target, self._scope, steps, outputs, about)
                return
        most = self._layout.most_records
        for start in range(0, len(outputs), most):
            end = start + most
            part = Steps._make(column[start:end] for column in steps)
            said = {at - start: each for at, each in about.items() if start <= at < end}
            yield self._build_block(target, part, outputs[start:end], said)

    def _unpack(self, taken: list[bytes]) -> Steps:
        table = np.frombuffer(b"".join(taken), self._packed)
        originals: Any = table["original"]
        if table["unpaid"].any():
            originals = [None if missing else paid for paid, missing in zip(originals, table["unpaid"], strict=True)]
        columns = {"times": table["time"], "episodes": table["episode"], "steps": table["step"]}
        ends = {end: table[end] for end in ENDS}
        return Steps(**columns, originals=originals, **ends, inputs=np.ascontiguousarray(table["inputs"]))

    def _build_block(self, target: str, part: Steps, outputs: Rows, about: Mapping[int, Mapping[str, Any]]) -> Block:
        times = part.times // 1000
        earliest, latest = int(times.min()), int(times.max())
        return Block(
            self._layout,
            target,
            self._scope,
            len(outputs),
            earliest,
            latest,
            part.inputs.astype(FLOAT, copy=False).tobytes(),
            outputs.astype(FLOAT, copy=False).tobytes(),
            times=str((times - earliest).tolist()) if latest > earliest else None,
            episodes=_encode_episodes(part.episodes),
            steps=_encode_steps(part.steps),
            contexts=encode_outcomes(part.originals, part.terminated, part.truncated, about),
            moments=times.astype("<i8", copy=False).tobytes(),
        )

    def _take_about(self, part: Steps) -> dict[int, Mapping[str, Any]]:
        """Return what the contexts of some of these steps say besides, by position."""
        if not self.about:
            return {}
        names = zip(part.episodes.tolist(), part.steps.tolist(), strict=True)
        found = ((at, self.about.pop(name, None)) for at, name in enumerate(names))
        return {at: said for at, said in found if said is not None}


def _join_steps(taken: Sequence[Steps]) -> Steps:
    """Return steps of many environments at once as steps."""
    counts = [len(each.steps) for each in taken]
    times = np.repeat(np.array([each.times for each in taken], np.int64), counts)
    return Steps._make([times, *(np.concatenate([each[at] for each in taken]) for at in range(1, len(Steps._fields)))])


def _sort_by_environment(steps: Steps, envs: int) -> Steps:
    """Return steps environment after environment, so that an episode lies in few blocks; numbers rise by `envs`."""
    order = np.argsort((steps.episodes - 1) % envs, kind="stable")
    return Steps._make(column[order] for column in map(np.asarray, steps))


def _encode_steps(steps: Integers) -> str:
    """Return a column of integers as JSON; one entry where all are the same."""
    return str((steps[:1] if (steps == steps[0]).all() else steps).tolist())


def _encode_episodes(episodes: Integers) -> str:
    """Return a column of episodes, which are strings in a ledger, as JSON; one entry where all are the same."""
    starts = np.flatnonzero(np.diff(episodes, prepend=episodes[0] - 1))
    if len(starts) == 1:
        return f'["{episodes[0]}"]'
    lengths = np.diff(starts, append=len(episodes)).tolist()
    runs = (f'"{name}", ' * length for name, length in zip(episodes[starts].tolist(), lengths, strict=True))
    return f"[{''.join(runs)[:-2]}]"

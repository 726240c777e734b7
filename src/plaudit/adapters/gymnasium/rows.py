"""A reward for a fixed number of environments: a column of each input in, a block with what every term adds out."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from plaudit.adapters.samples import has_clamp
from plaudit.errors import ShapeMismatch
from plaudit.language.field import Field
from plaudit.reward.reward import Reward
from plaudit.targets.array import first_bad, gather
from plaudit.targets.numpy import convert
from plaudit.targets.rows import columns

if TYPE_CHECKING:
    from plaudit.adapters.gymnasium.loop import Loop

Floats = NDArray[np.float64]

MANY = 256
"""From how many environments on compiling for a second pays."""


class Rows:
    """Scores a row for each environment, but for those that began anew, which may hold anything.

    What comes back is the total of each, and a block: a row for each term and, where the total has limits, one for
    what they add.
    """

    def __init__(self, reward: Reward, count: int, *, spare: int = 0) -> None:
        """Prepare for `count` environments; blocks get `spare` rows after the others."""
        self._reward = reward
        self._shape = (count,)
        self._terms = len(reward.terms)
        self._clamp = has_clamp(reward)
        self._size = (self._terms + self._clamp + spare, count)
        self._categories = any(field.kind == "category" for field in reward.program.inputs.values())
        self._loop = _loop(reward, count) if count >= MANY else None
        self._score = self._loop or reward.compile("numpy", on_bad="mask")

    def __call__(self, fields: Mapping[str, Any], begun: NDArray[np.intp]) -> tuple[Floats, Floats]:
        """Return the totals and a block; all of it is 0 for environments that have `begun` anew."""
        total, block, ok = self._scored(self._reward.encode(fields) if self._categories else fields)
        if not ok.all():
            self._refuse(fields, ok, begun)
        if len(begun):
            total[begun] = 0.0
            block[:, begun] = 0.0
        if self._clamp:
            np.subtract(total, np.add.reduce(block[: self._terms]), out=block[self._terms])
        return total, block

    def nothing(self) -> tuple[Floats, Floats]:
        """Return the totals and a block for environments that have all begun anew."""
        return np.zeros(self._shape), np.zeros(self._size)

    def _scored(self, fields: Mapping[str, Any]) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        total, block = np.empty(self._shape), np.empty(self._size)
        taken = self._loop and self._loop.taken(fields)
        if self._loop and taken:
            return total, block, self._loop.write(taken, total, block)
        scores = self._score(fields)
        if scores.total.shape not in ((), self._shape):
            raise self._wrong_shape(fields)
        total[:] = scores.total
        for at, values in enumerate(scores.values.values()):
            block[at] = values
        return total, block, np.broadcast_to(scores.ok, self._shape)

    def inputs(self, fields: Mapping[str, Any]) -> Floats:
        """Return the rows themselves: a column for each input of the reward, in order."""
        arguments, _ = self._arguments(fields)
        rows = np.empty((*self._shape, len(arguments)))
        for at, argument in enumerate(arguments):
            rows[:, at] = argument
        return rows

    def _arguments(self, fields: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        reward = self._reward

        def converted(name: str, field: Field, value: Any) -> tuple[Any, Any]:
            return convert(reward.name, name, field, value)

        arguments, exact, _ = gather(reward.program, columns(reward.program, reward.encode(fields)), converted)
        return arguments, exact

    def _wrong_shape(self, fields: Mapping[str, Any]) -> ShapeMismatch:
        shapes = ", ".join(f"{name} {np.shape(value)}" for name, value in fields.items())
        return ShapeMismatch(
            f"the features of reward {self._reward.name!r} give {shapes}; one value for each of the "
            f"{self._shape[0]} environments is needed."
        )

    def _refuse(self, fields: Mapping[str, Any], ok: NDArray[np.bool_], begun: NDArray[np.intp]) -> None:
        """Raise for the first environment whose row cannot be scored."""
        bad = np.setdiff1d(np.flatnonzero(~ok), begun)
        if len(bad):
            arguments, exact = self._arguments(fields)
            error = first_bad(self._reward.program.bound(), arguments, int(bad[0]), guard=True, exact=exact)
            raise type(error)(f"environment {bad[0]}: {error}")


def _loop(reward: Reward, count: int) -> "Loop | None":
    """Return the reward compiled to machine code, or None where Numba is not installed."""
    try:
        from plaudit.adapters.gymnasium.loop import Loop
    except ModuleNotFoundError as error:
        if (error.name or "plaudit").partition(".")[0] == "plaudit":
            raise
        return None
    return Loop(reward.program, count)

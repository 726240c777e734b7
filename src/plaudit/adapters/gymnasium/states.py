"""The states of many environments at once, from step to step."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plaudit.language.program import Program
from plaudit.targets.states import join_state


class BatchStates:
    """The states of a reward in each of `count` environments: an array per state, its entries along the first axis.

    There are two of each: the state before a step stays until the next one is scored.
    """

    def __init__(self, program: Program, count: int) -> None:
        """Begin an episode in every environment."""
        self._program = program
        self._count = count
        self._resets = [np.array(carried.reset)[:, None] for carried in program.states.values()]
        self.before = [np.repeat(reset, count, axis=1) for reset in self._resets]
        self.after = [array.copy() for array in self.before]
        """The states before the next step."""

    def begin(self, which: NDArray[np.intp]) -> None:
        """Begin an episode in some environments."""
        for array, reset in zip(self.after, self._resets, strict=True):
            array[:, which] = reset

    @contextmanager
    def stepping(self, begun: NDArray[np.intp]) -> Iterator[None]:
        """Score a step: the last states become `before`, and `after` is written meanwhile.

        The states of environments that were just reset (`begun`) stay, and all states stay if the step is refused.
        """
        self.before, self.after = self.after, self.before
        try:
            yield
        except BaseException:
            self.before, self.after = self.after, self.before
            raise
        if len(begun):
            self.keep(begun)

    def keep(self, which: Sequence[int] | NDArray[np.intp]) -> None:
        """Leave the states of some environments as they were before the step."""
        for before, after in zip(self.before, self.after, strict=True):
            after[:, which] = before[:, which]

    def list_before(self) -> dict[str, NDArray[Any]]:
        """Return each state before the step as a column, by its name."""
        states = self._program.states.items()
        return {
            name: array.T.reshape(self._count, *carried.field.shape)
            for (name, carried), array in zip(states, self.before, strict=True)
        }

    def write_after(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Store the states after the step, given as columns."""
        for name, array in zip(self._program.states, self.after, strict=True):
            array[:] = state[name].reshape(self._count, -1).T

    def join(self, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the inputs of a step with the states before it among them."""
        return join_state(self._program, fields, self.list_before())

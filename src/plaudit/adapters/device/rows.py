"""Rows on the host: the inputs of steps as a ledger keeps them, and why some of them have no score."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plaudit.language.field import Field
from plaudit.reward.reward import Reward
from plaudit.rows.on_bad import MaskCount
from plaudit.targets.array import gather
from plaudit.targets.diagnose import diagnose_first_bad
from plaudit.targets.dtypes import Dtypes
from plaudit.targets.inputs import find_dtypes
from plaudit.targets.numpy import convert_column


class InputRows(NamedTuple):
    """The inputs of steps."""

    inputs: NDArray[np.float64]
    dtypes: Dtypes
    """Those narrower than float64 that they came in."""
    reasons: Mapping[int, str]
    """Why steps could not be scored, by row."""


class RowBuilder:
    """Builds the rows of one reward."""

    def __init__(self, reward: Reward, max_masked: float) -> None:
        """Accept at most this share of steps that cannot be scored."""
        self._reward = reward
        self._score = reward.compile("numpy", on_bad="mask")
        self._masked = MaskCount(reward.name, max_masked, unit="steps", per_batch=False)

    def build(self, columns: Mapping[str, Any], count: int) -> InputRows:
        """Return the rows of columns.

        Raises:
            TooManyMasked: Too large a share of the steps so far could not be scored.
        """
        program = self._reward.program
        arguments, exact, _ = gather(program, columns, self._convert)
        inputs = np.empty((count, len(arguments)))
        for at, (argument, field) in enumerate(zip(arguments, program.inputs.values(), strict=True)):
            inputs[:, at] = argument
            if field.kind == "category":
                inputs[inputs[:, at] < 0, at] = np.nan
        ok = np.broadcast_to(self._score(columns).ok, count)
        bad = np.flatnonzero(~ok).tolist()

        def explain(at: int) -> str:
            return str(diagnose_first_bad(program.bind(), arguments, at, guard=True, exact=exact))

        self._masked.add(len(bad), count, explain(bad[0]) if bad else "")
        return InputRows(inputs, find_dtypes(program, columns), {at: explain(at) for at in bad})

    def _convert(self, name: str, field: Field, value: Any) -> tuple[Any, Any]:
        return convert_column(self._reward.name, name, field, value)

"""A reward as CUDA: the header, and the description of a batch that its kernel takes."""

import math
import struct
from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar, NoReturn

from plaudit.errors import MissingField, ShapeMismatch, TargetError, UnknownInput, WrongType, did_you_mean
from plaudit.targets.c.dialect import Dialect
from plaudit.targets.c.reward import CReward
from plaudit.targets.cuda.batch import Array, list_arrays
from plaudit.targets.cuda.dialect import CUDA, format_end, format_start

CODES = {"double": ("f8",), "float": ("f4",), "bool": ("b1",), "int": ("i4",)}
"""The dtypes that hold each type of C, as arrays name them."""


class CudaReward(CReward):
    """A reward compiled to CUDA, as source text.

    `header` is the text of the C target with `__host__ __device__` functions, and a kernel that scores the columns of a
    batch. It compiles with nvcc, with NVRTC, and as C++. `on_bad` has no effect: a bad row has NaN and a status.

    >>> from plaudit import Field, Reward, term
    >>> @term
    ... def near(distance):
    ...     return 1 if distance < 2 else 0
    >>> reaching = Reward("reaching", version="1", terms=[near], fields=[Field("distance", low=0, high=9)])
    >>> compiled = reaching.compile("cuda", real="float")
    >>> "void reaching_kernel(const reaching_batch *batch)" in compiled.header
    True
    >>> [array.name for array in compiled.arrays if array.required], compiled.arrays[-1].name
    (['in.distance'], 'out.scores.near')
    """

    dialect: ClassVar[Dialect] = CUDA

    @cached_property
    def arrays(self) -> tuple[Array, ...]:
        """The arrays of a batch in order, as in its struct: `in.tilt`, `state.air_time`, `out.total`, and so on."""
        return list_arrays(self)

    def describe_batch(self, arrays: Mapping[str, Any], *, rows: int) -> list[int]:
        """Return the struct of a batch as integers: the number of rows, and the address of each array.

        Copy them to the device as 64-bit integers, and pass their address to the kernel.

        Args:
            arrays: Arrays by the names in `arrays`, of anything that has `__cuda_array_interface__`, as tensors of
                PyTorch and arrays of CuPy have, or `__array_interface__`. They must stay where they are.
            rows: The number of rows.

        Returns:
            The integers; 0 for an array that is not given.

        Raises:
            UnknownInput: There is no array of a name.
            MissingField: An array that the kernel reads is not given.
            WrongType: Something is not an array, or has another dtype.
            ShapeMismatch: An array has another number of entries, or is not contiguous.

        >>> import numpy as np
        >>> from plaudit import Field, Reward, term
        >>> @term
        ... def near(distance):
        ...     return 1 if distance < 2 else 0
        >>> reaching = Reward("reaching", version="1", terms=[near], fields=[Field("distance", low=0, high=9)])
        >>> arrays = {"in.distance": np.zeros(8), "out.total": np.zeros(8)}
        >>> batch = reaching.compile("cuda").describe_batch(arrays, rows=8)
        >>> batch[0], batch[1] == arrays["in.distance"].ctypes.data, batch[2]
        (8, True, 0)
        """
        known = {array.name: array for array in self.arrays}
        for name in arrays.keys() - known.keys():
            near = did_you_mean(str(name), known)
            raise UnknownInput(f"reward {self.program.name!r}: a batch has no array {name!r}.{near} See `arrays`.")
        found = [rows]
        for name, array in known.items():
            if array.required and name not in arrays:
                raise MissingField(f"reward {self.program.name!r}: the array {name!r} of the batch is not given.")
            found.append(self._find_address(array, arrays[name], rows) if name in arrays else 0)
        return found

    def _format_start(self) -> list[str]:
        return format_start(self)

    def _format_end(self) -> list[list[str]]:
        return format_end(self)

    def pack_knobs(self, params: Mapping[str, Any] | None = None) -> bytes:
        """Return the struct of knobs as bytes, for the array `knobs` of a batch.

        Args:
            params: Other values of parameters, by name.

        Returns:
            The bytes of the struct.

        Raises:
            TargetError: Knobs are constants: compile with `knobs="struct"`.
            DefinitionError: There is no such parameter, or it cannot have this value.

        >>> from plaudit import Field, Reward, term
        >>> @term
        ... def near(distance, *, reach=2.0):
        ...     return 1 if distance < reach else 0
        >>> reaching = Reward("reaching", version="1", terms=[near], fields=[Field("distance", low=0, high=9)])
        >>> len(reaching.compile("cuda", knobs="struct").pack_knobs({"near.reach": 3.0}))
        16
        """
        if not self.bound.params:
            raise TargetError('the knobs of this header are constants: compile the reward with knobs="struct".')
        values = self.bound.fill_params(params or {})
        real = "f" if self.real == "float" else "d"
        scopes: dict[str, list[str]] = {"": []}
        for name, member in self.structs.knobs.items():
            scopes.setdefault(member.partition("[")[0].rpartition(".")[0], []).append(name)
        form, ordered = "@", []
        for names in scopes.values():
            codes = "".join("?" if isinstance(values[name], bool) else real for name in names)
            aligned = f"0{real}" * (real in codes)  # a struct begins and ends where its widest member may
            form += f"{aligned}{codes}{aligned}"
            ordered += [values[name] for name in names]
        return struct.pack(f"{form}{f'0{real}' * (real in form)}", *ordered)

    def _find_address(self, array: Array, given: Any, rows: int) -> int:
        where = f"reward {self.program.name!r}, array {array.name!r}"
        seen = getattr(given, "__cuda_array_interface__", None) or getattr(given, "__array_interface__", None)
        if seen is None:
            raise WrongType(f"{where}: {type(given).__name__} has no __cuda_array_interface__ or __array_interface__.")
        knobs = array.name == "knobs"
        wanted = len(self.pack_knobs()) if knobs else rows * array.length
        if seen.get("strides") is not None or math.prod(seen["shape"]) != wanted:
            needed = f"{wanted} bytes of pack_knobs()" if knobs else f"{rows:,} rows of {array.length}"
            raise ShapeMismatch(f"{where}: {needed}, contiguous, are needed, but the shape is {tuple(seen['shape'])}.")
        if seen["typestr"][1:] not in CODES.get(array.kind, ("u1",)):
            raise WrongType(f"{where}: {array.kind} is needed, but the dtype is {seen['typestr'][1:]}.")
        address: int = seen["data"][0]
        return address

    def step(self, inputs: Any, state: Any, *, reset: Any = None, params: Any = None) -> NoReturn:
        """Refuse: this is source text. The kernel in the header updates the state."""
        raise TargetError(f"the CUDA target is source text: launch {self.prefix}_kernel, which updates the state.")

    def __call__(self, *inputs: Any, **options: Any) -> NoReturn:
        """Refuse: this is source text."""
        raise TargetError(f"the CUDA target is source text: compile `.header` and launch {self.prefix}_kernel.")

    def __repr__(self) -> str:
        return f"CudaReward({self.program.name}, real={self.real!r}, knobs={self.knobs!r})"

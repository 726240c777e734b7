"""`compile("torch", fused=True)`: a reward that `torch.compile` makes one kernel of, and what that needs."""

from collections.abc import Callable, Mapping
from types import FunctionType, MethodType
from typing import Any

import numpy as np
import torch

from plaudit.errors import TargetError
from plaudit.targets.compiled import Scores

NO_COMPILER = ("InvalidCxxCompiler", "CppCompileError")
"""What PyTorch raises, perhaps inside another error, where it finds no C++ compiler that works."""


def read_options(fused: Any) -> dict[str, Any] | None:
    """Return the options of `torch.compile`; None for no fusing."""
    if fused is False or fused is None:
        return None
    if fused is not True and not isinstance(fused, Mapping):
        raise TargetError(f"fused={fused!r:.60} is not True, False or a mapping of options for torch.compile.")
    return {"fullgraph": True, **({} if fused is True else fused)}


class Fused:
    """A function that is compiled as a whole when it is first called, and again for other dtypes and devices."""

    def __init__(self, method: Callable[..., Any], options: Mapping[str, Any], reward: str) -> None:
        self._function = _copy_method(method)
        self._options = options
        self._reward = reward
        self._compiled: Callable[..., Any] | None = None

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Call the function; TargetError where PyTorch cannot compile here."""
        if self._compiled is None:
            self._compiled = torch.compile(self._function, **self._options)
        try:
            return self._compiled(*arguments, **options)
        except Exception as error:
            if not _is_about_compiler(error):
                raise
            raise TargetError(
                f"reward {self._reward!r}: on a CPU torch.compile needs a C++ compiler, but found none that works. "
                "Install one (Debian: apt-get install g++), set the environment variable CXX to one, or compile "
                "without fused=True."
            ) from error


def _copy_method(method: Any) -> MethodType:
    """Return a method with code of its own: PyTorch makes eight versions of one at most, for all rewards together."""
    function = method.__func__
    copied = FunctionType(function.__code__.replace(), function.__globals__, function.__name__, function.__defaults__)
    return MethodType(copied, method.__self__)


def _is_about_compiler(error: BaseException | None) -> bool:
    seen = 0
    while error is not None and seen < 10:
        if type(error).__name__ in NO_COMPILER or any(name in str(error) for name in NO_COMPILER):
            return True
        error, seen = error.__cause__ or error.__context__, seen + 1
    return False


def hold_in_tensors(values: Mapping[str, Any], dtype: torch.dtype, device: torch.device) -> dict[str, Any]:
    """Return numbers and arrays as tensors, because compiled code is rebuilt for every new Python number.

    What no tensor holds stays what it is.
    """

    def hold(value: Any) -> Any:
        if isinstance(value, float) and not isinstance(value, np.generic):
            return torch.full((), value, dtype=dtype, device=device)
        if type(value) is int and abs(value) < 2**62:
            return torch.full((), value, dtype=torch.int64, device=device)
        if isinstance(value, list | np.ndarray | np.generic):
            array = np.asarray(value)
            if array.dtype.kind in "ifb":
                has_dtype = isinstance(value, np.ndarray) or array.dtype.kind != "f"  # Python numbers have none
                array = array if array.flags.c_contiguous else array.copy()
                return torch.as_tensor(array, dtype=None if has_dtype else dtype, device=device)
        return value

    return {name: hold(value) for name, value in values.items()}


def all_count(scores: Scores) -> bool:
    """Return whether every row counts; it waits for the device."""
    return bool(scores.ok.all())

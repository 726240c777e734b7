"""`compile("torch", fused=True)`: a reward that `torch.compile` makes one kernel of, and what that needs."""

from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any, cast

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
    """A method of a compiled reward that `torch.compile` makes a kernel of when it is first called.

    PyTorch traces the method as one operation and does not look into it: a call then tests nothing but its tensors.
    """

    def __init__(self, method: Callable[..., Any], options: Mapping[str, Any], reward: str) -> None:
        self._method = method
        self._options = options
        self._reward = reward
        self._made: dict[Form, _Kernel] = {}

    def __call__(self, *arguments: Any) -> Any:
        """Call the method with tensors, mappings of them and None; TargetError where PyTorch cannot compile here."""
        tensors: list[torch.Tensor] = []
        form = _take_apart(arguments, tensors)
        try:
            known = form in self._made
        except TypeError:  # it has no hash: it is nothing that can be scored, and the method says so
            return self._method(*arguments)
        if not known:
            self._made[form] = _Kernel(self._method, form, self._options)
        try:
            return self._made[form](tensors)
        except Exception as error:
            if not _is_about_compiler(error):
                raise
            raise TargetError(
                f"reward {self._reward!r}: on a CPU torch.compile needs a C++ compiler, but found none that works. "
                "Install one (Debian: apt-get install g++), set the environment variable CXX to one, or compile "
                "without fused=True."
            ) from error


class _Kernel:
    """A method for arguments of one form: from tensors to tensors."""

    def __init__(self, method: Callable[..., Any], form: "Form", options: Mapping[str, Any]) -> None:
        self._form: Form = None

        def run(*tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
            found: list[torch.Tensor] = []
            self._form = _take_apart(method(*_put_together(form, tensors)), found)
            return tuple(found)

        inside = cast(Callable[..., "tuple[torch.Tensor, ...]"], torch.compiler.allow_in_graph(run))  # type: ignore[no-untyped-call]

        def call(*tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
            return inside(*tensors)

        # PyTorch keeps what it made with the code of a function, which all kernels would share
        own = FunctionType(call.__code__.replace(), globals(), closure=call.__closure__)
        self._compiled = torch.compile(own, **options)

    def __call__(self, tensors: Sequence[torch.Tensor]) -> Any:
        found = self._compiled(*tensors)
        return _put_together(self._form, found)


Form = Any
"""What a value is made of, with the positions of tensors in place of them."""


def _take_apart(value: Any, tensors: list[torch.Tensor]) -> Form:
    """Return the form of a value, and add its tensors to a list."""
    if isinstance(value, torch.Tensor):
        tensors.append(value)
        return len(tensors) - 1
    if isinstance(value, dict | Mapping):  # the first is tested in no time
        return "mapping", tuple((name, _take_apart(each, tensors)) for name, each in value.items())
    if isinstance(value, tuple):
        kind = Scores if isinstance(value, Scores) else tuple
        return kind, tuple(_take_apart(each, tensors) for each in value)
    return type(value), value


def _put_together(form: Form, tensors: Sequence[torch.Tensor]) -> Any:
    """Return the value of a form with these tensors."""
    if isinstance(form, int):
        return tensors[form]
    kind, parts = form
    if kind == "mapping":
        return {name: _put_together(each, tensors) for name, each in parts}
    if kind not in (Scores, tuple):
        return parts
    found = (_put_together(each, tensors) for each in parts)
    return Scores(*found) if kind is Scores else tuple(found)


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

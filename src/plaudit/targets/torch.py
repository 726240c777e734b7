"""The `torch` target: tensors in, tensors out on their device, differentiable, ready for `torch.compile`."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch

from plaudit.errors import TargetError
from plaudit.language.field import Field
from plaudit.language.program import Program
from plaudit.targets.array import (
    Generated,
    collect_names,
    gather_columns,
    generate,
    join_parts,
    make_dtype_error,
    to_array,
)
from plaudit.targets.compiled import FLOATS, Limits, Scores, convert_scores
from plaudit.targets.diagnose import diagnose_first_bad
from plaudit.targets.dtypes import find_rounded, name_dtype
from plaudit.targets.inputs import collect_columns
from plaudit.targets.roll import Constants, Params
from plaudit.targets.states import SteppingReward, carry, check_state, join_state, start_episodes
from plaudit.targets.torch_fused import Fused, all_count, hold_in_tensors, read_options


def take(table: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    """Return the entries of a table at positions that are integers."""
    at = index.long()
    return table[at] if at.ndim else table.index_select(0, at.reshape(1))[0]  # else torch.compile wants to know it


def floor_divide(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """Return `left // right`; PyTorch's own function of that name has no derivative."""
    return torch.div(left, right, rounding_mode="floor")


def pick(vector: torch.Tensor, entries: list[int]) -> torch.Tensor:
    """Return some entries of a vector: its slices joined, which `torch.compile` takes in faster than a list."""
    runs = [(entry, entry + 1) for entry in entries[:1]]
    for entry in entries[1:]:
        first, end = runs[-1]
        runs[-1:] = [(first, entry + 1)] if entry == end else [(first, end), (entry, entry + 1)]
    return torch.cat([vector[first:end] for first, end in runs])


def is_integer(column: torch.Tensor) -> Any:
    """Return whether each entry is an integer."""
    return column == torch.floor(column) if column.is_floating_point() else True


NAMES = collect_names(
    torch,
    {
        "round": torch.round,
        "pow": torch.pow,
        "floor_divide": floor_divide,
        "take": take,
        "is_integer": is_integer,
        "still": torch.Tensor.detach,
        "add_entries": lambda vector: vector.sum(0),
        "add_onto": lambda start, vector: start + vector.sum(0),
        "find_smallest": lambda vector: vector.amin(0),
        "find_largest": lambda vector: vector.amax(0),
        "pass_smallest": lambda vector: vector.amin(0),
        "pass_largest": lambda vector: vector.amax(0),
        "pick": pick,
    },
)


class TorchReward(SteppingReward):
    """A reward compiled to PyTorch.

    Where PyTorch compiles, traces, maps (`torch.vmap`) or captures a graph, a bad row is masked, since nothing can be
    raised there; elsewhere, `on_bad` decides.
    """

    def __init__(
        self,
        program: Program,
        *,
        guard: bool | str = True,
        on_bad: str = "raise",
        dtype: Any = None,
        fused: bool | Mapping[str, Any] = False,
    ) -> None:
        """Compile `program`.

        `dtype`, perhaps by name, overrides the dtype of the floating inputs. With `fused` every call is one that
        `torch.compile` made a kernel of, with the options of a mapping where it is one.
        """
        super().__init__(program, guard=guard, on_bad=on_bad, dtype=dtype, fused=fused)
        self.dtype = getattr(torch, dtype) if isinstance(dtype, str) else dtype
        options = read_options(fused)
        calls = (self._score_eagerly, self._step_eagerly)
        self._fused = None if options is None else [Fused(call, options, program.name) for call in calls]
        self._raises = on_bad == "raise" and not self.plain
        self._complete: set[tuple[str, ...]] = set()  # names of inputs that are all columns, none of them a record
        self._fixed: dict[tuple[int, torch.dtype, torch.device], _Fixed] = {}
        bound = program.bind()
        self._default = self._build(bound)
        self._default_values = generate(bound, guard=self.guard, names=NAMES, smooth=False, plain=self.plain)
        self._general = self._build(program)  # not when needed: that may be inside torch.compile

    def __call__(self, inputs: Any, params: Mapping[str, Any] | None = None) -> Scores:
        """Return the scores of a row or a batch of any shape."""
        if self._fused is None or torch.compiler.is_compiling():
            return self._score_eagerly(inputs, params)
        columns, numbers = self._prepare(inputs, params)
        if columns is not inputs and any(isinstance(column, list | np.ndarray) for column in columns.values()):
            return self._score_eagerly(columns, numbers)  # strings and the like, which are refused there
        scores: Scores = self._fused[0](columns, numbers)
        if self._raises and not all_count(scores):
            self._score_eagerly(columns, numbers)  # which says why
        return scores

    def _score_eagerly(self, inputs: Any, params: Mapping[str, Any] | None) -> Scores:
        return self._score(self._default if params is None else self._general, inputs, params)[0]

    def _prepare(self, inputs: Any, params: Mapping[str, Any] | None) -> tuple[dict[str, Any], dict[str, Any] | None]:
        """Return columns and parameters as compiled code takes them: tensors."""
        names = tuple(inputs) if params is None and type(inputs) is dict else ()
        if names in self._complete and all(type(column) is torch.Tensor for column in inputs.values()):
            return inputs, None  # a small batch takes less time than it takes to look at each name again
        given = collect_columns(self.program, inputs)
        dtype, device = self.dtype or _find_dtype(given), _find_device(given)
        numbers = None if params is None else hold_in_tensors(params, dtype, device)
        if names and tuple(given) == names:
            self._complete.add(names)
        return hold_in_tensors(given, dtype, device), numbers

    def step(
        self, inputs: Any, state: Mapping[str, Any], *, reset: Any = None, params: Mapping[str, Any] | None = None
    ) -> tuple[Scores, dict[str, Any]]:
        """Return the scores of a step, and the state after it, as `Compiled.step` says."""
        if self._fused is None or torch.compiler.is_compiling():
            return self._step_eagerly(inputs, state, reset, params)
        columns, numbers = self._prepare(join_state(self.program, inputs, check_state(self.program, state)), params)
        before = {name: columns.pop(f"prev.{name}") for name in state}
        scores, after = self._fused[1](columns, before, reset, numbers)
        if self._raises and not all_count(scores):
            self._step_eagerly(columns, before, reset, numbers)  # which says why
        return scores, after

    def _step_eagerly(
        self, inputs: Any, state: Mapping[str, Any], reset: Any, params: Mapping[str, Any] | None
    ) -> tuple[Scores, dict[str, Any]]:
        given = collect_columns(self.program, join_state(self.program, inputs, check_state(self.program, state)))
        columns = {f"prev.{name}" for name in state}
        telling = {k: v for k, v in given.items() if k not in columns or isinstance(v, torch.Tensor)}
        dtype, device = self.dtype or _find_dtype(telling), _find_device(telling)

        def convert(value: Any, flag: bool) -> torch.Tensor:
            return torch.as_tensor(value, device=device) if flag else torch.as_tensor(value, dtype=dtype, device=device)

        before = start_episodes(self.program, state, reset, torch, convert)
        made = self._stepping if params is None else self._general_stepping
        scores, computed = self._score(made, given | {f"prev.{k}": v for k, v in before.items()}, params)
        return scores, carry(self.program, computed, before, scores.ok, torch)

    def _score(
        self, made: Generated, inputs: Any, params: Mapping[str, Any] | None
    ) -> tuple[Scores, list[torch.Tensor]]:
        """Return the scores, and the states after the step where `made` computes them, their entries first."""
        if torch._C._get_tracing_state() is not None:
            raise TargetError(
                f"reward {self.program.name!r}: torch.jit.trace would keep the shapes and checks of this one call. "
                "Use torch.export or torch.compile."
            )
        given = collect_columns(self.program, inputs)
        dtype = self.dtype or _find_dtype(given)
        device = _find_device(given)
        limits = _find_limits(dtype)

        def tensor(value: Any, kind: Any = None) -> torch.Tensor:
            wanted = kind or (torch.bool if isinstance(value, bool) else dtype)
            if isinstance(value, torch.Tensor):
                return value.to(device=device, dtype=wanted)
            return torch.full((), limits.fit(value), dtype=wanted, device=device)

        def column(name: str, field: Field, value: Any) -> tuple[Any, Any]:
            return _convert_column(self.program.name, dtype, device, name, field, value)

        found = gather_columns(self.program, given, column, torch, pick)
        exact, shape = found.exact, found.shape
        if made is self._default and not _needs_gradients(found.arguments):
            made = self._default_values
        values = {} if params is None else self.program.fill_params(params)
        numbers = {
            k: tensor(v, torch.bool if isinstance(self.program.params[k], bool) else dtype) for k, v in values.items()
        }
        fixed = self._get_fixed(made, dtype, device, found.arguments)
        axes = [1 for _ in shape]

        def join(vector: Constants | Params) -> torch.Tensor:
            if isinstance(vector, Constants):
                return fixed.vectors[vector]
            whole = vector.find_whole(self.program, params or {})
            joined = vector.list_values(numbers)
            return tensor(whole, joined[0].dtype) if isinstance(whole, torch.Tensor) else torch.stack(joined)

        shaped = [join(vector).reshape(-1, *axes) for vector in made.vectors]
        zero, one, nothing = fixed.units
        more = [*fixed.constants, *shaped, *fixed.tables, zero, one, limits.exponent]
        *results, fine, parts = made.function(*found.arguments, *numbers.values(), *more)
        ok = torch.as_tensor(fine, device=device)
        tested = [*exact.values(), *(torch.isfinite(number) for number in numbers.values())]
        for condition in [] if self.plain else tested:
            ok = ok & condition
        ok = ok.expand(shape)
        outputs = [_spread(result.to(dtype), shape) for result in results]
        any_bad = False if self.plain else None if self.on_bad != "raise" else _find_bad(ok)
        if any_bad is None:
            outputs = [torch.where(ok, output, nothing) for output in outputs]
        elif any_bad:
            bad = int(torch.nonzero(~ok.reshape(-1))[0])
            bound = self.program.bind({name: _to_plain(value) for name, value in (params or {}).items()})
            raise diagnose_first_bad(
                bound, [array.detach().cpu() for array in found.list_entries()], bad, guard=self.guard, exact=exact
            )
        states = [
            join_parts(each, shape, torch, partial(tensor, kind=torch.bool if carried.field.flag else dtype))
            for each, carried in zip(parts, made.states, strict=True)
        ]
        return made.layout.to_scores(outputs, ok), states

    def _build(self, program: Program, *, states: bool = False) -> Generated:
        return generate(program, guard=self.guard, names=NAMES, states=states, plain=self.plain)

    def score_arrays(self, columns: Mapping[str, Any], dtypes: Mapping[str, str]) -> Scores:
        """Return the scores of columns of NumPy as NumPy's float64; those of numbers go in by way of their `dtypes`."""
        given = {
            name: torch.tensor(column, dtype=getattr(torch, dtypes[name])) if name in dtypes else column
            for name, column in columns.items()
        }
        with torch.no_grad():
            return convert_scores(self(given), to_numpy)

    def _get_fixed(
        self, made: Generated, dtype: torch.dtype, device: torch.device, arguments: Sequence[torch.Tensor]
    ) -> "_Fixed":
        """Return the constants of generated code as tensors, which are made once for each dtype and device."""
        if torch.compiler.is_compiling() or any(map(_is_traced, arguments)):
            return _Fixed(made, dtype, device)  # tensors of a tracer, which nobody else can use
        key = id(made), dtype, device  # what is made is kept as long as this reward
        if key not in self._fixed:
            with torch.inference_mode(mode=False):  # or they could not be used outside it
                self._fixed[key] = _Fixed(made, dtype, device)
        return self._fixed[key]


class _Fixed:
    """Constants, vectors and tables of generated code, and 0, 1 and NaN, as tensors."""

    def __init__(self, made: Generated, dtype: torch.dtype, device: torch.device) -> None:
        limits = _find_limits(dtype)

        def make(values: Any, first: float | bool) -> torch.Tensor:
            return torch.tensor(values, dtype=torch.bool if isinstance(first, bool) else dtype, device=device)

        self.constants = [make(limits.fit(value), value) for value in made.constants]
        self.vectors = {
            vector: make([limits.fit(value) for value in vector.values], vector.values[0])
            for vector in made.vectors
            if isinstance(vector, Constants)
        }
        self.tables = [make(table, table[0]) for table in made.tables]
        self.units = make(0.0, 0.0), make(1.0, 1.0), make(float("nan"), 0.0)


def _is_traced(tensor: torch.Tensor) -> bool:
    """Return whether a tensor stands for others: it is fake, or records what is done with it."""
    return type(tensor).__module__.startswith("torch._subclasses")


def _find_bad(ok: torch.Tensor) -> bool | None:
    """Return whether some row is bad; None where nobody can look: while PyTorch traces, maps or captures."""
    if torch.compiler.is_compiling() or _is_traced(ok):
        return None
    if ok.is_cuda and torch.cuda.is_current_stream_capturing():
        return None
    try:
        return not bool(ok.all())
    except RuntimeError:  # of torch.vmap, make_fx and fake tensors
        return None


def _needs_gradients(arguments: Sequence[torch.Tensor]) -> bool:
    return torch.is_grad_enabled() and any(argument.requires_grad for argument in arguments)


def to_numpy(tensor: torch.Tensor) -> Any:
    """Return an array of NumPy: bools as they are, floats as float64."""
    found = tensor.detach().cpu()
    return found.numpy() if found.dtype == torch.bool else found.double().numpy()


def _spread(result: torch.Tensor, shape: tuple[int, ...]) -> torch.Tensor:
    """Return a result for every row, where it is one for all of them."""
    return result if result.shape == shape else result.expand(shape)


def _find_dtype(given: Mapping[str, Any]) -> torch.dtype:
    """Return the widest dtype of the floating columns; float32 where there is none."""
    found = [value.dtype for value in given.values() if isinstance(value, torch.Tensor) and value.is_floating_point()]
    arrays = [value for value in given.values() if isinstance(value, np.ndarray) and value.dtype.kind == "f"]
    found += [torch.as_tensor(np.empty(0, array.dtype)).dtype for array in arrays]
    return max(found, key=lambda dtype: dtype.itemsize, default=torch.float32)


def _to_plain(value: Any) -> Any:
    """Return a parameter, perhaps a tensor, as plain Python."""
    return value.detach().cpu().tolist() if isinstance(value, torch.Tensor) else np.asarray(value).tolist()


def _find_device(given: Mapping[str, Any]) -> torch.device:
    """Return the device of the columns; a single number goes where they are."""
    tensors = [value for value in given.values() if isinstance(value, torch.Tensor)]
    tensors.sort(key=lambda tensor: tensor.ndim == 0)
    return tensors[0].device if tensors else torch.device("cpu")


def _find_limits(dtype: torch.dtype) -> Limits:
    return FLOATS[str(dtype).removeprefix("torch.")]


def _convert_column(reward: str, dtype: Any, device: Any, name: str, field: Field, value: Any) -> tuple[Any, Any]:
    if isinstance(value, str) and value in field.labels:
        value = field.labels.index(value)  # a default
    if not isinstance(value, torch.Tensor):
        array = to_array(reward, name, field, value)
        if array.dtype.kind not in "iufb":
            raise make_dtype_error(reward, name, field, array.dtype)
        if array.dtype.kind == "u" and array.dtype.itemsize == 8:  # not every PyTorch has these
            array = np.minimum(array, 2**62).astype(np.int64)
        value = torch.as_tensor(array if array.flags.c_contiguous else array.copy())
    column = value.to(device)
    integer = not column.is_floating_point() and column.dtype != torch.bool
    if field.kind == "category":
        if not integer:
            raise make_dtype_error(reward, name, field, column.dtype)
        return column, None
    if field.kind == "flag":
        if column.dtype == torch.bool:
            return column, None
        return column != 0, (column == 0) | (column == 1)
    if column.is_floating_point():
        wide = column.to(dtype)
        if column.dtype != dtype:
            for near, number in find_rounded(field, name_dtype(column.dtype)).items():
                wide = torch.where(column == near, number, wide)
        return wide, None
    if not integer:
        raise make_dtype_error(reward, name, field, column.dtype)
    largest = _find_limits(dtype).integer
    if torch.iinfo(column.dtype).max <= largest:
        return column.to(dtype), None
    return column.to(dtype), (column <= largest) & (column >= -largest)

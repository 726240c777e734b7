"""Rewards as people publish them: what each reads, and its original run in NumPy, PyTorch or JAX as the oracle."""

from collections.abc import Callable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from plaudit import Field, Reward, term
from support.running import wide

Columns = Mapping[str, np.ndarray]


@dataclass(frozen=True, kw_only=True)
class Pasted:
    """A function as it stands, what a user declares for it, and how the original scores columns of rows."""

    function: Callable[..., Any]
    fields: list[Field]
    original: Callable[[Columns], np.ndarray]
    name: str = ""
    batched: bool = False
    part: int | str | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    shared: Mapping[str, Any] = field(default_factory=dict)

    @property
    def title(self) -> str:
        function = getattr(self.function, "fget", None) or self.function
        return self.name or function.__name__

    def as_term(self):
        given = {"params": self.params} if self.params else {}
        function = getattr(self.function, "fget", None) or self.function
        return term(name=self.title, batched=self.batched, part=self.part, **given)(function)


def join(pasted: list[Pasted]) -> Reward:
    """Return the reward of functions that are declared together."""
    fields = {each.name: each for one in pasted for each in one.fields}
    shared = {name: value for one in pasted for name, value in one.shared.items()}
    terms = [one.as_term() for one in pasted]
    return Reward("pasted", version="1", terms=terms, fields=list(fields.values()), shared=shared)


# -- what a user declares ------------------------------------------------------------------------------------------


def numbers(low: float, high: float, **shapes: Any) -> list[Field]:
    """Return fields of one range: `()` for a number, a length, or a shape."""
    return [Field(name, shape=_shape(shape), low=low, high=high) for name, shape in shapes.items()]


def flags(**shapes: Any) -> list[Field]:
    return [Field(name, shape=_shape(shape), flag=True) for name, shape in shapes.items()]


def _shape(shape: Any) -> tuple[int, ...]:
    return (shape,) if isinstance(shape, int) else shape


def draw_columns(fields: list[Field], rows: int, *, seed: int = 11) -> dict[str, np.ndarray]:
    """Return random columns within what fields of numbers and flags declare."""
    random = np.random.default_rng(seed)

    def draw(declared: Field) -> np.ndarray:
        shape = (rows, *declared.shape)
        if declared.kind == "flag":
            return random.random(shape) > 0.5
        if declared.values:
            return random.choice(np.array(declared.values), size=shape)
        return random.uniform(declared.low, declared.high, size=shape)

    return {declared.name: draw(declared) for declared in fields}


# -- how originals run ---------------------------------------------------------------------------------------------


def make(kind: type, row: SimpleNamespace, **constants: Any) -> Any:
    """Return an object of a class as its simulation leaves it: with the values of a row, and what never changes."""
    made = object.__new__(kind)
    for name, value in {**constants, **vars(row)}.items():
        object.__setattr__(made, name, value)
    return made


def on_rows(call: Callable[[SimpleNamespace], Any]) -> Callable[[Columns], np.ndarray]:
    """Return the original of a function for one row: numbers as plain floats, vectors as arrays."""

    def run(columns: Columns) -> np.ndarray:
        size = len(next(iter(columns.values())))
        found = []
        for at in range(size):
            cells = {name: column[at] for name, column in columns.items()}
            row = {name: cell if np.ndim(cell) else cell.item() for name, cell in cells.items()}
            with np.errstate(all="ignore"):
                found.append(float(call(SimpleNamespace(**row))))
        return np.array(found)

    return run


def on_batch(call: Callable[[SimpleNamespace], Any]) -> Callable[[Columns], np.ndarray]:
    """Return the original of a function of NumPy for a batch."""
    return lambda columns: np.asarray(call(SimpleNamespace(**columns, num_envs=_count(columns))), np.float64)


def on_tensors(call: Callable[[SimpleNamespace], Any]) -> Callable[[Columns], np.ndarray]:
    """Return the original of a function of PyTorch for a batch, in float64."""

    def run(columns: Columns) -> np.ndarray:
        torch = pytest.importorskip("torch")
        with _double(torch):
            given = {name: torch.as_tensor(column.copy()) for name, column in columns.items()}
            found = call(SimpleNamespace(**given, num_envs=_count(columns), device="cpu"))
            return found.double().numpy()

    return run


def on_jax(call: Callable[[SimpleNamespace], Any]) -> Callable[[Columns], np.ndarray]:
    """Return the original of a function of JAX for one row, mapped over all, in float64."""

    def run(columns: Columns) -> np.ndarray:
        jax = pytest.importorskip("jax")
        with wide("jax"):
            return np.asarray(jax.vmap(lambda row: call(SimpleNamespace(**row)))(dict(columns)), np.float64)

    return run


def _count(columns: Columns) -> int:
    return len(next(iter(columns.values())))


@contextmanager
def _double(torch: Any):
    """Let new tensors be float64 for a while."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(before)

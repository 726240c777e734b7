"""The `jax` target: one traced function, so `jit`, `vmap`, `grad` and `scan` need no adapter."""

from collections import OrderedDict
from collections.abc import Mapping
from functools import partial, reduce
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

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
from plaudit.targets.compiled import FLOATS, Scores, convert_scores
from plaudit.targets.diagnose import diagnose_first_bad
from plaudit.targets.dtypes import find_rounded
from plaudit.targets.inputs import collect_columns
from plaudit.targets.roll import Constants, Params
from plaudit.targets.states import SteppingReward


def take(table: Any, index: Any) -> Any:
    """Return the entries of a table at positions that are integers."""
    return table[index.astype(jnp.int32)]


def pick(vector: Any, entries: list[int]) -> Any:
    """Return some entries of a vector."""
    return vector[np.asarray(entries)]


def is_integer(column: Any) -> Any:
    """Return whether each entry is an integer."""
    return True if jnp.issubdtype(column.dtype, jnp.integer) else column == jnp.floor(column)


@jax.custom_jvp
def find_smallest(vector: Any) -> Any:
    """Return the smallest entry."""
    return vector.min(0)


@jax.custom_jvp
def find_largest(vector: Any) -> Any:
    """Return the largest entry."""
    return vector.max(0)


@find_smallest.defjvp
def _follow_smallest(primals: tuple[Any], tangents: tuple[Any]) -> tuple[Any, Any]:
    (vector,), (tangent,) = primals, tangents
    return find_smallest(vector), _pick_entry(tangent, vector.argmin(0))


@find_largest.defjvp
def _follow_largest(primals: tuple[Any], tangents: tuple[Any]) -> tuple[Any, Any]:
    (vector,), (tangent,) = primals, tangents
    return find_largest(vector), _pick_entry(tangent, vector.argmax(0))


def _pick_entry(vector: Any, at: Any) -> Any:
    """Return the entry at a position.

    JAX shares the derivative of a maximum among the entries that equal it. Compiled, an entry may be rounded otherwise
    when it is computed again: then none does, and the derivative is infinite.
    """
    places = jnp.arange(len(vector)).reshape(-1, *[1] * at.ndim)
    return jnp.where(places == at, vector, 0).sum(0)


NAMES = collect_names(
    jnp,
    {
        "take": take,
        "is_integer": is_integer,
        "still": jax.lax.stop_gradient,
        "add_entries": lambda vector: vector.sum(0),
        "add_onto": lambda start, vector: start + vector.sum(0),
        "find_smallest": find_smallest,
        "find_largest": find_largest,
        "pick": pick,
    },
)


class JaxReward(SteppingReward):
    """A reward compiled to JAX: a pytree of arrays in, `Scores` out, pure and traceable.

    Inside `jit`, `vmap` or `grad` a bad row is masked, since nothing can be raised there; outside, `on_bad` decides.
    """

    library = jnp

    def __init__(self, program: Program, *, guard: bool | str = True, on_bad: str = "raise", dtype: Any = None) -> None:
        """Compile `program`; `dtype` overrides the dtype of the floating inputs."""
        super().__init__(program, guard=guard, on_bad=on_bad, dtype=dtype)
        self.dtype = dtype
        self._default = self._build(program.bind())

    def __call__(self, inputs: Any, params: Mapping[str, Any] | None = None) -> Scores:
        """Return the scores of a row or a batch of any shape."""
        return self._score(self._default if params is None else self._general, inputs, params)[0]

    def _score(self, made: Generated, inputs: Any, params: Mapping[str, Any] | None) -> tuple[Scores, list[jax.Array]]:
        """Return the scores, and the states after the step where `made` computes them, their entries first."""
        given = collect_columns(self.program, inputs)
        leaves = jax.tree_util.tree_leaves(list(given.values()))
        dtype = jax.dtypes.canonicalize_dtype(self.dtype or _find_dtype(leaves))
        library = jnp if any(isinstance(leaf, jax.Array) for leaf in leaves) else np
        found = gather_columns(
            self.program, given, lambda *c: _convert_column(self.program.name, dtype, *c), library, pick
        )
        exact, shape = found.exact, found.shape
        values = {} if params is None else self.program.fill_params(params)
        numbers = {
            k: jnp.asarray(v, bool if isinstance(self.program.params[k], bool) else dtype) for k, v in values.items()
        }
        limits = FLOATS[str(dtype)]

        def fit(constant: Any) -> Any:
            return np.asarray(limits.fit(constant), bool if isinstance(constant, bool) else dtype)

        constants = [fit(constant) for constant in made.constants]

        def join(vector: Constants | Params) -> Any:
            if isinstance(vector, Constants):
                return np.stack([fit(constant) for constant in vector.values])
            whole = vector.find_whole(self.program, params or {})
            joined = vector.list_values(numbers)
            return jnp.stack(joined) if whole is None else jnp.asarray(whole, joined[0].dtype)

        vectors = [join(vector) for vector in made.vectors]
        vectors = [vector.reshape(-1, *(1 for _ in shape)) for vector in vectors]
        tables = [jnp.asarray(t, bool if isinstance(t[0], bool) else dtype) for t in made.tables]
        fixed = [*constants, *vectors, *tables, np.asarray(0, dtype), np.asarray(1, dtype), limits.exponent]
        columns = [jnp.asarray(column) for column in found.arguments]
        *results, fine, parts = made.function(*columns, *numbers.values(), *fixed)
        conditions = [*exact.values(), *(jnp.isfinite(number).all() for number in numbers.values())]
        ok = jnp.broadcast_to(reduce(jnp.logical_and, () if self.plain else conditions, jnp.asarray(fine)), shape)
        outputs = [jnp.broadcast_to(jnp.asarray(result, dtype), shape) for result in results]
        outputs = outputs if self.plain else [jnp.where(ok, output, jnp.nan) for output in outputs]
        if (
            self.on_bad == "raise"
            and not self.plain
            and not _is_traced([leaves, ok, dict(params or {})])
            and not bool(ok.all())
        ):
            bad = int(np.flatnonzero(~np.asarray(ok).reshape(-1))[0])
            bound = self.program.bind({name: np.asarray(value).tolist() for name, value in (params or {}).items()})
            raise diagnose_first_bad(
                bound, [np.asarray(array) for array in found.list_entries()], bad, guard=self.guard, exact=exact
            )
        states = [
            join_parts(each, shape, jnp, partial(jnp.asarray, dtype=bool if carried.field.flag else dtype))
            for each, carried in zip(parts, made.states, strict=True)
        ]
        return made.layout.to_scores(outputs, ok, kind=OrderedDict), states  # a pytree that keeps the order of terms

    def score_arrays(self, columns: Mapping[str, Any], dtypes: Mapping[str, str]) -> Scores:
        """Return the scores of columns of NumPy as NumPy's float64; those of numbers go in by way of their `dtypes`."""
        wide = str(jnp.dtype(self.dtype)) == "float64"
        library: Any = jax if hasattr(jax, "enable_x64") else jax.experimental  # before 0.8
        with library.enable_x64(wide):
            given = {name: column.astype(jnp.dtype(dtypes.get(name, column.dtype))) for name, column in columns.items()}
            return convert_scores(self(given), to_numpy)

    def _build(self, program: Program, *, states: bool = False) -> Generated:
        return generate(program, guard=self.guard, names=NAMES, states=states, plain=self.plain)

    @staticmethod
    def _convert_state(value: Any, flag: bool) -> jax.Array:
        """Return a state, or a mask, as an array; integers as floats, which is what a state is after a step."""
        if not hasattr(value, "dtype") and not _is_traced(value):
            value = np.asarray(value)
        if isinstance(value, np.ndarray) and value.dtype.kind not in "biuf":
            raise TypeError(f"they are {value.dtype}")
        array = jnp.asarray(value)
        return array.astype(float) if not flag and jnp.issubdtype(array.dtype, jnp.integer) else array


def to_numpy(array: Any) -> np.ndarray[Any, Any]:
    """Return an array of NumPy: bools as they are, floats as float64."""
    found = np.asarray(array)
    return found if found.dtype == np.bool_ else found.astype(np.float64)


def _find_dtype(leaves: list[Any]) -> Any:
    given = [leaf.dtype for leaf in leaves if hasattr(leaf, "dtype")]
    found = [jax.dtypes.canonicalize_dtype(dtype) for dtype in given if jnp.issubdtype(dtype, jnp.floating)]
    return jnp.result_type(*found) if found else jnp.dtype("float32")


def _is_traced(tree: Any) -> bool:
    """Return whether something in a tree has no value yet, as inside `jit`, `vmap` and `grad`."""
    return any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree_util.tree_leaves(tree))


def _keep_on_host(value: Any) -> np.ndarray[Any, Any]:
    """Return an array of NumPy in a dtype that JAX has; tests and views of it are not compiled there.

    Integers that JAX holds as int32, and are beyond it, are at its ends: JAX itself would silently drop upper bits.
    """
    dtype = jax.dtypes.canonicalize_dtype(value.dtype)
    if dtype.itemsize < value.dtype.itemsize and dtype.kind in "iu":
        limits = np.iinfo(np.int32)
        return np.asarray(np.clip(value, limits.min, limits.max), np.int32)
    with np.errstate(over="ignore"):
        return np.asarray(value, dtype)


def _convert_column(reward: str, dtype: Any, name: str, field: Field, value: Any) -> tuple[Any, Any]:
    if isinstance(value, str) and value in field.labels:
        value = field.labels.index(value)  # a default
    if not hasattr(value, "dtype") and _is_traced(value):
        value = jnp.asarray(value)
    if not hasattr(value, "dtype") or getattr(value.dtype, "kind", "") in "OUS":
        value = to_array(reward, name, field, value)
        if value.dtype.kind not in "iufb":
            raise make_dtype_error(reward, name, field, value.dtype)
    column = _keep_on_host(value) if isinstance(value, np.ndarray | np.generic) else jnp.asarray(value)
    integer = jnp.issubdtype(column.dtype, jnp.integer)
    floating = jnp.issubdtype(column.dtype, jnp.floating)
    if field.kind == "category":
        if not integer:
            raise make_dtype_error(reward, name, field, column.dtype)
        return column, None
    if field.kind == "flag":
        if column.dtype == bool:
            return column, None
        return column != 0, (column == 0) | (column == 1)
    if floating:
        if column.dtype == dtype:
            return column, None
        wide = jnp.asarray(column).astype(dtype)
        for near, number in find_rounded(field, column.dtype.name).items():
            wide = jnp.where(column == column.dtype.type(near), np.asarray(number, dtype), wide)
        return wide, None
    if not integer:
        raise make_dtype_error(reward, name, field, column.dtype)
    largest = FLOATS[str(dtype)].integer
    if np.iinfo(column.dtype).max <= largest:
        return column.astype(dtype), None
    signed = jnp.issubdtype(column.dtype, jnp.signedinteger)
    inside = (column <= largest) & (column >= -largest) if signed else column <= largest
    with np.errstate(over="ignore"):
        return column.astype(dtype), inside

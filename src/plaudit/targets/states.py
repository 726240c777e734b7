"""States on their way from step to step: where an episode begins, before a step and after it.

A compiled reward computes what a state is after a step; here it is taken apart and put together, for every library.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from plaudit.errors import DefinitionError, MissingField, ShapeMismatch, UnknownInput, WrongType, did_you_mean
from plaudit.language.program import Carried, Program
from plaudit.language.shapes import nest_entries
from plaudit.targets.compiled import Compiled, Scores
from plaudit.targets.inputs import advise_state, list_slots, read_record

State = dict[str, Any]
"""What each state is, by name: numbers, bools and lists of one episode, or arrays of a batch of them."""


def build_initial_state(program: Program, batch: int | tuple[int, ...] | None) -> State:
    """Return what each state is before the first step: plain values, or arrays of NumPy for a `batch`."""
    if batch is None:
        return {name: nest_state(carried, carried.reset) for name, carried in program.states.items()}
    import numpy as np

    sizes = batch if isinstance(batch, tuple) else (batch,)
    if not all(type(size) is int and size >= 0 for size in sizes):
        raise DefinitionError(f"batch={batch!r:.60} must be a number of episodes, or a tuple of sizes")
    return {
        name: np.broadcast_to(np.reshape(carried.reset, carried.field.shape), (*sizes, *carried.field.shape)).copy()
        for name, carried in program.states.items()
    }


def nest_state(carried: Carried, entries: Sequence[Any]) -> Any:
    """Return the entries of a state as nested lists; a single one as it is."""
    return nest_entries(entries, carried.field.shape) if carried.field.shape else entries[0]


def check_state(program: Program, state: Any) -> Mapping[str, Any]:
    """Return what was given as the state of a reward; an error unless it holds each of its states and nothing else."""
    if not program.states:
        raise DefinitionError(f"reward {program.name!r} carries no state: call it directly instead of using step().")
    if not isinstance(state, Mapping):
        raise WrongType(f"reward {program.name!r}: a state must be a mapping from names to values, not {state!r:.60}")
    for name in state.keys() - program.states.keys():
        near = did_you_mean(str(name), program.states)
        known = ", ".join(program.states)
        raise UnknownInput(f"reward {program.name!r} carries no state {name!r}.{near}\nIts states: {known}.")
    for name in program.states:
        if name not in state:
            raise MissingField(f"reward {program.name!r}: the state {name!r} is not given. {advise_state(name)}")
    return state


def join_state(program: Program, inputs: Any, state: Mapping[str, Any]) -> dict[str, Any]:
    """Return the inputs of a step with the states before it among them."""
    names = inputs.keys() if isinstance(inputs, Mapping) else getattr(inputs, "columns", None)
    if names is None:
        names = getattr(getattr(inputs, "dtype", None), "names", None) or ()
    joined = {str(name): inputs[name] for name in names}
    before = {slot.key for slot in list_slots(program) if slot.record == "prev"}
    record = read_record(joined["prev"], before - program.states.keys()) if "prev" in joined else {}
    for name in state:
        if name in record or f"prev.{name}" in joined:
            raise UnknownInput(f"reward {program.name!r}: 'prev.{name}' is given twice: as an input and as the state.")
    return {**joined, "prev": {**record, **state}}


class SteppingReward(Compiled):
    """A reward compiled for arrays: code for other parameters, and code that computes states, is made when needed."""

    library: Any
    """What has `where` and `moveaxis` for its arrays."""

    def _build(self, program: Program, *, states: bool = False) -> Any:
        """Return the code of a Program, which takes its parameters; with `states`, they are computed too."""
        raise NotImplementedError

    def _score(self, made: Any, inputs: Any, params: Mapping[str, Any] | None) -> tuple[Scores, list[Any]]:
        """Return the scores, and the states after the step where `made` computes them, their entries first."""
        raise NotImplementedError

    @staticmethod
    def _convert_state(value: Any, flag: bool) -> Any:
        """Return a state, or a mask, as an array; what cannot be one is refused when it is scored."""
        raise NotImplementedError

    @cached_property
    def _general(self) -> Any:
        return self._build(self.program)

    @cached_property
    def _stepping(self) -> Any:
        return self._build(self.program.bind(), states=True)

    @cached_property
    def _general_stepping(self) -> Any:
        return self._build(self.program, states=True)

    def step(
        self, inputs: Any, state: Mapping[str, Any], *, reset: Any = None, params: Mapping[str, Any] | None = None
    ) -> tuple[Scores, dict[str, Any]]:
        """Return the scores of a step, and the state after it, as `Compiled.step` says."""
        before = start_episodes(self.program, state, reset, self.library, self._convert_state)
        made = self._stepping if params is None else self._general_stepping
        scores, computed = self._score(made, join_state(self.program, inputs, before), params)
        return scores, carry(self.program, computed, before, scores.ok, self.library)


def start_episodes(
    program: Program, state: Mapping[str, Any], reset: Any, library: Any, convert: Callable[..., Any]
) -> State:
    """Return the states before a step, for arrays: where `reset` is true, what they are before the first one.

    `convert` makes an array of the library's own of a value, and of whether it holds bools.
    """
    check_state(program, state)
    mask = None if reset is None else _convert(program, "reset", reset, True, convert) != 0
    started = {}
    for name, carried in program.states.items():
        flag, shape = carried.field.kind == "flag", carried.field.shape
        value = _convert(program, f"state {name!r}", state[name], flag, convert)
        batch = _split_batch(program, carried, tuple(value.shape))
        if mask is not None:
            if tuple(mask.shape) != batch and batch and tuple(mask.shape):
                raise ShapeMismatch(
                    f"reward {program.name!r}: reset has the shape {tuple(mask.shape)}, but the state {name!r} has a "
                    f"batch of {batch}."
                )
            value = library.where(_widen(mask, shape), convert(carried.reset, flag).reshape(shape), value)
        started[name] = value
    return started


def _convert(program: Program, what: str, value: Any, flag: bool, convert: Callable[..., Any]) -> Any:
    """Return a value as an array of a library's own; WrongType where it cannot be one."""
    try:
        return convert(value, flag)
    except (TypeError, ValueError, RuntimeError) as error:
        shown = f"{value!r:.60}"
        raise WrongType(f"reward {program.name!r}, {what}: {shown} does not hold numbers or bools ({error}).") from None


def _split_batch(program: Program, carried: Carried, shape: tuple[int, ...]) -> tuple[int, ...]:
    wanted = carried.field.shape
    batch = len(shape) - len(wanted)
    if batch < 0 or shape[batch:] != wanted:
        needed = f"its last axes must be {wanted}" if len(wanted) != 1 else f"{wanted[0]} values are needed"
        raise ShapeMismatch(
            f"reward {program.name!r}, state {carried.field.name!r}: {needed}, but the shape is {shape}."
        )
    return shape[:batch]


def carry(program: Program, computed: Sequence[Any], before: Mapping[str, Any], ok: Any, library: Any) -> State:
    """Return the states after a step, for arrays: as they were before it where a row is not `ok`.

    `computed` holds an array for each state, its entries along the first axis.
    """
    after = {}
    for (name, carried), entries in zip(program.states.items(), computed, strict=True):
        shape = carried.field.shape
        value = library.moveaxis(entries, 0, -1).reshape((*ok.shape, *shape)) if shape else entries[0]
        kept = before[name] != 0 if carried.field.kind == "flag" else before[name]
        after[name] = library.where(_widen(ok, shape), value, kept)
    return after


def _widen(mask: Any, shape: tuple[int, ...]) -> Any:
    """Return a mask over a batch that fits arrays with the axes of a state behind."""
    return mask.reshape((*mask.shape, *(1 for _ in shape))) if shape else mask


def list_state_outputs(program: Program) -> tuple[tuple[int, ...], ...]:
    """Return the nodes that each state of a Program is after a step, entry by entry."""
    outputs = program.outputs
    return tuple(tuple(outputs[name] for name in carried.list_names("curr")) for carried in program.states.values())

"""What the author of a reward wants of it, for checks: preferences, a goal, an idle step, a discount and a horizon."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from plaudit.errors import DefinitionError, ShapeMismatch, UnknownField, did_you_mean
from plaudit.language.field import RECORDS, Field, is_exact, to_number, validate_number
from plaudit.language.intervals import bound_nodes
from plaudit.language.program import Program
from plaudit.language.reading.source import ReadFunction
from plaudit.language.shapes import flatten_entries
from plaudit.reward.declared import Fact, make_fact, read_facts

Row = Mapping[str, Any]
"""What is known of a step by the names of its inputs; what is left out can be anything."""


@dataclass(frozen=True)
class Preference:
    """That a reward must pay more for `better` than for `over`, each one or more steps whose rewards add up.

    An input that a step leaves out can be anything, the same on both sides. In `Reward.prefer` the names are those of
    the reward's inputs (`prev.phase`, `torque[0]`), and the values are floats, bools and strings.
    """

    better: tuple[Row, ...] = field(hash=False)
    over: tuple[Row, ...] = field(hash=False)
    because: str = ""

    @property
    def reads(self) -> frozenset[str]:
        """The inputs that either side names."""
        return frozenset(name for row in (*self.better, *self.over) for name in row)


def prefer(better: Row | Sequence[Row], *, over: Row | Sequence[Row], because: str = "") -> Preference:
    """Say that one step, or the steps of one episode, must earn more than another: `Reward(prefer=[...])`.

    Args:
        better: A mapping from inputs to values, or a list of such mappings; what is left out can be anything.
        over: What must earn less.
        because: The reason, for people.

    Raises:
        DefinitionError: A side is not a mapping or a list of them.

    >>> prefer({"distance": 30.0}, over={"distance": 4.0}, because="nobody is hurt").over[0]["distance"]
    4.0
    """
    if not isinstance(because, str):
        raise DefinitionError(f"a preference's because={because!r} must be a string")
    return Preference(_read_side("better", better), _read_side("over", over), because)


def _read_side(what: str, given: Any) -> tuple[Row, ...]:
    rows = [given] if isinstance(given, Mapping) else given
    if not isinstance(rows, list | tuple) or not rows or not all(isinstance(row, Mapping) for row in rows):
        raise DefinitionError(
            f"a preference's {what} side is a mapping from inputs to values, or a list of such mappings"
        )
    return tuple(_freeze("a preference", _flatten("a preference", row)) for row in rows)


def _flatten(what: str, row: Row) -> Iterator[tuple[str, Any]]:
    """Yield the parts of a row, those of `prev` and `curr` under their whole names."""
    for name, value in row.items():
        if not isinstance(name, str):
            raise DefinitionError(f"{what} names an input {name!r}, and a name is a string")
        if name not in RECORDS:
            yield name, value
        elif not isinstance(value, Mapping):
            raise DefinitionError(f"{what}'s {name!r} is a mapping from fields to values, not {value!r:.60}")
        else:
            yield from ((f"{name}.{key}", part) for key, part in value.items())


def _freeze(what: str, parts: Iterable[tuple[str, Any]]) -> Row:
    row: dict[str, Any] = {}
    for name, value in parts:
        if name in row:
            raise DefinitionError(f"{what} gives {name!r} twice, in two ways")
        row[name] = value
    return MappingProxyType(row)


def fit_preference(preference: Preference, reward: str, inputs: Mapping[str, Field]) -> Preference:
    """Return `preference` by the names of a reward's inputs; an error where a name or value is not one of them."""
    what = f"reward {reward!r}: a preference"
    better, over = (
        tuple(_freeze(what, _fit_row(row, what, inputs)) for row in side)
        for side in (preference.better, preference.over)
    )
    if better == over:
        raise DefinitionError(f"reward {reward!r}: a preference has the same on both sides")
    return replace(preference, better=better, over=over)


def _fit_row(row: Row, what: str, inputs: Mapping[str, Field]) -> Iterator[tuple[str, float | bool | str]]:
    """Yield the parts of a row by the names of inputs; errors say `what` the row is."""
    columns = {name.partition("[")[0]: declared for name, declared in inputs.items()}
    for given, value in row.items():
        name = given.removeprefix("curr.") if given.partition("[")[0] not in columns else given
        if name in inputs:
            yield name, _fit_value(what, name, inputs[name], value)
        elif name in columns:
            entries = _read_entries(what, name, columns[name], value)
            for entry, part in zip(columns[name].entries, entries, strict=True):
                if f"{name}{entry}" in inputs:
                    yield f"{name}{entry}", _fit_value(what, f"{name}{entry}", columns[name], part)
        else:
            raise UnknownField(
                f"{what} names {given!r:.60}, which the reward does not read."
                f"{did_you_mean(given, columns)}\nIts inputs: {', '.join(inputs)}."
            )


def _read_entries(what: str, name: str, declared: Field, value: Any) -> Sequence[Any]:
    try:
        return flatten_entries(value.tolist() if hasattr(value, "tolist") else value, declared.shape)
    except ShapeMismatch as error:
        raise DefinitionError(f"{what}'s {name!r} does not fit: {error}") from None


def _fit_value(what: str, name: str, declared: Field, value: Any) -> float | bool | str:
    number = to_number(value)
    known = value if number is None else number
    fits = isinstance(known, str) or (number is not None and is_exact(number))
    if not fits or not declared.holds(known):
        raise DefinitionError(f"{what}'s {name}={value!r:.60} is not a value that the field allows")
    return known if isinstance(known, str | bool) else float(known)


def validate_preferences(reward: str, preferences: Iterable[object]) -> None:
    """Refuse anything that is not a preference."""
    for preference in preferences:
        if not isinstance(preference, Preference):
            raise DefinitionError(
                f"reward {reward!r}: {preference!r} is not a preference; write prefer(better, over=worse)"
            )


def validate_discount(reward: str, discount: object) -> float | None:
    """Return a discount; DefinitionError unless it is None or a number above 0 and at most 1."""
    if discount is None:
        return None
    number = validate_number("discount", discount)
    if not 0 < number <= 1:
        raise DefinitionError(f"reward {reward!r}: discount={discount!r} must be above 0 and at most 1")
    return number


def validate_horizon(reward: str, horizon: object) -> int | None:
    """Return how many steps an episode has; DefinitionError unless it is None or an integer of at least 1."""
    if horizon is None:
        return None
    number = validate_number("horizon", horizon)
    if number < 1 or not number.is_integer():
        raise DefinitionError(f"reward {reward!r}: horizon={horizon!r} must be an integer of at least 1: steps")
    return int(number)


def make_goal(reward: str, goal: object) -> Fact | None:
    """Return a goal from the plain function that says where a task is done; what was made before is taken as it is."""
    if goal is None or isinstance(goal, Fact):
        return goal
    if isinstance(goal, ReadFunction) or not callable(goal):
        raise DefinitionError(
            f"reward {reward!r}: goal= is a plain function that is true of a step in which the task is done, not "
            f"{goal!r:.60}"
        )
    return make_fact(goal, "goal")


def read_goal(
    reward: str, goal: Fact | None, fields: Mapping[str, Field], transition: frozenset[str], states: Iterable[str]
) -> Program:
    """Return the goal as a Program, which has no output where there is none; DefinitionError if it is never true."""
    program = read_facts(reward, () if goal is None else (goal,), fields, transition, states, what="goal")
    if goal is not None and bound_nodes(program)[program.outputs[goal.name]].high == 0:
        raise DefinitionError(
            f"reward {reward!r}: the goal {goal.name!r} can never be true: no step that the declared ranges allow "
            "makes it so. Correct the goal, or the range that is wrong."
        )
    return program


def fit_idle(idle: object, reward: str, inputs: Mapping[str, Field]) -> Row | None:
    """Return the step of an agent that does nothing, by the names of a reward's inputs.

    A field that terms read before and after the step is the same at both ends, unless `prev` and `curr` say otherwise.
    """
    if idle is None:
        return None
    what = f"reward {reward!r}: the idle row"
    if not isinstance(idle, Mapping):
        raise DefinitionError(f"reward {reward!r}: idle= maps inputs to their values in a step of doing nothing")
    columns = {name.partition("[")[0] for name in inputs}
    spread: list[tuple[str, Any]] = []
    for name, value in _flatten(what, idle):
        base = name.partition("[")[0]
        ends = [f"{end}.{name}" for end in RECORDS if base not in columns and f"{end}.{base}" in columns]
        spread += [(each, value) for each in ends or [name]]
    return _freeze(what, _fit_row(_freeze(what, spread), what, inputs))


def validate_goal_ends(reward: str, goal_ends: object) -> bool:
    """Return whether the episode ends where the goal is reached; DefinitionError unless it is a bool."""
    if not isinstance(goal_ends, bool):
        raise DefinitionError(f"reward {reward!r}: goal_ends={goal_ends!r:.60} must be a bool")
    return goal_ends


def validate_rates(reward: str, fields: Mapping[str, Field]) -> None:
    """Refuse a rate that names no field, or one that cannot be the rate of the field."""
    for name, declared in fields.items():
        if declared.rate is None:
            continue
        rate = fields.get(declared.rate)
        if rate is None:
            near = did_you_mean(declared.rate, fields)
            raise UnknownField(
                f"reward {reward!r}: the rate of {name!r} is {declared.rate!r}, which is not a declared field.{near}"
            )
        if rate.kind != "number" or rate.shape not in ((), declared.shape):
            raise DefinitionError(
                f"reward {reward!r}: the rate of {name!r} is {declared.rate!r}, which is not a number of the same shape"
            )


def find_wanted_fields(
    fields: Mapping[str, Field], facts: Iterable[Fact], goal: Fact | None, preferences: Iterable[Preference]
) -> set[str]:
    """Return the fields of which something is said that a check uses, so that no term has to read them."""
    wanted = {name for name, each in fields.items() if each.better or each.aim is not None or each.rate}
    wanted |= {each.rate for each in fields.values() if each.rate}
    reads = [each.reads for each in (*facts, *((goal,) if goal is not None else ()))]
    reads += [tuple(each.reads) for each in preferences]
    return wanted | {name.rpartition(".")[2].partition("[")[0] for each in reads for name in each}


def list_known_inputs(fields: Mapping[str, Field], *programs: Mapping[str, Field]) -> dict[str, Field]:
    """Return every input that a preference or an idle row may name.

    Those are what terms, facts and the goal read, and each field that none of them reads, by its plain name.
    """
    known = {name: each for inputs in reversed(programs) for name, each in inputs.items()}
    read: Collection[str] = {each.name for each in known.values()}
    for name, each in fields.items():
        if name not in read:
            known |= {f"{name}{entry}": each for entry in each.entries or ("",)}
    return known

"""What a reward declares besides its terms and fields: facts, preferences, a discount, and allowed findings."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from plaudit.errors import DefinitionError, DuplicateName, ShapeMismatch, UnknownField, did_you_mean
from plaudit.language import nodes as n
from plaudit.language.field import NAME, RECORDS, RESERVED, Field, is_exact, to_number, validate_number
from plaudit.language.functions import read_fact
from plaudit.language.inputs import Scope
from plaudit.language.program import Builder, Guard, Program, find_reachable, prune, renumber
from plaudit.language.shapes import flatten_entries
from plaudit.language.source import ReadFunction, Source, read_source, validate_signature

CODE = re.compile(r"[a-z]+(-[a-z]+)*")


@dataclass(frozen=True)
class Fact(ReadFunction):
    """What a checker may take for granted about a step. Calling it calls the plain function it was made from.

    Scoring ignores facts, unless a reward is compiled with `guard="facts"`.
    """

    name: str
    doc: str = ""
    reads: tuple[str, ...] = ()
    """What it reads: `deceleration`, `prev.distance`."""
    source: Source | None = field(default=None, repr=False, compare=False)
    constants: Mapping[str, object] = field(default_factory=dict, repr=False, compare=False)
    """Keyword-only parameters: constants of the fact."""

    def __post_init__(self) -> None:
        """Refuse a name that cannot work."""
        if not NAME.fullmatch(self.name) or self.name in RESERVED:
            raise DefinitionError(
                f"fact {self.name!r}: the name must be a plain identifier, and not one of {', '.join(RESERVED)}"
            )

    def __call__(self, *inputs: Any, **constants: Any) -> Any:
        """Return what the plain function returns, unchecked."""
        if self.source is None:
            raise DefinitionError(f"fact {self.name!r} was loaded from a specification and has no function")
        return self.source.function(*inputs, **constants)


def fact(function: Callable[..., Any], /) -> Fact:
    """Make a fact of a plain function in the language of terms that returns a bool.

    Positional parameters are fields; keyword-only ones are constants and have a default.

    Raises:
        ReadError: The function uses something that is not part of the language, or returns no bool.
        DefinitionError: A keyword-only parameter has no default.

    >>> @fact
    ... def brakes(action, deceleration, *, strongest=4.5):
    ...     return deceleration == 0 if action == 0 else deceleration <= strongest
    >>> brakes(0, 3.0), brakes.reads
    (False, ('action', 'deceleration'))
    """
    source = read_source(function)
    validate_signature(source)
    constants = source.function.__kwdefaults__ or {}
    for argument in source.tree.args.kwonlyargs:
        if constants.get(argument.arg) is None:
            raise DefinitionError(
                f"fact {source.name!r}: {argument.arg!r} has no value. Keyword-only parameters of a fact are "
                "constants; give it a default, or put it before the `*` if it is a field."
            )
    reading = read_fact(source, source.name, constants, Builder(), Scope())
    doc = (function.__doc__ or "").strip()
    return Fact(source.name, doc, reading.reads, source, MappingProxyType(dict(constants)))


def read_facts(
    name: str,
    facts: Sequence[Fact],
    fields: Mapping[str, Field],
    transition: frozenset[str],
    states: Iterable[str],
) -> Program:
    """Return the facts of the reward called `name` as a Program: one flag each, under the fact's name.

    `transition` holds the fields that terms read as `prev.x` or `curr.x`: inputs are named as they are for terms. Of
    `states` facts read what they were before the step.
    """
    builder = Builder()
    scope = Scope(fields, transition, states=dict.fromkeys(states))
    inputs: dict[str, Field] = {}
    flags: dict[str, int] = {}
    guards: list[Guard] = []
    for each in facts:
        if each.source is None:
            raise DefinitionError(f"fact {each.name!r} was loaded from a specification; it belongs to its reward alone")
        reading = read_fact(each.source, each.name, each.constants, builder, scope)
        flags[each.name] = reading.result
        guards += reading.guards
        inputs |= reading.inputs
    return build_facts_program(name, tuple(builder.nodes), flags, guards, inputs)


def build_facts_program(
    name: str,
    nodes: tuple[n.Node, ...],
    flags: Mapping[str, int],
    guards: Iterable[Guard],
    inputs: Mapping[str, Field],
) -> Program:
    """Return the Program of facts with only the nodes it needs, in canonical order."""
    guards = tuple(guards)
    kept, moved = prune(nodes, [*flags.values(), *(guard.node for guard in guards)])
    return Program(
        name,
        terms=(),
        nodes=kept,
        inputs={node.name: inputs[node.name] for node in kept if isinstance(node, n.Input)},
        params={},
        outputs={fact: moved[at] for fact, at in flags.items()},
        terminal=frozenset(),
        value_guards=tuple(replace(guard, node=moved[guard.node]) for guard in guards),
        ranges=(),
    )


def find_fact_inputs(program: Program, fact: str) -> dict[str, Field]:
    """Return the inputs that one fact reads."""
    roots = [program.outputs[fact], *(guard.node for guard in program.value_guards if guard.where == fact)]
    read = (program.nodes[at] for at in find_reachable(program.nodes, roots))
    return {node.name: program.inputs[node.name] for node in read if isinstance(node, n.Input)}


def select_facts(program: Program, fields: Iterable[str]) -> Program:
    """Return the facts that read nothing but `fields`, and `terminal`."""
    known = {*fields, "terminal"}
    kept = {
        fact: at
        for fact, at in program.outputs.items()
        if all(field.name in known for field in find_fact_inputs(program, fact).values())
    }
    guards = [guard for guard in program.value_guards if guard.where in kept]
    return build_facts_program(program.name, program.nodes, kept, guards, program.inputs)


def add_fact_guards(program: Program, facts: Program) -> Program:
    """Return `program` with the facts as guards: a row that breaks one does not count."""
    for fact in facts.outputs:
        for name in find_fact_inputs(facts, fact):
            if name not in program.inputs:
                raise DefinitionError(
                    f"reward {program.name!r} cannot be guarded by the fact {fact!r}: it reads {name!r}, which no "
                    "term reads, so a row does not hold it. Leave guard='facts' out; checks use the fact all the same."
                )
    builder = Builder(program.nodes)
    moved: dict[int, int] = {}
    for at, node in enumerate(facts.nodes):
        moved[at] = builder.add(renumber(node, moved))
    guards = []
    for fact, flag in facts.outputs.items():
        ends = any(name in program.terminal for name in find_fact_inputs(facts, fact))
        own = [
            replace(guard, why=f"{guard.why} in the fact {fact!r}")
            for guard in facts.value_guards
            if guard.where == fact
        ]
        for guard in [*own, Guard(flag, fact, f"breaks the fact {fact!r}")]:
            condition = moved[guard.node]
            if ends:  # what only the end reads is nobody's business before it
                condition = builder.add(n.Or(builder.add(n.Not(builder.add(n.Input("terminal")))), condition))
            guards.append(replace(guard, node=condition))
    return replace(program, nodes=tuple(builder.nodes), value_guards=(*program.value_guards, *guards)).prune()


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
    return tuple(_freeze(_flatten(row)) for row in rows)


def _flatten(row: Row) -> Iterator[tuple[str, Any]]:
    """Yield the parts of a row, those of `prev` and `curr` under their whole names."""
    for name, value in row.items():
        if not isinstance(name, str):
            raise DefinitionError(f"a preference names an input {name!r}, and a name is a string")
        if name not in RECORDS:
            yield name, value
        elif not isinstance(value, Mapping):
            raise DefinitionError(f"a preference's {name!r} is a mapping from fields to values, not {value!r:.60}")
        else:
            yield from ((f"{name}.{key}", part) for key, part in value.items())


def _freeze(parts: Iterator[tuple[str, Any]]) -> Row:
    row: dict[str, Any] = {}
    for name, value in parts:
        if name in row:
            raise DefinitionError(f"a preference gives {name!r} twice, in two ways")
        row[name] = value
    return MappingProxyType(row)


def fit_preference(preference: Preference, reward: str, inputs: Mapping[str, Field]) -> Preference:
    """Return `preference` by the names of a reward's inputs; an error where a name or value is not one of them."""
    better, over = (
        tuple(_freeze(_fit_row(row, reward, inputs)) for row in side) for side in (preference.better, preference.over)
    )
    if better == over:
        raise DefinitionError(f"reward {reward!r}: a preference has the same on both sides")
    return replace(preference, better=better, over=over)


def _fit_row(row: Row, reward: str, inputs: Mapping[str, Field]) -> Iterator[tuple[str, float | bool | str]]:
    columns = {name.partition("[")[0]: declared for name, declared in inputs.items()}
    for given, value in row.items():
        name = given.removeprefix("curr.") if given.partition("[")[0] not in columns else given
        if name in inputs:
            yield name, _fit_value(reward, name, inputs[name], value)
        elif name in columns:
            entries = _read_entries(reward, name, columns[name], value)
            for entry, part in zip(columns[name].entries, entries, strict=True):
                if f"{name}{entry}" in inputs:
                    yield f"{name}{entry}", _fit_value(reward, f"{name}{entry}", columns[name], part)
        else:
            raise UnknownField(
                f"reward {reward!r}: a preference names {given!r:.60}, which the reward does not read."
                f"{did_you_mean(given, columns)}\nIts inputs: {', '.join(inputs)}."
            )


def _read_entries(reward: str, name: str, declared: Field, value: Any) -> Sequence[Any]:
    try:
        return flatten_entries(value.tolist() if hasattr(value, "tolist") else value, declared.shape)
    except ShapeMismatch as error:
        raise DefinitionError(f"reward {reward!r}: a preference's {name!r} does not fit: {error}") from None


def _fit_value(reward: str, name: str, declared: Field, value: Any) -> float | bool | str:
    """Return a value as the input holds it."""
    number = to_number(value)
    known = value if number is None else number
    fits = isinstance(known, str) or (number is not None and is_exact(number))
    if not fits or not declared.holds(known):
        raise DefinitionError(
            f"reward {reward!r}: a preference's {name}={value!r:.60} is not a value that the field allows"
        )
    return known if isinstance(known, str | bool) else float(known)


def validate_allow(owner: str, allow: object) -> Mapping[str, str]:
    """Return what `owner` allows as a read-only mapping; DefinitionError unless each code comes with a reason.

    >>> dict(validate_allow("term 'safety'", {"jump": "zones are meant"}))
    {'jump': 'zones are meant'}
    """
    if not isinstance(allow, Mapping):
        raise DefinitionError(f"{owner}: allow= maps the code of a rule to a reason: {{'jump': 'zones are meant'}}")
    for code, reason in allow.items():
        if not isinstance(code, str) or not CODE.fullmatch(code):
            raise DefinitionError(f"{owner}: allow= names {code!r:.60}, and the code of a rule is like 'unused-knob'")
        if not isinstance(reason, str) or not reason.strip():
            raise DefinitionError(f"{owner}: allow={{{code!r}: ...}} needs a reason, as a string, not {reason!r:.60}")
    return MappingProxyType(dict(allow))


def validate_facts(reward: str, facts: Iterable[object], functions: Collection[str]) -> None:
    """Refuse anything that is not a fact, and a name that a reward has twice; `functions` are its other functions."""
    seen: set[str] = set()
    for fact in facts:
        if not isinstance(fact, Fact):
            raise DefinitionError(f"reward {reward!r}: {fact!r} is not a fact; decorate the function with @fact")
        if fact.name in seen:
            raise DuplicateName(f"reward {reward!r} has two facts called {fact.name!r}")
        if fact.name in functions:
            raise DuplicateName(
                f"reward {reward!r}: {fact.name!r} is both a term and a fact, or a condition and a fact"
            )
        seen.add(fact.name)


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

"""What a reward declares of every step besides its terms and fields: facts; and the findings that it allows."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from plaudit.errors import DefinitionError, shorten
from plaudit.language import nodes as n
from plaudit.language.field import NAME, RESERVED, Field
from plaudit.language.program import Builder, Guard, Program, find_reachable, prune, renumber
from plaudit.language.reading.context import Scope
from plaudit.language.reading.functions import read_fact
from plaudit.language.reading.owners import read_source
from plaudit.language.reading.source import ReadFunction, Source, validate_signature
from plaudit.language.reading.values import freeze
from plaudit.reward.function_parameters import list_defaults

UNNAMED = "<task>"
"""The file of a function that was read from text: it has none."""
CODE = re.compile(r"[a-z]+(-[a-z]+)*")


@dataclass(frozen=True)
class Fact(ReadFunction):
    """A condition that is true of every possible step, made by `@fact`. Calling it calls its plain function.

    Checks assume facts. Scoring ignores them, unless a reward is compiled with `guard="facts"`.

    >>> from plaudit import Task, fact
    >>> @fact
    ... def slow(prev, curr):
    ...     return abs(curr.x - prev.x) <= 1
    >>> Task(facts=[slow]).facts[0].reads
    ('curr.x', 'prev.x')
    """

    name: str
    doc: str = ""
    reads: tuple[str, ...] = ()
    """What it reads: `deceleration`, `prev.distance`."""
    source: Source | None = field(default=None, repr=False, compare=False)
    constants: Mapping[str, object] = field(default_factory=dict, repr=False, compare=False)
    """Parameters with a default."""
    text: str | None = field(default=None, repr=False, compare=False)
    """What it says as text that stands alone, where its source does not."""

    def __post_init__(self) -> None:
        validate_name("fact", self.name)

    def __call__(self, *inputs: Any, **constants: Any) -> Any:
        """Return what the plain function returns, unchecked."""
        if self.source is None or self.source.file == UNNAMED:
            raise DefinitionError(f"fact {self.name!r} was loaded from a file, so it can be read but not called")
        return self.source.called(*inputs, **constants)


def fact(function: Callable[..., Any], /) -> Fact:
    """Make a fact from a plain function in the language of terms that returns a bool.

    Args:
        function: The function. Positional parameters are fields; parameters with a default are constants.

    Returns:
        The fact.

    Raises:
        ReadError: The function uses something outside the language, or does not return a bool.
        DefinitionError: A keyword-only parameter has no default.

    >>> @fact
    ... def brakes(action, deceleration, *, strongest=4.5):
    ...     return deceleration == 0 if action == 0 else deceleration <= strongest
    >>> brakes(0, 3.0), brakes.reads
    (False, ('action', 'deceleration'))
    """
    return make_fact(function, "fact")


def make_fact(function: Callable[..., Any], what: str) -> Fact:
    """Return what a plain function that returns a bool says of a step; errors say `what` it is: a "fact", a "goal"."""
    source = read_source(function)
    return make_fact_of(source, what, list_defaults(source), (function.__doc__ or "").strip())


def make_fact_of(source: Source, what: str, constants: Mapping[str, object], doc: str, text: str | None = None) -> Fact:
    """Return what the function of a source says of a step; `text` where it was written as such."""
    validate_signature(source)
    constants = {name: freeze(value) for name, value in constants.items()}
    for argument in source.tree.args.kwonlyargs:
        if argument.arg not in constants:
            raise DefinitionError(
                f"{what} {source.name!r}: {argument.arg!r} has no value. Keyword-only parameters of a {what} are "
                "constants; give it a default, or put it before the `*` if it is a field."
            )
    reading = read_fact(source, source.name, constants, Builder(), Scope(), what=what)
    return Fact(source.name, doc, reading.reads, source, MappingProxyType(constants), text)


def read_facts(
    name: str,
    facts: Sequence[Fact],
    fields: Mapping[str, Field],
    transition: frozenset[str],
    states: Iterable[str],
    *,
    given: Program | None = None,
    what: str = "fact",
) -> Program:
    """Return the facts of the reward called `name` as a Program: one flag each, under the fact's name.

    `transition` holds the fields that terms read as `prev.x` or `curr.x`: inputs are named as they are for terms. Of
    `states` facts read what they were before the step. Those of the Program `given` come first; errors say `what` is
    read.
    """
    builder = Builder(() if given is None else given.nodes)
    scope = Scope(fields, transition, states=dict.fromkeys(states))
    inputs: dict[str, Field] = {} if given is None else dict(given.inputs)
    flags: dict[str, int] = {} if given is None else dict(given.outputs)
    guards: list[Guard] = [] if given is None else list(given.value_guards)
    for each in facts:
        if each.source is None:
            raise DefinitionError(
                f"{what} {each.name!r} was loaded from a specification and works only in its own reward"
            )
        reading = read_fact(each.source, each.name, each.constants, builder, scope, what=what)
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
        nodes=kept,
        inputs={node.name: inputs[node.name] for node in kept if isinstance(node, n.Input)},
        outputs={fact: moved[at] for fact, at in flags.items()},
        value_guards=tuple(replace(guard, node=moved[guard.node]) for guard in guards),
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
                    "term reads, so rows do not have it. Drop guard='facts'; checks use the fact anyway."
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
            if ends:  # inputs that only the end reads are not needed before it
                condition = builder.add(n.Or(builder.add(n.Not(builder.add(n.Input("terminal")))), condition))
            guards.append(replace(guard, node=condition))
    return replace(program, nodes=tuple(builder.nodes), value_guards=(*program.value_guards, *guards)).prune()


def validate_name(kind: str, name: object) -> None:
    """Refuse what cannot be the name of a term or a fact."""
    if callable(name):
        raise DefinitionError(f"{shorten(name)} is a function: write @{kind} above it, or {kind}(function).")
    if not isinstance(name, str) or not NAME.fullmatch(name) or name in RESERVED:
        taken = ", ".join(RESERVED)
        raise DefinitionError(f"{kind} {shorten(name)}: the name must be a plain identifier, and not one of {taken}")


def validate_allow(owner: str, allow: object) -> Mapping[str, str]:
    """Return what `owner` allows as a read-only mapping; DefinitionError unless each code comes with a reason.

    >>> dict(validate_allow("term 'safety'", {"jump": "zones are meant"}))
    {'jump': 'zones are meant'}
    """
    if not isinstance(allow, Mapping):
        raise DefinitionError(f"{owner}: allow= maps the code of a rule to a reason: {{'jump': 'zones are meant'}}")
    for code, reason in allow.items():
        if not isinstance(code, str) or not CODE.fullmatch(code):
            raise DefinitionError(
                f"{owner}: allow= names {code!r:.60}, which is not the code of a rule, such as 'unused-knob'"
            )
        if not isinstance(reason, str) or not reason.strip():
            raise DefinitionError(f"{owner}: allow={{{code!r}: ...}} needs a reason, as a string, not {reason!r:.60}")
    return MappingProxyType(dict(allow))

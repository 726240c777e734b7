"""All facts of a reward in one Program, and that Program as guards of a row."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from plaudit.errors import DefinitionError
from plaudit.language import nodes as n
from plaudit.language.field import Field
from plaudit.language.program import Builder, Guard, Program, prune, reachable, renumbered
from plaudit.language.read import read_fact
from plaudit.language.reader import Scope
from plaudit.reward.fact import Fact


def read_facts(name: str, facts: Sequence[Fact], fields: Mapping[str, Field], transition: frozenset[str]) -> Program:
    """Return the facts of the reward called `name` as a Program: one flag each, under the fact's name.

    `transition` holds the fields that terms read as `prev.x` or `curr.x`: inputs are named as they are for terms.
    """
    builder = Builder()
    scope = Scope(fields, transition)
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
    return facts_program(name, tuple(builder.nodes), flags, guards, inputs)


def facts_program(
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
        domain=tuple(replace(guard, node=moved[guard.node]) for guard in guards),
        ranges=(),
    )


def inputs_of(program: Program, fact: str) -> dict[str, Field]:
    """Return the inputs that one fact reads."""
    roots = [program.outputs[fact], *(guard.node for guard in program.domain if guard.where == fact)]
    read = (program.nodes[at] for at in reachable(program.nodes, roots))
    return {node.name: program.inputs[node.name] for node in read if isinstance(node, n.Input)}


def about(program: Program, fields: Iterable[str]) -> Program:
    """Return the facts that read nothing but `fields`, and `terminal`."""
    known = {*fields, "terminal"}
    kept = {
        fact: at
        for fact, at in program.outputs.items()
        if all(field.name in known for field in inputs_of(program, fact).values())
    }
    guards = [guard for guard in program.domain if guard.where in kept]
    return facts_program(program.name, program.nodes, kept, guards, program.inputs)


def guarded(program: Program, facts: Program) -> Program:
    """Return `program` with the facts as guards: a row that breaks one does not count."""
    for fact in facts.outputs:
        for name in inputs_of(facts, fact):
            if name not in program.inputs:
                raise DefinitionError(
                    f"reward {program.name!r} cannot be guarded by the fact {fact!r}: it reads {name!r}, which no "
                    "term reads, so a row does not hold it. Leave guard='facts' out; checks use the fact all the same."
                )
    builder = Builder(program.nodes)
    moved: dict[int, int] = {}
    for at, node in enumerate(facts.nodes):
        moved[at] = builder.add(renumbered(node, moved))
    guards = []
    for fact, flag in facts.outputs.items():
        ends = any(name in program.terminal for name in inputs_of(facts, fact))
        own = [replace(guard, why=f"{guard.why} in the fact {fact!r}") for guard in facts.domain if guard.where == fact]
        for guard in [*own, Guard(flag, fact, f"breaks the fact {fact!r}")]:
            condition = moved[guard.node]
            if ends:  # what only the end reads is nobody's business before it
                condition = builder.add(n.Or(builder.add(n.Not(builder.add(n.Input("terminal")))), condition))
            guards.append(replace(guard, node=condition))
    return replace(program, nodes=tuple(builder.nodes), domain=(*program.domain, *guards)).pruned()

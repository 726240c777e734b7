"""From terms and fields to a Program: scores, clamps, weights, the sum, and the conditions that a row must meet."""

import dataclasses
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from plaudit.errors import DefinitionError
from plaudit.language import nodes as n
from plaudit.language.field import TERMINAL, Field
from plaudit.language.parameters import Fixed, Parameter
from plaudit.language.program import Builder, Guard, Program, find_reachable, prune, renumber
from plaudit.language.reading.context import Computed, Note, Scope
from plaudit.language.reading.functions import Reading, read_term
from plaudit.language.reading.inputs import hold_within_range
from plaudit.language.reading.paths import claim_parts
from plaudit.language.schedule import Schedule
from plaudit.reward.composition import Composition, TotalFunction, build_total, read_total_function
from plaudit.reward.schedules import find_counters, lower_numbers
from plaudit.reward.state import ReadStates, State, read_states, refuse_unread
from plaudit.reward.term import Term

Function = Term | TotalFunction
"""Whatever a reward reads from a plain function."""


@dataclass(frozen=True, slots=True)
class Formula:
    """What the functions compute, before clamps and weights: the part of a reward that its fingerprint is about."""

    nodes: tuple[n.Node, ...]
    scores: Mapping[str, int]
    """The score of each term, the gate, and whether the condition of each override holds."""
    guards: tuple[Guard, ...]
    inputs: Mapping[str, Field]
    terminal: frozenset[str]
    """Inputs that only terminal terms read."""
    states: Mapping[str, tuple[int, ...]] = dataclasses.field(default_factory=dict)
    """What each state is after the step, entry by entry."""
    notes: tuple[Note, ...] = ()
    """What the author should know of the functions."""

    def only(self, terms: Sequence[str]) -> "Formula":
        """Return the formula of some of the terms, and of the states that they need."""
        scores = {term: self.scores[term] for term in terms}
        kept = self._find_states(terms)
        guards = [guard for guard in self.guards if guard.where in terms or guard.where in kept]
        states = {name: ats for name, ats in self.states.items() if name in kept}
        roots = [*scores.values(), *(at for ats in states.values() for at in ats), *(guard.node for guard in guards)]
        nodes, moved = prune(self.nodes, roots)
        read = [node.name for node in nodes if isinstance(node, n.Input)]
        return Formula(
            nodes,
            {term: moved[at] for term, at in scores.items()},
            tuple(replace(guard, node=moved[guard.node]) for guard in guards),
            {name: self.inputs[name] for name in read},
            self.terminal & set(read),
            {name: tuple(moved[at] for at in ats) for name, ats in states.items()},
            tuple(note for note in self.notes if note.term in terms or note.term in kept),
        )

    def _find_states(self, terms: Sequence[str]) -> set[str]:
        """Return the states that some of the terms need before the step, and the updates of those in turn."""
        kept: set[str] = set()
        roots = [self.scores[term] for term in terms]
        roots += [guard.node for guard in self.guards if guard.where in terms]
        while self.states and roots:
            read = (self.nodes[at] for at in find_reachable(self.nodes, roots))
            names = {self.inputs[node.name].name for node in read if isinstance(node, n.Input)}
            new = (names & self.states.keys()) - kept
            kept |= new
            roots = [at for name in new for at in self.states[name]]
            roots += [guard.node for guard in self.guards if guard.where in new]
        return kept


def build_formula(
    name: str,
    functions: Sequence[Function],
    fields: Mapping[str, Field],
    shared: Mapping[str, Parameter | Fixed],
    states: Mapping[str, State],
    optional: Collection[str] = (),
) -> Formula:
    """Return what `functions` and `states` compute, read into shared nodes; a state that nothing reads is an error.

    Those in `optional` may be unread.
    """
    builder = Builder()
    transition = find_transitions(functions, states)
    carried = read_states(builder, states, fields, transition, shared) if states else ReadStates({}, {}, (), {}, {})
    inputs: dict[str, Field] = dict(carried.inputs)
    scores: dict[str, int] = {}
    guards: list[Guard] = list(carried.guards)
    notes: list[Note] = []
    claims = dict(carried.claimed)
    for term in functions:
        reading = read_term_into(builder, term, fields, transition, shared, carried.computed)
        claim_parts(term.name, reading.claimed, claims, fields)
        score = reading.result
        if term.terminal:
            inputs["terminal"] = TERMINAL
            score = builder.add(n.Select(builder.add(n.Input("terminal")), score, builder.const(0.0)))
        scores[term.name] = score
        guards += reading.guards
        notes += reading.notes
        inputs |= reading.inputs
    nodes = tuple(builder.nodes)
    final = find_final_inputs(nodes, scores, guards, functions, carried.entries)
    body = tidy(Formula(nodes, scores, tuple(guards), inputs, final, carried.entries, tuple(notes)))
    if states:
        refuse_unread(name, [state for state in states if state not in optional], body.inputs)
    return body


def read_term_into(
    builder: Builder,
    term: Function,
    fields: Mapping[str, Field],
    transition: frozenset[str],
    shared: Mapping[str, Parameter | Fixed],
    states: Mapping[str, Computed],
) -> Reading:
    """Return what came of reading the function of a term, a gate or a condition into `builder`.

    What `states` are after the step has been read before.
    """
    own = {f"{term.name}.{knob}": v for knob, v in term.knobs.items()}
    scope = Scope(fields, transition, {**shared, **own}, states)
    if isinstance(term, TotalFunction):
        return read_total_function(builder, term, scope)
    if term.source is None:
        raise DefinitionError(f"term {term.name!r} was loaded from a specification and works only in its own reward")
    within = builder.add(n.Input("terminal")) if term.terminal else None
    return read_term(
        term.source, term.name, term.arguments, builder, scope, within=within, part=term.part, batched=term.batched
    )


def find_transitions(functions: Iterable[Function], states: Mapping[str, State]) -> frozenset[str]:
    """Return the fields that some function, or the update of a state, reads as `prev.x` or `curr.x`."""
    reads = [*(function.reads for function in functions), *(state.reads for state in states.values())]
    return frozenset(read.partition(".")[2] for each in reads for read in each if "." in read)


def tidy(body: Formula) -> Formula:
    """Return the formula with only the nodes it needs, in canonical order."""
    return body.only(list(body.scores))


def clip_field(field: Field) -> Field:
    """Return a field that clips numbers out of its range, where it raised an error and infinity is not one of them."""
    ranged = field.kind == "number" and not field.numbers and (field.low is not None or field.high is not None)
    if not ranged or field.outside != "raise" or (field.infinite and field.high is not None):
        return field
    return replace(field, outside="clip")


def clip_inputs(body: Formula) -> Formula:
    """Return the formula that reads every number held within its range, as far as `clip_field` says; not states."""
    builder, moved = Builder(), dict[int, int]()
    inputs = {name: field if field.name in body.states else clip_field(field) for name, field in body.inputs.items()}
    for at, node in enumerate(body.nodes):
        moved[at] = builder.add(renumber(node, moved))
        if isinstance(node, n.Input) and inputs[node.name] != body.inputs[node.name]:
            moved[at] = hold_within_range(builder, moved[at], inputs[node.name])
    return tidy(
        replace(
            body,
            nodes=tuple(builder.nodes),
            scores={term: moved[at] for term, at in body.scores.items()},
            guards=tuple(replace(guard, node=moved[guard.node]) for guard in body.guards),
            inputs=inputs,
            states={name: tuple(moved[at] for at in ats) for name, ats in body.states.items()},
        )
    )


def find_final_inputs(
    nodes: tuple[n.Node, ...],
    scores: Mapping[str, int],
    guards: Iterable[Guard],
    terms: Iterable[Function],
    states: Mapping[str, tuple[int, ...]],
) -> frozenset[str]:
    """Return the inputs that only terminal terms read; states are carried at every step."""
    terminal = {**dict.fromkeys(states, False), **{term.name: term.terminal for term in terms}}
    roots: dict[bool, list[int]] = {True: [], False: [at for ats in states.values() for at in ats]}
    for term, at in scores.items():
        roots[terminal[term]].append(at)
    for guard in guards:
        roots[terminal[guard.where]].append(guard.node)
    read = {
        end: {node.name for at in find_reachable(nodes, ats) if isinstance(node := nodes[at], n.Input)}
        for end, ats in roots.items()
    }
    return frozenset(read[True] - read[False] - {"terminal"})


def assemble(
    name: str,
    body: Formula,
    terms: Sequence[Term],
    params: Mapping[str, float | bool],
    states: Mapping[str, State],
    *,
    composition: Composition | None = None,
    schedules: Mapping[str, Schedule] = MappingProxyType({}),
    fields: Mapping[str, Field] = MappingProxyType({}),
) -> Program:
    """Return the whole Program: each score clamped, weighted and summed in declared order, and the guards of `ok`.

    With a `composition` the sum is only the beginning of the total; parameters in `schedules` follow a counter.
    """
    counters = find_counters(body.inputs, schedules.values(), fields) if schedules else {}
    counted = dict(counters.values())
    numbers = lower_numbers(body.nodes, schedules, counters, body.scores)
    builder = numbers.builder
    outputs: dict[str, int] = {}
    guards = numbers.move_guards(body.guards)
    scores = {owner: numbers.follow(at) for owner, at in body.scores.items()}
    values: dict[str, int] = {}
    total: int | None = None
    scale = None if composition is None else composition.scale_param
    for term in terms:
        score = scores[term.name]
        clamped = numbers.clamp(score, term.name, params)
        if clamped != score:  # the sum below would not show an infinity that a clamp has hidden
            finite = builder.add(n.IsFinite(score))
            guards.append(Guard(finite, term.name, "scores a number that is not finite"))
        value = builder.add(n.Mul(clamped, numbers.find(f"{term.name}.weight")))
        if scale is not None:
            value = builder.add(n.Mul(value, numbers.find(scale)))
        values[term.name] = value
        outputs |= {f"{term.name}.score": score, f"{term.name}.clamped": clamped, f"{term.name}.value": value}
        if composition is None:
            total = value if total is None else builder.add(n.Add(total, value))
    rows: tuple[str, ...] = ()
    if composition is not None:
        made = build_total(composition, terms, values, scores, numbers, params)
        rows, outputs, guards = made.rows, {**outputs, **made.outputs}, [*guards, *made.guards]
    else:
        assert total is not None
        guards.append(Guard(builder.add(n.IsFinite(total)), "total", "adds up to a number that is not finite"))
        outputs["total"] = numbers.clamp(total, "total", params)
    carried = {name: states[name].carried for name in body.states}
    for state, ats in body.states.items():
        for output, at in zip(carried[state].list_names("curr"), map(numbers.follow, ats), strict=True):
            outputs[output] = at
            if (condition := _build_range(builder, at, carried[state].field)) is not None:
                guards.append(Guard(condition, output, "is outside its declared range"))
    inputs, terminal = {**body.inputs, **counted}, body.terminal - counted.keys()
    ranges = _build_range_guards(builder, inputs, terminal)
    names = (*(term.name for term in terms), *rows)
    whole = Program(
        name,
        names,
        tuple(builder.nodes),
        inputs,
        dict(params),
        outputs,
        terminal,
        tuple(guards),
        ranges,
        carried,
        adjustments=rows,
        counters=frozenset(counted),
        unused=frozenset(fields) - {field.name for field in inputs.values()},
    )
    return whole.prune()


def _build_range_guards(builder: Builder, inputs: Mapping[str, Field], terminal: frozenset[str]) -> tuple[Guard, ...]:
    """Return the condition that each input lies in its declared set, written so that NaN fails."""
    guards = []
    for name, field in inputs.items():
        condition = _build_range(builder, builder.add(n.Input(name)), field)
        if condition is None:
            continue
        if name in terminal:
            condition = builder.add(n.Or(builder.add(n.Not(builder.add(n.Input("terminal")))), condition))
        guards.append(Guard(condition, name, "is outside its declared range"))
    return tuple(guards)


def _build_range(builder: Builder, at: int, field: Field) -> int | None:
    if field.kind == "flag":
        return None
    if field.kind == "category":
        return builder.add(n.Defined(builder.add(n.Item((True,) * len(field.labels), at))))
    if field.numbers:
        return _build_membership(builder, at, field.numbers)
    low, high = (None, None) if field.outside != "raise" else (field.low, field.high)
    above = n.Lt(builder.const(-math.inf), at) if low is None else n.Le(builder.const(float(low)), at)
    below = n.Lt(at, builder.const(math.inf)) if high is None else n.Le(at, builder.const(float(high)))
    if not field.infinite:
        return builder.all([builder.add(above), builder.add(below)])
    if high is None:
        return builder.add(above)
    return builder.all([builder.add(above), builder.any([builder.add(below), builder.add(n.IsInf(at))])])


def _build_membership(builder: Builder, at: int, numbers: Sequence[float]) -> int:
    low, high = min(numbers), max(numbers)
    if len(numbers) > 4 and set(numbers) == {low + i for i in range(len(numbers))} and low == int(low):
        inside = [builder.add(n.Le(builder.const(low), at)), builder.add(n.Le(at, builder.const(high)))]
        return builder.all([*inside, builder.add(n.Eq(at, builder.add(n.Floor(at))))])
    return builder.any(builder.add(n.Eq(at, builder.const(number))) for number in numbers)


def find_gradients(program: Program) -> dict[str, bool]:
    """Return for each parameter whether the total can change smoothly with it.

    A parameter that only comparisons see — a threshold — has a gradient of exactly 0 everywhere.
    """
    reached = {program.outputs["total"]}
    for at in reversed(range(len(program.nodes))):
        node = program.nodes[at]
        if at not in reached or node.flat:
            continue
        match node:
            case n.Select(_, then, otherwise):
                reached |= {then, otherwise}
            case _:
                reached |= set(n.operands(node))
    names = {node.name for at, node in enumerate(program.nodes) if at in reached and isinstance(node, n.Param)}
    return {name: name in names for name in program.params}

"""From terms and fields to a Program: scores, clamps, weights, the sum, and the conditions that a row must meet."""

import ast
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from plaudit.errors import DefinitionError, UnusedField, did_you_mean
from plaudit.language import nodes as n
from plaudit.language.field import TERMINAL, Field
from plaudit.language.functions import Reading, read_term
from plaudit.language.inputs import Scope, hold_within_range
from plaudit.language.parameters import Parameter
from plaudit.language.program import Builder, Guard, Program, find_reachable, prune, renumber
from plaudit.reward.term import Term


@dataclass(frozen=True, slots=True)
class Formula:
    """What the terms compute, before clamps and weights: the part of a reward that its fingerprint is about."""

    nodes: tuple[n.Node, ...]
    scores: Mapping[str, int]
    guards: tuple[Guard, ...]
    inputs: Mapping[str, Field]
    terminal: frozenset[str]
    """Inputs that only terminal terms read."""

    def only(self, terms: Sequence[str]) -> "Formula":
        """Return the formula of some of the terms."""
        guards = [guard for guard in self.guards if guard.where in terms]
        scores = {term: self.scores[term] for term in terms}
        nodes, moved = prune(self.nodes, [*scores.values(), *(guard.node for guard in guards)])
        read = [node.name for node in nodes if isinstance(node, n.Input)]
        return Formula(
            nodes,
            {term: moved[at] for term, at in scores.items()},
            tuple(replace(guard, node=moved[guard.node]) for guard in guards),
            {name: self.inputs[name] for name in read},
            self.terminal & set(read),
        )


def build_formula(
    name: str, terms: Sequence[Term], fields: Mapping[str, Field], shared: Mapping[str, Parameter]
) -> Formula:
    """Return what `terms` compute, read into shared nodes; an input that nobody reads is an error."""
    builder = Builder()
    transition = find_transitions(terms)
    inputs: dict[str, Field] = {}
    scores: dict[str, int] = {}
    guards: list[Guard] = []
    for term in terms:
        reading = read_term_into(builder, term, fields, transition, shared)
        score = reading.result
        if term.terminal:
            inputs["terminal"] = TERMINAL
            score = builder.add(n.Select(builder.add(n.Input("terminal")), score, builder.const(0.0)))
        scores[term.name] = score
        guards += reading.guards
        inputs |= reading.inputs
    nodes = tuple(builder.nodes)
    body = tidy(Formula(nodes, scores, tuple(guards), inputs, find_final_inputs(nodes, scores, guards, terms)))
    read = {field.name for field in body.inputs.values()}
    for field in fields:
        if field not in read:
            raise UnusedField(f"reward {name!r}: {_describe_unused(field, terms, read)}")
    return body


def _describe_unused(field: str, terms: Sequence[Term], read: Iterable[str]) -> str:
    """Return what to do about a declared field that makes no difference to any score."""
    for term in terms:
        for name in term.reads:
            if name == field and not _mentions(term, field):
                return f"term {term.name!r} takes {name!r} and never uses it: drop the parameter or use it."
            if name.rpartition(".")[2] == field:
                return f"term {term.name!r} reads {name!r}, and it makes no difference to any score. Use it or drop it."
    return f"no term reads the declared field {field!r}.{did_you_mean(field, read)} Use it or drop it."


def _mentions(term: Term, name: str) -> bool:
    """Return whether the function of a term names one of its parameters in its body."""
    body = term.source.tree.body if term.source is not None else ()
    return any(isinstance(node, ast.Name) and node.id == name for part in body for node in ast.walk(part))


def read_term_into(
    builder: Builder,
    term: Term,
    fields: Mapping[str, Field],
    transition: frozenset[str],
    shared: Mapping[str, Parameter],
) -> Reading:
    """Return what came of reading the function of `term` into `builder`."""
    if term.source is None:
        raise DefinitionError(f"term {term.name!r} was loaded from a specification; it belongs to its reward alone")
    scope = Scope(fields, transition, {**shared, **{f"{term.name}.{knob}": v for knob, v in term.knobs.items()}})
    within = builder.add(n.Input("terminal")) if term.terminal else None
    knobs = {**dict.fromkeys(term.shared), **term.knobs, **term.constants}
    return read_term(term.source, term.name, knobs, builder, scope, within=within, part=term.part, batched=term.batched)


def find_transitions(terms: Iterable[Term]) -> frozenset[str]:
    """Return the fields that some term reads as `prev.x` or `curr.x`."""
    return frozenset(read.partition(".")[2] for term in terms for read in term.reads if "." in read)


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
    """Return the formula that reads every number held within its range, as far as `clip_field` says."""
    builder, moved = Builder(), dict[int, int]()
    inputs = {name: clip_field(field) for name, field in body.inputs.items()}
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
        )
    )


def find_final_inputs(
    nodes: tuple[n.Node, ...], scores: Mapping[str, int], guards: Iterable[Guard], terms: Iterable[Term]
) -> frozenset[str]:
    """Return the inputs that only terminal terms read."""
    terminal = {term.name: term.terminal for term in terms}
    roots: dict[bool, list[int]] = {True: [], False: []}
    for term, at in scores.items():
        roots[terminal[term]].append(at)
    for guard in guards:
        roots[terminal[guard.where]].append(guard.node)
    read = {
        end: {node.name for at in find_reachable(nodes, ats) if isinstance(node := nodes[at], n.Input)}
        for end, ats in roots.items()
    }
    return frozenset(read[True] - read[False] - {"terminal"})


def assemble(name: str, body: Formula, terms: Sequence[Term], params: Mapping[str, float | bool]) -> Program:
    """Return the whole Program: each score clamped, weighted and summed in declared order, and the guards of `ok`."""
    builder = Builder(body.nodes)
    outputs: dict[str, int] = {}
    guards = list(body.guards)
    total: int | None = None
    for term in terms:
        score = body.scores[term.name]
        clamped = _clamp(builder, score, term.name, params)
        if clamped != score:  # the sum below would not show an infinity that a clamp has hidden
            finite = builder.add(n.IsFinite(score))
            guards.append(Guard(finite, term.name, "scores a number that is not finite"))
        value = builder.add(n.Mul(clamped, builder.add(n.Param(f"{term.name}.weight"))))
        total = value if total is None else builder.add(n.Add(total, value))
        outputs |= {f"{term.name}.score": score, f"{term.name}.clamped": clamped, f"{term.name}.value": value}
    assert total is not None
    guards.append(Guard(builder.add(n.IsFinite(total)), "total", "adds up to a number that is not finite"))
    outputs["total"] = _clamp(builder, total, "total", params)
    ranges = _build_range_guards(builder, body)
    names = tuple(term.name for term in terms)
    whole = Program(
        name, names, tuple(builder.nodes), body.inputs, dict(params), outputs, body.terminal, tuple(guards), ranges
    )
    return whole.prune()


def _clamp(builder: Builder, at: int, owner: str, params: Mapping[str, float | bool]) -> int:
    low, high = (f"{owner}.{bound}" if f"{owner}.{bound}" in params else None for bound in ("low", "high"))
    if low and high:
        return builder.add(n.Clip(at, builder.add(n.Param(low)), builder.add(n.Param(high))))
    if low:
        return builder.add(n.Max(at, builder.add(n.Param(low))))
    return builder.add(n.Min(at, builder.add(n.Param(high)))) if high else at


def _build_range_guards(builder: Builder, body: Formula) -> tuple[Guard, ...]:
    """Return the condition that each input lies in its declared set, written so that NaN fails."""
    guards = []
    for name, field in body.inputs.items():
        condition = _build_range(builder, builder.add(n.Input(name)), field)
        if condition is None:
            continue
        if name in body.terminal:
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

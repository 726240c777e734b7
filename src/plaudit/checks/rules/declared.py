"""Rules about what is declared: fields, knobs and allowances without effect, ranges, facts, constants that changed."""

import math
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

from plaudit.checks.model import Contradiction, RewardModel, locate_source
from plaudit.checks.rules.registry import CheckContext, Found, rule
from plaudit.checks.solver.boxes import evaluate
from plaudit.checks.solver.breakpoints import sample_columns
from plaudit.checks.solver.question import Impossible, Question, Unknown
from plaudit.checks.solver.ranges import list_choices, list_plain_values, value_at_rest
from plaudit.language import nodes as n
from plaudit.language.parameters import collect_parameters, expand_parameters
from plaudit.language.reading.source import Source, read_current
from plaudit.reward.function_parameters import list_names
from plaudit.reward.reward import Reward

MOST_VALUES = 4
"""This many values of an input are tried with everything else at rest."""
ROWS = 400
"""How many rows are tried before anything is proved."""


@rule(
    "unused-field",
    severity="advice",
    why="Measuring a field that cannot change the total is wasted effort.",
    always=True,
)
def find_unused_fields(context: CheckContext) -> Found:
    """Find fields that a term reads and that cannot change the total."""
    model = context.model
    scores = {term.name: model.reads_score[term.name] for term in context.reward.terms if term.weight != 0}
    above = {each.name: model.reads_result(each.name) for each in context.reward._composition.functions}
    weighed = {name for names in (*scores.values(), *above.values()) for name in names} - model.unread_counters
    together = context.reward.low is not None or context.reward.high is not None  # a clamp hides one term alone
    by_field: dict[str, set[str]] = {}
    for name in weighed:
        by_field.setdefault(model.program.inputs[name].name, set()).add(name)
    by_field.pop("terminal", None)
    for field in sorted(by_field):
        readers = [term.name for term in context.reward.terms if model.reads_score[term.name] & by_field[field]]
        if together or any(names & by_field[field] for names in above.values()):
            readers = list(model.terms)
        elif _is_felt_at_rest(context, readers, by_field[field]):
            continue
        part = RewardModel(context.reward.select_terms(*readers))
        if has_effect(part, by_field[field]):
            continue
        question = Question()
        other = {name: f"{name}, otherwise" for name in by_field[field]}
        this, that = part.add_row(question), part.add_row(question, names=other)
        match context.solver.find_above(question, question.distance(this["total"], that["total"])):
            case Unknown(reason):
                yield context.undecided("total", f"whether {field} can change the total", reason=reason)
            case Impossible():
                yield context.finding(
                    "total",
                    f"{field!r} is read but cannot change the total.",
                    "Drop the field, or give its part of the expression a weight.",
                )


def _is_felt_at_rest(context: CheckContext, terms: Iterable[str], names: Iterable[str]) -> bool:
    """Return whether other values of these inputs change the sum of some terms, everything else at rest."""
    question, copy = context.model.any_step
    program = question.program(question.plus(*(copy[f"{term}.value"] for term in terms)))
    still = {name: value_at_rest(field) for name, field in program.inputs.items()}
    here = evaluate(program, still)
    for name in (each for each in names if each in program.inputs):
        field = program.inputs[name]
        for value in list_choices(field) or list_plain_values(field)[:MOST_VALUES]:
            there = evaluate(program, {**still, name: value})
            if math.isfinite(here) and math.isfinite(there) and abs(there - here) > 1e-12:
                return True
    return False


def has_effect(model: RewardModel, names: Iterable[str]) -> bool:
    """Return whether other values of these inputs have changed a total; False proves nothing."""
    fields = model.program.inputs
    columns = sample_columns(fields, [model.program], ROWS)
    others = sample_columns(fields, [model.program], 2 * ROWS)
    compiled = model.reward.compile("numpy", on_bad="mask")
    before = compiled(columns).total
    after = compiled({**columns, **{name: others[name][ROWS:] for name in names}}).total
    return bool((abs(before - after) > 1e-12).any())


@rule("unused-knob", severity="warning", why="Tuning a knob that changes nothing is wasted effort.")
def find_unused_knobs(context: CheckContext) -> Found:
    """Find knobs that no expression uses."""
    program = context.reward.program
    used = {node.name for node in program.nodes if isinstance(node, n.Param)}
    for name, value in collect_parameters(context.reward.params).items():
        if not used.isdisjoint(expand_parameters({name: value})) or _is_part(context.reward, name):
            continue
        term = name.partition(".")[0] if "." in name else "total"
        yield context.finding(
            term, f"the knob {name!r} changes nothing: its term does not use it.", "Use it or drop it."
        )


def _is_part(reward: Reward, name: str) -> bool:
    """Return whether a shared parameter is a part of a record, and no parameter of a function: a note says so."""
    terms = [term for term in reward.terms if name in term.shared]
    return bool(terms) and all(term.source is not None and name not in list_names(term.source) for term in terms)


@rule("missing-range", severity="advice", why="Without declared ranges, little can be proved.")
def find_missing_ranges(context: CheckContext) -> Found:
    """Find numbers without a declared range."""
    read = {field.name for field in context.model.fields.values()} - context.model.unread_counters
    without = {
        field.name: [
            end for end in ("low", "high") if getattr(field, end) is None and not (end == "high" and field.infinite)
        ]
        for field in context.reward._bound.fields.values()
        if field.name in read and field.kind == "number" and not field.numbers
    }
    open_ended = [f"{name} ({' and '.join(ends)})" for name, ends in without.items() if ends]
    if open_ended:
        yield context.finding(
            "total",
            f"no range is declared for {', '.join(open_ended)}.",
            "Declare low= and high= wherever you know them, so that more can be proved.",
        )


@rule("contradictory-facts", severity="warning", why="Facts that are true of no step would prove anything.")
def find_contradictory_facts(context: CheckContext) -> Found:
    """Find facts that are true of no step."""
    match context.find_contradiction():
        case Unknown(reason):
            yield context.undecided("total", "whether the facts can all be true", reason=reason)
        case Contradiction() as found:
            first = next(fact for fact in context.reward._bound.facts if fact.name in found.facts)
            yield context.finding(
                "total",
                f"{found}, so anything could be proved about such steps.",
                "Correct the fact or the range that is wrong. Until then, nothing else is checked.",
                place=locate_source(first.source),
                facts=(*found.facts, *found.changes),
            )


@rule(
    "unused-allow",
    severity="advice",
    why="An `allow=` that is no longer needed hides the flaw if it comes back.",
    needs="findings",
)
def find_unused_allowances(context: CheckContext) -> Found:
    """Find an `allow=` of a rule that was decided and found nothing that it allows."""
    reward = context.reward
    own = {(term.name, code): reason for term in reward.terms for code, reason in term.allow.items()}
    allowed = own | {("total", code): reason for code, reason in reward.allow.items()}
    found = {(each.finding.term, each.finding.code) for each in context.suppressed}
    used = {(term if (term, code) in own else "total", code) for term, code in found}
    for (term, code), reason in allowed.items():
        if (term, code) in used or code not in context.decided or code == "unused-allow":
            continue
        owner = "the reward" if term == "total" else repr(term)
        yield context.finding(
            term,
            f"{owner} allows {code} ({reason!r}), but there is nothing to allow.",
            "Remove the allow=, so that the flaw is reported if it comes back.",
        )


@rule(
    "changed-since-read",
    severity="warning",
    why="The function and the reward built from it now compute different values.",
)
def find_changed_constants(context: CheckContext) -> Found:
    """Find functions whose constants or helpers were given another value after the reward was made."""
    for owner in (*context.reward._functions, *context.reward.states.values()):
        for source, name, before, after in _find_changes(owner.source) if owner.source is not None else ():
            yield context.finding(
                owner.name,
                f"{name} was {before} when {owner.name!r} was read and is {after} now: the function and the "
                "reward compute different values.",
                "Build the reward after its constants have their values, or make the constant a knob.",
                place=locate_source(source),
            )


def _find_changes(source: Source) -> Iterator[tuple[Source, str, str, str]]:
    """Yield the function that reads a name, the name, and what it was and is."""
    for name, before in source.known.items():
        if not isinstance(name, str):
            continue
        with suppress(KeyError):  # a name that is gone changes nothing
            after = read_current(source.function, name)
            if after is not before and not (type(after) is type(before) and _is_equal(after, before)):
                yield source, name, f"{before!r:.60}", f"{after!r:.60}"
    for helper in source.helpers.values():
        yield from _find_changes(helper)


def _is_equal(left: Any, right: Any) -> bool:
    import numpy as np

    if isinstance(left, float) and isinstance(right, float):
        return left == right or (math.isnan(left) and math.isnan(right))
    return bool(np.array_equal(left, right)) if hasattr(left, "tolist") else bool(left == right)

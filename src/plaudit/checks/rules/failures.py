"""Rules about where a reward fails: totals without bound, and rows that cannot be scored."""

import math

from plaudit.checks.finding import Step
from plaudit.checks.model import locate_source
from plaudit.checks.rules.registry import CheckContext, Found, rule
from plaudit.checks.solver.question import Question, Unknown, Witness, list_inputs
from plaudit.checks.solver.ranges import NEAR, NumericRow, is_unlimited
from plaudit.language import nodes as n
from plaudit.language.reading.bits import NO_INTEGER

KEPT, FAR = 0.5, 1000.0
"""A witness in plain numbers is this share as far out, or this far; what gets no further is not without bound."""


@rule("unbounded", severity="warning", why="A single row can outweigh a whole training run.")
def find_unbounded_totals(context: CheckContext) -> Found:
    """Find totals that no declared range keeps finite."""
    model = context.model
    span = context.span("total")
    if not span.exact and (math.isinf(span.low) or math.isinf(span.high)):
        span = context.span("total", tight=True)
    for end, word, sign, row in ((span.high, "high", 1.0, span.highest), (-span.low, "low", -1.0, span.lowest)):
        if end != math.inf:
            continue
        open_ended = sorted(
            {
                field.name
                for name in model.reads["total"] - model.unread_counters
                if (field := model.program.inputs[name]).kind == "number" and not field.numbers
                if field.low is None or (field.high is None and not field.infinite)
            }
        )
        verb = "has" if len(open_ended) == 1 else "have"
        why = (
            f"because {', '.join(open_ended)} {verb} no declared range on one side"
            if open_ended
            else "although every field has a declared range"
        )
        reached = sign * (span.most if sign > 0 else span.least)
        grows = is_unlimited(reached) and reached > 0
        step = _build_witness(context, sign, row, FAR if not grows else -math.inf)
        if not grows and (step is None or step.total is None or sign * step.total < FAR):
            yield context.undecided("total", f"how {word} the total can get")
            continue
        yield context.finding(
            "total",
            f"the total has no {'upper' if sign > 0 else 'lower'} bound, {why}.",
            "Declare low= and high= for the fields, or clamp the term or the total.",
            severity="advice" if open_ended else "warning",
            witness=() if step is None else (step,),
            facts=model.facts_about(*model.reads["total"]),
        )


def _build_witness(context: CheckContext, sign: float, row: NumericRow | None, least: float) -> Step | None:
    """Return a step whose total is far out: where the best row overflows, or is not far enough, another one."""
    model = context.model

    def build(far: NumericRow) -> Step:
        total = model.build_step(far).total
        enough = FAR if total is None else min(FAR, KEPT * sign * total)
        (plain,) = model.simplify_rows([far], lambda rows: sign * (model.build_step(rows[0]).total or 0.0) >= enough)
        return model.build_step(plain)

    step = None if row is None else build(_tame_row(row))
    if step is None or step.total is None or sign * step.total < least:
        question = Question()
        total = model.add_row(question)["total"]
        asked = total if sign > 0 else question.builder.simplify(n.Neg(total))
        match context.solver.find_above(question, asked, FAR):
            case Witness(other):
                return build(other)
    return step


def _tame_row(row: NumericRow) -> NumericRow:
    """Return a row in which what has no bound is merely large."""
    return {
        name: math.copysign(NEAR, value) if is_unlimited(value) and math.isfinite(value) else value
        for name, value in row.items()
    }


@rule("not-a-number", severity="warning", why="A row within the declared ranges cannot be scored.", always=True)
@rule("may-divide-by-zero", severity="warning", why="A row within the declared ranges cannot be scored.", always=True)
def find_unscorable_rows(context: CheckContext) -> Found:
    """Find rows inside the declared ranges that divide by zero, take the logarithm of 0, and the like."""
    model = context.model
    program = model.program
    reported: set[tuple[str, str]] = set()
    for guard in program.value_guards:
        if (guard.where, guard.line) in reported or guard.where in model.carried:
            continue
        if guard.why == NO_INTEGER:  # the example of the reward says that rows have one
            continue
        read = list_inputs(program.nodes, guard.node)
        question = Question()
        copy = model.add_row(question, scored=False)
        if isinstance(program.nodes[guard.node], n.IsFinite):  # what grows without bound is `unbounded`
            open_ends = {name: program.inputs[name] for name in sorted(read) if program.inputs[name].infinite}
            far = [question.builder.add(n.IsInf(question.input(*each))) for each in open_ends.items()]
            question.require(question.builder.any(far))
        code = "may-divide-by-zero" if "zero" in guard.why else "not-a-number"
        match context.solver.find_example(question, question.negate(copy.at(guard.node))):
            case Unknown(reason):
                yield context.undecided(guard.where, f"whether it ever {guard.why}", reason=reason, code=code)
            case Witness(row):
                reported.add((guard.where, guard.line))
                yield context.finding(
                    guard.where,
                    f"{guard.where!r} {guard.why} for inputs within the declared ranges.",
                    "Guard the operation with a condition, or tighten the range of the field: low=, high= or a fact.",
                    witness=[model.build_step(row, "cannot be scored", only=read, plain=True)],
                    place=guard.place,
                    facts=model.facts_about(*read),
                    code=code,
                )


@rule("state-leaves-range", severity="warning", why="A step that takes a state out of its range cannot be scored.")
def find_leaving_states(context: CheckContext) -> Found:
    """Find states whose update takes them out of their declared range."""
    model = context.model
    reported: set[str] = set()
    for guard in model.program.value_guards:
        if guard.where not in model.carried or (name := model.carried[guard.where].name) in reported:
            continue
        read = list_inputs(model.program.nodes, guard.node)
        question = Question()
        copy = model.add_row(question, scored=False)
        match context.solver.find_example(question, question.negate(copy.at(guard.node))):
            case Unknown(reason):
                yield context.undecided(name, "whether it stays within its range", reason=reason)
            case Witness(row):
                reported.add(name)
                yield context.finding(
                    name,
                    f"the state {name!r} leaves its declared range after a step within the declared ranges.",
                    "Keep it in range in its update, with min or max, or declare its real range.",
                    witness=[model.build_step(row, "cannot be scored", only=read, plain=True)],
                    place=locate_source(context.reward.states[name].source),
                    facts=model.facts_about(*read),
                )

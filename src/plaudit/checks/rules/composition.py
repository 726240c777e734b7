"""Rules about what stands above the terms: a gate that never changes, an override that never or always holds."""

from plaudit.checks.formats.plain import format_number
from plaudit.checks.rules.registry import CheckContext, Found, rule
from plaudit.checks.solver.boxes import is_close
from plaudit.checks.solver.question import Impossible, Question, Unknown
from plaudit.language import nodes as n


@rule("dead-gate", severity="warning", why="A gate that is the same for every input is a factor that nobody sees.")
def find_dead_gates(context: CheckContext) -> Found:
    """Find a gate that reads something and is the same whatever it reads."""
    gate = context.reward.gate
    if gate is None or not gate.reads:
        return
    span = context.span("gate.score")
    if not span.exact and is_close(span.least, span.most):
        span = context.span("gate.score", tight=True)
    if not is_close(span.low, span.high) or span.lowest is None:
        if not span.exact and is_close(span.least, span.most):
            yield context.undecided("gate", "whether it is ever anything else")
        return
    model = context.model
    yield context.finding(
        "gate",
        f"the gate is {format_number(span.ends[0])} in every step, whatever {', '.join(gate.reads)} "
        f"{'is' if len(gate.reads) == 1 else 'are'}.",
        "Correct the condition or the declared ranges; or drop the gate, and write a fixed factor as scale=.",
        witness=(model.build_step(span.lowest, only=model.reads_result("gate") or None, plain=True),),
        facts=model.facts_about(*model.reads_result("gate")),
    )


@rule(
    "dead-override",
    severity="warning",
    why="An override that never holds does nothing, and one that always holds silences every term.",
)
def find_dead_overrides(context: CheckContext) -> Found:
    """Find overrides whose condition no step can meet, or every step meets."""
    model = context.model
    for each in context.reward.override:
        if not each.condition.reads:
            continue
        facts = model.facts_about(*model.reads_result(each.name))
        for holds, what, advice in (
            (True, "never holds: no step that can happen meets it", "Correct the condition or the declared ranges."),
            (False, "always holds: the total is the same in every step", "Correct the condition, or drop the terms."),
        ):
            question = Question()
            flag = question.compare(model.add_row(question)[f"{each.name}.score"], n.Eq, question.number(float(holds)))
            match context.solver.find_example(question, flag):
                case Unknown(reason):
                    word = "ever" if holds else "always"
                    yield context.undecided(each.name, f"whether {each.name!r} {word} holds", reason=reason)
                case Impossible():
                    yield context.finding(each.name, f"the override {each.name!r} {what}.", advice, facts=facts)
                    break

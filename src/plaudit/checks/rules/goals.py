"""Rules about the goal: that it can be reached and seen, and that neither idling nor anything else is worth more."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from plaudit.checks.finding import Finding, Severity, Step
from plaudit.checks.formats.plain import format_number, format_value
from plaudit.checks.model import RewardModel, find_tied_inputs, locate_source, name_step_inputs
from plaudit.checks.rules.loops import simplify_lap
from plaudit.checks.rules.registry import CheckContext, Found, rule
from plaudit.checks.rules.staying import (
    TOLERANCE,
    add_standing_step,
    bound_best_end,
    build_row,
    count_steps,
    describe_horizon,
    drop_potentials,
    maximise_pay,
    read_standing_row,
)
from plaudit.checks.solver.boxes import Maximum, evaluate, is_close
from plaudit.checks.solver.question import Impossible, Question, Unknown, Witness
from plaudit.checks.solver.ranges import (
    NumericRow,
    decode_value,
    encode_value,
    is_unlimited,
    strip_step_end,
    value_at_rest,
)
from plaudit.checks.solver.solver import SLACK
from plaudit.language import nodes as n
from plaudit.language.program import Builder, renumber
from plaudit.reward.declared import build_facts_program
from plaudit.reward.reward import Reward

IDLE_SHARE = 0.5
"""Doing nothing that is worth more than this share of the best goal or end is worth a word."""
MOST_BEYOND = 10
"""An episode of more than so many times the steps that a discount sees has an end that nobody sees."""
STAYING, ENDING = "staying", "the other end"


@rule(
    "unreachable-goal",
    severity="warning",
    why="A goal that no step reaches says nothing about the reward.",
    uses=("goal",),
    always=True,
)
def find_unreachable_goals(context: CheckContext) -> Found:
    """Find a goal that is true of no step that facts allow."""
    goal = context.reward._bound.goal
    if goal is None:
        return
    question = Question()
    context.model.require_facts(question)
    match context.solver.find_example(question, add_goal(context, question)):
        case Unknown(reason):
            yield context.undecided("total", f"whether the goal {goal.name!r} can be reached", reason=reason)
        case Impossible():
            yield context.finding(
                "total",
                f"no step that the declared ranges and facts allow makes the goal {goal.name!r} true.",
                "Correct the goal, or the range or fact that is wrong.",
                place=locate_source(goal.source),
                facts=tuple(fact.name for fact in context.reward._bound.facts),
            )


@rule(
    "goal-not-best",
    severity="warning",
    why="Where something else pays more than the goal, the goal is not learnt.",
    uses=("roles", "goal", "horizon", "discount", "rates"),
)
def find_better_than_goal(context: CheckContext) -> Found:
    """Find a way to stay outside the goal, to go round outside it, or to end elsewhere, that pays more than it."""
    steps = count_steps(context.reward)
    worth = bound_goal(context)
    if steps is None or worth is None:
        return
    for find in (_find_best_stay, _find_best_lap, _find_best_other_end):
        other = find(context, steps)
        if other is not None and other.worth > worth + TOLERANCE * max(1.0, abs(worth)):
            yield _describe_better(context, other, worth)
            return


@dataclass(frozen=True, slots=True)
class Other:
    """What else there is to do than to reach the goal: what it is worth, how it is told, and the steps of it."""

    worth: float
    text: str
    steps: tuple[Step, ...]


def bound_goal(context: CheckContext) -> float | None:
    """Return the most that reaching the goal, and what follows it, can be worth; None where that is not known.

    Nothing follows where the goal ends the episode. Otherwise the best is to stay in it, or to reach it in every step
    where one cannot stay.
    """
    return context.recall("goal", lambda: _bound_goal(context) if context.reward._bound.goal is not None else None)


def _bound_goal(context: CheckContext) -> float | None:
    paid = drop_potentials(context)
    question = Question()
    once = paid.add_row(question)["total"]
    context.model.require_facts(question)
    best = maximise_where(context, question, once, add_goal(context, question))
    if not best.possible or is_unlimited(best.bound):
        return None
    if context.reward.task.goal_ends:
        return best.bound
    steps = count_steps(context.reward)
    if steps is None:
        return None
    stay = _maximise_stay(context, inside=True)
    after = stay.bound if stay.possible else best.bound
    return None if is_unlimited(after) else best.bound + (steps - 1) * after


def maximise_where(context: CheckContext, question: Question, asked: int, condition: int) -> Maximum:
    """Return how high `asked` can be where `condition` is true, with a row of both.

    A question leaves out whatever has nothing to do with what is asked; here the condition counts all the same.
    """
    question.require(condition)
    answer = context.solver.find_example(question, condition)
    if answer == Impossible():
        return Maximum(-math.inf, None)
    best = maximise_pay(context, question, asked)
    row = None if best.row is None or not isinstance(answer, Witness) else {**answer.row, **best.row}
    return replace(best, row=row)


def _maximise_stay(context: CheckContext, *, inside: bool) -> Maximum:
    """Return the most that a step pays that changes nothing, inside the goal or outside it.

    Fields whose rate is not 0 do not stay as they are.
    """
    question = Question()
    pay = add_standing_step(drop_potentials(context), question)
    names = name_step_inputs(context.model, "s", "s")
    action = context.reward.action
    free = find_tied_inputs(context.model, action) if action is not None else set[str]()
    still = {name: value for name, value in context.model.resting_events.items() if name not in free}
    goal = add_goal(context, question, names, still)
    conditions = [goal if inside else question.negate(goal)]
    rates = {each.rate for each in context.reward.task.rates.values()}
    for name, field in question.inputs.copy().items():
        if field.name in rates:
            conditions.append(question.compare(question.input(name, field), n.Eq, question.number(0.0)))
    return maximise_where(context, question, pay, question.all(conditions))


def add_goal(
    context: CheckContext,
    question: Question,
    names: dict[str, str] | None = None,
    fixed: NumericRow | None = None,
) -> int:
    """Return the position of whether the goal is reached in a row of a question; what only it reads is as it likes."""
    program, goal = context.reward._bound.goal_program, context.reward._bound.goal
    assert goal is not None
    own = {name: f"s.{strip_step_end(name)}" for name in program.inputs} if names else {}
    copy = question.copy(program, {**own, **(names or {})}, fixed)
    return copy[goal.name]


def _find_best_stay(context: CheckContext, steps: float) -> Other | None:
    best = _maximise_stay(context, inside=False)
    if best.row is None or is_unlimited(best.value):
        return None
    model, paid = context.model, drop_potentials(context)
    note = STAYING + _describe_unread(context, {strip_step_end(name[2:]): value for name, value in best.row.items()})
    row = _simplify_outside_goal(context, paid, read_standing_row(model, best.row), best.value)
    step, scores = model.build_step(row, note), paid.score(row)
    if step.total is None or scores is None:
        return None
    pays = f"staying outside the goal pays {format_number(scores.total)} a step{_leave_out(step, scores.total)}"
    return Other(float(scores.total) * steps, pays, (step,))


def _simplify_outside_goal(context: CheckContext, paid: RewardModel, row: NumericRow, pay: float) -> NumericRow:
    """Return a row outside the goal in plain numbers that pays nearly as much."""

    def is_as_good(rows: Sequence[NumericRow]) -> bool:
        scores = paid.score(rows[0])
        as_good = scores is not None and float(scores.total) >= pay - SLACK * abs(pay)
        return as_good and not is_goal_reached(context, rows[0])

    return context.model.simplify_rows([row], is_as_good)[0] if is_as_good([row]) else row


def _leave_out(step: Step, paid: float) -> str:
    """Return what the number of a sentence leaves out, where a step earns something else."""
    return "" if step.total is None or is_close(step.total, paid) else " (potential-based terms left out)"


def _find_best_lap(context: CheckContext, steps: float) -> Other | None:
    """Return the best lap outside the goal that the search for loops that pay finds."""
    if not any(name.startswith("prev.") for name in context.model.program.inputs):
        return None
    from plaudit.checks.rules.state_graph import StateGraph  # with NumPy, which whoever lists the rules does not load

    paid = RewardModel(_rule_out_goal(drop_potentials(context).reward))
    laps = StateGraph(paid).laps()
    if not laps:
        return None
    lap = simplify_lap(paid, paid, max(laps, key=lambda each: each.mean))
    ends = zip(lap.states, [*lap.states[1:], lap.states[0]], lap.chosen, strict=True)
    rows = [build_row(paid, *each) for each in ends]
    pays = f"a lap of {len(rows)} steps outside the goal pays {format_number(lap.mean)} a step"
    return Other(lap.mean * steps, pays, tuple(context.model.build_step(row) for row in rows))


def _rule_out_goal(reward: Reward) -> Reward:
    assert reward._bound.goal is not None
    facts, goal = reward._bound.facts_program, reward._bound.goal_program
    builder, moved = Builder(facts.nodes), dict[int, int]()
    for at, node in enumerate(goal.nodes):
        moved[at] = builder.add(renumber(node, moved))
    outside = f"{reward._bound.goal.name}_is_not_reached"
    flags = {**facts.outputs, outside: builder.add(n.Not(moved[goal.outputs[reward._bound.goal.name]]))}
    guards = [replace(guard, node=moved[guard.node], where=outside) for guard in goal.value_guards]
    program = build_facts_program(
        reward.name, tuple(builder.nodes), flags, [*facts.value_guards, *guards], {**goal.inputs, **facts.inputs}
    )
    made = Reward._build(reward)
    vars(made._bound)["facts_program"] = program
    return made


def _find_best_other_end(context: CheckContext, steps: float) -> Other | None:
    paid = drop_potentials(context)
    if "terminal" not in paid.fields:
        return None
    question = Question()
    total = paid.add_row(question, fixed={"terminal": 1.0})["total"]
    context.model.require_facts(question, fixed={"terminal": 1.0})
    outside = question.negate(add_goal(context, question, fixed={"terminal": 1.0}))
    best = maximise_where(context, question, total, outside)
    if best.row is None or is_unlimited(best.value):
        return None
    note = ENDING + _describe_unread(context, best.row)
    row = _simplify_outside_goal(context, paid, {**best.row, "terminal": 1.0}, best.value)
    step, scores = context.model.build_step(row, note), paid.score(row)
    if scores is None:
        return None
    pays = f"an end outside the goal pays {format_number(scores.total)}{_leave_out(step, scores.total)}"
    return Other(float(scores.total), pays, (step,))


def _describe_unread(context: CheckContext, row: NumericRow) -> str:
    """Return what a row has of fields that the goal reads and no term does: a witness does not hold them."""
    read = {field.name for field in context.model.program.inputs.values()}
    goal = context.reward._bound.goal_program
    unread = {name: field for name, field in goal.inputs.items() if field.name not in read}
    values = {name: decode_value(field, row[name]) for name, field in unread.items() if name in row}
    return "".join(f", {name} {format_value(value)}" for name, value in values.items() if name != "terminal")


def is_goal_reached(context: CheckContext, row: NumericRow) -> bool:
    """Return whether the goal is true of a row; what the row leaves out is at rest."""
    question = Question()
    reached = add_goal(context, question)
    program = question.program(question.builder.simplify(n.Number(reached)))
    whole = {name: row.get(name, value_at_rest(field)) for name, field in program.inputs.items()}
    return evaluate(program, whole) == 1


def _describe_better(context: CheckContext, other: Other, worth: float) -> Finding:
    goal = context.reward._bound.goal
    assert goal is not None
    total = (
        ""
        if other.steps[0].note.startswith(ENDING)
        else f": {format_number(other.worth)} {describe_horizon(context.reward)}"
    )
    return context.finding(
        "total",
        f"{other.text}{total}, more than the goal {goal.name!r}, which is worth {format_number(worth)} at most.",
        "Let the goal pay more than what else there is to do, or let every other step cost something.",
        witness=other.steps,
        facts=context.model.facts_about(*context.model.reads["total"]),
    )


def list_told_again(context: CheckContext, findings: list[Finding]) -> Iterator[Finding]:
    """Yield the findings whose witness is that of `goal-not-best`, which says more of it.

    Of pay for staying that is so where every step outside the goal pays no more; staying inside it is no flaw. Of laps
    it is so where they have as many steps: the one outside the goal is the other, cut short.
    """
    for better in [each for each in findings if each.code == "goal-not-best"]:
        totals = {step.total for step in better.witness}
        for finding in findings:
            own = [step for step in finding.witness if not _is_in_goal(context, step)]
            if finding.code == "pays-for-staying" and better.witness[0].note.startswith(STAYING):
                if all((step.total or 0.0) <= (better.witness[0].total or 0.0) for step in own):
                    yield finding
            elif finding.code == "loop-that-pays" and len(better.witness) > 1:
                if len(finding.witness) == len(better.witness):
                    yield finding
            elif finding.code == "cheap-end" and totals <= {step.total for step in own}:
                yield finding


def _is_in_goal(context: CheckContext, step: Step) -> bool:
    """Return whether the step of a witness reaches the goal, as far as its inputs tell."""
    row = {name: encode_value(context.model.fields[name], value) for name, value in step.inputs.items()}
    return context.reward._bound.goal_program.inputs.keys() <= row.keys() and is_goal_reached(context, row)


@rule(
    "idle-floor",
    severity="warning",
    why="Where doing nothing is worth as much as the goal, nothing is learnt.",
    uses=("goal", "horizon", "discount", "idle"),
)
def find_idle_floor(context: CheckContext) -> Found:
    """Find an idle life that is worth as much as the best goal or end, or a large share of it."""
    steps, idle = count_steps(context.reward), _encode_idle(context)
    best = _bound_best_outcome(context)
    scores = None if idle is None else drop_potentials(context).score(idle)
    if steps is None or idle is None or scores is None or best is None:
        return
    pay = float(scores.total)
    worth = pay * steps
    if worth >= best - TOLERANCE * max(1.0, abs(best)):
        how = "at least as much as"
        severity: Severity = "warning"
    elif worth > 0 and worth > IDLE_SHARE * best * (1 + TOLERANCE):
        how, severity = f"more than {IDLE_SHARE:.0%} of", "advice"
    else:
        return
    outcome = "the goal" if context.reward._bound.goal is not None else "the best end"
    yield context.finding(
        "total",
        f"doing nothing pays {format_number(pay)} a step: {format_number(worth)} {describe_horizon(context.reward)}, "
        f"{how} {outcome}, which is worth {format_number(best)} at most.",
        "Let the goal or the end pay more than waiting does, or pay less for merely being there; if surviving is the "
        "task, allow this with that reason.",
        witness=(context.model.build_step(idle, "doing nothing"),),
        severity=severity,
    )


def _encode_idle(context: CheckContext) -> NumericRow | None:
    """Return the idle step; None where none is declared, where states are carried, and where it reaches the goal."""
    reward = context.reward
    if reward._bound.idle is None or reward.states:
        return None
    row = {name: encode_value(reward._bound.known_inputs[name], value) for name, value in reward._bound.idle.items()}
    if reward._bound.goal is not None and is_goal_reached(context, row):
        return None
    return {name: value for name, value in row.items() if name in context.model.fields}


def _bound_best_outcome(context: CheckContext) -> float | None:
    """Return the most that the goal, or the best end, can be worth; None where there is neither."""
    found = [each for each in (bound_goal(context), _bound_best_end(context)) if each is not None]
    if context.reward._bound.goal is not None and bound_goal(context) is None:
        return None
    return max(found, default=None)


def _bound_best_end(context: CheckContext) -> float | None:
    """Return the most that an end can pay; None where no end is paid for, and surviving is all there is."""
    if bound_best_end(context) <= 0:
        return None
    question = Question()
    best = context.solver.maximise(question, context.model.add_row(question, fixed={"terminal": 1.0})["total"])
    return best.bound if best.possible and not is_unlimited(best.bound) else None


@rule(
    "short-sighted",
    severity="advice",
    why="What is paid beyond the horizon of the discount is not seen.",
    uses=("discount", "horizon"),
)
def find_short_sight(context: CheckContext) -> Found:
    """Find a discount that sees only a small part of an episode at whose end there is something to be had."""
    discount, horizon = context.reward.task.discount, context.reward.task.horizon
    reached = context.reward._bound.goal is not None and context.reward.task.goal_ends
    ends = reached or any(term.terminal and term.weight != 0 for term in context.reward.terms)
    if discount is None or horizon is None or discount >= 1 or not ends:
        return
    seen, left = 1 / (1 - discount), discount**horizon
    if horizon > MOST_BEYOND * seen * (1 + TOLERANCE):
        yield context.finding(
            "total",
            f"a discount of {format_number(discount)} sees about {format_number(round(seen))} steps, and an episode "
            f"has {format_number(horizon)}: seen from the first step, what the last one pays counts "
            f"{_format_share(left)}.",
            f"Raise the discount towards {format_number(1 - 1 / horizon)}, shorten the episode, or pay for progress.",
        )


def _format_share(left: float) -> str:
    """Return how much something still counts.

    >>> _format_share(0.00023), _format_share(2e-46)
    ('0.0002 times as much', 'less than a millionth as much')
    """
    return "less than a millionth as much" if left < 1e-6 else f"{format_number(float(f'{left:.1g}'))} times as much"

"""The rule about what competes with the goal: places to stay, cycles, events that come back, speeds, other ends."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from plaudit.checks.finding import Claim, Finding, Severity, Step
from plaudit.checks.formats.plain import format_number, format_value
from plaudit.checks.model import RewardModel
from plaudit.checks.rules.events import PaidEvent, list_paid_events
from plaudit.checks.rules.goals import (
    add_goal,
    bound_goal,
    bound_goal_over,
    find_goal_rows,
    is_goal_reached,
    maximise_stay,
    maximise_where,
)
from plaudit.checks.rules.loops import simplify_lap
from plaudit.checks.rules.registry import CheckContext, Found, rule
from plaudit.checks.rules.staying import (
    TOLERANCE,
    build_row,
    count_steps,
    describe_horizon,
    drop_potentials,
    find_paces,
    format_state,
    has_end,
    maximise_pace,
    read_standing_row,
)
from plaudit.checks.solver.boxes import is_close
from plaudit.checks.solver.question import Question
from plaudit.checks.solver.ranges import NumericRow, decode_value, encode_value, is_unlimited, strip_step_end
from plaudit.checks.solver.solver import SLACK
from plaudit.language import nodes as n
from plaudit.language.program import Builder, renumber
from plaudit.reward.declared import build_facts_program
from plaudit.reward.reward import Reward

STAYING, ENDING = "staying", "the other end"
DISTINCT = 3.0
"""A goal that is worth this many steps outside it has a bonus of its own: reaching it is an event."""
FEWEST_EPISODES = 3
"""Something must have been seen in this many episodes to count as what play earns."""


@rule(
    "goal-not-best",
    severity="warning",
    why="If something else pays more than the goal, the agent learns that instead.",
    uses=("roles", "goal", "horizon", "discount", "rates", "events"),
    claims="stay",
)
def find_better_than_goal(context: CheckContext) -> Found:
    """Find what pays more than the goal outside it: a stay, a cycle, an event that comes back, a speed, another end.

    A goal that goes on is compared step by step if the length of an episode is not declared. The first warning is
    reported; with observed steps, the first that they do not contradict.
    """
    steps, worth = count_steps(context.reward), bound_goal(context)
    if steps is None and not context.reward.task.goal_ends and context.reward._bound.goal is not None:
        steps, worth = 1.0, bound_goal_over(context, 1.0)
    if steps is None or worth is None:
        return
    rivals = (each for find in _FINDERS if (each := find(context, steps)) is not None)
    least = _find_margin(worth)
    better = (each for each in rivals if each.worth > worth + (-least if each.ties else least))
    found: list[Finding] = []
    for each in better:
        doubtful = each.claims == "stay" and _may_go_on(context, each.worth / steps, worth)
        rival = replace(each, severity="advice") if doubtful else each
        found.append(_describe_better(context, rival, worth))
        if rival.severity == "warning" and not context.is_contradicted(found[-1]):
            break
    open_ones = [each for each in found if not context.is_contradicted(each)] or found
    yield from sorted(open_ones, key=lambda each: each.severity != "warning")[:1]


def _find_margin(worth: float) -> float:
    return TOLERANCE * max(1.0, abs(worth))


def _may_go_on(context: CheckContext, pay: float, worth: float) -> bool:
    """Return whether an episode may as well go on after the goal, where staying pays as much as a step outside it.

    That it ends is what a task says unless told otherwise. Nothing bears it out where no end is paid for or called
    good, no step that happened ended at the goal, and the goal pays hardly more than a step does.
    """
    task, seen = context.reward.task, context.steps
    if not task.goal_ends or has_end(context) or any(end.sign == "good" for end in task.ends.values()):
        return False
    reached = None if seen is None else find_goal_rows(context, seen)
    if seen is not None and reached is not None and reached.any():
        return not bool(seen.terminated[reached].all())
    return worth < DISTINCT * pay and maximise_stay(context, inside=True).value >= pay - TOLERANCE


@dataclass(frozen=True, slots=True)
class Rival:
    """What else there is to do than to reach the goal: what it is worth, how it is told, and the steps of it."""

    worth: float
    text: str
    steps: tuple[Step, ...]
    claims: Claim = "stay"
    severity: Severity = "warning"
    summed: bool = False
    """Whether `text` says what it is worth in all."""
    ties: bool = False
    """Whether it is a flaw already if it is worth as much as the goal."""


def _find_best_stay(context: CheckContext, steps: float) -> Rival | None:
    best = maximise_stay(context, inside=False)
    if best.row is None or is_unlimited(best.value):
        return None
    model, paid = context.model, drop_potentials(context)
    note = STAYING + _describe_unread(context, {strip_step_end(name[2:]): value for name, value in best.row.items()})
    row = _simplify_outside_goal(context, paid, read_standing_row(model, best.row), best.value)
    step, scores = model.build_step(row, note), paid.score(row)
    if step.total is None or scores is None:
        return None
    pays = f"staying outside the goal pays {format_number(scores.total)} a step{_leave_out(step, scores.total)}"
    severity: Severity = "advice" if _is_paid_as_wished(context, step) else "warning"
    return Rival(float(scores.total) * steps, pays, (step,), severity=severity)


def _simplify_outside_goal(context: CheckContext, paid: RewardModel, row: NumericRow, pay: float) -> NumericRow:
    """Return a row outside the goal in plain numbers that pays nearly as much."""

    def is_as_good(rows: Sequence[NumericRow]) -> bool:
        return paid.measure_total(rows[0]) >= pay - SLACK * abs(pay) and not is_goal_reached(context, rows[0])

    return context.model.simplify_rows([row], is_as_good)[0] if is_as_good([row]) else row


def _leave_out(step: Step, paid: float) -> str:
    """Return what the number of a sentence leaves out, where a step earns something else."""
    return "" if step.total is None or is_close(step.total, paid) else " (not counting potential-based terms)"


def _is_paid_as_wished(context: CheckContext, step: Step) -> bool:
    """Return whether whatever pays in a step is an action that the task wants just so: what it takes is not known."""
    model = context.model
    row = {name: encode_value(model.fields[name], value) for name, value in step.inputs.items()}
    scores = model.score(row)
    paying = [] if scores is None else [term for term in model.terms if float(scores.values[term]) > TOLERANCE]
    read = {name: model.fields[name] for term in paying for name in model.reads_score[term]}
    chosen = [name for name, field in read.items() if model.role(field) == "action" and field.better is not None]
    return bool(read) and len(chosen) == len(read) and all(row[each] == model.find_good_value(each) for each in chosen)


def _find_seen_stay(context: CheckContext, steps: float) -> Rival | None:
    """Return the best place outside the goal that was seen to be kept."""
    if context.steps is None:
        return None
    model, paid = context.model, drop_potentials(context)
    still = [_stand_still(model, row) for row in context.steps.list_kept_rows(model)]
    kept = [row for row in still if not is_goal_reached(context, row)]
    pays = [(float(scores.total), at) for at, row in enumerate(kept) if (scores := paid.score(row)) is not None]
    if not pays:
        return None
    pay, at = max(pays)
    step = model.build_step({name: value for name, value in kept[at].items() if name in model.fields}, STAYING)
    text = f"staying outside the goal pays {format_number(pay)} a step{_leave_out(step, pay)}"
    return Rival(pay * steps, text, (step,))


def _stand_still(model: RewardModel, row: NumericRow) -> NumericRow:
    """Return a row in which nothing happens, and every field is before the step what it is after it."""
    ends = {before: row[after] for before, after in model.step_ends() if after in row}
    return {**row, **model.resting_events, **ends}


def _find_best_pace(context: CheckContext, steps: float) -> Rival | None:
    """Return the speed that pays most to keep up, where nothing says that it brings the goal nearer.

    It is a warning where the task says what does.
    """
    task, bound = context.reward.task, context.reward._bound
    wanted = {field.name for field in bound.goal_program.inputs.values()}
    leading = {task.rates[name].rate for name in wanted if name in task.rates}
    paces = find_paces(context.model) - leading - wanted
    best = maximise_pace(context, paces, outside_goal=True)
    if best is None:
        return None
    pay, row = best
    step = context.model.build_step(row, "keeping it up")
    fields = {name: context.model.fields[name] for name in row if context.model.fields[name].name in paces}
    kept = " and ".join(f"{strip_step_end(name)} at {format_state(each, row[name])}" for name, each in fields.items())
    return Rival(
        pay * steps,
        f"keeping {kept} pays {format_number(pay)} a step outside the goal",
        (step,),
        severity="warning" if leading else "advice",
    )


def _find_seen_play(context: CheckContext, steps: float) -> Rival | None:
    """Return what episodes earned that went on until time was up and never reached the goal, which ends them."""
    seen, model = context.steps if context.reward.task.goal_ends else None, drop_potentials(context)
    reached = None if seen is None else find_goal_rows(context, seen)
    totals = None if seen is None else seen.score_rows(model)
    if seen is None or reached is None or totals is None:
        return None
    found = seen.sum_episodes(totals, leave_out=reached, discount=context.reward.task.discount or 1.0)
    if len(found) < FEWEST_EPISODES:
        return None
    worth = math.fsum(found.values()) / len(found)
    best = max((at for at, episode in enumerate(seen.episode.tolist()) if episode in found), key=lambda at: totals[at])
    step = context.model.build_step(seen.read_row(context.model, best), "the best-paid step")
    text = f"{len(found):,} observed episodes that ran to the time limit without reaching the goal earned"
    return Rival(worth, f"{text} {format_number(worth)} on average", (step,), "step", summed=True)


def _find_best_event(context: CheckContext, steps: float) -> Rival | None:
    """Return the event that comes back and pays most in an episode that the goal would end."""
    if not context.reward.task.goal_ends:
        return None  # it can come back inside the goal just as well
    events = [each for each in list_paid_events(context) if isinstance(each, PaidEvent)]
    again = [each for each in events if each.once_in is not None and not is_unlimited(each.pay)]
    best = max(again, key=lambda each: each.worth or 0.0, default=None)
    if best is None or best.worth is None:
        return None
    text = f"{best.field!r} pays {format_number(best.pay)} and can happen {best.describe_times()}"
    return Rival(best.worth, text, tuple(best.list_steps(context.model)), "step")


def _find_best_lap(context: CheckContext, steps: float) -> Rival | None:
    """Return the best lap outside the goal that the search for loops that pay finds."""
    kept = drop_potentials(context)
    if not any(name.startswith("prev.") for name in kept.program.inputs):
        return None  # what is left pays as much for standing
    from plaudit.checks.rules.state_graph import StateGraph  # with NumPy, which listing the rules does not load

    paid = RewardModel(_rule_out_goal(kept.reward))
    laps = StateGraph(paid).laps()
    if not laps:
        return None
    lap = simplify_lap(paid, paid, max(laps, key=lambda each: each.mean))
    ends = zip(lap.states, [*lap.states[1:], lap.states[0]], lap.chosen, strict=True)
    rows = [build_row(paid, *each) for each in ends]
    pays = f"a {len(rows)}-step cycle outside the goal pays {format_number(lap.mean)} a step"
    return Rival(lap.mean * steps, pays, tuple(context.model.build_step(row) for row in rows), "cycle")


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


def _find_best_other_end(context: CheckContext, steps: float) -> Rival | None:
    if "terminal" not in drop_potentials(context).fields:
        return None
    return _find_best_outside(context, {"terminal": 1.0}, "an end", ENDING, "end")


def _find_best_outside(
    context: CheckContext, fixed: NumericRow, what: str, note: str, claims: Claim, *, ties: bool = False
) -> Rival | None:
    """Return the best step outside the goal in which some inputs are `fixed`."""
    paid, question = drop_potentials(context), Question()
    total = paid.add_row(question, fixed=fixed)["total"]
    context.model.require_facts(question, fixed=fixed)
    outside = question.negate(add_goal(context, question, fixed=fixed))
    best = maximise_where(context, question, total, outside)
    if best.row is None or is_unlimited(best.value):
        return None
    row = _simplify_outside_goal(context, paid, {**best.row, **fixed}, best.value)
    step, scores = context.model.build_step(row, note + _describe_unread(context, best.row)), paid.score(row)
    if scores is None:
        return None
    text = f"{what} outside the goal pays {format_number(scores.total)}{_leave_out(step, scores.total)}"
    return Rival(float(scores.total), text, (step,), claims, summed=True, ties=ties)


def _describe_unread(context: CheckContext, row: NumericRow) -> str:
    """Return what a row has of fields that the goal reads and no term does: a witness does not hold them."""
    read = {field.name for field in context.model.program.inputs.values()}
    goal = context.reward._bound.goal_program
    unread = {name: field for name, field in goal.inputs.items() if field.name not in read}
    values = {name: decode_value(field, row[name]) for name, field in unread.items() if name in row}
    return "".join(f", {name} {format_value(value)}" for name, value in values.items() if name != "terminal")


def _find_half_goal(context: CheckContext, steps: float) -> Rival | None:
    """Return what the flags of a goal pay where the rest of it is not true: a hard landing, a sale too soon."""
    bound, paid = context.reward._bound, drop_potentials(context)
    flags = {name: 1.0 for name, field in bound.goal_program.inputs.items() if field.kind == "flag"}
    flags = {name: value for name, value in flags.items() if name in paid.fields and name != "terminal"}
    if not flags or not context.reward.task.goal_ends or flags.keys() == bound.goal_program.inputs.keys():
        return None
    return _find_best_outside(context, flags, " and ".join(flags), "half the goal", "step", ties=True)


_FINDERS: tuple[Callable[[CheckContext, float], Rival | None], ...] = (
    _find_seen_stay,
    _find_best_stay,
    _find_best_lap,
    _find_best_event,
    _find_seen_play,
    _find_best_pace,
    _find_best_other_end,
    _find_half_goal,
)
"""From what says most plainly what is wrong to what says least."""


def _describe_better(context: CheckContext, rival: Rival, worth: float) -> Finding:
    goal, horizon = context.reward._bound.goal, describe_horizon(context.reward)
    assert goal is not None
    summed = f": {format_number(rival.worth)} {horizon}" if horizon else ""
    total = "" if rival.summed else summed
    how = "more than" if rival.worth > worth + _find_margin(worth) else "as much as"
    goes_on = (
        "; if the episode goes on after the goal, say so: goal_ends=False" if context.reward.task.goal_ends else ""
    )
    worth_it = f"is worth at most {format_number(worth)}" if horizon else f"pays at most {format_number(worth)} a step"
    return context.finding(
        "total",
        f"{rival.text}{total}, {how} the goal {goal.name!r}, which {worth_it}.",
        f"Let the goal pay more than the alternatives, or make every other step cost something{goes_on}.",
        severity=rival.severity,
        claims=rival.claims,
        witness=rival.steps,
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

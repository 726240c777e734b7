"""The rule about actions: one that another is never worse than, and sometimes better."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from plaudit.checks.finding import Finding, Severity, Step
from plaudit.checks.model import RewardModel, find_state_fields, find_tied_inputs
from plaudit.checks.rules.registry import CheckContext, Found, rule
from plaudit.checks.solver.boxes import evaluate
from plaudit.checks.solver.question import Impossible, Question, Unknown, Witness
from plaudit.checks.solver.ranges import NumericRow, decode_value, list_choices, value_at_rest
from plaudit.language.field import Field
from plaudit.reward.task.bound import TaskField

MOST_ACTIONS = 16
LEAST = 1e-9
"""By how much an action must earn more in the witness."""


@rule(
    "dominated-action",
    severity="warning",
    why="An agent never needs an action that is never better than another.",
    always=True,
)
def find_dominated_actions(context: CheckContext) -> Found:
    """Find actions that an agent never needs.

    Where the reward pays for what a step changed (`prev.x`), an action is paid through what it does to the state, and
    comparing actions in one and the same step says nothing: such rewards are left alone.
    """
    model = context.model
    name = context.reward.action
    if name is None or name not in model.reads["total"] or any(each.startswith("prev.") for each in model.fields):
        return
    field = model.fields[name]
    options = list_choices(field)
    if not options:
        return
    if len(options) > MOST_ACTIONS:
        reason = f"{len(options)} actions: more than {MOST_ACTIONS} are not compared"
        yield context.undecided("total", reason=reason)
        return
    effect_is_known = bool(find_tied_inputs(model, name)) or not find_state_fields(model)
    beaten: dict[Severity, dict[float, dict[float, NumericRow]]] = {"warning": {}, "advice": {}}
    for better in options:
        for worse in options:
            if better == worse:
                continue
            match _find_advantage(context, name, better, worse):
                case Unknown(reason):
                    one, other = (_format_action(field, action) for action in (better, worse))
                    yield context.undecided(
                        "total", f"whether {one} is always at least as good as {other}", reason=reason
                    )
                case Advantage(row, is_price):
                    mild = is_price or _does_nothing(field, better) or not effect_is_known
                    beaten["advice" if mild else "warning"].setdefault(better, {})[worse] = row
    reported: set[float] = set()
    for severity, each in beaten.items():
        yield from _describe_dominated(context, name, each, severity, reported)


@dataclass(frozen=True, slots=True)
class Advantage:
    """A state in which one action earns more than another that never earns more."""

    row: NumericRow
    is_price: bool
    """Whether it earns more by the same amount in every state: the other action costs more, and that is its price.

    A more costly action may be worth it for its effect on the state, about which the reward says nothing here.
    """


def _find_advantage(context: CheckContext, name: str, better: float, worse: float) -> Advantage | Impossible | Unknown:
    """Return a state in which `better` earns more than `worse`, if it never earns less."""
    model, solver = context.model, context.solver
    question = Question()
    totals = []
    for label, action in (("this", better), ("that", worse)):
        names = {each: f"{each}, {label}" for each in find_tied_inputs(model, name)}
        totals.append(model.add_row(question, names=names, fixed={name: action})["total"])
    gain = question.minus(*totals)
    match solver.find_above(question, question.minus(totals[1], totals[0])):
        case Witness():
            return Impossible()
        case Unknown() as unknown:
            return unknown
    match solver.find_above(question, gain):
        case Witness(row):
            here = evaluate(question.program(gain), row)
            elsewhere = solver.find_above(question, question.distance(gain, question.number(here)))
            return Advantage({**row, name: better}, not isinstance(elsewhere, Witness))
        case answer:
            return answer


def _describe_dominated(
    context: CheckContext,
    name: str,
    beaten: dict[float, dict[float, NumericRow]],
    severity: Severity,
    reported: set[float],
) -> Iterator[Finding]:
    """Report each dominated action once, under the action that beats most of them.

    It is advice if doing nothing beats it, if it merely costs more (acting has its price), and if the
    reward reads a state and no fact says what the action does: it may be good for what comes after.
    """
    model, field = context.model, context.model.fields[name]
    for better in sorted(beaten, key=lambda each: -len(beaten[each])):
        worse = [each for each in beaten[better] if each not in reported and each != better]
        if not worse or better in reported:
            continue
        reported |= set(worse)
        every = len(worse) == len(list_choices(field)) - 1
        listed = [_format_action(field, each) for each in worse]
        *first, last = listed
        any_of = f"{', '.join(first)} or {last}" if first else last
        them = "every other action" if every else " and ".join(listed)
        yield context.finding(
            "total",
            f"{name} {_format_action(field, better)} is at least as good as {them} in every state and better in some: "
            f"an agent never needs {any_of}.",
            "Make each action best in the states it is meant for, or remove it.",
            witness=(
                step for each in worse for step in _compare_steps(model, name, better, each, beaten[better][each])
            ),
            severity=severity,
            facts=model.facts_about(name),
        )


def _does_nothing(field: TaskField, action: float) -> bool:
    """Return whether an action is the one of not acting: declared at rest, or the 0 between two directions."""
    return action == value_at_rest(field) and (field.rest is not None or list_choices(field)[0] < 0)


def _format_action(field: Field, value: float) -> str:
    decoded = decode_value(field, value)
    return f"{decoded:g}" if isinstance(decoded, float) else str(decoded)


def _compare_steps(model: RewardModel, name: str, better: float, worse: float, row: NumericRow) -> Iterator[Step]:
    rows = []
    for label, action in (("this", better), ("that", worse)):
        own = {each.removesuffix(f", {label}"): value for each, value in row.items() if each.endswith(f", {label}")}
        shared = {each: value for each, value in row.items() if ", " not in each}
        rows.append({**shared, **own, name: action})

    def is_better(found: Sequence[NumericRow]) -> bool:
        one, other = map(model.score, found)
        return one is not None and other is not None and float(one.total) - float(other.total) > LEAST

    yield from map(model.build_step, model.simplify_rows(rows, is_better, keep=[name]), ("better", "worse"))

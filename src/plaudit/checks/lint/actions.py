"""The rule about actions: one that another is never worse than, and sometimes better."""

from collections.abc import Iterator

from plaudit.checks.ask import value_of
from plaudit.checks.domain import Row, choices, rest, shown
from plaudit.checks.examination import Examination
from plaudit.checks.finding import Finding, Severity, Step, Undecided
from plaudit.checks.question import Question
from plaudit.checks.subject import Subject, state_fields
from plaudit.language.field import Field
from plaudit.reward.facts import inputs_of

MOST_ACTIONS = 16


def dominated_action(examination: Examination) -> Iterator[Finding | Undecided]:
    """Find actions that never need to be learnt.

    Where the reward pays for what a step changed (`prev.x`), an action is paid through what it does to the state, and
    comparing actions in one and the same step says nothing: such rewards are left alone.
    """
    subject = examination.subject
    name = examination.reward.action
    if name is None or name not in subject.reads["total"] or any(each.startswith("prev.") for each in subject.fields):
        return
    field = subject.fields[name]
    options = choices(field)
    if not options:
        return
    if len(options) > MOST_ACTIONS:
        yield Undecided(
            "dominated-action", "total", f"{len(options)} actions: more than {MOST_ACTIONS} are not compared"
        )
        return
    told_what_it_does = bool(tied(subject, name)) or not state_fields(subject)
    beaten: dict[Severity, dict[float, dict[float, Row]]] = {"warning": {}, "advice": {}}
    for better in options:
        for worse in options:
            if better == worse:
                continue
            row, priced = _beaten(examination, name, better, worse)
            if row is None:
                pair = f"whether {_called(field, better)} is always at least as good as {_called(field, worse)}"
                yield examination.undecided("dominated-action", "total", pair)
            elif isinstance(row, dict):
                mild = priced or _does_nothing(field, better) or not told_what_it_does
                beaten["advice" if mild else "warning"].setdefault(better, {})[worse] = row
    told: set[float] = set()
    for severity, each in beaten.items():
        yield from _told(examination, name, each, severity, told)


def _beaten(examination: Examination, name: str, better: float, worse: float) -> tuple[Row | bool | None, bool]:
    """Return a state in which `better` earns more than `worse`, if it never earns less, and whether that is a price.

    Where an action is dearer by the same amount in every state, that is its price: what it is good for is what it
    does to the state, and of that the reward says nothing here.
    """
    subject, solver = examination.subject, examination.solver
    question = Question()
    totals = []
    for label, action in (("this", better), ("that", worse)):
        names = {each: f"{each}, {label}" for each in tied(subject, name)}
        totals.append(subject.row(question, names=names, fixed={name: action})["total"])
    gain = question.minus(*totals)
    never = solver.above(question, question.minus(totals[1], totals[0]))
    if never is not False:
        return (None if never is None else False), False
    row = solver.above(question, gain)
    if not isinstance(row, dict):
        return row, False
    here = value_of(question.program(gain), row)
    elsewhere = solver.above(question, question.distance(gain, question.number(here)))
    return {**row, name: better}, not isinstance(elsewhere, dict)


def tied(subject: Subject, name: str) -> set[str]:
    """Return the inputs that a fact ties to the action: they follow it."""
    program = subject.reward.facts_program
    together = [set(inputs_of(program, fact)) for fact in program.outputs]
    return {
        each for group in together if name in group for each in group if subject.role(subject.fields[each]) != "state"
    } - {name}


def _told(
    examination: Examination, name: str, beaten: dict[float, dict[float, Row]], severity: Severity, told: set[float]
) -> Iterator[Finding]:
    """Tell of each dominated action once, under the action that beats most of them.

    It is advice where doing nothing is what beats it, where it is merely dearer (acting has its price), and where the
    reward reads a state and no fact says what the action does: it may be good for what comes after.
    """
    subject, field = examination.subject, examination.subject.fields[name]
    for better in sorted(beaten, key=lambda each: -len(beaten[each])):
        worse = [each for each in beaten[better] if each not in told and each != better]
        if not worse or better in told:
            continue
        told |= set(worse)
        every = len(worse) == len(choices(field)) - 1
        them = "every other action" if every else " and ".join(_called(field, each) for each in worse)
        yield examination.finding(
            "dominated-action",
            "total",
            f"{name} {_called(field, better)} is at least as good as {them} in every state and better in some: "
            f"{', '.join(_called(field, each) for each in worse)} never need{'s' * (len(worse) == 1)} to be learnt.",
            "Let each action be best in the states it is meant for, or take it away.",
            witness=tuple(
                step for each in worse for step in _compared(subject, name, better, each, beaten[better][each])
            ),
            severity=severity,
            facts=subject.about(name),
        )


def _does_nothing(field: Field, action: float) -> bool:
    """Return whether an action is the one of not acting: declared at rest, or the 0 between two directions."""
    return action == rest(field) and (field.rest is not None or choices(field)[0] < 0)


def _called(field: Field, value: float) -> str:
    value_shown = shown(field, value)
    return f"{value_shown:g}" if isinstance(value_shown, float) else str(value_shown)


def _compared(subject: Subject, name: str, better: float, worse: float, row: Row) -> Iterator[Step]:
    """Yield the two rows in which one action earns more than the other."""
    for label, action in (("this", better), ("that", worse)):
        own = {each.removesuffix(f", {label}"): value for each, value in row.items() if each.endswith(f", {label}")}
        shared = {each: value for each, value in row.items() if ", " not in each}
        yield subject.step({**shared, **own, name: action}, "better" if label == "this" else "worse")

"""Rules about what the author prefers: single steps, whole episodes, and the risk worth taking (Knox et al. 2023)."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from plaudit.checks.finding import Finding, Step
from plaudit.checks.formats.plain import format_apart, format_number
from plaudit.checks.model import find_tied_inputs
from plaudit.checks.rules.registry import CheckContext, Found, rule
from plaudit.checks.solver.boxes import is_close
from plaudit.checks.solver.question import Impossible, Question, Unknown, Witness
from plaudit.checks.solver.ranges import NumericRow, encode_value
from plaudit.errors import DefinitionError, InputError
from plaudit.language import nodes as n
from plaudit.reward.signal import Signal
from plaudit.reward.task.preference import Preference

SIDES = {"better": "preferred", "over": "not preferred"}


@rule("order-inversion", severity="warning", why="The reward contradicts a preference that you stated.", claims=None)
def find_order_inversions(context: CheckContext) -> Found:
    """Find preferences that the reward contradicts for some values of what they leave free."""
    for preference in context.reward._bound.prefer:
        question = Question()
        gain = question.minus(*(_add_return(context, question, preference, side) for side in SIDES))
        named = _format_preference(preference)
        zero = question.number(0.0)
        match context.solver.find_example(question, question.compare(gain, n.Le, zero)):
            case Unknown(reason):
                yield context.undecided("total", f"whether {named} always holds", reason=reason)
            case Witness(row):
                yield _describe_inversion(context, preference, row)
            case Impossible():
                if context.solver.find_example(question, question.compare(gain, n.Gt, zero)) == Impossible():
                    yield context.undecided("total", reason=f"{named} is about steps that facts rule out")


def _add_return(context: CheckContext, question: Question, preference: Preference, side: str) -> int:
    discount = context.reward.task.discount or 1.0
    totals = []
    for at, row in enumerate(getattr(preference, side)):
        names = _name_inputs(context, preference, side, at)
        copy = context.model.add_row(question, names=names, fixed=_encode_row(context, row))
        totals.append(question.times(discount**at, copy["total"]))
    return question.plus(*totals)


def _name_inputs(context: CheckContext, preference: Preference, side: str, at: int) -> dict[str, str]:
    """Return the names of a step's inputs: what is left open is the same on both sides.

    Only what a fact ties to an input that the two sides give differently follows that input.
    """
    model = context.model
    follow = {each for name in _find_different(preference, at) for each in find_tied_inputs(model, name)}
    return {name: f"{name}, step {at}{f' {side}' if name in follow else ''}" for name in model.fields}


def _find_different(preference: Preference, at: int) -> list[str]:
    """Return the inputs that the two sides give differently in a step."""
    given = [dict(rows[at]) if at < len(rows) else {} for rows in (preference.better, preference.over)]
    return [name for name in {**given[0], **given[1]} if given[0].get(name) != given[1].get(name)]


def _encode_row(context: CheckContext, row: Mapping[str, Any]) -> NumericRow:
    fields = {**context.reward._bound.known_inputs, **context.model.fields}
    return {name: encode_value(fields[name], value) for name, value in row.items()}


def _format_preference(preference: Preference) -> str:
    return f"the preference {preference.because!r}" if preference.because else "a stated preference"


def _describe_inversion(context: CheckContext, preference: Preference, row: NumericRow) -> Finding:
    model = context.model
    discount = context.reward.task.discount or 1.0
    rows: list[NumericRow] = []
    for side in SIDES:
        for at, given in enumerate(getattr(preference, side)):
            names = _name_inputs(context, preference, side, at)
            free = {name: row[own] for name, own in names.items() if own in row}
            rows.append({**free, **_encode_row(context, given)})
    first = len(preference.better)

    def add_up(steps: Sequence[Step]) -> list[float]:
        return [
            sum(discount**at * (step.total or 0.0) for at, step in enumerate(side))
            for side in (steps[:first], steps[first:])
        ]

    def is_inverted(found: Sequence[NumericRow]) -> bool:
        steps = [model.build_step(each) for each in found]
        better, over = add_up(steps)
        return better <= over and all(step.total is not None for step in steps)

    named = {name for side in SIDES for given in getattr(preference, side) for name in given}
    rows = model.simplify_rows(rows, is_inverted, keep=named)
    labels = [label for side, label in SIDES.items() for _ in getattr(preference, side)]
    steps = list(map(model.build_step, rows, labels))
    sums = add_up(steps)
    because = f" ({preference.because})" if preference.because else ""
    shown = format_apart(*sums)
    how = "the same as" if shown[0] == shown[1] else "less than"
    count = max(len(preference.better), len(preference.over))
    different = {name for at in range(count) for name in _find_different(preference, at)}
    unread = sorted(different - model.fields.keys())
    unread_too = f" No term reads {', '.join(map(repr, unread))}." if unread else ""
    return context.finding(
        "total",
        f"the preferred option{because} earns {shown[0]}, {how} the other option: {shown[1]}.{unread_too}",
        "Change weights or terms until the preferred option earns more, or correct the preference.",
        witness=steps,
        facts=model.facts_about(*model.reads["total"]),
    )


@rule(
    "outcome-order",
    severity="warning",
    why="The reward ranks whole episodes in a different order than you do.",
    needs="outcomes",
)
def find_outcome_inversions(context: CheckContext) -> Found:
    """Find neighbours in the given order that the reward ranks otherwise."""
    episodes, returns = _score_episodes(context)
    for worse, better in pairwise(returns):
        same = is_close(returns[worse], returns[better])
        if returns[worse] < returns[better] and not same:
            continue
        how = "the same as" if same else "more than"
        yield context.finding(
            "total",
            f"{worse!r} earns {format_number(returns[worse])}, {how} {better!r} with {format_number(returns[better])}, "
            "although it is the worse outcome.",
            f"Make {worse!r} cost more or {better!r} pay more; a cost per step adds up over an episode.",
            witness=(step for name in (worse, better) for step in _first_and_last(name, episodes[name])),
        )


@rule(
    "risk-tolerance",
    severity="advice",
    why="The reward alone sets the odds at which an agent gambles.",
    needs="outcomes",
)
def find_risk_tolerance(context: CheckContext) -> Found:
    """Find the chance of the worst outcome that an agent takes for one of the best."""
    episodes, returns = _score_episodes(context)
    names = list(returns)
    if len(names) < 3:
        return
    worst, best = names[0], names[-1]
    for middle in names[1:-1]:
        if not returns[worst] < returns[middle] < returns[best]:
            continue
        risk = (returns[best] - returns[middle]) / (returns[best] - returns[worst])
        listed = ", ".join(format_number(returns[name]) for name in (worst, middle, best))
        yield context.finding(
            "total",
            f"rather than take {middle!r}, an agent gambles on {best!r} as long as {worst!r} is less likely than "
            f"{risk:.2g} (returns {listed}).",
            f"Ask whether you would take that risk. Making {worst!r} cost more lowers it.",
            witness=(step for name in (worst, middle, best) for step in _first_and_last(name, episodes[name])),
        )


def _score_episodes(context: CheckContext) -> tuple[dict[str, list[Signal]], dict[str, float]]:
    """Return the steps of each episode as they are paid, and its discounted return."""
    discount = context.reward.task.discount or 1.0
    outcomes = context.outcomes.items()
    episodes = {name: [_score_row(context, name, at, row) for at, row in enumerate(rows)] for name, rows in outcomes}
    return episodes, {
        name: sum(discount**at * each.total for at, each in enumerate(steps)) for name, steps in episodes.items()
    }


def _score_row(context: CheckContext, name: str, at: int, row: Mapping[str, Any]) -> Signal:
    try:
        return context.reward.score(**row)
    except InputError as error:
        error.add_note(f"It is row {at} of the outcome {name!r}.")
        raise
    except TypeError:
        raise DefinitionError(f"outcome {name!r}, row {at}: {row!r:.200} is not a mapping of inputs") from None


def _first_and_last(name: str, signals: list[Signal]) -> Iterator[Step]:
    for at in sorted({0, len(signals) - 1}) if signals else ():
        yield Step(dict(signals[at].inputs), signals[at].total, f"{name}, step {at + 1} of {len(signals)}")

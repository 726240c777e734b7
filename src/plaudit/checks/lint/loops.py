"""The rule about loops: a lap of states that pays although nothing was gained.

Potential-based terms are left out first: whatever they pay on the way they take back. A lap is looked for among the
edges of the declared ranges, which finds nearly all there are; z3 then finds the others or proves that there are none.
"""

import math
from collections.abc import Iterator, Mapping

from plaudit.checks.boxes import highest
from plaudit.checks.domain import Row, plain_name, shown, span
from plaudit.checks.examination import Examination, number
from plaudit.checks.finding import Finding, Undecided
from plaudit.checks.lint.laps import LEAST, Graph, Lap, row_of
from plaudit.checks.lint.potential import moves, shaping_terms
from plaudit.checks.lint.staying import lasting, standing
from plaudit.checks.question import Question
from plaudit.checks.subject import Subject, state_fields
from plaudit.language import nodes as n
from plaudit.language.field import Field

LENGTHS = (2, 3)
"""How many steps a lap has that z3 is asked about."""


def loop_that_pays(examination: Examination) -> Iterator[Finding | Undecided]:
    """Find laps whose rewards add up to more than 0, and to more than standing still in any of their states."""
    if not any(name.startswith("prev.") for name in examination.subject.program.inputs):
        return  # what is paid for being somewhere is paid for standing there as well
    subject = lasting(examination)
    if subject is None or not any(term in shaping_terms(examination) for term in subject.terms):
        return
    laps = Graph(subject).laps()
    for lap in laps:
        yield _told(examination, subject, lap)
    if not laps:
        for length in LENGTHS:
            answer = _asked(examination, subject, length)
            if isinstance(answer, Lap):
                yield _told(examination, subject, answer)
                return
            if answer is None:
                what = f"whether a lap of {length} states pays"
                yield examination.undecided("loop-that-pays", "total", what)


def _asked(examination: Examination, subject: Subject, length: int) -> Lap | bool | None:
    """Return a lap that z3 found; False where there is none, None where that is not decided."""
    question = Question()
    names = [f"s{at}" for at in range(length)]
    steps = list(zip(names, [*names[1:], names[0]], strict=True))
    paid = []
    for at, (before, after) in enumerate(steps):
        ends = _still(subject, moves(subject, before, after, chosen=f"step {at}"))
        paid.append(subject.row(question, names=ends, fixed=subject.quiet)["total"])
    gain = question.plus(*paid)
    for at, name in enumerate(names):
        ends = _still(subject, moves(subject, name, name, chosen=f"step {at}"))
        stand = question.times(length, subject.row(question, names=ends, fixed=subject.quiet)["total"])
        question.require(question.compare(gain, n.Gt, stand))
    row = examination.solver.above(question, gain, LEAST)
    if not isinstance(row, dict):
        return row
    lap = _lap(subject, names, row, length)
    best = max(_best_standing(subject, state) for state in lap.states)
    return lap if lap.gain > length * best + LEAST else None


def _still(subject: Subject, names: dict[str, str]) -> dict[str, str]:
    """Return the names of a step in which fields that only rise or fall stay as they are."""
    fixed = {}
    for name, own in names.items():
        stays = subject.role(subject.fields[name]) == "state" and subject.fields[name].monotone is not None
        fixed[name] = own.partition(".")[2] if stays else own
    return fixed


def _lap(subject: Subject, names: list[str], row: Row, length: int) -> Lap:
    fields = state_fields(subject)
    states = tuple({each: row.get(f"{name}.{each}", row.get(each, 0.0)) for each in fields} for name in names)
    suffixes = [f", step {at}" for at in range(length)]
    chosen = tuple({k.removesuffix(end): v for k, v in row.items() if k.endswith(end)} for end in suffixes)
    gain = sum(_earned(subject, *step) for step in zip(states, [*states[1:], states[0]], chosen, strict=True))
    return Lap(states, chosen, gain)


def _earned(subject: Subject, before: Row, after: Row, chosen: Row) -> float:
    scores = subject.scores(row_of(subject, before, after, chosen))
    return -math.inf if scores is None else float(scores.total)


def _best_standing(subject: Subject, state: Mapping[str, float]) -> float:
    """Return the most that standing in a state can pay."""
    question = Question()
    asked = standing(subject, question)
    for name, value in state.items():
        if f"s.{name}" in question.inputs:
            field = question.inputs[f"s.{name}"]
            same = question.compare(question.input(f"s.{name}", field), n.Eq, question.input("", field, value))
            question.require(same)
    return highest(question.program(asked)).bound


# -- telling ----------------------------------------------------------------------------------------------------------


def _told(examination: Examination, subject: Subject, lap: Lap) -> Finding:
    states = [*lap.states, lap.states[0]]
    moved = [name for name in lap.states[0] if len({state[name] for state in lap.states}) > 1]
    fields = state_fields(subject)
    way = " → ".join(" ".join(_value(fields[name], state[name]) for name in moved) for state in states)
    steps = list(zip(lap.states, states[1:], lap.chosen, strict=True))
    prices = dict(_prices(subject, lap))
    read = [name for name in subject.fields if plain_name(name) in {*moved, *prices}]
    return examination.finding(
        "loop-that-pays",
        _guilty(subject, steps),
        f"a lap of {len(lap.states)} steps ({', '.join(moved)}: {way}) earns {number(lap.gain)}{_cost(prices, fields)}"
        ", time after time, and ends where it began.",
        "Pay the way back what the way there earned (a potential-based difference), pay each state once (a high-water "
        "mark that the environment keeps), or let a step cost more than it can earn.",
        witness=tuple(
            examination.subject.step(row_of(subject, before, after, chosen), only=frozenset(read))
            for before, after, chosen in steps
        ),
        facts=subject.about(*read),
    )


def _guilty(subject: Subject, steps: list[tuple[Row, Row, Row]]) -> str:
    """Return the term that earns most on a lap."""
    earned: dict[str, float] = {}
    for step in steps:
        scores = subject.scores(row_of(subject, *step))
        for term, value in scores.values.items() if scores is not None else ():
            earned[term] = earned.get(term, 0.0) + float(value)
    return max(earned, key=lambda term: earned[term])


def _value(field: Field, value: float) -> str:
    known = shown(field, value)
    if isinstance(known, bool):
        return str(known).lower()
    return number(known) if isinstance(known, float) else str(known)


def _prices(subject: Subject, lap: Lap) -> Iterator[tuple[str, float]]:
    """Yield each field that only rises or falls, with the change in a lap at which it no longer pays."""
    for name, field in state_fields(subject).items():
        if field.monotone is None or f"prev.{name}" not in subject.fields:
            continue
        room = (
            span(field).high - lap.states[0][name] if field.monotone == "up" else lap.states[0][name] - span(field).low
        )
        if _pays(subject, lap, name, room):
            continue  # whatever it costs
        low, high = 0.0, min(1.0, room)
        while _pays(subject, lap, name, high):
            low, high = high, min(high * 2, room)
        for _ in range(80):
            middle = (low + high) / 2
            low, high = (middle, high) if _pays(subject, lap, name, middle) else (low, middle)
        yield name, high


def _pays(subject: Subject, lap: Lap, name: str, change: float) -> bool:
    """Return whether a lap still pays in whose first step a field rises or falls by `change`."""
    before, after, chosen = lap.states[0], lap.states[1], lap.chosen[0]
    sign = 1.0 if state_fields(subject)[name].monotone == "up" else -1.0
    dearer = _earned(subject, before, {**after, name: before[name] + sign * change}, chosen)
    return lap.gain - _earned(subject, before, after, chosen) + dearer > LEAST


def _cost(prices: Mapping[str, float], fields: Mapping[str, Field]) -> str:
    if not prices:
        return ""
    parts = []
    for name, price in prices.items():
        unit = fields[name].unit
        parts.append(f"fewer than {number(price)} {unit}" if unit else f"less than {number(price)} of {name}")
    return f" as long as it costs {' and '.join(parts)}"

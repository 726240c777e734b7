"""Rules about clamps: one that binds nearly everywhere, and one that can never bind."""

import math
from collections.abc import Callable, Iterator

import numpy as np

from plaudit.checks.domain import Row, plain_name, rest, span
from plaudit.checks.examination import Examination, number
from plaudit.checks.finding import Finding, Undecided
from plaudit.checks.rows import as_column
from plaudit.checks.subject import UNCLAMPED
from plaudit.reward.term import Term

SHARE = 0.9
"""A clamp that binds on this share of a declared range says nothing on most of it."""
POINTS = 2001
Curve = Callable[[np.ndarray], np.ndarray]
"""What becomes of one input's values."""


def clamp_never_binds(examination: Examination) -> Iterator[Finding | Undecided]:
    """Find clamps that no step can reach, on any of their sides."""
    reward = examination.reward
    clamped = [(term.name, f"{term.name}.score", term.low, term.high) for term in reward.terms]
    for name, output, low, high in [*clamped, ("total", UNCLAMPED, reward.low, reward.high)]:
        if low is None and high is None:
            continue
        reach = examination.span(output)
        if (low is not None and reach.least < low) or (high is not None and reach.most > high):
            continue  # it binds
        if not reach.exact:
            reach = examination.span(output, tight=True)
        what = "the total" if name == "total" else repr(name)
        if (low is not None and reach.low < low) or (high is not None and reach.high > high):
            if (low is None or reach.least >= low) and (high is None or reach.most <= high):
                yield examination.undecided("clamp-never-binds", name, f"whether the clamp of {what} ever binds")
            continue
        if not math.isfinite(reach.low) or not math.isfinite(reach.high):
            continue
        witness = [
            examination.subject.step(row, note, plain=True)
            for row, note in ((reach.lowest, "the lowest"), (reach.highest, "the highest"))
            if row is not None
        ]
        yield examination.finding(
            "clamp-never-binds",
            name,
            f"the clamp of {what} to [{_end(low, '-inf')}, {_end(high, 'inf')}] never binds: it always lies in "
            f"[{', '.join(number(end) for end in reach.ends)}].",
            "Drop the clamp, or set it where it protects.",
            witness=tuple(witness) if len(examination.subject.program.inputs) <= 8 else (),
            facts=examination.subject.about(*examination.subject.reads[name]),
        )


def _end(value: float | None, missing: str) -> str:
    return missing if value is None else number(value)


def saturated_clamp(examination: Examination) -> Iterator[Finding | Undecided]:
    """Find clamps that bind on 90 % or more of an input's declared range, all other inputs at rest."""
    subject = examination.subject
    for term in examination.reward.terms:
        for name in sorted(subject.reads_score[term.name]):
            field = subject.program.inputs[name]
            if field.kind != "number" or field.numbers or field.low is None or field.high is None:
                continue
            if any(each != name and plain_name(each) == plain_name(name) for each in subject.reads_score[term.name]):
                continue  # the change of a field is clamped, and its range says little about how far it changes
            if "[" in name and not name.endswith("[0]"):
                continue  # the first entry of a vector stands for all of them
            for side, limit in (("low", term.low), ("high", term.high)):
                if limit is not None:
                    yield from _saturated(examination, term, name, side, limit)


def _binding(score: Curve, side: str, limit: float) -> Curve:
    """Return where a clamp binds, as a function of the input that the score is a function of."""
    return (lambda x: score(x) <= limit) if side == "low" else (lambda x: score(x) >= limit)


def _along(examination: Examination, term: Term, name: str) -> Curve:
    """Return the score of a term along one input, all others at rest."""
    subject = examination.subject
    fields = subject.program.inputs
    still = {each: rest(field) for each, field in fields.items()}
    if "terminal" in still:
        still["terminal"] = float(term.terminal)
    compiled = subject.reward.compile("numpy", on_bad="mask")

    def score(values: np.ndarray) -> np.ndarray:
        columns = {each: as_column(np.full(len(values), value), fields[each]) for each, value in still.items()}
        columns[name] = values
        found: np.ndarray = compiled(columns).scores[term.name]
        return found

    return score


def _saturated(examination: Examination, term: Term, name: str, side: str, limit: float) -> Iterator[Finding]:
    subject = examination.subject
    field = subject.program.inputs[name]
    low, high = span(field)
    points = np.linspace(low, high, POINTS)
    score = _along(examination, term, name)
    binds = _binding(score, side, limit)
    bound = binds(points)
    if bound.mean() < SHARE or bound.all():
        return  # where it binds everywhere the term is dead, and that is told
    if np.ptp(score(points)[bound]) <= 1e-9 * max(1.0, abs(limit)):
        return  # it would say no more without the clamp
    threshold, rising = _threshold(points, bound, binds)
    share = max(float(bound.mean()), (high - threshold if rising else threshold - low) / (high - low))
    where = f"from {_place(threshold, high - low)}" if rising else f"up to {_place(threshold, high - low)}"
    what = "cap" if side == "high" else "floor"
    end: Row = {"terminal": 1.0} if term.terminal else {}
    row: Row = {name: threshold, **end}
    far: Row = {name: high if rising else low, **end}
    yield examination.finding(
        "saturated-clamp",
        term.name,
        f"{term.name!r} is at its {what} of {number(limit)} {where} of the declared {number(low)} to {number(high)} of "
        f"{name}: on {_percent(share)} of that range more or less of it changes nothing.",
        f"Rescale the score so that it reaches {number(limit)} near the end of the range, raise the {what}, or declare "
        f"the range that {name} really has.",
        witness=tuple(
            subject.step(each, note, only=frozenset([name]), plain=True)
            for each, note in ((row, f"reaches the {what}"), (far, "and here it is the same"))
        ),
    )


def _percent(share: float) -> str:
    return f"{min(share, 0.9999):.2%}".replace(".00%", "%").replace("%", " %")


def _place(value: float, width: float) -> str:
    """Return a threshold as people write it: whole where the range is a long one."""
    return number(math.ceil(value - 1e-9)) if width >= 1000 and value >= 10 else number(value)


def _threshold(points: np.ndarray, bound: np.ndarray, binds: Curve) -> tuple[float, bool]:
    """Return where the clamp begins to bind and that it binds above, or where it ends and that it binds below."""
    rising = bool(bound[-1])
    change = int(np.argmin(bound[::-1])) if rising else int(np.argmin(bound))
    at = len(points) - change if rising else change - 1  # the first or last point that is bound
    inside, outside = (
        points[min(at, len(points) - 1)],
        points[max(at - 1, 0) if rising else min(at + 1, len(points) - 1)],
    )
    for _ in range(60):
        middle = (inside + outside) / 2
        if bool(binds(np.array([middle]))[0]):
            inside = middle
        else:
            outside = middle
    return float(inside), rising

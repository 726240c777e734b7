"""Rules about clamps: one that binds nearly everywhere, and one that can never bind."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from plaudit.checks.finding import Finding
from plaudit.checks.formats.plain import LONGEST, format_number, format_place
from plaudit.checks.model import UNCLAMPED, RewardModel
from plaudit.checks.rules.registry import CheckContext, Found, rule
from plaudit.checks.solver.breakpoints import to_column
from plaudit.checks.solver.ranges import NumericRow, declared_range, is_unlimited, strip_step_end, value_at_rest
from plaudit.checks.solver.solver import SLACK
from plaudit.language.schedule import Schedule
from plaudit.reward.term import Term

if TYPE_CHECKING:
    import numpy as np  # listing the rules loads no NumPy

SHARE = 0.9
"""A clamp that binds on this share of a declared range says nothing on most of it."""
POINTS = 2001
MOST_INPUTS = 8
"""Of rewards with more inputs no rows are shown at which a clamp does not bind."""
Curve = Callable[["np.ndarray"], "np.ndarray"]
"""What becomes of one input's values."""


@rule(
    "saturated-clamp",
    severity="warning",
    why="If a clamp binds almost everywhere, the term no longer distinguishes states.",
    always=True,
)
def find_saturated_clamps(context: CheckContext) -> Found:
    """Find clamps that bind on 90 % or more of an input's declared range, all other inputs at rest."""
    model = context.model
    for term in context.reward.terms:
        for name in sorted(model.reads_score[term.name]):
            field = model.program.inputs[name]
            if field.kind != "number" or field.numbers or field.low is None or field.high is None:
                continue
            if any(
                each != name and strip_step_end(each) == strip_step_end(name) for each in model.reads_score[term.name]
            ):
                continue  # the change of a field is clamped, and its range says little about how far it changes
            if field.shape and not name.endswith(field.entries[0]):
                continue  # the first entry of a vector stands for all of them
            for side, limit in (("low", term.low), ("high", term.high)):
                if isinstance(limit, float):
                    yield from _find_saturation(context, term, name, side, limit)


def _find_where_it_binds(score: Curve, side: str, limit: float) -> Curve:
    """Return where a clamp binds, as a function of the input that the score is a function of."""
    return (lambda x: score(x) <= limit) if side == "low" else (lambda x: score(x) >= limit)


def _score_along(context: CheckContext, term: Term, name: str) -> Curve:
    """Return the score of a term along one input, all others at rest."""
    import numpy as np

    model = context.model
    fields = model.program.inputs
    still = {each: value_at_rest(field) for each, field in fields.items()}
    if "terminal" in still:
        still["terminal"] = float(term.terminal)
    compiled = model.reward.compile("numpy", on_bad="mask")

    def score(values: np.ndarray) -> np.ndarray:
        columns = {each: to_column(np.full(len(values), value), fields[each]) for each, value in still.items()}
        columns[name] = values
        found: np.ndarray = compiled(columns).scores[term.name]
        return found

    return score


def _find_saturation(context: CheckContext, term: Term, name: str, side: str, limit: float) -> Iterator[Finding]:
    import numpy as np

    model = context.model
    field = model.program.inputs[name]
    low, high = declared_range(field)
    points = np.linspace(low, high, POINTS)
    score = _score_along(context, term, name)
    binds = _find_where_it_binds(score, side, limit)
    bound = binds(points)
    if bound.mean() < SHARE or bound.all():
        return  # where it binds everywhere the term is dead, and that is another rule
    if np.ptp(score(points)[bound]) <= 1e-9 * max(1.0, abs(limit)):
        return  # it would say no more without the clamp
    threshold, rising = _locate_threshold(points, bound, binds)
    threshold = _round_inside(threshold, rising, high - low, binds)
    share = max(float(bound.mean()), (high - threshold if rising else threshold - low) / (high - low))
    where = f"{'from' if rising else 'up to'} {format_place(threshold)}"
    what = "cap" if side == "high" else "floor"
    end: NumericRow = {"terminal": 1.0} if term.terminal else {}
    row: NumericRow = {name: threshold, **end}
    far: NumericRow = {name: high if rising else low, **end}
    yield context.finding(
        term.name,
        f"{term.name!r} is stuck at its {what} of {format_number(limit)} for {name} {where} (declared "
        f"{format_number(low)} to {format_number(high)}): on {_format_percent(share)} of that range, changing {name} "
        "changes nothing.",
        f"Rescale the score so that it reaches {format_number(limit)} near the end of the range, "
        f"{'raise' if side == 'high' else 'lower'} the {what}, or declare the real range of {name}.",
        witness=(
            model.build_step(each, note, only=frozenset([name]), plain=True)
            for each, note in ((row, f"reaches the {what}"), (far, "the same here"))
        ),
    )


def _format_percent(share: float) -> str:
    return f"{min(share, 0.9999):.2%}".replace(".00%", "%")


def _round_inside(threshold: float, rising: bool, width: float, binds: Curve) -> float:
    """Return a number with few digits at which the clamp binds: whole where the range is a long one."""
    import numpy as np

    first = max(0, 3 - math.floor(math.log10(width)))
    for digits in range(first, first + 7):
        step = 10.0**-digits
        for near in (round(threshold, digits), round(threshold + (step if rising else -step), digits)):
            if abs(near - threshold) <= step and bool(binds(np.array([near]))[0]):
                return near + 0.0
    return threshold


def _locate_threshold(points: np.ndarray, bound: np.ndarray, binds: Curve) -> tuple[float, bool]:
    """Return where the clamp begins to bind and that it binds above, or where it ends and that it binds below."""
    import numpy as np

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


@rule(
    "clamp-never-binds",
    severity="warning",
    why="A clamp that is never reached protects nothing and hides the real range.",
    always=True,
)
def find_idle_clamps(context: CheckContext) -> Found:
    """Find clamps that no step can reach, on any of their sides."""
    reward = context.reward
    clamped = [(term.name, f"{term.name}.score", term.low, term.high) for term in reward.terms]
    for name, output, low, high in [*clamped, ("total", UNCLAMPED, reward.low, reward.high)]:
        if (low is None and high is None) or isinstance(low, Schedule) or isinstance(high, Schedule):
            continue
        reach = context.span(output)
        if (low is not None and reach.least < low) or (high is not None and reach.most > high):
            continue  # it binds
        if not reach.exact:
            reach = context.span(output, tight=True)
        what = "the total" if name == "total" else repr(name)
        if (low is not None and reach.low < low) or (high is not None and reach.high > high):
            if (low is None or reach.least >= low) and (high is None or reach.most <= high):
                yield context.undecided(name, f"whether the clamp of {what} ever binds")
            continue
        if not math.isfinite(reach.low) or not math.isfinite(reach.high):
            continue
        model, few = context.model, len(context.model.program.inputs) <= MOST_INPUTS
        ends = ((reach.lowest, "the lowest"), (reach.highest, "the highest")) if few else ()
        rows = [(_simplify_end(model, name, row), note) for row, note in ends if row is not None]
        rows = [(row, note) for row, note in rows if not any(map(is_unlimited, row.values()))]
        yield context.finding(
            name,
            f"the clamp of {what} to [{_format_end(low, '-inf')}, {_format_end(high, 'inf')}] never binds: the "
            f"value {_describe_ends(*reach.ends)}.",
            "Drop the clamp, or set it where it takes effect.",
            witness=[model.build_step(row, note) for row, note in rows],
            facts=context.model.facts_about(*context.model.reads[name]),
        )


def _format_end(value: float | None, missing: str) -> str:
    return missing if value is None else format_number(value)


def _simplify_end(model: RewardModel, name: str, row: NumericRow) -> NumericRow:
    """Return a row in plain numbers that a term, or the total, scores nearly the same."""

    def measure(rows: Sequence[NumericRow]) -> float:
        scores = model.score(rows[0])
        return math.nan if scores is None else float(scores.total if name == "total" else scores.scores[name])

    end = measure([row])
    return model.simplify_rows([row], lambda rows: abs(measure(rows) - end) <= SLACK * abs(end))[0]


def _describe_ends(low: float, high: float) -> str:
    """Return between which numbers something lies; an end that is too large to write is left out.

    >>> _describe_ends(0.0, 35.0), _describe_ends(0.0, 1.8e19)
    ('always lies in [0, 35]', 'is never below 0')
    """
    if high >= LONGEST:
        return f"is never below {format_number(low)}"
    if low <= -LONGEST:
        return f"is never above {format_number(high)}"
    return f"always lies in [{format_number(low)}, {format_number(high)}]"

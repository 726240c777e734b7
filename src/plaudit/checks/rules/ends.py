"""Rules about how an episode ends."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from plaudit.checks.formats.plain import format_number
from plaudit.checks.model import RewardModel
from plaudit.checks.rules.registry import CheckContext, Found, rule
from plaudit.checks.rules.staying import add_standing_step, drop_shaping, read_standing_row
from plaudit.checks.solver.question import Question
from plaudit.checks.solver.ranges import NumericRow, is_unlimited, list_choices

MOST_STEPS = 100
"""An end that is dearer than so many steps is not cheap, where no discount says how long the future is."""
MOST_KINDS = 64
"""So many kinds of ends are distinguished."""


@rule(
    "cheap-end", severity="advice", why="Where every step costs, an agent may learn to end the episode badly and soon."
)
def find_cheap_ends(context: CheckContext) -> Found:
    """Find bad ends that are cheaper than going on."""
    lasting = drop_shaping(context)
    end = find_cheapest_bad_end(context) if lasting is not None else None
    if lasting is None or end is None:
        return
    question = Question()
    best = context.solver.maximise(question, add_standing_step(lasting, question))
    cost = -best.bound
    if cost <= 1e-9:
        if best.value < -1e-9:
            yield context.undecided("total", "whether every step costs")
        return
    cheaper = _compare_costs(cost, end.price, context.reward.discount)
    if best.row is None or cheaper is None:
        return
    model = context.model
    yield context.finding(
        "total",
        f"every step that leaves everything as it is costs at least {format_number(cost)}, and there is an end that "
        f"costs {format_number(end.price)}: {cheaper}.",
        "Let the bad end cost more than the steps that it saves, make a step cheaper, or pay for coming closer to a "
        "good end; if giving up may be right, allow this with that reason.",
        witness=(
            model.build_step(read_standing_row(model, best.row), "going on", plain=not any(model.step_ends())),
            model.build_step({**read_standing_row(model, best.row), **end.row}, "the end"),
        ),
        facts=model.facts_about(*model.reads["total"]),
    )


def _compare_costs(cost: float, price: float, discount: float | None) -> str | None:
    """Return by how much giving up is cheaper; None where it is not. The step that ends costs as any other does."""
    if discount is not None and discount < 1:
        forever = cost / (1 - discount)
        if forever <= cost + price + 1e-9:
            return None
        at = f"at a discount of {format_number(discount)}"
        return f"less than going on for ever, which costs {format_number(forever)} {at}"
    steps = math.floor(price / cost + 1e-9) + 1
    return f"less than {'one more step' if steps == 1 else f'{steps} more steps'}" if steps <= MOST_STEPS else None


@dataclass(frozen=True, slots=True)
class BadEnd:
    """A kind of end that costs: what it costs at its dearest, and a row."""

    price: float
    row: NumericRow


def find_cheapest_bad_end(context: CheckContext) -> BadEnd | None:
    """Return the cheapest kind of end that costs; None if there is none.

    Kinds differ in what can be counted, flags and categories. One that can also pay is bad only where no other is.
    """
    terms = [term.name for term in context.reward.terms if term.terminal and term.weight != 0]
    if not terms:
        return None
    model = RewardModel(context.reward.only(*terms))
    bad: dict[bool, list[BadEnd]] = {True: [], False: []}
    for kind in _list_kinds(model):
        question = Question()
        paid = model.add_row(question, fixed=kind)["total"]
        low, high = context.solver.minimise(question, paid), context.solver.maximise(question, paid)
        if low.row is not None and low.value < -1e-9 and not is_unlimited(low.value):
            bad[high.bound <= 1e-9].append(BadEnd(-low.value, {**low.row, **kind}))
    return min(bad[True] or bad[False], key=lambda each: each.price, default=None)


def _list_kinds(model: RewardModel) -> Iterator[NumericRow]:
    """Yield each kind of end: a value for every input that has only a few."""
    options: dict[str, tuple[float, ...]] = {"terminal": (1.0,)}
    count = 1
    for name in sorted(model.reads["total"] - {"terminal"}):
        values = list_choices(model.fields[name])
        if values and count * len(values) <= MOST_KINDS:
            options[name] = values
            count *= len(values)
    for combination in product(*options.values()):
        yield dict(zip(options, combination, strict=True))

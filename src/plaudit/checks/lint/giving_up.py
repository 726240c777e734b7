"""The rule about giving up: every step costs, and a bad end costs less than going on."""

import math
from collections.abc import Iterator

from plaudit.checks.examination import Examination, number
from plaudit.checks.finding import Finding, Undecided
from plaudit.checks.lint.ends import cheapest_bad_end
from plaudit.checks.lint.staying import lasting, standing, stayed
from plaudit.checks.question import Question

MOST_STEPS = 100
"""An end that is dearer than so many steps is not cheap, where no discount says how long the future is."""


def cheap_end(examination: Examination) -> Iterator[Finding | Undecided]:
    """Find bad ends that are cheaper than going on."""
    lasts = lasting(examination)
    end = cheapest_bad_end(examination) if lasts is not None else None
    if lasts is None or end is None:
        return
    question = Question()
    best = examination.solver.highest(question, standing(lasts, question))
    cost, (price, last) = -best.bound, end
    if cost <= 1e-9:
        if best.value < -1e-9:
            yield examination.undecided("cheap-end", "total", "whether every step costs")
        return
    cheaper = _cheaper(cost, price, examination.reward.discount)
    if best.row is None or cheaper is None:
        return
    subject = examination.subject
    yield examination.finding(
        "cheap-end",
        "total",
        f"every step that leaves everything as it is costs at least {number(cost)}, and there is an end that costs "
        f"{number(price)}: {cheaper}.",
        "Let the bad end cost more than the steps that it saves, make a step cheaper, or pay for coming closer to a "
        "good end; if giving up may be right, allow this with that reason.",
        witness=(
            subject.step(stayed(subject, best.row), "going on", plain=not any(subject.ends())),
            subject.step({**stayed(subject, best.row), **last}, "the end"),
        ),
        facts=subject.about(*subject.reads["total"]),
    )


def _cheaper(cost: float, price: float, discount: float | None) -> str | None:
    """Return by how much giving up is cheaper; None where it is not. The step that ends costs as any other does."""
    if discount is not None and discount < 1:
        forever = cost / (1 - discount)
        told = f"less than going on for ever, which costs {number(forever)} at a discount of {number(discount)}"
        return told if forever > cost + price + 1e-9 else None
    steps = math.floor(price / cost + 1e-9) + 1
    return f"less than {'one more step' if steps == 1 else f'{steps} more steps'}" if steps <= MOST_STEPS else None

"""What the returns of episodes say: one term that pays everything, length that explains it, shaping that decides it."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from plaudit.analysis.audit.context import AuditContext, Detector, format_percent, history_rule
from plaudit.analysis.audit.outcomes import EpisodeOutcomes
from plaudit.analysis.audit.steps import Numbers
from plaudit.checks.finding import Finding, Step
from plaudit.checks.formats.plain import format_number

LEAST_SPREAD = 0.1
"""Lengths whose standard deviation is a smaller share of their mean are all alike."""
BEST = 0.1
"""The best share of all episodes."""
MOSTLY = 0.5
"""Where more than this share of the late episodes reach the goal, they are after it."""


@dataclass(frozen=True)
class EpisodeReturns(Detector):
    """What the returns of whole episodes show; the ledger keeps their sums, and no step is looked at."""

    outcomes: EpisodeOutcomes


@history_rule("one-term-paid", severity="advice", why="One term paid nearly everything; the others hardly counted.")
def find_one_term(seen: EpisodeReturns, context: AuditContext) -> Iterator[Finding]:
    """Find a term that paid nearly all of what late episodes were paid, where others could have paid too."""
    if not context.has_episodes():
        return
    terms = {term.name: term for term in context.reward.terms if term.weight != 0 and term.name in context.can_pay}
    summed = {name: context.table.sum_term(name)[context.late] for name in terms}
    earned = {name: np.maximum(column, 0.0) for name, column in summed.items()}
    sums = {name: float(column.sum()) for name, column in earned.items()}
    total = sum(sums.values())
    largest = max(sums, key=lambda name: sums[name], default="")
    if len(terms) < 2 or not 0 < context.thresholds.one_term * total < sums[largest] or terms[largest].kind == "goal":
        return
    others = ", ".join(f"{name} {format_number(value)}" for name, value in sums.items() if name != largest)
    cost = any((column < 0).any() for column in summed.values())
    left_out = " Episodes in which a term cost more than it paid do not count in its sum." if cost else ""
    yield context.finding(
        largest,
        f"{largest!r} paid {format_number(sums[largest])}, {format_percent(sums[largest] / total)} of everything paid "
        f"in the {len(earned[largest]):,} late episodes; the others paid: {others}.{left_out}",
        f"If {largest!r} is the objective, declare it with kind='goal'. If not, lower its weight, or find out why the "
        "other terms do not pay.",
        witness=_show_best(context, earned[largest], largest),
    )


def _show_best(context: AuditContext, paid: Numbers, term: str) -> Iterator[Step]:
    """Yield the last step of the late episode in which a term paid most."""
    row = int(np.flatnonzero(context.late)[paid.argmax()])
    episode = context.table.listed[row]
    yield context.step(episode.last_record, f"{term} paid {format_number(paid.max())} in this episode")


@history_rule("length-paid", severity="advice", why="Episode length alone explains the returns.")
def find_length(seen: EpisodeReturns, context: AuditContext) -> Iterator[Finding]:
    """Find that returns follow from lengths alone, where the reward means to pay for something else as well."""
    if not context.has_episodes():
        return
    whole = context.table.whole
    lengths, returns = context.table.lengths[whole].astype(np.float64), context.table.returns[whole]
    plain = not any(term.reads and term.weight != 0 for term in context.reward.terms)
    if plain or lengths.std() < LEAST_SPREAD * lengths.mean() or not returns.std():
        return  # a price for every step, and nothing else, is what the author asked for
    explained = _explain_by(lengths, returns)
    if explained < context.thresholds.length:
        return
    reached = seen.outcomes.reached
    after_goal = reached is not None and reached[context.late].mean() > MOSTLY
    slope = float(np.polyfit(lengths, returns, 1)[0])
    rising = slope > 0
    if after_goal or (not rising and reached is None):
        return  # the pay per step rewards reaching the goal early, or may do so
    original = seen.outcomes.original
    if original is not None and original[whole].std() and _explain_by(lengths, original[whole]) >= explained:
        return  # the environment itself pays by the step
    row = int(np.flatnonzero(whole)[(lengths if rising else -lengths).argmax()])
    which = "longest" if rising else "shortest"
    yield context.finding(
        "total",
        f"episode length explains {format_percent(explained)} of the variance of returns over "
        f"{len(lengths):,} episodes of {format_number(lengths.min())} to {format_number(lengths.max())} steps: each "
        f"extra step adds {format_number(slope)}, whatever the agent does in it.",
        "If episode length is the objective, allow this finding with that reason. If not, make each step cost "
        "something "
        "and pay for the objective.",
        witness=(context.step(context.table.listed[row].last_record, f"last step of the {which} episode"),),
    )


def _explain_by(lengths: Numbers, returns: Numbers) -> float:
    return float(np.corrcoef(lengths, returns)[0, 1] ** 2) if returns.std() else 0.0


@history_rule(
    "shaping-reordered", severity="warning", why="Shaping decides which episodes rank best, and it should not."
)
def find_shaping(seen: EpisodeReturns, context: AuditContext) -> Iterator[Finding]:
    """Find that the best episodes are the best by shaping alone: without it, they are below the middle."""
    if not context.has_episodes():
        return
    shaping = [term.name for term in context.reward.terms if term.kind == "shaping" and term.weight != 0]
    if not shaping or len(shaping) == len(context.reward.terms):
        return
    whole = context.table.whole
    returns = context.table.returns[whole]
    bare = returns - np.sum([context.table.sum_term(name) for name in shaping], axis=0)[whole]
    count = max(1, round(BEST * len(returns)))
    best = np.argsort(returns, kind="stable")[-count:]
    middle = float(np.median(bare))
    error = float(bare.std() / np.sqrt(count))
    if not bare[best].mean() < middle - context.thresholds.fall * error or not error:
        return
    row = int(np.flatnonzero(whole)[best[-1]])
    yield context.finding(
        shaping[0],
        f"the best {count:,} of {len(returns):,} episodes earn {format_number(returns[best].mean())} on average, but "
        f"{format_number(bare[best].mean())} without {', '.join(map(repr, shaping))}; without shaping, half of all "
        f"episodes earn {format_number(middle)} or more.",
        "Make shaping a difference of potentials, discount * potential(after) - potential(before), which does not "
        "change "
        "how policies rank. Report returns without shaping.",
        witness=(context.step(context.table.listed[row].last_record, "last step of the best episode"),),
    )

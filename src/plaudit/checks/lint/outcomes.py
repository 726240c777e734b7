"""Rules about whole episodes: their order, and the odds at which an agent would gamble (Knox et al. 2023)."""

from collections.abc import Iterator
from itertools import pairwise

from plaudit.checks.check import Outcomes
from plaudit.checks.examination import Examination, number
from plaudit.checks.finding import Finding, Undecided
from plaudit.errors import DefinitionError, InputError


def outcome_order(examination: Examination, outcomes: Outcomes) -> Iterator[Finding | Undecided]:
    """Find neighbours in the given order that the reward ranks otherwise."""
    returns = _returns(examination, outcomes)
    for worse, better in pairwise(returns):
        if returns[worse] < returns[better]:
            continue
        how = "the same as" if returns[worse] == returns[better] else "more than"
        yield examination.finding(
            "outcome-order",
            "total",
            f"{worse!r} earns {number(returns[worse])}, {how} {better!r} with {number(returns[better])}, though it is "
            "the worse outcome.",
            f"Raise the price of {worse!r} or the pay of {better!r}; a cost per step adds up over an episode.",
        )


def risk_tolerance(examination: Examination, outcomes: Outcomes) -> Iterator[Finding | Undecided]:
    """Tell the chance of the worst outcome that an agent takes for one of the best."""
    returns = _returns(examination, outcomes)
    names = list(returns)
    if len(names) < 3:
        return
    worst, best = names[0], names[-1]
    for middle in names[1:-1]:
        if not returns[worst] < returns[middle] < returns[best]:
            continue
        risk = (returns[best] - returns[middle]) / (returns[best] - returns[worst])
        yield examination.finding(
            "risk-tolerance",
            "total",
            f"rather than {middle!r} an agent gambles on {best!r} as long as {worst!r} is less likely than "
            f"{risk:.2g} (returns {number(returns[worst])}, {number(returns[middle])}, {number(returns[best])}).",
            f"Ask whether you would take that risk; a dearer {worst!r} lowers it.",
        )


def _returns(examination: Examination, outcomes: Outcomes) -> dict[str, float]:
    """Return the discounted return of each episode; a row that cannot be scored is an error that names it."""
    discount = examination.reward.discount or 1.0
    found: dict[str, float] = {}
    for name, rows in outcomes.items():
        total = 0.0
        for at, row in enumerate(rows):
            try:
                total += discount**at * examination.reward.score(**row).total
            except InputError as error:
                error.add_note(f"It is row {at} of the outcome {name!r}.")
                raise
            except TypeError:
                raise DefinitionError(f"outcome {name!r}, row {at}: {row!r:.200} is not a mapping of inputs") from None
        found[name] = total
    return found

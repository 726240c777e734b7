"""Rules about whole episodes: their order, and the odds at which an agent would gamble (Knox et al. 2023)."""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from plaudit.checks.boxes import close
from plaudit.checks.check import Outcomes
from plaudit.checks.examination import Examination, number
from plaudit.checks.finding import Finding, Step, Undecided
from plaudit.errors import DefinitionError, InputError
from plaudit.reward.signal import Signal


def outcome_order(examination: Examination, outcomes: Outcomes) -> Iterator[Finding | Undecided]:
    """Find neighbours in the given order that the reward ranks otherwise."""
    episodes = _episodes(examination, outcomes)
    returns = _returns(examination, episodes)
    for worse, better in pairwise(returns):
        same = close(returns[worse], returns[better])
        if returns[worse] < returns[better] and not same:
            continue
        how = "the same as" if same else "more than"
        yield examination.finding(
            "outcome-order",
            "total",
            f"{worse!r} earns {number(returns[worse])}, {how} {better!r} with {number(returns[better])}, though it is "
            "the worse outcome.",
            f"Raise the price of {worse!r} or the pay of {better!r}; a cost per step adds up over an episode.",
            witness=tuple(step for name in (worse, better) for step in _ends(name, episodes[name])),
        )


def risk_tolerance(examination: Examination, outcomes: Outcomes) -> Iterator[Finding | Undecided]:
    """Tell the chance of the worst outcome that an agent takes for one of the best."""
    episodes = _episodes(examination, outcomes)
    returns = _returns(examination, episodes)
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
            witness=tuple(step for name in (worst, middle, best) for step in _ends(name, episodes[name])),
        )


def _returns(examination: Examination, episodes: Mapping[str, list[Signal]]) -> dict[str, float]:
    """Return the discounted return of each episode."""
    discount = examination.reward.discount or 1.0
    return {
        name: sum(discount**at * signal.total for at, signal in enumerate(signals))
        for name, signals in episodes.items()
    }


def _episodes(examination: Examination, outcomes: Outcomes) -> dict[str, list[Signal]]:
    """Return what each step of each episode earned; a row that cannot be scored is an error that names it."""
    return {
        name: [_scored(examination, name, at, row) for at, row in enumerate(rows)] for name, rows in outcomes.items()
    }


def _scored(examination: Examination, name: str, at: int, row: Mapping[str, Any]) -> Signal:
    try:
        return examination.reward.score(**row)
    except InputError as error:
        error.add_note(f"It is row {at} of the outcome {name!r}.")
        raise
    except TypeError:
        raise DefinitionError(f"outcome {name!r}, row {at}: {row!r:.200} is not a mapping of inputs") from None


def _ends(name: str, signals: list[Signal]) -> Iterator[Step]:
    """Yield the first and the last step of an episode."""
    for at in sorted({0, len(signals) - 1}) if signals else ():
        yield Step(dict(signals[at].inputs), signals[at].total, f"{name}, step {at + 1} of {len(signals)}")

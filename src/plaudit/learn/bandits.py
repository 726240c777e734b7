"""The bandits by name: each is a way to estimate what actions are worth and a way to choose among them.

Those with features fit a ridge regression for each action, with an `intercept` unless told otherwise.
"""

from collections.abc import Iterable
from typing import Any, Literal, Protocol

from plaudit.errors import DefinitionError
from plaudit.learn.arms import ArmBandit
from plaudit.learn.decision import Decision
from plaudit.learn.explore import EpsilonMix, Explore, Sampling, SquareCB
from plaudit.learn.linear import LinearBandit
from plaudit.learn.ridge import Numbers
from plaudit.learn.validate import name_features, parse_names, resolve_floor


class Learner(Protocol):
    """Pure functions around a state that is handed along: begin, choose, learn."""

    @property
    def actions(self) -> tuple[str, ...]:
        """The names of what can be chosen."""

    @property
    def features(self) -> tuple[str, ...]:
        """The names of what is seen before choosing; none for a bandit without a context."""

    def init(self) -> Any:
        """Return the state in which nothing is known."""

    def choose(self, state: Any, key: int, context: Any = None) -> Decision:
        """Return a decision with the exact probability of its action."""

    def update(self, state: Any, decision: Decision, reward: float, *, again: bool = False) -> Any:
        """Return the state after a reward."""

    def probabilities(self, state: Any, contexts: Any) -> Numbers:
        """Return how likely each action is in each context."""


def epsilon_ridge(
    actions: Iterable[str],
    features: int | Iterable[str],
    *,
    ridge: float = 1e-2,
    start: float = 0.20,
    end: float = 0.05,
    over: int = 5000,
    intercept: bool = True,
) -> LinearBandit:
    """Return the bandit that takes the best ridge regression but for a share of random choices, from `start` to `end`.

    >>> epsilon_ridge(("stay", "star"), 8).explore.amount(2500)
    0.125
    """
    return LinearBandit(
        parse_names("actions", actions),
        name_features(features),
        EpsilonMix(start, end, over),
        ridge,
        intercept=intercept,
    )


def linucb(
    actions: Iterable[str],
    features: int | Iterable[str],
    *,
    alpha: float = 1.0,
    ridge: float = 1.0,
    floor: float | None = None,
    mix: Literal["epsilon", "squarecb"] = "epsilon",
    intercept: bool = True,
) -> LinearBandit:
    """Return the bandit that prefers what is good or uncertain (Li and others, 2010); with `alpha` 0 it is greedy.

    The rule alone is deterministic, and its log could never say what another policy would have earned. So it is mixed:
    no action is ever less likely than `floor`, 2 % unless given and less where there are more than ten actions. A
    floor of 0 earns more and tells nothing.
    """
    names = parse_names("actions", actions)
    least = resolve_floor(floor, len(names))
    if mix not in ("epsilon", "squarecb"):
        raise DefinitionError(f"mix={mix!r} must be 'epsilon' or 'squarecb'.")
    share = len(names) * least
    explore: Explore = EpsilonMix(share, share, 1) if mix == "epsilon" else SquareCB(10.0, 0.5, least)
    return LinearBandit(names, name_features(features), explore, ridge, alpha, intercept)


def squarecb(
    actions: Iterable[str],
    features: int | Iterable[str],
    *,
    ridge: float = 1.0,
    gamma: float = 10.0,
    exponent: float = 0.5,
    floor: float | None = None,
    intercept: bool = True,
) -> LinearBandit:
    """Return the bandit that tries an action the less, the further its regression lies behind the best."""
    names = parse_names("actions", actions)
    return LinearBandit(
        names,
        name_features(features),
        SquareCB(gamma, exponent, resolve_floor(floor, len(names))),
        ridge,
        intercept=intercept,
    )


def linear_thompson(
    actions: Iterable[str],
    features: int | Iterable[str],
    *,
    scale: float = 0.5,
    ridge: float = 1.0,
    propensity: bool = True,
    intercept: bool = True,
) -> LinearBandit:
    """Return the bandit that draws what each action may be worth from its regression, and takes the best draw.

    `scale` is how noisy rewards are taken to be. Without `propensity` decisions come faster and say that their
    probability is not known.
    """
    return LinearBandit(
        parse_names("actions", actions),
        name_features(features),
        Sampling(scale, propensity),
        ridge,
        intercept=intercept,
    )


def epsilon_greedy(actions: Iterable[str], *, start: float = 0.20, end: float = 0.05, over: int = 5000) -> ArmBandit:
    """Return the bandit that takes the best mean so far but for a share of random choices."""
    return ArmBandit(parse_names("actions", actions), EpsilonMix(start, end, over))


def ucb1(actions: Iterable[str], *, width: float = 1.0, floor: float | None = None) -> ArmBandit:
    """Return the bandit that prefers what is good or little tried; no action is ever less likely than `floor`."""
    names = parse_names("actions", actions)
    share = len(names) * resolve_floor(floor, len(names))
    return ArmBandit(names, EpsilonMix(share, share, 1), width)


def thompson(actions: Iterable[str], *, scale: float = 1.0, propensity: bool = True) -> ArmBandit:
    """Return the bandit that draws what each action may be worth from its rewards so far, and takes the best draw."""
    return ArmBandit(parse_names("actions", actions), Sampling(scale, propensity))

"""The bandits by name: each estimates the value of actions and chooses among them.

Those with features fit a ridge regression per action, with an `intercept` by default.
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
    """Pure functions over a state: `init`, `choose`, `update`."""

    @property
    def actions(self) -> tuple[str, ...]:
        """The names of the actions."""

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the features; empty for a bandit without features."""

    def init(self) -> Any:
        """Return the initial state.

        Returns:
            A state in which nothing has been learned.
        """

    def choose(self, state: Any, key: int, context: Any = None) -> Decision:
        """Choose an action for these features.

        Args:
            state: What is known so far.
            key: The random seed; the same state, key and features give the same decision.
            context: The features, in the order of `features`.

        Returns:
            The decision, with the exact probability of its action where it is known.
        """

    def update(self, state: Any, decision: Decision, reward: float, *, again: bool = False) -> Any:
        """Learn from the reward of a decision; the given state does not change.

        Args:
            state: What is known so far.
            decision: The decision that earned the reward.
            reward: The reward.
            again: This is a further reward of a decision that was counted before.

        Returns:
            The new state.
        """

    def probabilities(self, state: Any, contexts: Any) -> Numbers:
        """Compute the policy of this state.

        Args:
            state: What is known so far.
            contexts: One row of features per decision.

        Returns:
            The probability of each action, one row per decision.
        """


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
    """Create a bandit that takes the best action by ridge regression, with a share of random choices (epsilon-greedy).

    Args:
        actions: The names of the actions.
        features: The names of the features, or how many there are.
        ridge: Regularization strength.
        start: Share of random choices at first.
        end: Share of random choices in the end.
        over: Number of decisions over which the share falls.
        intercept: Add a constant to each regression: the reward where all features are 0.

    Returns:
        The bandit.

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
    """Create a LinUCB bandit: it prefers actions that are good or uncertain (Li and others, 2010).

    LinUCB alone is deterministic, so its log could not be used to evaluate other policies. A share of random choices
    guarantees that no action is less likely than `floor`. A floor of 0 earns more, but the log allows no evaluation.

    Args:
        actions: The names of the actions.
        features: The names of the features, or how many there are.
        alpha: Weight of the uncertainty bonus; 0 is greedy.
        ridge: Regularization strength.
        floor: The lowest probability of an action: 2% if omitted, less with more than ten actions.
        mix: How the rest is distributed: "epsilon" (best action plus uniform) or "squarecb" (by inverse gaps).
        intercept: Add a constant to each regression: the reward where all features are 0.

    Returns:
        The bandit.

    Raises:
        DefinitionError: `mix` is unknown, or a number is out of range.

    >>> bandit = linucb(("small", "large"), ("difficulty",), floor=0.1)
    >>> bandit.probabilities(bandit.init(), [[0.5]]).tolist()
    [[0.9, 0.1]]
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
    """Create a SquareCB bandit: the further the regression of an action is behind the best, the less often it is tried.

    Args:
        actions: The names of the actions.
        features: The names of the features, or how many there are.
        ridge: Regularization strength.
        gamma: How strongly gaps reduce exploration.
        exponent: How fast gamma grows with the number of decisions.
        floor: The lowest probability of an action: 2% if omitted, less with more than ten actions.
        intercept: Add a constant to each regression: the reward where all features are 0.

    Returns:
        The bandit.

    >>> bandit = squarecb(("small", "large"), ("difficulty",))
    >>> bandit.choose(bandit.init(), 7, [0.5]).probability
    0.5
    """
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
    """Create a Thompson sampling bandit with features: it draws a value for each action from its regression.

    Args:
        actions: The names of the actions.
        features: The names of the features, or how many there are.
        scale: Assumed standard deviation of rewards.
        ridge: Regularization strength.
        propensity: Compute the exact probability of each decision. Without it decisions are faster, but no other policy
            can be evaluated on them.
        intercept: Add a constant to each regression: the reward where all features are 0.

    Returns:
        The bandit.

    >>> bandit = linear_thompson(("small", "large"), ("difficulty",))
    >>> round(bandit.choose(bandit.init(), 7, [0.5]).probability, 6)
    0.5
    """
    return LinearBandit(
        parse_names("actions", actions),
        name_features(features),
        Sampling(scale, propensity),
        ridge,
        intercept=intercept,
    )


def epsilon_greedy(actions: Iterable[str], *, start: float = 0.20, end: float = 0.05, over: int = 5000) -> ArmBandit:
    """Create a bandit that takes the action with the best mean so far, with a share of random choices.

    Args:
        actions: The names of the actions.
        start: Share of random choices at first.
        end: Share of random choices in the end.
        over: Number of decisions over which the share falls.

    Returns:
        The bandit.

    >>> bandit = epsilon_greedy(("small", "large"))
    >>> bandit.choose(bandit.init(), 7).probability
    0.9
    """
    return ArmBandit(parse_names("actions", actions), EpsilonMix(start, end, over))


def ucb1(actions: Iterable[str], *, width: float = 1.0, floor: float | None = None) -> ArmBandit:
    """Create a UCB1 bandit: it prefers actions that are good or rarely tried.

    Args:
        actions: The names of the actions.
        width: Weight of the bonus for rarely tried actions.
        floor: The lowest probability of an action: 2% if omitted, less with more than ten actions.

    Returns:
        The bandit.

    >>> bandit = ucb1(("small", "large"))
    >>> bandit.choose(bandit.init(), 7).probability
    0.98
    """
    names = parse_names("actions", actions)
    share = len(names) * resolve_floor(floor, len(names))
    return ArmBandit(names, EpsilonMix(share, share, 1), width)


def thompson(actions: Iterable[str], *, scale: float = 1.0, propensity: bool = True) -> ArmBandit:
    """Create a Thompson sampling bandit without features: it draws a value for each action from its rewards so far.

    Args:
        actions: The names of the actions.
        scale: Assumed standard deviation of rewards.
        propensity: Compute the exact probability of each decision. Without it decisions are faster, but no other policy
            can be evaluated on them.

    Returns:
        The bandit.

    >>> bandit = thompson(("small", "large"))
    >>> round(bandit.choose(bandit.init(), 7).probability, 6)
    0.5
    """
    return ArmBandit(parse_names("actions", actions), Sampling(scale, propensity))

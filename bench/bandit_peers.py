"""Bandits behind one face: ours, the reference written by hand, and those of other libraries that are installed."""

import random
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, Protocol

import numpy as np

from plaudit.learn import Decision, LinearBandit

ACTIONS, FEATURES = 4, 8
NAMES = tuple(f"action {at}" for at in range(ACTIONS))
PACKAGES = {"vowpalwabbit": "9.11.9", "river": "0.26.1", "mabwiser": "2.7.4"}
EPSILON = 0.05
WRITTEN = " ".join(f"f{at}:%.8g" for at in range(FEATURES))

Row = tuple[float, ...]


class Contender(Protocol):
    """What is measured: a choice on features, then the reward of that choice."""

    def decide(self, x: Row) -> int: ...  # noqa: D102

    def learn(self, x: Row, action: int, reward: float) -> None: ...  # noqa: D102


Make = Callable[[int], Contender]
"""Makes a contender that knows nothing, from a seed."""


def peers() -> dict[str, Make]:
    """Return what other libraries offer; those that are not installed are said to be left out."""
    found: dict[str, Make] = {}
    for package, makes in MAKES.items():
        if find_spec(package) is None:
            print(f"left out: {package} is not installed (pip install {package}=={PACKAGES[package]})")
        else:
            found |= makes
    return found


def ours(make: Callable[..., LinearBandit], **options: Any) -> Make:
    """Return one of our bandits as a contender."""
    return lambda seed: Ours(make(NAMES, FEATURES, **options), seed)


def interpreted(make: Callable[..., LinearBandit], **options: Any) -> Make:
    """Return one of our bandits as it is for those who did not install Numba."""

    def made(seed: int) -> Contender:
        bandit = make(NAMES, FEATURES, **options)
        bandit.__dict__["_compiled"] = None  # what it finds where there is none
        return Ours(bandit, seed)

    return made


class Ours:
    """A bandit of plaudit.learn, its state and its last decision."""

    def __init__(self, bandit: LinearBandit, key: int) -> None:
        self.bandit, self.key, self.state = bandit, key, bandit.init()
        self.decision: Decision | None = None
        self.positions = {name: at for at, name in enumerate(bandit.actions)}

    def decide(self, x: Row) -> int:
        """Choose; the decision carries the probability of every action."""
        self.decision = decision = self.bandit.choose(self.state, self.key, x)
        return self.positions[decision.action]

    def learn(self, x: Row, action: int, reward: float) -> None:
        """Learn from the last decision."""
        self.state = self.bandit.update(self.state, self.decision, reward)


class Reference:
    """The seed's bandit the obvious way: a loop over the actions, features of 32 bits, matrices of 64."""

    def __init__(self, seed: int, ridge: float = 1e-2) -> None:
        self.rng = np.random.default_rng(seed)
        self.inverses = [np.eye(FEATURES) / ridge for _ in range(ACTIONS)]
        self.moments = [np.zeros(FEATURES) for _ in range(ACTIONS)]
        self.weights = [np.zeros(FEATURES) for _ in range(ACTIONS)]
        self.decisions, self.counts = 0, [0] * ACTIONS

    def decide(self, x: Row) -> int:
        """Choose."""
        return self.decision(x)[0]

    def decision(self, x: Row) -> tuple[int, float, float]:
        """Return the action, epsilon and the milliseconds that it took."""
        start = time.perf_counter()
        features = np.asarray(x, dtype=np.float32)
        scores = np.array([weights @ features for weights in self.weights])
        epsilon = 0.20 - (0.20 - 0.05) * min(1.0, self.decisions / 5000)
        action = int(self.rng.integers(ACTIONS)) if self.rng.random() < epsilon else int(np.argmax(scores))
        self.decisions += 1
        self.counts[action] += 1
        return action, epsilon, (time.perf_counter() - start) * 1e3

    def learn(self, x: Row, action: int, reward: float) -> None:
        """Learn by Sherman and Morrison's formula."""
        features = np.asarray(x, dtype=np.float32)
        u = self.inverses[action] @ features
        self.inverses[action] -= np.outer(u, u) / (1.0 + features @ u)
        self.moments[action] += reward * features
        self.weights[action] = self.inverses[action] @ self.moments[action]


class Vowpal:
    """Vowpal Wabbit with one line of text an example; it gives probabilities, and we draw."""

    def __init__(self, seed: int, options: str) -> None:
        from vowpalwabbit import Workspace

        self.workspace = Workspace(f"{options} --noconstant --quiet --random_seed {seed}")
        self.uniform = random.Random(seed).random
        self.likely: list[float] = []

    def decide(self, x: Row) -> int:
        """Choose."""
        self.likely = self.workspace.predict(self.example(x))
        left = self.uniform() * sum(self.likely)
        for action, likely in enumerate(self.likely):
            left -= likely
            if left < 0:
                return action
        return ACTIONS - 1

    def learn(self, x: Row, action: int, reward: float) -> None:
        """Learn a cost with the probability of the action that it was for."""
        self.workspace.learn(self.example(x, action, f"{action + 1}:{-reward}:{self.likely[action]} "))

    def example(self, x: Row, action: int = 0, label: str = "") -> Any:
        """Return the text of an example."""
        return f"{label}|x {text(x)}"


class VowpalADF(Vowpal):
    """Vowpal Wabbit with a line an action, whose features are crossed with the shared ones."""

    def __init__(self, seed: int, options: str) -> None:
        super().__init__(seed, f"--cb_explore_adf {options} -q xa --ignore_linear x")

    def example(self, x: Row, action: int = 0, label: str = "") -> list[str]:
        """Return the lines of an example."""
        lines = [f"|a a{at}" for at in range(ACTIONS)]
        lines[action] = label + lines[action]
        return [f"shared |x {text(x)}", *lines]


def text(x: Row) -> str:
    """Return features as Vowpal Wabbit reads them.

    It keeps 32 bits of each. Their names begin with a letter: numbers would be places in its table of weights, where
    those of neighbouring actions overlap.
    """
    return WRITTEN % x


class River:
    """LinUCB of River; its prior and noise of 1 are a ridge of 1."""

    def __init__(self, seed: int) -> None:
        from river.bandit import LinUCBDisjoint

        self.policy = LinUCBDisjoint(alpha=1.0, beta=1.0, seed=seed)
        self.arms = list(range(ACTIONS))

    def decide(self, x: Row) -> int:
        """Choose."""
        return self.policy.pull(self.arms, dict(enumerate(x)))

    def learn(self, x: Row, action: int, reward: float) -> None:
        """Learn."""
        self.policy.update(action, dict(enumerate(x)), reward)


class MABWiser:
    """A linear policy of MABWiser; it cannot be asked before its first reward."""

    def __init__(self, seed: int, policy: str, **options: float) -> None:
        from mabwiser.mab import MAB, LearningPolicy

        self.bandit = MAB(list(range(ACTIONS)), getattr(LearningPolicy, policy)(**options), seed=seed)
        self.fit = self.bandit.fit

    def decide(self, x: Row) -> int:
        """Choose."""
        return 0 if self.fit == self.bandit.fit else self.bandit.predict(np.array([x]))

    def learn(self, x: Row, action: int, reward: float) -> None:
        """Learn; the first reward is a fit, each later one a partial fit."""
        self.fit(np.array([action]), np.array([reward]), np.array([x]))
        self.fit = self.bandit.partial_fit


MAKES: dict[str, dict[str, Make]] = {
    "vowpalwabbit": {
        "Vowpal Wabbit, cb_explore": lambda seed: Vowpal(seed, f"--cb_explore {ACTIONS} --epsilon {EPSILON}"),
        "Vowpal Wabbit, squarecb": lambda seed: VowpalADF(seed, "--squarecb"),
        "Vowpal Wabbit, regcbopt": lambda seed: VowpalADF(seed, "--regcbopt --cb_min_cost -2 --cb_max_cost 2"),
    },
    "river": {"River, LinUCBDisjoint": River},
    "mabwiser": {
        "MABWiser, LinUCB": lambda seed: MABWiser(seed, "LinUCB", alpha=1.0, l2_lambda=1.0),
        "MABWiser, LinGreedy": lambda seed: MABWiser(seed, "LinGreedy", epsilon=EPSILON, l2_lambda=1.0),
    },
}

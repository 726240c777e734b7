"""What the tests of off-policy evaluation share: a world whose true values are known, and ledgers of decisions."""

from dataclasses import dataclass

import numpy as np
import pytest

from plaudit import Field, Ledger, Reward, term
from plaudit.learn.off_policy import LoggedDecisions

ACTIONS = ("chain", "flat", "star", "stay")


@dataclass(frozen=True)
class World:
    """Four actions that succeed or fail, eight features, a log that prefers what the policy does not.

    Logging is 0.9 softmax(-scores) + 0.1 uniform and the policy takes the best action in 95 % of its decisions: the
    setting of the published anchors, in which a linear regression is a little wrong.
    """

    directions: np.ndarray
    actions: tuple[str, ...] = ACTIONS
    slope: float = 0.85
    shift: float = -0.1
    steepness: float = 0.85

    def scores(self, contexts):
        return contexts @ self.directions

    def policy(self, contexts):
        """Return how likely the policy makes each action."""
        scores = self.scores(contexts)
        likely = np.full(scores.shape, 0.05 / 4)
        likely[np.arange(len(scores)), scores.argmax(axis=1)] += 0.95
        return likely

    def behaviour(self, contexts):
        """Return how likely each action was logged."""
        exponentials = np.exp(-self.steepness * self.scores(contexts))
        return 0.9 * exponentials / exponentials.sum(axis=1, keepdims=True) + 0.025

    def means(self, contexts):
        """Return the mean reward of each action."""
        return 1 / (1 + np.exp(-self.slope * self.scores(contexts) - self.shift))

    def log(self, count, seed):
        """Return a log of so many decisions."""
        rng = np.random.default_rng(seed)
        contexts = rng.normal(size=(count, 8))
        likely = self.behaviour(contexts)
        chosen = (likely.cumsum(axis=1) > rng.random((count, 1))).argmax(axis=1)
        each = np.arange(count)
        rewards = (rng.random(count) < self.means(contexts)[each, chosen]).astype(float)
        return LoggedDecisions(self.actions, chosen, likely[each, chosen], rewards, contexts)

    def value(self, policy):
        """Return what a policy earns, from so many contexts that the rest does not matter."""
        contexts = np.random.default_rng(1).normal(size=(400_000, 8))
        return float((self.means(contexts) * policy(contexts)).sum(axis=1).mean())


@pytest.fixture(scope="session")
def world():
    directions = np.random.default_rng(2).normal(size=(8, 4))
    return World(directions / np.linalg.norm(directions, axis=0))


@term
def gained(delta):
    """What a step gained."""
    return delta


@term
def spent(tokens):
    """What it cost."""
    return -tokens / 1000


@term(terminal=True)
def bonus(solved):
    """One for a solved episode."""
    return 1 if solved else 0


DELTA = Field("delta", low=-1, high=1)
TOKENS = Field("tokens", low=0, high=1000)


@pytest.fixture(scope="session")
def rewards():
    """Three versions of a reward: with costs, without, and one for cheap steps only; and one with a bonus."""
    return {
        "2": Reward("step", version="2", terms=[gained, spent], fields=[DELTA, TOKENS]),
        "1": Reward("step", version="1", terms=[gained], fields=[DELTA]),
        "cheap": Reward(
            "step", version="cheap", terms=[gained, spent], fields=[DELTA, Field("tokens", low=0, high=500)]
        ),
        "bonus": Reward("step", version="bonus", terms=[gained, bonus], fields=[DELTA, Field("solved", flag=True)]),
    }


@pytest.fixture
def ledger(tmp_path):
    with Ledger(tmp_path / "rewards.db") as opened:
        yield opened


def decision(action="star", probability=0.5, **more):
    return {"decision": {"action": action, "probability": probability, **more}}


@pytest.fixture
def recorded(ledger, rewards):
    """Return a function that records decisions of the class "topology", one or many at a time."""

    def record(count=200, *, reward="2", seed=0, contexts=None, together=True, **about):
        rng = np.random.default_rng(seed)
        actions = rng.integers(0, 2, count)
        if contexts is None:
            contexts = [
                decision(("star", "flat")[action], 0.5, x=[float(x)], number=at)
                for at, (action, x) in enumerate(zip(actions.tolist(), rng.normal(size=count), strict=True))
            ]
        columns = {"delta": np.where(actions == 0, 0.5, 0.0) + rng.uniform(-0.2, 0.2, count)}
        if reward in ("2", "cheap"):
            columns["tokens"] = rng.uniform(0, 400, count)
        about = {"decision_class": "topology", "run": "night-3", **about}
        if together:
            return ledger.record_batch(rewards[reward], columns, context=contexts, **about)
        return [
            ledger.record(
                rewards[reward].score(**{name: column[at] for name, column in columns.items()}),
                context=contexts[at],
                **{name: value[at] if isinstance(value, list) else value for name, value in about.items()},
            )
            for at in range(count)
        ]

    return record

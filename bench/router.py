"""The router against scikit-learn's Ridge and LogisticRegression, one for each candidate, on the same logged rewards.

`python bench/router.py [--quick]`. Candidates were tried at random. Each way learns from that log and advises on rows
that it has not seen. Lost: how much less than the best candidate its advice is worth, a decision.
"""

from importlib.util import find_spec
from typing import Any

import numpy as np
from bandit_peers import ACTIONS, FEATURES, NAMES, Row
from bandits import Task, task
from timing import QUICK, Result, compare, table

from plaudit.learn import Decision, squarecb
from plaudit.learn.router import Guess, Router

Log = tuple[list[Row], list[int], list[float]]
"""Features, the candidate that was tried on them, and what it earned."""


class Ours:
    """The router, which learns as rewards come."""

    def __init__(self, rows: list[Row], tried: list[int], rewards: list[float]) -> None:
        self.router = Router(squarecb(NAMES, FEATURES), lambda x: Guess(NAMES[0], 0.5, "by rule"))
        self.state = self.router.init()
        for row in zip(rows, tried, rewards, strict=True):
            self.learn(*row)

    def learn(self, x: Row, action: int, reward: float) -> None:
        """Learn one more reward."""
        decision = Decision(NAMES[action], None, None, x, self.state.decisions)
        self.state = self.router.update(self.state, decision, reward)

    def advise(self, x: Row) -> int:
        """Return the best candidate; the router also says how sure that is, and why."""
        return NAMES.index(self.router.advise(self.state, x).candidate)


class Fitted:
    """A model of scikit-learn for each candidate, fitted anew to all of its rewards when one more comes."""

    def __init__(self, rows: list[Row], tried: list[int], rewards: list[float]) -> None:
        chosen = np.array(tried)
        self.rows = [np.array(rows)[chosen == each] for each in range(ACTIONS)]
        self.rewards = [np.array(rewards)[chosen == each] for each in range(ACTIONS)]
        self.models = [self.model(each) for each in range(ACTIONS)]

    def model(self, action: int) -> Any:
        """Return a regression of reward on features."""
        from sklearn.linear_model import Ridge

        return Ridge(alpha=1.0, fit_intercept=False).fit(self.rows[action], self.rewards[action])

    def learn(self, x: Row, action: int, reward: float) -> None:
        """Learn one more reward."""
        self.rows[action] = np.vstack((self.rows[action], x))
        self.rewards[action] = np.append(self.rewards[action], reward)
        self.models[action] = self.model(action)

    def advise(self, x: Row) -> int:
        """Return the best candidate."""
        row = np.array([x])
        return int(np.argmax([self.worth(model, row)[0] for model in self.models]))

    def worth(self, model: Any, rows: np.ndarray) -> np.ndarray:
        """Return what a candidate would earn."""
        return model.predict(rows)


class Classified(Fitted):
    """The same with the chance that a reward is above 0."""

    def model(self, action: int) -> Any:
        """Return a classification of rewards by features."""
        from sklearn.linear_model import LogisticRegression

        return LogisticRegression(fit_intercept=False).fit(self.rows[action], self.rewards[action] > 0)

    def worth(self, model: Any, rows: np.ndarray) -> np.ndarray:
        """Return the chance of a reward above 0."""
        return model.predict_proba(rows)[:, 1]


def main(records: int) -> None:
    data = task(0, 2 * records)
    tried = np.random.default_rng(1).integers(0, ACTIONS, records).tolist()
    log = data.rows[:records], tried, [data.rewards[at][action] for at, action in enumerate(tried)]
    makes: dict[str, Any] = {"router": Ours}
    if find_spec("sklearn") is None:
        print("left out: scikit-learn is not installed (pip install scikit-learn==1.9.1)")
    else:
        makes |= {"Ridge": Fitted, "LogisticRegression, reward > 0": Classified}
    ways: dict[str, Any] = {name: make(*log) for name, make in makes.items()}
    lost = {name: loss(way, data, records) for name, way in ways.items()}
    apart = distance(ways["router"], ways["Ridge"]) if "Ridge" in ways else None
    print(f"{ACTIONS} candidates, {FEATURES} features, {records:,} logged rewards")
    rows: list[tuple[str, ...]] = [("what", "lost", "learn all", "one reward more", "one piece of advice")]
    whole, more, advice = times(makes, ways, log, data.rows[-1])
    for name in ways:
        small = f"{more.best[name] * 1e6:,.1f} µs", f"{advice.best[name] * 1e6:,.1f} µs"
        rows.append((name, f"{lost[name]:.5f}", f"{whole.best[name] * 1e3:,.1f} ms", *small))
    table(rows)
    if apart is not None:
        print(f"weights of the router and of Ridge differ by at most {apart:.0e}")


def times(makes: dict[str, Any], ways: dict[str, Any], log: Log, asked: Row) -> tuple[Result, Result, Result]:
    """Return how long it takes to learn the whole log, to learn one reward more, and to advise."""
    last = tuple(column[-1] for column in log)
    whole = compare({name: lambda make=make: make(*log) for name, make in makes.items()}, calls=1, rounds=10)
    advice = compare({name: lambda way=way: way.advise(asked) for name, way in ways.items()}, calls=50, rounds=20)
    more = compare({name: lambda way=way: way.learn(*last) for name, way in ways.items()}, calls=50, rounds=8)
    return whole, more, advice


def distance(router: Ours, fitted: Fitted) -> float:
    theirs = np.array([model.coef_ for model in fitted.models])
    return float(np.abs(router.state.ridge.weights - theirs).max())


def loss(way: Any, data: Task, records: int) -> float:
    """Return what advice loses a decision, on rows that were not learnt from."""
    fresh = zip(data.rows[records:][:2_000], data.lost[records:], strict=False)
    return float(np.mean([lost[way.advise(x)] for x, lost in fresh]))


if __name__ == "__main__":
    main(1_000 if QUICK else 10_000)

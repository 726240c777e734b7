"""Off-policy evaluation of many decisions against the same formulas in plain NumPy, and reading them from a ledger.

`python bench/off_policy.py [decisions]`. The ledger is written to a temporary folder on the disk that holds this
checkout. The peer fits the same cross-fitted regressions with boolean masks and computes the same four estimates and
standard errors.
"""

import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from timing import compare, measure, size, table

from plaudit import Ledger
from plaudit.learn.off_policy import LoggedDecisions, evaluate, evaluate_decisions, from_function, read_decisions
from plaudit.systems import roadsense

ACTIONS = ("chain", "flat", "star", "stay")
FOLDS = 5


def main(count: int) -> None:
    log, likely = made(count)
    estimating(log, likely)
    with tempfile.TemporaryDirectory(dir=Path(__file__).parent) as folder:
        path = Path(folder, "rewards.db")
        write(path, log)
        reading(path, count)


def made(count: int) -> tuple[LoggedDecisions, np.ndarray]:
    rng = np.random.default_rng(0)
    contexts = rng.normal(size=(count, 8))
    scores = contexts @ (rng.normal(size=(8, 4)) / 3)
    likely = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    logged = 0.9 * likely[:, ::-1] + 0.025
    chosen = (logged.cumsum(axis=1) > rng.random((count, 1))).argmax(axis=1)
    each = np.arange(count)
    rewards = 0.1 * scores[each, chosen] + rng.normal(size=count) * 0.2
    return LoggedDecisions(ACTIONS, chosen, logged[each, chosen], rewards, contexts), likely


# -- estimating -------------------------------------------------------------------------------------------------------


def by_hand(log: LoggedDecisions, likely: np.ndarray) -> dict[str, tuple[float, float]]:
    """Return each estimate and its standard error, as one writes them down."""
    count = len(log)
    rows = np.column_stack([np.ones(count), (log.contexts - log.contexts.mean(axis=0)) / log.contexts.std(axis=0)])
    folds = np.random.default_rng(0).permutation(count) % FOLDS
    answers = np.empty((count, len(log.actions)))
    for fold in range(FOLDS):
        for action in range(len(log.actions)):
            own = (folds != fold) & (log.chosen == action)
            asked = folds == fold
            left = rows[own].T @ rows[own] + np.eye(rows.shape[1])
            answers[asked, action] = rows[asked] @ np.linalg.solve(left, rows[own].T @ log.rewards[own])
    each = np.arange(count)
    weights = likely[each, log.chosen] / log.probabilities
    expected = (answers * likely).sum(axis=1)
    ips = weights * log.rewards
    snips = ips.sum() / weights.sum()
    columns = {
        "ips": ips,
        "snips": snips + weights * (log.rewards - snips) / weights.mean(),
        "dm": expected,
        "dr": expected + weights * (log.rewards - answers[each, log.chosen]),
    }
    return {name: (float(column.mean()), float(column.std() / np.sqrt(count))) for name, column in columns.items()}


def estimating(log: LoggedDecisions, likely: np.ndarray) -> None:
    policy = from_function(lambda contexts: likely, ACTIONS)
    found = evaluate_decisions(log, policy)
    for name, (value, error) in by_hand(log, likely).items():
        assert abs(found[name].value - value) < 0.1 * error, name
    peer = "plain NumPy, the four with standard errors"
    contenders = {
        peer: lambda: by_hand(log, likely),
        "evaluate_decisions, normal intervals": lambda: evaluate_decisions(log, policy),
        "evaluate_decisions, bootstrap": lambda: evaluate_decisions(log, policy, interval="bootstrap"),
        "evaluate_decisions, anytime": lambda: evaluate_decisions(
            log, policy, interval="anytime", reward_range=(float(log.rewards.min()), float(log.rewards.max()))
        ),
    }
    result = compare(contenders, calls=1, rounds=5)
    print(f"Evaluating {len(log):,} decisions, 4 actions, 8 features, 5 folds")
    rows: list[tuple[str, ...]] = [("what", "s", "against the first")]
    rows += [(name, f"{best:.3f}", f"{result.ratio(name, peer):.2f}x") for name, best in result.best.items()]
    table(rows)
    print()


# -- reading ----------------------------------------------------------------------------------------------------------


def write(path: Path, log: LoggedDecisions) -> None:
    rng = np.random.default_rng(1)
    with Ledger(path) as ledger:
        for start in range(0, len(log), 65_536):
            part = slice(start, min(start + 65_536, len(log)))
            columns = (log.chosen[part].tolist(), log.probabilities[part].tolist(), log.contexts[part].tolist())
            contexts = [
                {
                    "decision": {
                        "id": f"d-{start + at}",
                        "action": ACTIONS[action],
                        "probability": p,
                        "x": x,
                        "number": at,
                    }
                }
                for at, (action, p, x) in enumerate(zip(*columns, strict=True))
            ]
            count = len(contexts)
            inputs = {
                "distance": rng.uniform(5, 60, count),
                "deceleration": rng.uniform(-6, 6, count),
                "action": log.chosen[part].astype(np.float64),
            }
            about = {"run": "m1", "decision_class": "topology", "episode": np.arange(part.start, part.stop) // 100}
            ledger.record_batch(roadsense.reward, inputs, context=contexts, **about)


def one_by_one(ledger: Ledger, limit: int) -> int:
    """Read records as one does without thinking of speed; return how many."""
    columns: list[tuple[object, ...]] = []
    for record in ledger.history(decision_class="topology"):
        decision = record.context["decision"]
        columns.append((decision["action"], decision["probability"], decision["x"], record.total))
        if len(columns) == limit:
            break
    np.array([column[2] for column in columns])
    return len(columns)


def timed(work: Callable[[], object]) -> float:
    return measure(work, rounds=3)[1]


def reading(path: Path, count: int) -> None:
    few = min(count, 50_000)
    with Ledger(path, read_only=True) as ledger:
        peer = timed(lambda: one_by_one(ledger, few)) / few
        read = timed(lambda: read_decisions(ledger, decision_class="topology")) / count
        policy = from_function(lambda contexts: np.full((len(contexts), 4), 0.25), ACTIONS)
        whole = timed(lambda: evaluate(ledger, policy, decision_class="topology", reward=roadsense.reward)) / count
    print(f"Reading {count:,} decisions of a ledger ({path.stat().st_size / 1e6:,.0f} MB)")
    rows: list[tuple[str, ...]] = [("what", "µs a decision", "against the first")]
    for name, each in (
        ("history, record by record", peer),
        ("read_decisions", read),
        ("evaluate: read, score again, four estimates", whole),
    ):
        rows.append((name, f"{each * 1e6:.2f}", f"{peer / each:.1f}x"))
    table(rows)


if __name__ == "__main__":
    main(size(1_000_000, quick=500))

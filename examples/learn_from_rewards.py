"""Train a bandit on a reward, and evaluate a policy that never ran from its log.

Run it: `python examples/learn_from_rewards.py`.
"""

import tempfile
from pathlib import Path

import numpy as np

from plaudit import Field, Ledger, Reward, learn, term
from plaudit.learn.off_policy import evaluate


@term
def quality(gain):
    """Quality of the answer."""
    return gain


@term(weight=-0.2, kind="penalty")
def price(cost):
    """Cost of the model."""
    return cost


answering = Reward(
    "answering",
    version="1",
    terms=[quality, price],
    fields=[Field("gain", low=0, high=1), Field("cost", low=0, high=1)],
)
MODELS = ("small", "large")
COST = {"small": 0.1, "large": 1.0}


def answer(model: str, difficulty: float, rng: np.random.Generator) -> dict[str, float]:
    """Simulate a model: the large one is worth its price only for difficult questions."""
    skill = 0.9 if model == "large" else 0.9 - 0.8 * difficulty
    return {"gain": float(np.clip(skill + rng.normal(0, 0.1), 0, 1)), "cost": COST[model]}


rng = np.random.default_rng(3)
bandit = learn.linucb(MODELS, ("difficulty",))
with tempfile.TemporaryDirectory() as folder, Ledger(Path(folder, "rewards.db")) as ledger:
    learner = learn.SharedLearner(ledger, bandit, decision_class="model", seed=3)
    paid = []
    for question in range(300):
        difficulty = rng.uniform()
        decision = learner.choose((difficulty,), id=f"question-{question}")
        signal = answering.score(**answer(decision.action, difficulty, rng))
        learner.credit(decision, signal)
        paid.append(signal.total)
    print(f"the first 100 answers earned {np.mean(paid[:100]):.3f} each, the last 100 {np.mean(paid[-100:]):.3f}")

    # What would "always large" have earned on the same questions? The log has the probability of each choice.
    always_large = lambda contexts: np.tile([0.0, 1.0], (len(contexts), 1))  # noqa: E731 - it is this short
    print(evaluate(ledger, always_large, decision_class="model", actions=MODELS, minimum_effective=20))

"""What an editor knows of the public face: mypy must reveal the type in each comment."""

from typing import reveal_type

import gymnasium

from plaudit import Field, Ledger, Reward, assert_reward_ok, bounds, check, prove, term
from plaudit.adapters.gymnasium import RewardWrapper


@term
def near(distance: float) -> float:
    """Be near."""
    return 1.0 if distance < 2 else 0.0


reward = Reward("reach", version="1", terms=[near], fields=[Field("distance", low=0)], shared={})

reveal_type(near)  # Term
reveal_type(reward.score(distance=1.0))  # Signal
reveal_type(reward.score(distance=1.0).total)  # float
reveal_type(reward.compile())  # PythonReward
reveal_type(reward.compile("python"))  # PythonReward
reveal_type(reward.compile("numpy"))  # NumpyReward
reveal_type(reward.compile("numba"))  # NumbaReward
reveal_type(reward.compile("jax", guard=False))  # JaxReward
reveal_type(reward.compile("torch", on_bad="mask"))  # TorchReward
reveal_type(reward.compile("sql", dialect="duckdb"))  # SqlReward
reveal_type(reward.compile("polars", keys=("episode", "step")))  # PolarsReward
reveal_type(reward.compile("c", real="float"))  # CReward
reveal_type(reward.compile("cuda", real="float"))  # CudaReward
reveal_type(reward.compile("javascript", on_bad="mask"))  # JavaScriptReward
reveal_type(reward.compile("numpy")({"distance": 1.0}))  # Scores
reveal_type(reward.with_weights(near=2.0))  # Reward
reveal_type(reward.evolve(version="2", terms=[*reward.terms, near], low=0.0))  # Reward
reveal_type(reward.evolve(version="2", terms={"near": None}, fields={"distance": Field("distance")}))  # Reward
reveal_type(Reward("grasp", version="1", terms=[near], fields=reward.fields))  # Reward
reveal_type(check(reward))  # Report
reveal_type(assert_reward_ok(reward))  # Report
reveal_type(prove(reward, reward))  # Proof
reveal_type(bounds(reward))  # Bounds


def record(ledger: Ledger) -> None:
    """Write and read a record."""
    reveal_type(ledger.record(reward.score(distance=1.0), run="night"))  # int
    reveal_type(ledger.history(run="night"))  # History
    reveal_type(next(iter(ledger.history())))  # Record


def features(obs: object, action: object, next_obs: object, info: object) -> dict[str, float]:
    """Return the inputs of the reward."""
    return {"distance": 0.0}


def wrap(env: gymnasium.Env[object, object], many: gymnasium.vector.VectorEnv[object, object, object]) -> None:
    """Pay one environment, and many."""
    reveal_type(RewardWrapper(env, reward, features))  # RewardWrapper
    reveal_type(RewardWrapper(many, reward, features, mode="add"))  # VectorRewardWrapper

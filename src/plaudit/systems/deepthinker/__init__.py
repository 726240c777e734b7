"""The reward of one phase of a research agent, with everything that went into it, and the loop that learns from it."""

from plaudit.systems.deepthinker.advisor import DECISIONS, PhaseAdvice, advise, guess_candidate, guess_tier
from plaudit.systems.deepthinker.config import RewardConfig
from plaudit.systems.deepthinker.drift import DriftConfig, DriftPoint, DriftState, cosine, observe
from plaudit.systems.deepthinker.features import CONTEXT, FEATURES, encode_context, encode_features
from plaudit.systems.deepthinker.loop import Loop, Mission, Plan, Step
from plaudit.systems.deepthinker.phase import Outcome, Phase
from plaudit.systems.deepthinker.reward_signal import VERSIONS, RewardSignal, episode, reward, tune_reward, version
from plaudit.systems.deepthinker.reward_store import RewardRecord, RewardStore
from plaudit.systems.deepthinker.reward_weights import RewardWeights

__all__ = [
    "CONTEXT",
    "DECISIONS",
    "FEATURES",
    "VERSIONS",
    "DriftConfig",
    "DriftPoint",
    "DriftState",
    "Loop",
    "Mission",
    "Outcome",
    "Phase",
    "PhaseAdvice",
    "Plan",
    "RewardConfig",
    "RewardRecord",
    "RewardSignal",
    "RewardStore",
    "RewardWeights",
    "Step",
    "advise",
    "cosine",
    "encode_context",
    "encode_features",
    "episode",
    "guess_candidate",
    "guess_tier",
    "observe",
    "reward",
    "tune_reward",
    "version",
]

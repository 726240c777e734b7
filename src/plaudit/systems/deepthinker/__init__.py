"""The reward of one phase of a research agent, with everything that went into it, and the loop that learns from it."""

from plaudit.systems.deepthinker.advisor import PhaseAdvice, advise, weighted_candidate, weighted_tier
from plaudit.systems.deepthinker.config import RewardConfig
from plaudit.systems.deepthinker.decisions import DECISIONS
from plaudit.systems.deepthinker.drift import DriftConfig, DriftPoint, DriftState, cosine, observe
from plaudit.systems.deepthinker.features import CONTEXT, FEATURES
from plaudit.systems.deepthinker.loop import Loop, Mission, Plan, Step
from plaudit.systems.deepthinker.phase import Outcome, Phase
from plaudit.systems.deepthinker.reward_signal import RewardSignal, episode, reward, tuned
from plaudit.systems.deepthinker.reward_store import RewardRecord, RewardStore
from plaudit.systems.deepthinker.reward_weights import RewardWeights
from plaudit.systems.deepthinker.versions import VERSIONS, version

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
    "episode",
    "observe",
    "reward",
    "tuned",
    "version",
    "weighted_candidate",
    "weighted_tier",
]

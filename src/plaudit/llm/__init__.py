"""Rewards for language models: features of text, judges and groups, and one scorer under all adapters."""

from plaudit.llm.feature import Answer, Feature, feature
from plaudit.llm.groups import FeatureChange, GroupChanges, RolloutChanges, TermChange
from plaudit.llm.rescoring import rescore_rollouts
from plaudit.llm.rollouts import Rollout, read_rollouts
from plaudit.llm.sample import Sample, text_of
from plaudit.llm.scored import Scored
from plaudit.llm.scoring import Scoring
from plaudit.llm.stress import StressReport, stress

__all__ = [
    "Answer",
    "Feature",
    "FeatureChange",
    "GroupChanges",
    "Rollout",
    "RolloutChanges",
    "Sample",
    "Scored",
    "Scoring",
    "StressReport",
    "TermChange",
    "feature",
    "read_rollouts",
    "rescore_rollouts",
    "stress",
    "text_of",
]

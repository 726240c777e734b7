"""Rewards for language models: features of text, judges and groups, and one scorer under all adapters."""

from plaudit.llm.feature import Answer, Feature, feature
from plaudit.llm.sample import Sample, text_of
from plaudit.llm.scoring import Scored, Scoring

__all__ = ["Answer", "Feature", "Sample", "Scored", "Scoring", "feature", "text_of"]

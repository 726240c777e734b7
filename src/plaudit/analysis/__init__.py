"""Analysis: what two versions of a reward are, and what they do to the steps that were recorded."""

from plaudit.analysis.definitions import DefinitionChanges
from plaudit.analysis.diff import Diff, diff
from plaudit.analysis.effect import Effect

__all__ = ["DefinitionChanges", "Diff", "Effect", "diff"]

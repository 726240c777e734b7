"""What really happened: the definition of a reward and its history joined, in the form of findings."""

from plaudit.analysis.audit.audit import audit
from plaudit.analysis.audit.thresholds import Thresholds

__all__ = ["Thresholds", "audit"]

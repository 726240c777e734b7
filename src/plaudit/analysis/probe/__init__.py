"""Playing dull and simple policies in an environment that a reward pays: what earns most, and is it what is wanted."""

from plaudit.analysis.probe.probe import probe
from plaudit.analysis.probe.result import PolicyOutcome, Probe

__all__ = ["PolicyOutcome", "Probe", "probe"]

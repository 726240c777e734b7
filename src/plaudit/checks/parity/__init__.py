"""Whether a program in any language computes the same reward, found out by asking it."""

from plaudit.checks.parity.adapters import Command, Function
from plaudit.checks.parity.answers import Answer, Mismatch, ParityReport
from plaudit.checks.parity.compare import parity
from plaudit.checks.parity.recorded import Recorded

__all__ = ["Answer", "Command", "Function", "Mismatch", "ParityReport", "Recorded", "parity"]

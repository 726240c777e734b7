"""Test whether another implementation, in any language, computes the same reward."""

from plaudit.checks.parity.adapters import Command, Function
from plaudit.checks.parity.answers import Answer, Mismatch, ParityReport
from plaudit.checks.parity.compare import parity
from plaudit.checks.parity.recorded import Recorded

__all__ = ["Answer", "Command", "Function", "Mismatch", "ParityReport", "Recorded", "parity"]

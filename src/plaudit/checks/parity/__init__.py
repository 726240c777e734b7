"""Whether a program in any language computes the same reward, found out by asking it."""

from plaudit.checks.parity.answer import Answer
from plaudit.checks.parity.command import Command
from plaudit.checks.parity.compare import parity
from plaudit.checks.parity.function import Function
from plaudit.checks.parity.recorded import Recorded
from plaudit.checks.parity.report import Mismatch, ParityReport

__all__ = ["Answer", "Command", "Function", "Mismatch", "ParityReport", "Recorded", "parity"]

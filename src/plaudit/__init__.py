"""plaudit: write a reward as plain Python functions, run it anywhere, know why it was what it was."""

import typing

from plaudit.checks.bounds import Bound, Bounds, bounds
from plaudit.checks.check import assert_reward_ok, check
from plaudit.checks.finding import Finding, Incentive
from plaudit.checks.prove import Difference, Proof, prove
from plaudit.checks.report import Report
from plaudit.errors import (
    DefinitionError,
    FileError,
    InputError,
    KeyConflict,
    LedgerBusy,
    LedgerError,
    MissingExtra,
    NotEvaluable,
    NotInLedger,
    OutOfRange,
    PlauditError,
    ReadError,
    SpecError,
    TargetError,
    VersionConflict,
)
from plaudit.language.field import Field
from plaudit.language.program import sign
from plaudit.reward.declared import Fact, fact
from plaudit.reward.reward import Reward
from plaudit.reward.signal import Signal, TermScore
from plaudit.reward.state import State
from plaudit.reward.task.preference import Preference, prefer
from plaudit.reward.task.statements import End, Event, Rate, Seen
from plaudit.reward.task.task import Task
from plaudit.reward.term import Term, term
from plaudit.targets.compiled import Scores

if typing.TYPE_CHECKING:
    from plaudit.checks.incentives import incentives
    from plaudit.ledger.ledger import Ledger
    from plaudit.ledger.record import Entry, Record
    from plaudit.ledger.storage.buffer import Receipt

__version__ = "0.2.0.dev0"

__all__ = [
    "Bound",
    "Bounds",
    "DefinitionError",
    "Difference",
    "End",
    "Entry",
    "Event",
    "Fact",
    "Field",
    "FileError",
    "Finding",
    "Incentive",
    "InputError",
    "KeyConflict",
    "Ledger",
    "LedgerBusy",
    "LedgerError",
    "MissingExtra",
    "NotEvaluable",
    "NotInLedger",
    "OutOfRange",
    "PlauditError",
    "Preference",
    "Proof",
    "Rate",
    "ReadError",
    "Receipt",
    "Record",
    "Report",
    "Reward",
    "Scores",
    "Seen",
    "Signal",
    "SpecError",
    "State",
    "TargetError",
    "Task",
    "Term",
    "TermScore",
    "VersionConflict",
    "__version__",
    "assert_reward_ok",
    "bounds",
    "check",
    "fact",
    "incentives",
    "prefer",
    "prove",
    "sign",
    "term",
]

_LATER = {
    "Entry": "ledger.record",
    "Ledger": "ledger.ledger",
    "Receipt": "ledger.storage.buffer",
    "Record": "ledger.record",
    "incentives": "checks.incentives",
}
"""What is imported when it is first asked for: a ledger needs libraries that rewards do not, and rules take time."""


def __getattr__(name: str) -> typing.Any:
    """Import the ledger, and what reads the rules, when it is first asked for."""
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"plaudit.{_LATER[name]}"), name)


def __dir__() -> list[str]:
    """Return the public names, those of the ledger too."""
    return [*__all__, *(name for name in globals() if name.startswith("__"))]

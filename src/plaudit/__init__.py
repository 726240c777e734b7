"""plaudit: write a reward as plain Python functions, run it anywhere, know why it was what it was."""

import typing

from plaudit.checks.bounds import Bound, Bounds, bounds
from plaudit.checks.check import check
from plaudit.checks.finding import Finding, Report
from plaudit.checks.gate import assert_reward_ok
from plaudit.checks.prove import Difference, Proof, prove
from plaudit.errors import (
    DefinitionError,
    DuplicateName,
    FileError,
    InputError,
    KeyConflict,
    LedgerBroken,
    LedgerBusy,
    LedgerError,
    LedgerTooNew,
    MessageRefused,
    MissingExtra,
    MissingField,
    NotEvaluable,
    NotFinite,
    NotInLedger,
    OutOfRange,
    OutsideDomain,
    PlauditError,
    ProbeTimeout,
    ReadError,
    ShapeMismatch,
    SimulatorError,
    SpecError,
    SwitchInFlight,
    SwitchNotPrepared,
    TargetError,
    UnknownCategory,
    UnknownField,
    UnknownInput,
    UnknownParameter,
    UnsupportedNode,
    UnusedField,
    VersionConflict,
    WrongType,
)
from plaudit.language.field import Field
from plaudit.reward.fact import Fact, fact
from plaudit.reward.prefer import Preference, prefer
from plaudit.reward.reward import Reward
from plaudit.reward.signal import Signal, TermScore
from plaudit.reward.term import Term, term
from plaudit.targets.scores import Scores

if typing.TYPE_CHECKING:
    from plaudit.ledger.record import Entry, Record
    from plaudit.ledger.store import Ledger
    from plaudit.ledger.writer import Receipt

__all__ = [
    "Bound",
    "Bounds",
    "DefinitionError",
    "Difference",
    "DuplicateName",
    "Entry",
    "Fact",
    "Field",
    "FileError",
    "Finding",
    "InputError",
    "KeyConflict",
    "Ledger",
    "LedgerBroken",
    "LedgerBusy",
    "LedgerError",
    "LedgerTooNew",
    "MessageRefused",
    "MissingExtra",
    "MissingField",
    "NotEvaluable",
    "NotFinite",
    "NotInLedger",
    "OutOfRange",
    "OutsideDomain",
    "PlauditError",
    "Preference",
    "ProbeTimeout",
    "Proof",
    "ReadError",
    "Receipt",
    "Record",
    "Report",
    "Reward",
    "Scores",
    "ShapeMismatch",
    "Signal",
    "SimulatorError",
    "SpecError",
    "SwitchInFlight",
    "SwitchNotPrepared",
    "TargetError",
    "Term",
    "TermScore",
    "UnknownCategory",
    "UnknownField",
    "UnknownInput",
    "UnknownParameter",
    "UnsupportedNode",
    "UnusedField",
    "VersionConflict",
    "WrongType",
    "assert_reward_ok",
    "bounds",
    "check",
    "fact",
    "prefer",
    "prove",
    "term",
]

_LEDGER = {"Entry": "record", "Ledger": "store", "Receipt": "writer", "Record": "record"}
"""What is imported when it is first asked for: a ledger needs libraries that rewards do not."""


def __getattr__(name: str) -> typing.Any:
    """Import the ledger when it is first asked for."""
    if name not in _LEDGER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"plaudit.ledger.{_LEDGER[name]}"), name)


def __dir__() -> list[str]:
    """Return the public names, those of the ledger too."""
    return [*__all__, *(name for name in globals() if name.startswith("__"))]

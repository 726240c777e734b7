"""plaudit: write a reward as plain Python functions, run it anywhere, know why it was what it was."""

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
    MissingExtra,
    MissingField,
    NotFinite,
    OutOfRange,
    OutsideDomain,
    PlauditError,
    ReadError,
    ShapeMismatch,
    SpecError,
    TargetError,
    UnknownCategory,
    UnknownField,
    UnknownInput,
    UnknownParameter,
    UnsupportedNode,
    UnusedField,
    WrongType,
)
from plaudit.language.field import Field
from plaudit.reward.fact import Fact, fact
from plaudit.reward.prefer import Preference, prefer
from plaudit.reward.reward import Reward
from plaudit.reward.signal import Signal, TermScore
from plaudit.reward.term import Term, term
from plaudit.targets.scores import Scores

__all__ = [
    "Bound",
    "Bounds",
    "DefinitionError",
    "Difference",
    "DuplicateName",
    "Fact",
    "Field",
    "FileError",
    "Finding",
    "InputError",
    "MissingExtra",
    "MissingField",
    "NotFinite",
    "OutOfRange",
    "OutsideDomain",
    "PlauditError",
    "Preference",
    "Proof",
    "ReadError",
    "Report",
    "Reward",
    "Scores",
    "ShapeMismatch",
    "Signal",
    "SpecError",
    "TargetError",
    "Term",
    "TermScore",
    "UnknownCategory",
    "UnknownField",
    "UnknownInput",
    "UnknownParameter",
    "UnsupportedNode",
    "UnusedField",
    "WrongType",
    "assert_reward_ok",
    "bounds",
    "check",
    "fact",
    "prefer",
    "prove",
    "term",
]

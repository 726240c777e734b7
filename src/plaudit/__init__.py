"""plaudit: write a reward as plain Python functions, run it anywhere, know why it was what it was."""

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
from plaudit.reward.reward import Reward
from plaudit.reward.signal import Signal, TermScore
from plaudit.reward.term import Term, term
from plaudit.targets.scores import Scores

__all__ = [
    "DefinitionError",
    "DuplicateName",
    "Field",
    "FileError",
    "InputError",
    "MissingExtra",
    "MissingField",
    "NotFinite",
    "OutOfRange",
    "OutsideDomain",
    "PlauditError",
    "ReadError",
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
    "term",
]

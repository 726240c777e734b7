"""Every error of the core; each system defines its own. Each error also subclasses the builtin that you would catch.

PlauditError
├── DefinitionError (ValueError)      a term, field or reward is invalid
│   ├── ReadError                     a function uses something outside the language: file, line, caret, advice
│   ├── UnknownField                  a term reads a field that the reward does not declare
│   ├── UnusedField                   no term reads a declared field
│   ├── DuplicateName                 two terms or two fields share a name
│   └── UnknownParameter              an override names a term, knob, weight or clamp that does not exist
├── InputError (ValueError)           one row, or one row of a batch, cannot be scored
│   ├── MissingField                  an input is missing
│   ├── UnknownInput                  the reward does not read this input
│   ├── WrongType (TypeError)         an input has the wrong type, such as a string for a number
│   ├── NotFinite                     an input is NaN, or infinite where infinity is not allowed
│   ├── OutOfRange                    a number is outside its declared range, or a row breaks a fact that is tested
│   ├── UnknownCategory               a string is not one of the declared categories
│   ├── OutsideDomain (ArithmeticError)  a term divides by zero, takes the logarithm of a negative number, …
│   ├── ShapeMismatch                 the columns of a batch have different lengths
│   ├── BrokenEpisode                 steps are missing or out of order, and a state is carried between them
│   ├── Abstained                     a feature gives no reward to a sample
│   ├── FeatureTimeout (TimeoutError)  a feature took longer than `timeout` for a sample
│   └── TooManyMasked                 more samples than `max_masked` could not be scored
├── TargetError                       a reward cannot be compiled for a target
│   ├── MissingExtra (ImportError)    the target needs a library that is not installed
│   └── UnsupportedNode (NotImplementedError)  the target cannot express an operation
├── SpecError (ValueError)            a JSON specification cannot be loaded
├── NotEvaluable (ValueError)         a log of decisions cannot support an estimate for another policy
├── EnvironmentFailed (RuntimeError)  an environment raised an error while it was probed
├── FileError (OSError)               a file cannot be read or written
│   └── UnusableFile                  a data file has the wrong content, or its disk is full
└── LedgerError (RuntimeError)        a ledger cannot do what was asked
    ├── KeyConflict (ValueError)      another record already has this key
    ├── VersionConflict (ValueError)  another formula already has this version label
    ├── ActorInUse (ValueError)       another live writer records as the same actor of the same run
    ├── NotInLedger (LookupError)     the ledger has no such record, reward or job
    ├── LedgerBusy (TimeoutError)     another process holds the ledger, or its server does not answer
    │   └── CommitUnknown             the connection was lost during a commit: the write is there, or it is not
    ├── LedgerBroken (OSError)        the disk or a foreign constraint refused a write, or the file is damaged
    └── LedgerTooNew                  a newer plaudit wrote the ledger
"""

import os
from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice
from pathlib import Path

from plaudit.terminal import escape_controls


class PlauditError(Exception):
    """The base class of every error that plaudit raises."""

    def __str__(self) -> str:
        """Return the message; what it quotes from a file or a caller cannot steer a terminal."""
        return escape_controls(super().__str__())


class DefinitionError(PlauditError, ValueError):
    """A term, field or reward is invalid."""


class ReadError(DefinitionError):
    """A function uses something outside the language of terms; the message shows the line and what to write."""


class UnknownField(DefinitionError):
    """A term reads a field that the reward does not declare."""


class UnusedField(DefinitionError):
    """No term reads a field that the reward declares."""


class DuplicateName(DefinitionError):
    """Two terms, or two fields, share a name."""


class UnknownParameter(DefinitionError):
    """An override names a term, knob, weight or clamp that the reward does not have."""


class InputError(PlauditError, ValueError):
    """A row cannot be scored."""


class MissingField(InputError):
    """An input that the reward needs is missing."""


class UnknownInput(InputError):
    """The reward does not read this input."""


class WrongType(InputError, TypeError):
    """An input has the wrong type for its field."""


class NotFinite(InputError):
    """An input is NaN, or infinite where infinity is not allowed."""


class OutOfRange(InputError):
    """An input is outside its declared range, or a row breaks a fact that is tested."""


class UnknownCategory(InputError):
    """An input is not one of the declared categories of its field."""


class OutsideDomain(InputError, ArithmeticError):
    """A term divides by zero, takes the logarithm of a negative number, or similar."""


class ShapeMismatch(InputError):
    """The columns of a batch have different lengths."""


class BrokenEpisode(InputError):
    """Steps of an episode are missing or out of order, and the reward carries a state between them."""


class Abstained(InputError):
    """A feature gives no reward to a sample: raise it with the reason."""


class FeatureTimeout(InputError, TimeoutError):
    """A feature took longer than `timeout` for a sample."""


class TooManyMasked(InputError):
    """With `on_bad="mask"`, more samples than `max_masked` could not be scored."""


class SpecError(PlauditError, ValueError):
    """A JSON specification cannot be loaded."""


class NotEvaluable(PlauditError, ValueError):
    """A log of decisions cannot support an estimate of what another policy would have earned."""


class EnvironmentFailed(PlauditError, RuntimeError):
    """An environment raised an error while it was probed or observed."""


class FileError(PlauditError, OSError):
    """A file cannot be read or written."""


class UnusableFile(FileError):
    """A data file has the wrong content, or its disk is full."""


class LedgerError(PlauditError, RuntimeError):
    """A ledger cannot do what was asked."""


class KeyConflict(LedgerError, ValueError):
    """Another record, with different content, already has this key."""


class VersionConflict(LedgerError, ValueError):
    """Another formula already has this version label."""


class ActorInUse(LedgerError, ValueError):
    """Another live writer records as the same actor of the same run."""


class NotInLedger(LedgerError, LookupError):
    """The ledger has no such record, reward or job."""


class LedgerBusy(LedgerError, TimeoutError):
    """Another process holds the ledger, or its server does not answer."""


class CommitUnknown(LedgerBusy):
    """The connection to the server was lost during a commit: the write is there, whole, or not at all."""


class LedgerBroken(LedgerError, OSError):
    """The disk or a foreign constraint refused a write, or the file is damaged. Acknowledged records are safe."""


class LedgerTooNew(LedgerError):
    """A newer plaudit wrote the ledger."""


class TargetError(PlauditError):
    """A reward cannot be compiled for a target."""


class MissingExtra(TargetError, ImportError):
    """A library that is needed is not installed; the message says how to install it."""


class UnsupportedNode(TargetError, NotImplementedError):
    """A target cannot express an operation that the reward uses."""


_MOST_NAMES = 1000
"""The most names to compare a misspelled name with, to stay fast on files with many columns."""
_LONGEST_NAME = 200


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return " Did you mean 'x'?" when a known name is close to `name`, else an empty string.

    A field before and after a step is close to the plain field, however short its name is.

    >>> did_you_mean("distnce", ["distance", "action"])
    " Did you mean 'distance'?"
    >>> did_you_mean("x", ["prev.x", "curr.x", "y"])
    " Did you mean 'prev.x' or 'curr.x'?"
    """
    names = list(islice(known, _MOST_NAMES))
    columns = {*names, *(each.partition("[")[0] for each in names)}
    plain = name.removeprefix("prev.").removeprefix("curr.")
    wanted = (f"prev.{plain}", f"curr.{plain}") if name == plain else (plain,)
    close = [each for each in wanted if each in columns]
    if not close:
        nearest = find_nearest(name, (each for each in names if each not in (f"prev.{plain}", f"curr.{plain}")))
        close = [] if nearest is None else [nearest]
    return f" Did you mean {' or '.join(map(repr, close))}?" if close else ""


def find_nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is closest to a misspelled one, or None.

    >>> find_nearest("nigth-3", ["night-3", "day-3"])
    'night-3'
    """
    if len(name) > _LONGEST_NAME:
        return None
    close = get_close_matches(name, islice((each for each in known if len(each) <= _LONGEST_NAME), _MOST_NAMES), n=1)
    return close[0] if close else None


def explain_unreadable(path: Path, error: Exception) -> FileError:
    """Return the error for a file that cannot be read; it suggests a file with a similar name."""
    if isinstance(error, FileNotFoundError):
        return FileError(f"{path} does not exist.{did_you_mean(path.name, _list_names(path.parent))}")
    if path.is_dir():
        return FileError(f"{path} is a directory; name a file in it.")
    reason = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)
    return FileError(f"{path} cannot be read: {reason.splitlines()[0] if reason else repr(error)}")


def _list_names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def shorten(value: object, length: int = 60) -> str:
    """Return the beginning of a value's `repr` for a message, or its type where that fails, as with 5,000 digits.

    >>> shorten("a string"), shorten(10**5000)
    ("'a string'", '<int>')
    """
    try:
        text = repr(value)
    except Exception:  # anything at all: the value is somebody else's
        return f"<{type(value).__name__}>"
    return text if len(text) <= length else f"{text[:length]}…"

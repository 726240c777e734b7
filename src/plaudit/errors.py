"""Every error of the core; those of a system are in that system. Each also subclasses the builtin a caller would catch.

PlauditError
├── DefinitionError (ValueError)      a term, field or reward is not what it should be
│   ├── ReadError                     the function leaves the language: file, line, caret, what to do
│   ├── UnknownField                  a term reads a field the reward does not declare
│   ├── UnusedField                   a declared field that no term reads
│   ├── DuplicateName                 two terms or two fields share a name
│   └── UnknownParameter              an override names no term, knob, weight or clamp
├── InputError (ValueError)           one row, or one row of a batch, cannot be scored
│   ├── MissingField                  a needed input was not given
│   ├── UnknownInput                  an input was given that the reward does not read
│   ├── WrongType (TypeError)         a string where a number is needed, and the like
│   ├── NotFinite                     NaN, or an infinity where none is allowed
│   ├── OutOfRange                    a number outside its declared range, or a row that breaks a fact
│   ├── UnknownCategory               a string that is not among the declared values
│   ├── OutsideDomain (ArithmeticError)  a division by zero, a logarithm of a negative number …
│   ├── ShapeMismatch                 columns of different lengths
│   ├── BrokenEpisode                 steps are missing or out of order where a state is carried from each to the next
│   └── TooManyMasked                 more samples could not be scored than `max_masked` allows
├── TargetError                       a reward that cannot be compiled for a target
│   ├── MissingExtra (ImportError)    the target's library is not installed
│   └── UnsupportedNode (NotImplementedError)  the target cannot express an operation
├── SpecError (ValueError)            a JSON specification that cannot be loaded
├── NotEvaluable (ValueError)         a log of decisions that can carry no estimate for another policy
├── EnvironmentFailed (RuntimeError)  an environment raised an error while it was probed
├── FileError (OSError)               a file that cannot be read or written
│   └── UnusableFile                  what a file of data holds is not what is needed, or its disk is full
└── LedgerError (RuntimeError)        a ledger that cannot do what was asked
    ├── KeyConflict (ValueError)      a key that is taken by another record
    ├── VersionConflict (ValueError)  a version label that is tied to another formula
    ├── ActorInUse (ValueError)       an actor of a run that another live writer records as
    ├── NotInLedger (LookupError)     a record, reward or job that is not there
    ├── LedgerBusy (TimeoutError)     another process holds the ledger, or its server does not answer
    │   └── CommitUnknown             the server was lost in a commit: the write is there, or not
    ├── LedgerBroken (OSError)        the disk or a foreign constraint refused a write, or the file is damaged
    └── LedgerTooNew                  the ledger was written by a newer plaudit
"""

import os
from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice
from pathlib import Path

from plaudit.terminal import escape_controls


class PlauditError(Exception):
    """The root of every error plaudit raises."""

    def __str__(self) -> str:
        """Return the message; what it quotes from a file or a caller cannot steer a terminal."""
        return escape_controls(super().__str__())


class DefinitionError(PlauditError, ValueError):
    """A term, field or reward is not what it should be."""


class ReadError(DefinitionError):
    """A function leaves the language that plaudit reads."""


class UnknownField(DefinitionError):
    """A term reads a field that the reward does not declare."""


class UnusedField(DefinitionError):
    """A reward declares a field that no term reads."""


class DuplicateName(DefinitionError):
    """Two terms, or two fields, share a name."""


class UnknownParameter(DefinitionError):
    """An override names no term, knob, weight or clamp of the reward."""


class InputError(PlauditError, ValueError):
    """A row cannot be scored."""


class MissingField(InputError):
    """An input that the reward needs was not given."""


class UnknownInput(InputError):
    """An input was given that the reward does not read."""


class WrongType(InputError, TypeError):
    """An input is not of its field's kind."""


class NotFinite(InputError):
    """An input is NaN, or infinite where that is not allowed."""


class OutOfRange(InputError):
    """An input lies outside its field's declared range, or a row breaks a fact that it was to be tested against."""


class UnknownCategory(InputError):
    """An input is not one of its field's declared values."""


class OutsideDomain(InputError, ArithmeticError):
    """A term divides by zero, takes the logarithm of a negative number, or the like."""


class ShapeMismatch(InputError):
    """The columns of a batch differ in length."""


class BrokenEpisode(InputError):
    """Steps of an episode are missing or out of order, where a reward carries a state from each to the next."""


class TooManyMasked(InputError):
    """With `on_bad="mask"`, more samples could not be scored than `max_masked` allows."""


class SpecError(PlauditError, ValueError):
    """A JSON specification cannot be loaded."""


class NotEvaluable(PlauditError, ValueError):
    """A log of decisions can carry no estimate of what another policy would have earned."""


class EnvironmentFailed(PlauditError, RuntimeError):
    """An environment raised an error while it was probed."""


class FileError(PlauditError, OSError):
    """A file cannot be read or written."""


class UnusableFile(FileError):
    """A file of data holds something else than is needed, or its disk is full: another name for it would not help."""


class LedgerError(PlauditError, RuntimeError):
    """A ledger cannot do what was asked."""


class KeyConflict(LedgerError, ValueError):
    """A key is taken by a record with another content."""


class VersionConflict(LedgerError, ValueError):
    """A version label is tied to another formula."""


class ActorInUse(LedgerError, ValueError):
    """Another live writer records as the same actor of the same run."""


class NotInLedger(LedgerError, LookupError):
    """A record, reward or job is not in the ledger."""


class LedgerBusy(LedgerError, TimeoutError):
    """Another process holds the ledger, or its server does not answer."""


class CommitUnknown(LedgerBusy):
    """The server was lost while it committed: what was written is there, whole, or not at all."""


class LedgerBroken(LedgerError, OSError):
    """The disk or a foreign constraint refused a write, or the file is damaged; what was acknowledged is safe."""


class LedgerTooNew(LedgerError):
    """The ledger was written by a newer plaudit."""


class TargetError(PlauditError):
    """A reward cannot be compiled for a target."""


class MissingExtra(TargetError, ImportError):
    """The library that a target needs is not installed."""


class UnsupportedNode(TargetError, NotImplementedError):
    """A target cannot express an operation that the reward uses."""


_MOST_NAMES = 1000
"""Names to compare a misspelt one with: a file may have more columns than anybody waits for."""
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
    """Return the known name that is closest to a misspelt one, or None where none is close.

    >>> find_nearest("nigth-3", ["night-3", "day-3"])
    'night-3'
    """
    if len(name) > _LONGEST_NAME:
        return None
    close = get_close_matches(name, islice((each for each in known if len(each) <= _LONGEST_NAME), _MOST_NAMES), n=1)
    return close[0] if close else None


def explain_unreadable(path: Path, error: Exception) -> FileError:
    """Return the error for a file that cannot be read; it names a file that is called nearly the same."""
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

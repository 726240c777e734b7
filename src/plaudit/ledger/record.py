"""One record: a signal, and where in a run it belongs."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from plaudit.errors import InputError, WrongType
from plaudit.reward.signal import Signal

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LARGEST = 2**63 - 1
_TIMES = range(-62_135_596_800_000_000, 253_402_300_800_000_000)
"""The moments that a datetime in UTC can be: the years 1 to 9999."""


class Scope(NamedTuple):
    """What many records share: the run (or mission), its phase, the class of decision and who acted."""

    run: str | None = None
    phase: str | None = None
    decision_class: str | None = None
    actor: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A signal to be recorded with others, and its context: what `Ledger.record` takes."""

    signal: Signal = field(kw_only=False)
    key: str | None = None
    run: str | None = None
    episode: str | int | None = None
    step: int | None = None
    phase: str | None = None
    decision_class: str | None = None
    actor: str | None = None
    context: Any = None
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Record:
    """A recorded signal with its context. `at` is the time by its writer's clock, in UTC."""

    id: int
    key: str | None
    signal: Signal
    at: datetime
    run: str | None
    episode: str | None
    step: int | None
    phase: str | None
    decision_class: str | None
    actor: str | None
    context: Any
    target: str
    """What computed it: `python`, or `numpy` for a batch."""
    writer: int
    seq: int
    """The place of its block among those of its writer, whatever the clock said."""
    origin: int | None
    """The record it re-scores, if any."""
    job: int | None
    """The re-scoring it belongs to, if any."""

    @property
    def total(self) -> float:
        """The reward of the step."""
        return self.signal.total

    def to_dict(self) -> dict[str, Any]:
        """Return the record as plain data for JSON."""
        plain = {name: getattr(self, name) for name in self.__slots__}
        return {**plain, "signal": self.signal.to_dict(), "at": self.at.isoformat().replace("+00:00", "Z")}


def text(name: str, value: object) -> str | None:
    """Return a text of a record's context; InputError if no database could keep it."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise WrongType(f"{name}={value!r:.60} must be a text.")
    if not value:
        raise InputError(f"{name}='' is empty; leave it out instead.")
    if "\0" in value:
        raise InputError(f"{name}={value!r:.60} holds a NUL character, which databases refuse in a text.")
    try:
        return value.encode().decode()  # a plain text, also of a member of an enumeration
    except UnicodeEncodeError:
        raise InputError(f"{name}={value!r:.60} holds half a character (a lone surrogate): no valid text.") from None


def whole(name: str, value: object) -> int | None:
    """Return a whole number of a record's context."""
    if value is None or (type(value) is int and -_LARGEST <= value <= _LARGEST):
        return value
    if hasattr(value, "item"):
        value = value.item()  # a NumPy number
    if isinstance(value, bool) or not isinstance(value, int):
        raise WrongType(f"{name}={value!r:.60} must be a whole number.")
    if not -_LARGEST <= value <= _LARGEST:
        raise InputError(f"{name}={value:.3e} does not fit into 64 bits.")
    return int(value)


def episode_text(value: object) -> str | None:
    """Return an episode, a text or a whole number, as text."""
    if value is None or isinstance(value, str):
        return text("episode", value)
    return str(whole("episode", value))


def microseconds(moment: datetime) -> int:
    """Return a moment as microseconds since 1970, UTC; without a time zone it is local time."""
    if not isinstance(moment, datetime):
        raise WrongType(f"{moment!r:.60} is not a datetime.")
    if hasattr(moment, "to_pydatetime"):  # of pandas
        moment = moment.to_pydatetime(warn=False)
    try:
        since = (moment if moment.tzinfo else moment.astimezone()) - _EPOCH
    except (ValueError, OverflowError):  # the local time of a year before the first
        raise InputError(f"{moment} is too far away to be a moment in UTC.") from None
    at = since // timedelta(microseconds=1)
    if at not in _TIMES:
        raise InputError(f"{moment} is too far away to be a moment in UTC.")
    return at


def moment(at: int) -> datetime:
    """Return microseconds since 1970 as a moment in UTC."""
    return _EPOCH + timedelta(microseconds=at)

"""The context of a record: where in a run it belongs, and what of that a database can keep."""

import json
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, NamedTuple

from plaudit.errors import InputError, WrongType, shorten
from plaudit.ledger.jsonl import LONGEST_LINE, dump_plain

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LARGEST = 2**63 - 1
_LONGEST = 1 << 20
"""Characters of a string at most."""
_TIMES = range(-62_135_596_800_000_000, 253_402_300_800_000_000)
"""The moments that a datetime in UTC can be: the years 1 to 9999."""


class Scope(NamedTuple):
    """What many records share: the run (or mission), its phase, the class of decision, who acted, and the rate."""

    run: str | None = None
    phase: str | None = None
    decision_class: str | None = None
    actor: str | None = None
    sample_rate: float | None = None
    """With which probability an episode was recorded; None where all were."""

    def list_given(self) -> tuple[str | float | None, ...]:
        """Return the parts that checksums cover: the rate only where there is one."""
        return self[:4] if self.sample_rate is None else self


NAMES = Scope._fields[:4]
"""The parts of a scope that records are chosen and grouped by."""


@lru_cache(65_536)
def validate_scope(
    run: object, phase: object, decision_class: object, actor: object, sample_rate: object = None
) -> Scope:
    """Return the scope of a record; InputError if no database could keep it, TypeError where a part has no hash."""
    parts = (run, phase, decision_class, actor)
    named = (validate_string(name, part) for name, part in zip(NAMES, parts, strict=True))
    return Scope._make((*named, validate_rate(sample_rate)))


def validate_rate(value: object) -> float | None:
    """Return the probability with which an episode is recorded; None where all are."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise WrongType(f"sample rate {shorten(value)} is not a number; give the share of episodes, such as 0.01.")
    if not 0 < value <= 1:
        raise InputError(f"sample rate {value} is out of range; give a share of episodes above 0 and at most 1.")
    return None if value == 1 else float(value)


def validate_string(name: str, value: object) -> str | None:
    """Return a string of a record's context; InputError if no database could keep it."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise WrongType(f"{name}={shorten(value)} must be a string.")
    if not value:
        raise InputError(f"{name}='' is empty; leave it out instead.")
    if len(value) > _LONGEST:
        raise InputError(f"{name}={shorten(value)} has {len(value):,} characters; put longer text into context=.")
    if "\0" in value:
        raise InputError(f"{name}={shorten(value)} holds a NUL character, which databases refuse in a string.")
    try:
        return value.encode().decode()  # a plain string, also of a member of an enumeration
    except UnicodeEncodeError:
        raise InputError(f"{name}={shorten(value)} holds half a character (a lone surrogate).") from None


def validate_integer(name: str, value: object) -> int | None:
    """Return an integer of a record's context; InputError if it does not fit into 64 bits."""
    if value is None or (type(value) is int and -_LARGEST <= value <= _LARGEST):
        return value
    if getattr(value, "size", None) == 1 and hasattr(value, "item"):
        value = value.item()  # a NumPy number
    if isinstance(value, bool) or not isinstance(value, int):
        raise WrongType(f"{name}={shorten(value)} must be an integer.")
    if not -_LARGEST <= value <= _LARGEST:
        raise InputError(f"{name}={shorten(value)} does not fit into 64 bits.")
    return int(value)


def validate_episode(value: object) -> str | None:
    """Return an episode, a string or an integer, as a string."""
    if value is None or isinstance(value, str):
        return validate_string("episode", value)
    return str(validate_integer("episode", value))


def encode_context(value: Any) -> str:
    """Return any value as JSON without spaces; InputError where a ledger could not keep that.

    >>> encode_context({"arm": 2, "features": [0.5, 1.0]})
    '{"arm":2,"features":[0.5,1.0]}'
    """
    text = dump_plain(value, "context", (",", ":"))
    if len(text) > LONGEST_LINE // 2:  # a record with it must fit into a line of an export
        raise InputError(
            f"context is longer than {LONGEST_LINE >> 21} MiB as JSON; keep it in a file and record the file's name."
        )
    if "\\ud" in text:
        try:
            json.dumps(json.loads(text), ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise InputError("context holds half a character (a lone surrogate), which PostgreSQL refuses.") from None
    return text


def to_microseconds(moment: datetime) -> int:
    """Return a moment as microseconds since 1970, UTC; without a time zone it is local time."""
    if not isinstance(moment, datetime):
        raise WrongType(f"{shorten(moment)} is not a datetime.")
    if hasattr(moment, "to_pydatetime"):  # of pandas
        moment = moment.to_pydatetime(warn=False)
    try:
        since = (moment if moment.tzinfo else moment.astimezone()) - _EPOCH
    except (ValueError, OverflowError):  # the local time of a year before the first
        raise InputError(f"{moment} is outside the range of UTC times.") from None
    at = since // timedelta(microseconds=1)
    if at not in _TIMES:
        raise InputError(f"{moment} is outside the range of UTC times.")
    return at


def to_datetime(at: int) -> datetime:
    """Return microseconds since 1970 as a moment in UTC."""
    return _EPOCH + timedelta(microseconds=at)

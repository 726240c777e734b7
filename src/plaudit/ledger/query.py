"""Which records of a ledger: chosen by reward, by context and by time."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from plaudit.errors import InputError, LedgerError, WrongType, did_you_mean, shorten
from plaudit.ledger.context import to_datetime, to_microseconds, validate_episode, validate_integer, validate_string
from plaudit.reward.reward import Reward


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """Which records: what is None does not matter."""

    reward: str | None = None
    version: str | None = None
    run: str | None = None
    episode: str | None = None
    step: int | None = None
    phase: str | None = None
    decision_class: str | None = None
    actor: str | None = None
    key: str | None = None
    since: int | None = None
    until: int | None = None
    after: int | None = None
    job: int | None = None
    id: int | None = None

    @classmethod
    def parse(cls, given: Mapping[str, Any]) -> "Query":
        """Return the query that a caller's keyword arguments ask for; a Reward stands for its name and version."""
        known = [field.name for field in fields(cls)]
        for name in given:
            if name not in known:
                near = did_you_mean(name, known)
                raise LedgerError(f"records cannot be chosen by {name!r}.{near} Choose by: {', '.join(known)}.")
        reward = given.get("reward")
        if isinstance(reward, Reward):
            given = {"version": reward.version, **given, "reward": reward.name}
        valid: dict[str, Any] = {name: _validate(name, value) for name, value in given.items()}
        return cls(**valid)

    def to_dict(self) -> dict[str, Any]:
        """Return what was chosen, for JSON; times are microseconds since 1970."""
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in given.items() if value is not None}

    def describe(self) -> str:
        """Return what was chosen, for people."""
        given = {k: str(to_datetime(v)) if k in ("since", "until") else v for k, v in self.to_dict().items()}
        return f" with {', '.join(f'{name}={value!r}' for name, value in given.items())}" if given else ""


def _validate(name: str, value: Any) -> str | int | None:
    if value is None:
        return None
    if name in ("since", "until"):
        return to_microseconds(_parse_time(name, value))
    if name in ("step", "after", "job", "id"):
        return validate_integer(name, value)
    return validate_episode(value) if name == "episode" else validate_string(name, value)


def _parse_time(name: str, value: Any) -> datetime:
    """Return a datetime, or the one that an ISO string or a date stands for."""
    if isinstance(value, datetime):
        return value
    try:
        return datetime.fromisoformat(value if isinstance(value, str) else value.isoformat())
    except ValueError:
        raise InputError(f"{name}={shorten(value)} is not a date or a time; write it like 2026-11-01T12:00.") from None
    except AttributeError:
        raise WrongType(f"{name}={shorten(value)} must be a datetime, a date or an ISO string.") from None

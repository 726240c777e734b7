"""Moments as people type them: a date, a date with a time, or how long ago."""

import re
from datetime import UTC, datetime, timedelta

import click

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def as_moment(ctx: click.Context, option: click.Parameter, given: str | None) -> datetime | None:
    """Return the moment that an option's text means."""
    if given is None:
        return None
    try:
        return moment(given, datetime.now(UTC))
    except (ValueError, OverflowError, OSError):
        raise click.BadParameter(
            f"{given!r} is no moment. Write 2026-11-01, 2026-11-01T12:00 (local time), 2026-11-01T12:00Z, or how long "
            "ago: 90s, 30m, 12h, 7d, 2w."
        ) from None


def moment(text: str, now: datetime) -> datetime:
    """Return the moment that `text` means; without a zone it is local time.

    >>> noon = datetime(2026, 11, 8, 12, tzinfo=UTC)
    >>> moment("7d", noon).isoformat(), moment("2026-11-01T12:00Z", noon).isoformat()
    ('2026-11-01T12:00:00+00:00', '2026-11-01T12:00:00+00:00')
    """
    if ago := re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smhdw])", text.strip(), re.ASCII):
        return now - timedelta(**{_UNITS[ago[2]]: float(ago[1])})
    return datetime.fromisoformat(text.strip()).astimezone(UTC)

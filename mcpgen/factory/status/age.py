"""The age of evidence in words."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

_MINUTE: Final = 60
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR
_MONTH: Final = 30 * _DAY
_YEAR: Final = 365 * _DAY
_UNITS: Final = (  # the longest first, each with the minimum age that is shown in it
    ("year", _YEAR, 2 * _YEAR),
    ("month", _MONTH, 2 * _MONTH),
    ("day", _DAY, _DAY),
    ("hour", _HOUR, _HOUR),
    ("minute", _MINUTE, _MINUTE),
)


def parse_time(text: str) -> datetime | None:
    """Parse a time of evidence (RFC 3339); None if it is missing or invalid."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment.astimezone(UTC) if moment.tzinfo else None


def describe_age(time: str, now: datetime) -> str:
    """Return how long ago a time was: "3 days ago"; "" if it is missing or invalid.

    A time in the future, by the clock of another machine, is "just now".
    """
    moment = parse_time(time)
    if moment is None:
        return ""
    seconds = (now - moment).total_seconds()
    for name, length, least in _UNITS:
        if seconds >= least:
            number = int(seconds // length)
            return f"{number} {name}{'' if number == 1 else 's'} ago"
    return "just now"

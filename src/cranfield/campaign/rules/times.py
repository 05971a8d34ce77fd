"""Instants: read with their offset from UTC, kept as UTC text, told in words."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from cranfield.base.errors import InputError, quoted
from cranfield.base.words import counted

_UNITS = {"day": 86_400, "hour": 3_600, "minute": 60, "second": 1}


def instant(value: object) -> datetime:
    """Read an instant: a time with its offset from UTC, as text or as TOML has it.

    There is no summer time in it: an offset says what a name of a place would leave open.
    The end of a day anywhere on earth is `23:59:59-12:00`.

    Raises
    ------
    InputError
        For what is no time, and for a time or a date without an offset.

    Examples
    --------
    >>> utc_text(instant("2026-08-15T23:59:59-12:00"))
    '2026-08-16T11:59:59Z'
    >>> instant("2026-08-15")
    Traceback (most recent call last):
    cranfield.InputError: '2026-08-15' has no offset from UTC, as in 2026-08-15T23:59:59-12:00
    """
    try:
        time = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    except ValueError:
        raise InputError(f"{quoted(value)} is no time such as 2026-08-15T23:59:59-12:00") from None
    if time.tzinfo is None:
        raise InputError(f"{quoted(value)} has no offset from UTC, as in 2026-08-15T23:59:59-12:00")
    try:
        return time.astimezone(UTC)
    except OverflowError:
        raise InputError(f"{quoted(value)} lies outside the years 1 to 9999") from None


def utc_text(time: datetime) -> str:
    """Write an instant as UTC text, to the second: what registry and files hold.

    Examples
    --------
    >>> from datetime import UTC, datetime
    >>> utc_text(datetime(2026, 8, 15, 23, 59, 59, 500, tzinfo=UTC))
    '2026-08-15T23:59:59Z'
    """
    if time.tzinfo is None:
        raise ValueError("a time without an offset is no instant")
    return time.astimezone(UTC).replace(microsecond=0, tzinfo=None).isoformat() + "Z"


def shown(time: datetime) -> str:
    """Show an instant in a message.

    >>> shown(instant("2026-08-15T23:59:59-12:00"))
    '2026-08-16 11:59:59 UTC'
    """
    return utc_text(time).replace("T", " ").replace("Z", " UTC")


def lasting(span: timedelta) -> str:
    """Say how long a time is, in the two largest units that count; never 0 of what passed.

    >>> lasting(timedelta(days=1, hours=2, minutes=3)), lasting(timedelta(seconds=0.2))
    ('1 day 2 hours', 'less than a second')
    """
    left = int(abs(span).total_seconds())
    parts = []
    for unit, seconds in _UNITS.items():
        number, left = divmod(left, seconds)
        if number:
            parts.append(counted(number, unit))
        elif parts:
            break
    return " ".join(parts[:2]) or "less than a second"

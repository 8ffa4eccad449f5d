"""Times in log lines, in the forms that log4j, docker, Kubernetes, journald and JSON layouts write, as Kafka's own form.

Kafka's own form is `2026-11-22 00:12:52,219`. A time with an offset is brought to UTC, since the logs of a cluster are put in order
by time; one without an offset stays. Independent of the rest of a line.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

MONTHS = b"Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
_MONTH = b"(?:" + b"|".join(MONTHS) + b")"
ISO = rb"\d{4}[-/.]\d\d[-/.]\d\d[T _]\d\d:\d\d:\d\d(?:[.,:]\d{1,9})?(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?"
COMPACT = rb"\d{8}[T ]?\d\d:?\d\d:?\d\d[.,]?\d{3}"
DAY_FIRST = rb"\d\d[ /-]" + _MONTH + rb"[ /-]\d{4}[ :]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?"
SYSLOG = _MONTH + rb" [ \d]\d \d\d:\d\d:\d\d(?:\.\d{1,6})?"
MILLIS = rb"(?<![\w.])1[0-9]{12}(?:\d{3})?(?![\w.])"
TIME = b"(?:" + b"|".join((ISO, DAY_FIRST, SYSLOG, COMPACT, MILLIS)) + b")"
"""A time, as part of a pattern."""

_ISO = re.compile(rb"(\d{4})\D(\d\d)\D(\d\d)\D(\d\d:\d\d:\d\d)(?:\D(\d{1,9}))? ?(?:Z|UTC|([+-])(\d\d):?(\d\d))?$")
_COMPACT = re.compile(rb"(\d{4})(\d\d)(\d\d)[T ]?(\d\d):?(\d\d):?(\d\d)[.,]?(\d{3})$")
_DAY_FIRST = re.compile(rb"(\d\d).(\w{3}).(\d{4}).(\d\d:\d\d:\d\d)(?:\D(\d{1,9}))?$")
_SYSLOG = re.compile(rb"(\w{3}) ([ \d]\d) (\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?$")
NO_YEAR = b"1970"
"""The year of times that name none."""


def normal_time(text: bytes) -> bytes | None:
    """Return a time in Kafka's own form; None if it is none."""
    if (match := _ISO.match(text)) is not None:
        year, month, day, clock, fraction, sign, hours, minutes = match.groups()
        plain = _joined(year, month, day, clock, fraction)
        return plain if sign is None else _in_utc(plain, sign, int(hours), int(minutes))
    if (match := _DAY_FIRST.match(text)) is not None and match[2] in MONTHS:
        return _joined(match[3], b"%02d" % (MONTHS.index(match[2]) + 1), match[1], match[4], match[5])
    if (match := _SYSLOG.match(text)) is not None and match[1] in MONTHS:
        return _joined(NO_YEAR, b"%02d" % (MONTHS.index(match[1]) + 1), match[2].replace(b" ", b"0"), match[3], match[4])
    if (match := _COMPACT.match(text)) is not None:
        year, month, day, hour, minute, second, fraction = match.groups()
        return _joined(year, month, day, b":".join((hour, minute, second)), fraction)
    return _of_millis(text) if text.isdigit() and len(text) in (13, 16) else None


def _joined(year: bytes, month: bytes, day: bytes, clock: bytes, fraction: bytes | None) -> bytes:
    return b"%s-%s-%s %s,%s" % (year, month, day, clock, ((fraction or b"") + b"000")[:3])


def _in_utc(plain: bytes, sign: bytes, hours: int, minutes: int) -> bytes | None:
    try:
        when = datetime.strptime(plain.decode(), "%Y-%m-%d %H:%M:%S,%f")
        offset = timedelta(hours=hours, minutes=minutes)
        return _printed(when - offset if sign == b"+" else when + offset)
    except (ValueError, OverflowError):
        return None


def _of_millis(text: bytes) -> bytes:
    """Return the time of milliseconds since 1970, or of microseconds."""
    return _printed(datetime.fromtimestamp(int(text[:13]) / 1000, UTC))


def _printed(when: datetime) -> bytes:
    return f"{when:%Y-%m-%d %H:%M:%S},{when.microsecond // 1000:03d}".encode()

"""What stands around log lines as text: colours of terminals, JSON objects, parts of long lines. Independent of Kafka's messages.

Sources: docker's json-file driver; the CRI's logging format (`TIME stdout F TEXT`, `P` for a part); journald's `-o json`; log4j's
JsonLayout and JsonTemplateLayout, logstash-logback-encoder, Elastic Common Schema.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

ESCAPES = re.compile(rb"\x1b(?:\[[0-9;?]*[A-Za-z]|\][^\x07\x1b]*(?:\x07|\x1b\\))")
CRI_PART = re.compile(rb"(?:\S+ )?\d{4}-\d\d-\d\dT[\d:.]+\S* std(?:out|err) ([FP]) ")
TEXTS = ("message", "msg", "log", "MESSAGE", "text", "@message", "body", "short_message", "line")
TIMES = ("@timestamp", "timestamp", "time", "ts", "datetime", "date", "timeMillis", "asctime", "__REALTIME_TIMESTAMP")
LEVELS = ("level", "severity", "log.level", "levelname", "loglevel", "log_level", "level_name")
LOGGERS = ("logger", "logger_name", "loggerName", "log.logger", "category", "logger.name")


class Fields(NamedTuple):
    """What a JSON object shows of a line."""

    text: bytes
    time: bytes
    level: bytes
    logger: bytes
    partial: bool
    """The text continues in the next object (docker)."""


def fields_of(line: bytes) -> Fields | None:
    """Return what a JSON object contains; None if the line is none, or has no text."""
    start = line.find(b"{")
    if start < 0 or not line.rstrip().endswith(b"}"):
        return None
    try:
        given = json.loads(line[start:])
    except (ValueError, RecursionError):
        return None
    if not isinstance(given, dict):
        return None
    flat = _flat(given)
    text = _first(flat, TEXTS)
    if not text:
        return None
    partial = "log" in flat and "stream" in flat and not str(flat["log"]).endswith("\n")
    if "instant.epochSecond" in flat:
        time = str(int(flat["instant.epochSecond"]) * 1000 + int(flat.get("instant.nanoOfSecond", 0)) // 1_000_000)
    else:
        time = _first(flat, TIMES)
    level = _first(flat, LEVELS).upper()
    return Fields(_line(text), time.encode(), level.encode(), _first(flat, LOGGERS).encode("utf-8", "replace"), partial)


def _line(text: str) -> bytes:
    """Return the first line of a text: a stack trace after it is of no interest."""
    return text.rstrip("\r\n").split("\n", 1)[0].encode("utf-8", "replace")


def _first(flat: dict[str, Any], names: tuple[str, ...]) -> str:
    return next((str(flat[name]) for name in names if flat.get(name) not in (None, "")), "")


def _flat(given: dict[str, Any]) -> dict[str, Any]:
    """Return the members of an object and of those in it, one level deep, with names joined by points."""
    found: dict[str, Any] = {}
    for name, value in given.items():
        if isinstance(value, dict):
            found.update({f"{name}.{inner}": one for inner, one in value.items()})
        else:
            found[name] = value
    return found

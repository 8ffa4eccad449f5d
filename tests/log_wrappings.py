"""Wrappings: how lines of Kafka's logs look after other layouts of log4j, containers and collectors; each is a function of a line.

A line in Kafka's own form is taken apart into time, level, message and logger; lines of stack traces keep their text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import datetime

LINE = re.compile(r"\[(\S+) (\S+?),(\d+)\] (\w+) (.*) \(([\w.$]+)\)$")
Wrap = Callable[[str], str]


def by_pattern(pattern: str, day: str = "-", sign: str = ",") -> Wrap:
    """Return a layout with {d} or {T} for the time, {p} or {P} (padded), {m}, {c}, {L}; other lines stay."""

    def wrap(line: str) -> str:
        match = LINE.match(line)
        if match is None:
            return line
        date, clock, millis, level, message, logger = match.groups()
        date = date.replace("-", day)
        return pattern.format(
            d=f"{date} {clock}{sign}{millis}", T=f"{date}T{clock}{sign}{millis}", p=level, P=f"{level:<5}", Q=f"{level:>5}",
            m=message, c=logger, t="controller-event-thread", L=1700,
        )  # fmt: skip

    return wrap


def behind(prefix: str) -> Wrap:
    """Return what writes something before each line; {when} is the time of the line."""
    last = ["2026-11-22T00:12:52.219"]

    def wrap(line: str) -> str:
        if match := LINE.match(line):
            last[0] = f"{match[1]}T{match[2]}.{match[3]}"
        when = datetime.fromisoformat(last[0])
        return prefix.format(when=last[0], syslog=f"{when:%b} {when.day:2} {when:%H:%M:%S}") + line

    return wrap


def as_docker(line: str) -> str:
    """Return a line of docker's json-file driver."""
    return json.dumps({"log": line + "\n", "stream": "stdout", "time": "2026-11-22T01:00:00.123456789Z"})


def as_journald(line: str) -> str:
    """Return a line of `journalctl -o json`."""
    return json.dumps({"__REALTIME_TIMESTAMP": "1795305600000000", "PRIORITY": "6", "_PID": "77", "MESSAGE": line})


def as_fields(*names: str, when: str = "{date}T{clock}.{millis}Z") -> Wrap:
    """Return a JSON layout with these names of time, level, logger and message; stack traces are in a field of their own."""

    def wrap(line: str) -> str:
        match = LINE.match(line)
        if match is None:
            return json.dumps({names[3]: line, "thrown": True})
        date, clock, millis, level, message, logger = match.groups()
        time = when.format(date=date, clock=clock, millis=millis)
        values = (time, level, logger, message)
        return json.dumps({**dict(zip(names, values, strict=True)), "thread": "controller-event-thread"})

    return wrap


def in_colour(line: str) -> str:
    """Return a line with the colours of %highlight."""
    return re.sub(r"\b(TRACE|DEBUG|INFO|WARN|ERROR)\b", "\x1b[32m\\1\x1b[m", line, count=1)


def day_first(line: str) -> str:
    """Return a line with log4j's DATE."""
    match = LINE.match(line)
    if match is None:
        return line
    when = datetime.fromisoformat(f"{match[1]} {match[2]}")
    return f"{when:%d %b %Y %H:%M:%S},{match[3]} {match[4]} {match[5]} ({match[6]})"


def in_millis(line: str) -> str:
    """Return a line with log4j's UNIX_MILLIS."""
    match = LINE.match(line)
    if match is None:
        return line
    when = datetime.fromisoformat(f"{match[1]}T{match[2]}+00:00")
    return f"{int(when.timestamp())}{match[3]} {match[4]} {match[5]} ({match[6]})"


WRAPPINGS: dict[str, Wrap] = {
    "docker json-file": as_docker,
    "docker logs --timestamps": behind("{when}123456Z "),
    "docker compose": behind("kafka-1  | "),
    "kubectl logs --prefix": behind("[pod/my-cluster-kafka-0/kafka] "),
    "kubectl logs --timestamps": behind("{when}000000Z "),
    "CRI": behind("{when}000000+02:00 stdout F "),
    "journald": behind("{syslog} broker-0 kafka[4711]: "),
    "journald short-iso": behind("{when}+0000 broker-0 kafka-server-start.sh[4711]: "),
    "journald json": as_journald,
    "syslog": behind("<14>{syslog} broker-0 kafka: "),
    "stern": behind("my-cluster-kafka-0 kafka "),
    "logstash json": as_fields("@timestamp", "level", "logger_name", "message"),
    "log4j json": as_fields("timestamp", "level", "loggerName", "message", when="{date}T{clock}.{millis}+0000"),
    "elastic json": as_fields("@timestamp", "log.level", "log.logger", "message"),
    "short json": as_fields("ts", "severity", "logger", "msg", when="{date} {clock},{millis}"),
    "strimzi console": by_pattern("{d} {p} {m} ({c}) [{t}]"),
    "confluent": by_pattern("[{d}] {p} {m} ({c}:{L})"),
    "padded level": by_pattern("[{d}] {P} {m} ({c})"),
    "level on the right": by_pattern("[{d}] {Q} {m} ({c})"),
    "point before milliseconds": by_pattern("[{d}] {p} {m} ({c})", sign="."),
    "ISO time": by_pattern("[{T}] {p} {m} ({c})"),
    "ISO time with Z": by_pattern("{T}Z {p} {m} ({c})", sign="."),
    "slashes": by_pattern("{d} {p} {m} ({c})", day="/"),
    "no brackets": by_pattern("{d} {p} {m} ({c})"),
    "logger first": by_pattern("{d} {p} {c} - {m}"),
    "logger and line first": by_pattern("{d} {P} [{c}:{L}] {m}"),
    "thread and logger first": by_pattern("{d} [{t}] {P} {c} - {m}"),
    "level first": by_pattern("{p} {d} {c}: {m}"),
    "level in brackets": by_pattern("[{p}] [{d}] [{c}] {m}"),
    "without a logger": by_pattern("{d} {p} {m}"),
    "pipes": by_pattern("{d} | {p} | {t} | {c} | {m}"),
    "time last": by_pattern("{p} {m} ({c}) {d}"),
    "key=value": by_pattern("time={T} level={p} logger={c} thread={t} {m}", sign="."),
    "colours": in_colour,
    "colours of docker compose": lambda line: "\x1b[36mkafka-1  | \x1b[0m" + in_colour(line),
    "day first": day_first,
    "milliseconds since 1970": in_millis,
    "tab before": behind("\t"),
}
"""By name; 38 of them."""

"""The parser: turns the lines of one source into events, and counts the lines that it cannot read.

Handles the beginning and the end of a line; messages.py handles the message in between. Lines without anything to check are
recognised by their first bytes and skipped. Broken, cut and interleaved lines are counted. A stack trace belongs to the line before
it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kafka_spec.conformance.outcome.violations import place_of
from kafka_spec.conformance.validate.actors import Actors
from kafka_spec.conformance.validate.broker_messages import BrokerMessages
from kafka_spec.conformance.validate.controller_lines import ControllerLogLines
from kafka_spec.conformance.validate.controller_messages import ControllerMessages
from kafka_spec.conformance.validate.dumps import Dumps
from kafka_spec.conformance.validate.events import Cursor
from kafka_spec.conformance.validate.files import SUFFIX, Chunk
from kafka_spec.conformance.validate.layouts import CONTINUED, KAFKAS, nearest

BRACKET = re.compile(rb"(TRACE|DEBUG|INFO|WARN|ERROR|FATAL) \[(Controller|Broker) id=(\d+)(?: epoch=(\d+))?$")
PLAIN = re.compile(rb"(TRACE|DEBUG|INFO|WARN|ERROR|FATAL) (Controller|Broker) (\d+)(?: epoch (\d+))? (?!epoch)")
FRAME = re.compile(rb"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] (?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL) ")
LOGGER = re.compile(rb" \([\w.$]+\)$")


class Origin(NamedTuple):
    """The writer of a line: the text between its time and its message, and the readers of messages by their first bytes."""

    actor: Any
    handlers: Mapping[bytes, Any]
    rarer: Callable[[bytes, int], Any]


NOBODY = Origin(None, {}, lambda line, start: None)
"""A controller's line without an epoch."""
WORD = 10
"""Number of bytes of a message by which its kind is known; the first letter's case varies."""


class LineReader(NamedTuple):
    """What reads a line, if it is to be read; and the writer, and how far the message starts after the first closing bracket."""

    handle: Callable[[bytes, int, Any], bool] | None
    actor: Any = None
    shift: int = 0


BROKEN = LineReader(lambda line, start, actor: False)
"""The reader of lines that no writer of Kafka begins so."""


@dataclass
class LineCounts:
    """Counts of lines by kind, and the places of the first broken ones."""

    read: int = 0
    continued: int = 0
    broken: int = 0
    size: int = 0
    others: int = 0
    """Lines of other loggers, such as the controller's."""
    trace: bool = False
    first: str = ""
    last: str = ""
    broke_off: list[int] = field(default_factory=list)
    examples: list[int] = field(default_factory=list)
    """The places of the first lines that could not be read."""
    example: tuple[str, str] = ("", "")
    """The first of them, and how it differs from the nearest known layout."""


EXAMPLES = 10
LONGEST_EXAMPLE = 200
"""Bytes of a line that are shown."""


class Parser:
    """Reads the chunks of one source, in order."""

    def __init__(self, actors: Actors, cursor: Cursor) -> None:
        self.counts = LineCounts()
        self._actors = actors
        self._cursor = cursor
        self._shown = KAFKAS
        self._origins: dict[bytes, Origin] = {}
        self._readers: dict[bytes, LineReader] = {}
        self._controller_log = ControllerLogLines(actors)
        dumps = Dumps()
        self._of_controller = ControllerMessages(dumps)
        self._of_broker = BrokerMessages(dumps)

    def read(self, chunk: Chunk) -> None:
        """Read some lines; their events go to the actors."""
        cursor, readers, clean = self._cursor, self._readers, chunk.clean
        self._shown = chunk.layout
        place = place_of(chunk.file, chunk.first) - 1
        for line in chunk.lines:
            place += 1
            if not clean:
                if line[24:26] != b"] " or line[:1] != b"[" or line.find(line[:6], 6) >= 0:
                    self._odd(line, place)
                    continue
                if not line.endswith(SUFFIX):
                    self._other(line, place)
                    continue
            start = line.find(b"] ", 26) + 2
            reader = readers.get(line[26 : start + WORD])
            if reader is None:
                cursor.line = line
                cursor.place = place
                reader = self._reader(line, start)
            handle, actor, shift = reader
            if handle is not None:
                cursor.line = line
                cursor.place = place
                try:
                    understood = handle(line, start + shift, actor)
                except ValueError:  # a number with more digits than Python converts
                    understood = False
                if not understood:
                    self._broken(line, place)
        self._count(chunk)

    def _reader(self, line: bytes, start: int) -> LineReader:
        """Return the reader of a line with a new beginning; lines of a known writer are recognised by it from now on."""
        found = self._origin(line, start - 2)
        if found is None:
            return BROKEN
        (actor, handlers, rarer), message = found
        word = line[message + 1 : message + WORD]
        if word not in handlers:
            return LineReader(rarer(line, message), actor, message - start)
        reader = LineReader(handlers[word], actor, message - start)
        if message == start:
            self._readers[line[26 : start + WORD]] = reader
        return reader

    def _count(self, chunk: Chunk) -> None:
        counts = self.counts
        counts.read += len(chunk.lines)
        counts.size += sum(map(len, chunk.lines)) + len(chunk.lines)
        if chunk.broke_off:
            counts.broke_off.append(chunk.file)
            self._actors.gap()
        for line in chunk.lines if not counts.first else ():
            if FRAME.match(line):
                counts.first = line[1:24].decode()
                break
        for line in reversed(chunk.lines):
            if FRAME.match(line):
                counts.last = max(counts.last, line[1:24].decode())
                break

    def _odd(self, line: bytes, place: int) -> None:
        """Count a line with an unusual beginning."""
        if CONTINUED.match(line):
            self.counts.continued += 1
        else:
            self._broken(line, place)

    def _broken(self, line: bytes, place: int) -> None:
        """Count a line that cannot be read: it may be any line, of any writer of this source."""
        self._actors.gap()
        if not self.counts.broken:
            self.counts.example = (line[:LONGEST_EXAMPLE].decode("utf-8", "replace"), nearest(line, self._shown))
        self.counts.broken += 1
        if len(self.counts.examples) < EXAMPLES:
            self.counts.examples.append(place)

    def _other(self, line: bytes, place: int) -> None:
        """Read a line of another logger, for example the controller's."""
        if not FRAME.match(line) or not LOGGER.search(line):
            self._broken(line, place)
            return
        self.counts.others += 1
        self._cursor.line = line
        self._cursor.place = place
        if not self._controller_log.read(line):
            self._broken(line, place)

    def _origin(self, line: bytes, end: int) -> tuple[Origin, int] | None:
        """Return the writer of a line and where its message starts, for a new beginning of a line."""
        if not FRAME.match(line):
            return None
        prefix = line[26:end]
        known = self._origins.get(prefix)
        if known is not None:
            return known, end + 2
        match = BRACKET.match(prefix) if end >= 0 else None
        if match is not None:
            self._origins[prefix] = origin = self._actor(match, plain=False)
            return origin, end + 2
        match = PLAIN.match(line, 26)
        if match is None:
            return None
        key = match[0]
        known = self._origins.get(key)
        if known is None:
            self._origins[key] = known = self._actor(match, plain=True)
        return known, match.end()

    def _actor(self, match: re.Match[bytes], plain: bool) -> Origin:
        level, role, number, epoch = match.groups()
        if level == b"TRACE":
            self.counts.trace = self._actors.trace = True
        if role == b"Broker":
            return Origin(self._actors.broker(int(number)), self._of_broker.handlers, self._of_broker.rarer)
        if epoch is None:
            return NOBODY
        controller = self._actors.controller(int(number), int(epoch), plain)
        return Origin(controller, self._of_controller.handlers, NOBODY.rarer)

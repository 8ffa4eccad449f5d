"""Layouts: how the lines of a file wrap Kafka's messages, learnt from the file; brings each line into Kafka's own form.

Kafka's own form is `[2026-11-22 00:12:52,219] TRACE MESSAGE (state.change.logger)`, log4j's `[%d] %p %m (%c)%n`. A layout has the
same elements in any order around the message, with others between them (threads, lines of code), and before all of it what
containers and collectors write: docker, Kubernetes, journald and others. It is learnt from the lines that bear a message of a
controller or a broker: their elements are found, and what stands between them is generalised. A layout counts if it is that of a
fair share of such lines, so that a broken line makes none of its own. Independent of what a message says.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from kafka_spec.conformance.validate.envelopes import CRI_PART, ESCAPES, Fields, fields_of
from kafka_spec.conformance.validate.line_times import TIME, normal_time

KAFKAS = "[%d] %p %m (%c)"
"""Kafka's own layout, as a pattern of log4j."""
MESSAGE = re.compile(
    rb"\[[A-Z][A-Za-z]*(?: [A-Za-z]+)*(?: on [Cc]ontroller)? ?(?:\w+=)?\d+(?: epoch=\d+)?\]:? "
    rb"|(?:Controller|Broker) \d+ (?:epoch \d+ )?(?=[a-z])"
)
"""The beginning of a message that names its controller or broker."""
OF_STATES = re.compile(rb"\[(?:Controller id=\d+ epoch=\d+|Broker id=\d+)\] |(?:Controller|Broker) \d+ (?:epoch \d+ )?[a-z]")
"""The beginning of a message of the state-change logger."""
LEVEL = rb"(?:TRACE|DEBUG|INFO|WARN(?:ING)?|ERROR|FATAL)"
LOGGER = rb"(?:(?:state\.change|kafka|org\.apache|io)\.[\w.$]+|state-change[\w-]*)(?::\d+)?"
ELEMENT = re.compile(rb"(?P<time>" + TIME + rb")|(?P<level>\b" + LEVEL + rb"\b)|(?P<logger>\b" + LOGGER + rb")")
OPENING = re.compile(rb"[\s(\[{<|,;:=\"'-]*$")
"""What may stand between a message and the element after it."""
THREAD = re.compile(rb" [\[(<][\w.$ /#:-]+[\])>]$")
"""A thread's name at the end of a line."""
FAIR_SHARE = 20
"""A layout is learnt if at least every so manieth line has it."""
NARROWEST = 80
"""Lines are not taken for broken at fewer bytes."""
CONTINUED = re.compile(rb"\s*$|\s+at |\s*Caused by: |\s*Suppressed: |\s*\.\.\. \d+ (more|common)|[\w.$]+(Exception|Error)\b")
"""The beginnings of lines of a stack trace."""


class Parts(NamedTuple):
    """One way to read lines: what comes before the layout, and the layout with its groups."""

    outer: re.Pattern[bytes]
    whole: re.Pattern[bytes]
    pattern: str
    """The layout as a pattern of log4j, to be shown."""


@dataclass
class Layout:
    """How the lines of one file are read."""

    parts: tuple[Parts, ...] = ()
    escapes: bool = False
    """Lines contain colours of terminals."""
    json: bool = False
    partial: bool = False
    """Long lines may be in parts (docker, CRI)."""
    width: int = 0
    """Lines are broken after so many bytes, and continue in the next line; 0: they are not."""
    shown: str = KAFKAS
    _kept: bytes = field(default=b"", init=False)
    _times: dict[bytes, bytes | None] = field(default_factory=dict, init=False)

    def lines(self, lines: Sequence[bytes]) -> list[bytes]:
        """Return each line in Kafka's own form; one that cannot be brought into it stays."""
        return [self._line(line) for line in (_joined(lines, self.width) if self.width else lines)]

    def _line(self, line: bytes) -> bytes:
        given = line
        if self.escapes:
            line = ESCAPES.sub(b"", line)
        if self.json:
            if (found := fields_of(line)) is None:
                return given
            if found.partial:
                self._kept += found.text
                return b""
            text, self._kept = self._kept + found.text, b""
            return self._canonical(text) or self._assembled(found, text) or (text if CONTINUED.match(text) else given)
        if self.partial and (part := CRI_PART.match(line)) is not None:
            rest = line[part.end() :]
            if part[1] == b"P":
                self._kept += rest
                return b""
            line, self._kept = line[: part.end()] + self._kept + rest, b""
        return self._canonical(line) or self._continued(line) or given

    def _canonical(self, line: bytes) -> bytes | None:
        for one in self.parts:
            match = one.whole.match(line)
            if match is not None:
                groups = match.groupdict()
                return self._put_together(groups["time"], groups["level"], groups.get("logger"), groups["message"])
        return None

    def _put_together(self, time: bytes, level: bytes, logger: bytes | None, message: bytes) -> bytes | None:
        when = self._times.get(time)
        if when is None:
            if len(self._times) > 10_000:
                self._times.clear()
            when = self._times[time] = normal_time(time)
            if when is None:
                return None
        if logger is None or OF_STATES.match(message):
            logger = b"state.change.logger" if OF_STATES.match(message) else b"unknown"
        return b"[%s] %s %s (%s)" % (when, b"WARN" if level == b"WARNING" else level, message, logger.partition(b":")[0])

    def _assembled(self, found: Fields, text: bytes) -> bytes | None:
        if not found.time or not found.level:
            return None
        return self._put_together(found.time, found.level, found.logger or None, text)

    def _continued(self, line: bytes) -> bytes | None:
        """Return a line of a stack trace without what containers write before it."""
        for one in self.parts:
            match = one.outer.match(line)
            if match is not None and CONTINUED.match(line, match.end()):
                return line[match.end() :]
        return None


def learn(lines: Iterable[bytes]) -> Layout | None:
    """Return the layout of a file from some of its lines; None if it is Kafka's own, or none can be learnt."""
    sample = [line for line in lines if line]
    layout = Layout(escapes=any(b"\x1b" in line for line in sample), width=_width(sample))
    if layout.escapes:
        sample = [ESCAPES.sub(b"", line) for line in sample]
    objects = [found for line in sample if (found := fields_of(line)) is not None]
    if len(objects) * 2 > len(sample):
        layout.json = True
        layout.shown = "JSON lines"
        sample = [found.text for found in objects]
    layout.partial = any(CRI_PART.match(line) for line in sample)
    counts: Counter[tuple[bytes, bytes, str]] = Counter()
    own = 0
    for line in sample:
        if _is_kafkas(line):
            own += 1
        elif (parts := _parts_of(line)) is not None:
            counts[parts] += 1
    total = own + counts.total()
    fair = [(parts, count) for parts, count in counts.most_common() if count * FAIR_SHARE >= total]
    for (outer, whole, pattern), _ in fair:
        layout.parts += (Parts(re.compile(outer), re.compile(whole, re.DOTALL), pattern),)
    if layout.parts and not layout.json:
        layout.shown = layout.parts[0].pattern
    if own:
        layout.parts = (_KAFKAS, *layout.parts)
    return layout if layout.json or layout.escapes or layout.width or fair else None


def _width(lines: Sequence[bytes]) -> int:
    """Return after how many bytes a terminal or a page has broken the lines; 0 if nothing shows that."""
    broken = [
        len(line)
        for line, following in pairwise(lines)
        if line.startswith(b"[") and not _is_kafkas(line) and not following.startswith(b"[") and _is_kafkas(line + following)
    ]
    return broken[0] if len(broken) > 1 and len(set(broken)) == 1 and broken[0] >= NARROWEST else 0


def _joined(lines: Sequence[bytes], width: int) -> list[bytes]:
    """Return the lines, those together that were broken; an empty line stands for what was taken from the next one."""
    found: list[bytes] = []
    for line in lines:
        if found and len(found[-1]) % width == 0 and found[-1].startswith(b"[") and not _is_kafkas(found[-1]):
            found += [found[-1] + line]
            found[-2] = b""
        else:
            found.append(line)
    return found


def _is_kafkas(line: bytes) -> bool:
    return _KAFKAS.whole.match(line) is not None


_KAFKAS = Parts(
    re.compile(b""),
    re.compile(
        rb"\[(?P<time>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3})\] (?P<level>" + LEVEL + rb") (?P<message>\S.*) \((?P<logger>[\w.$]+)\)$"
    ),
    KAFKAS,
)


def _parts_of(line: bytes) -> tuple[bytes, bytes, str] | None:
    """Return the layout of a line that bears a message: what comes before it, the whole, and its pattern; None if it bears none."""
    message = MESSAGE.search(line)
    if message is None:
        return None
    start = message.start()
    before = list(ELEMENT.finditer(line, 0, start))
    after = _after(line, message.end(), {one.lastgroup for one in before})
    chosen = {one.lastgroup: one for one in before}  # the last of a kind is the layout's, those before are a container's
    for one in after:
        chosen.setdefault(one.lastgroup, one)
    if "time" not in chosen or "level" not in chosen:
        return None
    inner = min((one.start() for one in chosen.values() if one.start() < start), default=start)
    inner -= len(line[:inner]) - len(line[:inner].rstrip(b"[("))
    first = next((one.start() for one in after if chosen[one.lastgroup] is one), len(line))
    end = first - len(_matched(OPENING, line[:first])) if first < len(line) else _thread_at(line, message.end())
    outer = _general(line[:inner])[0]
    prefix, prefix_shown = _pieces(line, inner, start, chosen)
    suffix, suffix_shown = _pieces(line, end, len(line), chosen)
    whole = outer + prefix + b"(?P<message>.*" + (b"?)" if suffix else b")") + suffix + b"$"
    return outer, whole, f"{prefix_shown}%m{suffix_shown}"


def _after(line: bytes, start: int, known: set[str | None]) -> list[re.Match[bytes]]:
    """Return the elements after a message, of the kinds that do not stand before it: the last of each kind."""
    found: dict[str | None, re.Match[bytes]] = {}
    for one in ELEMENT.finditer(line, start):
        if one.lastgroup not in known:
            found[one.lastgroup] = one
    return sorted(found.values(), key=lambda one: one.start())


def _thread_at(line: bytes, start: int) -> int:
    """Return where a thread's name at the end begins, or the end."""
    match = THREAD.search(line, start)
    return match.start() if match is not None and b"=" not in match[0] and b"thread" in match[0].lower() else len(line)


def _matched(pattern: re.Pattern[bytes], text: bytes) -> bytes:
    match = pattern.search(text)
    return match[0] if match is not None else b""


def _pieces(line: bytes, start: int, end: int, chosen: dict[str | None, re.Match[bytes]]) -> tuple[bytes, str]:
    """Return a part of a line as a pattern, with groups for its elements, and as a pattern of log4j."""
    classes = {"time": TIME, "level": LEVEL, "logger": LOGGER}
    letters = {"time": "%d", "level": "%p", "logger": "%c"}
    pattern, shown, at = b"", "", start
    for one in sorted(chosen.values(), key=lambda one: one.start()):
        kind = one.lastgroup
        if kind is None or one.start() < start or one.end() > end:
            continue
        general, text = _general(line[at : one.start()])
        pattern += general + b"(?P<%s>%s)" % (kind.encode(), classes[kind])
        shown += text + letters[kind]
        at = one.end()
    general, text = _general(line[at:end])
    return pattern + general, shown + text


_WORDS = re.compile(rb"(" + TIME + rb")|(\s+)|([\w.$/#@:+-]*[\w$])")


def _general(text: bytes) -> tuple[bytes, str]:
    """Return a pattern for what stands between elements: words, numbers, spaces and times may differ, all else may not."""
    pattern, shown, at = b"", "", 0
    for match in _WORDS.finditer(text):
        literal = text[at : match.start()]
        pattern += re.escape(literal)
        shown += literal.decode("utf-8", "replace")
        if match[1] is not None:
            pattern, shown = pattern + TIME, shown + "TIME"
        elif match[2] is not None:
            pattern, shown = pattern + (rb" +" if set(match[2]) == {32} else rb"\s+"), shown + " "
        else:
            pattern, shown = pattern + rb"[\w.$/#@:+-]*[\w$]", shown + "%t"
        at = match.end()
    return pattern + re.escape(text[at:]), shown + text[at:].decode("utf-8", "replace")


def nearest(line: bytes, shown: str) -> str:
    """Return what a line that could not be read lacks of the layout of its file."""
    found = {one.lastgroup for one in ELEMENT.finditer(line)}
    lacks = [name for kind, name in (("time", "time"), ("level", "level"), ("logger", "logger")) if kind not in found]
    if MESSAGE.search(line) is None:
        lacks.append("[Controller id=N epoch=N] or [Broker id=N]")
    what = f"it has no {', no '.join(lacks)}" if lacks else "its elements stand elsewhere, or it is cut or joined"
    return f"the nearest known layout is {shown}; {what}"

"""The log files of a cluster: finds them, groups them into sources, and yields their lines in chunks.

Depends on file names, compression and encoding; layouts.py brings lines into Kafka's own form. A *source* is one log of one broker
with its rotated files, oldest first.
Kafka's log4j.properties rotates by hour (`state-change.log.2026-11-22-00`), others by number (`.1`), and some compress.
"""

from __future__ import annotations

import codecs
import gzip
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Protocol, cast

from kafka_spec.conformance.validate.layouts import KAFKAS, Layout, learn
from kafka_spec.spec.language.domain import SpecError

CHUNK = 1 << 18
"""Bytes of text to read from one source before switching to another."""
IN_FOLDER = re.compile(r"(state-?change|controller).*\.log", re.IGNORECASE)
ROTATED = re.compile(r"(\.log)?[.-](\d{4}-\d\d-\d\d([-_.]\d+)?|\d+)(\.log)?$")
FRAMED = re.compile(rb"\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3})\]")
SUFFIX = b" (state.change.logger)"
"""The end of a line of state-change.log."""
LOOK = 1 << 17
"""Number of bytes of a file from which its layout is learnt, and that are searched for its first time."""
MOST_ALIKE = 50
"""Lines at the beginning of a file by which a copy of it is known."""
LONGEST = 1 << 20
"""Maximum length of a line, so that a file without line breaks does not fill the memory."""


@dataclass(frozen=True)
class Source:
    """One log of one broker: its name without rotation, and its files with their numbers, oldest first."""

    name: str
    files: tuple[tuple[int, Path], ...]
    layouts: tuple[Layout | None, ...]
    """How the lines of each file are laid out, unless it is Kafka's own form."""
    copies: tuple[str, ...] = ()
    """Files that are copies of this log, and left out."""


def find_sources(paths: Sequence[Path], given: Layout | None = None) -> tuple[list[Source], list[str]]:
    """Return the sources of the paths, and the names of all files in the order of their numbers.

    A folder stands for the state-change and controller logs in it and below. A layout that is given is not learnt.

    Raises:
        SpecError: a path does not exist or cannot be read, or a folder contains no log.
    """
    found: dict[Path, None] = {}
    for path in paths:
        found.update(dict.fromkeys(_files_of(path)))
    groups: dict[str, list[tuple[bytes, str, Path]]] = {}
    layouts: dict[Path, Layout | None] = {}
    starts: dict[tuple[bytes, ...], list[Path]] = {}
    for path in found:
        lines = _first_lines(path)
        layouts[path] = layout = given or learn(lines)
        lines = layout.lines(lines) if layout is not None else lines
        groups.setdefault(_stem(path), []).append((_first_time(lines), str(path), path))
        starts.setdefault(tuple(lines[:MOST_ALIKE]), []).append(path)
    sources: list[Source] = []
    names: list[str] = []
    copies = _copies(groups, starts)
    for stem in sorted(groups):
        if any(stem in some for some in copies.values()):
            continue
        numbered = []
        for _, name, path in sorted(groups[stem]):
            numbered.append((len(names), path))
            names.append(name)
        sources.append(Source(stem, tuple(numbered), tuple(layouts[path] for _, path in numbered), tuple(copies.get(stem, ()))))
    return sources, names


def _files_of(path: Path) -> list[Path]:
    try:
        if not path.is_dir():
            with path.open("rb"):
                return [path]
        files = sorted(file for file in path.rglob("*") if file.is_file() and IN_FOLDER.search(file.name))
    except OSError as error:
        raise SpecError(f"{path}: {error.strerror}; name a log file, or a folder that holds some") from None
    if not files:
        raise SpecError(f"{path}: no file in it is called *state-change*.log* or *controller*.log*; name the files themselves")
    return files


def _stem(path: Path) -> str:
    """Return the path without compression and rotation."""
    name = path.name.removesuffix(".gz")
    return str(path.with_name(ROTATED.sub(".log", name)))


def _first_lines(path: Path) -> list[bytes]:
    """Return the whole lines at the beginning of a file, and the only one if there is but one."""
    try:
        with open_log(path) as file:
            lines, rest = _cut(file.read(LOOK), last=False)
            return lines or [rest]
    except (OSError, EOFError, zlib.error):
        return []


def _copies(
    groups: Mapping[str, Sequence[tuple[bytes, str, Path]]], starts: Mapping[tuple[bytes, ...], Sequence[Path]]
) -> dict[str, list[str]]:
    """Return, for the larger one of logs that are a single file and begin alike, those that are left out as copies of it."""
    found: dict[str, list[str]] = {}
    for start, paths in starts.items():
        single = [path for path in paths if len(groups[_stem(path)]) == 1]
        if start and len(single) > 1 and any(FRAMED.match(line) for line in start):
            kept, *others = sorted(single, key=lambda path: (-path.stat().st_size, str(path)))
            found[_stem(kept)] = [_stem(path) for path in others]
    return found


def _first_time(lines: Sequence[bytes]) -> bytes:
    """Return the first time in a file, by which rotated files are ordered; a file without any comes last."""
    for line in lines:
        if match := FRAMED.search(line):
            return match[1]
    return b"~"


class Readable(Protocol):
    """An open file, as far as it is needed."""

    def read(self, size: int, /) -> bytes:
        """Return about so many bytes, none at the end."""

    def __enter__(self) -> Readable: ...

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None, /) -> None: ...


class _Utf16:
    """A file in UTF-16, read as UTF-8."""

    def __init__(self, file: BinaryIO, encoding: str) -> None:
        self._file = file
        self._decoder = codecs.getincrementaldecoder(encoding)("replace")

    def read(self, size: int, /) -> bytes:
        """Return some of the text as UTF-8, none at the end."""
        while block := self._file.read(size):
            if text := self._decoder.decode(block):
                return text.encode("utf-8", "replace")
        return b""

    def __enter__(self) -> _Utf16:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None, /) -> None:
        self._file.close()


def open_log(path: Path) -> Readable:
    """Open a file, compressed or not, in UTF-8 or UTF-16; its first bytes show the format."""
    with path.open("rb") as file:
        compressed = file.read(2) == b"\x1f\x8b"
    opened = cast(BinaryIO, gzip.open(path, "rb")) if compressed else path.open("rb")  # noqa: SIM115 (the caller closes it)
    try:
        head = opened.read(4)
        opened.seek(len(codecs.BOM_UTF8) if head.startswith(codecs.BOM_UTF8) else 0)
    except (OSError, EOFError, zlib.error):  # damaged: who reads it will notice
        head = b""
    if head[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return _Utf16(opened, "utf-16")
    if len(head) == 4 and head[1::2] == b"\0\0" and 0 not in head[::2]:
        return _Utf16(opened, "utf-16-le")
    return cast(Readable, opened)


@dataclass(frozen=True)
class Chunk:
    """Some whole lines: the number of their file, of the first of them, and whether the file is damaged after them."""

    file: int
    first: int
    lines: list[bytes]
    broke_off: bool = False
    layout: str = KAFKAS
    """The layout that its lines had, as a pattern of log4j."""
    clean: bool = False
    """Each line is known to begin with a time, to contain no second one, and to end like a line of state-change.log."""


def chunks(source: Source) -> Iterator[Chunk]:
    """Yield the lines of a source; a damaged compressed file ends at the last readable line."""
    for (number, path), layout in zip(source.files, source.layouts, strict=True):
        first, rest = 1, b""
        layout = None if layout is None else replace(layout)
        with open_log(path) as file:
            while True:
                try:
                    block = file.read(CHUNK)
                except (OSError, EOFError, zlib.error):
                    yield Chunk(number, first, [rest] if rest else [], broke_off=True)
                    break
                data = rest + block
                lines, rest = _cut(data, last=not block)
                if lines and layout is not None:
                    yield Chunk(number, first, layout.lines(lines), layout=layout.shown)
                    first += len(lines)
                elif lines:
                    yield Chunk(number, first, lines, clean=_is_clean(data, lines, len(rest)))
                    first += len(lines)
                if not block:
                    break


def _is_clean(data: bytes, lines: Sequence[bytes], rest: int) -> bool:
    """Whether counting alone shows that each line has a time at its start and nowhere else, and the usual end."""
    begin, end = data[:6], len(data) - rest
    return (
        FRAMED.match(data) is not None
        and lines[-1].endswith(SUFFIX)
        and data.count(SUFFIX + b"\n" + begin, 0, end) == len(lines) - 1
        and data.count(begin, 0, end) == len(lines)
    )


def _cut(data: bytes, last: bool) -> tuple[list[bytes], bytes]:
    """Return the complete lines of a text, without line breaks, and the remainder, which is empty at the end of a file."""
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n")
    *lines, rest = data.split(b"\n")
    if rest and (last or len(rest) > LONGEST):
        return [*lines, rest], b""
    return lines, rest


def in_turns(sources: Sequence[Source]) -> Iterator[tuple[int, Chunk]]:
    """Yield chunks of all sources, always from the one with the earliest time, so that both sides of a request are close."""
    waiting: dict[int, tuple[bytes, Chunk, Iterator[Chunk]]] = {}

    def refill(index: int, rest: Iterator[Chunk]) -> None:
        chunk = next(rest, None)
        if chunk is not None:
            waiting[index] = (_time_of(chunk), chunk, rest)

    for index, source in enumerate(sources):
        refill(index, chunks(source))
    while waiting:
        index = min(waiting, key=lambda one: (waiting[one][0], one))
        _, chunk, rest = waiting.pop(index)
        yield index, chunk
        refill(index, rest)


def _time_of(chunk: Chunk) -> bytes:
    for line in chunk.lines:
        if match := FRAMED.match(line):
            return match[1]
    return b""

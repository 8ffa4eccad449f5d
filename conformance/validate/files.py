"""The log files of a cluster: finds them, groups them into sources, and yields their lines in chunks.

Depends on file names and compression, not on lines. A *source* is one log of one broker with its rotated files, oldest first.
Kafka's log4j.properties rotates by hour (`state-change.log.2026-11-22-00`), others by number (`.1`), and some compress.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from kafka_spec.spec.domain import SpecError

CHUNK = 1 << 18
"""Bytes of text to read from one source before switching to another."""
IN_FOLDER = re.compile(r"(state-?change|controller).*\.log", re.IGNORECASE)
ROTATED = re.compile(r"(\.log)?[.-](\d{4}-\d\d-\d\d([-_.]\d+)?|\d+)(\.log)?$")
FRAMED = re.compile(rb"\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3})\]")
SUFFIX = b" (state.change.logger)"
"""The end of a line of state-change.log."""
LOOK = 1 << 16
"""Number of bytes of a file that are searched for its first time."""
LONGEST = 1 << 20
"""Maximum length of a line, so that a file without line breaks does not fill the memory."""


@dataclass(frozen=True)
class Source:
    """One log of one broker: its name without rotation, and its files with their numbers, oldest first."""

    name: str
    files: tuple[tuple[int, Path], ...]


def find_sources(paths: Sequence[Path]) -> tuple[list[Source], list[str]]:
    """Return the sources of the paths, and the names of all files in the order of their numbers.

    A folder stands for the state-change and controller logs in it and below.

    Raises:
        SpecError: a path does not exist or cannot be read, or a folder contains no log.
    """
    found: dict[Path, None] = {}
    for path in paths:
        found.update(dict.fromkeys(_files_of(path)))
    groups: dict[str, list[tuple[bytes, str, Path]]] = {}
    for path in found:
        groups.setdefault(_stem(path), []).append((_first_time(path), str(path), path))
    sources: list[Source] = []
    names: list[str] = []
    for stem in sorted(groups):
        numbered = []
        for _, name, path in sorted(groups[stem]):
            numbered.append((len(names), path))
            names.append(name)
        sources.append(Source(stem, tuple(numbered)))
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


def _first_time(path: Path) -> bytes:
    """Return the first time in a file, by which rotated files are ordered; a file without any comes last."""
    try:
        with open_log(path) as file:
            match = FRAMED.search(file.read(LOOK))
    except (OSError, EOFError, zlib.error):
        match = None
    return match[1] if match else b"~"


def open_log(path: Path) -> BinaryIO:
    """Open a file, compressed or not; its first bytes show the format."""
    with path.open("rb") as file:
        compressed = file.read(2) == b"\x1f\x8b"
    return cast(BinaryIO, gzip.open(path, "rb")) if compressed else path.open("rb")


@dataclass(frozen=True)
class Chunk:
    """Some whole lines: the number of their file, of the first of them, and whether the file is damaged after them."""

    file: int
    first: int
    lines: list[bytes]
    broke_off: bool = False
    clean: bool = False
    """Each line is known to begin with a time, to contain no second one, and to end like a line of state-change.log."""


def chunks(source: Source) -> Iterator[Chunk]:
    """Yield the lines of a source; a damaged compressed file ends at the last readable line."""
    for number, path in source.files:
        first, rest = 1, b""
        with open_log(path) as file:
            while True:
                try:
                    block = file.read(CHUNK)
                except (OSError, EOFError, zlib.error):
                    yield Chunk(number, first, [rest] if rest else [], broke_off=True)
                    break
                data = rest + block
                lines, rest = _cut(data, last=not block)
                if lines:
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

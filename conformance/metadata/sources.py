"""The files of metadata logs: recognised by content, grouped by node, and read as batches.

A *node log* is what one node holds: segments, snapshots, leader-epoch-checkpoint, quorum-state. They lie in one folder,
`__cluster_metadata-0` or another; a data folder or a tar of it serves as well.

Source: Kafka 3.9 LogSegment.java, Snapshots.java, LeaderEpochCheckpointFile.java, FileQuorumStateStore.java.
"""

from __future__ import annotations

import gzip
import json
import mmap
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, TextIO

from kafka_spec.conformance.metadata.batches import LogBatch, TornTail, batches_of
from kafka_spec.conformance.metadata.dump_text import batches_of_text
from kafka_spec.conformance.metadata.recognise import (
    CONTROLLER,
    DUMP,
    EPOCHS,
    OTHER,
    QUORUM,
    SEGMENT,
    SNAPSHOT,
    SNAPSHOT_NAME,
    beginning,
    is_tar,
    kind_of,
    may_hold,
)
from kafka_spec.impl.log.batches import HEADER, look
from kafka_spec.spec.language.domain import SpecError


@dataclass
class Snapshot:
    """A snapshot: the image of the log before the offset `end`, of whose last record `epoch` is the epoch."""

    file: int
    path: Path
    end: int
    epoch: int


@dataclass
class NodeLog:
    """What one node holds of the metadata log; files by their numbers, the oldest segment first."""

    name: str
    segments: list[tuple[int, Path]] = field(default_factory=list)
    dumps: list[tuple[int, Path]] = field(default_factory=list)
    snapshots: list[Snapshot] = field(default_factory=list)
    epochs: tuple[int, Path] | None = None
    quorum: tuple[int, Path] | None = None


class LogPlace(NamedTuple):
    """Where a batch begins: the number of its file, and the place in it."""

    file: int
    place: int


@dataclass
class Sources:
    """All files: their names in the order of their numbers, the logs of nodes, and the log files of controllers."""

    files: list[str] = field(default_factory=list)
    nodes: list[NodeLog] = field(default_factory=list)
    controllers: list[tuple[int, Path]] = field(default_factory=list)
    size: int = 0
    scratch: tempfile.TemporaryDirectory[str] | None = None
    """The folder of what a tar held."""

    def __enter__(self) -> Sources:
        return self

    def __exit__(self, *_: object) -> None:
        """Delete what a tar held."""
        if self.scratch is not None:
            self.scratch.cleanup()


def find_sources(paths: Sequence[Path]) -> Sources:
    """Return what the paths hold of metadata logs.

    Raises:
        SpecError: a path does not exist or cannot be read, or there is no metadata log in any.
    """
    sources = Sources()
    nodes: dict[str, NodeLog] = {}
    for path in paths:
        try:
            for file, name in _files(path, sources):
                _put(file, name, sources, nodes)
        except (OSError, tarfile.TarError) as error:
            reason = getattr(error, "strerror", None) or error
            raise SpecError(f"{path}: {reason}; name a folder __cluster_metadata-0, or a file of one") from None
    for node in nodes.values():
        node.segments.sort(key=lambda one: (_first_offset(one[1]), one[0]))
        node.snapshots.sort(key=lambda one: one.end)
    sources.nodes = [node for _, node in sorted(nodes.items()) if node.segments or node.dumps or node.snapshots]
    if not sources.nodes:
        raise SpecError(
            f"{', '.join(map(str, paths))}: no metadata log is there; name a folder __cluster_metadata-0, "
            "its segments or snapshots, or the text of kafka-dump-log --cluster-metadata-decoder"
        )
    return sources


def _files(path: Path, sources: Sources) -> Iterator[tuple[Path, str]]:
    """Yield the files of a path with their names: of a folder, of a tar, or the file itself."""
    if path.is_dir():
        for file in sorted(path.rglob("*")):
            if may_hold(file):
                yield file, str(file)
    elif is_tar(path):
        sources.scratch = sources.scratch or tempfile.TemporaryDirectory(prefix="kafka-spec-")
        root = Path(sources.scratch.name) / str(len(list(Path(sources.scratch.name).iterdir())))
        with tarfile.open(path) as packed:
            packed.extractall(root, [one for one in packed.getmembers() if one.isfile()], filter="data")
        for file in sorted(root.rglob("*")):
            if may_hold(file):
                yield file, f"{path}:{file.relative_to(root)}"
    else:
        yield path, str(path)


def _put(path: Path, name: str, sources: Sources, nodes: dict[str, NodeLog]) -> None:
    """Put a file where it belongs; one of another kind is left out."""
    kind = kind_of(path)
    if kind == OTHER:
        return
    number = len(sources.files)
    sources.files.append(name)
    sources.size += path.stat().st_size
    if kind == CONTROLLER:
        sources.controllers.append((number, path))
        return
    folder = name if kind == DUMP else name.rpartition("/")[0] or "."
    node = nodes.setdefault(folder, NodeLog(folder))
    if kind == SNAPSHOT:
        found = SNAPSHOT_NAME.search(path.name)
        assert found is not None
        node.snapshots.append(Snapshot(number, path, int(found[1]), int(found[2])))
    elif kind == EPOCHS:
        node.epochs = (number, path)
    elif kind == QUORUM:
        node.quorum = (number, path)
    else:
        (node.segments if kind == SEGMENT else node.dumps).append((number, path))


def _first_offset(path: Path) -> int:
    found = look(beginning(path)[: HEADER.size])
    return -1 if found is None else found.base


def batches_in(path: Path, start: int = 0) -> Iterator[LogBatch | TornTail]:
    """Yield the batches of a file of any kind from the place of one on; the file is mapped, not read at once."""
    data = beginning(path)
    if look(data[: HEADER.size]) is None and not data.startswith(bytes(HEADER.size)):
        with open_text(path) as text:
            yield from (one for one in batches_of_text(text) if one.place >= start)
        return
    if _is_gzip(path):
        with gzip.open(path, "rb") as unpacked:
            yield from batches_of(unpacked.read(), start)
        return
    with path.open("rb") as file:
        if path.stat().st_size:
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
                yield from batches_of(mapped, start)


def open_text(path: Path) -> TextIO:
    """Open a file of lines, compressed or not."""
    if _is_gzip(path):
        return gzip.open(path, "rt", encoding="utf-8", errors="replace")
    return path.open(encoding="utf-8", errors="replace")


def _is_gzip(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(2) == b"\x1f\x8b"


def batches_of_node(node: NodeLog, start: LogPlace | None = None) -> Iterator[tuple[int, LogBatch | TornTail]]:
    """Yield the batches of a node's segments, or of its dumps, with the numbers of their files; all, or from a place on."""
    files = node.segments or node.dumps
    first = 0 if start is None else [number for number, _ in files].index(start.file)
    for number, path in files[first:]:
        for batch in batches_in(path, start.place if start is not None and number == start.file else 0):
            yield number, batch


def epochs_in(path: Path) -> list[tuple[int, int]]:
    """Return the epochs and their first offsets of a leader-epoch-checkpoint."""
    lines = path.read_text(encoding="utf-8").split("\n")[2:]
    return [(int(epoch), int(offset)) for epoch, offset in (line.split() for line in lines if line)]


def quorum_in(path: Path) -> dict[str, int]:
    """Return the numbers of a quorum-state."""
    return {name: value for name, value in json.loads(path.read_text(encoding="utf-8")).items() if isinstance(value, int)}

"""What a file holds of a metadata log, by its first bytes. Needs the standard library only, since every log file is asked.

Source: Kafka 3.9 DefaultRecordBatch.java, ControlRecordType.java, Snapshots.java.
"""

from __future__ import annotations

import gzip
import lzma
import re
import struct
import tarfile
import zlib
from pathlib import Path

LOOK = 1 << 15
"""The bytes of a file that are looked at to recognise it."""
HEADER = struct.Struct(">qiibIh")
"""Base offset, length, leader epoch, magic, checksum and attributes: the beginning of a batch's header."""
HEADER_SIZE = 61
"""The bytes of a batch before its first record."""
MAGIC = 2
CONTROL, COMPRESSED = 0x20, 0x07
"""Attributes of a batch."""
LARGEST_KEY = 63
"""The largest key of a metadata record that the first look accepts."""
FRAME_VERSION, LARGEST_VERSION = 1, 15
FIRST_RAFT_CONTROL = 2
"""The first type of control records that only logs of Raft have: a leader change."""
METADATA = "__cluster_metadata"
SNAPSHOT_NAME = re.compile(r"(\d{20})-(\d{10})\.checkpoint$")
DUMP_LINE = re.compile(rb"^baseOffset: \d+ .*isControl: \w+ ", re.MULTILINE)
CONTROLLER_LINE = re.compile(rb"\[(?:QuorumController|ControllerServer|RaftManager) (?:id|nodeId)=\d+")
EPOCHS_TEXT = re.compile(rb"0\r?\n\d+\r?\n(\d+ \d+\r?\n?)*$")
UNFINISHED = (".checkpoint.part", ".checkpoint.deleted")
"""Snapshots that are not whole, as a process leaves them that was killed while it wrote one, or not needed any more."""
BOOTSTRAP = "bootstrap.checkpoint"
"""What a node was formatted with, which the first controller writes into the log: no part of a log."""
INDEXES = (".index", ".timeindex", ".txnindex", ".snapshot", ".swap", ".cleaned", ".deleted", *UNFINISHED)
"""Files of a log's folder that hold no records, or none that count."""
SEGMENT, SNAPSHOT, DUMP, CONTROLLER, EPOCHS, QUORUM, OTHER = (
    "segment", "snapshot", "dump", "controller", "leader-epoch-checkpoint", "quorum-state", "other",
)  # fmt: skip


def beginning(path: Path) -> bytes:
    """Return the first bytes of a file, decompressed; none if it cannot be decompressed."""
    with path.open("rb") as file:
        data = file.read(LOOK)
    if data[:2] != b"\x1f\x8b":
        return data
    try:
        with gzip.open(path, "rb") as unpacked:
            return unpacked.read(LOOK)
    except (OSError, EOFError, zlib.error):
        return b""


def is_batch(data: bytes) -> bool:
    """Whether some bytes begin with the header of a batch."""
    if len(data) < HEADER_SIZE:
        return False
    base, length, _, magic, _, _ = HEADER.unpack_from(data)
    return bool(magic == MAGIC and base >= 0 and length >= HEADER_SIZE - 12)


def _signed_varint(data: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), place
        shift += 7


def _first_record(data: bytes) -> tuple[bytes | None, bytes | None]:
    """Return key and value of the first record of some batches."""
    _, place = _signed_varint(data, HEADER_SIZE)
    place += 1
    for _ in range(2):  # the deltas of time and offset
        _, place = _signed_varint(data, place)
    found: list[bytes | None] = []
    for _ in range(2):
        size, place = _signed_varint(data, place)
        found.append(data[place : place + size] if size >= 0 else None)
        place += max(0, size)
    return found[0], found[1]


def holds_metadata(data: bytes, path: Path) -> bool:
    """Whether batches are of the metadata log: their first record is one of metadata, or a control record that only Raft writes."""
    named = METADATA in path.parent.name or SNAPSHOT_NAME.search(path.name) is not None
    attributes = HEADER.unpack_from(data)[5]
    if attributes & COMPRESSED:
        return named
    try:
        key, value = _first_record(data)
    except IndexError:
        return named
    if attributes & CONTROL:
        return key is not None and len(key) >= 4 and struct.unpack_from(">h", key, 2)[0] >= FIRST_RAFT_CONTROL
    if key is not None or value is None or len(value) < 4:
        return False
    return value[0] == FRAME_VERSION and value[1] <= LARGEST_KEY and value[2] <= LARGEST_VERSION


def kind_of(path: Path) -> str:
    """Return what a file holds of a metadata log."""
    data = beginning(path)
    if is_batch(data):
        if path.name == BOOTSTRAP or path.name.endswith(UNFINISHED) or not holds_metadata(data, path):
            return OTHER
        return SNAPSHOT if SNAPSHOT_NAME.search(path.name) else SEGMENT
    if path.name == "quorum-state" and b'"leaderEpoch"' in data:
        return QUORUM
    if path.name == "leader-epoch-checkpoint" and EPOCHS_TEXT.match(data):
        return EPOCHS
    if DUMP_LINE.search(data):
        return DUMP
    return CONTROLLER if CONTROLLER_LINE.search(data) else OTHER


def may_hold(path: Path) -> bool:
    """Whether a file of a folder is worth a look: a data folder has other files too, some of them large."""
    return path.is_file() and not path.name.endswith(INDEXES)


def is_tar(path: Path) -> bool:
    """Whether a file is a tar, compressed or not."""
    try:
        return path.is_file() and tarfile.is_tarfile(path)
    except (OSError, EOFError, zlib.error, lzma.LZMAError, ValueError):
        return False


def holds_a_metadata_log(path: Path) -> bool:
    """Whether a path has a metadata log as binary files, as a dump, or in a tar; of a folder, whether one in it has.

    Raises:
        OSError: it cannot be read.
    """
    if path.is_dir():
        return any(may_hold(one) and kind_of(one) in (SEGMENT, SNAPSHOT, DUMP) for one in sorted(path.rglob("*")))
    return kind_of(path) in (SEGMENT, SNAPSHOT, DUMP) or is_tar(path)

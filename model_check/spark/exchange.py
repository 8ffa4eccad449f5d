"""Candidates on their way from the tasks that expand a level to the tasks that keep the new states of the next one: files.

    candidates/level=00013/part-003-of-008-for-016      what task 3 of 8 found in level 12, for 16 parts of level 13

Depends on bytes and the state-dir, not on Spark. A file holds blobs (some thousand candidates for one part), then an index: for
each blob its part, the number of candidates, its place, the bytes of its states, and a checksum. A candidate has its state, the
action, and the number of its parent among the states that the task has expanded: its place in its level is not known yet
(order.py). Candidates are in the order of both numbers. A task reads the blobs for its
part from the files of all source parts. A file is written whole or not at all. A repeated task writes the same again, and a lost
executor takes no candidates along. The driver removes the files when the level is finished.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa

from kafka_spec.model_check.code.row_codec import Codec
from kafka_spec.model_check.exploration import EngineError
from kafka_spec.model_check.spark.state_dir import CANDIDATES, Storage
from kafka_spec.model_check.spark.tables import Blob, Outgoing, sent

ENTRY = 40
"""Bytes of a blob in the index."""
TAIL = 16
"""Bytes at the end of a file: the number of blobs, and the checksum of the index."""


def folder_of(level: int) -> str:
    """Return the folder of the candidates for a level."""
    return f"{CANDIDATES}/level={level:05d}"


def file_of(level: int, part: int, sources: int, parts: int) -> str:
    """Return the file of the candidates that one of the tasks found in the level before, for so many parts of a level."""
    return f"{folder_of(level)}/part-{part:03d}-of-{sources:03d}-for-{parts:03d}"


class Outbox:
    """Writes the candidates that a task has found."""

    def __init__(self, stream: Any, codec: Codec) -> None:
        self.stream, self.codec = stream, codec
        self.bytes = 0
        self.index: list[tuple[int, int, int, int, int]] = []

    def send(self, target: int, found: Outgoing) -> None:
        """Write candidates for a part as one blob."""
        states = sent(self.codec, found)
        check, size = 0, 0
        for content in (states, found.parents.tobytes(), found.actions.tobytes()):
            self.stream.write(content)
            check, size = zlib.crc32(content, check), size + len(content)
        self.index.append((target, len(found.marks), self.bytes, len(states), check))
        self.bytes += size


@contextmanager
def outbox(storage: Storage, name: str, codec: Codec, check: Callable[[], object]) -> Iterator[Outbox]:
    """Open a file of candidates, which is there at the end of the context, unless `check`, called just before that, raises."""
    with storage.replacing(name, check) as stream:
        yield (box := Outbox(stream, codec))
        index = np.array(box.index, np.int64).tobytes()
        stream.write(index)
        stream.write(np.array([len(box.index), zlib.crc32(index)], np.int64).tobytes())


def received(storage: Storage, name: str, target: int, codec: Codec, kind: np.dtype[Any], first: int) -> Iterator[Blob]:
    """Yield the blobs for a part in a file of candidates, in the order in which they were found.

    `first` is the row, in its level, of the first state that the task expanded.

    Raises:
        EngineError: the file is not what was written.
    """
    try:
        with storage.files.open_input_file(name) as stream:
            end = max(0, stream.size() - TAIL)
            blobs, check = np.frombuffer(stream.read_at(TAIL, end), np.int64).tolist()
            index = stream.read_at(ENTRY * blobs, end - ENTRY * blobs) if 0 <= ENTRY * blobs <= end else b""
            if zlib.crc32(index) != check or len(index) != ENTRY * blobs:
                raise ValueError("its index is damaged")
            for part, count, place, states, check in np.frombuffer(index, np.int64).reshape(-1, 5).tolist():
                if part == target:
                    content = pa.py_buffer(stream.read_at(states + count * (4 + kind.itemsize), place))
                    if zlib.crc32(content) != check:
                        raise ValueError("a blob is damaged")
                    yield Blob(count, content, states, codec, kind, first)
    except (FileNotFoundError, ValueError, pa.ArrowInvalid) as error:
        raise EngineError(f"{storage.place}: {name} is not what a task has written: {error}") from error

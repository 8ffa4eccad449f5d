"""The folder of a distributed search: its levels as Parquet files, their summaries, and the owner of the folder.

    run.json                     the search: model, bounds, properties, seed, the digest of the code, the record's columns
    program.ll, codec.ll         the code that workers load
    level-00012.json             a finished level: its files, and the result up to it
    levels/level=00012/part-003-of-008.parquet      its states, one row each, in the order in which they are found
    candidates/                  of the level after the last finished one, while a search runs (exchange.py)
    lock, owner, scratch         the active run, and where it keeps its temporary files

Depends on bytes and files, not on the search or Spark. The states of a level are split by ranges of fingerprints: part p of n
holds the fingerprints whose first log2(n) bits are p. The columns of a file are the `fingerprint`, that of the `parent`, the
`place` of the parent in its level, the number of the `action`, and the `record`. The rows of a file are in the order of place and
action; so are all states of a level, whatever file they are in (order.py). An initial state has its number as parent and place.

A file is written under a temporary name, which Parquet readers ignore, and
renamed when it is complete. A level is finished when its level-NNNNN.json exists. That file is written last; it contains the
digests of the level's files and of the previous summary.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from kafka_spec.model_check.code.arrays import Bytes, Places, Words
from kafka_spec.model_check.store.digest_json import Damaged, opened
from kafka_spec.spec.vocabulary.table import SpecError

FORMAT = 5
CHUNK = 4 << 20
"""Bytes of a file that are read at a time to compute its digest."""
CANDIDATES = "candidates"
"""The folder of what tasks send to each other."""
GROUP_BYTES = 16 << 20
"""Bytes of the states in a row group of a file; a reader of one state reads a whole group."""
TOP = (1 << 64) - 1


class Storage:
    """Read and write access to a folder: a local or mounted one, or a URI that pyarrow supports (s3://, gs://, hdfs://)."""

    def __init__(self, place: str) -> None:
        self.place = place
        self.local = None if re.match(r"[a-z0-9+]+://", place) else Path(place).absolute()
        if self.local is not None:
            self.files: Any = fs.SubTreeFileSystem(str(self.local), fs.LocalFileSystem())
        else:
            base, path = fs.FileSystem.from_uri(place)
            self.files = fs.SubTreeFileSystem(path, base)

    def read(self, name: str) -> bytes | None:
        """Return the content of a file, or None if there is none."""
        try:
            with self.files.open_input_stream(name) as stream:
                content: bytes = stream.read()
                return content
        except FileNotFoundError:
            return None

    def write(self, name: str, content: bytes) -> None:
        """Write a file atomically."""
        with self.replacing(name) as stream:
            stream.write(content)

    @contextlib.contextmanager
    def replacing(self, name: str, check: Callable[[], object] = lambda: None) -> Iterator[Any]:
        """Open a stream that replaces the file at the end of the context, unless `check`, called just before that, raises."""
        folder, _, last = name.rpartition("/")
        if folder:
            self.files.create_dir(folder, recursive=True)
        temporary = f"{folder}/_{last}.{uuid.uuid4().hex[:8]}" if folder else f"_{last}.{uuid.uuid4().hex[:8]}"
        try:
            with self.files.open_output_stream(temporary) as stream:
                yield stream
            check()
            self.files.move(temporary, name)
        except BaseException:
            with contextlib.suppress(OSError):
                self.files.delete_file(temporary)
            raise

    def names(self, folder: str = "", deep: bool = False) -> list[str]:
        """Return the paths of the entries of a folder, in order; `deep`: of all files below it. Empty if it does not exist."""
        infos = self.files.get_file_info(fs.FileSelector(folder, allow_not_found=True, recursive=deep))
        return sorted(info.path for info in infos if not deep or info.is_file)

    def size(self, name: str) -> int:
        """Return the size of a file in bytes, or -1 if it does not exist."""
        info = self.files.get_file_info([name])[0]
        return info.size if info.is_file else -1

    def remove_folder(self, folder: str) -> None:
        """Remove a folder with its content."""
        with contextlib.suppress(FileNotFoundError):
            self.files.delete_dir(folder)

    def remove_temporary(self, folder: str) -> None:
        """Remove the incomplete files of killed tasks from a folder."""
        for name in self.names(folder):
            if name.rpartition("/")[2].startswith("_"):
                with contextlib.suppress(FileNotFoundError):
                    self.files.delete_file(name)


def foreign(names: Sequence[str]) -> list[str]:
    """Return the names in a folder without run.json that a run does not write before that file."""
    own = ("lock", "owner", "scratch", *(["program.ll", "codec.ll"] if "owner" in names else []))
    return [name for name in names if name not in own and not re.fullmatch(r"_[a-z.]+\.[0-9a-f]{8}", name)]


class Lock:
    """Excludes a second run from a local folder while this process lives; the system releases the lock of a killed process."""

    def __init__(self, storage: Storage) -> None:
        """Take the lock, or raise BlockingIOError. In other than local folders only the name of the owner is written."""
        self.owner = uuid.uuid4().hex
        self.file: int | None = None
        if storage.local is not None:
            self.file = os.open(storage.local / "lock", os.O_RDWR | os.O_CREAT, 0o666)
            try:
                fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                self.release()
                raise
        storage.write("owner", self.owner.encode())

    def release(self) -> None:
        """Release the lock."""
        if self.file is not None:
            os.close(self.file)
            self.file = None


# ---------------------------------------------------------------------------------------------------------------------
# Levels


@dataclass(frozen=True)
class Rows:
    """Some states of a level, in the order in which they are found."""

    marks: Words
    places: Places
    """The place of each state's parent in the level before; of an initial state, its number."""
    parents: Words
    """The fingerprint of each state's parent; of an initial state, its number."""
    actions: npt.NDArray[Any]
    states: Bytes


def folder_of(level: int) -> str:
    """Return the folder of a level's files."""
    return f"levels/level={level:05d}"


def part_name(level: int, part: int, parts: int) -> str:
    """Return the name of the file of a part of a level."""
    return f"{folder_of(level)}/part-{part:03d}-of-{parts:03d}.parquet"


def summary(level: int) -> str:
    """Return the name of the summary, whose existence marks a level as finished."""
    return f"level-{level:05d}.json"


def parts_of(storage: Storage, level: int) -> list[tuple[str, int, int]]:
    """Return the files of a level in order: the name, and the first and last possible fingerprint."""
    found = []
    for name in storage.names(folder_of(level)):
        if match := re.search(r"/part-(\d+)-of-(\d+)\.parquet$", name):
            part, parts = int(match[1]), int(match[2])
            found.append((name, *part_range(part, parts)))
    return sorted(found, key=lambda entry: entry[1])


def part_range(part: int, parts: int) -> tuple[int, int]:
    """Return the first and last possible fingerprint of a part."""
    width = (1 << 64) // parts
    return part * width, (part + 1) * width - 1


def write_part(storage: Storage, name: str, rows: Rows, check: Callable[[], object] = lambda: None) -> dict[str, Any]:
    """Write a part of a level; return its entry in the summary. `check` is that of `Storage.replacing`."""
    columns = {
        "fingerprint": pa.array(rows.marks.view(np.int64)),
        "place": pa.array(rows.places),
        "parent": pa.array(rows.parents.view(np.int64)),
        "action": pa.array(rows.actions),
        "record": _binary(rows.states),
    }
    with storage.replacing(name, check) as stream:
        digesting = _Digesting(stream)
        pq.write_table(
            pa.table(columns),
            pa.PythonFile(digesting, mode="w"),
            row_group_size=max(1, GROUP_BYTES // rows.states.shape[1]),
            compression={**dict.fromkeys(columns, "none"), "record": "lz4"},
            use_dictionary=False,
            column_encoding={"place": "DELTA_BINARY_PACKED"},
            write_statistics=False,
            write_page_checksum=True,
            store_schema=False,
        )
    return _told(name, rows, digesting.bytes, digesting.digest.hexdigest())


def told_of(storage: Storage, name: str, rows: Rows) -> dict[str, Any]:
    """Return the summary's entry for an existing file with these states."""
    return _told(name, rows, *digest_of(storage, name))


def _told(name: str, rows: Rows, size: int, digest: str) -> dict[str, Any]:
    total = f"{int(rows.marks.sum(dtype=np.uint64)):016x}"
    return {"name": name, "rows": len(rows.marks), "bytes": size, "sum": total, "digest": digest}


class _Digesting:
    """An output stream that computes the length and the digest of the written bytes, independently of the storage."""

    closed = False

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self.bytes = 0
        self.digest = hashlib.sha256()

    def write(self, content: Any) -> int:
        """Write some bytes."""
        self._stream.write(content)
        self.digest.update(content)
        self.bytes += len(content)
        return len(content)

    def flush(self) -> None:
        """Do nothing, since this stream has no buffer."""


def digest_of(storage: Storage, name: str) -> tuple[int, str]:
    """Return length and digest of a file, or -1 and "" if it does not exist."""
    found, size = hashlib.sha256(), 0
    try:
        with storage.files.open_input_stream(name) as stream:
            while chunk := stream.read(CHUNK):
                found.update(chunk)
                size += len(chunk)
    except FileNotFoundError:
        return -1, ""
    return size, found.hexdigest()


def _binary(states: npt.NDArray[np.uint8]) -> Any:
    count, size = states.shape
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(size), count, [None, pa.py_buffer(np.ascontiguousarray(states))])


COLUMNS = ("place", "parent", "action", "record")
"""The columns of a file besides the fingerprint."""


def read_rows(storage: Storage, level: int, columns: Sequence[str] = COLUMNS) -> Iterator[Rows]:
    """Yield the states of a level, file by file, in batches; columns not requested are empty.

    Raises:
        Damaged: a file cannot be read.
    """
    for name, _, _ in parts_of(storage, level):
        yield from read_part(storage, name, columns)


def read_part(
    storage: Storage, name: str, columns: Sequence[str] = COLUMNS, begin: int = 0, end: int | None = None
) -> Iterator[Rows]:
    """Yield the rows begin..end-1 of a file, as `read_rows` does."""
    try:
        with storage.files.open_input_file(name) as stream:
            file = pq.ParquetFile(stream, page_checksum_verification=True)
            last = 0
            for group in range(file.num_row_groups):
                first, last = last, last + file.metadata.row_group(group).num_rows
                low, high = max(begin, first), last if end is None else min(end, last)
                if low < high:
                    table = file.read_row_group(group, columns=["fingerprint", *columns])
                    yield _rows(table.slice(low - first, high - low))
    except (pa.ArrowException, OSError, KeyError, ValueError) as error:
        raise Damaged(f"{storage.place}: {name} is damaged: {error}") from error


def _rows(table: Any) -> Rows:
    names = table.column_names

    def numbers(name: str, kind: Any) -> Any:
        return table.column(name).to_numpy().view(kind) if name in names else np.empty(0, kind)

    states: Bytes = np.empty((0, 0), np.uint8)
    if "record" in names:
        column = table.column("record").combine_chunks()
        size = column.type.byte_width
        states = np.frombuffer(column.buffers()[1], np.uint8)[column.offset * size :][: len(column) * size].reshape(-1, size)
    actions = table.column("action").to_numpy() if "action" in names else np.empty(0, np.uint32)
    return Rows(numbers("fingerprint", np.uint64), numbers("place", np.int64), numbers("parent", np.uint64), actions, states)


def marks_between(storage: Storage, level: int, low: int, high: int) -> Iterator[Words]:
    """Yield the fingerprints low..high of a level, some at a time, each time in ascending order."""
    for name, first, last in parts_of(storage, level):
        if first <= high and last >= low:
            for rows in read_part(storage, name, ()):
                marks = rows.marks if low <= first and last <= high else rows.marks[(rows.marks >= low) & (rows.marks <= high)]
                yield np.sort(marks)


def verify_part(storage: Storage, reported: Mapping[str, Any]) -> None:
    """Raise Damaged unless length and digest of a file equal those of its entry in the summary."""
    name, size = reported["name"], storage.size(reported["name"])
    if size != reported["bytes"]:
        there = f"is damaged: it has {size:,} bytes, and {reported['bytes']:,} were written" if size >= 0 else "is missing"
        raise Damaged(f"{storage.place}: {name} {there}")
    if digest_of(storage, name) != (reported["bytes"], reported["digest"]):
        raise Damaged(f"{storage.place}: {name} is damaged: its digest is not that of what was written")


def find(storage: Storage, level: int, mark: int, columns: Sequence[str] = ()) -> Rows | None:
    """Return the state with a fingerprint in a level as one row, or None if there is none."""
    for name, first, last in parts_of(storage, level):
        if first <= mark <= last:
            for rows in read_part(storage, name, columns):
                for at in np.flatnonzero(rows.marks == np.uint64(mark))[:1].tolist():
                    one = slice(at, at + 1)
                    return Rows(rows.marks[one], rows.places[one], rows.parents[one], rows.actions[one], rows.states[one])
    return None


# ---------------------------------------------------------------------------------------------------------------------
# The description of the run and the summaries of its levels


def unsealed(storage: Storage, name: str) -> dict[str, Any] | None:
    """Return the object in such a file, or None if the file does not exist.

    Raises:
        Damaged: the digest does not match.
    """
    raw = storage.read(name)
    if raw is None:
        return None
    return opened(raw, f"{storage.place}: {name}")


def run_of(storage: Storage) -> dict[str, Any]:
    """Return the description of the run in a state-dir.

    Raises:
        SpecError: the folder holds no run.
    """
    about = unsealed(storage, "run.json")
    if about is None:
        raise SpecError(f"{storage.place} contains no run; name the --state-dir of one")
    if about["format"] != FORMAT:
        raise SpecError(f"{storage.place} contains no run of --engine spark in format {FORMAT}, but {about['format']}; name one")
    return about


def locate(storage: Storage, mark: int) -> int:
    """Return the level of the state with a fingerprint, or -1 if there is no such state."""
    for level in range(len(finished_levels(storage))):
        if find(storage, level, mark) is not None:
            return level
    return -1


def path_to(storage: Storage, level: int, mark: int) -> tuple[int, list[int]]:
    """Return the number of the initial state and the actions that first led to a state of a level."""
    actions: list[int] = []
    for at in range(level, -1, -1):
        row = find(storage, at, mark, ("parent", "action"))
        if row is None:
            raise Damaged(f"{storage.place}: level {at} has no state {mark:016x}")
        mark = int(row.parents[0])
        actions.insert(0, int(row.actions[0]))
    return mark, actions[1:]


def finished_levels(storage: Storage) -> list[dict[str, Any]]:
    """Return the summaries of the finished levels, in order; check that each contains the digest of the one before.

    Raises:
        Damaged: a summary is missing, or belongs to another run.
    """
    found: list[dict[str, Any]] = []
    while (content := unsealed(storage, summary(len(found)))) is not None:
        before = found[-1]["digest"] if found else (unsealed(storage, "run.json") or {}).get("digest")
        if content["previous"] != before:
            raise Damaged(f"{storage.place}: {summary(len(found))} does not follow from the level before; is it of another run?")
        found.append(content)
    if any(re.fullmatch(r"level-\d+\.json", name) and name > summary(len(found)) for name in storage.names()):
        raise Damaged(f"{storage.place}: {summary(len(found))} is missing")
    return found

"""Claims about paths where the levels of a search are in a folder: the graph is read from it, once all states are known.

The search itself records no steps. Tasks expand each file of the finished levels once more, and write what the claims need beside
them: for each state which predicates and antecedents it meets and whether a bound cuts it off, and the steps out of states that do
not meet all predicates. The driver reads that file by file and judges it as the embedded engine does (path_claims.py), 12 to 16
bytes a step. States have the same numbers, so findings are the same. A repeated task writes the same again, and a search that is
continued after a crash needs nothing that the crash took.

Depends on the state-dir and the compiled code, not on Spark.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kafka_spec.model_check.arrays import Words, address
from kafka_spec.model_check.code import Code
from kafka_spec.model_check.path_claims import PathClaims
from kafka_spec.model_check.sealed import Damaged
from kafka_spec.model_check.shards import Slice
from kafka_spec.model_check.spark.state_dir import Storage, parts_of, read_rows

FOLDER = "paths"
"""The folder of what tasks write; it is removed when it has been judged."""


@dataclass(frozen=True)
class Piece:
    """A file of a finished level, by its numbers."""

    level: int
    low: int
    high: int
    """The first and the last fingerprint that it may hold."""

    @property
    def name(self) -> str:
        """The file that says what its states and steps are to the claims."""
        return f"{FOLDER}/{self.level:05d}-{self.low:016x}.npz"


def pieces(storage: Storage, levels: int) -> list[Piece]:
    """Return the files of the finished levels, in the order of their states."""
    return [Piece(level, low, high) for level in range(levels) for _, low, high in parts_of(storage, level)]


def write(
    code: Code, storage: Storage, room: Slice, chunk: int, piece: Piece, kept: Sequence[bool], own: Callable[[], object]
) -> str:
    """Write what the claims need of a file of a level; return the digest. `kept` says whose actions' steps matter, by number."""
    claims, ways = len(code.shape.paths), code.shape.ways
    matter = np.array(kept, np.bool_)
    rows = list(read_rows(storage, piece.level, piece.low, piece.high, ("record",)))
    states = np.ascontiguousarray(np.concatenate([some.states for some in rows]))
    marks: Words = np.concatenate([some.marks for some in rows])
    meets, cuts = np.zeros((len(marks), ways), np.bool_), np.zeros(len(marks), np.bool_)
    steps: list[tuple[npt.NDArray[np.uint32], Words, npt.NDArray[np.uint32]]] = []
    for begin in range(0, len(marks), chunk):
        end = min(len(marks), begin + chunk)
        judge(code, states[begin:end], meets[begin:end])
        room.cuts[: end - begin] = 0
        room.start_level()
        room.expand(states[begin:end], marks[begin:end], begin)
        if room.count < 0:
            raise Damaged(f"{storage.place}: level {piece.level} has states that the search did not expand")
        cuts[begin:end] = room.cuts[: end - begin]
        parents, actions = room.parents[: room.count], room.actions[: room.count]
        chosen = matter[actions] & ~meets[parents, :claims].all(axis=1)
        steps.append((parents[chosen], room.marks[: room.count][chosen], actions[chosen]))
    columns = [np.concatenate(column) for column in zip(*steps, strict=True)]
    content = io.BytesIO()
    np.savez(content, meets=meets, cuts=cuts, parents=columns[0], targets=columns[1], actions=columns[2])
    raw = content.getvalue()
    own()
    storage.write(piece.name, raw)
    return hashlib.sha256(raw).hexdigest()


def judge(code: Code, states: npt.NDArray[np.uint8], meets: npt.NDArray[np.bool_]) -> None:
    """Set which predicates and antecedents of the claims about paths the states meet; they were judged without a fault before."""
    firsts = np.zeros(code.shape.states + 1 + code.shape.state_tests, np.int64)
    code.judge(address(states), len(states), address(firsts), address(meets))


def record(paths: PathClaims, storage: Storage, told: Iterable[tuple[Piece, str]], check: Callable[[], object]) -> None:
    """Record the states and steps of all levels, of files in their order, each with its digest; call `check` often."""
    level = -1
    files: list[tuple[Piece, str]] = []
    for piece, digest in told:
        if piece.level != level:
            _record_level(paths, storage, level, files, check)
            level, files = piece.level, []
        files.append((piece, digest))
    _record_level(paths, storage, level, files, check)


def _record_level(
    paths: PathClaims, storage: Storage, level: int, files: Sequence[tuple[Piece, str]], check: Callable[[], object]
) -> None:
    found: list[Mapping[str, npt.NDArray[Any]]] = []
    for piece, digest in files:
        check()
        raw = storage.read(piece.name)
        if raw is None or hashlib.sha256(raw).hexdigest() != digest:
            raise Damaged(f"{storage.place}: {piece.name} is not what was written")
        found.append(dict(np.load(io.BytesIO(raw))))
    if not found:
        return
    marks: Words = np.concatenate([rows.marks for rows in read_rows(storage, level, columns=())])
    paths.add_level(marks, np.concatenate([some["meets"] for some in found]))
    begin = 0
    for some in found:
        check()
        paths.add_steps(begin, some["cuts"], some["parents"] + np.uint32(begin), some["targets"], some["actions"])
        begin += len(some["cuts"])


def mark_at(storage: Storage, level: int, index: int) -> int:
    """Return the fingerprint of the state with an index in a level."""
    for rows in read_rows(storage, level, columns=()):
        if index < len(rows.marks):
            return int(rows.marks[index])
        index -= len(rows.marks)
    raise Damaged(f"{storage.place}: level {level} has fewer states than it had")

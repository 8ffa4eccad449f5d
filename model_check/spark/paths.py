"""Properties about paths where the levels of a search are in a folder: the graph is read from it, once all states are known.

The search itself records no steps. Tasks expand each file of the finished levels once more, and write what the properties need
beside them: for each state which predicates and antecedents it meets and whether a bound cuts it off, and the steps out of states
that do not meet all predicates. The driver reads that file by file and judges it as the embedded engine does (path_claims.py), 12
to 16 bytes a step. States have the same numbers, so findings are the same. A repeated task writes the same again, and a search that
is continued after a crash needs nothing that the crash took.

Depends on the state-dir and the compiled code, not on Spark.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import PurePosixPath
from typing import Any

import numpy as np
import numpy.typing as npt

from kafka_spec.model_check.code.arrays import Words, address
from kafka_spec.model_check.code.compiled import Code
from kafka_spec.model_check.search.path_properties import PathProperties
from kafka_spec.model_check.search.slices import Slice
from kafka_spec.model_check.spark.order import Order
from kafka_spec.model_check.spark.state_dir import Storage, finished_levels, read_part
from kafka_spec.model_check.store.digest_json import Damaged

FOLDER = "paths"
"""The folder of what tasks write; it is removed when it has been judged."""


@dataclass(frozen=True)
class Piece:
    """A file of a finished level."""

    level: int
    file: str
    states: int

    @property
    def name(self) -> str:
        """The file that says what its states and steps are to the properties."""
        return f"{FOLDER}/{self.level:05d}-{PurePosixPath(self.file).stem}.npz"


def pieces(storage: Storage) -> list[Piece]:
    """Return the files of the finished levels."""
    return [
        Piece(done["level"], reported["name"], reported["rows"]) for done in finished_levels(storage) for reported in done["files"]
    ]


def write(
    code: Code, storage: Storage, room: Slice, chunk: int, piece: Piece, kept: Sequence[bool], own: Callable[[], object]
) -> str:
    """Write what properties need of a file of a level; return the digest. `kept` says whose actions' steps matter, by number."""
    claims, ways = len(code.shape.paths), code.shape.ways
    matter = np.array(kept, np.bool_)
    rows = list(read_part(storage, piece.file, ("record",)))
    states = np.ascontiguousarray(np.concatenate([some.states for some in rows]))
    marks: Words = np.concatenate([some.marks for some in rows])
    meets, cuts = np.zeros((len(marks), ways), np.bool_), np.zeros(len(marks), np.bool_)
    steps: list[tuple[npt.NDArray[np.uint32], Words, npt.NDArray[np.uint32]]] = []
    judge(code, states, meets)
    room.start_level()
    for begin, end in room.over(states, marks, chunk):
        if room.count < 0:
            raise Damaged(f"{storage.place}: level {piece.level} has states that the search did not expand")
        cuts[begin:end] = room.cuts[: end - begin]
        parents, targets, actions = room.steps
        chosen = matter[actions] & (code.shape.all_steps | ~meets[parents, :claims].all(axis=1))
        steps.append((parents[chosen], targets[chosen], actions[chosen]))
    columns = [np.concatenate(column) for column in zip(*steps, strict=True)]
    content = io.BytesIO()
    np.savez(content, meets=meets, cuts=cuts, parents=columns[0], targets=columns[1], actions=columns[2])
    raw = content.getvalue()
    own()
    storage.write(piece.name, raw)
    return hashlib.sha256(raw).hexdigest()


def judge(code: Code, states: npt.NDArray[np.uint8], meets: npt.NDArray[np.bool_]) -> None:
    """Set which predicates and antecedents of the path properties the states meet; they were judged without a fault before."""
    firsts = np.zeros(code.shape.states + 1 + code.shape.state_tests, np.int64)
    code.judge(address(states), len(states), address(firsts), address(meets))


def record(
    paths: PathProperties, storage: Storage, reported: Iterable[tuple[Piece, str]], actions: int, check: Callable[[], object]
) -> None:
    """Record the states and steps of all levels, of files by level, each with its digest; call `check` often.

    `actions` is how many actions there are.
    """
    for _, files in groupby(reported, lambda one: one[0].level):
        _record_level(paths, storage, list(files), actions, check)


def _record_level(
    paths: PathProperties, storage: Storage, files: Sequence[tuple[Piece, str]], actions: int, check: Callable[[], object]
) -> None:
    found: list[Mapping[str, npt.NDArray[Any]]] = []
    for piece, digest in files:
        check()
        raw = storage.read(piece.name)
        if raw is None or hashlib.sha256(raw).hexdigest() != digest:
            raise Damaged(f"{storage.place}: {piece.name} is not what was written")
        found.append(dict(np.load(io.BytesIO(raw))))
    order = Order.read(storage, [(piece.file, piece.states) for piece, _ in files], actions)
    rows = np.argsort(order.places)
    paths.add_level(order.marks[rows], np.concatenate([some["meets"] for some in found])[rows])
    check()
    first = np.cumsum([0, *(piece.states for piece, _ in files)])
    parents = np.concatenate([order.places[some["parents"] + begin] for some, begin in zip(found, first, strict=False)])
    steps = np.argsort(parents, kind="stable")
    check()
    paths.add_steps(
        0,
        np.concatenate([some["cuts"] for some in found])[rows],
        parents[steps].astype(np.uint32),
        np.concatenate([some["targets"] for some in found])[steps],
        np.concatenate([some["actions"] for some in found])[steps],
    )


def mark_at(storage: Storage, level: int, place: int, actions: int) -> int:
    """Return the fingerprint of the state at a place of a level; `actions` is how many actions there are."""
    files = [(piece.file, piece.states) for piece in pieces(storage) if piece.level == level]
    order = Order.read(storage, files, actions)
    return int(order.marks[np.flatnonzero(order.places == place)[0]])

"""The work of a Spark task: expand a part of a level, or keep the new states among the candidates for a part.

Depends on packed records, compiled code and the state-dir, not on Spark. A task is given numbers of parts, and yields reports:
plain objects for the driver. Candidates travel through files of the state-dir (exchange.py).

Theory of operation. A level is in the order in which one search by itself would find its states. The states of a part are in that
order, so a task finds candidates in the order of their parents, and sends them so. The worker that keeps the new states of a part
merges what it gets from all tasks by the places of the parents in their level (merging.py, order.py), which are known by then. So
it takes the candidates in the order in which one search would find them: the first of equal ones has the first parent and action,
the new states are in order again, and candidates are never compared with each other. Nothing depends on the order in which tasks
run, so a repeated task gives the same result.

The seen fingerprints of a shard are a table in a file of the executor's scratch folder (tables.py). The executor's Python
workers map the file into memory, one worker at a time. The table records the level up to which it is complete. A table that is
behind is updated from the committed levels; one that is ahead, or whose change was interrupted, is rebuilt from them. The committed
files are authoritative: a task whose file already exists reads the new states from it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kafka_spec.model_check.code.arrays import Words, address, some_of
from kafka_spec.model_check.code.columns import unpacked
from kafka_spec.model_check.code.compiled import Code
from kafka_spec.model_check.code.row_codec import Codec
from kafka_spec.model_check.llvm.machine_code import CodeText, text_known
from kafka_spec.model_check.record import counted
from kafka_spec.model_check.search.slices import Slice, room_for
from kafka_spec.model_check.search.stored_states import Records, merged
from kafka_spec.model_check.spark import exchange
from kafka_spec.model_check.spark import paths as paths_on_spark
from kafka_spec.model_check.spark.merging import Room, windows
from kafka_spec.model_check.spark.order import Files, Order, keys_of
from kafka_spec.model_check.spark.state_dir import (
    Rows,
    Storage,
    marks_between,
    part_name,
    part_range,
    read_part,
    told_of,
    write_part,
)  # fmt: skip
from kafka_spec.model_check.spark.tables import Blob, Mapped, Outgoing, Sieve, Table
from kafka_spec.model_check.spark.task import Refused, Task

BLOB_BYTES = 1 << 19
"""Bytes of the candidates of a blob: few enough to hold one for each part of a level, enough to make its overhead negligible."""
SLICE = 1 << 14
"""States that are expanded at a time."""
SLICE_BYTES = 256 << 20
"""The most bytes of the candidates of a slice, if they are those of more than one state."""


class Worker:
    """The data that a Python worker keeps between tasks."""

    now: Worker | None = None

    def __init__(self, task: Task) -> None:
        self.task, shape = task, task.shape
        self.storage = Storage(task.state_dir)
        self.code = Code(self.text_of("program.ll"), shape, tier=task.tier)
        self.codec = Codec(self.text_of("codec.ll"), task.row_bytes, shape.record_bytes, self.code.seed)
        self.kind = np.dtype(f"u{shape.action_bits // 8}")
        self.slice = Slice(self.code, room_for(shape, SLICE, SLICE_BYTES))
        self.blob_size = max(1, BLOB_BYTES // shape.record_bytes)
        self.fresh = Records(shape.record_bytes, shape.action_bits)
        self.room = Room(shape.record_bytes, self.blob_size)
        self.sieves: list[Sieve] = []
        self.seconds = self.behind = 0.0
        """The cost of the last deduplication, and of updating its tables before."""
        self.mapped: Mapped = {}

    def text_of(self, name: str) -> CodeText:
        """Return the text of code in the state-dir."""
        text = self.storage.read(name)
        if text is None:
            raise Refused(f"{name} is not in {self.task.state_dir}: every worker must reach the state-dir under this name")
        return text_known(text.decode())

    @classmethod
    def of(cls, task: Task) -> Worker:
        """Return this process's worker for a run."""
        if cls.now is None or cls.now.task != task:
            cls.now = cls(task)
        return cls.now

    # expanding

    def expand(self, level: int, rows: Rows, number: int, tasks: int, next_parts: int) -> dict[str, Any]:
        """Write the distinct successors of some states of a level, each for its part of the next level; return a report.

        This is task `number` of so many that expand the level.
        """
        piece, states, marks = self.slice, rows.states, rows.marks
        if len(marks) >= 1 << 32:
            raise Refused(f"a task is to expand {len(marks):,} states, and numbers its states by 32 bits")
        piece.counters[:] = 0
        piece.recent[:] = 0  # what another task has found is none of this one
        piece.start_level()
        sieves = self.sieves_for(next_parts, len(marks))
        name = exchange.file_of(level + 1, number, tasks, next_parts)
        with exchange.outbox(self.storage, name, self.codec, self.own) as box:
            for _ in piece.over(states, marks, SLICE):
                if piece.count < 0:
                    break
                for sieve in sieves:
                    sieve.take(piece)
                for target, sieve in enumerate(sieves):
                    if sieve.new.count >= self.blob_size:
                        self.send(box, target, sieve.empty())
            for target, sieve in enumerate(sieves):
                self.send(box, target, sieve.empty())
        return self.expansion(level, piece.counters, rows, box.bytes)

    def send(self, box: exchange.Outbox, target: int, found: Outgoing) -> None:
        """Write candidates for a part, as blobs."""
        for begin in range(0, len(found.marks), self.blob_size):
            box.send(target, found[begin : begin + self.blob_size])

    def sieves_for(self, parts: int, states: int) -> list[Sieve]:
        """Return an empty sieve for each part of the next level."""
        bits = parts.bit_length() - 1
        while len(self.sieves) < parts:
            shape, room = self.task.shape, self.blob_size + len(self.slice.marks)
            new = Records(shape.record_bytes, shape.action_bits, room)
            self.sieves.append(Sieve(self.code, new))
        for number, sieve in enumerate(self.sieves[:parts]):
            sieve.start(number, bits, 3 * states // parts)
        return self.sieves[:parts]

    def state(self, rows: Rows, index: int) -> tuple[int, int]:
        """Return the key and the fingerprint of a state, for a report: the driver reports the state with the smallest key."""
        one = slice(index, index + 1)
        some = Rows(rows.marks[one], rows.places[one], rows.parents[one], rows.actions[one], rows.states[one])
        return int(keys_of(some, self.task.shape.actions)[0]), int(rows.marks[index])

    def expansion(self, level: int, counters: npt.NDArray[np.int64], rows: Rows, sent: int) -> dict[str, Any]:
        """Return the counts and findings on the edges out of some states of a level."""
        shape, code = self.task.shape, self.code

        def place(cell: int) -> tuple[int, int, int] | None:
            return (*self.state(rows, int(counters[cell])), int(counters[cell + 1])) if counters[cell] >= 0 else None

        fault = int(counters[counted.FAULT])
        where = self.state(rows, int(counters[counted.FAULT_STATE])) if fault else ()
        return {
            "kind": "expanded",
            "level": level,
            "digest": int(counters[counted.DIGEST]) & ((1 << 64) - 1),
            "fired": counters[code.fired : code.fired + shape.rules].tolist(),
            "cut": counters[code.bounded : code.met].tolist(),
            "met": counters[code.met :].tolist(),
            "stuck": place(counted.STUCK),
            "untyped": place(counted.UNTYPED),
            "steps": [place(counted.HEADER + 2 * number) for number in range(shape.steps)],
            "fault": (*where, fault, int(counters[counted.FAULT_ACTION])) if fault else None,
            "sent": sent,
        }

    # keeping new states

    def candidates(self, level: int, part: int, parts: int, firsts: Sequence[int]) -> list[Blob]:
        """Return the candidates for a part of a level.

        `firsts` has, for each task that found some, the row in the level before of the first state that it expanded.
        """
        names = [exchange.file_of(level, source, len(firsts), parts) for source in range(len(firsts))]
        return [
            blob
            for name, first in zip(names, firsts, strict=True)
            for blob in exchange.received(self.storage, name, part, self.codec, self.kind, first)
        ]

    def keep(self, level: int, part: int, parts: int, blobs: Sequence[Blob], before: Files) -> tuple[Rows, dict[str, Any]]:
        """Commit the new states among the candidates for a part of a level; return them, and the summary's entry for the file.

        `before` are the files of the level before.
        """
        name, self.seconds, self.behind = part_name(level, part, parts), 0.0, 0.0
        if self.storage.size(name) >= 0:
            rows = joined(list(read_part(self.storage, name)), self.task.shape.record_bytes, self.kind)
            return rows, told_of(self.storage, name, rows)
        width = self.task.shards // parts
        with ExitStack() as stack:
            tables = [
                stack.enter_context(Table(self.task, self.code, self.mapped, number))
                for number in range(part * width, (part + 1) * width)
            ]
            began = time.perf_counter()
            self.catch_up(tables, level, part, parts)
            self.behind = time.perf_counter() - began
            order = Order.shared(self.task, self.storage, level - 1, before)
            for table in tables:
                table.change()
            rows = self.new_states(tables, blobs, order)
            reported: dict[str, Any] = {"name": name, "rows": 0}
            if len(rows.marks):
                self.own()
                reported = write_part(self.storage, name, rows, self.own)
            for table in tables:
                table.commit(level)
        return rows, reported

    def new_states(self, tables: Sequence[Table], blobs: Sequence[Blob], order: Order) -> Rows:
        """Return the new states among candidates, in order; they are in room that the next call uses again."""
        new = self.fresh
        new.count = 0
        places, parents = [np.empty(0, np.int64)], [np.empty(0, np.uint64)]
        for slots in windows(blobs, order, self.room):
            began = time.perf_counter()
            marks = self.room.marks[slots]
            chosen = slots[merged([table.deduplicate(marks) for table in tables])]
            self.seconds += time.perf_counter() - began
            new.take_at_once(self.code, self.room, chosen)
            places.append(self.room.places[chosen])
            parents.append(order.marks[self.room.rows[chosen]])
        some = slice(new.count)
        return Rows(new.marks[some], np.concatenate(places), np.concatenate(parents), new.actions[some], new.states[some])

    def catch_up(self, tables: Sequence[Table], level: int, part: int, parts: int) -> None:
        """Update tables to the level before this one."""
        for table in tables:
            if table.changing or table.level >= level:
                table.clear()
        low, high = part_range(part, parts)
        width = (high - low + 1) // len(tables)
        for before in range(min((table.level for table in tables), default=level) + 1, level):
            behind = [(number, table) for number, table in enumerate(tables) if table.level < before]
            for marks in marks_between(self.storage, before, low, high):
                edges = np.array([low + number * width for number in range(len(tables))], np.uint64)
                starts = [*np.searchsorted(marks, edges).tolist(), len(marks)]
                for number, table in behind:
                    table.change()
                    table.add(marks[starts[number] : starts[number + 1]])
            for _, table in behind:
                table.commit(before)

    def own(self) -> None:
        """Raise Refused unless the run still owns the state-dir."""
        if self.storage.read("owner") != self.task.owner.encode():
            raise Refused(f"another run has taken {self.task.state_dir} over")

    def judged(self, rows: Rows, known: Sequence[bool] | None) -> dict[str, Any]:
        """Return what the judge says of new states.

        For each property the first state that decides it, the fault of a property, how often antecedents held, and for each
        property about paths how many states owe it a path. `known` says which properties about states are decided; None: they need
        no judge.
        """
        shape = self.task.shape
        claims = shape.states
        decided = [True] * claims if known is None else known
        firsts = np.array([*(0 if one else -1 for one in decided), *[0] * (1 + shape.state_tests)], np.int64)
        states = np.ascontiguousarray(rows.states)
        meets = np.zeros((len(states), shape.ways), np.bool_)
        judges = shape.ways or (claims and known is not None)
        index = self.code.judge(address(states), len(states), address(firsts), address(meets)) if judges else -1
        owing = [~meets[:, place] & (True if when < 0 else meets[:, when]) for place, when in enumerate(shape.paths)]
        found = [
            None if one or first < 0 else self.state(rows, first) for first, one in zip(firsts.tolist(), decided, strict=False)
        ]
        fault = (*self.state(rows, index), int(firsts[claims])) if index >= 0 else None
        owed = [int(some.sum()) for some in owing]
        return {"firsts": found, "fault": fault, "met": firsts[claims + 1 :].tolist(), "owed": owed}


# ---------------------------------------------------------------------------------------------------------------------
# Tasks


def source(
    plain: Mapping[str, Any], level: int, pieces: Sequence[tuple[str, int, int]], next_parts: int, numbers: Iterable[int]
) -> Iterator[dict[str, Any]]:
    """Expand pieces of a committed level: the file, the first row, and the one after the last."""
    worker = Worker.of(Task.of(plain))
    for number in numbers:
        name, begin, end = pieces[number]
        rows = list(read_part(worker.storage, name, begin=begin, end=end))
        yield worker.expand(level, joined(rows, worker.task.shape.record_bytes, worker.kind), number, len(pieces), next_parts)


def stage(
    plain: Mapping[str, Any],
    level: int,
    firsts: Sequence[int],
    before: Files,
    parts: int,
    next_parts: int,
    known: Sequence[bool] | None,
    compared: int,
    numbers: Iterable[int],
) -> Iterator[dict[str, Any]]:
    """Keep the new states among the candidates for parts of a level; expand them.

    The candidates are of as many tasks as `firsts` has rows: those of the first states that they expanded. `before` are the files
    of the level before. `compared` is how many states of a part are reported, since the driver compares them with their renamings.
    """
    worker = Worker.of(Task.of(plain))
    for part in numbers:
        blobs = worker.candidates(level, part, parts, firsts)
        rows, reported = worker.keep(level, part, parts, blobs, before)
        cost = {"candidates": sum(blob.count for blob in blobs), "seconds": worker.seconds, "behind": worker.behind}
        blobs.clear()
        actions = np.bincount(rows.actions, minlength=worker.task.shape.actions).tolist()
        some = some_of(len(rows.marks), compared)
        sample = rows.marks[some].tobytes(), rows.states[some].tobytes()
        reported = {"file": reported, "actions": actions, "cost": cost, "sample": sample}
        yield {"kind": "level", "level": level, **reported, **worker.judged(rows, known)}
        yield worker.expand(level, rows, part, parts, next_parts)


def paths(
    plain: Mapping[str, Any], pieces: Sequence[tuple[int, str, int]], kept: Sequence[bool], numbers: Iterable[int]
) -> Iterator[dict[str, Any]]:
    """Write what properties about paths need of the files of finished levels, by number."""
    worker = Worker.of(Task.of(plain))
    for number in numbers:
        piece = paths_on_spark.Piece(*pieces[number])
        digest = paths_on_spark.write(worker.code, worker.storage, worker.slice, SLICE, piece, kept, worker.own)
        yield {"number": number, "digest": digest}


def prepare(plain: Mapping[str, Any] | None, numbers: Iterable[int]) -> Iterator[dict[str, Any]]:
    """Load the code of a run in advance; `plain` is None if there is no run."""
    if plain is not None:
        Worker.of(Task.of(plain))
    for _ in numbers:  # Spark does not reuse a worker that leaves its input unread
        pass
    yield from ()


def forget(plain: Mapping[str, Any], numbers: Iterable[int]) -> Iterator[dict[str, Any]]:
    """Remove the tables and the order of a run from this executor."""
    folder = Task.of(plain).folder
    for _ in numbers:
        for file in [*folder.glob("shard-*"), *folder.glob("order*")] if folder.exists() else ():
            file.unlink(missing_ok=True)
    yield from ()


def walk(plain: Mapping[str, Any], numbers: Iterable[int]) -> Iterator[dict[str, Any]]:
    """Walk at random, as walk_task.py says; the numbers are those of the tasks."""
    from kafka_spec.model_check.spark.walk_task import run_task  # a search does not need it

    for number in numbers:
        yield run_task(plain, number)


def named(plan: Mapping[str, Any], batches: Iterator[Any]) -> Iterator[Any]:
    """Unpack states into named columns; `plan` contains the columns, the rules and the number of each rule's first action."""
    for batch in batches:
        level, marks, parents, actions = (batch.column(number).to_numpy() for number in range(4))
        if not len(marks):
            continue
        records = np.frombuffer(b"".join(batch.column(4).to_pylist()), np.uint8).reshape(len(marks), -1)
        start = level == 0
        rule = np.searchsorted(np.array(plan["first"]), actions, "right") - 1
        texts = [pa.array([f"{mark:016x}" for mark in column.view(np.uint64).tolist()]) for column in (marks, parents)]
        columns = [
            pa.array(level),
            texts[0],
            pc.if_else(pa.array(start), pa.scalar(None, pa.string()), texts[1]),
            pc.if_else(pa.array(start), pa.scalar(None, pa.string()), pa.array(np.array(plan["rules"], object)[rule], pa.string())),
            *(unpacked(records, column) for column in plan["columns"]),
        ]
        names = ["level", "fingerprint", "parent", "rule", *(column["name"] for column in plan["columns"])]
        yield pa.RecordBatch.from_arrays(columns, names=names)


def joined(pieces: Sequence[Rows], size: int, kind: np.dtype[Any]) -> Rows:
    """Return the concatenation of some rows."""
    if len(pieces) == 1:
        return pieces[0]
    empty: Words = np.empty(0, np.uint64)
    return Rows(
        np.concatenate([empty, *(piece.marks for piece in pieces)]),
        np.concatenate([np.empty(0, np.int64), *(piece.places for piece in pieces)]),
        np.concatenate([empty, *(piece.parents for piece in pieces)]),
        np.concatenate([np.empty(0, kind), *(piece.actions.astype(kind, copy=False) for piece in pieces)]),
        np.concatenate([np.empty((0, size), np.uint8), *(piece.states for piece in pieces)]),
    )

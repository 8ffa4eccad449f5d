"""The engine on Spark: the same parser and checker, first by source, then by partition.

Theory of operation: A task reads one source in order, since batches and gates need the order, and records its events by partition:
one row for each partition of a chunk. The rows are shuffled by partition and sorted by time, so that both sides of a request are
close. A second task then passes each partition's events to the same `PartitionCheck` that the embedded engine uses. The result has
one row for each partition, channel and source.

Depends on Spark and the events, not on log texts or rules.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import Row, SparkSession

from kafka_spec.conformance.outcome.spark import session_for
from kafka_spec.conformance.validate.actors import Actors
from kafka_spec.conformance.validate.embedded import ChannelCheck, ChannelResult, Results, SourceResult, of_source
from kafka_spec.conformance.validate.events import Cursor
from kafka_spec.conformance.validate.files import Source, chunks
from kafka_spec.conformance.validate.lines import Parser
from kafka_spec.conformance.validate.partitions import PartitionCheck, PartitionResult

DDL = "key string, when string, source int, row long, data binary"
CHANNEL, SOURCE = "\x00channel", "\x00source"
"""The prefix of keys that are not partitions."""
PARTS_PER_CORE = 4
Event = tuple[Any, int, bytes, str, tuple[Any, ...]]
"""The actor, the place and the time of the line, the listener's method, and its arguments."""


def run(sources: Sequence[Source], era: str | None, keeps_moments: bool, master: str, given: SparkSession | None = None) -> Results:
    """Read and check all sources with Spark, in a session of its own or in a given one.

    Raises:
        Stopped: Spark gave the job up.
    """
    with session_for(master, given, queries=True) as spark:
        rows = _rows_of(spark, sources, era, keeps_moments)
    results = [pickle.loads(row.data) for row in rows]
    found: list[tuple[int, SourceResult]] = [one for one in results if isinstance(one, tuple)]
    partitions = [one for one in results if isinstance(one, PartitionResult)]
    channels = [one for one in results if isinstance(one, ChannelResult)]
    return Results(
        [one for _, one in sorted(found, key=lambda pair: pair[0])],
        sorted(partitions, key=lambda one: one.name),
        sorted(channels, key=lambda one: one.followed),
    )


def _rows_of(spark: SparkSession, sources: Sequence[Source], era: str | None, keeps_moments: bool) -> list[Row]:
    numbered = [(number, pickle.dumps(source)) for number, source in enumerate(sources)]
    parts = max(1, int(spark.sparkContext.defaultParallelism) * PARTS_PER_CORE)
    frame = spark.createDataFrame(numbered, "number int, source binary").repartition(max(1, len(numbered)), "number")
    events = frame.mapInArrow(_events, DDL)
    sorted_events = events.repartition(parts, "key").sortWithinPartitions("key", "when", "source", "row")
    return sorted_events.mapInArrow(_checker(era, keeps_moments), "data binary").collect()


# ---------------------------------------------------------------------------------------------------------------------
# By source


class Recorder:
    """Listens to one actor's events of one partition, and records them."""

    def __init__(self, book: Book, key: str, actor: Any) -> None:
        self._book, self._key, self._actor = book, key, actor

    def __getattr__(self, name: str) -> Callable[..., None]:
        book, key, actor, cursor = self._book, self._key, self._actor, self._book.cursor

        def record(*arguments: Any) -> None:
            book.events.setdefault(key, []).append((actor, cursor.place, cursor.line[1:24], name, arguments))

        setattr(self, name, record)
        return record


class ChannelRecorder:
    """Listens to the whole requests of one channel, and records them."""

    def __init__(self, book: Book, key: str) -> None:
        self._book, self._key = book, key

    def send(self, request: int, place: int, when: bytes) -> None:
        """A request with this number of partitions is sent."""
        self._book.events.setdefault(self._key, []).append((None, place, when, "send", (request, place, when)))

    def receive(self, request: int, number: int, place: int, when: bytes) -> None:
        """A request with this number of partitions arrived."""
        self._book.events.setdefault(self._key, []).append((None, place, when, "receive", (request, number, place, when)))

    def sender_gap(self) -> None:
        """Lines of the controller are missing here."""
        cursor = self._book.cursor
        self._book.events.setdefault(self._key, []).append((None, cursor.place, cursor.line[1:24], "sender_gap", ()))

    def receiver_gap(self) -> None:
        """Lines of the broker are missing here."""
        cursor = self._book.cursor
        self._book.events.setdefault(self._key, []).append((None, cursor.place, cursor.line[1:24], "receiver_gap", ()))


class Book:
    """The events of one source, by key, until they are taken; makes the recorders."""

    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor
        self.events: dict[str, list[Event]] = {}

    def of_controller(self, controller: int, epoch: int, plain: bool, name: str) -> Any:
        """Return the listener to a controller's lines about a partition."""
        return Recorder(self, name, (controller, epoch, plain))

    def of_broker(self, broker: int, name: str) -> Any:
        """Return the listener to a broker's lines about a partition."""
        return Recorder(self, name, broker)

    def of_channel(self, epoch: int, broker: int) -> ChannelRecorder:
        """Return the listener to the whole requests of one channel."""
        return ChannelRecorder(self, f"{CHANNEL} {epoch} {broker}")


def _events(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for number, source in zip(batch["number"].to_pylist(), batch["source"].to_pylist(), strict=True):
            yield from _events_of(number, pickle.loads(source))


def _events_of(number: int, source: Source) -> Iterator[pa.RecordBatch]:
    cursor = Cursor()
    book = Book(cursor)
    actors = Actors(book, cursor)
    parser = Parser(actors, cursor)
    row = 0
    for chunk in chunks(source):
        parser.read(chunk)
        yield _rows(book, number, row, parser.counts.last)
        row += 1
    actors.finish()
    yield _rows(book, number, row, parser.counts.last)
    result = of_source(source, parser.counts, actors.claims)
    yield _batch([(f"{SOURCE} {number}", "", number, row, pickle.dumps((number, result)))])


def _rows(book: Book, source: int, row: int, last: str) -> pa.RecordBatch:
    """Return the events of a chunk; times never decrease within a source, so sorting by time keeps its order."""
    events, book.events = book.events, {}
    return _batch([(key, last, source, row, pickle.dumps(some)) for key, some in events.items()])


def _batch(rows: list[tuple[Any, ...]]) -> pa.RecordBatch:
    names = ("key", "when", "source", "row", "data")
    types = (pa.string(), pa.string(), pa.int32(), pa.int64(), pa.binary())
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(names)
    return pa.record_batch([pa.array(column, of) for column, of in zip(columns, types, strict=True)], names=list(names))


# ---------------------------------------------------------------------------------------------------------------------
# By partition


def _checker(era: str | None, keeps_moments: bool) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def check(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        current: _Replay | None = None
        for batch in batches:
            for key, data in zip(batch["key"].to_pylist(), batch["data"].to_pylist(), strict=True):
                if key.startswith(SOURCE):
                    yield _result(data)
                    continue
                if current is None or current.key != key:
                    if current is not None:
                        yield _result(pickle.dumps(current.finish()))
                    current = _Replay(key, era, keeps_moments)
                current.tell(pickle.loads(data))
        if current is not None:
            yield _result(pickle.dumps(current.finish()))

    return check


def _result(data: bytes) -> pa.RecordBatch:
    return pa.record_batch([pa.array([data], pa.binary())], names=["data"])


class _Replay:
    """Passes the events of one key to its check."""

    def __init__(self, key: str, era: str | None, keeps_moments: bool) -> None:
        self.key = key
        self._cursor = Cursor()
        self._check: PartitionCheck | ChannelCheck
        if key.startswith(CHANNEL):
            _, epoch, broker = key.split(" ")
            self._check = ChannelCheck(int(epoch), int(broker))
        else:
            self._check = PartitionCheck(key, self._cursor, era, keeps_moments)

    def tell(self, events: list[Event]) -> None:
        """Pass some events."""
        cursor, check = self._cursor, self._check
        for actor, place, when, method, arguments in events:
            cursor.place, cursor.line = place, b"[" + when
            view: Any
            if isinstance(check, ChannelCheck):
                view = check.exchange
            elif isinstance(actor, tuple):
                view = check.of_controller(*actor)
            else:
                view = check.of_broker(actor)
            getattr(view, method)(*arguments)

    def finish(self) -> PartitionResult | ChannelResult:
        """Return the results."""
        return self._check.finish()

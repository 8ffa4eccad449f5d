"""Copies the metadata log of a running controller into a folder, as an observer of the quorum.

It sends ApiVersions, Fetch and FetchSnapshot alone, so it changes nothing. What is copied is committed: batches below the high
watermark, behind the snapshot that the controller names first. The connection is plaintext.

Source: KIP-595, KIP-630; Kafka 4.4 KafkaRaftClient.java, FetchRequest.json, FetchSnapshotRequest.json.
"""

from __future__ import annotations

import socket
import threading
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from kafka_spec.conformance.metadata.batches import TornTail, batches_of
from kafka_spec.impl.kafka_wire import entities
from kafka_spec.impl.kafka_wire.apis import API_VERSIONS, LENGTH
from kafka_spec.impl.kafka_wire.entities import NotAMessage
from kafka_spec.impl.kafka_wire.topics import code_of
from kafka_spec.impl.protocol.errors import ErrorCode
from kafka_spec.impl.protocol.quorum_requests import TOPIC, SnapshotId
from kafka_spec.spec.vocabulary.table import SpecError

FETCH, FETCH_SNAPSHOT = 1, 59
NEWEST = {FETCH: 17, FETCH_SNAPSHOT: 1}
"""The newest versions that are sent."""
TOPIC_ID = uuid.UUID(int=1)
NOBODY = -1
"""The replica id of an observer that is not a broker; the leader keeps nothing about it."""
PATIENCE = 10.0
"""The longest wait for an answer, in seconds."""
LONG_POLL_MS = 500
MOST_BYTES = 8 << 20
LARGEST_ANSWER = 100 << 20
ANOTHER_LEADER = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.UNKNOWN_LEADER_EPOCH)
MOST_TRIES = 50
"""How often the leader is looked for, half a second apart, before it counts as lost."""


class ControllerLost(Exception):  # noqa: N818 - says what happened
    """The controller cannot be read, or not any more."""


class ControllerConnection:
    """A connection to one node of the quorum; it asks one question at a time."""

    def __init__(self, host: str, port: int) -> None:
        """Connect, and ask for the versions that the node serves.

        Raises:
            OSError: nobody listens there, or it does not answer.
            ControllerLost: the node that answers does not serve FetchSnapshot.
        """
        self._socket = socket.create_connection((host, port), PATIENCE)
        self._correlation = 0
        try:
            served = {one.api_key: one.max_version for one in self.ask(API_VERSIONS, {}, 0).api_keys}
            if FETCH not in served or FETCH_SNAPSHOT not in served:
                raise ControllerLost(f"{host}:{port} is not a controller: it serves no FetchSnapshot")
        except (OSError, ControllerLost):
            self.close()
            raise
        self._versions = {key: min(newest, served[key]) for key, newest in NEWEST.items()}

    def ask(self, key: int, fields: Mapping[str, Any], version: int | None = None) -> Any:
        """Send a request, and return the entity of its answer.

        Raises:
            OSError: the connection broke, or no answer came in time.
            ControllerLost: the answer is none of Kafka's.
        """
        asked = self._versions[key] if version is None else version
        self._correlation += 1
        data = entities.write_request(key, asked, self._correlation, "kafka-spec", fields)
        self._socket.sendall(LENGTH.pack(len(data)) + data)
        (length,) = LENGTH.unpack(self._read(LENGTH.size))
        try:
            if not 0 <= length <= LARGEST_ANSWER:
                raise NotAMessage(f"an answer of {length} bytes")
            return entities.read_answer(key, asked, self._read(length))[1]
        except NotAMessage as error:
            raise ControllerLost(f"what answers is not Kafka: {error}") from None

    def _read(self, size: int) -> bytes:
        parts = bytearray()
        while len(parts) < size:
            part = self._socket.recv(size - len(parts))
            if not part:
                raise ConnectionResetError("the connection was closed")
            parts += part
        return bytes(parts)

    def close(self) -> None:
        """Close it."""
        self._socket.close()


class LogObserver:
    """Copies one log; `copy` up to the high watermark, `more` what has come since."""

    def __init__(self, address: tuple[str, int], folder: Path) -> None:
        """`address` is that of any controller; `folder` is a new folder __cluster_metadata-0."""
        self.folder = folder
        self.leader: int | None = None
        self._address = address
        self._connection: ControllerConnection | None = None
        self._epoch = 0
        self._next = 0
        self._last_epoch = 0
        self._segment: Path | None = None

    def copy(self) -> None:
        """Copy the log up to the high watermark as it is now.

        Raises:
            ControllerLost: no leader can be read.
        """
        while self._next < self.more(0):
            pass

    def more(self, wait_ms: int) -> int:
        """Copy what has come, waiting so long for it; return the high watermark.

        Raises:
            ControllerLost: no leader can be read.
        """
        for _ in range(MOST_TRIES):
            try:
                known = self._fetch(wait_ms)
            except OSError as error:
                self._forget()
                lost = f"{self._address[0]}:{self._address[1]}: {error.strerror or error}"
            else:
                if known is not None:
                    return known
                lost = "no controller leads"
            if self.leader is None and self._next == 0 and "leads" not in lost:
                break  # it was never reached: nothing to wait for
            time.sleep(LONG_POLL_MS / 1000)
        raise ControllerLost(lost)

    def close(self) -> None:
        """Close the connection."""
        self._forget()

    def _forget(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _fetch(self, wait_ms: int) -> int | None:
        """Fetch once; return the high watermark, None if somebody else leads, or nobody."""
        if self._connection is None:
            self._connection = ControllerConnection(*self._address)
        partition = {
            "partition": TOPIC.partition,
            "current_leader_epoch": self._epoch,
            "fetch_offset": self._next,
            "last_fetched_epoch": self._last_epoch,
            "log_start_offset": -1,
            "partition_max_bytes": MOST_BYTES,
        }
        answer = self._connection.ask(
            FETCH,
            {
                "cluster_id": None,
                "replica_id": NOBODY,
                "replica_state": {"replica_id": NOBODY, "replica_epoch": -1},
                "max_wait": wait_ms,
                "min_bytes": 0,
                "max_bytes": MOST_BYTES,
                "isolation_level": 0,
                "session_id": 0,
                "session_epoch": -1,
                "topics": [{"topic": TOPIC.topic, "topic_id": TOPIC_ID, "partitions": [partition]}],
                "forgotten_topics_data": (),
                "rack_id": "",
            },
        )
        if answer.error_code:
            raise ControllerLost(f"the controller refuses to be read: {code_of(answer.error_code).name}")
        one = answer.responses[0].partitions[0]
        if one.error_code:
            self._follow_leader(code_of(one.error_code), one.current_leader, getattr(answer, "node_endpoints", ()))
            return None
        return self._take(one)

    def _follow_leader(self, error: ErrorCode, leader: Any, endpoints: Sequence[Any]) -> None:
        """Turn to the leader that an answer names.

        Raises:
            ControllerLost: the error is another one.
        """
        if error not in ANOTHER_LEADER:
            raise ControllerLost(f"the controller refuses to be read: {error.name}")
        self._epoch = max(self._epoch, leader.leader_epoch)
        known = {node.node_id: (node.host, node.port) for node in endpoints}
        if leader.leader_id in known and known[leader.leader_id] != self._address:
            self._forget()
            self._address = known[leader.leader_id]
        elif error == ErrorCode.NOT_LEADER_OR_FOLLOWER and leader.leader_id >= 0 and not known:
            raise ControllerLost(f"controller {leader.leader_id} leads, whose address this release does not tell; name that one")

    def _take(self, one: Any) -> int:
        """Write what an answer has; return the high watermark."""
        self.leader = self.leader or one.current_leader.leader_id
        if one.snapshot_id.end_offset >= 0:
            self._copy_snapshot(SnapshotId(one.snapshot_id.end_offset, one.snapshot_id.epoch))
            return max(int(one.high_watermark), self._next + 1)
        if one.diverging_epoch.epoch >= 0:
            raise ControllerLost(f"the controller has lost committed records: it ends before offset {self._next:,}")
        committed = bytearray()
        for batch in batches_of(bytes(one.records or b"")):
            if isinstance(batch, TornTail) or batch.last >= one.high_watermark:
                break
            if batch.base >= self._next:
                committed += batch.data
                self._segment = self._segment or self.folder / f"{batch.base:020}.log"
                self._next, self._last_epoch = batch.last + 1, batch.epoch
        if committed and self._segment is not None:
            with self._segment.open("ab") as file:
                file.write(committed)
        return int(one.high_watermark)

    def _copy_snapshot(self, snapshot: SnapshotId) -> None:
        """Copy a snapshot in parts; the log continues behind it.

        Raises:
            ControllerLost: the controller has it no more.
        """
        data, size = bytearray(), 1
        while len(data) < size:
            wanted = {"end_offset": snapshot.end, "epoch": snapshot.epoch}
            partition = {
                "partition": TOPIC.partition,
                "current_leader_epoch": self._epoch,
                "snapshot_id": wanted,
                "position": len(data),
            }
            topics = [{"name": TOPIC.topic, "partitions": [partition]}]
            assert self._connection is not None
            answer = self._connection.ask(
                FETCH_SNAPSHOT, {"cluster_id": None, "replica_id": NOBODY, "max_bytes": MOST_BYTES, "topics": topics}
            )
            one = answer.topics[0].partitions[0] if answer.topics else answer
            if answer.error_code or one.error_code:
                error = code_of(answer.error_code or one.error_code)
                raise ControllerLost(f"the snapshot {snapshot.file} cannot be read: {error.name}")
            size = one.size
            data += bytes(one.unaligned_records)
        (self.folder / snapshot.file).write_bytes(data)
        self._segment = None
        self._next, self._last_epoch = snapshot.end, snapshot.epoch


class ObservedLog:
    """The copy of a running controller's log in a temporary folder, which a thread of its own may let grow."""

    def __init__(self, observer: LogObserver, name: str) -> None:
        """`name` is what reports call the copy."""
        self.observer = observer
        self._name = name
        self.ended = ""
        """Why it does not grow any more, "" while it does."""
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._grow, name="observer", daemon=True)

    def named(self, report: str) -> str:
        """Return a report that calls the copy by its name: the folder is gone when it is read."""
        return report.replace(str(self.observer.folder), self._name)

    def grow(self) -> None:
        """Copy what comes from now on."""
        self._thread.start()

    def _grow(self) -> None:
        while not self._stopping.is_set():
            try:
                self.observer.more(LONG_POLL_MS)
            except ControllerLost as error:
                self.ended = str(error)
                return

    def stop(self) -> None:
        """Stop copying."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(PATIENCE)
        self.observer.close()


@contextmanager
def observed(address: str) -> Iterator[ObservedLog]:
    """Yield the copy of the log of a running controller, up to the high watermark.

    Raises:
        SpecError: the address is malformed, or no controller can be read there.
    """
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit() or not 0 < int(port) < 1 << 16:
        raise SpecError(f"--bootstrap-controller {address}: write HOST:PORT, of a controller's listener")
    with TemporaryDirectory(prefix="kafka-spec-observer-") as scratch:
        folder = Path(scratch) / address.replace(":", "-") / str(TOPIC)
        folder.mkdir(parents=True)
        log = ObservedLog(LogObserver((host.strip("[]"), int(port)), folder), f"controller {address}")
        try:
            log.observer.copy()
            yield log
        except ControllerLost as error:
            raise SpecError(f"--bootstrap-controller {address}: {error}; name a controller's listener without TLS") from None
        finally:
            log.stop()

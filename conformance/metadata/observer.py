"""Copies the metadata log of a running controller into a folder, as an observer of the quorum.

It sends ApiVersions, Fetch, FetchSnapshot and DescribeQuorum alone, so it changes nothing. What is copied is committed: batches
below the high watermark, behind the snapshot that the controller names first.

Source: KIP-595, KIP-630; Kafka 4.4 KafkaRaftClient.java, FetchRequest.json, FetchSnapshotRequest.json.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from kafka_spec.conformance.metadata.batches import TornTail, batches_of
from kafka_spec.conformance.metadata.client_security import PLAINTEXT, ClientSecurity
from kafka_spec.conformance.metadata.controller_connection import (
    CURE,
    DESCRIBE_QUORUM,
    FETCH,
    FETCH_SNAPSHOT,
    PATIENCE,
    ControllerConnection,
    ControllerLost,
)
from kafka_spec.conformance.metadata.quorum_reading import QuorumReading
from kafka_spec.impl.kafka_wire.topics import code_of
from kafka_spec.impl.protocol.errors import ErrorCode
from kafka_spec.impl.protocol.quorum_requests import TOPIC, SnapshotId
from kafka_spec.spec.vocabulary.table import SpecError

TOPIC_ID = uuid.UUID(int=1)
NOBODY = -1
"""The replica id of an observer that is not a broker; the leader keeps nothing about it."""
LONG_POLL_MS = 500
MOST_BYTES = 8 << 20
ANOTHER_LEADER = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.UNKNOWN_LEADER_EPOCH)
MOST_TRIES = 50
"""How often the leader is looked for, half a second apart, before it counts as lost."""


class LogObserver:
    """Copies one log; `copy` up to the high watermark, `more` what has come since."""

    def __init__(self, address: tuple[str, int], folder: Path, security: ClientSecurity = PLAINTEXT) -> None:
        """`address` is that of any controller; `folder` is a new folder __cluster_metadata-0."""
        self._security = security
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
                lost = f"{error.strerror or error}; see whether it runs, {CURE}"
                if self.leader is None:
                    break  # it was never reached: nothing to wait for
            else:
                if known is not None:
                    return known
                lost = "no controller leads"
            time.sleep(LONG_POLL_MS / 1000)
        raise ControllerLost(lost)

    def quorum(self) -> QuorumReading:
        """Ask the leader for its voters.

        Raises:
            ControllerLost: no leader can be read.
        """
        for _ in range(MOST_TRIES):
            self.more(0)  # finds the leader
            topics = [{"topic_name": TOPIC.topic, "partitions": [{"partition_index": TOPIC.partition}]}]
            try:
                assert self._connection is not None
                answer = self._connection.ask(DESCRIBE_QUORUM, {"topics": topics})
            except OSError:
                self._forget()
                continue
            one = answer.topics[0].partitions[0] if answer.topics else answer
            if not answer.error_code and not one.error_code:
                return QuorumReading.of(one)
            if (error := code_of(answer.error_code or one.error_code)) not in ANOTHER_LEADER:
                raise ControllerLost(f"the controller does not describe its quorum: {error.name}")
            time.sleep(LONG_POLL_MS / 1000)
        raise ControllerLost("no controller leads")

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
            self._connection = ControllerConnection(*self._address, self._security)
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
        """Take the epoch that an answer names, and turn to the leader if it is another node.

        A node that leads is not left for the address that it advertises, which may not be reachable from here.

        Raises:
            ControllerLost: the error is another one, or nobody knows the leader's address.
        """
        if error not in ANOTHER_LEADER:
            raise ControllerLost(f"the controller refuses to be read: {error.name}")
        self._epoch = max(self._epoch, leader.leader_epoch)
        if error != ErrorCode.NOT_LEADER_OR_FOLLOWER or leader.leader_id < 0:
            return
        known = {node.node_id: (node.host, node.port) for node in endpoints}
        if leader.leader_id in known:
            self._forget()
            self._address = known[leader.leader_id]
        elif not known:
            raise ControllerLost(
                f"controller {leader.leader_id} leads, whose address this node does not report; name that controller"
            )

    def _take(self, one: Any) -> int:
        """Write what an answer has; return the high watermark."""
        self.leader = self.leader or one.current_leader.leader_id
        if one.snapshot_id.end_offset >= 0:
            self._copy_snapshot(SnapshotId(one.snapshot_id.end_offset, one.snapshot_id.epoch))
            return max(int(one.high_watermark), self._next + 1)
        if one.diverging_epoch.epoch >= 0:
            raise ControllerLost(f"the controller has lost committed records: it ends before offset {self._next:,}")
        committed = []
        for batch in batches_of(bytes(one.records or b"")):
            if isinstance(batch, TornTail) or batch.last >= one.high_watermark:
                break
            if batch.base >= self._next:
                committed.append(batch)
        if committed:
            segment = self._segment or self.folder / f"{committed[0].base:020}.log"
            self._write(segment, b"".join(batch.data for batch in committed))
            self._segment, self._next, self._last_epoch = segment, committed[-1].last + 1, committed[-1].epoch
        return int(one.high_watermark)

    @staticmethod
    def _write(file: Path, data: bytes) -> None:
        """Append to a file of the copy.

        Raises:
            ControllerLost: it cannot be written.
        """
        try:
            with file.open("ab") as opened:
                opened.write(data)
        except OSError as error:
            raise ControllerLost(
                f"its log cannot be copied to {file.parent}: {error.strerror}; set TMPDIR to another disk"
            ) from None

    def _copy_snapshot(self, snapshot: SnapshotId) -> None:
        """Copy a snapshot in parts; the log continues behind it.

        Raises:
            ControllerLost: the controller no longer has it, or it cannot be written.
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
        self._write(self.folder / snapshot.file, bytes(data))
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
def observed(address: str, security: ClientSecurity = PLAINTEXT) -> Iterator[ObservedLog]:
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
        log = ObservedLog(LogObserver((host.strip("[]"), int(port)), folder, security), f"controller {address}")
        try:
            log.observer.copy()
            yield log
        except ControllerLost as error:
            raise SpecError(f"--bootstrap-controller {address}: {error}") from None
        finally:
            log.stop()

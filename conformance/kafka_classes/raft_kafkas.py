"""Kafka's KafkaRaftClient, several in this process: real logs and quorum-state files, a clock for each, and no threads or sockets.

Every poll, delivery, loss and step of a clock is the caller's. A node's requests wait until they are delivered; a newer one of the
same kind to the same node replaces one that waits.
"""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kafka_spec.conformance.kafka_classes.raft_classes import CLUSTER, ONE_BATCH, RAFT, RaftClasses
from kafka_spec.conformance.kafka_classes.raft_views import NodeView, QuorumBatch
from kafka_spec.impl.protocol.quorum_requests import SnapshotId
from kafka_spec.spec.language.domain import NONE
from kafka_spec.spec.quorum.machines import CANDIDATE, FOLLOWER, LEADER, PROSPECTIVE, RESIGNED, UNATTACHED, QuorumRole

Methods = dict[str, Callable[..., Any]]


@dataclass(frozen=True)
class SentRequest:
    """A request on its way: Kafka's object, and the future of its answer, on which Kafka waits from 4.4 on."""

    request: Any
    future: Any


class RaftNode:
    """One controller: its files, its clock, its client while the process runs, and the requests that it has sent."""

    def __init__(self, classes: RaftClasses, node: int, folder: Path) -> None:
        self.classes, self.node = classes, node
        self.folder = folder / "__cluster_metadata-0"
        self.kafka = classes.kafka
        self.now = 1_000_000
        self.sent: dict[tuple[int, str], SentRequest] = {}
        """Requests that were not delivered, by destination and kind."""
        self.answers: list[tuple[Any, Any]] = []
        """Answers that it has not received, each with the request that it answers."""
        self.configured: tuple[int, ...] = ()
        self.below: list[tuple[QuorumBatch, int]] = []
        """The batches before the start of its log, each with the offset behind it."""
        kafka, timer = self.kafka, self.kafka.constructor("org.apache.kafka.common.utils.Timer", 2)
        self.time = kafka.implementing(
            "org.apache.kafka.common.utils.Time",
            {
                "milliseconds": lambda: self.now,
                "nanoseconds": lambda: self.now * 1_000_000,
                "hiResClockMs": lambda: self.now,
                "timer": lambda milliseconds: timer(self.time, kafka.long(int(milliseconds))),
            },
        )
        self.folder.mkdir(parents=True)
        self.log = classes.open_log(self.folder, self.time, node)

    # The process

    def format(self, voters: tuple[int, ...]) -> None:
        """Write a bootstrap snapshot with the voters (kafka-storage format)."""
        classes, kafka = self.classes, self.kafka
        raw = self.log.createNewSnapshotUnchecked(kafka.named("org.apache.kafka.snapshot.Snapshots").BOOTSTRAP_SNAPSHOT_ID).get()
        builder = kafka.named("org.apache.kafka.snapshot.RecordsSnapshotWriter$Builder")()
        builder.setTime(self.time).setRawSnapshotWriter(raw)
        builder.setKraftVersion(kafka.named("org.apache.kafka.server.common.KRaftVersion").KRAFT_VERSION_1)
        builder.setVoterSet(kafka.named("java.util.Optional").of(classes.voter_set(voters)))
        writer = builder.build(classes.serde)
        writer.freeze()
        writer.close()

    def start(self) -> None:
        """Start the process: read the files, and begin in the role that they give."""
        classes, kafka, named = self.classes, self.kafka, self.kafka.named
        self.sent.clear()
        self.answers.clear()
        self.messages = named(f"{RAFT}.internals.BlockingMessageQueue")()
        self.client = kafka.constructor(f"{RAFT}.KafkaRaftClient", 18)(
            named("java.util.OptionalInt").of(self.node),
            classes.directory(self.node),
            classes.serde,
            self._channel(),
            self._queue(),
            self.log,
            named("org.apache.kafka.common.memory.MemoryPool").NONE,
            self.time,
            kafka.implementing(
                f"{RAFT}.ExpirationService", {"failAfter": lambda _: named("java.util.concurrent.CompletableFuture")()}
            ),
            kafka.boxed(1 << 20),
            named("java.lang.Boolean")(True),
            CLUSTER,
            kafka.java_list([classes.address(self.node)]),
            classes.endpoints(self.node),
            classes.feature,
            kafka.first_of("org.apache.kafka.common.utils.internals.LogContext", "org.apache.kafka.common.utils.LogContext")(),
            named("java.util.Random")(self.node),
            classes.quorum_config,
        )
        self.client.register(self._listener())
        store = named(f"{RAFT}.FileQuorumStateStore")(named("java.io.File")(str(self.folder / "quorum-state")))
        metrics = named("org.apache.kafka.common.metrics.Metrics")()
        self.client.initialize(classes.addresses(self.configured), store, metrics, *classes.outer_metrics())
        self.quorum = kafka.call(self.client, "quorum")

    def _channel(self) -> Any:
        """Return the network: what is sent waits."""
        classes = self.classes
        methods: Methods = {
            "newCorrelationId": classes.new_correlation,
            "send": self._send,
            "listenerName": lambda: classes.listener,
        }
        return self.kafka.implementing(f"{RAFT}.NetworkChannel", {**methods, "close": lambda: None})

    def _queue(self) -> Any:
        """Return Kafka's queue of messages, which no poll waits for."""
        methods: Methods = {
            "poll": lambda _: self.messages.poll(0),
            "add": lambda message: self.messages.add(message),
            "isEmpty": lambda: self.messages.isEmpty(),
            "wakeup": lambda: None,
        }
        return self.kafka.implementing(f"{RAFT}.RaftMessageQueue", methods)

    def _listener(self) -> Any:
        """Return the controller on top, which reads nothing."""
        closing: Methods = dict.fromkeys(
            ("handleCommit", "handleLoadSnapshot", "handleLoadBootstrap"), lambda reader: reader.close()
        )
        ignoring: Methods = {"handleLeaderChange": lambda _: None, "beginShutdown": lambda: None}
        return self.kafka.implementing(f"{RAFT}.RaftClient$Listener", {**closing, **ignoring})

    def _send(self, request: Any) -> Any:
        future = self.kafka.named("java.util.concurrent.CompletableFuture")()
        self.sent[int(request.destination().id()), kind_of(request)] = SentRequest(request, future)
        return future

    def crash(self) -> None:
        """End the process without its shutdown."""
        self.log.close()
        self.log = self.classes.open_log(self.folder, self.time, self.node)

    def lose_disk(self) -> None:
        """End the process, and empty its disk."""
        self.log.close()
        shutil.rmtree(self.folder)
        self.folder.mkdir()
        self.below.clear()
        self.log = self.classes.open_log(self.folder, self.time, self.node)

    def close(self) -> None:
        """Close the log. Java and Python refer to each other here, and neither's collector sees that nobody else does."""
        self.log.close()
        self.sent.clear()
        self.answers.clear()
        del self.client, self.quorum, self.log

    # Its steps

    def poll(self) -> None:
        """Take all messages, and act on what they changed."""
        while not self.messages.isEmpty():
            self.client.poll()
        self.client.poll()

    def standing(self) -> tuple[QuorumRole, int]:
        """Return role and epoch."""
        return self.role(), int(self.quorum.epoch())

    def handle(self, data: Any) -> Any:
        """Take a request; return the answer, None if there is none yet."""
        classes = self.classes
        kind = classes.versions.fromApiKey(data.apiKey())
        version = kind.highestSupportedVersion(True)
        request = self.kafka.named(f"{RAFT}.RaftRequest$Inbound")(
            classes.listener, classes.new_correlation(), version, data, self.now
        )
        stage = self.client.handle(request)
        future = request.completion if stage is None else stage.toCompletableFuture()
        self.poll()
        return classes.as_read(future.join().data()) if future.isDone() else None

    def receive(self, sent: SentRequest, data: Any) -> None:
        """Take the answer to a request."""
        request = sent.request
        answer = self.kafka.named(f"{RAFT}.RaftResponse$Inbound")(request.correlationId(), data, request.destination())
        if self.classes.channel_answers:
            sent.future.complete(answer)
        else:
            self.messages.add(answer)
        self.poll()

    # Snapshots

    def write_snapshot(self, end: int) -> None:
        """Write a snapshot of so many batches."""
        batch, offset = self.batches()[end - 1]
        snapshot = self.kafka.first_of(f"{RAFT}.OffsetAndEpoch", "org.apache.kafka.server.common.OffsetAndEpoch")
        writer = self.client.createSnapshot(snapshot(offset, batch.epoch), self.now).get()
        writer.freeze()
        writer.close()

    def cut_log(self) -> bool:
        """Delete what is before the newest snapshot; return whether anything was deleted."""
        below = self.stands_for_newest()
        is_cut = bool(self.log.deleteBeforeSnapshot(self.log.latestSnapshotId().get()))
        self.below = below
        return is_cut

    def stands_for_newest(self) -> list[tuple[QuorumBatch, int]]:
        """Return the batches for which the newest snapshot stands, each with the offset behind it."""
        end = int(self.log.latestSnapshotId().get().offset())
        return [(batch, behind) for batch, behind in self.batches() if behind <= end]

    def put_snapshot_in_memory(self, answer: Any) -> None:
        """Put the bytes of a snapshot into an answer, as its receiver reads them, in place of a part of a file."""
        part = answer.topics().get(0).partitions().get(0)
        newest = self.log.latestSnapshotId().get()
        snapshot = SnapshotId(int(newest.offset()), int(newest.epoch()))
        data = (self.folder / snapshot.file).read_bytes()[int(part.position()) :]
        buffer = self.kafka.named("java.nio.ByteBuffer").wrap(data)
        part.setUnalignedRecords(self.classes.unaligned_records(buffer))

    # What is seen of it

    def role(self) -> QuorumRole:
        """Return its role."""
        quorum = self.quorum
        if self.classes.pre_votes and quorum.isProspective():
            return PROSPECTIVE
        asked = {
            UNATTACHED: quorum.isUnattached, CANDIDATE: quorum.isCandidate, LEADER: quorum.isLeader,
            FOLLOWER: quorum.isFollower, RESIGNED: quorum.isResigned,
        }  # fmt: skip
        return next(role for role, is_in in asked.items() if is_in())

    def batches(self) -> list[tuple[QuorumBatch, int]]:
        """Return the batches of its log, and those before its start, each with the offset behind it."""
        at = int(self.log.startOffset())
        found = [(batch, behind) for batch, behind in self.below if behind <= at]
        end = int(self.log.endOffset().offset())
        while at < end:
            size = (ONE_BATCH,) if self.reads_with_size() else ()
            batch = next(iter(self.log.read(at, self.classes.uncommitted, *size).records.batches()))
            at = int(batch.nextOffset())
            found.append((QuorumBatch(int(batch.partitionLeaderEpoch()), self._voters_in(batch)), at))
        return found

    def reads_with_size(self) -> bool:
        """Whether a read of the log names its size."""
        return self.kafka.has(f"{RAFT}.RaftLog")

    def _voters_in(self, batch: Any) -> tuple[int, ...]:
        found: tuple[int, ...] = ()
        if batch.isControlBatch():
            for record in batch:
                if str(self.classes.control_type.parse(record.key())) == "KRAFT_VOTERS":
                    data = self.classes.control_records.deserializeVotersRecord(record)
                    found = tuple(sorted(self.kafka.numbers(self.classes.voters.fromVotersRecord(data).voterIds())))
        return found

    def view(self) -> NodeView:
        """Return what is compared."""
        quorum, batches = self.quorum, self.batches()
        known = self.client.highWatermark()
        high_watermark = int(known.getAsLong()) if known.isPresent() else 0
        election = self.kafka.held(quorum, "state").election()
        partition_state = self.kafka.held(self.client, "partitionState")
        return NodeView(
            self.role(),
            int(quorum.epoch()),
            int(quorum.leaderIdOrSentinel()),
            int(election.votedKey().id()) if election.hasVoted() else NONE,
            tuple(batch for batch, _ in batches),
            sum(end <= high_watermark for _, end in batches),
            tuple(sorted(self.kafka.numbers(partition_state.lastVoterSet().voterIds()))),
            tuple(end - start for (_, start), (_, end) in itertools.pairwise([(None, 0), *batches])),
        )


def kind_of(request: Any) -> str:
    """Return the kind of a request: the name of its class."""
    return str(request.data().getClass().getSimpleName()).removesuffix("RequestData")

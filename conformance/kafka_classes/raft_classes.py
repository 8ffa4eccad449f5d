"""What all KafkaRaftClients of this process share: Kafka's classes, settings, addresses, and the differences between versions.

Source: Kafka 4.3 KafkaRaftClient.java, KafkaRaftLog.java; the set-up is that of RaftClientTestContext.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kafka_spec.conformance.kafka_classes.java import Kafka

RAFT = "org.apache.kafka.raft"
CLUSTER = "c"
ONE_BATCH = 1
"""Bytes of a fetch: the first batch comes however large it is."""
ELECTION_TIMEOUT, FETCH_TIMEOUT, REQUEST_TIMEOUT, RETRY_BACKOFF = 1000, 2000, 200, 20
"""Milliseconds: settings of all nodes."""
SETTINGS = {
    "controller.quorum.election.timeout.ms": ELECTION_TIMEOUT,
    "controller.quorum.fetch.timeout.ms": FETCH_TIMEOUT,
    "controller.quorum.retry.backoff.ms": RETRY_BACKOFF,
    "controller.quorum.request.timeout.ms": REQUEST_TIMEOUT,
    "controller.quorum.append.linger.ms": 0,
    "controller.quorum.fetch.max.bytes": ONE_BATCH,
}
FOREVER = 10**9
"""Milliseconds after which a request to change the voters is answered that its change is not committed."""


class RaftClasses:
    """What all nodes of a process share."""

    def __init__(self, kafka: Kafka) -> None:
        self.kafka = kafka
        named = kafka.named
        self.is_3 = kafka.version.startswith("3.")
        self.pre_votes = 0 if self.is_3 else 1
        records = "org.apache.kafka.common.record"
        if not kafka.has(f"{records}.ControlRecordUtils"):
            records += ".internal"
        self.control_type = named(f"{records}.ControlRecordType")
        self.control_records = named(f"{records}.ControlRecordUtils")
        self.memory_records = named(f"{records}.MemoryRecords")
        self.unaligned_records = named(f"{records}.UnalignedMemoryRecords")
        self.uncommitted = named(f"{RAFT}.Isolation").UNCOMMITTED
        self.util = named(f"{RAFT}.RaftUtil")
        self.keys = named(f"{RAFT}.ReplicaKey")
        self.voters = named(f"{RAFT}.VoterSet")
        self.errors = named("org.apache.kafka.common.protocol.Errors")
        self.versions = named("org.apache.kafka.common.message.ApiMessageType")
        self.listener = named("org.apache.kafka.common.network.ListenerName")("CONTROLLER")
        self.partition = kafka.partition("__cluster_metadata", 0)
        self.topic_id = named("org.apache.kafka.common.Uuid").METADATA_TOPIC_ID
        self.serde = named(f"{RAFT}.internals.StringSerde")()
        self.feature = self._feature()
        self.quorum_config = named(f"{RAFT}.QuorumConfig")(self._config(named(f"{RAFT}.QuorumConfig").CONFIG_DEF, SETTINGS))
        self.acknowledges_commit = kafka.version >= "4.2"
        self.channel_answers = kafka.version.startswith("4.4")
        self.correlations = 0

    def _config(self, definition: Any, settings: dict[str, Any]) -> Any:
        held = self.kafka.named("java.util.HashMap")()
        for name, value in settings.items():
            held.put(name, self.kafka.boxed(value))
        return self.kafka.named("org.apache.kafka.common.config.AbstractConfig")(definition, held, False)

    def _feature(self) -> Any:
        """Return the range of kraft.version that a node supports."""
        common = "org.apache.kafka.server.common"
        return self.kafka.first_of(f"{common}.Feature", f"{common}.Features").KRAFT_VERSION.supportedVersionRange()

    def address(self, node: int) -> Any:
        """Return the address of a node, which is not resolved."""
        return self.kafka.named("java.net.InetSocketAddress").createUnresolved(f"h{node}", 9000 + node)

    def addresses(self, nodes: tuple[int, ...]) -> Any:
        """Return the addresses of nodes by their numbers."""
        found = self.kafka.named("java.util.HashMap")()
        for node in nodes:
            found.put(self.kafka.boxed(node), self.address(node))
        return found

    def endpoints(self, node: int) -> Any:
        """Return the endpoints of a node."""
        found = self.kafka.named("java.util.HashMap")()
        found.put(self.listener, self.address(node))
        return self.kafka.named(f"{RAFT}.Endpoints").fromInetSocketAddresses(found)

    def key(self, node: int) -> Any:
        """Return the key of a node: its number, and the directory of its log."""
        return self.keys.of(node, self.directory(node))

    def directory(self, node: int) -> Any:
        """Return the directory id of a node."""
        return self.kafka.named("org.apache.kafka.common.Uuid")(self.kafka.long(7), self.kafka.long(100 + node))

    def voter_set(self, nodes: tuple[int, ...]) -> Any:
        """Return a set of voters."""
        found = self.kafka.named("java.util.HashMap")()
        for node in nodes:
            voter = self.kafka.named(f"{RAFT}.VoterSet$VoterNode").of(self.key(node), self.endpoints(node), self.feature)
            found.put(self.kafka.boxed(node), voter)
        return self.voters.fromMap(found)

    def new_correlation(self) -> int:
        """Return a correlation id that no other request has."""
        self.correlations += 1
        return self.correlations

    def outer_metrics(self) -> list[Any]:
        """Return the metrics of the process around a client, which it is given from 4.0 on."""
        if self.is_3:
            return []
        return [self.kafka.implementing(f"{RAFT}.ExternalKRaftMetrics", {"setIgnoredStaticVoters": lambda _: None})]

    def as_read(self, answer: Any) -> Any:
        """Return an answer as its receiver reads it: with records in memory, in place of a part of a file."""
        if str(answer.getClass().getSimpleName()) == "FetchResponseData":
            part = answer.responses().get(0).partitions().get(0)
            if str(part.records().getClass().getSimpleName()) == "FileRecords":
                buffer = self.kafka.named("java.nio.ByteBuffer").allocate(part.records().sizeInBytes())
                part.records().readInto(buffer, 0)
                part.setRecords(self.memory_records.readableRecords(buffer))
        return answer

    def versions_of_voter(self) -> Any:
        """Return the answer of a voter that is asked for the versions that it supports."""
        message = "org.apache.kafka.common.message.ApiVersionsResponseData"
        key = self.kafka.named(f"{message}$SupportedFeatureKey")().setName("kraft.version")
        key.setMinVersion(self.feature.min()).setMaxVersion(self.feature.max())
        answer = self.kafka.named(message)()
        answer.supportedFeatures().add(key)
        return answer

    def open_log(self, folder: Path, time: Any, node: int) -> Any:
        """Open the metadata log in a folder."""
        kafka, named = self.kafka, self.kafka.named
        scheduled = kafka.implementing("java.util.concurrent.ScheduledFuture", {"cancel": lambda _: True})
        scheduler = kafka.implementing("org.apache.kafka.server.util.Scheduler", dict.fromkeys(
            ("startup", "shutdown", "schedule", "scheduleOnce", "resizeThreadPool"), lambda *_: scheduled
        ))  # fmt: skip
        where = (self.partition, self.topic_id, named("java.io.File")(str(folder)), time, scheduler)
        if self.is_3:
            config = named("kafka.raft.MetadataLogConfig")(
                1 << 20, 1 << 20, FOREVER, FOREVER, FOREVER, 1 << 20, ONE_BATCH, FOREVER, node
            )
            return kafka.singleton("kafka.raft.KafkaMetadataLog").apply(*where, config)
        kind = named(f"{RAFT}.MetadataLogConfig")
        config = kind(self._config(kind.CONFIG_DEF, {"internal.metadata.max.fetch.size.in.bytes": ONE_BATCH}))
        if kafka.has(f"{RAFT}.internals.KafkaRaftLog"):
            return named(f"{RAFT}.internals.KafkaRaftLog").createLog(*where, config, node)
        return kafka.singleton("kafka.raft.KafkaMetadataLog").apply(*where, config, node)

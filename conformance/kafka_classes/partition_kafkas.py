"""Kafka's Partition on one broker of KRaft, in this process: on mock time, a log on disk, and without a controller.

What the controller would be sent is kept, and answered by the caller.

Source: Kafka 4.4 Partition.scala, AlterPartitionManager.java; the set-up is that of AbstractPartitionTest.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kafka_spec.conformance.kafka_classes.kraft_controller_classes import MESSAGE
from kafka_spec.conformance.kafka_classes.partition_states import LAG, START, Cached, LeaderView, Registered, SentProposal

if TYPE_CHECKING:
    from kafka_spec.conformance.kafka_classes.java import Kafka

LOGS = "org.apache.kafka.storage.internals.log"
SETTINGS = ("config", "topicConfig", "brokerConfig", "groupConfig")
"""The methods with which settings are asked for."""
NEVER = 10**9


class PartitionClasses:
    """What all partitions of a process share: a log manager on one directory, and what stands for the rest of a broker."""

    def __init__(self, kafka: Kafka, folder: Path) -> None:
        self.kafka = kafka
        self.now = START
        self.min_isr = 1
        self.uuid = kafka.named("org.apache.kafka.common.Uuid")
        self.optional = kafka.named("java.util.Optional")
        self.errors = kafka.named("org.apache.kafka.common.protocol.Errors")
        self.recovered = kafka.named("org.apache.kafka.metadata.LeaderRecoveryState").RECOVERED
        self.time = kafka.implementing(
            "org.apache.kafka.common.utils.Time",
            {"milliseconds": lambda: self.now, "nanoseconds": lambda: self.now * 1_000_000, "hiResClockMs": lambda: self.now},
        )
        self.checkpoints = kafka.implementing(
            "org.apache.kafka.storage.internals.checkpoint.OffsetCheckpoints", {"fetch": lambda *_: self.optional.empty()}
        )
        self.settings: Mapping[str, Callable[..., Any]] = dict.fromkeys(SETTINGS, self.configured)
        self.listener = self._idle(
            "org.apache.kafka.server.partition.AlterPartitionListener", "markIsrExpand markIsrShrink markFailed"
        )
        self.logs = self._log_manager(folder)

    def some(self, value: Any) -> Any:
        """Return a Scala option with a value."""
        return self.kafka.named("scala.Some")(value)

    def _idle(self, interface: str, methods: str) -> Any:
        return self.kafka.implementing(interface, {name: lambda *_: None for name in methods.split()})

    def configured(self, *_: Any) -> Any:
        """Return the settings of a topic."""
        found = self.kafka.named("java.util.Properties")()
        found.setProperty("min.insync.replicas", str(self.min_isr))
        found.setProperty("segment.index.bytes", "4096")  # each partition maps its indices
        return found

    def _log_manager(self, folder: Path) -> Any:
        kafka, named = self.kafka, self.kafka.named
        configs = kafka.implementing("org.apache.kafka.metadata.ConfigRepository", self.settings)
        manager = named(f"{LOGS}.LogManager")(
            kafka.java_list([named("java.io.File")(str(folder))]),
            kafka.java_list([]),
            configs,
            named(f"{LOGS}.LogConfig")(self.configured()),
            named(f"{LOGS}.CleanerConfig")(False),
            1,
            *(NEVER,) * 5,
            named(f"{LOGS}.ProducerStateManagerConfig")(NEVER, False),
            NEVER,
            self._idle("org.apache.kafka.server.util.Scheduler", "startup shutdown schedule scheduleOnce resizeThreadPool"),
            named("org.apache.kafka.storage.log.metrics.BrokerTopicStats")(),
            named(f"{LOGS}.LogDirFailureChannel")(1),
            self.time,
            True,
            0,
            self._idle(f"{LOGS}.LogManager$LogCleanerBuilder", "build"),
        )
        manager.startup(named("java.util.HashSet")())
        return manager

    def close(self) -> None:
        """Close the logs. Java and Python refer to each other here, and neither's collector sees that nobody else does."""
        self.logs.shutdown()
        del self.logs

    @functools.cached_property
    def purgatories(self) -> list[Any]:
        """Purgatories in which nothing waits, for all partitions: each takes room for 512 lists."""
        purgatory = self.kafka.named("org.apache.kafka.server.purgatory.DelayedOperationPurgatory")
        nothing: dict[str, Callable[..., Any]] = {
            "add": lambda _: None,
            "advanceClock": lambda _: False,
            "size": lambda: 0,
            "close": lambda: None,
        }
        timer = self.kafka.implementing("org.apache.kafka.server.util.timer.Timer", nothing)
        return [purgatory(name, timer, 0, 1000, False, False) for name in ("produce", "fetch", "delete", "share")]

    def operations(self, topic_id: Any, partition: Any) -> Any:
        """Return what waits for a partition: nothing."""
        return self.kafka.named("kafka.cluster.DelayedOperations")(self.some(topic_id), partition, *self.purgatories)


class KafkasPartition:
    """One partition of broker 0."""

    def __init__(self, classes: PartitionClasses, number: int) -> None:
        self.classes, self.kafka = classes, classes.kafka
        self.cache: Mapping[int, Cached] = {}
        """The metadata cache: what it has of each broker."""
        classes.now = START
        self.sent: list[tuple[SentProposal, Any]] = []
        """The proposals, each with the future that is completed with its answer."""
        name = self.kafka.partition("t", number)
        self.topic_id = classes.uuid(7, number + 1)
        kafka = self.kafka
        proposals = kafka.implementing(
            "org.apache.kafka.server.partition.AlterPartitionManager",
            {"start": lambda: None, "shutdown": lambda: None, "submit": self._submit},
        )
        epoch = kafka.implementing("scala.Function0", {"apply": lambda: kafka.long(0)})
        self.partition = kafka.named("kafka.cluster.Partition")(
            name,
            LAG,
            kafka.boxed(0),
            epoch,
            classes.time,
            classes.listener,
            classes.operations(self.topic_id, name),
            self._metadata(),
            classes.logs,
            proposals,
            kafka.none,
        )

    def _metadata(self) -> Any:
        optional, long = self.classes.optional, self.kafka.long
        return self.kafka.implementing(
            "org.apache.kafka.metadata.MetadataCache",
            {
                "hasAliveBroker": lambda broker: self.cache[int(broker)].is_unfenced,
                "getAliveBrokerEpoch": lambda broker: (
                    optional.of(long(self.cache[int(broker)].epoch)) if self.cache[int(broker)].is_unfenced else optional.empty()
                ),
                "isBrokerFenced": lambda broker: not self.cache[int(broker)].is_unfenced,
                "isBrokerShuttingDown": lambda broker: self.cache[int(broker)].is_stopping,
                **self.classes.settings,
            },
        )

    def _submit(self, _: Any, proposed: Any) -> Any:
        future = self.kafka.named("java.util.concurrent.CompletableFuture")()
        if self.sent:  # one for each partition waits for its answer (AlterPartitionManager)
            future.completeExceptionally(self.classes.errors.OPERATION_NOT_ATTEMPTED.exception())
            return future
        members = tuple((int(one.brokerId()), int(one.brokerEpoch())) for one in proposed.isrWithBrokerEpoch())
        self.sent.append((SentProposal(int(proposed.leaderEpoch()), int(proposed.partitionEpoch()), members), future))
        return future

    @property
    def now(self) -> int:
        """The time in milliseconds."""
        return self.classes.now

    @now.setter
    def now(self, milliseconds: int) -> None:
        self.classes.now = milliseconds

    # What happens

    def learn(self, cache: Mapping[int, Cached], _: Registered) -> None:
        """Take what the metadata cache has."""
        self.cache = cache

    def apply(self, reported: Registered) -> None:
        """Lead or follow as a registration says, as ReplicaManager.applyDelta does."""
        kafka, classes = self.kafka, self.classes
        directories = kafka.array("org.apache.kafka.common.Uuid", [classes.uuid(3, 4)] * len(reported.replicas))
        registration = kafka.named("org.apache.kafka.metadata.PartitionRegistration$Builder")()
        registration.setReplicas(kafka.integers(reported.replicas)).setIsr(kafka.integers(reported.isr)).setDirectories(directories)
        registration.setLeader(kafka.boxed(reported.leader)).setLeaderRecoveryState(classes.recovered)
        registration.setLeaderEpoch(kafka.boxed(reported.leader_epoch)).setPartitionEpoch(kafka.boxed(reported.partition_epoch))
        take = self.partition.makeLeader if reported.leader == 0 else self.partition.makeFollower
        take(registration.build(), False, classes.checkpoints, classes.some(self.topic_id), kafka.none)

    def append(self) -> None:
        """Append a record as the leader."""
        named, clients = self.kafka.named, "org.apache.kafka.common"
        record = named(f"{clients}.record.internal.SimpleRecord")(b"v")
        uncompressed = named(f"{clients}.compress.Compression").NONE
        records = named(f"{clients}.record.internal.MemoryRecords").withRecords(uncompressed, [record])
        local, origin = named("org.apache.kafka.server.common.RequestLocal").noCaching(), named(f"{LOGS}.AppendOrigin").CLIENT
        guard = named(f"{LOGS}.VerificationGuard").SENTINEL
        self.partition.appendRecordsToLeader(records, origin, 1, local, guard, named("java.lang.Short")(0))

    def fetch(self, broker: int, offset: int, leader_epoch: int, broker_epoch: int) -> str:
        """Take the fetch of a follower; return the name of the error, "NONE" if there is none."""
        from kafka_spec.conformance.kafka_classes.java import EXCEPTION

        named, kafka = self.kafka.named, self.kafka
        isolation = named("org.apache.kafka.server.storage.log.FetchIsolation").LOG_END
        params = named("org.apache.kafka.server.storage.log.FetchParams")(
            broker, broker_epoch, 0, 1, 1000, isolation, self.classes.optional.empty()
        )
        data = named("org.apache.kafka.common.requests.FetchRequest$PartitionData")(
            self.topic_id,
            offset,
            0,
            1000,
            self.classes.optional.empty() if leader_epoch < 0 else self.classes.optional.of(kafka.boxed(leader_epoch)),
        )
        try:
            self.partition.fetchRecords(params, data, self.classes.now, 1000, True, True)
        except EXCEPTION as error:
            return str(self.classes.errors.forException(error).name())
        return "NONE"

    def shrink(self) -> None:
        """Take out of the ISR who lags."""
        self.partition.maybeShrinkIsr()

    def answer(self, error: str, leader_epoch: int, partition_epoch: int, isr: Sequence[int]) -> None:
        """Answer the proposal that is on the way."""
        _, future = self.sent.pop()
        if error != "NONE":
            future.completeExceptionally(getattr(self.classes.errors, error).exception())
            return
        kind = self.kafka.named(f"{MESSAGE}.AlterPartitionRequestData$BrokerState")
        members = self.kafka.java_list([kind().setBrokerId(broker).setBrokerEpoch(0) for broker in isr])
        answered = self.kafka.named("org.apache.kafka.metadata.LeaderAndIsr")
        future.complete(answered(0, leader_epoch, self.classes.recovered, members, partition_epoch))

    def delete(self) -> None:
        """Delete the partition and its log."""
        self.partition.delete()
        self.sent.clear()
        del self.partition

    # What it is

    def view(self) -> LeaderView:
        """Return what is seen of the partition."""
        partition, state = self.partition, self.partition.partitionState()
        log = partition.unifiedLog()
        leads = bool(partition.isLeader())
        ends = {}
        for replica in (
            self.kafka.named("scala.jdk.javaapi.CollectionConverters").asJava(partition.remoteReplicas()) if leads else ()
        ):
            ends[int(replica.brokerId())] = int(replica.stateSnapshot().logEndOffset())
        return LeaderView(
            leads,
            int(partition.getLeaderEpoch()),
            int(partition.getPartitionEpoch()),
            tuple(sorted(int(broker) for broker in state.isr())) if leads else (),
            tuple(sorted(int(broker) for broker in state.maximalIsr())) if leads else (),
            bool(state.isInflight()),
            int(log.get().logEndOffset()) if log.isPresent() else 0,
            int(log.get().highWatermark()) if log.isPresent() else 0,
            tuple(sorted(ends.items())),
            tuple(proposal for proposal, _ in self.sent),
        )

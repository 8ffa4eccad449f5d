"""KRaft's controller of Kafka in this process: its managers of brokers, partitions and settings, without a quorum.

A request goes in, the records that come out are replayed at once, as the active controller does. There is at most one topic, with
one partition. Most methods are not public; they are called by reflection.

Source: Kafka 3.9 to 4.4 QuorumController.java, which calls the managers in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kafka_spec.conformance.kafka_classes.java import EXCEPTION
from kafka_spec.conformance.kafka_classes.kraft_controller_classes import MESSAGE, TOPIC, ControllerClasses, read
from kafka_spec.conformance.kafka_classes.kraft_managers import TIMEOUT, KafkasManagers
from kafka_spec.conformance.kafka_classes.kraft_ours import NO_PARTITION, KRaftView
from kafka_spec.spec.kraft.machines import BrokerState
from kafka_spec.spec.language.domain import NONE


class KafkasKRaft(KafkasManagers):
    """One controller with `brokers` active brokers, and a partition on the first `replicas` or on all, led by the first."""

    def __init__(
        self, classes: ControllerClasses, brokers: int, min_isr: int, unclean: bool, elr: bool, replicas: int | None = None,
        two_directories: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(classes, brokers, elr)
        self._directories = range(1 + two_directories)
        self._incarnations = [0] * brokers
        self._epochs: list[list[int]] = [[] for _ in range(brokers)]
        """The broker epochs that each broker has had."""
        self._places = [0] * brokers
        """In which of its log directories the replica of each broker lies."""
        for broker in range(brokers):
            self.register(broker, NONE)
            self.heartbeat(broker, self.offset, stopping=False)
        self._configs = {"min.insync.replicas": str(min_isr), "unclean.leader.election.enable": str(unclean).lower()}
        for name, value in self._configs.items():
            record = classes.message("ConfigRecord").setResourceType(2).setResourceName(TOPIC).setName(name)
            self.replay([record.setValue(value)])
        self._assignment = range(brokers if replicas is None else replicas)
        self.topic_ids = [self.kafka.named("org.apache.kafka.common.Uuid")(1, 2)]
        """The ids of all topics that there have been, the newest last."""
        self._begin(self._assignment)

    def _begin(self, replicas: Sequence[int]) -> None:
        (topic_id,) = self.topic_ids
        record = self.classes.message("PartitionRecord").setTopicId(topic_id).setPartitionId(0)
        members = self.kafka.java_list(replicas)
        directories = self.kafka.java_list([self.directory(broker) for broker in replicas])
        record.setReplicas(members).setIsr(members).setLeader(replicas[0]).setLeaderEpoch(0).setPartitionEpoch(0)
        record.setDirectories(directories)
        self.replay([self.classes.message("TopicRecord").setName(TOPIC).setTopicId(topic_id), record])

    def directory(self, broker: int, other: int = 0) -> Any:
        """Return the id of the log directory of a broker's replica, or of another one."""
        return self.kafka.named("org.apache.kafka.common.Uuid")(100 + other, broker)

    # Requests of brokers

    def register(self, broker: int, previous: int, again: bool = False) -> None:
        """Register a broker: a new process, or the same `again`. `previous` is the epoch that an orderly stop left, or NONE."""
        kafka = self.kafka
        self.classes.now += 2 * TIMEOUT
        if not again:
            self._incarnations[broker] += 1
        request = self.classes.registration(broker)
        request.setIncarnationId(kafka.named("org.apache.kafka.common.Uuid")(50 + broker, self._incarnations[broker]))
        request.setLogDirs(kafka.java_list([self.directory(broker, other) for other in self._directories]))
        request.setPreviousBrokerEpoch(self._epochs[broker][previous] if previous >= 0 else -1)
        finalized = kafka.call(self._features, "finalizedFeatures", kafka.long(0x7FFFFFFFFFFFFFFF))
        self._take(self._cluster.registerBroker(request, self.offset + 1, finalized, *(() if self.classes.is_3 else (True,))))
        epoch = int(self._registration(broker).epoch())
        if epoch not in self._epochs[broker]:
            self._epochs[broker].append(epoch)

    def heartbeat(self, broker: int, offset: int, stopping: bool, fenced: bool = False, failed: bool = False) -> None:
        """Receive a heartbeat: where the metadata log ends, whether it stops, stays fenced, and its directory has failed."""
        request = self.classes.message("BrokerHeartbeatRequestData").setBrokerId(broker).setWantFence(fenced)
        request.setBrokerEpoch(self._epochs[broker][-1]).setCurrentMetadataOffset(offset).setWantShutDown(stopping)
        if failed:
            request.setOfflineLogDirs(self.kafka.java_list([self.directory(broker, self._places[broker])]))
        at = self.kafka.long(self._registered_at[broker])
        reply = self._take(self.kafka.call(self._partitions, "processBrokerHeartbeat", request, at))
        if reply.inControlledShutdown():
            heartbeats = self.kafka.call(self._cluster, "heartbeatManager")
            self.kafka.call(
                heartbeats, "maybeUpdateControlledShutdownOffset", self.kafka.boxed(broker), self.kafka.long(self.offset)
            )

    def refused_heartbeat(self, broker: int) -> str:
        """Receive a heartbeat of a broker that is not registered; return the error's name."""
        return self._error_of(lambda: self.heartbeat(broker, self.offset, stopping=False))

    def _error_of(self, act: Callable[[], object]) -> str:
        """Do something; return the name of the error that it ends with."""
        try:
            act()
        except EXCEPTION as error:
            return str(self.classes.errors.forException(self.kafka.cause(error)).name())
        return "NONE"

    def assign(self, broker: int) -> str:
        """Receive that a broker's replica lies in its other directory now; return the error's name (AssignReplicasToDirs)."""
        kafka, kind = self.kafka, f"{MESSAGE}.AssignReplicasToDirsRequestData"
        self._places[broker] = 1 - self._places[broker]
        topic = kafka.named(f"{kind}$TopicData")().setTopicId(self.topic_ids[-1])
        topic.partitions().add(kafka.named(f"{kind}$PartitionData")().setPartitionIndex(0))
        placed = kafka.named(f"{kind}$DirectoryData")().setId(self.directory(broker, self._places[broker]))
        placed.topics().add(topic)
        request = self.classes.message("AssignReplicasToDirsRequestData").setBrokerId(broker)
        request.setBrokerEpoch(self._epochs[broker][-1]).directories().add(placed)
        reply = self._take(kafka.call(self._partitions, "handleAssignReplicasToDirs", request))
        (answer,) = reply.directories().get(0).topics().get(0).partitions()
        return self.classes.error_of(answer.errorCode())

    def fence(self, broker: int) -> None:
        """Fence a broker whose session has ended."""
        records = self.kafka.java_list(())
        self.kafka.call(self._partitions, "handleBrokerFenced", self.kafka.boxed(broker), records)
        self.replay([record.message() for record in records])

    def alter_partition(
        self,
        sender: int,
        epoch: int,
        leader_epoch: int,
        partition_epoch: int,
        members: Sequence[tuple[int, int]],
        recovery: int = 0,
        topic: int = NONE,
        number: int = 0,
    ) -> tuple[Any, ...]:
        """Receive AlterPartition; members are (broker, broker epoch), an epoch as its place among those the broker has had.

        `topic` counts topics of the name, and is the newest by default. Returns the error's name; with NONE also epochs and ISR.
        """
        kafka = self.kafka
        data = kafka.named(f"{MESSAGE}.AlterPartitionRequestData$PartitionData")().setPartitionIndex(number)
        data.setLeaderEpoch(leader_epoch).setPartitionEpoch(partition_epoch).setLeaderRecoveryState(recovery)
        for broker, known in members:
            state = kafka.named(f"{MESSAGE}.AlterPartitionRequestData$BrokerState")().setBrokerId(broker)
            data.newIsrWithEpochs().add(state.setBrokerEpoch(self._epoch(broker, known)))
        altered = kafka.named(f"{MESSAGE}.AlterPartitionRequestData$TopicData")().setTopicId(self.topic_ids[topic])
        altered.partitions().add(data)
        request = self.classes.message("AlterPartitionRequestData").setBrokerId(sender).setBrokerEpoch(self._epoch(sender, epoch))
        request.topics().add(altered)
        try:
            reply = self._take(kafka.call(self._partitions, "alterPartition", self.classes.context, request))
        except EXCEPTION as error:
            return (str(self.classes.errors.forException(kafka.cause(error)).name()),)
        (answer,) = reply.topics().get(0).partitions()
        found = self.classes.error_of(answer.errorCode())
        if found != "NONE":
            return (found,)
        return (found, int(answer.leaderEpoch()), int(answer.partitionEpoch()), tuple(sorted(int(b) for b in answer.isr())))

    def _epoch(self, broker: int, place: int) -> int:
        if place < 0:
            return -1
        known = self._epochs[broker] if broker < self.brokers else []
        return known[place] if place < len(known) else 1_000_000 + place

    # Requests of operators, and the controller's timers

    def elect(self, unclean: bool) -> None:
        """Elect the preferred replica, or uncleanly, on request."""
        kafka = self.kafka
        wanted = kafka.named(f"{MESSAGE}.ElectLeadersRequestData$TopicPartitions")().setTopic(TOPIC)
        wanted.setPartitions(kafka.java_list([0]))
        request = self.classes.message("ElectLeadersRequestData").setElectionType(int(unclean))
        request.topicPartitions().add(wanted)
        self._take(kafka.call(self._partitions, "electLeaders", request))

    def reassign(self, replicas: Sequence[int] | None) -> str:
        """Reassign the partition to these replicas, or cancel its reassignment; return the error's name."""
        kafka = self.kafka
        wanted = kafka.named(f"{MESSAGE}.AlterPartitionReassignmentsRequestData$ReassignablePartition")()
        wanted.setPartitionIndex(0).setReplicas(None if replicas is None else kafka.java_list(replicas))
        topic = kafka.named(f"{MESSAGE}.AlterPartitionReassignmentsRequestData$ReassignableTopic")().setName(TOPIC)
        topic.partitions().add(wanted)
        request = self.classes.message("AlterPartitionReassignmentsRequestData")
        request.topics().add(topic)
        reply = self._take(kafka.call(self._partitions, "alterPartitionReassignments", request))
        return self.classes.error_of(reply.responses().get(0).partitions().get(0).errorCode())

    def unregister(self, broker: int) -> str:
        """Unregister a broker; return the error's name."""
        return self._error_of(lambda: self._take(self.kafka.call(self._partitions, "unregisterBroker", self.kafka.boxed(broker))))

    def listed(self) -> tuple[Any, ...] | None:
        """Return replicas, added and removed ones of the reassignment that is listed, None if none is."""
        kafka = self.kafka
        asked = kafka.named(f"{MESSAGE}.ListPartitionReassignmentsRequestData$ListPartitionReassignmentsTopics")().setName(TOPIC)
        asked.setPartitionIndexes(kafka.java_list([0]))
        newest = kafka.long(0x7FFFFFFFFFFFFFFF)
        reply = kafka.call(self._partitions, "listPartitionReassignments", kafka.java_list([asked]), newest)
        for topic in reply.topics():
            (one,) = topic.partitions()
            return tuple(kafka.numbers(each) for each in (one.replicas(), one.addingReplicas(), one.removingReplicas()))
        return None

    def delete_topic(self) -> str:
        """Delete the newest topic, by its id; return the error's name."""
        ids = self.kafka.java_list([self.topic_ids[-1]])
        (error,) = self._take(self.kafka.call(self._partitions, "deleteTopics", self.classes.context, ids)).values()
        return str(error.error().name())

    def create_topic(self) -> str:
        """Create a topic of the same name with the first replicas and configuration; return the error's name."""
        kafka, request = self.kafka, self.classes.creation(self._assignment, self._configs)
        more = () if kafka.version < "4.3" else (False,)
        described = kafka.named("java.util.HashSet")()
        reply = self._take(kafka.call(self._partitions, "createTopics", self.classes.context, request, described, *more))
        (created,) = reply.topics()
        if created.errorCode() == 0:
            self.topic_ids.append(created.topicId())
        return self.classes.error_of(created.errorCode())

    def balance(self) -> None:
        """Elect preferred replicas, as the controller does every five minutes."""
        self._take(self.kafka.call(self._partitions, "maybeBalancePartitionLeaders"))

    def sweep(self) -> None:
        """Elect leaders for partitions without one, uncleanly where the topic allows, as the controller does every five minutes."""
        self._take(self.kafka.call(self._partitions, "maybeElectUncleanLeaders"))

    # What it knows

    def _registration(self, broker: int) -> Any:
        return self.kafka.call(self._cluster, "brokerRegistrations").get(self.kafka.boxed(broker))

    def state(self, broker: int) -> BrokerState:
        """Return the state of a broker's registration."""
        held = self._registration(broker)
        if held is None:
            return BrokerState.UNREGISTERED
        if held.fenced():
            return BrokerState.FENCED
        return BrokerState.CONTROLLED_SHUTDOWN if held.inControlledShutdown() else BrokerState.UNFENCED

    def view(self) -> KRaftView:
        """Return registrations and partition."""
        registrations = tuple((self.state(broker), self._last_epoch(broker)) for broker in range(self.brokers))
        held, offline = self._partition(), tuple(broker for broker in range(self.brokers) if not self._has_directory(broker))
        if held is None:
            return KRaftView(registrations, NO_PARTITION, NONE, offline)
        return KRaftView(registrations, read(self.kafka, held), len(self.topic_ids) - 1, offline)

    def _last_epoch(self, broker: int) -> int:
        """Return the place of the epoch of a broker's registration, or its last one."""
        held = self._registration(broker)
        return len(self._epochs[broker]) - 1 if held is None else self._epochs[broker].index(int(held.epoch()))

    def _has_directory(self, broker: int) -> bool:
        """Whether the log directory of a broker's replica is not registered as offline."""
        held = self._registration(broker)
        return held is None or bool(held.hasOnlineDir(self.directory(broker, self._places[broker])))

    def _partition(self) -> Any:
        """Return the partition, None if there is no topic."""
        return self.kafka.call(self._partitions, "getPartition", self.topic_ids[-1], self.kafka.boxed(0))

    def isr(self) -> tuple[int, ...]:
        """Return the ISR in its order, in which leaders propose it again: another order is another ISR to Kafka."""
        held = self._partition()
        return () if held is None else tuple(int(broker) for broker in held.isr)

    def has_applied_its_registration(self, broker: int, offset: int) -> bool:
        """Whether a metadata log that ends at the offset has the newest registration of the broker."""
        return offset >= self._registered_at[broker]

"""Steps of the controller as Java: the lines that a test of ReplicationControlManager needs for each, in Kafka's own test context.

Source: Kafka 4.3 ReplicationControlManagerTest.java, class ReplicationControlTestContext.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from kafka_spec.spec.kraft.machines import BrokerState
from kafka_spec.spec.kraft.state import KRaft
from kafka_spec.spec.language.domain import BrokerSet

TOPIC = "foo"
Lines = list[str]
Binding = Sequence[int]


def numbers(values: Iterable[int]) -> str:
    """Return numbers as the arguments of a Java list."""
    return ", ".join(map(str, values))


def altering(target: str) -> Lines:
    """Return the lines that request other replicas; `target` is a Java list, or null to cancel."""
    return [
        "ctx.replay(ctx.replicationControl.alterPartitionReassignments(",
        "    new AlterPartitionReassignmentsRequestData().setTopics(List.of(",
        f'        new ReassignableTopic().setName("{TOPIC}").setPartitions(List.of(',
        f"            new ReassignablePartition().setPartitionIndex(0).setReplicas({target})))))).records());",
    ]


def reassign(_: KRaft, binding: Binding) -> Lines:
    """Reassign the partition."""
    return altering(f"List.of({numbers(BrokerSet(binding[0]))})")


def cancel(_: KRaft, __: Binding) -> Lines:
    """Cancel the reassignment."""
    return altering("null")


def alter_partition(s: KRaft, binding: Binding) -> Lines:
    """Propose an ISR, with the epochs that the leader knows."""
    (leader,) = binding
    request = s.brokers[leader].requests[0]
    proposed = [_broker_state(s, broker, request.epochs[broker]) for broker in BrokerSet(request.isr)]
    return [
        "ctx.replay(ctx.replicationControl.alterPartition(",
        "    anonymousContextFor(ApiKeys.ALTER_PARTITION),",
        f"    new AlterPartitionRequestData().setBrokerId({leader})"
        f".setBrokerEpoch({_epoch(s, leader, request.broker_epoch)}).setTopics(",
        "        List.of(new TopicData().setTopicId(topicId).setPartitions(List.of(new PartitionData().setPartitionIndex(0)",
        f"            .setLeaderEpoch({request.leader_epoch}).setPartitionEpoch({request.partition_epoch})",
        "            .setNewIsrWithEpochs(List.of(",
        *(f"                {one}," for one in proposed[:-1]),
        f"                {proposed[-1]}))))))).records());",
    ]


def _broker_state(s: KRaft, broker: int, epoch: int) -> str:
    return f"new BrokerState().setBrokerId({broker}).setBrokerEpoch({_epoch(s, broker, epoch)})"


def _epoch(s: KRaft, broker: int, epoch: int) -> str:
    """Return a broker epoch: Kafka's test context registers a broker under the same one each time; -1 is unknown in Kafka too."""
    if epoch < 0:
        return str(epoch)
    before = s.controller.registrations[broker].epoch - epoch
    return f"defaultBrokerEpoch({broker})" + (f" - {before}" if before else "")


def start_broker(s: KRaft, binding: Binding) -> Lines:
    """Register a new process of a broker, which reports whether the process before ended in order."""
    (broker,) = binding
    known = s.controller.registrations[broker]
    in_order = known.state != BrokerState.UNREGISTERED and s.brokers[broker].clean_epoch == known.epoch
    return [f"ctx.handleBrokersShutdown({str(in_order).lower()}, {broker});", f"ctx.registerBrokers({broker});"]


def fence(s: KRaft, binding: Binding) -> Lines:
    """Fence a broker: of all brokers those that are fenced afterwards are named."""
    fenced = [b for b, held in enumerate(s.controller.registrations) if b in binding or held.state == BrokerState.FENCED]
    return [f"ctx.fenceBrokers(Set.of({numbers(fenced)}));"]


def unfence(_: KRaft, binding: Binding) -> Lines:
    """Unfence a broker."""
    return [f"ctx.unfenceBrokers({numbers(binding)});"]


def shut_down(_: KRaft, binding: Binding) -> Lines:
    """Handle a heartbeat that asks for a controlled shutdown."""
    (broker,) = binding
    return [
        "ctx.replay(ctx.replicationControl.processBrokerHeartbeat(new BrokerHeartbeatRequestData()",
        f"    .setBrokerId({broker}).setBrokerEpoch(defaultBrokerEpoch({broker})).setCurrentMetadataOffset(1)",
        "    .setWantFence(false).setWantShutDown(true), 0).records());",
    ]


def unregister(_: KRaft, binding: Binding) -> Lines:
    """Unregister a broker."""
    return [f"ctx.replay(ctx.replicationControl.unregisterBroker({numbers(binding)}).records());"]


def electing(kind: str) -> Lines:
    """Return the lines that request an election of the partition."""
    return [
        "ctx.replay(ctx.replicationControl.electLeaders(new ElectLeadersRequestData()",
        f"    .setElectionType(ElectionType.{kind}.value).setTopicPartitions(null)).records());",
    ]


REQUESTS: Mapping[str, Callable[[KRaft, Binding], Lines]] = {
    "Reassign": reassign,
    "CancelReassignment": cancel,
    "AlterPartition": alter_partition,
    "FenceAlive": fence,
    "FenceDead": fence,
    "Unfence": unfence,
    "StartBroker": start_broker,
    "BeginControlledShutdown": shut_down,
    "GrantShutdown": shut_down,
    "Unregister": unregister,
    "ElectPreferred": lambda _, __: electing("PREFERRED"),
    "ElectUnclean": lambda _, __: electing("UNCLEAN"),
}
"""The lines for each rule of the controller, from the state before the step and the values of its parameters."""


def created(s: KRaft, min_isr: int, unclean: bool, elr: bool) -> Lines:
    """Return the lines that lead to an initial state: the brokers of the first ISR are unfenced when the topic is created."""
    brokers, partition = range(len(s.brokers)), s.controller.partition
    isr = list(BrokerSet(partition.isr))
    others = [broker for broker in brokers if broker not in isr]
    settings = [
        ("MIN_IN_SYNC_REPLICAS_CONFIG", str(min_isr)),
        *([("UNCLEAN_LEADER_ELECTION_ENABLE_CONFIG", "true")] if unclean else []),
    ]
    builder = "new ReplicationControlTestContext.Builder()" + (".setIsElrEnabled(true)" if elr else "") + ".build()"
    return [
        f"ReplicationControlTestContext ctx = {builder};",
        f"ctx.registerBrokers({numbers(brokers)});",
        f"ctx.unfenceBrokers({numbers(isr)});",
        f'Uuid topicId = ctx.createTestTopic("{TOPIC}", new int[][] {{new int[] {{{numbers(partition.replicas)}}}}}).topicId();',
        *(f'ctx.alterTopicConfig("{TOPIC}", TopicConfig.{name}, "{value}");' for name, value in settings),
        *([f"ctx.unfenceBrokers({numbers(others)});"] if others else []),
    ]

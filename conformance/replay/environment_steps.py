"""Steps of operators, clients and faults."""

from __future__ import annotations

from random import Random

from kafka_spec.conformance.replay.core import NotEnabled, Steps
from kafka_spec.conformance.replay.disk import batch_of
from kafka_spec.conformance.replay.projection import Projection
from kafka_spec.conformance.replay.request_mapping import PARTITION, PARTITIONS
from kafka_spec.conformance.replay.steps import running, target_of
from kafka_spec.impl.broker.led_partitions import ACKS_ALL
from kafka_spec.impl.log.log import PartitionLog
from kafka_spec.impl.protocol.errors import KafkaError
from kafka_spec.impl.zookeeper.coordination import znodes
from kafka_spec.impl.zookeeper.coordination.admin import Admin
from kafka_spec.spec.zookeeper.environment import partitions_at_first

STEPS = Steps()


def assignment_at_first(projection: Projection) -> dict[int, tuple[int, ...]]:
    """Return the replicas of the partitions with which the topic is created."""
    return dict.fromkeys(range(partitions_at_first(projection.k)), projection.assignment)


@STEPS.of("CreateTopic")
def create_topic(projection: Projection) -> None:
    """Create the topic."""
    admin = Admin(projection.cluster.tools, Random(0), lambda _: None)
    admin.create_topic_with_assignment(PARTITION.topic, assignment_at_first(projection))


@STEPS.of("DeleteTopic")
def ask_for_deletion(projection: Projection) -> None:
    """Ask for the deletion of the topic."""
    Admin(projection.cluster.tools, Random(0), lambda _: None).delete_topic(PARTITION.topic)


@STEPS.of("RecreateTopic")
def create_topic_again(projection: Projection) -> None:
    """Create the topic again, if the era permits it now."""
    allowed = projection.k.creation_during_deletion
    admin = Admin(projection.cluster.tools, Random(0), lambda _: None, creation_during_deletion=allowed)
    admin.create_topic_with_assignment(PARTITION.topic, assignment_at_first(projection))


@STEPS.of("AddPartition")
def add_partition(projection: Projection, first: int) -> None:
    """Add a partition with the replicas from this broker on."""
    number = len(projection.ensemble_partitions())
    replicas = tuple((first + place) % projection.brokers for place in range(len(projection.assignment)))
    try:
        Admin(projection.cluster.tools, Random(0), lambda _: None).add_partitions(PARTITION.topic, number + 1, {number: replicas})
    except KafkaError as error:
        raise NotEnabled(str(error)) from error


@STEPS.of("WriteReassignment")
def write_reassignment(projection: Projection, partition: int, first: int, second: int) -> None:
    """Write /admin/reassign_partitions, as the tool does."""
    content = znodes.encode_reassignment({PARTITIONS[partition]: target_of(first, second)})
    projection.cluster.tools.create(znodes.REASSIGN_PARTITIONS, content)


@STEPS.of("WriteReassignments")
def write_plan(projection: Projection, partition: int, first: int, second: int, others_move: int) -> None:
    """Write /admin/reassign_partitions with all partitions of the topic, as the tool does with the plan that it generates."""
    plan = {PARTITIONS[number]: replicas for number, replicas in projection.ensemble_partitions().items()}
    plan |= {name: target_of(first, second) for name in plan if others_move or name == PARTITIONS[partition]}
    projection.cluster.tools.create(znodes.REASSIGN_PARTITIONS, znodes.encode_reassignment(plan))


@STEPS.of("Write")
def write(projection: Projection, partition: int, broker: int) -> None:
    """Write the next record."""
    projection.records += 1
    try:
        running(projection, broker).data.append_as_leader(PARTITIONS[partition], batch_of(projection.records - 1), ACKS_ALL)
    except KafkaError as error:
        raise NotEnabled(str(error)) from error


@STEPS.of("ShutDown")
def begin_to_stop(projection: Projection, broker: int) -> None:
    """Begin a controlled shutdown, which the controller will notice."""
    running(projection, broker).is_stopping = True


@STEPS.of("Exit", "Crash")
def end_process(projection: Projection, broker: int) -> None:
    """End a process. In the model the high watermark on disk is the oldest one, so a process that exits does not write it."""
    running(projection, broker)
    projection.cluster.crash(broker)
    projection.lose_answers(broker)


@STEPS.of("LossyCrash")
def lose_power(projection: Projection, partition: int, broker: int, end: int) -> None:
    """End a process, and lose the end of its log."""
    end_process(projection, broker)
    log = PartitionLog(projection.cluster.folder / str(broker) / str(PARTITIONS[partition]))
    log.truncate_to(end)
    log.crash()


@STEPS.of("Restart")
def restart(projection: Projection, broker: int) -> None:
    """Start a process."""
    if broker in projection.cluster.brokers:
        raise NotEnabled(f"broker {broker} runs")
    projection.cluster.start(broker)


@STEPS.of("Bounce")
def bounce(projection: Projection, broker: int) -> None:
    """End a process and start it again."""
    running(projection, broker)
    projection.cluster.bounce(broker)
    projection.lose_answers(broker)


@STEPS.of("ExpireSession")
def expire(projection: Projection, broker: int) -> None:
    """Let a session expire."""
    running(projection, broker)
    projection.cluster.expire(broker)


@STEPS.of("LoseConnection")
def lose_connection(projection: Projection, controller: int, broker: int) -> None:
    """Lose the answer to the request in flight, which will be sent again."""
    projection.lose_next_answer(controller, broker)


@STEPS.of("LoseRequest")
def lose_request(projection: Projection, controller: int, broker: int) -> None:
    """Lose the request in flight."""
    if not projection.cluster.lose(controller, broker):
        raise NotEnabled(f"nothing waits in the channel from {controller} to {broker}")

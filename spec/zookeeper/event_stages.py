"""The order in which a controller performs the steps of an event. The model and the agenda of the replay both use it.

Reads no state. The implementation has its own order (impl/zookeeper/controller), which the replay compares with this one.

Source: Kafka 2.8 KafkaController.scala, onControllerFailover, processBrokerChange, onReplicasBecomeOffline.
"""

from __future__ import annotations

import enum


class Stage(enum.IntEnum):
    """The stages that can remain of an event. The first remaining one is next; later ones add elections and removals again.

    A fail-over adds READ, START_PARTITION_MACHINE, REASSIGN and BE_ACTIVE; a change of brokers adds FAIL_BOUNCED, START_BOUNCED and
    FAIL_DEAD, after the new brokers are started; a new topic and a preferred election add ELECT, a controlled shutdown ELECT or
    REMOVE.
    """

    READ = 1
    """Read brokers, topic and partition state from ZooKeeper, and start the replica machine."""
    ELECT = 2
    """Bring the partition online, if needed; then the replicas of a partition that was just created."""
    REMOVE = 3
    """Take replicas offline, one after the other; then elect once more, if needed."""
    START_PARTITION_MACHINE = 4
    """Start the partition machine, if there is a partition; adds ELECT."""
    REASSIGN = 5
    """Begin, continue or resume a reassignment; adds its next step, or REMOVE."""
    ASK_TO_DELETE = 6
    """Ask brokers to delete replicas that have been taken offline."""
    CONSIDER_DELETION = 7
    """Consider the deletion of the topic, if it is queued; adds REMOVE and ASK_TO_DELETE, or the deletion of its znodes."""
    BE_ACTIVE = 8
    """End the fail-over."""
    FAIL_BOUNCED = 9
    """Process bounced brokers as failed; adds ELECT and REMOVE, or CONSIDER_DELETION."""
    START_BOUNCED = 10
    """Process the same brokers as started; adds ELECT, or CONSIDER_DELETION."""
    FAIL_DEAD = 11
    """Process brokers that are no longer registered as failed; adds ELECT and REMOVE, or CONSIDER_DELETION."""

"""The order in which a controller does what is left of an event. The model works by it, and the replay lays out an agenda by it.

Knows no state. The implementation has its own order (impl/controller), which the replay compares with this one.

Source: Kafka 2.8 KafkaController.scala, onControllerFailover, processBrokerChange, onReplicasBecomeOffline.
"""

from __future__ import annotations

import enum


class Stage(enum.IntEnum):
    """What can be left of an event. The first that is left is done next; the later ones leave elections and removals in turn.

    A fail-over leaves READ, START_PARTITION_MACHINE and BE_ACTIVE; a change of brokers FAIL_BOUNCED, START_BOUNCED and FAIL_DEAD,
    once the new ones are started; a new topic and a preferred election leave ELECT, a controlled shutdown ELECT or REMOVE.
    """

    READ = 1
    """Read brokers, topic and partition state from ZooKeeper, and start the replica machine."""
    ELECT = 2
    """Bring the partition online, if that is due; then the replicas of a partition that was just created."""
    REMOVE = 3
    """Take replicas offline, one after the other; then elect once more, if that is due."""
    START_PARTITION_MACHINE = 4
    """Start the partition machine, if there is a partition; leaves ELECT."""
    BE_ACTIVE = 5
    """End the fail-over."""
    FAIL_BOUNCED = 6
    """Take the brokers for dead that came back before they were missed; leaves ELECT and REMOVE."""
    START_BOUNCED = 7
    """Take the same brokers for live; leaves ELECT."""
    FAIL_DEAD = 8
    """Take brokers that are gone for dead; leaves ELECT and REMOVE."""

"""Two machines that Kafka's source leaves implicit: the life of a broker as controller, and the role of a replica on its broker."""

from __future__ import annotations

import enum

from kafka_spec.spec.vocabulary.table import Machine, Row


class ControllerState(enum.IntEnum):
    """The life of a broker as controller."""

    STANDBY = 0
    """Another broker is the controller, or none is."""
    ELECTING = 1
    """It has created /controller and has not written its epoch yet: only in 0.10."""
    LOADING = 2
    """It has its epoch and takes over: KafkaController.onControllerFailover."""
    ACTIVE = 3
    """It handles events, one after the other."""


class Role(enum.IntEnum):
    """The role of a broker's replica of the partition."""

    NONE = 0
    """Not hosted: the broker has received no LeaderAndIsr since it started."""
    FOLLOWER = 1
    LEADER = 2
    OFFLINE = 3
    """Its log directory has failed."""


STANDBY, ELECTING, LOADING, ACTIVE = ControllerState


CONTROLLER = Machine(
    "Controller",
    ControllerState,
    STANDBY,
    (
        Row("create_controller_znode", (STANDBY,), ELECTING, reference="Kafka 0.10 ZookeeperLeaderElector.elect"),
        Row("increment_epoch", (ELECTING,), LOADING, reference="Kafka 0.10 KafkaController.incrementControllerEpoch"),
        Row("elect", (STANDBY,), LOADING, reference="Kafka 2.8 KafkaController.elect"),
        Row("failover", (LOADING,), ACTIVE, reference="Kafka 2.8 KafkaController.onControllerFailover"),
        Row("resign", (ELECTING, LOADING, ACTIVE), STANDBY, reference="Kafka 2.8 KafkaController.onControllerResignation"),
        Row("die", tuple(ControllerState), STANDBY, reference="the process ends", kind="initialisation"),
    ),
    entity=("controller",),
    reference="Kafka 2.8 KafkaController.scala",
)
"""The life of a broker as controller."""


ROLE = Machine(
    "Role",
    Role,
    Role.NONE,
    (
        Row("become_leader", (Role.NONE, Role.FOLLOWER, Role.LEADER), Role.LEADER, reference="Kafka 2.8 Partition.makeLeader"),
        Row(
            "become_follower", (Role.NONE, Role.FOLLOWER, Role.LEADER), Role.FOLLOWER, reference="Kafka 2.8 Partition.makeFollower"
        ),
        Row(
            "log_directory_fails",
            (Role.NONE, Role.FOLLOWER, Role.LEADER),
            Role.OFFLINE,
            reference="Kafka 2.8 ReplicaManager.markPartitionOffline",
            waits_for="failures of log directories",
        ),
        Row(
            "delete_replica",
            (Role.NONE, Role.FOLLOWER, Role.LEADER),
            Role.NONE,
            reference="Kafka 2.8 ReplicaManager.stopReplicas",
        ),
        Row("die", tuple(Role), Role.NONE, reference="the process ends", kind="initialisation"),
    ),
    entity=("broker", "partition"),
    reference="Kafka 2.8 ReplicaManager.scala, Partition.scala",
)
"""The role of a replica on its broker."""

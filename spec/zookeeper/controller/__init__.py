"""The controller: one module for each kind of event, and the functions of the rows of both tables.

An event is handled in steps with at most one ZooKeeper operation each; between two steps, other brokers, ZooKeeper and faults can
act. The rest of an event is data: `step` and the sets in `context`. Requests enter their channels in the same step as the write
that they announce, and are sent when their change of states is complete (see spec/zookeeper/network.py). The two tables define the
transitions of partition and replicas.

Source: Kafka 2.8 KafkaController.scala, PartitionStateMachine.scala, ReplicaStateMachine.scala.
"""

from __future__ import annotations

from kafka_spec.spec.zookeeper.controller import deletion_events, reassignment_events
from kafka_spec.spec.zookeeper.controller.broker_changes import NOTICE_BROKER_CHANGE
from kafka_spec.spec.zookeeper.controller.failover import (
    CREATE_CONTROLLER_ZNODE,
    ELECT_CONTROLLER,
    INCREMENT_CONTROLLER_EPOCH,
    TAKE_OVER,
)
from kafka_spec.spec.zookeeper.controller.rebalance import REBALANCE
from kafka_spec.spec.zookeeper.controller.requested import (
    CONTROLLED_SHUTDOWN,
    CONTROLLED_SHUTDOWN_AGAIN,
    PREFERRED_ELECTION,
    UNCLEAN_ELECTION,
)
from kafka_spec.spec.zookeeper.controller.resignation import ADOPT_EPOCH, CONTROLLER_MOVED, GIVE_UP, NOTICE_EXPIRY, RESIGN
from kafka_spec.spec.zookeeper.controller.steps import ELECT_LEADER, TAKE_REPLICA_OFFLINE
from kafka_spec.spec.zookeeper.controller.topics import (
    NOTICE_ISR_CHANGE,
    NOTICE_PARTITION,
    NOTICE_TOPIC,
    REFUSE_PARTITION,
    RESTORE_ASSIGNMENT,
)

RULES = (
    ELECT_CONTROLLER,
    CREATE_CONTROLLER_ZNODE,
    INCREMENT_CONTROLLER_EPOCH,
    TAKE_OVER,
    NOTICE_BROKER_CHANGE,
    NOTICE_TOPIC,
    NOTICE_ISR_CHANGE,
    CONTROLLED_SHUTDOWN,
    CONTROLLED_SHUTDOWN_AGAIN,
    ELECT_LEADER,
    TAKE_REPLICA_OFFLINE,
    CONTROLLER_MOVED,
    RESIGN,
    NOTICE_EXPIRY,
    ADOPT_EPOCH,
    PREFERRED_ELECTION,
    GIVE_UP,
    *reassignment_events.RULES,
    *deletion_events.RULES,
    NOTICE_PARTITION,
    REFUSE_PARTITION,
    RESTORE_ASSIGNMENT,
    REBALANCE,
    UNCLEAN_ELECTION,
)
"""The rules of controllers, including those of single eras."""

"""The broker: requests of controllers, becoming leader and follower, fetching, the high watermark, and the ISR.

A broker reads its own replica, its metadata cache and ZooKeeper, not the controllers' internal state. A request that a broker has
processed leaves its channel, unless the connection is lost before the answer.

Source: Kafka 2.8 KafkaApis.scala, ReplicaManager.scala, Partition.scala at inter.broker.protocol 2.6 (ISR through ZooKeeper).
"""

from __future__ import annotations

from kafka_spec.spec.zookeeper.broker import late_stop
from kafka_spec.spec.zookeeper.broker.deletion import FAIL_TO_DELETE
from kafka_spec.spec.zookeeper.broker.fetching import ADVANCE_HIGH_WATERMARK, FETCH, TRUNCATE_TO_LEADER
from kafka_spec.spec.zookeeper.broker.isr import (
    DROP_FROM_ISR,
    EXPAND_ISR,
    EXPAND_ISR_UNANSWERED,
    RETRY_ISR_WRITE,
    SHRINK_ISR,
    SHRINK_ISR_UNANSWERED,
)
from kafka_spec.spec.zookeeper.broker.late_answer import LATE_ANSWER_ARRIVES, LOSE_LATE_ANSWER, SEND_LATE_ANSWER
from kafka_spec.spec.zookeeper.broker.late_fetch import (
    LATE_FETCH_EXPANDS_ISR,
    LATE_FETCH_TELLS_END,
    LOSE_LATE_FETCH,
    SEND_LATE_FETCH,
)
from kafka_spec.spec.zookeeper.broker.leader_and_isr import (
    BECOME_FOLLOWER,
    BECOME_LEADER,
    IGNORE_LEADER_AND_ISR,
    LEADER_IS_UNAVAILABLE,
)
from kafka_spec.spec.zookeeper.broker.requests import (
    DELETE_REPLICA,
    IGNORE_STOP_REPLICA,
    REFUSE_REQUEST,
    STOP_REPLICA,
    UPDATE_METADATA,
    UPDATE_METADATA_AGAIN,
)

RULES = (
    REFUSE_REQUEST,
    IGNORE_LEADER_AND_ISR,
    BECOME_LEADER,
    BECOME_FOLLOWER,
    LEADER_IS_UNAVAILABLE,
    UPDATE_METADATA,
    UPDATE_METADATA_AGAIN,
    STOP_REPLICA,
    DELETE_REPLICA,
    IGNORE_STOP_REPLICA,
    TRUNCATE_TO_LEADER,
    FETCH,
    ADVANCE_HIGH_WATERMARK,
    EXPAND_ISR,
    DROP_FROM_ISR,
    LATE_FETCH_EXPANDS_ISR,
    LATE_FETCH_TELLS_END,
    LOSE_LATE_FETCH,
    SHRINK_ISR,
    SHRINK_ISR_UNANSWERED,
    EXPAND_ISR_UNANSWERED,
    RETRY_ISR_WRITE,
    SEND_LATE_FETCH,
    FAIL_TO_DELETE,
    *late_stop.RULES,
    SEND_LATE_ANSWER,
    LATE_ANSWER_ARRIVES,
    LOSE_LATE_ANSWER,
)
"""The rules of brokers."""

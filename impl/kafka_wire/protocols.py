"""The versions of the requests that brokers send to each other, by inter.broker.protocol.version.

From 2.7 on fetches find out where logs diverge (KIP-595), and leaders ask the controller for ISRs (KIP-497). From 2.8 on requests
of controllers have topic ids, and from 3.1 on fetches (KIP-516). From 3.5 on a fetch has the broker epoch (KIP-903). What is not
listed is sent in the version of 2.6. AlterPartition is sent in version 2 at most: 3 adds the broker epochs of members, for KRaft.

Source: Kafka 2.8 ControllerChannelManager.scala, ReplicaFetcherThread.scala; Kafka 3.9 MetadataVersion.java.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from kafka_spec.impl.protocol.controller_requests import LeaderAndIsrRequest, StopReplicaRequest, UpdateMetadataRequest
from kafka_spec.impl.protocol.data_requests import (
    AlterIsrRequest,
    ControlledShutdownRequest,
    FetchRequest,
    ListOffsetsRequest,
    OffsetsForLeaderEpochRequest,
    ProduceRequest,
)
from kafka_spec.impl.protocol.settings import Settings
from kafka_spec.spec.vocabulary.table import SpecError


@dataclass(frozen=True)
class InterBrokerProtocol:
    """One inter.broker.protocol.version: the version in which each request is sent, and what brokers do under it."""

    name: str
    versions: Mapping[type, int]
    truncation_on_fetch: bool = True
    topic_ids: bool = True
    alter_partition: bool = True

    def settings(self, settings: Settings) -> Settings:
        """Return a broker's settings under this protocol."""
        return replace(
            settings,
            truncation_on_fetch=self.truncation_on_fetch,
            topic_ids=self.topic_ids,
            alter_partition=self.alter_partition,
        )


OF_2_6: Mapping[type, int] = {
    ProduceRequest: 8,
    FetchRequest: 11,
    ListOffsetsRequest: 5,
    LeaderAndIsrRequest: 4,
    StopReplicaRequest: 3,
    UpdateMetadataRequest: 6,
    ControlledShutdownRequest: 3,
    OffsetsForLeaderEpochRequest: 3,
    AlterIsrRequest: 0,
}
OF_2_8 = {
    **OF_2_6,
    FetchRequest: 12,
    ListOffsetsRequest: 6,
    LeaderAndIsrRequest: 5,
    UpdateMetadataRequest: 7,
    OffsetsForLeaderEpochRequest: 4,
}
OF_3_9 = {
    **OF_2_8,
    FetchRequest: 17,
    ListOffsetsRequest: 9,
    LeaderAndIsrRequest: 7,
    StopReplicaRequest: 4,
    UpdateMetadataRequest: 8,
    AlterIsrRequest: 2,
}
PROTOCOLS = {
    one.name: one
    for one in (
        InterBrokerProtocol("2.6", OF_2_6, truncation_on_fetch=False, topic_ids=False, alter_partition=False),
        InterBrokerProtocol("2.7", {**OF_2_6, FetchRequest: 12}, topic_ids=False),
        InterBrokerProtocol("2.8", OF_2_8),
        InterBrokerProtocol("3.9", OF_3_9),
    )
}
OLDEST = PROTOCOLS["2.6"]


def protocol_named(name: str) -> InterBrokerProtocol:
    """Return the protocol of an inter.broker.protocol.version.

    Raises:
        SpecError: it is not among those that are known.
    """
    if name not in PROTOCOLS:
        raise SpecError(f"inter.broker.protocol.version {name} is not known here; {', '.join(PROTOCOLS)} are")
    return PROTOCOLS[name]

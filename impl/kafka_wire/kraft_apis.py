"""What a controller of KRaft serves: requests of observers, of brokers, and of operators, which brokers forward (KIP-590).

Source: Kafka 4.4 ApiMessageType.java, the requests of the listener CONTROLLER.
"""

from __future__ import annotations

from kafka_spec.impl.kafka_wire import controller_codecs as control
from kafka_spec.impl.kafka_wire import operator_codecs as operators
from kafka_spec.impl.kafka_wire import quorum_codecs as quorum
from kafka_spec.impl.kafka_wire import registration_codecs as brokers
from kafka_spec.impl.kafka_wire.apis import Api, ServedApis
from kafka_spec.impl.protocol.data_requests import (
    AllocateProducerIdsRequest,
    AlterPartitionReassignmentsRequest,
    ElectLeadersRequest,
    ListPartitionReassignmentsRequest,
)
from kafka_spec.impl.protocol.kraft_requests import (
    AssignReplicasToDirsRequest,
    BrokerHeartbeatRequest,
    BrokerRegistrationRequest,
    ProposalRequest,
)
from kafka_spec.impl.protocol.operator_requests import (
    AlterConfigsRequest,
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    UnregisterBrokerRequest,
)
from kafka_spec.impl.protocol.quorum_requests import DescribeQuorumRequest, FetchLogRequest, FetchSnapshotRequest, VoteRequest

KRAFT_CONTROLLER = ServedApis(
    (
        Api(1, FetchLogRequest, 17, 17, quorum.fetch_log_of, quorum.fetched_log_fields),
        Api(59, FetchSnapshotRequest, 0, 1, quorum.fetch_snapshot_of, quorum.fetched_snapshot_fields),
        Api(52, VoteRequest, 0, 1, quorum.vote_of, quorum.voted_fields),
        Api(55, DescribeQuorumRequest, 0, 2, quorum.describe_quorum_of, quorum.described_quorum_fields),
        Api(62, BrokerRegistrationRequest, 0, 4, brokers.registration_of, brokers.registered_fields),
        Api(63, BrokerHeartbeatRequest, 0, 2, brokers.heartbeat_of, brokers.heartbeat_fields),
        Api(56, ProposalRequest, 2, 3, brokers.proposals_of, brokers.proposals_answered_fields),
        Api(67, AllocateProducerIdsRequest, 0, 0, control.allocate_producer_ids_of, control.producer_ids_fields),
        Api(
            73, AssignReplicasToDirsRequest, 0, 0, brokers.assigned_directories_of, brokers.directories_answered_fields,
        ),
        Api(19, CreateTopicsRequest, 2, 7, operators.create_topics_of, operators.created_topics_fields),
        Api(20, DeleteTopicsRequest, 1, 6, operators.delete_topics_of, operators.deleted_topics_fields),
        Api(37, CreatePartitionsRequest, 0, 3, operators.create_partitions_of, operators.created_partitions_fields),
        Api(64, UnregisterBrokerRequest, 0, 0, operators.unregister_broker_of, operators.unregistered_broker_fields),
        Api(43, ElectLeadersRequest, 0, 2, operators.elect_leaders_of, operators.elected_leaders_fields),
        Api(44, AlterConfigsRequest, 0, 1, operators.alter_configs_of, operators.altered_configs_fields),
        Api(
            45, AlterPartitionReassignmentsRequest, 0, 1, operators.reassignments_of, operators.reassignments_fields,
        ),
        Api(
            46, ListPartitionReassignmentsRequest, 0, 0,
            operators.list_reassignments_of, operators.listed_reassignments_fields,
        ),
    ),
    forwarded=True,
)  # fmt: skip
"""What is served, beside ApiVersions and Envelope."""

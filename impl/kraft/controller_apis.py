"""What an active controller of KRaft serves: observers of the metadata log, brokers, and operators through brokers.

Sans-IO: the caller delivers messages and the time in milliseconds, and calls `look` now and then.

Source: Kafka 4.4 ControllerApis.scala, KafkaRaftClient.java.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

from kafka_spec.impl.kraft.controller import KRaftController
from kafka_spec.impl.kraft.operator_apis import OperatorApis
from kafka_spec.impl.kraft.quorum_of_one import QuorumOfOne
from kafka_spec.impl.protocol.data_requests import (
    AllocateProducerIdsRequest,
    AlterPartitionReassignmentsRequest,
    ElectLeadersRequest,
    ListPartitionReassignmentsRequest,
)
from kafka_spec.impl.protocol.errors import ErrorCode
from kafka_spec.impl.protocol.kraft_requests import (
    AssignReplicasToDirsRequest,
    BrokerHeartbeatRequest,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    ProposalAnswer,
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
from kafka_spec.impl.protocol.topic_ids import names_found, text_of

Reply = Callable[[Any], object]
ELECTIONS_EVERY_MS = 5 * 60 * 1000
"""How often the controller looks for partitions that it may elect uncleanly (unclean.leader.election.interval.ms)."""


class ControllerApis:
    """The requests to one active controller; `serve` answers each, a fetch at the end of the log later."""

    def __init__(self, controller: KRaftController, quorum: QuorumOfOne, random: Random) -> None:
        """`random` is for topic ids, and for where replicas go."""
        self.controller = controller
        self.quorum = quorum
        self.operators = OperatorApis(controller, random)
        self._elects_at = 0

    def serve(self, message: object, now: int, reply: Reply) -> None:
        """Handle a request; `reply` receives its answer. Fetches that waited for what it has committed are answered, too."""
        if isinstance(message, FetchLogRequest):
            self.quorum.fetch(message, now, reply)
        else:
            reply(self._answer(message, now))
            self.quorum.look(now)

    def look(self, now: int) -> None:
        """Fence one broker whose session has ended, elect from time to time, and answer fetches whose time is over."""
        self.controller.fence_stale(now)
        if now >= self._elects_at:
            self._elects_at = now + ELECTIONS_EVERY_MS
            self.controller.elect_where_allowed()
        self.quorum.look(now)

    def _answer(self, message: object, now: int) -> Any:
        controller, operators = self.controller, self.operators
        match message:
            case BrokerHeartbeatRequest():
                return controller.heartbeat(message, now)
            case BrokerRegistrationRequest():
                if self.quorum.is_foreign(message.cluster_id):
                    return BrokerRegistrationResponse(ErrorCode.INCONSISTENT_CLUSTER_ID)
                return controller.register(message, now)
            case ProposalRequest():
                return self._alter_partition(message)
            case AllocateProducerIdsRequest():
                return controller.allocate_producer_ids(message)
            case AssignReplicasToDirsRequest():
                return controller.assign_directories(message)
            case FetchSnapshotRequest():
                return self.quorum.fetch_snapshot(message)
            case VoteRequest():
                return self.quorum.vote(message)
            case DescribeQuorumRequest():
                return self.quorum.describe()
            case CreateTopicsRequest():
                return operators.create_topics(message)
            case DeleteTopicsRequest():
                return operators.delete_topics(message)
            case CreatePartitionsRequest():
                return operators.create_partitions(message)
            case AlterConfigsRequest():
                return operators.alter_configs(message)
            case UnregisterBrokerRequest():
                return operators.unregister(message)
            case ElectLeadersRequest():
                return operators.elect_leaders(message)
            case AlterPartitionReassignmentsRequest():
                return operators.reassign(message)
            case ListPartitionReassignmentsRequest():
                return operators.reassignments(message)
        raise TypeError(f"the controller does not serve {type(message).__name__}")

    def _alter_partition(self, request: ProposalRequest) -> ProposalAnswer:
        """Answer a leader's proposals, which name topics by their ids alone; the answer calls them as the request does."""
        ids = {name: text_of(topic_id) for topic_id, name in self.controller.image.topics.items()}
        names = names_found(request.partitions, ids)
        asked = {names[one]: proposed for one, proposed in request.partitions.items()}
        answer = self.controller.alter_partition(replace(request, partitions=asked))
        if answer.error != ErrorCode.NONE:
            return answer
        return ProposalAnswer(ErrorCode.NONE, {one: answer.partitions[names[one]] for one in request.partitions})

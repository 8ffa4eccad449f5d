"""What operators ask of the controller, done one by one: each topic, partition or resource has its own result.

Source: Kafka 4.4 ControllerApis.scala, ReplicationControlManager.java.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random
from uuid import UUID

from kafka_spec.impl.kraft.configurations import altered_config
from kafka_spec.impl.kraft.controller import KRaftController
from kafka_spec.impl.kraft.placement import placed
from kafka_spec.impl.kraft.topics import added_partitions, created_topic, id_of
from kafka_spec.impl.protocol.data_requests import (
    AlterPartitionReassignmentsRequest,
    ElectLeadersRequest,
    ListPartitionReassignmentsRequest,
    PartitionTarget,
    RunningReassignment,
)
from kafka_spec.impl.protocol.errors import ErrorCode, KafkaError
from kafka_spec.impl.protocol.operator_requests import (
    CHOSEN,
    AlterConfigsRequest,
    AlterConfigsResponse,
    CreatedTopic,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeletedTopic,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    MorePartitions,
    NewTopic,
    OperationResult,
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
)
from kafka_spec.impl.protocol.responses import (
    AlterPartitionReassignmentsResponse,
    ElectLeadersResponse,
    ListPartitionReassignmentsResponse,
)
from kafka_spec.spec.decisions.partition_change import ElectionKind


def _tried(act: Callable[[], object]) -> OperationResult:
    """Do something, and return its result."""
    try:
        act()
    except KafkaError as error:
        return OperationResult(error.code, str(error))
    return OperationResult()


class OperatorApis:
    """The requests of operators to one controller."""

    def __init__(self, controller: KRaftController, random: Random) -> None:
        """`random` is for topic ids, and for where replicas go."""
        self._controller = controller
        self._random = random

    # Topics

    def create_topics(self, request: CreateTopicsRequest) -> CreateTopicsResponse:
        """Create topics; one that a request names twice is refused."""
        names = [topic.name for topic in request.topics]
        twice = OperationResult(ErrorCode.INVALID_REQUEST, "the request names the topic more than once")
        return CreateTopicsResponse(
            {
                topic.name: CreatedTopic(twice) if names.count(topic.name) > 1 else self._create(topic, request.validate_only)
                for topic in request.topics
            }
        )

    def _create(self, topic: NewTopic, validate_only: bool) -> CreatedTopic:
        controller = self._controller
        topic_id = UUID(int=self._random.getrandbits(128), version=4)
        try:
            assignment, configs = self._assignment_of(topic), topic.configs or {}
            if validate_only:
                created_topic(controller.image, topic.name, topic_id, assignment, configs, controller.k)
            else:
                controller.create_topic(topic.name, topic_id, assignment, configs)
        except KafkaError as error:
            return CreatedTopic(OperationResult(error.code, str(error)))
        return CreatedTopic(OperationResult(), topic_id, len(assignment), len(assignment[0]))

    def _assignment_of(self, topic: NewTopic) -> dict[int, tuple[int, ...]]:
        """Return the replicas of a new topic's partitions.

        Raises:
            KafkaError: INVALID_REQUEST: numbers are given beside an assignment; see `placed`.
        """
        controller = self._controller
        settings = controller.settings
        if topic.assignment is not None:
            if (topic.partitions, topic.replication_factor) != (CHOSEN, CHOSEN):
                raise KafkaError(ErrorCode.INVALID_REQUEST, "an assignment leaves no choice of partitions and replicas")
            return dict(topic.assignment)
        partitions = settings.num_partitions if topic.partitions == CHOSEN else topic.partitions
        chosen = topic.replication_factor == CHOSEN
        factor = settings.default_replication_factor if chosen else topic.replication_factor
        return placed(controller.image, 0, partitions, factor, self._random)

    def delete_topics(self, request: DeleteTopicsRequest) -> DeleteTopicsResponse:
        """Delete topics by name or id."""
        return DeleteTopicsResponse(tuple(self._delete(topic) for topic in request.topics))

    def _delete(self, topic: str | UUID) -> DeletedTopic:
        topics = self._controller.image.topics
        if isinstance(topic, UUID):
            name = topics.get(topic)
            if name is None:
                return DeletedTopic(None, topic, OperationResult(ErrorCode.UNKNOWN_TOPIC_ID, "no topic has this id"))
            return DeletedTopic(name, topic, _tried(lambda: self._controller.delete_topic(name)))
        known = self._controller.image.topic_id(topic)
        return DeletedTopic(topic, known, _tried(lambda: self._controller.delete_topic(topic)))

    def create_partitions(self, request: CreatePartitionsRequest) -> CreatePartitionsResponse:
        """Add partitions to topics."""
        return CreatePartitionsResponse(
            {one.topic: _tried(partial(self._add, one, request.validate_only)) for one in request.topics}
        )

    def _add(self, more: MorePartitions, validate_only: bool) -> None:
        """Add partitions to one topic.

        Raises:
            KafkaError: UNKNOWN_TOPIC_OR_PARTITION; INVALID_PARTITIONS: it has as many or more; INVALID_REPLICA_ASSIGNMENT.
        """
        controller = self._controller
        id_of(controller.image, more.topic)
        known = [held for partition, held in controller.image.partitions.items() if partition.topic == more.topic]
        if more.count <= len(known):
            raise KafkaError(ErrorCode.INVALID_PARTITIONS, f"topic {more.topic} has {len(known)} partitions already")
        new = range(len(known), more.count)
        if more.replicas is None:
            assignment = placed(controller.image, new.start, len(new), len(known[0].replicas), self._random)
        elif len(more.replicas) != len(new):
            reason = f"{len(new)} partitions are added, and {len(more.replicas)} have replicas"
            raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, reason)
        else:
            assignment = dict(zip(new, more.replicas, strict=True))
        if validate_only:
            added_partitions(controller.image, more.topic, assignment, controller.k)
        else:
            controller.add_partitions(more.topic, assignment)

    # Brokers

    def unregister(self, request: UnregisterBrokerRequest) -> UnregisterBrokerResponse:
        """Forget a broker, whether it runs or not."""
        return UnregisterBrokerResponse(_tried(lambda: self._controller.unregister(request.broker)))

    # Settings

    def alter_configs(self, request: AlterConfigsRequest) -> AlterConfigsResponse:
        """Change settings of topics and brokers."""
        refused = OperationResult(ErrorCode.INVALID_CONFIG, "this setting is not a list: only SET and DELETE are possible")
        results = dict.fromkeys(request.refused, refused)
        controller = self._controller
        for resource, values in request.changes.items():
            asked = (resource.resource_type, resource.name, values)
            if request.validate_only:
                results[resource] = _tried(partial(altered_config, controller.image, *asked, controller.k))
            else:
                results[resource] = _tried(partial(controller.configure, *asked))
        return AlterConfigsResponse(results)

    # Partitions

    def elect_leaders(self, request: ElectLeadersRequest) -> ElectLeadersResponse:
        """Elect preferred leaders, or unclean ones where nobody leads."""
        kind = ElectionKind.UNCLEAN if request.unclean else ElectionKind.PREFERRED
        codes = self._controller.elect_leaders(request.partitions, kind)
        if request.partitions is None:
            codes = {partition: code for partition, code in codes.items() if code != ErrorCode.ELECTION_NOT_NEEDED}
        return ElectLeadersResponse(codes)

    def reassign(self, request: AlterPartitionReassignmentsRequest) -> AlterPartitionReassignmentsResponse:
        """Begin reassignments, or cancel them."""
        allows = request.allow_factor_change
        return AlterPartitionReassignmentsResponse(
            {one.partition: _tried(partial(self._reassign, one, allows)).error for one in request.targets}
        )

    def _reassign(self, one: PartitionTarget, allow_factor_change: bool) -> None:
        """Begin a reassignment, or cancel it.

        Raises:
            KafkaError: INVALID_REPLICATION_FACTOR: it would change that, which is not allowed; see `KRaftController.reassign`.
        """
        known = self._controller.image.partitions.get(one.partition)
        if known is not None and one.target is not None and not allow_factor_change:
            factor = len(known.replicas) - len(known.removing)
            if len(one.target) != factor:
                reason = f"{one.partition} has {factor} replicas, and would have {len(one.target)}"
                raise KafkaError(ErrorCode.INVALID_REPLICATION_FACTOR, reason)
        self._controller.reassign(one.partition, one.target)

    def reassignments(self, request: ListPartitionReassignmentsRequest) -> ListPartitionReassignmentsResponse:
        """Return the reassignments that run."""
        running = {
            partition: RunningReassignment(held.replicas, held.adding, held.removing)
            for partition, held in self._controller.image.partitions.items()
            if (held.adding or held.removing) and (request.partitions is None or partition in request.partitions)
        }
        return ListPartitionReassignmentsResponse(ErrorCode.NONE, running)

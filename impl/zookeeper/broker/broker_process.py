"""One process of a broker, from start to end: a session, a registration, a controller, and replicas on disk.

Sans-IO: it does nothing by itself. The caller steps its controller, delivers requests, and carries the answers; requests to other
brokers wait in `channels`. What is neither in ZooKeeper nor on disk is lost with the process.

Source: Kafka 2.8 KafkaServer.scala, KafkaZkClient.scala (registerBroker), RequestSendThread of ControllerChannelManager.scala.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from random import Random

from kafka_spec.impl.log.log_config import LogConfig
from kafka_spec.impl.protocol.controller_requests import LeaderAndIsrRequest, Request, StopReplicaRequest, UpdateMetadataRequest
from kafka_spec.impl.protocol.data_requests import (
    AllocateProducerIdsRequest,
    AlterIsrRequest,
    AlterPartitionReassignmentsRequest,
    ControlledShutdownRequest,
    ControlledShutdownResponse,
    DataRequest,
    ElectLeadersRequest,
    FetchRequest,
    InitProducerIdRequest,
    ListOffsetsRequest,
    ListPartitionReassignmentsRequest,
    MetadataRequest,
    OffsetsForLeaderEpochRequest,
    ProduceRequest,
)
from kafka_spec.impl.protocol.errors import ErrorCode
from kafka_spec.impl.protocol.registration import BrokerRegistration, Endpoint
from kafka_spec.impl.protocol.responses import (
    AllocateProducerIdsResponse,
    AlterIsrResponse,
    AlterPartitionReassignmentsResponse,
    ControllerResponse,
    ElectLeadersResponse,
    FetchResponse,
    InitProducerIdResponse,
    ListOffsetsResponse,
    ListPartitionReassignmentsResponse,
    OffsetsForLeaderEpochResponse,
    ProduceResponse,
    Response,
)
from kafka_spec.impl.protocol.settings import Settings
from kafka_spec.impl.protocol.state_change_log import StateChangeLog
from kafka_spec.impl.protocol.topic_ids import id_of_nameless, names_found
from kafka_spec.impl.zookeeper.broker.data_plane import DataPlane
from kafka_spec.impl.zookeeper.broker.metadata import MetadataCache
from kafka_spec.impl.zookeeper.broker.replica_manager import ReplicaManager
from kafka_spec.impl.zookeeper.broker.topic_configs import TopicConfigs
from kafka_spec.impl.zookeeper.controller.broker_changes import LeaderAndIsrResponseReceived
from kafka_spec.impl.zookeeper.controller.channels import Channels
from kafka_spec.impl.zookeeper.controller.controlled_shutdown import ControlledShutdown
from kafka_spec.impl.zookeeper.controller.controller import KafkaController
from kafka_spec.impl.zookeeper.controller.deletion import ReplicasDeleted
from kafka_spec.impl.zookeeper.controller.isr_changes import AlterIsr
from kafka_spec.impl.zookeeper.controller.preferred_election import PreferredElection, UncleanElection
from kafka_spec.impl.zookeeper.controller.reassignment import AlterPartitionReassignments, ListPartitionReassignments
from kafka_spec.impl.zookeeper.controller.topic_changes import TopicUncleanElectionEnabled
from kafka_spec.impl.zookeeper.coordination import producer_ids, znodes
from kafka_spec.impl.zookeeper.coordination.admin import Admin
from kafka_spec.impl.zookeeper.coordination.broker_znode import encode_broker
from kafka_spec.impl.zookeeper.coordination.interface import ConnectionLost, NodeExists, Session, SessionExpired
from kafka_spec.spec.decisions.deletion import answer_is_counted
from kafka_spec.spec.decisions.fencing import EPOCH_DURING_DELETE
from kafka_spec.spec.vocabulary.table import Spec
from kafka_spec.spec.zookeeper.machines import ControllerState


class BrokerProcess:
    """A broker's process. The cluster does not know it before `register`."""

    def __init__(
        self,
        number: int,
        era: Spec,
        session: Session,
        folder: Path,
        log: StateChangeLog,
        clock: Callable[[], float],
        random: Random,
        settings: Settings | None = None,
        config: LogConfig | None = None,
        endpoint: Endpoint | None = None,
    ) -> None:
        """`folder` is the broker's data folder; `clock` returns seconds since 1970; `random` is for the creation of topics.

        `settings` are the broker's, `config` is that of its logs, `endpoint` the address on which it listens.

        Raises:
            CheckpointError: a checkpoint in the folder is unreadable.
            SpecError: the rows of the era's tables and the row functions do not match.
        """
        settings = settings or Settings()
        self.number = number
        self.session = session
        self.channels = Channels()
        """The requests that this broker's controller has to send."""
        self.controller = KafkaController(number, era, session, self.channels, log, clock, settings)
        self.replicas = ReplicaManager(number, era, folder, log, config, settings)
        self.data = DataPlane(self.replicas, session)
        self.configs = TopicConfigs(session, self._config_changed)
        self.replicas.topic_config, self.controller.hears = self.configs.of, self.configs.heard
        self.metadata = MetadataCache(self.replicas, lambda name: self._create(name))
        self._producer_ids = producer_ids.ProducerIds(number)
        self.is_stopping = False
        """Whether it has begun its controlled shutdown."""
        self._clock = clock
        self._random = random
        self._endpoint = endpoint or Endpoint("127.0.0.1", 9092 + number)
        self._taken = 0

    @property
    def epoch(self) -> int:
        """The broker epoch: the creation id of the registration, -1 before there is one."""
        return self.replicas.broker_epoch

    # The session

    def register(self, stands: bool = True) -> None:
        """Register in /brokers/ids, learn the broker epoch, and stand for election as controller, unless `stands` is false.

        Raises:
            NodeExists: the registration of an earlier session still exists.
            ConnectionLost: the outcome is unknown; `register` can be repeated.
            SessionExpired: the session is over.
        """
        self._register()
        if stands:
            self.controller.start()

    def _register(self) -> None:
        for path in znodes.PERSISTENT:
            if self.session.exists(path) is None:
                with suppress(NodeExists):
                    self.session.create(path)
        path, content = znodes.broker(self.number), encode_broker(BrokerRegistration(self.number, (self._endpoint,)))
        try:
            _, stat = self.session.create(path, content, ephemeral=True)
        except NodeExists:
            found = self.session.exists(path)
            if found is None or found.owner != self.session.id:  # not our own, whose reply was lost
                raise
            stat = found
        self.replicas.broker_epoch = stat.czxid

    @property
    def has_session(self) -> bool:
        """False once the broker has noticed that its session has expired: then it needs another."""
        return self.controller.has_session

    def reopen(self, session: Session) -> None:
        """Continue under a new session: resign if this was the controller, register again, stand for election.

        Raises the errors of `register`; then it can be repeated, with this session or another.
        """
        self.session = session
        self._register()
        self.data.session_opened(session)
        self.configs.session_opened(session)
        self.controller.session_opened(session)

    @property
    def now(self) -> int:
        """The time in milliseconds since 1970."""
        return int(self._clock() * 1000)

    # Requests of controllers

    def step(self) -> bool:
        """Do the next piece of the controller's work; return whether there was any."""
        return self.controller.step()

    def in_flight(self, receiver: int) -> Request | None:
        """Return the request that this broker's controller is sending to another broker, None if there is none."""
        queue = self.channels.queues.get(receiver)
        return queue[0] if queue else None

    def take(self, request: Request) -> ControllerResponse:
        """Handle a request of a controller; return the answer."""
        self._taken += 1
        if isinstance(request, LeaderAndIsrRequest):
            for topic in {partition.topic for partition in request.partitions}:
                self.configs.forget(topic)
        answer = self.replicas.handle(request, self.now, self._taken)
        if answer.error == ErrorCode.NONE and isinstance(request, UpdateMetadataRequest):
            self.metadata.learn(request)
        return answer

    def answered(self, receiver: int, request: Request, answer: ControllerResponse) -> bool:
        """Handle the answer to a request of this broker's controller; return whether it was still expected.

        It was not if the channel has been closed, or if the request was sent twice and this is the second answer.
        """
        if self.in_flight(receiver) is not request:
            return False
        self.channels.answered(receiver)
        if isinstance(request, LeaderAndIsrRequest):
            self.controller.handle(LeaderAndIsrResponseReceived(receiver, answer.error, answer.partitions))
        elif isinstance(request, StopReplicaRequest):
            k, asked = self.controller.k, request.partitions
            deleting = {
                p: code
                for p, code in answer.partitions.items()
                if asked[p].leader_epoch == EPOCH_DURING_DELETE and answer_is_counted(asked[p].delete, k.answers_counted)
            }
            if deleting:
                self.controller.handle(ReplicasDeleted(receiver, answer.error, deleting))
        return True

    # Requests of followers and clients

    def serve(self, message: Request | DataRequest, reply: Callable[[Response], object]) -> None:
        """Handle any request; `reply` receives its answer, at once or later. A produce with acks=0 has no answer."""
        match message:
            case LeaderAndIsrRequest() | UpdateMetadataRequest() | StopReplicaRequest():
                reply(self.take(message))
            case ProduceRequest():
                self.data.handle_produce(message, self.now, lambda done: reply(ProduceResponse(done)))
            case FetchRequest():
                self._serve_fetch(message, reply)
            case OffsetsForLeaderEpochRequest():
                reply(OffsetsForLeaderEpochResponse(self.data.handle_offsets_for_leader_epoch(message)))
            case ListOffsetsRequest():
                reply(ListOffsetsResponse(self.data.handle_list_offsets(message)))
            case MetadataRequest():
                reply(self.metadata.answer(message))
            case ControlledShutdownRequest(broker, epoch):
                event = ControlledShutdown(broker, epoch, lambda error, left: reply(ControlledShutdownResponse(error, left)))
                self.controller.handle(event)
            case AlterIsrRequest(broker, epoch, proposals, _):
                self.controller.handle(AlterIsr(broker, epoch, proposals, lambda *answer: reply(AlterIsrResponse(*answer))))
            case InitProducerIdRequest(transactional_id):
                reply(self._init_producer(transactional_id))
            case AllocateProducerIdsRequest(broker, epoch):
                reply(self._allocate_producer_ids(broker, epoch))
            case ElectLeadersRequest(partitions, unclean):
                election = UncleanElection if unclean else PreferredElection
                self.controller.handle(election(partitions, lambda codes: reply(ElectLeadersResponse(codes))))
            case AlterPartitionReassignmentsRequest(targets):
                named = {one.partition: one.target for one in targets}
                answer = AlterPartitionReassignments(named, lambda codes: reply(AlterPartitionReassignmentsResponse(codes)))
                self.controller.handle(answer)
            case ListPartitionReassignmentsRequest(partitions):
                listed = ListPartitionReassignmentsResponse.of
                self.controller.handle(ListPartitionReassignments(partitions, lambda *answer: reply(listed(*answer))))

    def _serve_fetch(self, request: FetchRequest, reply: Callable[[Response], object]) -> None:
        """Read records; topics that are fetched by their ids are named before, as far as the metadata cache knows them."""
        names = names_found(request.partitions, self.replicas.topic_ids)
        asked = {name: p for p, name in names.items()}
        found = {name.topic: topic_id for p, name in names.items() if (topic_id := id_of_nameless(p.topic)) and name != p}
        named = replace(
            request,
            partitions={names[p]: position for p, position in request.partitions.items()},
            topic_ids={**request.topic_ids, **found},
        )
        self.data.handle_fetch(named, self.now, lambda done: reply(FetchResponse({asked[p]: one for p, one in done.items()})))

    def _init_producer(self, transactional_id: str | None) -> InitProducerIdResponse:
        """Give an id to an idempotent producer; a transactional one is referred to its coordinator, which this broker is not."""
        if transactional_id is not None:
            return InitProducerIdResponse(ErrorCode.NOT_COORDINATOR if transactional_id else ErrorCode.INVALID_REQUEST)
        try:
            return InitProducerIdResponse(ErrorCode.NONE, self._producer_ids.give(self.session), 0)
        except (ConnectionLost, SessionExpired):
            return InitProducerIdResponse(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)  # the producer asks again

    def _allocate_producer_ids(self, broker: int, broker_epoch: int) -> AllocateProducerIdsResponse:
        """Take a block of ids for a registered broker, as the active controller."""
        core = self.controller
        if core.life != ControllerState.ACTIVE:
            return AllocateProducerIdsResponse(ErrorCode.NOT_CONTROLLER)
        if core.context.broker_epochs.get(broker) != broker_epoch:
            return AllocateProducerIdsResponse(ErrorCode.STALE_BROKER_EPOCH)
        try:
            return AllocateProducerIdsResponse(ErrorCode.NONE, producer_ids.allocate(self.session, broker), producer_ids.BLOCK)
        except (ConnectionLost, SessionExpired):
            return AllocateProducerIdsResponse(ErrorCode.UNKNOWN_SERVER_ERROR)

    def tick(self) -> None:
        """Do the periodic work that is due: changed configurations, the data plane's, and a controller's rebalance of leaders."""
        self.configs.tick(self.now)
        self.data.tick(self.now)
        self.controller.tick()

    def _config_changed(self, topic: str, config: Mapping[str, str]) -> None:
        """Have leaders elected for a topic that permits unclean elections now (ConfigHandler.scala, TopicConfigHandler)."""
        if config.get("unclean.leader.election.enable") == "true":
            self.controller.handle(TopicUncleanElectionEnabled(topic))

    def _create(self, topic: str) -> None:
        """Create a missing topic that a client has requested.

        Raises:
            KafkaError: see `Admin.create_topic`.
            ConnectionLost: whether it was created is unknown.
            SessionExpired: the session is over.
        """
        settings = self.replicas.settings
        admin = Admin(self.session, self._random, lambda _: None)
        admin.create_topic(topic, settings.num_partitions, settings.default_replication_factor)

    # The end

    def close(self) -> None:
        """Shut down: close the logs, then the session, and with it the registration."""
        self.replicas.close()
        self.session.close()

    def crash(self) -> None:
        """Crash: nothing more is written, and the session stays until the servers expire it."""
        self.replicas.crash()

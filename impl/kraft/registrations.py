"""The controller's registrations of brokers: processes that register, heartbeats, sessions that end, brokers that are forgotten.

Source: Kafka 3.9 ClusterControlManager.java, BrokerHeartbeatManager.java, ReplicationControlManager.java.
"""

from __future__ import annotations

from uuid import UUID

from kafka_spec.impl.kraft.controller_memory import ControllerMemory
from kafka_spec.impl.kraft.heartbeats import NO_OFFSET, HeartbeatView, next_state
from kafka_spec.impl.kraft.partition_change import AskedChange
from kafka_spec.impl.kraft.records import (
    FENCED,
    UNFENCED,
    BrokerRegistrationChangeRecord,
    MetadataRecord,
    RegisterBrokerRecord,
    UnregisterBrokerRecord,
)
from kafka_spec.impl.protocol.errors import ErrorCode, KafkaError
from kafka_spec.impl.protocol.kraft_requests import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)
from kafka_spec.spec.decisions.kraft_variants import NewIncarnation
from kafka_spec.spec.decisions.variants import Checked
from kafka_spec.spec.kraft.machines import BrokerState
from kafka_spec.spec.language.domain import NONE


class BrokerRegistrations(ControllerMemory):
    """What brokers ask about themselves, and what operators ask about brokers."""

    # Registrations

    def register(self, request: BrokerRegistrationRequest, now: int) -> BrokerRegistrationResponse:
        """Register a broker's process: fenced, under a new broker epoch (registerBroker).

        DUPLICATE_BROKER_REGISTRATION while the session of another process lasts. A process that registers again keeps its
        registration, or is fenced under another broker epoch, as the era decides (KAFKA-16952). A broker that was unregistered
        counts as crashed, whatever it says of its former process: it may be in an ELR.
        """
        broker, known = request.broker, self.image.brokers.get(request.broker)
        if known is not None and known.incarnation == request.incarnation:
            if self.k.same_incarnation_keeps_epoch == Checked.YES:
                return BrokerRegistrationResponse(ErrorCode.NONE, known.epoch)
            return self._registered(request, [], now)
        if known is not None and self.heartbeats.has_session(broker, now):
            return BrokerRegistrationResponse(ErrorCode.DUPLICATE_BROKER_REGISTRATION)
        named = known is not None and request.previous_epoch == known.epoch
        clean = named and self.k.clean_shutdown_detected == Checked.YES
        if self.k.elr == Checked.YES and not clean:
            return self._registered(request, self._remove_lossy(broker), now)
        leaves = self.k.new_incarnation == NewIncarnation.LEAVES_ISR
        return self._registered(request, self._remove(broker) if leaves else [], now)

    def _registered(
        self, request: BrokerRegistrationRequest, changes: list[MetadataRecord], now: int
    ) -> BrokerRegistrationResponse:
        """Commit a registration, whose broker epoch is the offset where its batch begins."""
        epoch = self.log.end
        record = RegisterBrokerRecord(
            request.broker,
            request.incarnation,
            epoch,
            request.end_points,
            request.features,
            request.rack,
            log_dirs=request.log_dirs,
        )
        self._commit([*changes, record])
        contact = self.heartbeats.of(request.broker)
        contact.contact, contact.metadata_end, contact.controlled_shutdown_end = now, NO_OFFSET, NO_OFFSET
        return BrokerRegistrationResponse(ErrorCode.NONE, epoch)

    def registration_end(self, broker: int) -> int:
        """Return the offset after a broker's registration record, which it must have applied before it is unfenced."""
        return self.log.image_at(self.image.epoch_of(broker) + 1).end

    # Heartbeats

    def heartbeat(self, request: BrokerHeartbeatRequest, now: int) -> BrokerHeartbeatResponse:
        """Note a heartbeat, and change the broker's state if it asks for that (processBrokerHeartbeat)."""
        broker = request.broker
        if self.image.epoch_of(broker) != request.broker_epoch or broker not in self.image.brokers:
            return BrokerHeartbeatResponse(ErrorCode.STALE_BROKER_EPOCH)
        self.heartbeats.touch(broker, request.metadata_end, now)
        caught_up = request.metadata_end >= self.registration_end(broker)
        state = self.tables.state_of(broker)
        others = [other for other in self.image.active if other != broker]
        waits = self.heartbeats.of(broker).controlled_shutdown_end
        leads = any(known.leader == broker for known in self.image.partitions.values())
        view = HeartbeatView(state, caught_up, leads, self.heartbeats.everybody_has(waits, others))
        wanted = next_state(view, request)
        if wanted != state:
            self._enter(broker, wanted, request.offline_log_dirs)
        else:
            self._commit(self._remove_directories(broker, request.offline_log_dirs))
        return BrokerHeartbeatResponse(ErrorCode.NONE, caught_up, self.image.brokers[broker].fenced, wanted is None)

    def _enter(self, broker: int, wanted: BrokerState | None, offline: tuple[UUID, ...]) -> None:
        """Change a broker's state, and note its log directories that are offline: one batch."""
        if wanted == BrokerState.UNFENCED:
            self.unfence(broker, offline)
        elif wanted == BrokerState.CONTROLLED_SHUTDOWN:
            self.begin_controlled_shutdown(broker, offline)
        else:
            self.fence(broker, offline)

    def fence(self, broker: int, offline: tuple[UUID, ...] = ()) -> None:
        """Fence a broker: it leaves every ISR, and leads no more (handleBrokerFenced).

        Up to 3.9 a broker may be fenced and in an ISR: then it is removed once more, and its registration does not change.
        """
        known, records = self.image.brokers[broker], self._remove(broker)
        if not known.fenced:
            records.append(BrokerRegistrationChangeRecord(broker, known.epoch, fenced=FENCED))
        self._commit([*records, *self._remove_directories(broker, offline)])
        self.heartbeats.of(broker).controlled_shutdown_end = NO_OFFSET

    def unfence(self, broker: int, offline: tuple[UUID, ...] = ()) -> None:
        """Unfence a broker: partitions without a leader may elect it (handleBrokerUnfenced).

        The same heartbeat may name directories that are `offline`. No version looks at them first (elected-on-failed-directory).
        """
        known = self.image.brokers[broker]
        records: list[MetadataRecord] = [BrokerRegistrationChangeRecord(broker, known.epoch, fenced=UNFENCED)]
        image = self.image.without_directories(broker, offline if self.k.unfencing_reads_directories == Checked.YES else ())
        for partition, held in self.image.partitions.items():
            if held.leader == NONE:
                records += self._change(partition, AskedChange(held.isr, image.may_lead(held, broker), self._election(partition)))
        self._commit([*records, *self._remove_directories(broker, offline)])

    def begin_controlled_shutdown(self, broker: int, offline: tuple[UUID, ...] = ()) -> None:
        """Begin a controlled shutdown: leaderships move, and the broker leaves every ISR (handleBrokerInControlledShutdown)."""
        change = BrokerRegistrationChangeRecord(broker, self.image.epoch_of(broker), in_controlled_shutdown=1)
        self._commit([change, *self._remove(broker), *self._remove_directories(broker, offline)])
        self.heartbeats.of(broker).controlled_shutdown_end = self.log.end

    def fence_stale(self, now: int) -> int | None:
        """Fence one broker whose session has ended; return which, None if there is none (maybeFenceReplicas)."""
        for broker, known in self.image.brokers.items():
            if not known.fenced and not self.heartbeats.has_session(broker, now):
                self.fence(broker)
                return broker
        return None

    def unregister(self, broker: int) -> None:
        """Forget a broker, whether it runs or not; it stays in the ELRs that name it (unregisterBroker).

        Raises:
            KafkaError: BROKER_ID_NOT_REGISTERED.
        """
        known = self.image.brokers.get(broker)
        if known is None:
            raise KafkaError(ErrorCode.BROKER_ID_NOT_REGISTERED, f"broker {broker} is not registered")
        changes = self._without(broker, lambda _, held: broker in (*held.isr, *held.elr))
        self._commit([*changes, UnregisterBrokerRecord(broker, known.epoch)])
        self.heartbeats.forget(broker)

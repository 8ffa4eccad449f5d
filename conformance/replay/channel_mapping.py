"""Maps the channels of the model's controller to those of a controller: requests on their way, and answers not handled yet.

The model represents two things differently, with the same meaning:

* Requests that a batch gathers, to send them when the change of states is complete, are the last requests of the model's
    channels, as many as are `unsent`. A request about two partitions is two requests there.
* An UpdateMetadata counts if its live brokers differ from those last sent over the channel. The others, with the partitions of each
    LeaderAndIsr, are not in the model.
"""

from __future__ import annotations

from collections.abc import Iterable

from kafka_spec.conformance.replay.modeled_cluster import ModeledCluster
from kafka_spec.conformance.replay.request_mapping import (
    PARTITIONS,
    marks_topic,
    model_answer,
    model_requests,
    real_answer,
    real_request,
)
from kafka_spec.impl.protocol.controller_requests import LeaderAndIsrRequest, Request, StopReplicaRequest, UpdateMetadataRequest
from kafka_spec.impl.zookeeper.controller.controller import KafkaController
from kafka_spec.impl.zookeeper.controller.deletion import ReplicasDeleted
from kafka_spec.impl.zookeeper.controller.state_changes import ChangePartitions, ChangeReplicas
from kafka_spec.spec.language.domain import BrokerSet
from kafka_spec.spec.zookeeper import messages, state


class ChannelsView:
    """The channels of a controller, as the mapping reads and writes them.

    `broker_epochs` are the epochs that the controller knows, as the model has them; a request with an older one does not count.
    """

    def __init__(self, modeled: ModeledCluster, number: int, controller: KafkaController, broker_epochs: list[int]) -> None:
        self.modeled = modeled
        self.number = number
        self.controller = controller
        self.broker_epochs = broker_epochs

    def read(self) -> list[state.Channel]:
        """Return the channel to each broker."""
        repeats, brokers = self.modeled.repeats, range(self.modeled.brokers)
        found = []
        for broker in brokers:
            is_open = broker in self.controller.channels.queues
            sent, collected = (self._sent(broker), self._collected(broker)) if is_open else ([], [])
            lost = int(repeats(self.number, broker))
            found.append(state.Channel([*sent, *collected], len(collected), lost, self._answers(broker)))
        return found

    def _sent(self, broker: int) -> list[messages.Request]:
        """Return the requests that were sent, or wait behind the one in flight."""
        announced = self.modeled.last_announced(self.number, broker)
        found: list[messages.Request] = []
        for request in self.controller.channels.queues[broker]:
            if self.counts(broker, request, announced):
                found += model_requests(request, self.modeled.epoch_of(broker, request.broker_epoch))
                if isinstance(request, UpdateMetadataRequest):
                    announced = live_in(request)
        return found

    def counts(self, broker: int, request: Request, announced: int | None) -> bool:
        """Whether the model has a request; `announced` are the live brokers last sent over the channel."""
        if self.modeled.epoch_of(broker, request.broker_epoch) < self.broker_epochs[broker]:
            return False
        return not isinstance(request, UpdateMetadataRequest) or marks_topic(request) or live_in(request) != announced

    def _collected(self, broker: int) -> list[messages.Request]:
        """Return the requests of a batch that has not been sent yet."""
        found: list[messages.Request] = []
        for request in self._gathered(broker):
            found += model_requests(request, self.modeled.epoch_of(broker, request.broker_epoch))
        return found

    def _gathered(self, broker: int) -> Iterable[Request]:
        """Return the gathered requests to a broker, which will be sent with the rest of the batch."""
        batch, context = self.controller.batch, self.controller.context
        header = self.number, context.epoch, context.broker_epochs.get(broker, 0)
        if broker in context.live and broker in batch.leader_and_isr:
            yield LeaderAndIsrRequest(*header, batch.leader_and_isr[broker], ())
        if broker in context.live and broker in batch.stop_replica:
            yield StopReplicaRequest(*header, batch.stop_replica[broker])

    def _answers(self, broker: int) -> list[int]:
        """Return, for each partition, the answer of a broker to a deletion that was not handled yet."""
        reported = [event for event in self.controller.events if isinstance(event, ReplicasDeleted) and event.broker == broker]
        found = {partition: int(model_answer(event, partition)) for event in reported for partition in event.partitions}
        return [found.get(partition, int(messages.Answer.NONE)) for partition in self.modeled.partitions]

    def put(self, record: state.Controller) -> None:
        """Open the channels, and fill their queues."""
        context = record.context
        channels = self.controller.channels
        channels.close_all()
        self.controller.batch.clear()
        for broker in BrokerSet((context.live | context.rejoining) & ~context.failed):
            channels.open(broker)
            known = record.channels[broker]
            for place, one in enumerate(known.requests):
                header = self.number, one.controller_epoch, self.modeled.creation_of(broker, one.broker_epoch)
                if place < len(known.requests) - known.unsent:
                    channels.send(broker, real_request(one, header))
                else:
                    self._gather(broker, real_request(one, header))
            kinds = {one.kind for one in known.requests}
            self.modeled.note_announced(self.number, broker, None if messages.Kind.UPDATE_METADATA in kinds else context.live)
            self.modeled.repeated(self.number, broker)
            if known.repeats:
                self.modeled.lose_next_answer(self.number, broker)
        for broker, channel in enumerate(record.channels):
            for number, answer in enumerate(channel.answers):
                if answer != messages.Answer.NONE:
                    self.controller.events.append(real_answer(broker, PARTITIONS[number], messages.Answer(answer)))

    def _gather(self, broker: int, request: Request) -> None:
        """Put a request into the batch of the change of states that the controller is about to continue."""
        batch = self.controller.batch
        if isinstance(request, LeaderAndIsrRequest):
            batch.leader_and_isr.setdefault(broker, {}).update(request.partitions)
        elif isinstance(request, StopReplicaRequest):
            batch.stop_replica.setdefault(broker, {}).update(request.partitions)
        change = self.controller.agenda[0]
        assert isinstance(change, ChangePartitions | ChangeReplicas)
        change.begun = True


def live_in(request: UpdateMetadataRequest) -> int:
    """Return the live brokers that an UpdateMetadata names."""
    return BrokerSet.of(broker.number for broker in request.live_brokers)

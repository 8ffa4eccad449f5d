"""Puts a cluster into any state of the control-plane model, and reads it back.

Parts are put and read one by one: the znodes, each controller, each broker. A part that is there already is left alone, so that
going from a state to its neighbour costs little. The model's own bookkeeping, what was spent of its bounds and what its properties
remember, is no part of the implementation: it is handed in.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING

from kafka_spec.conformance.replay.broker_mapping import BrokerView, put_process, read_process
from kafka_spec.conformance.replay.controller_mapping import ControllerView, put_controller, read_controller
from kafka_spec.conformance.replay.ensemble import ModelEnsemble
from kafka_spec.conformance.replay.request_mapping import PARTITION
from kafka_spec.conformance.replay.zookeeper_mapping import put_zookeeper, read_zookeeper
from kafka_spec.impl.protocol.controller_requests import Request
from kafka_spec.impl.protocol.data_requests import FetchPosition, FetchRequest
from kafka_spec.spec.control import state
from kafka_spec.spec.control.state import NO_EPOCH, ControllerState, Life, Notes, Step, World
from kafka_spec.spec.domain import NO_BROKERS, NONE, Spent
from kafka_spec.spec.election import Strategy
from kafka_spec.spec.gates import leader_epoch_in_fetch
from kafka_spec.spec.partition import PartitionState
from kafka_spec.spec.replica import ReplicaState

if TYPE_CHECKING:
    from kafka_spec.impl.cluster import Cluster


class Projection:
    """A cluster on a `ModelEnsemble`, as the model sees it."""

    def __init__(self, cluster: Cluster, bounds: Mapping[str, int]) -> None:
        """`bounds` are those of the model.

        Raises:
            TypeError: the cluster is on another coordination service.
        """
        if not isinstance(cluster.service, ModelEnsemble):
            raise TypeError("a cluster is seen as the model sees it on a ModelEnsemble; make it on one")
        self.cluster = cluster
        self.ensemble = cluster.service
        self.bounds = dict(bounds)
        self.brokers = bounds["brokers"]
        self.assignment = tuple(range(bounds["replicas"]))
        self.folders = [str(cluster.folder / str(number) / str(PARTITION)) for number in range(self.brokers)]
        """Where the replicas' logs are."""
        self.k = cluster.era.constants(bounds)
        self.registrations: list[list[int]] = [[] for _ in range(self.brokers)]
        """For each broker the transactions that created its registrations: the model counts them."""
        self._lost: dict[tuple[int, int], deque[Request]] = {}
        """The channels, from controller to broker, whose connection will be lost before the next answer."""
        self.fetches: list[tuple[FetchRequest, int]] = []
        """The fetches that wait on the network, each with the leader epoch in which it was sent."""
        self.stale = [0] * self.brokers
        """For each broker the first request that took effect though its generation was over (spec.control.state.Stale)."""
        self.records = 0
        """How many records clients have written."""
        self.clock = 0
        """The time in milliseconds, which goes on with each step."""
        self._announced: dict[tuple[int, int], tuple[deque[Request], int | None]] = {}
        self._zookeeper: state.ZooKeeper | None = None
        self._controllers: list[state.Controller | None] = [None] * self.brokers
        self._processes: list[state.BrokerNode | None] = [None] * self.brokers
        """Parts of the model's state that are known to stand here; None is what is not known."""

    # Both ways

    def load(self, world: World) -> None:
        """Put the cluster into a state of the model."""
        for number in range(self.brokers):
            self._load_process(number, world.brokers[number])
        if self._zookeeper is None or self._zookeeper != world.zookeeper:
            put_zookeeper(self, world.zookeeper)
            self._zookeeper = world.zookeeper
        for number in range(self.brokers):
            wanted = world.controllers[number]
            if self._controllers[number] is None or self._controllers[number] != wanted:
                if number in self.cluster.brokers:
                    put_controller(self, number, self.cluster.brokers[number].controller, wanted)
                self._controllers[number] = wanted
        self.records = world.spent.records
        self.fetches = [(self.late_fetch(fetch), fetch.leader_epoch) for fetch in world.fetches]

    def _load_process(self, number: int, wanted: state.BrokerNode) -> None:
        runs = number in self.cluster.brokers
        if runs and wanted.life == Life.DOWN:
            broker = self.cluster.brokers.pop(number)
            broker.crash()
            self.ensemble.end(broker.session.id)
        elif not runs and wanted.life != Life.DOWN:
            self.cluster.brokers[number] = self.cluster.process(number)
        if runs != (wanted.life != Life.DOWN):
            self._zookeeper = self._controllers[number] = self._processes[number] = None
        if self._processes[number] is None or self._processes[number] != wanted:
            put_process(BrokerView(self, number, self.cluster.brokers.get(number)), wanted)
            self._processes[number] = wanted

    def project(self, spent: Spent, notes: Notes) -> World:
        """Return the cluster's state in the model's words, with this bookkeeping of the model's own."""
        zookeeper = read_zookeeper(self)
        processes = [read_process(BrokerView(self, n, self.cluster.brokers.get(n))) for n in range(self.brokers)]
        controllers = [
            read_controller(self, n, self.cluster.brokers[n].controller) if n in self.cluster.brokers else self.no_controller()
            for n in range(self.brokers)
        ]
        fetches = [self.model_fetch(request, epoch) for request, epoch in self.fetches]
        return World(zookeeper, controllers, processes, fetches, spent, notes)

    def forget(self, source: World, found: World) -> None:
        """Trust no longer those parts that a step has changed: between `source`, which was loaded, and `found`."""
        if self._zookeeper is not None and found.zookeeper != source.zookeeper:
            self._zookeeper = None
        for number in range(self.brokers):
            if found.controllers[number] != source.controllers[number]:
                self._controllers[number] = None
            if found.brokers[number] != source.brokers[number]:
                self._processes[number] = None

    def forget_all(self) -> None:
        """Trust nothing that is there."""
        self._zookeeper = None
        for number in range(self.brokers):
            self.forget_actor(number)

    def forget_actor(self, number: int) -> None:
        """Trust no longer what is there of a broker and its controller."""
        self._controllers[number] = self._processes[number] = None

    def no_controller(self) -> state.Controller:
        """Return the controller of a process that does not run."""
        nobody = NO_BROKERS
        none = state.LeaderAndIsr(NONE, NO_EPOCH, nobody, 0, 0)
        epochs, strategy = [0] * self.brokers, Strategy.OFFLINE
        nothing = state.Context(nobody, epochs, nobody, 0, none, strategy, 0, nobody, nobody, nobody, nobody)
        life, partition, replicas = ControllerState.STANDBY, PartitionState.NON_EXISTENT, [ReplicaState.NON_EXISTENT] * self.brokers
        channels = [state.Channel([], 0) for _ in range(self.brokers)]
        return state.Controller(life, 0, Step.IDLE, partition, list(map(int, replicas)), nothing, channels)

    # What the model counts

    def note_registration(self, broker: int, czxid: int) -> None:
        """Take note of a broker's registration."""
        if czxid not in self.registrations[broker]:
            self.registrations[broker].append(czxid)

    def epoch_of(self, broker: int, czxid: int) -> int:
        """Return which registration of a broker a transaction made, counted from 1; 0 is none.

        Raises:
            ValueError: no registration of the broker that was ever seen.
        """
        return self.registrations[broker].index(czxid) + 1 if czxid > 0 else 0

    def creation_of(self, broker: int, epoch: int) -> int:
        """Return the transaction that made a registration, in a state that is loaded: they are numbered as the model does."""
        return epoch

    def session_of(self, broker: int) -> int:
        """Return the session that owns what a broker has created, of one that runs."""
        return self.cluster.brokers[broker].session.id

    # Channels and what waits on the network

    def note_announced(self, controller: int, broker: int, live: int | None) -> None:
        """Note which live brokers were last sent over a channel, before all that waits in it; None if nothing was."""
        self._announced[controller, broker] = (self.cluster.brokers[controller].channels.queues[broker], live)

    def last_announced(self, controller: int, broker: int) -> int | None:
        """Return which live brokers were last sent over a channel, None if nothing since it was opened."""
        queue, live = self._announced.get((controller, broker), (None, None))
        return live if queue is self.cluster.brokers[controller].channels.queues[broker] else None

    def counts(self, controller: int, broker: int, request: Request) -> bool:
        """Whether the request in flight is one of the model's: see the rules of conformance/replay/controller_mapping.py."""
        view = ControllerView(self, controller, self.cluster.brokers[controller].controller)
        view.read_agenda()
        return view.counts(broker, request, self.last_announced(controller, broker))

    def lose_next_answer(self, controller: int, broker: int) -> None:
        """Have the connection of a channel lost before the next answer: the request in flight will be sent again."""
        self._lost[controller, broker] = self.cluster.brokers[controller].channels.queues[broker]

    def repeats(self, controller: int, broker: int) -> bool:
        """Whether the request in flight will be sent again; another connection knows nothing of it."""
        lost = self._lost.get((controller, broker))
        return lost is not None and lost is self.cluster.brokers[controller].channels.queues.get(broker)

    def repeated(self, controller: int, broker: int) -> None:
        """The connection is there again."""
        self._lost.pop((controller, broker), None)

    def late_fetch(self, fetch: state.LateFetch) -> FetchRequest:
        """Return a fetch that waits on the network as it travels here."""
        epoch = leader_epoch_in_fetch(fetch.leader_epoch, self.k.fetches_fenced)
        positions = {PARTITION: FetchPosition(fetch.end, epoch)}
        return FetchRequest(fetch.follower, self.creation_of(fetch.follower, fetch.broker_epoch), positions)

    def model_fetch(self, request: FetchRequest, leader_epoch: int) -> state.LateFetch:
        """Return a fetch that waits on the network in the model's words; where requests carry no leader epoch it was noted."""
        broker_epoch = self.epoch_of(request.replica, request.broker_epoch)
        return state.LateFetch(request.replica, request.partitions[PARTITION].offset, leader_epoch, broker_epoch)

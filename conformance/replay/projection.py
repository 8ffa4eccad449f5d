"""Puts a cluster into any state of the control-plane model, and reads its state back.

The parts (znodes, each controller, each broker) are written and read one by one. A part that already has the wanted state is left
as it is, so a step to a neighbouring state is cheap. The model's own bookkeeping, `spent` and `history`, is not part of the
implementation: the caller passes it in with a state of the model.
"""

from __future__ import annotations

from collections.abc import Mapping

from kafka_spec.conformance.replay.broker_mapping import BrokerView, put_process, read_process
from kafka_spec.conformance.replay.controller_mapping import ControllerView, put_controller, read_controller
from kafka_spec.conformance.replay.core import LONG, Edge
from kafka_spec.conformance.replay.modeled_cluster import ModeledCluster
from kafka_spec.conformance.replay.zookeeper_mapping import put_zookeeper, read_zookeeper
from kafka_spec.impl.protocol.controller_requests import Request
from kafka_spec.impl.zookeeper.broker.isr import NOT_REGISTERED
from kafka_spec.impl.zookeeper.cluster import Cluster
from kafka_spec.impl.zookeeper.coordination import znodes
from kafka_spec.spec.decisions.election import Strategy
from kafka_spec.spec.decisions.fencing import fetch_is_of_registration
from kafka_spec.spec.language.domain import NO_BROKERS, NONE
from kafka_spec.spec.machines.partition import PartitionState
from kafka_spec.spec.machines.reassignment import ReassignmentState
from kafka_spec.spec.machines.replica import ReplicaState
from kafka_spec.spec.machines.topic_deletion import DeletionState
from kafka_spec.spec.zookeeper import messages, state
from kafka_spec.spec.zookeeper.bounds import NO_EPOCH
from kafka_spec.spec.zookeeper.machines import ControllerState
from kafka_spec.spec.zookeeper.state import ControllerStep, Life, World


class Projection(ModeledCluster):
    """A cluster that can be put into states of the model, and read as one."""

    def __init__(self, cluster: Cluster, bounds: Mapping[str, int]) -> None:
        super().__init__(cluster, bounds)
        self._zookeeper: state.ZooKeeper | None = None
        self._controllers: list[state.Controller | None] = [None] * self.brokers
        self._processes: list[state.BrokerNode | None] = [None] * self.brokers
        """The known states of the parts; None if unknown."""

    def load(self, world: World) -> None:
        """Put the cluster into a state of the model."""
        for number in range(self.brokers):
            self._load_process(number, world.brokers[number])
        if self._zookeeper is None or self._zookeeper != world.zookeeper:
            put_zookeeper(self, world.zookeeper)
            self._zookeeper = world.zookeeper
        for number in range(self.brokers):
            wanted = world.controllers[number]
            if wanted.step == ControllerStep.DELETE_STATE:
                self._controllers[number] = None  # its agenda names the state znodes that exist
            if self._controllers[number] is None or self._controllers[number] != wanted:
                if number in self.cluster.brokers:
                    put_controller(self, number, self.cluster.brokers[number].controller, wanted)
                self._controllers[number] = wanted
        self.records = world.spent.records
        self.answers = [self.late_answer(answer) for answer in world.answers]
        self.late_stops = [self.late_stop(stop) for stop in world.late_stops]
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

    def project(self, after: World) -> World:
        """Return the cluster's state as a state of the model, with the bookkeeping of `after`."""
        zookeeper = read_zookeeper(self)
        processes = [read_process(BrokerView(self, n, self.cluster.brokers.get(n))) for n in range(self.brokers)]
        controllers = [
            read_controller(self, n, self.cluster.brokers[n].controller) if n in self.cluster.brokers else self.no_controller()
            for n in range(self.brokers)
        ]
        fetches = [self.model_fetch(request, epoch) for request, epoch in self.fetches]
        answers = [self.model_answer(delayed) for delayed in self.answers]
        late_stops = [self.model_late_stop(late) for late in self.late_stops]
        return World(zookeeper, controllers, processes, fetches, late_stops, answers, after.spent, after.history)

    def forget(self, edge: Edge[World], found: World | None) -> None:
        """Mark as unknown the parts that the step of an edge may have changed; `found` is None if it broke off."""
        source, binding = edge.source, edge.binding
        everybody = range(self.brokers)
        touched = everybody if "leader" in binding else [binding[name] for name in ("controller", "broker") if name in binding]
        if found is None or found.zookeeper != source.zookeeper:
            self._zookeeper = None
        for number in everybody:
            anew = found is None or number in touched  # its data outside the model's state may differ, too
            if anew or (found and found.controllers[number] != source.controllers[number]):
                self._controllers[number] = None
            if anew or (found and found.brokers[number] != source.brokers[number]):
                self._processes[number] = None

    def refuses(self, edge: Edge[World]) -> bool:
        """Whether the implementation, which is stricter in one place, refuses this step of the model.

        A follower with an expired session cannot join the ISR if the era compares the broker epoch of a fetch with the registered
        one (KIP-903), since there is none. The model compares them only for a fetch that was delayed on the network.
        """
        if edge.rule.name in ("ExpandIsr", "ExpandIsrUnanswered"):
            if self.ensemble.find(znodes.broker(edge.binding["follower"])) is None:
                return not fetch_is_of_registration(0, NOT_REGISTERED, self.k.fetch_generation_checked)
        return False

    def pass_time(self) -> None:
        """Let `LONG` pass."""
        self.clock += LONG

    def counts(self, controller: int, broker: int, request: Request) -> bool:
        """Whether the model has the request in flight: see conformance/replay/channel_mapping.py."""
        view = ControllerView(self, controller, self.cluster.brokers[controller].controller)
        view.read_agenda()
        return view.channels.counts(broker, request, self.last_announced(controller, broker))

    def no_controller(self) -> state.Controller:
        """Return the controller of a process that does not run."""
        nobody = NO_BROKERS
        none = state.LeaderIsrAndControllerEpoch(NONE, NO_EPOCH, nobody, 0, 0)
        epochs, strategy = [0] * self.brokers, Strategy.OFFLINE
        unknown = state.ReplicaAssignment([], nobody, nobody)
        known = state.PartitionContext(unknown, none, strategy, 0, nobody, nobody, [], 0, 0)
        count = len(self.partitions)
        nothing = state.Context(nobody, epochs, nobody, [known] * count, 0, 0, nobody, nobody, nobody)
        replicas = [int(ReplicaState.NON_EXISTENT)] * self.brokers
        machines = state.PartitionMachines(PartitionState.NON_EXISTENT, replicas, ReassignmentState.NONE)
        channels = [state.Channel([], 0, 0, [messages.Answer.NONE] * count) for _ in range(self.brokers)]
        life, deletion = ControllerState.STANDBY, DeletionState.NOT_QUEUED
        return state.Controller(life, 0, ControllerStep.IDLE, deletion, [machines] * count, nothing, channels)

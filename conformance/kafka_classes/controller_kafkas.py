"""A scenario on Kafka's controller: ZkPartitionStateMachine and ZkReplicaStateMachine, a real ZooKeeper, channels that only note.

Source: Kafka 2.8 PartitionStateMachineTest and ReplicaStateMachineTest show which classes can stand alone.
"""

from __future__ import annotations

from typing import Any

from kafka_spec.conformance.kafka_classes.controller_scenarios import BROKER_EPOCH, EPOCH, VERSION, Observation, Scenario
from kafka_spec.conformance.kafka_classes.java import EXCEPTION, Kafka
from kafka_spec.conformance.kafka_classes.predecessors import state_names
from kafka_spec.conformance.kafka_classes.records import LeaderAndIsrRecords
from kafka_spec.conformance.kafka_classes.zookeeper import KafkasZooKeeper
from kafka_spec.impl.protocol.controller_requests import Leadership
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.zookeeper.coordination import znodes
from kafka_spec.spec.decisions.election import Strategy
from kafka_spec.spec.machines.partition import PARTITION
from kafka_spec.spec.machines.replica import REPLICA
from kafka_spec.spec.vocabulary.table import Machine

CONTROLLER = 1000
STRATEGIES = {
    Strategy.REASSIGNMENT: "ReassignPartitionLeaderElectionStrategy",
    Strategy.PREFERRED: "PreferredReplicaPartitionLeaderElectionStrategy",
    Strategy.CONTROLLED_SHUTDOWN: "ControlledShutdownPartitionLeaderElectionStrategy",
}


class KafkasController:
    """The classes of one controller, made again for each scenario; ZooKeeper and its client stay."""

    def __init__(self, kafka: Kafka, zookeeper: KafkasZooKeeper) -> None:
        self._kafka = kafka
        self._zookeeper = zookeeper
        self._records = LeaderAndIsrRecords(kafka)
        self._mockito = kafka.named("org.mockito.Mockito")
        self._channels = self._mockito.mock(kafka.named("kafka.controller.ControllerChannelManager").class_)
        self._logger = kafka.named("kafka.controller.StateChangeLogger")(CONTROLLER, True, kafka.option(EPOCH))
        settings = kafka.named("java.util.Properties")()
        settings.put("zookeeper.connect", "127.0.0.1:1")
        settings.put("broker.id", str(CONTROLLER))
        self._config = kafka.named("kafka.server.KafkaConfig").fromProps(settings)
        self._states = {machine.name: self._state_objects(machine) for machine in (PARTITION, REPLICA)}
        self._names = {
            machine.name: {str(state): machine.states(number).name for number, state in self._states[machine.name].items()}
            for machine in (PARTITION, REPLICA)
        }
        for path in znodes.PERSISTENT:
            zookeeper.create(path)
        zookeeper.create(znodes.CONTROLLER_EPOCH, str(EPOCH).encode(), writes=1)

    def _state_objects(self, machine: Machine) -> dict[int, Any]:
        return {number: self._kafka.singleton(f"kafka.controller.{name}") for number, name in state_names(machine).items()}

    def run(self, scenario: Scenario, topic: str) -> Observation:
        """Run a scenario with a topic of its own, and return what is seen after it."""
        self._fill(scenario, topic)
        context = self._kafka.named("kafka.controller.ControllerContext")()
        self._know(context, scenario, topic)
        self._mockito.clearInvocations(self._channels)
        kafka = self._kafka
        batch = kafka.named("kafka.controller.ControllerBrokerRequestBatch")(
            self._config, self._channels, None, context, self._logger
        )
        machines = {
            kind: kafka.named(f"kafka.controller.Zk{kind}StateMachine")(
                self._config, self._logger, context, self._zookeeper.client, batch
            )
            for kind in ("Partition", "Replica")
        }
        raised = ""
        try:
            self._change(machines, context, scenario, topic)
        except EXCEPTION as error:
            if not isinstance(error, kafka.named("org.apache.kafka.common.errors.ControllerMovedException")):
                raise
            raised = "replaced"
        return self._observed(context, scenario, topic, raised)

    def _fill(self, scenario: Scenario, topic: str) -> None:
        """Create the znodes of a scenario."""
        self._zookeeper.create(znodes.topic(topic), scenario.topic.encode())
        self._zookeeper.create(
            znodes.topic_config(topic), znodes.encode_config({"unclean.leader.election.enable": str(scenario.unclean).lower()})
        )
        has_folder = False
        for number, setup in enumerate(scenario.partitions):
            if setup.znode is not None:
                partition = TopicPartition(topic, number)
                outer, inner = znodes.partition_parents(partition)
                if not has_folder:
                    self._zookeeper.create(outer)
                has_folder = True
                self._zookeeper.create(inner)
                self._zookeeper.create(znodes.state(partition), setup.znode.encode(), writes=VERSION)

    def _know(self, context: Any, scenario: Scenario, topic: str) -> None:
        """Put what a scenario says into a controller's memory."""
        kafka = self._kafka
        self._records.know(context, scenario.in_state("live"), scenario.in_state("stopping"), BROKER_EPOCH)
        getattr(context, "epoch_$eq")(EPOCH)
        getattr(context, "epochZkVersion_$eq")(0 if scenario.replaced else 1)
        context.setAllTopics(kafka.set([topic]))
        for number, setup in enumerate(scenario.partitions):
            partition = kafka.partition(topic, number)
            kind = kafka.named("kafka.controller.ReplicaAssignment")
            assignment = kind(kafka.sequence(setup.replicas), kafka.sequence(setup.adding), kafka.sequence(setup.removing))
            context.updatePartitionFullReplicaAssignment(partition, assignment)
            context.putPartitionState(partition, self._states["Partition"][setup.state])
            for broker, state in setup.replica_states.items():
                context.putReplicaState(self._replica(partition, broker), self._states["Replica"][state])
            if setup.cached is not None:
                held = setup.cached
                one = self._records.leader_and_isr(held.leader, held.leader_epoch, held.isr, held.version)
                led = kafka.named("kafka.controller.LeaderIsrAndControllerEpoch")(one, held.controller_epoch)
                context.putPartitionLeadershipInfo(partition, led)
        if scenario.queued_for_deletion:
            context.queueTopicDeletion(kafka.set([topic]))
        failed: dict[int, list[Any]] = {}
        for broker, number in scenario.failed_dirs:
            failed.setdefault(broker, []).append(kafka.partition(topic, number))
        for broker, partitions in failed.items():
            context.replicasOnOfflineDirs().put(kafka.boxed(broker), kafka.set(partitions))

    def _replica(self, partition: Any, broker: int) -> Any:
        return self._kafka.named("kafka.controller.PartitionAndReplica")(partition, broker)

    def _change(self, machines: dict[str, Any], context: Any, scenario: Scenario, topic: str) -> None:
        kafka = self._kafka
        if scenario.trigger == "startup":
            kafka.call_hidden(machines["Partition"], "initializePartitionState")
            kafka.call_hidden(machines["Replica"], "initializeReplicaState")
        elif scenario.trigger == "shutdown":
            machines["Partition"].shutdown()
            machines["Replica"].shutdown()
            context.resetContext()
        elif scenario.is_of_replicas:
            target = next(row.target for row in REPLICA.rows_of(scenario.trigger))
            replicas = kafka.sequence(self._replica(kafka.partition(topic, p), b) for p, b in scenario.replicas)
            machines["Replica"].handleStateChanges(replicas, self._states["Replica"][target])
        else:
            target = next(row.target for row in PARTITION.rows_of(scenario.trigger))
            partitions = kafka.sequence(kafka.partition(topic, number) for number in range(len(scenario.partitions)))
            strategy = kafka.option(self._strategy(scenario.strategy, scenario.asks_unclean))
            machines["Partition"].handleStateChanges(partitions, self._states["Partition"][target], strategy)

    def _strategy(self, strategy: Strategy | None, asks_unclean: bool) -> Any:
        if strategy is None:
            return None
        if strategy in (Strategy.OFFLINE, Strategy.UNCLEAN):
            asked = asks_unclean or strategy == Strategy.UNCLEAN
            return self._kafka.named("kafka.controller.OfflinePartitionLeaderElectionStrategy")(asked)
        return self._kafka.singleton(f"kafka.controller.{STRATEGIES[strategy]}")

    # What is seen

    def _observed(self, context: Any, scenario: Scenario, topic: str, raised: str) -> Observation:
        kafka = self._kafka
        states: dict[Any, str] = {}
        contents, caches, assignments = {}, {}, {}
        partition_states, replica_states = dict(kafka.items(context.partitionStates())), dict(kafka.items(context.replicaStates()))
        for number in range(len(scenario.partitions)):
            partition = kafka.partition(topic, number)
            states[number] = self._name("Partition", partition_states.get(partition))
            for broker in range(len(scenario.brokers)):
                states[number, broker] = self._name("Replica", replica_states.get(self._replica(partition, broker)))
            content = self._zookeeper.read(znodes.state(TopicPartition(topic, number)))
            if content is not None:
                contents[number] = content
            held = kafka.optional(context.partitionLeadershipInfo(partition))
            if held is not None:
                caches[number] = self._records.leadership(held)
            full = context.partitionFullReplicaAssignment(partition)
            assignments[number] = tuple(
                kafka.numbers(getattr(full, part)()) for part in ("replicas", "addingReplicas", "removingReplicas")
            )
        return Observation(raised, states, contents, caches, assignments, self._sent())

    def _name(self, machine: str, state: Any) -> str:
        return "NON_EXISTENT" if state is None else self._names[machine][str(state)]

    def _sent(self) -> dict[int, list[Any]]:
        """Return the requests that the channels were given, by broker."""
        sent: dict[int, list[Any]] = {}
        for call in self._kafka.listed(self._mockito.mockingDetails(self._channels).getInvocations()):
            if str(call.getMethod().getName()) == "sendRequest":
                broker, builder, _ = call.getArguments()
                sent.setdefault(int(broker), []).append(self._plain(builder.build()))
        return sent

    def _plain(self, request: Any) -> tuple[Any, ...]:
        """Return a request as a tuple that both sides make."""
        kafka = self._kafka
        kind = str(request.getClass().getSimpleName()).removesuffix("Request")
        head = int(request.controllerId()), int(request.controllerEpoch()), int(request.brokerEpoch())
        if kind == "StopReplica":
            states = kafka.items(request.partitionStates())
            parts = {int(p.partition()): (int(s.leaderEpoch()), bool(s.deletePartition())) for p, s in states}
            return kind, head, parts, ()
        parts = {int(state.partitionIndex()): self._part(kind, state) for state in kafka.listed(request.partitionStates())}
        if kind == "LeaderAndIsr":
            brokers = [int(broker.brokerId()) for broker in kafka.listed(request.liveLeaders())]
        else:
            brokers = [int(broker.id()) for broker in kafka.listed(request.liveBrokers())]
        return kind, head, parts, tuple(sorted(brokers))

    def _part(self, kind: str, state: Any) -> tuple[Any, ...]:
        kafka = self._kafka
        version = state.partitionEpoch() if self._records.is_newer and kind == "LeaderAndIsr" else state.zkVersion()
        held = Leadership(
            int(state.leader()), int(state.leaderEpoch()), kafka.numbers(state.isr()), int(version), int(state.controllerEpoch())
        )
        led = held.controller_epoch, held.leader, held.leader_epoch, held.isr, held.version
        replicas = kafka.numbers(state.replicas())
        if kind == "UpdateMetadata":
            return led, replicas, kafka.numbers(state.offlineReplicas())
        return led, replicas, kafka.numbers(state.addingReplicas()), kafka.numbers(state.removingReplicas()), bool(state.isNew())

"""A scenario on our controller: its state machines, with ZooKeeper and channels in memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

from kafka_spec.conformance.kafka_classes.controller_scenarios import (
    BROKER_EPOCH,
    EPOCH,
    VERSION,
    Observation,
    PartitionSetup,
    Scenario,
)
from kafka_spec.impl.fire_log import FireLog, FireResult
from kafka_spec.impl.protocol.controller_requests import (
    LeaderAndIsrRequest,
    LeaderAndIsrState,
    Leadership,
    Request,
    StopReplicaRequest,
    StopReplicaState,
    UpdateMetadataState,
)
from kafka_spec.impl.protocol.registration import BrokerRegistration, Endpoint
from kafka_spec.impl.protocol.state_change_log import StateChangeLog
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.zookeeper.controller.channels import Channels
from kafka_spec.impl.zookeeper.controller.core import ControllerCore, ControllerTask
from kafka_spec.impl.zookeeper.controller.state_changes import ChangePartitions, change_replicas
from kafka_spec.impl.zookeeper.controller.zk_client import ControllerMoved
from kafka_spec.impl.zookeeper.coordination import znodes
from kafka_spec.impl.zookeeper.coordination.interface import NoNode
from kafka_spec.impl.zookeeper.coordination.memory import Ensemble, MemorySession
from kafka_spec.spec.decisions.election import Strategy
from kafka_spec.spec.decisions.reassignment import PartitionAssignment
from kafka_spec.spec.language.domain import BrokerSet
from kafka_spec.spec.vocabulary.table import Row, name_of
from kafka_spec.spec.zookeeper.eras import ERA_2_8
from kafka_spec.spec.zookeeper.machines import ControllerState

CONTROLLER = 1000
UNCLEAN = "unclean.leader.election.enable"


class _Fired:
    """Notes the row of the first transition of a machine beside the usual log.

    The row is found by what the scenario says about the entity that changes first, with the same names as the guards.
    """

    def __init__(self, log: FireLog, facts: Mapping[str, bool]) -> None:
        self._log = log
        self._facts = facts
        self.rows: list[str] = []

    def attempted(self, attempt: FireResult) -> None:
        if not self.rows and attempt.target is not None:
            fitting = [row for row in attempt.machine.rows_of(attempt.trigger) if self._fits(row, attempt)]
            self.rows += [f"{attempt.machine.name} {attempt.source.name}: {row.label}" for row in fitting]
        self._log.attempted(attempt)

    def _fits(self, row: Row, attempt: FireResult) -> bool:
        wanted = [(name_of(guard), True) for guard in row.guards] + [(name_of(guard), False) for guard in row.unless]
        holds = all(self._facts.get(name, True) == want for name, want in wanted)
        return attempt.source in row.sources and row.target == attempt.target and holds


def run_ours(scenario: Scenario, topic: str) -> Observation:
    """Run a scenario, and return what is seen after it."""
    session, core = prepared(scenario, topic)
    fired = [_Fired(core.partitions.log, _facts(scenario)), _Fired(core.replicas.log, _facts(scenario))]
    core.partitions.log, core.replicas.log = fired
    raised = ""
    try:
        _run(core, scenario, topic)
    except ControllerMoved:
        raised = "replaced"
    return observed(core, session, scenario, topic, raised, [row for one in fired for row in one.rows])


def prepared(scenario: Scenario, topic: str) -> tuple[MemorySession, ControllerCore]:
    """Return a session with the znodes of a scenario, and a controller that knows what the scenario says."""
    session, channels = Ensemble().connect(), Channels()
    _fill(session, scenario, topic)
    core = ControllerCore(CONTROLLER, ERA_2_8, session, channels, StateChangeLog(lambda _: None, lambda: 0.0), lambda: 0.0)
    core.lives.load((CONTROLLER,), ControllerState.ACTIVE)
    context = core.context
    context.epoch, context.epoch_version = EPOCH, 0 if scenario.replaced else 1
    for broker in (*scenario.in_state("live"), *scenario.in_state("stopping")):
        context.live[broker] = BrokerRegistration(broker, (Endpoint("127.0.0.1", 9000 + broker),))
        context.broker_epochs[broker] = BROKER_EPOCH + broker
        channels.open(broker)
    context.stopping = BrokerSet.of(scenario.in_state("stopping"))
    context.topics = {topic}
    if scenario.queued_for_deletion:
        core.deletions.fire("queue_topic_deletion", topic)
    for broker, number in scenario.failed_dirs:
        context.offline_dirs.setdefault(broker, set()).add(TopicPartition(topic, number))
    for number, setup in enumerate(scenario.partitions):
        partition = TopicPartition(topic, number)
        context.assign(partition, PartitionAssignment(setup.replicas, setup.adding, setup.removing))
        if setup.cached is not None:
            context.leadership[partition] = setup.cached
        core.partitions.load((partition,), setup.state)
        for broker, state in setup.replica_states.items():
            core.replicas.load((partition, broker), state)
    return session, core


def _fill(session: MemorySession, scenario: Scenario, topic: str) -> None:
    """Create the znodes of a scenario."""
    for path in znodes.PERSISTENT:
        session.create(path)
    session.create(znodes.topic(topic), scenario.topic.encode())
    session.create(znodes.CONTROLLER_EPOCH, b"4")
    session.set(znodes.CONTROLLER_EPOCH, str(EPOCH).encode())
    session.create(znodes.topic_config(topic), znodes.encode_config({UNCLEAN: str(scenario.unclean).lower()}))
    for number, setup in enumerate(scenario.partitions):
        if setup.znode is not None:
            partition = TopicPartition(topic, number)
            for path in znodes.partition_parents(partition):
                if session.exists(path) is None:
                    session.create(path)
            session.create(znodes.state(partition), setup.znode.encode())
            for _ in range(VERSION):
                session.set(znodes.state(partition), setup.znode.encode())


def _facts(scenario: Scenario) -> dict[str, bool]:
    """Return the guards of rows that do not depend on an election, as the scenario says of the entity that changes first."""
    number, replica = scenario.replicas[0] if scenario.replicas else (0, scenario.partitions[0].replicas[0])
    setup: PartitionSetup = scenario.partitions[number]
    online = {b for b in scenario.in_state("live") if (b, number) not in scenario.failed_dirs}
    return {
        "leadership_is_known": setup.cached is not None,
        "cached_leader_is_live": setup.cached is not None and setup.cached.leader in online,
        "replica_is_cached_leader": setup.cached is not None and setup.cached.leader == replica,
        "replica_is_assigned": replica in setup.replicas,
        "replica_is_live": replica in online,
        "an_assigned_replica_is_live": bool(online & set(setup.replicas)),
        "state_znode_is_absent": setup.znode is None,
        "no_newer_controller_wrote": setup.znode is not None and setup.znode.controller_epoch <= EPOCH,
        "isr_contains_replica": setup.znode is not None and replica in setup.znode.isr,
    }


def _run(core: ControllerCore, scenario: Scenario, topic: str) -> None:
    partitions = [TopicPartition(topic, number) for number in range(len(scenario.partitions))]
    if scenario.trigger == "startup":
        for partition in partitions:
            core.partitions.fire("startup", partition)
            for broker in scenario.partitions[partition.partition].replicas:
                core.replicas.fire("startup", partition, broker)
        return
    if scenario.trigger == "shutdown":
        core.resign()
        return
    if scenario.is_of_replicas:
        replicas = [(TopicPartition(topic, number), broker) for number, broker in scenario.replicas]
        tasks: deque[ControllerTask] = deque(change_replicas(scenario.trigger, replicas))
    else:
        strategy = scenario.strategy or Strategy.OFFLINE
        tasks = deque([ChangePartitions(scenario.trigger, deque(partitions), strategy, unclean=scenario.asks_unclean)])
    while tasks:
        tasks.extendleft(reversed(tasks.popleft().run(core)))


def observed(
    core: ControllerCore, session: MemorySession, scenario: Scenario, topic: str, raised: str, rows: list[str]
) -> Observation:
    """Return what is seen of a controller after a change."""
    states: dict[Any, str] = {}
    contents, assignments = {}, {}
    for number in range(len(scenario.partitions)):
        partition = TopicPartition(topic, number)
        states[number] = core.partitions.state_of(partition).name
        for broker in range(len(scenario.brokers)):
            states[number, broker] = core.replicas.state_of(partition, broker).name
        try:
            data, stat = session.get(znodes.state(partition))
            contents[number] = data, stat.version
        except NoNode:
            pass
        held = core.context.assignment(partition)
        assignments[number] = tuple(held.replicas), tuple(held.adding), tuple(held.removing)
    caches = {partition.partition: held for partition, held in core.context.leadership.items()}
    requests = {broker: [_plain(request) for request in queue] for broker, queue in core.channels.queues.items() if queue}
    return Observation(raised, states, contents, caches, assignments, requests, rows)


def _plain(request: Request) -> tuple[Any, ...]:
    """Return a request as a tuple that both sides make."""
    head = request.controller, request.controller_epoch, request.broker_epoch
    parts = {partition.partition: _part(state) for partition, state in request.partitions.items()}
    if isinstance(request, StopReplicaRequest):
        return "StopReplica", head, parts, ()
    if isinstance(request, LeaderAndIsrRequest):
        return "LeaderAndIsr", head, parts, tuple(sorted(broker.number for broker in request.live_leaders))
    return "UpdateMetadata", head, parts, tuple(sorted(broker.number for broker in request.live_brokers))


def _part(state: LeaderAndIsrState | UpdateMetadataState | StopReplicaState) -> tuple[Any, ...]:
    if isinstance(state, StopReplicaState):
        return state.leader_epoch, state.delete
    if isinstance(state, UpdateMetadataState):
        return _led(state.leadership), state.replicas, state.offline_replicas
    return _led(state.leadership), state.replicas, tuple(state.adding), tuple(state.removing), state.is_new


def _led(held: Leadership) -> tuple[Any, ...]:
    return held.controller_epoch, held.leader, held.leader_epoch, held.isr, held.version

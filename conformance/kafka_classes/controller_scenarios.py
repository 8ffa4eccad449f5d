"""Scenarios for the state machines: what a controller knows, what ZooKeeper holds, and one change of states.

Plain data, for both sides. The small ones cover each trigger from each state with every kind of state znode and cache; the random
ones have up to three partitions, log directories that failed, reassignments, deletions, and a controller that has been replaced.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from kafka_spec.impl.protocol.controller_requests import Leadership
from kafka_spec.impl.zookeeper.coordination.znodes import State, Topic
from kafka_spec.spec.decisions.election import Strategy
from kafka_spec.spec.language.domain import NONE
from kafka_spec.spec.machines.partition import PARTITION, PartitionState
from kafka_spec.spec.machines.replica import REPLICA, ReplicaState

EPOCH = 5
"""The controller's epoch."""
BROKER_EPOCH = 100
"""A broker's epoch is its number and this."""
VERSION = 2
"""The version of each state znode that there is."""


@dataclass(frozen=True)
class PartitionSetup:
    """One partition before the change: `cached` is what the controller remembers, `znode` what ZooKeeper holds, or None."""

    replicas: tuple[int, ...]
    state: PartitionState
    replica_states: Mapping[int, ReplicaState]
    znode: State | None
    cached: Leadership | None
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()


@dataclass(frozen=True)
class Scenario:
    """A change of states, on partitions of one topic: a trigger of PARTITION with a strategy, or of REPLICA for some replicas.

    `unclean` is the topic's setting, `asks_unclean` the operator's request (KIP-460). `replaced` says that another
    controller has taken over unnoticed; `failed_dirs` are (broker, partition).
    """

    brokers: tuple[str, ...]
    partitions: tuple[PartitionSetup, ...]
    trigger: str
    strategy: Strategy | None = None
    replicas: tuple[tuple[int, int], ...] = ()
    unclean: bool = False
    asks_unclean: bool = False
    queued_for_deletion: bool = False
    replaced: bool = False
    failed_dirs: tuple[tuple[int, int], ...] = ()

    @property
    def topic(self) -> Topic:
        """The content of the topic's znode."""
        setups = dict(enumerate(self.partitions))
        adding, removing = (
            {n: getattr(one, kind) for n, one in setups.items() if getattr(one, kind)} for kind in ("adding", "removing")
        )
        return Topic({n: one.replicas for n, one in setups.items()}, adding, removing)

    @property
    def is_of_replicas(self) -> bool:
        """Whether replicas change, not partitions."""
        return bool(self.replicas)

    def in_state(self, state: str) -> list[int]:
        """Return the brokers that are live, stopping or dead."""
        return [number for number, one in enumerate(self.brokers) if one == state]


@dataclass
class Observation:
    """What is seen after a change: `raised` is an error of the whole change; the rest is keyed by partition, replica or broker."""

    raised: str
    states: Mapping[Any, str]
    znodes: Mapping[int, tuple[bytes, int]]
    caches: Mapping[int, Leadership]
    assignments: Mapping[int, tuple[tuple[int, ...], ...]]
    requests: Mapping[int, Sequence[Any]]
    rows: Sequence[str] = field(default_factory=tuple)
    """The transitions that fired, on our side."""


def odd() -> Iterator[Scenario]:
    """Yield a scenario for each chosen difference."""
    led = State(1, 7, (1,), 3)
    last = _setup((1,), PartitionState.OFFLINE, ReplicaState.DELETION_SUCCESSFUL, led, "current")
    yield Scenario(("live", "live"), (last,), "non_existent_replica", replicas=((0, 1),))
    other = _setup((1, 0), PartitionState.ONLINE, ReplicaState.ONLINE, led, "current")
    yield Scenario(("live", "dead"), (other,), "online_partition", Strategy.OFFLINE, unclean=True)


def small() -> Iterator[Scenario]:
    """Yield every trigger from every state, with each kind of znode, cache, liveness and configuration."""
    brokers = ("live", "live", "stopping", "dead")
    znodes = (
        None,
        State(1, 7, (1, 0), 3),
        State(3, 7, (3, 0, 2), EPOCH),
        State(3, 7, (3,), 3),
        State(NONE, 7, (2,), 4),
        State(0, 7, (0,), 4),
        State(1, 7, (1, 0), EPOCH + 1),
    )
    caches = ("none", "current", "older")
    triggers = [t for t in PARTITION.triggers if t not in ("startup", "shutdown")]
    replicas = (2, 3, 0, 1)
    for znode, cache, unclean in itertools.product(znodes, caches, (False, True)):
        for trigger, state in itertools.product(triggers, PARTITION.states):
            for strategy in Strategy if trigger == "online_partition" else (None,):
                for assigned in (replicas, (1, 0), (3,)):
                    setup = _setup(assigned, PartitionState(state), ReplicaState.ONLINE, znode, cache)
                    yield Scenario(brokers, (setup,), trigger, strategy, unclean=unclean)
        for trigger, source in itertools.product(REPLICA.triggers, REPLICA.states):
            if trigger not in ("startup", "shutdown"):
                for replica, assignment in ((0, replicas), (3, replicas), (1, (2, 3, 0))):
                    setup = _setup(assignment, PartitionState.ONLINE, ReplicaState(source), znode, cache)
                    yield Scenario(brokers, (setup,), trigger, replicas=((0, replica),), unclean=unclean)
    for pair, cache, znode in itertools.product(((1, 0), (2, 3), (3, 1)), caches, znodes):
        setup = _setup(pair, PartitionState.NON_EXISTENT, ReplicaState.NON_EXISTENT, znode, cache)
        yield Scenario(brokers, (setup,), "startup")
    for partition, replica in itertools.product(PARTITION.states, REPLICA.states):
        setup = _setup((1, 0), PartitionState(partition), ReplicaState(replica), znodes[1], "current")
        yield Scenario(brokers, (setup,), "shutdown")


def _setup(
    assignment: tuple[int, ...], state: PartitionState, replica: ReplicaState, znode: State | None, cache: str
) -> PartitionSetup:
    cached = None
    if cache != "none" and znode is not None:
        epoch = znode.leader_epoch - (cache == "older")
        cached = Leadership(znode.leader, epoch, znode.isr, VERSION - (cache == "older"), min(znode.controller_epoch, EPOCH))
    return PartitionSetup(assignment, state, dict.fromkeys(range(4), replica), znode, cached)


def at_random(random: Random) -> Scenario:
    """Return a random scenario."""
    brokers = tuple(random.choice(("live", "live", "live", "stopping", "dead")) for _ in range(random.randint(1, 5)))
    setups = tuple(_random_setup(random, len(brokers)) for _ in range(random.randint(1, 3)))
    failed = tuple((b, p) for b in range(len(brokers)) for p in range(len(setups)) if random.random() < 0.05)
    unclean, queued, replaced = random.random() < 0.3, random.random() < 0.1, random.random() < 0.05
    strategy: Strategy | None = None
    replicas: tuple[tuple[int, int], ...] = ()
    asks = False
    if random.random() < 0.5:
        trigger = random.choice((*("online_partition",) * 3, "new_partition", "offline_partition", "non_existent_partition"))
        strategy = random.choice(tuple(Strategy)) if trigger == "online_partition" else None
        asks = strategy == Strategy.OFFLINE and random.random() < 0.3
    else:
        trigger = random.choice((*("offline_replica", "online_replica") * 3, *_others()))
        all_replicas = [(p, b) for p in range(len(setups)) for b in range(len(brokers))]
        replicas = tuple(sorted(random.sample(all_replicas, random.randint(1, min(4, len(all_replicas)))), key=lambda one: one[1]))
    return Scenario(brokers, setups, trigger, strategy, replicas, unclean, asks, queued, replaced, failed)


def _others() -> list[str]:
    return [t for t in REPLICA.triggers if t not in ("offline_replica", "online_replica", "startup", "shutdown")]


def _random_setup(random: Random, brokers: int) -> PartitionSetup:
    replicas = tuple(random.sample(range(brokers), random.randint(1, brokers)))
    isr = tuple(random.sample(range(brokers), random.randint(1, brokers)))
    leader = random.choice((NONE, *isr, *isr))
    znode = (
        State(leader, random.randint(0, 9), isr, random.choice((1, 4, EPOCH, EPOCH, EPOCH + 1))) if random.random() < 0.9 else None
    )
    setup = _setup(
        replicas, random.choice(tuple(PartitionState)), ReplicaState.ONLINE, znode, random.choice(("none", "older", "current"))
    )
    states = {broker: random.choice((ReplicaState.ONLINE, ReplicaState.OFFLINE, *ReplicaState)) for broker in range(brokers)}
    moving = random.random() < 0.2
    adding, removing = (replicas[:1], replicas[-1:]) if moving and len(replicas) > 1 else ((), ())
    return PartitionSetup(replicas, setup.state, states, znode, setup.cached, adding, removing)

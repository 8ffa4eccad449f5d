"""The nemesis of a run with ZooKeeper: the faults of sessions, and in a simulation those of connections."""

from __future__ import annotations

from collections.abc import Mapping

from kafka_spec.impl.run.faults import FAULTS
from kafka_spec.impl.run.nemesis import NETWORK_FAULTS, PROCESS_FAULTS, Nemesis, Strike, isolate
from kafka_spec.impl.run.zookeeper.simulated_world import SimulatedWorld
from kafka_spec.impl.run.zookeeper.world import RunWorld
from kafka_spec.impl.zookeeper.coordination.memory import Loss, MemorySession

DEAF = 4.0
"""The longest time, in seconds, until a broker notices that its session has expired."""


def expire(nemesis: Nemesis[RunWorld]) -> None:
    """Let a session expire."""
    number, deaf = nemesis.somebody(), nemesis.random.uniform(0.0, DEAF)
    nemesis.note("expiry", f"the session of broker {number} expires, which it notices after {deaf:.1f} s")
    nemesis.world.expire(number, deaf)


def lose_zookeeper(nemesis: Nemesis[SimulatedWorld]) -> None:
    """Break a broker's connection to ZooKeeper during one of its next operations."""
    number, loss = nemesis.somebody(), nemesis.random.choice(list(Loss))
    session = nemesis.world.nodes[number].broker.session
    assert isinstance(session, MemorySession)
    session.lose(loss, nemesis.random.randrange(6))
    nemesis.note("zookeeper", f"broker {number} is about to lose its connection to ZooKeeper: {loss.value}")


def isolate_two(nemesis: Nemesis[SimulatedWorld]) -> None:
    """Keep two brokers from reaching each other for some time."""
    if len(nemesis.world.numbers) > 1:
        one, other = nemesis.random.sample(nemesis.world.numbers, 2)
        isolate(nemesis, one, other)


STRIKES: Mapping[str, Strike] = {
    **PROCESS_FAULTS,
    **NETWORK_FAULTS,
    "expiry": expire,
    "zookeeper": lose_zookeeper,
    "isolation": isolate_two,
}


def zookeeper_nemesis(world: RunWorld, faults: tuple[str, ...]) -> Nemesis[RunWorld]:
    """Return the nemesis of a world; `faults` are the names of the possible faults, those of connections in a simulation only."""
    return Nemesis(world, {name: FAULTS[name] for name in faults}, STRIKES)

"""The nemesis of a run of KRaft: the faults of sessions with the controller, of the metadata log, of connections."""

from __future__ import annotations

from collections.abc import Mapping

from kafka_spec.impl.run.kraft.faults import KRAFT_FAULTS
from kafka_spec.impl.run.kraft.process import CONTROLLER
from kafka_spec.impl.run.kraft.world import SESSION_TIMEOUT_MS, KRaftWorld
from kafka_spec.impl.run.nemesis import NETWORK_FAULTS, PROCESS_FAULTS, SPELL, Nemesis, Strike, cut, isolate
from kafka_spec.impl.run.options import TOPIC


def fence(nemesis: Nemesis[KRaftWorld]) -> None:
    """Keep a broker from reaching the controller, until its session has ended."""
    number, seconds = nemesis.somebody(), SESSION_TIMEOUT_MS / 1000 + nemesis.random.uniform(0.1, SPELL)
    nemesis.note("fence", f"broker {number} and the controller cannot reach each other for {seconds:.1f} s")
    cut(nemesis, number, CONTROLLER, seconds)


def lag(nemesis: Nemesis[KRaftWorld]) -> None:
    """Let a broker not apply the metadata log for some time."""
    number, seconds = nemesis.somebody(), nemesis.random.uniform(0.5, SPELL)
    nemesis.note("lag", f"broker {number} does not apply the metadata log for {seconds:.1f} s")
    nemesis.world.nodes[number].lags_until = nemesis.world.milliseconds + seconds * 1000


def isolate_two(nemesis: Nemesis[KRaftWorld]) -> None:
    """Keep a running broker and another from reaching each other for some time."""
    number = nemesis.somebody()
    others = [other for other in nemesis.world.numbers if other != number]
    if others:
        isolate(nemesis, number, nemesis.random.choice(others))


def change_settings(nemesis: Nemesis[KRaftWorld]) -> None:
    """Change min.insync.replicas of the clients' topic, or restore it."""
    value = nemesis.world.change_min_isr()
    nemesis.note("settings", f"an operator sets min.insync.replicas of {TOPIC} to {value}")


def fail_directory(nemesis: Nemesis[KRaftWorld]) -> None:
    """Let the log directory of a broker fail; some time later the broker is shut down, and started with it again."""
    number, seconds = nemesis.somebody(), nemesis.random.uniform(0.5, SPELL)
    nemesis.note("directory", f"the log directory of broker {number} fails for {seconds:.1f} s")
    nemesis.world.fail_directory(number, seconds)


STRIKES: Mapping[str, Strike] = {
    **PROCESS_FAULTS,
    **NETWORK_FAULTS,
    "fence": fence,
    "lag": lag,
    "isolation": isolate_two,
    "settings": change_settings,
    "directory": fail_directory,
}


def kraft_nemesis(world: KRaftWorld, faults: tuple[str, ...]) -> Nemesis[KRaftWorld]:
    """Return the nemesis of a world; `faults` are the names of the possible faults."""
    return Nemesis(world, {name: KRAFT_FAULTS[name] for name in faults}, STRIKES)

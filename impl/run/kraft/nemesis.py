"""The nemesis of a run of KRaft: the faults of sessions with the controller, of the metadata log, of connections."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from kafka_spec.impl.protocol.errors import KafkaError
from kafka_spec.impl.run.kraft.controllers import SESSION_TIMEOUT_MS
from kafka_spec.impl.run.kraft.faults import QUORUM_FAULTS
from kafka_spec.impl.run.kraft.quorum import ControllerQuorum
from kafka_spec.impl.run.kraft.world import KRaftWorld
from kafka_spec.impl.run.nemesis import NETWORK_FAULTS, PROCESS_FAULTS, SPELL, Nemesis, Strike, cut, isolate
from kafka_spec.impl.run.options import TOPIC


def fence(nemesis: Nemesis[KRaftWorld]) -> None:
    """Keep a broker from reaching the controller, until its session has ended."""
    number, seconds = nemesis.somebody(), SESSION_TIMEOUT_MS / 1000 + nemesis.random.uniform(0.1, SPELL)
    several = "s" if len(nemesis.world.controllers.numbers) > 1 else ""
    nemesis.note("fence", f"broker {number} and the controller{several} cannot reach each other for {seconds:.1f} s")
    for controller in nemesis.world.controllers.numbers:
        cut(nemesis, number, controller, seconds)


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
    with suppress(KafkaError):  # no controller is active
        value = nemesis.world.change_min_isr()
        nemesis.note("settings", f"an operator sets min.insync.replicas of {TOPIC} to {value}")


def fail_directory(nemesis: Nemesis[KRaftWorld]) -> None:
    """Let the log directory of a broker fail; some time later the broker is shut down, and started with it again."""
    number, seconds = nemesis.somebody(), nemesis.random.uniform(0.5, SPELL)
    if nemesis.world.fail_directory(number, seconds):
        nemesis.note("directory", f"the log directory of broker {number} fails for {seconds:.1f} s")


# ---------------------------------------------------------------------------------------------------------------------
# Controllers


def some_controller(nemesis: Nemesis[KRaftWorld]) -> tuple[ControllerQuorum, int] | None:
    """Return the quorum, and one of its controllers that run; None if none does."""
    quorum = nemesis.world.quorum
    assert quorum is not None, "such faults need several controllers"
    return (quorum, nemesis.random.choice(sorted(quorum.processes))) if quorum.processes else None


def crash_controller(nemesis: Nemesis[KRaftWorld]) -> None:
    """End a controller's process; it is started again some time later."""
    if (found := some_controller(nemesis)) is not None:
        quorum, number = found
        nemesis.note("controller-crash", f"controller {number} crashes")
        quorum.crash(number)


def lose_power_of_controller(nemesis: Nemesis[KRaftWorld]) -> None:
    """End a controller's process, and lose what it has not flushed: one with something to lose, if there is one."""
    if (found := some_controller(nemesis)) is not None:
        quorum, number = found
        unflushed = [n for n, one in sorted(quorum.processes.items()) if one.node.log.flushed < one.node.log.end]
        number = unflushed[0] if unflushed else number
        lost = quorum.lose_power(number)
        nemesis.note("controller-power", f"controller {number} loses power, and {lost:,} records")


def isolate_controller(nemesis: Nemesis[KRaftWorld]) -> None:
    """Keep a controller from reaching one other, or any."""
    if (found := some_controller(nemesis)) is not None:
        quorum, number = found
        seconds, others = nemesis.random.uniform(0.5, SPELL), [n for n in quorum.numbers if n != number]
        chosen = others if nemesis.random.random() < HALF else [nemesis.random.choice(others)]
        named = " and ".join(map(str, chosen))
        nemesis.note("controller-isolation", f"controller {number} cannot reach {named} for {seconds:.1f} s")
        for other in chosen:
            cut(nemesis, number, other, seconds)


def resign(nemesis: Nemesis[KRaftWorld]) -> None:
    """Let the active controller resign."""
    quorum = nemesis.world.quorum
    assert quorum is not None, "such faults need several controllers"
    if (active := quorum.active) is not None:
        nemesis.note("resignation", f"controller {active.node.node} resigns")
        active.resign()


def change_voters(nemesis: Nemesis[KRaftWorld]) -> None:
    """Remove a voter, or add one, if the quorum allows it now."""
    quorum = nemesis.world.quorum
    assert quorum is not None, "such faults need several controllers"
    if (active := quorum.active) is not None:
        number = nemesis.random.choice(quorum.numbers)
        if active.change_voters(number):
            done = "adds" if number in active.node.log.voters else "removes"
            nemesis.note("voters", f"an operator {done} controller {number} as a voter")


HALF = 0.5
STRIKES: Mapping[str, Strike] = {
    **PROCESS_FAULTS,
    **NETWORK_FAULTS,
    "fence": fence,
    "lag": lag,
    "isolation": isolate_two,
    "settings": change_settings,
    "directory": fail_directory,
    "controller-crash": crash_controller,
    "controller-power": lose_power_of_controller,
    "controller-isolation": isolate_controller,
    "resignation": resign,
    "voters": change_voters,
}


def kraft_nemesis(world: KRaftWorld, faults: tuple[str, ...]) -> Nemesis[KRaftWorld]:
    """Return the nemesis of a world; `faults` are the names of the possible faults."""
    return Nemesis(world, {name: QUORUM_FAULTS[name] for name in faults}, STRIKES)

"""The nemesis of a run: random faults in any world, until it is stopped.

A fault is a function of the nemesis: those of processes are possible in any world, those of connections in a simulated one. The
faults of one world alone are beside that world: impl/run/zookeeper_faults.py, impl/run/kraft/faults.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from kafka_spec.impl.protocol.data_requests import ElectLeadersRequest
from kafka_spec.impl.run.faults import InjectedFault
from kafka_spec.impl.run.observer import Observer
from kafka_spec.impl.run.simulated_network import SimulatedNetwork
from kafka_spec.impl.run.tasks import RemoteCall, Sleep, Task, TaskGroup

SPELL = 5.0
"""The longest time, in seconds, of a fault that lasts."""
ANSWER = 6.0
"""The longest wait of an operator for an answer, in seconds."""


class FaultyWorld(Protocol):
    """What the nemesis needs of a world; brokers are named by their numbers."""

    @property
    def numbers(self) -> list[int]:
        """All brokers."""

    @property
    def random(self) -> Random:
        """The source of randomness."""

    @property
    def observer(self) -> Observer:
        """Counts and reports the faults."""

    def running(self) -> list[int]:
        """Return the brokers that run and are not shutting down."""

    def process(self, name: str) -> TaskGroup:
        """Return a process without tasks."""

    def after(self, seconds: float, act: Callable[[], object]) -> None:
        """Schedule a call so many seconds from now."""

    def disturb(self, faults: tuple[str, ...]) -> None:
        """Let the faults of messages among these happen."""

    def crash(self, number: int) -> None:
        """End a broker's process without order, and start it again some time later."""

    def lose_power(self, number: int) -> int:
        """Crash a broker's process and lose its unflushed records; return their number."""

    def bounce(self, number: int) -> None:
        """End a broker's process without order, and start it again at once."""

    def shut_down(self, number: int) -> None:
        """Shut a broker down in a controlled way, and start it again."""

    def controller_of(self, number: int) -> int:
        """Return the number of the controller that a broker knows."""


class NetworkedWorld(FaultyWorld, Protocol):
    """A world with a simulated network."""

    @property
    def network(self) -> SimulatedNetwork:
        """The network."""


AnyWorld = TypeVar("AnyWorld", bound=FaultyWorld, covariant=True)
Strike: TypeAlias = Callable[[Any], object]
"""Injects a fault, once."""


class Nemesis(Generic[AnyWorld]):
    """Injects faults into a world until it is stopped."""

    def __init__(
        self, world: AnyWorld, faults: Mapping[str, InjectedFault], strikes: Mapping[str, Callable[[Any], object]]
    ) -> None:
        """`strikes` has the functions of the `faults` that are independent of messages."""
        self.stopped = False
        self.world = world
        self.random = world.random
        self._faults = faults
        self._strikes = strikes

    def begin(self) -> None:
        """Start the faults."""
        self.operator = self.world.process("operator")
        self.world.disturb(tuple(self._faults))
        for name, fault in self._faults.items():
            if fault.every > 0:
                self.operator.spawn(self._again_and_again(self._strikes[name], fault.every))

    def _again_and_again(self, strike: Strike, every: float) -> Task:
        while True:
            yield Sleep(self.random.uniform(0.5, 1.5) * every)
            if self.stopped:
                return
            if self.world.running():
                strike(self)

    def somebody(self) -> int:
        """Return one of the running brokers."""
        return self.random.choice(self.world.running())

    def note(self, name: str, text: str) -> None:
        """Tell a fault."""
        self.world.observer.fault(name, text)


# ---------------------------------------------------------------------------------------------------------------------
# Processes


def crash(nemesis: Nemesis[FaultyWorld]) -> None:
    """Crash a process; it is started again some time later."""
    number = nemesis.somebody()
    nemesis.note("crash", f"broker {number} crashes")
    nemesis.world.crash(number)


def lose_power(nemesis: Nemesis[FaultyWorld]) -> None:
    """Crash a process and lose its unflushed records."""
    number = nemesis.somebody()
    lost = nemesis.world.lose_power(number)
    nemesis.note("power", f"broker {number} loses power, and {lost:,} records")


def bounce(nemesis: Nemesis[FaultyWorld]) -> None:
    """Crash a process and start it again before anyone notices."""
    number = nemesis.somebody()
    nemesis.note("bounce", f"broker {number} bounces")
    nemesis.world.bounce(number)


def shut_down(nemesis: Nemesis[FaultyWorld]) -> None:
    """Shut a broker down, and start it again."""
    number = nemesis.somebody()
    nemesis.note("shutdown", f"broker {number} is shut down")
    nemesis.world.shut_down(number)


def elect(nemesis: Nemesis[FaultyWorld]) -> None:
    """Request preferred leader elections from the controller that some broker knows."""
    controller = nemesis.world.controller_of(nemesis.somebody())
    nemesis.note("election", "an operator requests preferred leader elections")
    nemesis.operator.spawn(_request_elections(controller))


def _request_elections(controller: int) -> Task:
    yield RemoteCall(controller, ElectLeadersRequest(), ANSWER)


PROCESS_FAULTS: Mapping[str, Strike] = {
    "crash": crash,
    "bounce": bounce,
    "power": lose_power,
    "shutdown": shut_down,
    "election": elect,
}
"""The faults of processes, and the operator's request."""


# ---------------------------------------------------------------------------------------------------------------------
# Connections


def isolate(nemesis: Nemesis[NetworkedWorld], one: int, other: int) -> None:
    """Keep two brokers from reaching each other for some time."""
    seconds = nemesis.random.uniform(0.5, SPELL)
    nemesis.note("isolation", f"brokers {one} and {other} cannot reach each other for {seconds:.1f} s")
    cut(nemesis, one, other, seconds)


def cut(nemesis: Nemesis[NetworkedWorld], one: int, other: int, seconds: float) -> None:
    """Cut the connections between two nodes for so many seconds."""
    pair, network = frozenset((f"broker {one}", f"broker {other}")), nemesis.world.network
    network.cut.add(pair)
    nemesis.world.after(seconds, lambda: network.cut.discard(pair))


def slow_down(nemesis: Nemesis[NetworkedWorld]) -> None:
    """Let a broker be slow for some time."""
    number, seconds = nemesis.somebody(), nemesis.random.uniform(0.5, SPELL)
    network, name = nemesis.world.network, f"broker {number}"
    nemesis.note("slow", f"broker {number} is slow for {seconds:.1f} s")
    network.slow.add(name)
    nemesis.world.after(seconds, lambda: network.slow.discard(name))


NETWORK_FAULTS: Mapping[str, Strike] = {"slow": slow_down}
"""The faults of connections that both worlds have; whom an isolation meets is chosen by each."""

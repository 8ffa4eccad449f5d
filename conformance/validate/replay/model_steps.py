"""The model as a search of runs needs it: successors of packed states from compiled code, and what a log would show of a step.

A step shows lines: rows of the partition's and the replicas' machines that fired, and the requests that it sent. The rows come
from the oracle, which records each attempt, since a row may lead to the state it came from. A step that handles a request shows its
arrival.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from kafka_spec.conformance.validate.replay.rules import EXPLAINING, bounds_for
from kafka_spec.model_check.code.program import Program
from kafka_spec.model_check.interpreter.interpreter import Interpreter
from kafka_spec.model_check.llvm.machine_code import Tier
from kafka_spec.model_check.record.layout import Layout, Packed, get
from kafka_spec.model_check.search.slices import Slice
from kafka_spec.spec.machines.partition import PARTITION, PartitionState
from kafka_spec.spec.machines.replica import REPLICA, ReplicaState
from kafka_spec.spec.vocabulary.table import Rule, SpecError
from kafka_spec.spec.zookeeper.machines import STANDBY
from kafka_spec.spec.zookeeper.messages import Kind, Request
from kafka_spec.spec.zookeeper.state import Channel, ControllerStep, LeaderIsrAndControllerEpoch, Life, World

Record = bytes
"""A packed state."""
SILENT = ("ElectController", "Resign", "ControllerMoved", "NoticeExpiry", "NoticeIsrChange")
"""Rules of controllers that fire no row but those of a start and an end, and send nothing that a log of a partition names."""


class ModelLeadership(NamedTuple):
    """Leader, leader epoch, ISR as bits, and version, of the model's brokers."""

    leader: int
    epoch: int
    isr: int
    version: int


class Line(NamedTuple):
    """A line that a step of the model would write: kind, replica or receiver, states, leadership (see observations.SeenLine)."""

    kind: str
    about: int = -1
    source: int = -1
    target: int = -1
    now: ModelLeadership | None = None
    deletes: bool = False


class Shown(NamedTuple):
    """What a log would show of a step of a controller: lines that it must show, and lines that it may."""

    epoch: int
    lines: tuple[Line, ...]
    perhaps: tuple[Line, ...]


@dataclass(frozen=True)
class BoundRule:
    """A rule with the values of its parameters."""

    number: int
    rule: Rule
    binding: tuple[int, ...]

    @cached_property
    def values(self) -> dict[str, int]:
        """The values by the names of the parameters."""
        return dict(zip(self.rule.params, self.binding, strict=True))

    @cached_property
    def name(self) -> str:
        """The name of the rule."""
        return self.rule.name

    @property
    def delivers(self) -> bool:
        """Whether a broker handles a request."""
        return self.rule.receives != ""

    @cached_property
    def by_controller(self) -> bool:
        """Whether a controller acts, and its log may show the step."""
        return "controller" in self.rule.params and not self.delivers and self.name not in SILENT


class Model:
    """The rules of an era for a number of brokers and replicas."""

    def __init__(self, era: str, brokers: int, replicas: int, deletions: int, unclean: int) -> None:
        spec = EXPLAINING[era]
        self.brokers = brokers
        self.world = Interpreter(spec, bounds_for(spec, brokers, replicas, deletions, unclean))
        self.layout = Layout(self.world.space)
        self._program = Program(spec, self.layout, self.world.actions, (), self.world.k, frozenset({"digest"}), tier=Tier.QUICK)
        self._slice = Slice(self._program, self.world.actions.count)
        self._marks = np.zeros(1, np.uint64)
        self._actions: dict[int, BoundRule] = {}
        self._states: dict[Record, World] = {}
        self._shown: dict[tuple[Record, int], Shown] = {}
        self._epoch_at = self.place("zookeeper", "controller_epoch")
        self._version_at = self.place("zookeeper", "partitions", 0, "state", "version")
        self._isr_at = self.place("zookeeper", "partitions", 0, "state", "isr")
        self._steps = [self.place("controllers", number, "step") for number in range(brokers)]
        self._processes = [self.place("brokers", number, "life") for number in range(brokers)]
        self._controllers = [self.place("controllers", number, "epoch") for number in range(brokers)]
        self._lives = [self.place("controllers", number, "life") for number in range(brokers)]

    def start(self) -> Record:
        """Return the state in which all brokers run, without a controller and a topic."""
        (state,) = self.world.initial()
        return self.layout.pack(state)

    def place(self, *path: str | int) -> tuple[int, int, bool]:
        """Return where a number of the state is in a record: its first byte, the byte after it, and whether it is signed."""
        at, packed = self._within(path)
        return at, at + packed.size, packed.signed

    def _within(self, path: tuple[str | int, ...]) -> tuple[int, Packed]:
        """Return where a part of the state is in a record, and how it is packed."""
        at, packed = 0, self.layout.root
        for part in path:
            if isinstance(part, str):
                assert packed.fields is not None
                offset, packed = packed.fields[part]
                at += offset
            else:
                assert packed.item is not None
                at += (packed.head.size if packed.head is not None else 0) + part * packed.item.size
                packed = packed.item
        return at, packed

    def controller_epoch(self, record: Record) -> int:
        """Return what /controller_epoch holds."""
        return _number(record, self._epoch_at)

    def version(self, record: Record) -> int:
        """Return the version of the partition's state znode."""
        return _number(record, self._version_at)

    def isr(self, record: Record) -> int:
        """Return the ISR in the partition's state znode, as bits."""
        return _number(record, self._isr_at)

    def is_stopping(self, record: Record, broker: int) -> bool:
        """Whether a broker is in its controlled shutdown."""
        return _number(record, self._processes[broker]) == Life.STOPPING

    def removes_more(self, record: Record, controller: int) -> bool:
        """Whether a controller's next step takes another replica offline, in the same batch."""
        return _number(record, self._steps[controller]) == ControllerStep.REMOVE

    def epoch_of(self, record: Record, controller: int) -> int:
        """Return the epoch of a controller, or 0."""
        return _number(record, self._controllers[controller])

    def active(self, record: Record) -> int:
        """Return how many brokers consider themselves the controller."""
        return sum(_number(record, place) != STANDBY for place in self._lives)

    def state(self, record: Record) -> World:
        """Return the state of a record."""
        found = self._states.get(record)
        if found is None:
            if len(self._states) > 10_000:
                self._states.clear()
            found = self._states[record] = self.layout.unpack(record)
        return found

    def action(self, number: int) -> BoundRule:
        """Return the action with this number."""
        found = self._actions.get(number)
        if found is None:
            rule, binding = self.world.actions.decode(number)
            found = self._actions[number] = BoundRule(number, rule, binding)
        return found

    def successors(self, record: Record) -> list[tuple[BoundRule, Record]]:
        """Return every step that the bounds allow, with the state after it."""
        source = np.frombuffer(record, np.uint8).reshape(1, -1)
        part = self._slice
        part.expand(source, self._marks, 0)
        if part.count < 0:
            raise SpecError(f"{self.world.spec.name}: a rule cannot be executed in some state that explains a log")
        states, actions = part.states, part.actions
        return [(self.action(int(actions[n])), states[n].tobytes()) for n in range(part.count)]

    def request(self, record: Record, action: BoundRule) -> Request:
        """Return the request that a broker handles."""
        path = ("controllers", action.values["controller"], "channels", action.values["broker"], "requests", 0)
        at, packed = self._within(path)
        found: Request = get(packed, record, at)
        return found

    def shown(self, record: Record, action: BoundRule) -> Shown:
        """Return what a log would show of a step of a controller."""
        key = record, action.number
        found = self._shown.get(key)
        if found is None:
            if len(self._shown) > 50_000:
                self._shown.clear()
            found = self._shown[key] = self._show(self.state(record), action)
        return found

    def _show(self, before: World, action: BoundRule) -> Shown:
        controller = action.values["controller"]
        after = self.world.apply(action.rule, before, action.binding, beyond=True)
        own = after.controllers[controller]
        now = leadership(own.context.partitions[0].leadership)
        lines, perhaps = [], []
        for attempt in self.world.attempts:
            if attempt.target is None or attempt.trigger in ("startup", "shutdown"):
                continue
            if attempt.machine == PARTITION.name:
                written = now if attempt.target == PartitionState.ONLINE else None
                lines.append(Line("partition", -1, int(attempt.source), int(attempt.target), written))
            elif attempt.machine == REPLICA.name:
                lines.append(Line("replica", attempt.entity[2], int(attempt.source), int(attempt.target)))
                if attempt.target == ReplicaState.OFFLINE:
                    perhaps.append(Line("removed", attempt.entity[2], now=now))
        for broker in range(self.brokers):
            old, new = _sent(before.controllers[controller].channels[broker]), _sent(own.channels[broker])
            sent = new[len(old) :] if new[: len(old)] == old else new
            lines += [line for request in sent if (line := _sending(request, broker)) is not None]
        epoch = before.controllers[controller].epoch or own.epoch
        return Shown(epoch, tuple(lines), tuple(perhaps))


def _sent(channel: Channel) -> list[Request]:
    """Return the requests in a channel that are not part of a batch that is still collected: Kafka logs what it sends."""
    return list(channel.requests)[: len(channel.requests) - channel.unsent]


def _sending(request: Request, broker: int) -> Line | None:
    if request.kind == Kind.LEADER_AND_ISR:
        return Line("told", broker, now=leadership(request))
    if request.kind == Kind.UPDATE_METADATA:
        return None
    return Line("stopped", broker, request.leader_epoch, deletes=request.kind == Kind.STOP_REPLICA_AND_DELETE)


def leadership(of: LeaderIsrAndControllerEpoch | Request) -> ModelLeadership:
    """Return leader, leader epoch, ISR and version of a znode, a cache or a request."""
    return ModelLeadership(int(of.leader), of.leader_epoch, int(of.isr), of.version)


def _number(record: Record, place: tuple[int, int, bool]) -> int:
    begin, end, signed = place
    return int.from_bytes(record[begin:end], "little", signed=signed)

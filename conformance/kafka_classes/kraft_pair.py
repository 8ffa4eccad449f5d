"""Both controllers of KRaft, the rules of spec/kraft and Kafka's managers, as they take a step together."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from kafka_spec.conformance.kafka_classes.kraft_kafkas import KafkasKRaft
from kafka_spec.conformance.kafka_classes.kraft_ours import OurKRaft
from kafka_spec.conformance.kafka_classes.kraft_promises import Setting
from kafka_spec.spec.error_codes import ErrorCode
from kafka_spec.spec.kraft.machines import BrokerState
from kafka_spec.spec.kraft.state import ProcessLife
from kafka_spec.spec.language.domain import NONE

EPOCHS_TOO_FAR = 7
"""A broker epoch that no broker of a sequence reaches."""


@dataclass(frozen=True)
class RequestStep:
    """One step: its kind, the broker that it is about, and further numbers, which each kind takes as it can.

    The same step can be taken in any state, so that a sequence from which steps are taken away is a sequence.
    """

    kind: str
    broker: int = 0
    numbers: tuple[int, ...] = ()

    def __str__(self) -> str:
        return " ".join([self.kind, str(self.broker), *map(str, self.numbers)])


class KafkaWaits(Exception):  # noqa: N818 - it is no error
    """The model has done what Kafka does later: a chosen difference, by its name. It takes no behaviour away."""


DEAD_BROKER = "a dead broker holds a shutdown up"
REGISTERED_AGAIN = "a second registration has to be applied"


@dataclass
class Pair:
    """Both controllers, and what the brokers' processes know; `offsets` are Kafka's for the images that the model holds."""

    setting: Setting
    ours: OurKRaft
    kafkas: KafkasKRaft
    offsets: list[int] = field(default_factory=list)
    noted: int = 0
    """The batches of the model whose offsets are noted."""

    def __post_init__(self) -> None:
        self.offsets = [self.kafkas.offset]

    # The model

    def fire(self, *rules: str, **binding: int) -> bool:
        """Fire the first of the rules that is enabled; whether one was."""
        return any(self.ours.fire(rule, **binding) for rule in rules)

    def take(self, step: RequestStep) -> tuple[Any, Any]:
        """Take a step on both sides, and return their answers, or None."""
        answers: tuple[Any, Any] = getattr(self, f"_{step.kind}")(step) or (None, None)
        self._note_offsets()
        return answers

    def _note_offsets(self) -> None:
        """Note where Kafka's log ends for the images that the model has committed since the last time."""
        self.offsets += [self.kafkas.offset] * (self.ours.commits - self.noted)
        self.noted = self.ours.commits
        del self.offsets[: len(self.offsets) - self.ours.images()]

    def _offset(self, broker: int) -> int:
        return self.offsets[int(self.ours.node(broker).image)]

    # Steps of processes, which the controller does not see

    def _apply(self, step: RequestStep) -> None:
        node = self.ours.node(step.broker)
        newer = self.ours.images() - 1 - node.image
        if node.life != ProcessLife.DOWN and newer > 0:
            self.fire("TakeImage", broker=step.broker, image=node.image + 1 + step.numbers[0] % newer)

    def _stop(self, step: RequestStep) -> None:
        self.fire("ShutDown", broker=step.broker)

    def _exit(self, step: RequestStep) -> None:
        """The end of a process whose heartbeat is answered by that it may go: it is fenced once more."""
        node = self.ours.node(step.broker)
        if node.life == ProcessLife.STOPPING and self.ours.states()[step.broker] == BrokerState.FENCED:
            offset = self._offset(step.broker)
            self.fire("Exit", broker=step.broker)
            self.kafkas.heartbeat(step.broker, offset, stopping=True)

    def _give_up(self, step: RequestStep) -> None:
        """The end of a process that waits no longer for its controlled shutdown."""
        self.fire("ShutdownTimesOut", "ExitUnregistered", broker=step.broker)

    def _crash(self, step: RequestStep) -> None:
        if step.numbers[0] % 2:
            self.fire("Crash", broker=step.broker)

    def _fail_directory(self, step: RequestStep) -> None:
        if self.setting.two_directories:
            self.fire("FailDirectory", broker=step.broker)

    # Requests of brokers

    def _assign(self, step: RequestStep) -> tuple[Any, Any] | None:
        """A replica has moved to its broker's other directory: its log is empty, and so the copy is whole at once."""
        if not self.setting.two_directories:
            return None
        self.fire("BeginMove", broker=step.broker)
        if not self.fire("AssignDirectory", broker=step.broker):
            return None
        self.fire("Promote", broker=step.broker)
        return ("NONE",), (self.kafkas.assign(step.broker),)

    def _heartbeat(self, step: RequestStep) -> tuple[Any, Any] | None:
        """A heartbeat. Before, active brokers tell how far they are: the model knows that without a heartbeat."""
        node = self.ours.node(step.broker)
        if node.life == ProcessLife.DOWN:
            return None
        states = self.ours.states()
        if states[step.broker] == BrokerState.UNREGISTERED:
            return (ErrorCode.STALE_BROKER_EPOCH.name,), (self.kafkas.refused_heartbeat(step.broker),)
        if node.life == ProcessLife.STOPPING and states[step.broker] == BrokerState.FENCED:
            self._exit(step)
            return None
        dead = []
        for other in range(self.setting.brokers):
            if other != step.broker and states[other] == BrokerState.UNFENCED:
                if self.ours.node(other).life == ProcessLife.DOWN:
                    dead.append(other)
                else:
                    self._report(other)
        offset = self._offset(step.broker)
        stopping, registered = node.life == ProcessLife.STOPPING, self.kafkas.has_applied_its_registration(step.broker, offset)
        rules = ("BeginControlledShutdown", "GrantShutdown") if stopping else ("Unfence", "ReportDirectory")
        fired, failed = self.fire(*rules, broker=step.broker), node.directory_failed == 1
        self.kafkas.heartbeat(step.broker, offset, stopping, failed=failed)
        waits = states[step.broker] == BrokerState.CONTROLLED_SHUTDOWN and self.kafkas.state(step.broker) == states[step.broker]
        if fired and dead and waits:
            raise KafkaWaits(DEAD_BROKER)
        if fired and not stopping and not registered:
            raise KafkaWaits(REGISTERED_AGAIN)
        return None

    def _report(self, broker: int) -> None:
        """A heartbeat of an active broker: how far it is, and whether its directory has failed."""
        self.fire("ReportDirectory", broker=broker)
        self.kafkas.heartbeat(broker, self._offset(broker), stopping=False, failed=self.ours.node(broker).directory_failed == 1)
        self._note_offsets()

    def _want_fence(self, step: RequestStep) -> None:
        """A heartbeat that asks to be fenced: of a broker that is active."""
        up = self.ours.node(step.broker).life == ProcessLife.UP
        if up and self.ours.states()[step.broker] == BrokerState.UNFENCED:
            offset = self._offset(step.broker)
            self.fire("FenceAlive", broker=step.broker)
            self.kafkas.heartbeat(step.broker, offset, stopping=False, fenced=True)

    def _fence(self, step: RequestStep) -> None:
        if self.fire("FenceDead", "FenceAlive", broker=step.broker):
            self.kafkas.fence(step.broker)

    def _start(self, step: RequestStep) -> None:
        if self.ours.node(step.broker).life == ProcessLife.DOWN:
            node = self.ours.node(step.broker)
            previous = NONE if node.directory_failed else node.clean_epoch
            self.fire("StartBroker", broker=step.broker)
            self.kafkas.register(step.broker, previous)

    def _register_again(self, step: RequestStep) -> None:
        if self.fire("RegisterAgain", broker=step.broker):
            self.kafkas.register(step.broker, NONE, again=True)

    def _alter(self, step: RequestStep) -> tuple[Any, Any] | None:
        """A proposal: mostly of the leader, with current epochs, of the ISR with or without one member; sometimes of anything."""
        view = self.ours.view()
        held = view.partition
        sender = held.leader if held.leader != NONE and step.numbers[0] % 8 else step.broker
        if self.ours.node(sender).life == ProcessLife.DOWN:
            return None
        odd = [number % 8 == 7 for number in step.numbers]
        epoch = EPOCHS_TOO_FAR if odd[1] else self.ours.node(sender).epoch
        leader_epoch = max(0, held.leader_epoch + ((step.numbers[2] // 8) % 3 - 1 if odd[2] else 0))
        partition_epoch = max(0, held.partition_epoch + ((step.numbers[3] // 8) % 3 - 1 if odd[3] else 0))
        some = range(self.setting.brokers) if odd[5] or not held.replicas else held.replicas
        wanted = set(held.isr) ^ {some[step.numbers[4] % len(some)]} | {sender}
        if odd[4]:
            wanted = {broker for broker in range(self.setting.brokers) if step.numbers[5] >> broker & 1}
        members = []
        for broker in (*(b for b in self.kafkas.isr() if b in wanted), *sorted(wanted - set(held.isr))):
            known = view.registrations[broker][1]
            members.append((broker, (known, known, known, NONE, known, known - 1, EPOCHS_TOO_FAR)[step.numbers[5] % 7]))
        topic = len(self.kafkas.topic_ids) - 1
        topic = max(0, topic - 1) if odd[0] else topic
        ours = self.ours.alter_partition(sender, epoch, leader_epoch, partition_epoch, members, topic)
        return ours, self.kafkas.alter_partition(sender, epoch, leader_epoch, partition_epoch, members, topic=topic)

    # Operators and timers

    def _elect_preferred(self, _: RequestStep) -> None:
        self.fire("ElectPreferred")
        self.kafkas.elect(unclean=False)

    def _elect_unclean(self, _: RequestStep) -> None:
        self.fire("ElectUnclean")
        self.kafkas.elect(unclean=True)

    def _reassign(self, step: RequestStep) -> tuple[Any, Any]:
        """A reassignment to any brokers, seldom to none; the model has its targets in ascending order."""
        target = [broker for broker in range(self.setting.brokers) if step.numbers[0] >> broker & 1]
        return (self.ours.reassign(target),), (self.kafkas.reassign(target),)

    def _unregister(self, step: RequestStep) -> tuple[Any, Any]:
        known = self.fire("Unregister", broker=step.broker)
        ours = ErrorCode.NONE if known else ErrorCode.BROKER_ID_NOT_REGISTERED
        return (ours.name,), (self.kafkas.unregister(step.broker),)

    def _cancel(self, _: RequestStep) -> tuple[Any, Any]:
        return (self.ours.cancel(),), (self.kafkas.reassign(None),)

    def _list_reassignments(self, _: RequestStep) -> tuple[Any, Any]:
        held, listed = self.ours.view().partition, self.kafkas.listed()
        runs = held.adding or held.removing
        ours = ("a reassignment", held.replicas, held.adding, held.removing) if runs else ("nothing",)
        return ours, ("nothing",) if listed is None else ("a reassignment", *listed)

    def _delete_topic(self, _: RequestStep) -> tuple[Any, Any]:
        return (self.ours.delete_topic(),), (self.kafkas.delete_topic(),)

    def _create_topic(self, _: RequestStep) -> tuple[Any, Any]:
        return (self.ours.create_topic(),), (self.kafkas.create_topic(),)

    def _balance(self, _: RequestStep) -> None:
        self.fire("ElectPreferred")
        self.kafkas.balance()

    def _sweep(self, _: RequestStep) -> None:
        self.fire("ElectWhereAllowed")
        self.kafkas.sweep()

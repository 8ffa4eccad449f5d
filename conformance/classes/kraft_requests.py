"""KRaft's controller: the rules of spec/kraft and Kafka's managers get the same requests, one after the other.

A sequence begins with all brokers active and in the ISR. Each step is a request of a broker or an operator, a session's end, or
something that happens to a process and that the controller does not see. After each step both sides have the same registrations
and the same partition, and both keep the promises of kraft/fixed about them, but for two findings about reassignments. A sequence
that shows a difference is shrunk.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from kafka_spec.conformance.classes.comparison import Chosen, Comparison, Subject
from kafka_spec.conformance.classes.java import Kafka
from kafka_spec.conformance.classes.kraft_kafkas import ControllerClasses, KafkasKRaft
from kafka_spec.conformance.classes.kraft_ours import VERSIONS, KRaftView, OurKRaft
from kafka_spec.conformance.classes.kraft_promises import Setting, broken, within_replicas
from kafka_spec.spec.domain import NONE
from kafka_spec.spec.kraft.machines import BrokerState
from kafka_spec.spec.kraft.state import ProcessLife

LENGTH = 24
"""The number of steps of a sequence; the model's epochs have a limit."""
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


KINDS = (
    *("heartbeat",) * 8,
    *("alter",) * 8,
    *("fence", "start", "apply") * 3,
    *("crash", "stop", "exit") * 2,
    "want_fence",
    "register_again",
    "elect_preferred",
    "elect_unclean",
    "balance",
    "sweep",
    *("reassign",) * 3,
    *("cancel", "list_reassignments", "delete_topic"),
    *("create_topic",) * 2,
)


def steps_at_random(random: Random, setting: Setting) -> list[RequestStep]:
    """Return the steps of a sequence."""
    return [
        RequestStep(random.choice(KINDS), random.randrange(setting.brokers), tuple(random.randrange(64) for _ in range(6)))
        for _ in range(LENGTH)
    ]


def setting_at_random(random: Random) -> Setting:
    """Return what a sequence starts from."""
    brokers = random.choice((2, 3, 3, 4))
    spares = random.choice((0, 0, *range(brokers)))
    return Setting(brokers, random.randint(1, brokers), random.random() < 0.25, random.random() < 0.7, spares)


# ---------------------------------------------------------------------------------------------------------------------
# Both sides take a step


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

    def __post_init__(self) -> None:
        self.offsets = [self.kafkas.offset]

    # The model

    def fire(self, *rules: str, **binding: int) -> bool:
        """Fire the first of the rules that is enabled; whether one was."""
        return any(self.ours.fire(rule, **binding) for rule in rules)

    def take(self, step: RequestStep) -> tuple[Any, Any]:
        """Take a step on both sides, and return their answers, or None."""
        before = self.ours.commits
        answers: tuple[Any, Any] = getattr(self, f"_{step.kind}")(step) or (None, None)
        self.offsets += [self.kafkas.offset] * (self.ours.commits - before)
        del self.offsets[: len(self.offsets) - self.ours.images()]
        return answers

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

    def _crash(self, step: RequestStep) -> None:
        if step.numbers[0] % 2:
            self.fire("Crash", broker=step.broker)

    # Requests of brokers

    def _heartbeat(self, step: RequestStep) -> None:
        """A heartbeat. Before, active brokers tell how far they are: the model knows that without a heartbeat."""
        node = self.ours.node(step.broker)
        if node.life == ProcessLife.DOWN:
            return
        states = self.ours.states()
        if node.life == ProcessLife.STOPPING and states[step.broker] == BrokerState.FENCED:
            self._exit(step)
            return
        dead = []
        for other in range(self.setting.brokers):
            if other != step.broker and states[other] == BrokerState.UNFENCED:
                if self.ours.node(other).life == ProcessLife.DOWN:
                    dead.append(other)
                else:
                    self.kafkas.heartbeat(other, self._offset(other), stopping=False)
        offset = self._offset(step.broker)
        stopping, registered = node.life == ProcessLife.STOPPING, self.kafkas.has_applied_its_registration(step.broker, offset)
        rules = ("BeginControlledShutdown", "GrantShutdown") if stopping else ("Unfence",)
        fired = self.fire(*rules, broker=step.broker)
        self.kafkas.heartbeat(step.broker, offset, stopping)
        waits = states[step.broker] == BrokerState.CONTROLLED_SHUTDOWN and self.kafkas.state(step.broker) == states[step.broker]
        if fired and dead and waits:
            raise KafkaWaits(DEAD_BROKER)
        if fired and not stopping and not registered:
            raise KafkaWaits(REGISTERED_AGAIN)

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
            previous = self.ours.node(step.broker).clean_epoch
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
        if self.setting.unclean:
            self.fire("ElectUnclean")
        self.kafkas.sweep()


# ---------------------------------------------------------------------------------------------------------------------
# Promises


KNOWN_BUGS = {"3.9.1": {"LeaderIsActive", "IsrIsActive"}}
"""Promises that a version breaks by a bug of the list, on both sides alike: KAFKA-19522 with the ELR, KAFKA-18106 without."""


def emptied_by_cancellation(before: KRaftView, step: RequestStep, answers: tuple[Any, Any]) -> bool:
    """Whether Kafka has accepted a cancellation that empties the ISR: from then on that may name a fenced broker.

    It is the finding cancellation-elects-cleanly.
    """
    accepted = step.kind == "cancel" and answers[1] == ("NONE",)
    return accepted and set(before.partition.isr) <= set(before.partition.adding)


# ---------------------------------------------------------------------------------------------------------------------
# Sequences


@dataclass(frozen=True)
class SequenceOutcome:
    """How a sequence went: the number of compared steps, and the first difference: the step, and both sides."""

    steps: int
    at: int = NONE
    ours: str = ""
    kafkas: str = ""
    chosen: str | None = None


def run(classes: ControllerClasses, setting: Setting, steps: Sequence[RequestStep], seen: Any) -> SequenceOutcome:
    """Run a sequence on both sides up to the first difference; `seen` counts what happened."""
    size = (setting.brokers, setting.min_isr, setting.unclean, setting.elr)
    ours = OurKRaft(classes.kafka.version, *size, setting.spares)
    pair = Pair(setting, ours, KafkasKRaft(classes, *size, setting.brokers - setting.spares))
    before, known = ours.view(), KNOWN_BUGS.get(classes.kafka.version, set())
    for number, step in enumerate(steps):
        try:
            answers = pair.take(step)
        except KafkaWaits as waits:
            return SequenceOutcome(number, number, "done", "waits", str(waits))
        except ours.AT_BOUND:
            seen["ended by a bound of the model"] += 1
            return SequenceOutcome(number)
        mine, theirs = ours.view(), pair.kafkas.view()
        if mine != theirs or answers[0] != answers[1]:
            return SequenceOutcome(number + 1, number, f"{mine} {answers[0]}", f"{theirs} {answers[1]}")
        if emptied_by_cancellation(before, step, answers):
            known = known | {"IsrIsActive"}
        judged = [replace(view, partition=within_replicas(view.partition)) for view in (before, theirs)]
        seen["shows elr-outside-replicas"] += judged[1] != theirs
        if found := [one for one in broken(setting, *judged) if one not in known]:
            return SequenceOutcome(number + 1, number, "keeps its promises", f"breaks {', '.join(found)}: {theirs}")
        seen[f"{step.kind}: {'changes' if mine != before else 'nothing'}"] += 1
        if answers[0] is not None:
            seen[f"{step.kind} answers {answers[0][0]}"] += 1
        before = mine
    return SequenceOutcome(len(steps))


def shrunk(classes: ControllerClasses, setting: Setting, steps: Sequence[RequestStep]) -> list[RequestStep]:
    """Return a shorter sequence that still shows a difference: no step of it can be left out."""
    left = list(steps[: run(classes, setting, steps, _Ignored()).at + 1])
    for place in reversed(range(len(left) - 1)):
        fewer = [*left[:place], *left[place + 1 :]]
        found = run(classes, setting, fewer, _Ignored())
        if found.at != NONE and found.chosen is None:
            left = fewer[: found.at + 1]
    return left


class _Ignored(dict[str, int]):
    def __missing__(self, _: str) -> int:
        return 0


def odd() -> Iterator[tuple[Setting, list[RequestStep]]]:
    """Yield a sequence for each chosen difference."""
    setting = Setting(3, 1, unclean=False, elr=False)
    yield setting, steps_of(("stop", 0), ("heartbeat", 0), ("apply", 2), ("crash", 1, 1), ("heartbeat", 0))
    yield setting, steps_of(("fence", 1), ("register_again", 1), ("heartbeat", 1))


def mended() -> Iterator[tuple[Setting, list[RequestStep]]]:
    """Yield sequences that showed mistakes of ours, which were mended."""
    # A preferred election that leaves the leader completes a reassignment.
    yield (
        Setting(2, 2, unclean=True, elr=True),
        steps_of(
            *(("alter", 1, 31, 6, 6, 11, 25), ("stop", 0), ("reassign", 1, 2), ("heartbeat", 1), ("reassign", 0, 3)),
            *(("heartbeat", 0), ("balance", 0)),
        ),
    )
    # A reassignment of a partition without a leader adds a member of the ELR that is fenced.
    yield Setting(3, 3, unclean=False, elr=True), steps_of(("fence", 1), ("reassign", 0, 1), ("fence", 0), ("reassign", 0, 3))
    # An unclean election elects the last known leader where nobody is active (KAFKA-19522, 3.9.1).
    yield (
        Setting(2, 2, unclean=False, elr=True, spares=1),
        steps_of(("crash", 1, 1), ("crash", 0, 1), ("start", 1), ("start", 0), ("elect_unclean", 0)),
    )


def findings() -> Iterator[tuple[Setting, list[RequestStep]]]:
    """Yield the sequences of FINDINGS about reassignments: what Kafka does there, our side does too."""
    join_first = ("alter", 0, 1, 0, 0, 0, 0)
    asked, given_up = (("reassign", 0, 4), ("reassign", 0, 7)), (("reassign", 0, 7), ("reassign", 0, 1))
    yield Setting(3, 2, unclean=False, elr=True, spares=1), steps_of(*asked, ("alter", 0, 1, 0, 0, 0, 2), ("list_reassignments", 0))
    yield Setting(3, 2, unclean=False, elr=True, spares=1), steps_of(*given_up, ("list_reassignments", 0), ("cancel", 0))
    cancelled = (("reassign", 0, 6), join_first, ("fence", 0), ("cancel", 0), ("apply", 0), ("heartbeat", 0))
    yield Setting(3, 1, unclean=True, elr=True, spares=2), steps_of(*cancelled)
    below = (("reassign", 0, 15), ("fence", 1), ("alter", 0, 1, 0, 0, 0, 2), ("cancel", 0))
    yield Setting(4, 2, unclean=False, elr=True, spares=2), steps_of(*below)
    waits = (("alter", 0, 1, 0, 0, 0, 1), ("reassign", 0, 2), ("fence", 0), ("balance", 0), ("elect_preferred", 0), ("sweep", 0))
    yield Setting(2, 2, unclean=False, elr=True), steps_of(*waits, ("list_reassignments", 0), ("reassign", 0, 2))


def steps_of(*steps: tuple[Any, ...]) -> list[RequestStep]:
    """Return steps given as (kind, broker, numbers...)."""
    return [RequestStep(kind, broker, (*numbers, 0)) for kind, broker, *numbers in steps]


def sequences(random: Random, cases: int) -> Iterator[tuple[Setting, list[RequestStep]]]:
    """Yield the sequences of a comparison: given ones, and random ones."""
    yield from (*odd(), *mended(), *findings())
    for _ in range(max(1, cases // 2)):
        setting = setting_at_random(random)
        yield setting, steps_at_random(random, setting)


def compare(kafka: Kafka, comparison: Comparison, random: Random, cases: int) -> None:
    """Compare random sequences; a case is a step."""
    classes = ControllerClasses(kafka)
    for setting, steps in sequences(random, cases):
        outcome = run(classes, setting, steps, comparison.seen)
        for _ in range(outcome.steps - (outcome.at != NONE and outcome.chosen is None)):
            comparison.compare("", 0, 0)
        if outcome.chosen is not None:
            comparison.compare(setting, outcome.ours, outcome.kafkas, outcome.chosen)
        elif outcome.at != NONE:
            fewer = shrunk(classes, setting, steps)
            last = run(classes, setting, fewer, _Ignored())
            comparison.compare(f"{setting}: {'; '.join(map(str, fewer))}", last.ours, last.kafkas)


SUBJECT = Subject(
    "kraft-requests",
    "KRaft's controller: registrations, fences, shutdowns, AlterPartition, elections, reassignments, topics, in random sequences",
    compare,
    (
        Chosen(
            DEAD_BROKER,
            "a broker whose process has ended is active until its session ends, and a shutdown waits for it; here it may be "
            "granted sooner, which is one more behaviour and takes none away",
            VERSIONS,
        ),
        Chosen(
            REGISTERED_AGAIN,
            "a fenced process that has registered again is unfenced once it has applied that; here it may be unfenced sooner",
            VERSIONS,
        ),
    ),
    VERSIONS,
)

"""KRaft's controller: the rules of spec/kraft and Kafka's managers get the same requests, one after the other.

A sequence begins with all brokers active and in the ISR. Each step is a request of a broker or an operator, a session's end, or
something that happens to a process and that the controller does not see. After each step both sides have the same registrations and
the same partition, and both satisfy the properties of kraft/fixed about them, but for two findings about reassignments. A sequence
that shows a difference is shortened.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any

from kafka_spec.conformance.kafka_classes.comparison import Chosen, Comparison, SequenceOutcome, Subject, compare_sequence
from kafka_spec.conformance.kafka_classes.java import Kafka
from kafka_spec.conformance.kafka_classes.kraft_controller_classes import ControllerClasses
from kafka_spec.conformance.kafka_classes.kraft_kafkas import KafkasKRaft
from kafka_spec.conformance.kafka_classes.kraft_ours import VERSIONS, KRaftView, OurKRaft
from kafka_spec.conformance.kafka_classes.kraft_pair import DEAD_BROKER, REGISTERED_AGAIN, KafkaWaits, Pair, RequestStep
from kafka_spec.conformance.kafka_classes.kraft_promises import Setting, broken, within_replicas

LENGTH = 24
"""The number of steps of a sequence; the model's epochs have a limit."""


KINDS = (
    *("heartbeat",) * 8,
    *("alter",) * 8,
    *("fence", "start", "apply") * 3,
    *("crash", "stop", "exit") * 2,
    *("give_up", "unregister"),
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
WITH_DIRECTORIES = tuple(
    kind for kind in KINDS if kind not in ("reassign", "cancel", "create_topic", "delete_topic", "register_again")
)
"""The kinds of steps while directories fail: a new replica, or a second registration, would have another directory.

A topic that is deleted stays listed in a directory (deleted-topic-stays-in-directory).
"""


def steps_at_random(random: Random, setting: Setting) -> list[RequestStep]:
    """Return the steps of a sequence."""
    kinds = (*WITH_DIRECTORIES, *("fail_directory", "assign") * 4) if setting.two_directories else KINDS
    return [
        RequestStep(random.choice(kinds), random.randrange(setting.brokers), tuple(random.randrange(64) for _ in range(6)))
        for _ in range(LENGTH)
    ]


def setting_at_random(random: Random) -> Setting:
    """Return what a sequence starts from."""
    brokers = random.choice((2, 3, 3, 4))
    spares = random.choice((0, 0, *range(brokers)))
    unclean, elr, fail = random.random() < 0.25, random.random() < 0.7, random.random() < 0.3
    return Setting(brokers, random.randint(1, brokers), unclean, elr, spares, fail)


# ---------------------------------------------------------------------------------------------------------------------
# Both sides take a step


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


def run(classes: ControllerClasses, setting: Setting, steps: Sequence[RequestStep], seen: Counter[str]) -> SequenceOutcome:
    """Run a sequence on both sides up to the first difference; `seen` counts what happened."""
    size = (setting.brokers, setting.min_isr, setting.unclean, setting.elr)
    ours = OurKRaft(classes.kafka.version, *size, setting.spares)
    pair = Pair(setting, ours, KafkasKRaft(classes, *size, setting.brokers - setting.spares, setting.two_directories))
    before, known = ours.view(), KNOWN_BUGS.get(classes.kafka.version, set())
    for number, step in enumerate(steps):
        try:
            answers = pair.take(step)
        except KafkaWaits as waits:
            return SequenceOutcome(number, "done", "waits", str(waits))
        except ours.AT_BOUND:
            seen["ended by a bound of the model"] += 1
            return SequenceOutcome(number)
        mine, theirs = ours.view(), pair.kafkas.view()
        if mine != theirs or answers[0] != answers[1]:
            return SequenceOutcome(number + 1, f"{mine} {answers[0]}", f"{theirs} {answers[1]}")
        if emptied_by_cancellation(before, step, answers):
            known = known | {"IsrIsActive"}
        judged = [replace(view, partition=within_replicas(view.partition)) for view in (before, theirs)]
        seen["shows elr-outside-replicas"] += judged[1] != theirs
        if found := [one for one in broken(setting, *judged) if one not in known]:
            return SequenceOutcome(number + 1, "satisfies its properties", f"breaks {', '.join(found)}: {theirs}")
        seen[f"{step.kind}: {'changes' if mine != before else 'nothing'}"] += 1
        if answers[0] is not None:
            seen[f"{step.kind} answers {answers[0][0]}"] += 1
        before = mine
    return SequenceOutcome(len(steps))


def odd() -> Iterator[tuple[Setting, list[RequestStep]]]:
    """Yield a sequence for each chosen difference."""
    setting = Setting(3, 1, unclean=False, elr=False)
    yield setting, steps_of(("stop", 0), ("heartbeat", 0), ("apply", 2), ("crash", 1, 1), ("heartbeat", 0))
    yield setting, steps_of(("fence", 1), ("register_again", 1), ("heartbeat", 1))


def mended() -> Iterator[tuple[Setting, list[RequestStep]]]:
    """Yield sequences that showed our mistakes, which were fixed."""
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
    # A directory fails of a broker outside the ISR: a leader whose directory is offline is deposed.
    failed = (("fail_directory", 0), ("fail_directory", 1), ("fence", 0), ("fence", 1), ("heartbeat", 1), ("heartbeat", 0))
    yield Setting(2, 1, unclean=False, elr=False, two_directories=True), steps_of(*failed)
    # An assignment that empties the ELR (up to 4.2) remembers no leader, and elects none.
    assigned = (("alter", 1, 47, 18, 14, 62, 20, 33), ("fail_directory", 0), ("fence", 1), ("fence", 0), ("heartbeat", 0))
    yield Setting(3, 2, unclean=False, elr=True, two_directories=True), steps_of(*assigned, ("assign", 1))
    yield Setting(2, 1, unclean=False, elr=True, two_directories=True), steps_of(("fence", 0), ("fence", 1), ("assign", 1))


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
        compare_sequence(comparison, steps, partial(run, classes, setting), setting)


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

"""What a known bug that acts means for the cluster whose log it is: which partitions are at risk now, and what to do.

The texts are for whoever runs the cluster. A case without a text here is an earlier design, which breaks nothing by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kafka_spec.conformance.metadata.image import Image
from kafka_spec.conformance.metadata.kinds import KINDS
from kafka_spec.conformance.metadata.shapes import PartitionShape
from kafka_spec.spec.kraft.cases import CASE, CASES
from kafka_spec.spec.quorum.cases import CASES as QUORUM_CASES

OWN_MINIMUM = "min-isr-of-partition-0"
"""A bug outside the model, which has one partition: the controller limits min.insync.replicas by partition 0."""
CLEARED_WHILE_OFFLINE, STARTS_EMPTY = "elr-cleared-while-offline", "removed-directory-counts-as-clean"
EMPTIED_ELR = "assignment-empties-elr"
ELECTED_ON_FAILED, JOINS_OFFLINE = "elected-on-failed-directory", "offline-directory-joins-isr"
CLEARED_ELR = "cleared-elr-stays-listed"
"""A bug outside the model, which has no such list: the controller keeps listing partitions for the members of a cleared ELR."""
LEFT_IN_DIRECTORY = "deleted-topic-stays-in-directory"
"""A bug outside the model, which has no directories: the controller keeps listing deleted partitions in directories."""
OUTLIVE_TOPICS = (CLEARED_ELR, LEFT_IN_DIRECTORY)
"""The bugs that do harm once the topic that they met is deleted."""

ISSUES = "https://issues.apache.org/jira/browse/"


@dataclass(frozen=True)
class Meaning:
    """What a bug does to a cluster, what to do, and which shapes of partitions show that it has met them (None: no shape does).

    `only_met`: of those, only partitions that the bug has met in this log are at risk.
    """

    does: str
    cure: str
    at_risk: Callable[[PartitionShape], bool] | None = None
    only_met: bool = False


def names_non_replicas(shape: PartitionShape) -> bool:
    """Whether the ELR names brokers that are not replicas."""
    return bool(set(shape.elr) - set(shape.replicas))


def has_stale_lists(shape: PartitionShape) -> bool:
    """Whether brokers that are removed do not stand last, so that they belong to an earlier request."""
    return bool(shape.removing) and shape.replicas[-len(shape.removing) :] != tuple(sorted(shape.removing))


def has_eligible_replicas(shape: PartitionShape) -> bool:
    """Whether the ELR has members."""
    return bool(shape.elr)


def has_no_candidate(shape: PartitionShape) -> bool:
    """Whether no replica may be elected cleanly."""
    return not shape.isr and not shape.elr


def has_reached_its_target(shape: PartitionShape) -> bool:
    """Whether a reassignment is listed although its whole target is in the ISR."""
    return bool(shape.adding or shape.removing) and set(shape.isr) >= set(shape.replicas) - set(shape.removing)


MEANINGS: Mapping[str, Meaning] = {
    "elr-outside-replicas": Meaning(
        "a broker that has left the replicas and deleted its log stays in the ELR: if it becomes a replica again while the ISR is "
        "empty, it is elected cleanly without any record",
        "let the ISR reach min.insync.replicas before these brokers become replicas again: that empties the ELR",
        names_non_replicas,
    ),
    "stale-reassignment-lists": Meaning(
        "a second reassignment has left the list of the first: replicas that it names are removed when it completes, which nobody "
        "asked for",
        "cancel the reassignment and ask for the target again, before it completes; if it has completed, look at the replicas",
        has_stale_lists,
    ),
    "cancellation-elects-cleanly": Meaning(
        "a cancelled reassignment made a replica the only ISR member, which may lack records, and the election is unmarked",
        "compare the log end offsets of the replicas before consumers continue: acknowledged records may be gone",
    ),
    "cancellation-below-min-isr": Meaning(
        "a cancelled reassignment took members out of the ISR and left fewer than min.insync.replicas: records that as many "
        "brokers held are held by fewer",
        "let the remaining replicas catch up before a broker is stopped; cancel only while the old replicas are in sync",
    ),
    "reassignment-waits-after-election": Meaning(
        "an election reached the target of a reassignment, which stays listed until the partition changes again",
        "send the same reassignment again",
        has_reached_its_target,
    ),
    "KAFKA-18106": Meaning(
        "a broker that registered again stayed in the ISR, whatever records its process had lost",
        "upgrade to 4.0 or later; until then do not restart a killed broker while it is the only ISR member",
    ),
    "KAFKA-19522": Meaning(
        "the last known leader was elected although it was fenced: the partition has a leader that nobody reaches",
        "start the broker, or upgrade to 4.1.0 or later",
    ),
    "KAFKA-18635": Meaning(
        "an orderly restart counted as unclean, and took the broker out of the ELR",
        "upgrade to 4.0 or later",
    ),
    "KAFKA-16952": Meaning(
        "a process that registered again got another broker epoch and was fenced for a time",
        "upgrade to 3.9 or later",
    ),
    "KAFKA-12670": Meaning(
        "a partition got no leader although its topic allows unclean elections: the controller does not read the setting",
        "request the election (kafka-leader-election --election-type unclean), or upgrade to 3.9 or later",
    ),
    "KAFKA-15665": Meaning(
        "a reassignment completed although not all of its target was in the ISR: fewer replicas held the records than before",
        "upgrade to 3.8 or later; until then let all replicas be in sync before a reassignment",
    ),
    "KAFKA-13916": Meaning(
        "a fenced or stopping broker was taken back into the ISR",
        "upgrade to 3.3 or later, with its metadata.version",
    ),
    "KAFKA-13083": Meaning("a new topic had fenced brokers in its ISR", "upgrade to 3.0 or later"),
    OWN_MINIMUM: Meaning(
        "the controller limits min.insync.replicas by the replicas of the topic's partition 0: a partition with more of them "
        "keeps no ELR although it is below its minimum, so an unclean election is all that is left when its ISR is empty",
        "give all partitions of a topic as many replicas as partition 0 has, or partition 0 as many as the others",
    ),
    CLEARED_WHILE_OFFLINE: Meaning(
        "a change of min.insync.replicas emptied the ELR of a partition without a leader: none of its replicas may be elected any "
        "more, although they hold all committed records",
        "compare the log end offsets of its replicas, start no other replica than the one with the longest log, and elect it "
        "uncleanly (kafka-leader-election --election-type unclean)",
        has_no_candidate,
    ),
    STARTS_EMPTY: Meaning(
        "a broker that was shut down in order started without the log directory of a replica, which is empty now "
        "and is still eligible: if the ISR becomes empty before it has copied all, it is elected cleanly, and the others truncate",
        "let it join the ISR before another of these replicas is stopped",
        has_eligible_replicas,
        only_met=True,
    ),
    ELECTED_ON_FAILED: Meaning(
        "a heartbeat ended the fence of a broker and reported a failed directory, and the broker was elected for a replica in it: "
        "the partition has a leader that serves nothing, and other replicas that come back are not elected",
        "shut that broker down in order, or restart it without the directory: then another eligible replica is elected",
    ),
    JOINS_OFFLINE: Meaning(
        "a proposal that was on its way took a replica into the ISR whose directory the controller knew to be offline: if the "
        "other members go, it is the whole ISR and cannot lead, and no replica outside the ISR may",
        "write to the partition: its leader then takes the replica out after replica.lag.time.max.ms; stop no other member before",
    ),
    CLEARED_ELR: Meaning(
        "a change of min.insync.replicas emptied the ELR, and the controller still lists the partition for the brokers that were "
        "in it: once the topic is deleted, such a broker can neither register after an unclean shutdown nor be unregistered, and "
        "each attempt makes the active controller resign",
        "start these brokers before the topic is deleted; if it is deleted, restart the controllers one by one, each with a "
        "snapshot that is newer than the change",
    ),
    LEFT_IN_DIRECTORY: Meaning(
        "a topic was deleted while a partition had no ISR, and the controller still lists the partition in the directories of its "
        "replicas: when such a directory fails, each heartbeat that reports it makes the active controller resign, and the "
        "partitions there keep a leader that takes no writes",
        "restart the controllers one by one, each with a snapshot that is newer than the deletion",
    ),
    EMPTIED_ELR: Meaning(
        "an assignment of replicas to directories emptied the ELR: members that hold all records are not eligible any more",
        "upgrade to 4.3.1 or later; until then let the ISR grow back before a broker with several directories restarts",
    ),
}
"""The bugs of the controller by their names."""


def summary(bug: str) -> str:
    """Return what a bug is, in one sentence."""
    return CASE[bug].summary if bug in CASE else MEANINGS[bug].does


def pages(bug: str) -> list[str]:
    """Return where to read about a bug: the page of a finding, or the chapter of the book and Kafka's issues."""
    case = CASE.get(bug)
    if case is None:
        return [f"docs/findings/{bug}.md" if bug in OUTLIVE_TOPICS else f"docs/clusters/metadata_log.md#{bug}"]
    issues = [f"{ISSUES}{one}" for one in case.issues if one.startswith("KAFKA-")]
    if case.seen:
        return [f"docs/findings/{bug}.md", *issues]
    return [*issues, *([] if case.breaks_nothing else [f"bugs/kraft-{bug}.md of the book (make docs)"])]


def is_wrong(bug: str) -> bool:
    """Whether a bug that acts is a fault, and no earlier design."""
    return bug in MEANINGS


def at_risk(bug: str, image: Image, met: frozenset[str]) -> list[str]:
    """Return the partitions at risk now: those whose shape shows it, or, where no shape does, those that the bug has met.

    What some bugs have met puts brokers at risk even after it is deleted, and even more so.
    """
    meaning = MEANINGS.get(bug)
    if meaning is None:
        return []
    found = []
    for partition in image.all_partitions():
        name = image.name_of(partition)
        if meaning.at_risk is None or meaning.only_met:
            if name not in met:
                continue
        if meaning.at_risk is None or meaning.at_risk(partition.shape):
            found.append(name)
    deleted = sorted(met - set(found)) if bug in OUTLIVE_TOPICS else []
    return [*sorted(found), *(f"{name} (deleted)" for name in deleted)]


def nearest_bugs(kind: str) -> list[str]:
    """Return the known bugs with symptoms like this kind of violation, most similar first, each with what a model says of it."""
    about = {case.name: f", {case.summary}" for case in (*CASES, *QUORUM_CASES)}
    return [name + about.get(name, "") for name in KINDS[kind].bugs]

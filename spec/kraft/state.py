"""The state of KRaft: the controller, the metadata log as far as brokers have not applied it, and the brokers with their replicas.

There is at most one topic, with one partition; topics of one name differ by their topic id. The metadata log is a list of committed
batches, held as the images that they lead to. spec/quorum has how controllers agree on it; one that takes over continues where it
ends, so here there is one. A broker epoch is compared only with those of the same broker, so it counts registrations.

Source: Kafka 3.9, metadata/src/main/java/org/apache/kafka/controller; KIP-841, KIP-903, KIP-966.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from kafka_spec.spec.brokers import Assignment, Broker, BrokerOrNone, PerBroker
from kafka_spec.spec.decisions.partition_change import RecoveryState
from kafka_spec.spec.error_codes import ErrorCode
from kafka_spec.spec.kraft.machines import BrokerState, Membership, ProposalState, ReplicaRole
from kafka_spec.spec.language.domain import (
    Bound,
    BrokerSet,
    Counters,
    Flag,
    OneOf,
    Queue,
    Range,
    SequenceOf,
    SetOf,
    Spent,
    StateOf,
    field,
    message,
)

BROKERS = Bound("brokers", 1, 4, "brokers")
RECORDS = Bound("records", 0, 3, "records that clients write")
LAG = Bound("lag", 1, 20, "batches of the metadata log that the slowest running broker has not applied")
RECREATIONS = Bound("recreations", 0, 2, "topics of the same name that are created after a deletion")
MIN_ISR_CHANGES = Bound("min_isr_changes", 0, 2, "changes of min.insync.replicas: to another value, and back")
UNCLEAN_CHANGES = Bound("unclean_changes", 0, 2, "changes of unclean.leader.election.enable: to the other value, and back")
FAILED_DIRECTORIES = Bound("failed_directories", 0, 2, "log directories that fail while their brokers run")

IS_OFFLINE = Range(0, FAILED_DIRECTORIES)
"""1 where the log directory of the replica has failed, as somebody knows it; it takes no room if none fails."""
IS_CHANGED = Range(0, MIN_ISR_CHANGES)
"""1 where min.insync.replicas is `other_min_isr`, 0 where it is `min_isr`; it takes no room if nothing changes."""
TOPIC_IDS = Range(-1, RECREATIONS)
"""A topic id counts the topics of the name from 0; -1 means no topic."""
LEADER_EPOCHS = Range(-1, 31)
PARTITION_EPOCHS = Range(-1, 63)
BROKER_EPOCHS = Range(-1, 15)
OFFSETS = Range(0, RECORDS)
ENDS = Range(-1, RECORDS)
"""Bounds on faults limit epochs. A state that would exceed these numbers is reported as an error."""


class AnErrorCode(Range):
    """One of Kafka's error codes, as its number."""

    def __init__(self) -> None:
        super().__init__(min(ErrorCode), max(ErrorCode), ErrorCode.NONE)

    def show(self, value: int) -> str:
        """Print a value."""
        return ErrorCode(value).name if value in set(ErrorCode) else str(value)


UNKNOWN = -1
"""An epoch or a log end that is not known; a file that does not exist."""


class ProcessLife(enum.IntEnum):
    """Whether a broker's process runs."""

    UP = 0
    DOWN = 1
    STOPPING = 2
    """It runs, and its heartbeats ask for a controlled shutdown."""


class FutureLog(enum.IntEnum):
    """The copy of a log in the directory to which an operator moves it."""

    NONE = 0
    COPIED = 1
    """The broker copies the log, entry by entry."""
    ASSIGNED = 2
    """The copy had the whole log, and the metadata names its directory. It replaces the log once it has the whole log again."""


@dataclass
class StoredRecord:
    """One entry of a log: which record, written in which leader epoch."""

    record: int = field(OFFSETS)
    epoch: int = field(LEADER_EPOCHS)
    topic_id: int = field(TOPIC_IDS)
    """The topic for which it was written. The properties need it; no part of Kafka keeps it with a record."""


# ---------------------------------------------------------------------------------------------------------------------
# The metadata


@dataclass
class PartitionRegistration:
    """The partition, as the metadata log has it; while there is no topic, its fields have their initial values."""

    topic_id: int = field(TOPIC_IDS)
    replicas: list[int] = field(Assignment(BROKERS))
    """The replicas, those that a reassignment adds and removes included."""
    adding: BrokerSet = field(SetOf(BROKERS))
    """The replicas that a reassignment adds."""
    removing: BrokerSet = field(SetOf(BROKERS))
    """The replicas that leave when the reassignment completes."""
    leader: int = field(BrokerOrNone(BROKERS))
    leader_epoch: int = field(LEADER_EPOCHS)
    partition_epoch: int = field(PARTITION_EPOCHS)
    """It grows with each change of the partition."""
    isr: BrokerSet = field(SetOf(BROKERS))
    elr: BrokerSet = field(SetOf(BROKERS))
    """Eligible leader replicas (KIP-966): outside the ISR, and yet they hold what is committed."""
    last_known_leader: int = field(BrokerOrNone(BROKERS))
    recovery: int = field(OneOf(RecoveryState))
    min_isr_changed: int = field(IS_CHANGED)
    """1 while min.insync.replicas of the topic is what operators changed it to."""


@dataclass
class KnownBroker:
    """A registration in an image."""

    state: int = field(OneOf(BrokerState))
    epoch: int = field(BROKER_EPOCHS)
    """-1 if the broker is not registered."""
    directory_offline: int = field(IS_OFFLINE)


@dataclass
class MetadataImage:
    """All metadata after a batch of the log."""

    brokers: list[KnownBroker] = field(PerBroker(KnownBroker, BROKERS))
    partition: PartitionRegistration = field(PartitionRegistration)


@dataclass
class Registration:
    """A broker's registration at the controller."""

    state: int = field(StateOf(BrokerState, "Registration"))
    epoch: int = field(BROKER_EPOCHS)
    """The broker epoch of its last registration. The next one has a larger one, also if it was unregistered in between."""
    shutdown_image: int = field(Range(0, 21))
    """In a controlled shutdown: the image that active brokers have to reach before the broker may go (controlledShutdownOffset)."""
    directory_offline: int = field(IS_OFFLINE)
    """1 while the log directory of the broker's replica is not among those that are registered as online."""


@dataclass
class QuorumController:
    """The memory of the active controller: the end of the metadata log."""

    registrations: list[Registration] = field(PerBroker(Registration, BROKERS))
    memberships: list[int] = field(PerBroker(StateOf(Membership, "Membership"), BROKERS))
    """Where each replica stands: the ISR and the ELR as states of a machine."""
    partition: PartitionRegistration = field(PartitionRegistration)
    unclean_changed: int = field(Range(0, UNCLEAN_CHANGES))
    """1 while unclean.leader.election.enable is what operators changed it to. Brokers have no use for it."""


# ---------------------------------------------------------------------------------------------------------------------
# Brokers


@message
@dataclass
class AlterPartitionRequest:
    """A leader's proposal of an ISR to the controller."""

    broker_epoch: int = field(BROKER_EPOCHS)
    topic_id: int = field(TOPIC_IDS)
    leader_epoch: int = field(LEADER_EPOCHS)
    partition_epoch: int = field(PARTITION_EPOCHS)
    min_isr_changed: int = field(IS_CHANGED)
    """The min.insync.replicas under which the leader commits. No version of Kafka sends it."""
    isr: BrokerSet = field(SetOf(BROKERS))
    epochs: list[int] = field(PerBroker(BROKER_EPOCHS, BROKERS))
    """The broker epoch of each member's last fetch; -1 if the leader knows none, and for brokers that are not proposed."""


@message
@dataclass
class AlterPartitionAnswer:
    """The controller's answer."""

    error: int = field(AnErrorCode())
    leader_epoch: int = field(LEADER_EPOCHS)
    partition_epoch: int = field(PARTITION_EPOCHS)
    isr: BrokerSet = field(SetOf(BROKERS))


@dataclass
class PartitionReplica:
    """A broker's replica of the partition. Topic id, log and high watermark are on disk, the rest is lost when the process ends."""

    topic_id: int = field(TOPIC_IDS)
    """The topic whose log is on disk; -1 if there is none."""
    role: int = field(StateOf(ReplicaRole, "ReplicaRole"))
    leader: int = field(BrokerOrNone(BROKERS))
    leader_epoch: int = field(LEADER_EPOCHS)
    partition_epoch: int = field(PARTITION_EPOCHS)
    proposal: int = field(StateOf(ProposalState, "Proposal"))
    """On a leader: its pending change of the ISR."""
    assigned: BrokerSet = field(SetOf(BROKERS))
    """On a leader: the replicas of the image that it has applied."""
    isr: BrokerSet = field(SetOf(BROKERS))
    """On a leader: the committed ISR."""
    proposed: BrokerSet = field(SetOf(BROKERS))
    """On a leader: the ISR that it has proposed; empty without a proposal. With the committed ISR it makes the maximal ISR."""
    epoch_start: int = field(OFFSETS)
    """On a leader: the end of its log when its leader epoch began."""
    ends: list[int] = field(PerBroker(ENDS, BROKERS))
    """On a leader: where its followers' logs end, as their last fetches said; -1 where none said anything."""
    fetch_epochs: list[int] = field(PerBroker(BROKER_EPOCHS, BROKERS))
    """On a leader: the broker epochs of its followers' last fetches; -1 where none said anything."""
    fetching: int = field(Flag())
    """On a follower: its fetcher runs."""
    min_isr_changed: int = field(IS_CHANGED)
    """The same of its log's configuration."""
    high_watermark: int = field(OFFSETS)
    log: list[StoredRecord] = field(SequenceOf(StoredRecord, RECORDS, "offset"))


@dataclass
class KRaftBroker:
    """A broker: its process, what it has applied of the metadata log, its replica, its exchange with the controller."""

    life: int = field(OneOf(ProcessLife))
    epoch: int = field(BROKER_EPOCHS)
    """The broker epoch that its registration gave it."""
    clean_epoch: int = field(BROKER_EPOCHS)
    """The broker epoch in the file that an orderly stop leaves; -1 if there is no file."""
    image: int = field(Range(0, 21))
    """Which image of the metadata log its metadata cache holds; 0 while it is down."""
    applying: int = field(Flag())
    """Its metadata cache has this image, its replica does not yet."""
    directory_failed: int = field(IS_OFFLINE)
    """1 from the failure of the log directory of its replica until it starts again: the replica neither leads nor follows."""
    copy: int = field(OneOf(FutureLog))
    """Whether its log is being moved to another of its directories (on disk, and in the metadata)."""
    copied: int = field(OFFSETS)
    """How many of the log's entries the future log has, which are its first ones."""
    replica: PartitionReplica = field(PartitionReplica)
    requests: list[AlterPartitionRequest] = field(Queue(AlterPartitionRequest, 1))
    """The proposal that it has sent, until it has the answer."""
    handled: int = field(Flag())
    """The controller has handled that proposal at least once."""
    answers: list[AlterPartitionAnswer] = field(Queue(AlterPartitionAnswer, 1))


@message
@dataclass
class FetchRequestInFlight:
    """A fetch request that is delayed on the network and may outlive the process that sent it."""

    follower: int = field(Broker(BROKERS))
    topic_id: int = field(TOPIC_IDS)
    end: int = field(OFFSETS)
    """The fetch offset: the sender's log end."""
    last_epoch: int = field(LEADER_EPOCHS)
    """The leader epoch of the sender's last record (lastFetchedEpoch)."""
    leader_epoch: int = field(LEADER_EPOCHS)
    broker_epoch: int = field(BROKER_EPOCHS)


# ---------------------------------------------------------------------------------------------------------------------
# Actions of the environment, within bounds

CRASHES = Bound("crashes", 0, 3, "processes that end and may be restarted; their logs stay")
LOSSY_CRASHES = Bound("lossy_crashes", 0, 3, "machines that crash and lose the end of their log")
FENCES = Bound("fences", 0, 3, "running brokers that the controller fences, since it has not heard from them in time")
ISR_SHRINKS = Bound("isr_shrinks", 0, 3, "proposals of a leader to remove a slow follower from the ISR")
CONTROLLED_SHUTDOWNS = Bound("controlled_shutdowns", 0, 3, "brokers that request a controlled shutdown")
PREFERRED_ELECTIONS = Bound("preferred_elections", 0, 2, "preferred leader elections")
UNCLEAN_ELECTIONS = Bound("unclean_elections", 0, 2, "unclean elections that operators request")
DELAYED_FETCHES = Bound("delayed_fetches", 0, 1, "fetch requests that are delayed on the network")
LOST_ANSWERS = Bound("lost_answers", 0, 2, "answers to proposals that are lost, so that the leader repeats its request")
STALE_ANSWERS = Bound("stale_answers", 0, 2, "errors that a former controller answers, from an earlier end of the metadata log")
RE_REGISTRATIONS = Bound("re_registrations", 0, 1, "running brokers that register again")
UNREGISTRATIONS = Bound("unregistrations", 0, 2, "brokers that operators unregister, running or not")
SHUTDOWN_TIMEOUTS = Bound("shutdown_timeouts", 0, 2, "brokers that wait no longer for their controlled shutdown, and stop in order")
REASSIGNMENTS = Bound("reassignments", 0, 3, "reassignments that operators request or cancel")
DELETIONS = Bound("deletions", 0, 2, "deletions of the topic")
MOVES = Bound("moves", 0, 2, "replicas that operators move to another log directory of their broker")
REMOVED_DIRECTORIES = Bound("removed_directories", 0, 2, "log directories that operators take away from a broker which is down")

MIN_ISR = Bound("min_isr", 1, 4, "min.insync.replicas of the topic")
OTHER_MIN_ISR = Bound("other_min_isr", 1, 4, "what operators change min.insync.replicas to")
UNCLEAN = Bound("unclean", 0, 1, "1 if the topic has unclean.leader.election.enable at first")
ISR_SIZE = Bound("isr_size", 1, 4, "members of the first ISR: the first brokers; at most the number of first replicas")
SPARES = Bound("spares", 0, 3, "brokers that hold no replica at first: the last ones")
CACHE_AHEAD = Bound("cache_ahead", 0, 1, "1 if a broker's metadata cache and its replica take an image in two steps")


@dataclass
class PastEvents:
    """Past events that the properties need and that no part of Kafka keeps."""

    committed: list[StoredRecord] = field(SequenceOf(StoredRecord, RECORDS, "offset"))
    """Every entry that was ever below a leader's high watermark; an unclean election truncates it to the new leader's log."""
    unclean_epoch: int = field(LEADER_EPOCHS)
    """The leader epoch of the last unclean election, or -1. Entries that earlier leaders commit after it do not count."""
    origin: BrokerSet = field(SetOf(BROKERS))
    """The replicas before the reassignment that runs, or the last one."""
    target: BrokerSet = field(SetOf(BROKERS))
    """The replicas that operators asked for last: of the creation, a reassignment, or, after a cancellation, its origin."""


@dataclass
class KRaft:
    """The whole state."""

    controller: QuorumController = field(QuorumController, kept_by="controller")
    metadata: list[MetadataImage] = field(Queue(MetadataImage, LAG + 1))
    """The images that some running broker has not gone beyond, the newest last."""
    brokers: list[KRaftBroker] = field(PerBroker(KRaftBroker, BROKERS))
    fetches: list[FetchRequestInFlight] = field(Queue(FetchRequestInFlight, 1))
    spent: Spent = field(Counters())
    history: PastEvents = field(PastEvents)

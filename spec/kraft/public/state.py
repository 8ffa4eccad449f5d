"""The state of the public model: each variable of the TLA+ module that its other variables do not determine.

A log end offset is the length of the log plus 1, the controller's partition is the last record of its log, and a broker's metadata
log is a prefix of the controller's; so they need no fields. Offsets begin at 1, epochs and incarnations of broker b at b + 1; 0
is Nil. The messages that were processed are a variable there, and are counted.

Source: Vanlightly/kafka-tlaplus, kafka_data_replication/kraft/v3.5 (commit 823615e): v3_5_types.tla, network.tla.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from kafka_spec.spec.brokers import Broker, BrokerOrNone, PerBroker
from kafka_spec.spec.language.domain import Bound, BrokerSet, Counters, Flag, OneOf, Range, SequenceOf, SetOf, Spent, field, message

BROKERS = Bound("brokers", 1, 3, "brokers, each with a replica (BrokerCount, InitReplicationFactor)")
VALUES = Bound("values", 1, 1, "values that clients write, each at most once (Values); the public module is defined for one")
MIN_ISR = Bound("min_isr", 1, 3, "MinISR")
ISR_SIZE = Bound("isr_size", 1, 3, "members of the first ISR (InitIsrSize)")
LOSSES = Bound("losses", 0, 2, "brokers that stop and lose their log (UncleanShutdownLimit)")
FENCES = Bound("fences", 0, 2, "brokers that the controller fences (FenceBrokerLimit)")
SHRINKS = Bound("shrinks", 0, 2, "proposals that remove a member (LeaderShrinkIsrLimit)")
METADATA = Bound("metadata", 1, 20, "records of the metadata log")
IN_FLIGHT = Bound("in_flight", 1, 20, "messages in flight")
PROCESSED = Bound("processed", 1, 80, "different messages that were processed")

EPOCHS = Range(0, 15)
OFFSETS = Range(0, VALUES + 1)


class BrokerStatus(enum.IntEnum):
    """The life of a broker."""

    RUNNING = 0
    STARTING = 1
    OFFLINE = 2


class ReplicaStatus(enum.IntEnum):
    """What a replica does."""

    NOTHING = 0
    LEADS = 1
    FOLLOWS = 2


class MessageKind(enum.IntEnum):
    """The kinds of messages."""

    REGISTER = 0
    REGISTERED = 1
    ALTER = 2
    ALTERED = 3
    FETCH = 4
    FETCHED = 5


class PublicError(enum.IntEnum):
    """The errors of answers."""

    NOTHING = 0
    INELIGIBLE = 1
    FENCED_EPOCH = 2
    UNKNOWN_EPOCH = 3
    NOT_LEADER = 4


@message
@dataclass
class PublicMessage:
    """A message; fields that its kind does not have are 0. An answer to a proposal holds the proposal too."""

    kind: int = field(OneOf(MessageKind))
    broker: int = field(Broker(BROKERS))
    """The broker that sends a request, and receives its answer."""
    leader: int = field(BrokerOrNone(BROKERS))
    """The broker that is asked, in a fetch and its answer."""
    broker_epoch: int = field(EPOCHS)
    incarnation: int = field(EPOCHS)
    metadata_offset: int = field(Range(0, METADATA))
    isr: BrokerSet = field(SetOf(BROKERS))
    epochs: int = field(Range(0, 4095))
    """The broker epochs of a proposed ISR, four bits for each broker."""
    leader_epoch: int = field(EPOCHS)
    partition_epoch: int = field(EPOCHS)
    error: int = field(OneOf(PublicError))
    accepted: int = field(Flag())
    """Of a proposal that was accepted: the ISR is as proposed, and the partition epoch one larger."""
    fetch_offset: int = field(OFFSETS)
    last_epoch: int = field(EPOCHS)
    answered_epoch: int = field(EPOCHS)
    """In an answer to a fetch: the responder's leader epoch."""
    diverges: int = field(Flag())
    diverging_epoch: int = field(EPOCHS)
    diverging_end: int = field(OFFSETS)
    high_watermark: int = field(OFFSETS)
    value: int = field(Range(0, VALUES))
    """In an answer to a fetch: the value of the record, plus 1; 0 without a record."""
    value_epoch: int = field(EPOCHS)


@dataclass
class PublicRecord:
    """A record of a log."""

    value: int = field(Range(0, VALUES - 1))
    epoch: int = field(EPOCHS)


@dataclass
class PartitionChangeRecord:
    """A record of the metadata log: the whole partition."""

    leader: int = field(BrokerOrNone(BROKERS))
    leader_epoch: int = field(EPOCHS)
    partition_epoch: int = field(EPOCHS)
    isr: BrokerSet = field(SetOf(BROKERS))
    elr: BrokerSet = field(SetOf(BROKERS))
    """Eligible leader replicas; empty before KIP-966."""
    last_known_elr: BrokerSet = field(SetOf(BROKERS))


@dataclass
class PublicRegistration:
    """A broker at the controller."""

    unfenced: int = field(Flag())
    epoch: int = field(EPOCHS)
    incarnation: int = field(EPOCHS)


@dataclass
class PublicFetcher:
    """A broker's fetcher towards another broker."""

    added: int = field(Flag())
    """The partition is fetched."""
    fetch_offset: int = field(OFFSETS)
    last_epoch: int = field(EPOCHS)
    delayed: int = field(Flag())
    pending: int = field(Flag())


@dataclass
class PublicPeer:
    """What a leader knows of a follower."""

    end: int = field(OFFSETS)
    epoch: int = field(EPOCHS)


@dataclass
class PublicBroker:
    """A broker and its replica."""

    status: int = field(OneOf(BrokerStatus))
    epoch: int = field(EPOCHS)
    incarnation: int = field(EPOCHS)
    registered: int = field(Flag())
    known: int = field(Range(0, METADATA))
    """How much of the metadata log it has."""
    fetchers: list[PublicFetcher] = field(PerBroker(PublicFetcher, BROKERS))
    replica: int = field(OneOf(ReplicaStatus))
    hosted: int = field(Flag())
    """Its metadata names the replicas; otherwise it is blank."""
    isr: BrokerSet = field(SetOf(BROKERS))
    maximal_isr: BrokerSet = field(SetOf(BROKERS))
    leader: int = field(BrokerOrNone(BROKERS))
    leader_epoch: int = field(EPOCHS)
    partition_epoch: int = field(EPOCHS)
    log: list[PublicRecord] = field(SequenceOf(PublicRecord, VALUES, "offset"))
    high_watermark: int = field(Range(1, VALUES + 1))
    epoch_start: int = field(OFFSETS)
    peers: list[PublicPeer] = field(PerBroker(PublicPeer, BROKERS))
    pending_epoch: int = field(EPOCHS)
    pending: PublicMessage = field(PublicMessage)
    """The proposal of the pending epoch."""
    first_unacknowledged: int = field(OFFSETS)
    """Where this leader's writes begin (aux_flo); 0 if it wrote nothing."""


@dataclass
class PublicKRaft:
    """The whole state."""

    registrations: list[PublicRegistration] = field(PerBroker(PublicRegistration, BROKERS))
    metadata: list[PartitionChangeRecord] = field(SequenceOf(PartitionChangeRecord, METADATA))
    brokers: list[PublicBroker] = field(PerBroker(PublicBroker, BROKERS))
    messages: list[PublicMessage] = field(SetOf(PublicMessage, IN_FLIGHT))
    processed: list[PublicMessage] = field(SetOf(PublicMessage, PROCESSED))
    broker_epochs: int = field(EPOCHS)
    incarnations: int = field(EPOCHS)
    sent: int = field(SetOf(VALUES))
    acknowledged: int = field(SetOf(VALUES))
    refused: int = field(SetOf(VALUES))
    true_high_watermark: int = field(Range(1, VALUES + 1))
    consumed: list[PublicRecord] = field(SequenceOf(PublicRecord, VALUES))
    spent: Spent = field(Counters())

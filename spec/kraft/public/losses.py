"""The public model's unclean shutdown: a broker loses its log, and all messages of fetches from it and to it.

Source: Vanlightly/kafka-tlaplus, kafka_data_replication/kraft/v3.5: kafka_replication_v3_5.tla, v3_5_functions.tla.
"""

from __future__ import annotations

from kafka_spec.spec.decisions.variants import Checked
from kafka_spec.spec.kraft.public.brokers import forget_peers, forget_proposal
from kafka_spec.spec.kraft.public.controller import (
    CANDIDATE,
    REFERENCE,
    discard,
    fence,
    fenced_candidate_is_right,
    last,
)
from kafka_spec.spec.kraft.public.records import A_BROKER, end_of, tell_clients
from kafka_spec.spec.kraft.public.state import (
    LOSSES,
    BrokerStatus,
    MessageKind,
    PublicKRaft,
    PublicMessage,
    ReplicaStatus,
)
from kafka_spec.spec.language.domain import NO_BROKERS, copy_of, reset, singleton, truncate
from kafka_spec.spec.vocabulary.table import Constants, Rule


def is_not_offline(s: PublicKRaft, broker: int) -> bool:
    """The broker is not offline."""
    return s.brokers[broker].status != BrokerStatus.OFFLINE


def may_lose_its_log(s: PublicKRaft, k: Constants, broker: int) -> bool:
    """The last member of the ISR is spared, if the version does so (AvoidLastReplicaStanding)."""
    return k.last_replica_spared == Checked.NO or s.metadata[last(s)].isr != singleton(broker)


def drop_fetches(s: PublicKRaft, k: Constants, broker: int) -> None:
    """End the broker's fetch sessions: messages of fetches from it and to it are lost."""
    for other in range(k.brokers):
        reset(s.brokers[broker].fetchers[other])
        fetcher = s.brokers[other].fetchers[broker]
        if other != broker and fetcher.pending == 1:
            fetcher.pending = 0
            fetcher.delayed = fetcher.added


def first_fetch(s: PublicKRaft, broker: int) -> PublicMessage:
    """Return a message of a fetch from the broker or to it; a registration if there is none."""
    for m in s.messages:
        if (m.kind == MessageKind.FETCH or m.kind == MessageKind.FETCHED) and (m.broker == broker or m.leader == broker):
            return copy_of(m)
    return PublicMessage(kind=MessageKind.REGISTER)


def drop_messages(s: PublicKRaft, k: Constants, broker: int) -> None:
    """Take the messages of fetches from the broker and to it."""
    for _ in range(k.in_flight):
        m = first_fetch(s, broker)
        if m.kind != MessageKind.REGISTER:
            discard(s, m)


def lose_log(s: PublicKRaft, k: Constants, broker: int, candidate: int) -> None:
    """Stop without order: the log is lost, and the controller fences the broker at once."""
    drop_fetches(s, k, broker)
    drop_messages(s, k, broker)
    node = s.brokers[broker]
    if node.replica == ReplicaStatus.LEADS and node.high_watermark < end_of(s, broker):
        tell_clients(s, broker, node.high_watermark, end_of(s, broker) - 1, 0)
    node.status = BrokerStatus.OFFLINE
    node.epoch = 0
    node.incarnation = 0
    node.registered = 0
    node.replica = ReplicaStatus.NOTHING
    node.high_watermark = 1
    node.epoch_start = 0
    node.first_unacknowledged = 0
    truncate(s.brokers[broker].log, 0)
    forget_peers(s, k, broker, NO_BROKERS)
    forget_proposal(s, broker)
    fence(s, k, broker, candidate)


LOSE_LOG = Rule(
    "UncleanShutdown",
    actor="{broker}",
    kind="fault",
    params={**A_BROKER, **CANDIDATE},
    guards=(is_not_offline, may_lose_its_log, fenced_candidate_is_right),
    at_most=LOSSES,
    effects=(lose_log,),
    summary="{broker} stops without order and loses its log; the controller fences it",
    reference=REFERENCE,
)

RULES = (LOSE_LOG,)

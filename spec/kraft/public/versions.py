"""The public models of Kafka 3.5 in KRaft and of KIP-966, and versions with a conjunct left out."""

from __future__ import annotations

from kafka_spec.spec.decisions.variants import Checked
from kafka_spec.spec.kraft.public import brokers, controller, fetching, losses, proposals, records
from kafka_spec.spec.kraft.public.families import PUBLIC_KRAFT
from kafka_spec.spec.kraft.public.properties import PROPERTIES, RECOVERY_QUORUM
from kafka_spec.spec.kraft.public.state import ISR_SIZE, MIN_ISR, PublicKRaft, ReplicaStatus
from kafka_spec.spec.language.domain import append, contains, first_brokers
from kafka_spec.spec.vocabulary.table import Abstraction, Constants, Decision, Rule, Spec, anywhere


def isr_is_possible(k: Constants) -> bool:
    """The first ISR has at least MinISR members, and at most all brokers."""
    return k.min_isr <= k.isr_size and k.isr_size <= k.brokers


def begin(s: PublicKRaft, k: Constants) -> None:
    """All brokers run; the first leads; those outside the ISR are fenced, and have not heard of the ISR's last change."""
    isr = first_brokers(k.isr_size)
    epoch = 1 if k.isr_size == k.brokers else 2
    append(s.metadata, leader=0, leader_epoch=1, partition_epoch=epoch, isr=isr)
    for broker in range(k.brokers):
        member = contains(isr, broker)
        s.registrations[broker].unfenced = 1 if member == 1 else 0
        s.registrations[broker].epoch = broker + 1
        s.registrations[broker].incarnation = broker + 1
        node = s.brokers[broker]
        node.epoch = broker + 1
        node.incarnation = broker + 1
        node.registered = 1
        node.known = 1 if member == 1 else 0
        node.replica = ReplicaStatus.LEADS if broker == 0 else ReplicaStatus.FOLLOWS
        node.hosted = 1
        node.isr = isr if member == 1 else first_brokers(k.brokers)
        node.maximal_isr = node.isr
        node.leader = 0
        node.leader_epoch = 1
        node.partition_epoch = epoch if member == 1 else 1
        node.epoch_start = 1 if broker == 0 else 0
        if broker != 0:
            node.fetchers[0].added = 1
            node.fetchers[0].fetch_offset = 1
    s.broker_epochs = k.brokers
    s.incarnations = k.brokers + 1


START = Rule(
    "Init",
    actor="world",
    guards=(isr_is_possible,),
    effects=(begin,),
    summary="all brokers run, and broker 0 leads",
    reference=controller.REFERENCE,
)

V3_5 = Spec(
    "kraft/public_v3_5",
    "the public TLA+ model of Kafka 3.5 in KRaft (Vanlightly/kafka-tlaplus), restated",
    PublicKRaft,
    rules=(*brokers.RULES, *proposals.RULES, *records.RULES, *losses.RULES, *controller.RULES, *fetching.RULES),
    properties=PROPERTIES,
    start=START,
    more_bounds=(MIN_ISR, ISR_SIZE),
    decisions=(
        Decision("last_replica_spared", Checked.YES, "the last ISR member never loses its log (AvoidLastReplicaStanding)"),
        Decision("elr", Checked.NO, "eligible leader replicas (KIP-966)"),
        Decision("commits_need_min_isr", Checked.NO, "the high watermark moves only with MinISR members (KIP-966)"),
        Decision("epochs_compared", Checked.YES, "the controller compares the broker epochs of a proposal (IsEligibleBroker)"),
    ),
    abstractions=(
        Abstraction("orderly shutdowns and reassignment are left out", "the public counts that are compared have none"),
        Abstraction("one value", "the public module reads beyond a log where a second value is written to a leader alone"),
    ),
    bound_sets=PUBLIC_KRAFT,
    final=anywhere,  # the public modules spend their faults and stop; their counts were taken without the check
    reference="Vanlightly/kafka-tlaplus kraft/v3.5 at 823615e",
)

LAST_REPLICA = V3_5.replacing(
    "kraft/public_v3_5-last-replica-standing",
    "the public model of Kafka 3.5, where the last ISR member may lose its log",
    decisions={"last_replica_spared": Checked.NO},
)
WITHOUT_EPOCHS = V3_5.replacing(
    "kraft/public_v3_5-without-broker-epochs",
    "the public model of Kafka 3.5 without the comparison of broker epochs (KIP-903)",
    decisions={"epochs_compared": Checked.NO},
)

KIP_966 = V3_5.replacing(
    "kraft/public_kip_966",
    "the public TLA+ model of KIP-966 (Vanlightly/kafka-tlaplus), restated",
    decisions={"elr": Checked.YES, "commits_need_min_isr": Checked.YES, "last_replica_spared": Checked.NO},
    properties=(RECOVERY_QUORUM,),
    reference="Vanlightly/kafka-tlaplus kraft/kip-966 at 823615e",
)

COMMITS_BELOW = KIP_966.replacing(
    "kraft/public_kip_966-commits-below-min-isr",
    "the public model of KIP-966, where the high watermark moves below MinISR (KAFKA-15583)",
    decisions={"commits_need_min_isr": Checked.NO},
)

SPECS: tuple[Spec, ...] = (V3_5, LAST_REPLICA, WITHOUT_EPOCHS, KIP_966, COMMITS_BELOW)

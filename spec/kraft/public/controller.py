"""The public model's controller: registration, fencing, proposals of an ISR.

Source: Vanlightly/kafka-tlaplus, kafka_data_replication/kraft/v3.5: kafka_replication_v3_5.tla, v3_5_functions.tla.
"""

from __future__ import annotations

from kafka_spec.spec.brokers import Broker, BrokerOrNone
from kafka_spec.spec.decisions.variants import Checked
from kafka_spec.spec.kraft.public.state import (
    BROKERS,
    FENCES,
    BrokerStatus,
    MessageKind,
    PublicError,
    PublicKRaft,
    PublicMessage,
)
from kafka_spec.spec.language.domain import NO_BROKERS, NONE, BrokerSet, add, append, contains, excluding, remove, singleton, size
from kafka_spec.spec.vocabulary.table import Constants, ElementOf, Rule

REFERENCE = "Vanlightly/kafka-tlaplus kraft/v3.5"
A_MESSAGE = {"m": ElementOf("messages")}
CANDIDATE = {"candidate": BrokerOrNone(BROKERS)}
"""Any candidate may be elected; NONE where nobody is."""


def discard(s: PublicKRaft, m: PublicMessage) -> None:
    """Take a message: it was processed."""
    remove(s.messages, m)
    add(s.processed, m)


def last(s: PublicKRaft) -> int:
    """Return the place of the newest record of the metadata log."""
    return len(s.metadata) - 1


def is_candidate_for(s: PublicKRaft, k: Constants, isr: BrokerSet, broker: int, unfenced: int, fenced: int) -> bool:
    """The broker is in the ISR and unfenced, after one is unfenced (or NONE) and one fenced (or NONE)."""
    if contains(isr, broker) == 0 or broker == fenced:
        return False
    return broker == unfenced or s.registrations[broker].unfenced == 1


def somebody_is_candidate(s: PublicKRaft, k: Constants, isr: BrokerSet, unfenced: int, fenced: int) -> bool:
    """Some broker could lead."""
    for broker in range(k.brokers):
        if is_candidate_for(s, k, isr, broker, unfenced, fenced):
            return True
    return False


def leader_stays(s: PublicKRaft, k: Constants, isr: BrokerSet, elr: BrokerSet, unfenced: int, fenced: int) -> bool:
    """The leader can stay; or there is none, and nobody could lead. KIP-966 does not ask whether the leader is fenced."""
    leader = s.metadata[last(s)].leader
    if k.elr == Checked.YES:
        if leader == NONE:
            return isr == 0 and not somebody_is_candidate(s, k, elr, unfenced, fenced)
        return contains(isr, leader) == 1
    if leader == NONE:
        return not somebody_is_candidate(s, k, isr, unfenced, fenced)
    return is_candidate_for(s, k, isr, leader, unfenced, fenced)


def choice_is_right(
    s: PublicKRaft, k: Constants, isr: BrokerSet, elr: BrokerSet, unfenced: int, fenced: int, candidate: int
) -> bool:
    """The candidate is one that can be elected now, or NONE where nobody is elected."""
    if leader_stays(s, k, isr, elr, unfenced, fenced):
        return candidate == NONE
    if k.elr == Checked.YES and isr != 0:
        return candidate != NONE and contains(isr, max(candidate, 0)) == 1
    eligible = elr if k.elr == Checked.YES else isr
    if not somebody_is_candidate(s, k, eligible, unfenced, fenced):
        return candidate == NONE
    return candidate != NONE and is_candidate_for(s, k, eligible, max(candidate, 0), unfenced, fenced)


def change(s: PublicKRaft, k: Constants, leader: int, isr: BrokerSet, elr: BrokerSet, epochs: int) -> None:
    """Append a partition change to the metadata log; who leaves the ELR for good is remembered until the ISR is large enough."""
    old = s.metadata[last(s)]
    known = NO_BROKERS if size(isr) >= k.min_isr else old.last_known_elr | (old.elr & ~elr)
    append(
        s.metadata,
        leader=leader,
        leader_epoch=old.leader_epoch + epochs,
        partition_epoch=old.partition_epoch + 1,
        isr=isr,
        elr=elr,
        last_known_elr=known if k.elr == Checked.YES else NO_BROKERS,
    )


def update_partition(
    s: PublicKRaft, k: Constants, isr: BrokerSet, elr: BrokerSet, unfenced: int, fenced: int, candidate: int
) -> None:
    """Keep the leader and write ISR and ELR if they differ, or elect the candidate, who joins the ISR, or nobody."""
    if not leader_stays(s, k, isr, elr, unfenced, fenced):
        if candidate != NONE and isr == 0:
            change(s, k, candidate, singleton(candidate), excluding(elr, candidate), 1)
        else:
            change(s, k, candidate, isr, elr, 1)
    elif isr != s.metadata[last(s)].isr or elr != s.metadata[last(s)].elr:
        change(s, k, s.metadata[last(s)].leader, isr, elr, 0)


def isr_without(s: PublicKRaft, k: Constants, broker: int) -> BrokerSet:
    """Return the ISR without the broker; before KIP-966 its last member stays."""
    isr = s.metadata[last(s)].isr
    return isr if k.elr == Checked.NO and size(isr) == 1 else excluding(isr, broker)


def elr_with(s: PublicKRaft, k: Constants, isr: BrokerSet) -> BrokerSet:
    """Return the ELR beside this ISR: who left it since it fell below MinISR."""
    if k.elr == Checked.NO or size(isr) >= k.min_isr:
        return NO_BROKERS
    return s.metadata[last(s)].elr | (s.metadata[last(s)].isr & ~isr)


# ---------------------------------------------------------------------------------------------------------------------
# Registration and fencing


def is_registration(s: PublicKRaft, m: PublicMessage) -> bool:
    """It is a registration of a broker that is fenced, or of the same incarnation."""
    if m.kind != MessageKind.REGISTER:
        return False
    known = s.registrations[m.broker]
    return known.unfenced == 0 or known.incarnation == m.incarnation


def registers_uncleanly(k: Constants, m: PublicMessage) -> bool:
    """The broker does not tell the epoch of its former process: it may have lost its log (KIP-966)."""
    return k.elr == Checked.YES and m.broker_epoch == 0


def registered_candidate_is_right(s: PublicKRaft, k: Constants, m: PublicMessage, candidate: int) -> bool:
    """A partition without a leader may elect the broker; so may one that loses a member without order."""
    old = s.metadata[last(s)]
    if registers_uncleanly(k, m):
        return choice_is_right(s, k, excluding(old.isr, m.broker), excluding(old.elr, m.broker), m.broker, NONE, candidate)
    if old.leader != NONE:
        return candidate == NONE
    return choice_is_right(s, k, old.isr, old.elr, m.broker, NONE, candidate)


def register(s: PublicKRaft, k: Constants, m: PublicMessage, candidate: int) -> None:
    """Register the broker under the next broker epoch, unfenced; answer with the end of the metadata log."""
    offset = len(s.metadata)
    isr = s.metadata[last(s)].isr
    elr = s.metadata[last(s)].elr
    if registers_uncleanly(k, m):
        update_partition(s, k, excluding(isr, m.broker), excluding(elr, m.broker), m.broker, NONE, candidate)
    elif s.metadata[last(s)].leader == NONE:
        update_partition(s, k, isr, elr, m.broker, NONE, candidate)
    s.broker_epochs += 1
    s.registrations[m.broker].unfenced = 1
    s.registrations[m.broker].epoch = s.broker_epochs
    s.registrations[m.broker].incarnation = m.incarnation
    discard(s, m)
    add(
        s.messages,
        kind=MessageKind.REGISTERED,
        broker=m.broker,
        broker_epoch=s.broker_epochs,
        incarnation=m.incarnation,
        metadata_offset=offset,
    )


REGISTER = Rule(
    "ReceiveBrokerRegRequest",
    actor="controller",
    params={**A_MESSAGE, **CANDIDATE},
    guards=(is_registration, registered_candidate_is_right),
    effects=(register,),
    summary="the controller registers {m.broker}, unfenced",
    reference=REFERENCE,
)


def can_be_unfenced(s: PublicKRaft, broker: int) -> bool:
    """The broker is fenced, and runs."""
    return s.registrations[broker].unfenced == 0 and s.brokers[broker].status == BrokerStatus.RUNNING


def unfenced_candidate_is_right(s: PublicKRaft, k: Constants, broker: int, candidate: int) -> bool:
    """A partition without a leader may elect the broker; otherwise nobody is elected."""
    if s.metadata[last(s)].leader != NONE:
        return candidate == NONE
    return choice_is_right(s, k, s.metadata[last(s)].isr, s.metadata[last(s)].elr, broker, NONE, candidate)


def unfence(s: PublicKRaft, k: Constants, broker: int, candidate: int) -> None:
    """Unfence the broker."""
    if s.metadata[last(s)].leader == NONE:
        update_partition(s, k, s.metadata[last(s)].isr, s.metadata[last(s)].elr, broker, NONE, candidate)
    s.registrations[broker].unfenced = 1


UNFENCE = Rule(
    "UnfenceBroker",
    actor="controller",
    params={"broker": Broker(BROKERS), **CANDIDATE},
    guards=(can_be_unfenced, unfenced_candidate_is_right),
    effects=(unfence,),
    summary="the controller unfences {broker}",
    reference=REFERENCE,
)


def is_unfenced(s: PublicKRaft, broker: int) -> bool:
    """The broker is unfenced."""
    return s.registrations[broker].unfenced == 1


def fenced_candidate_is_right(s: PublicKRaft, k: Constants, broker: int, candidate: int) -> bool:
    """The candidate can lead instead of the broker, if it led; otherwise nobody is elected."""
    isr = isr_without(s, k, broker)
    return choice_is_right(s, k, isr, elr_with(s, k, isr), NONE, broker, candidate)


def fence(s: PublicKRaft, k: Constants, broker: int, candidate: int) -> None:
    """Fence the broker: it leaves the ISR, and leads no more."""
    isr = isr_without(s, k, broker)
    update_partition(s, k, isr, elr_with(s, k, isr), NONE, broker, candidate)
    s.registrations[broker].unfenced = 0


FENCE = Rule(
    "FenceBroker",
    actor="controller",
    kind="fault",
    params={"broker": Broker(BROKERS), **CANDIDATE},
    guards=(is_unfenced, fenced_candidate_is_right),
    at_most=FENCES,
    effects=(fence,),
    summary="the controller fences {broker}",
    reference=REFERENCE,
)

# ---------------------------------------------------------------------------------------------------------------------
# Proposals


def answer_to(
    s: PublicKRaft, k: Constants, broker: int, broker_epoch: int, partition_epoch: int, isr: BrokerSet, epochs: int
) -> int:
    """Return the controller's answer to a proposal."""
    partition = s.metadata[last(s)]
    if partition.leader != broker or s.registrations[broker].epoch != broker_epoch or partition.partition_epoch != partition_epoch:
        return PublicError.FENCED_EPOCH
    for member in range(k.brokers):
        if contains(isr, member) == 1:
            epoch = (epochs >> (4 * member)) & 15
            if s.registrations[member].unfenced == 0:
                return PublicError.INELIGIBLE
            if k.epochs_compared == Checked.YES and epoch != 0 and s.registrations[member].epoch != epoch:
                return PublicError.INELIGIBLE
    return PublicError.NOTHING


def is_proposal(m: PublicMessage) -> bool:
    """It is a proposal."""
    return m.kind == MessageKind.ALTER


def alter(s: PublicKRaft, k: Constants, m: PublicMessage) -> None:
    """Write the ISR, or refuse it, and answer."""
    error = answer_to(s, k, m.broker, m.broker_epoch, m.partition_epoch, m.isr, m.epochs)
    accepted = 1 if error == PublicError.NOTHING else 0
    if accepted == 1:
        change(s, k, m.broker, m.isr, elr_with(s, k, m.isr), 0)
    discard(s, m)
    add(s.messages, m, kind=MessageKind.ALTERED, error=error, accepted=accepted)


ALTER = Rule(
    "ReceiveAlterPartitionRequest",
    actor="controller",
    params=A_MESSAGE,
    guards=(is_proposal,),
    effects=(alter,),
    summary="the controller answers the proposal of {m.broker}",
    reference=REFERENCE,
)

RULES = (REGISTER, ALTER, FENCE, UNFENCE)

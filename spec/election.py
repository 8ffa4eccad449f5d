"""Who leads, who is in sync, and who must be told: Kafka's leader election strategies and the first leader.

Pure functions of the language of spec/lint.py, for every model and for the implementation. An *assignment* is the ordered sequence
of the brokers that hold a partition, the preferred one first; sets of brokers are bit masks. Each strategy returns (leader,
ISR, recipients); the leader is `NONE` where nobody can be elected, and then the rest means nothing. The order of the ISR, which
Kafka keeps as a list, decides nothing and is left out.

Source: Kafka 2.8 Election.scala and PartitionLeaderElectionAlgorithms (PartitionStateMachine.scala:522-547).
"""

from __future__ import annotations

from typing import Protocol

from kafka_spec.spec.domain import NONE, contains, including, only


class Brokers(Protocol):
    """An ordered sequence of broker numbers."""

    def __len__(self) -> int: ...
    def __getitem__(self, place: int, /) -> int: ...


def first_of(assignment: Brokers, candidates: int) -> int:
    """Return the first assigned broker among the candidates, or NONE."""
    for place in range(len(assignment)):
        if contains(candidates, assignment[place]) == 1:
            return assignment[place]
    return NONE


def members(assignment: Brokers) -> int:
    """Return the assigned brokers as a set."""
    brokers = 0
    for place in range(len(assignment)):
        brokers = including(brokers, assignment[place])
    return brokers


def unclean_election_is_permitted(isr: int, live: int, asked: int, configured: int) -> int:
    """1 if a broker outside the ISR may lead: never while some member of the ISR is live.

    Otherwise where an operator asked for it, or the topic's unclean.leader.election.enable says so.
    Kafka 2.8: PartitionStateMachine.collectUncleanLeaderElectionState.
    """
    if isr & live != 0:
        return 0
    return asked | configured


def elect_offline(assignment: Brokers, live: int, isr: int, unclean: int) -> tuple[int, int, int]:
    """Elect for a partition whose leader is dead: the first assigned broker that is live and in the ISR.

    Where there is none and `unclean` permits, the first that is live, which then is the whole ISR.
    Kafka 2.8: Election.leaderForOffline.
    """
    told = members(assignment) & live
    leader = first_of(assignment, live & isr)
    if leader != NONE:
        return leader, isr & live, told
    if unclean == 1:
        leader = first_of(assignment, live)
        if leader != NONE:
            return leader, only(leader), told
    return NONE, isr, 0


def elect_reassigned(target: Brokers, live: int, isr: int) -> tuple[int, int, int]:
    """Elect for a partition that moves to the target brokers: the first of them that is live and in the ISR.

    Kafka 2.8: Election.leaderForReassign.
    """
    return first_of(target, live & isr), isr, members(target)


def elect_preferred(assignment: Brokers, live: int, isr: int) -> tuple[int, int, int]:
    """Elect the first assigned broker, if it is live and in the ISR, and nobody else.

    Kafka 2.8: Election.leaderForPreferredReplica.
    """
    if len(assignment) > 0 and contains(live & isr, assignment[0]) == 1:
        return assignment[0], isr, members(assignment)
    return NONE, isr, 0


def elect_controlled_shutdown(assignment: Brokers, live: int, stopping: int, isr: int) -> tuple[int, int, int]:
    """Elect in place of brokers that are shutting down: the first assigned that is live, in the ISR, and stays.

    `live` is the live brokers without those that shut down, `stopping` those that do. These leave the ISR, and are told: who led
    until now must hear that it leads no more (KAFKA-7482). Kafka 2.8: Election.leaderForControlledShutdown.
    """
    told = members(assignment) & (live | stopping)
    return first_of(assignment, live & isr & ~stopping), isr & ~stopping, told


def first_leader_and_isr(assignment: Brokers, live: int) -> tuple[int, int, int]:
    """Choose for a new partition: the first assigned broker that is live leads, and all that are live are the ISR.

    Only the ISR is told. Kafka 2.8: PartitionStateMachine.initializeLeaderAndIsrForPartitions.
    """
    isr = members(assignment) & live
    return first_of(assignment, live), isr, isr


def leader_without(leader: int, broker: int) -> int:
    """Return who leads once the broker is gone: nobody, if it led. Kafka 2.8: ReplicaStateMachine.doRemoveReplicasFromIsr."""
    return NONE if leader == broker else leader


def isr_without(isr: int, broker: int, keep_last: int) -> int:
    """Return the ISR once the broker is gone: where `keep_last` is 1, a last member stays (KAFKA-5083).

    Kafka 2.8: ReplicaStateMachine.doRemoveReplicasFromIsr.
    """
    if keep_last == 1 and isr == only(broker):
        return isr
    return isr & ~only(broker)

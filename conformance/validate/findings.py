"""The kinds of violations in a log of a ZooKeeper-era cluster: the statement that each breaks, known bugs that look like it.

Refers by name to bugs in spec/zookeeper/cases/ and to guards, effects and gates; a test checks that they exist.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from kafka_spec.conformance.outcome.violations import Kind

READ, SEEN, TRACE, BEGUN, UNTIL = "read", "seen", "trace", "begun", "until"
"""Needs: every line is read; some transition is seen; controllers log at TRACE; the beginning of each epoch, and its end."""
CONTROLLER, BROKER, ELECTION, ENDED = "controller", "broker", "election", "ended"
"""Needs: the log of each controller epoch; of each broker; a controller.log with its election; what has begun is finished."""
OF_CONTROLLER = (READ, CONTROLLER)
OF_STATES = (READ, CONTROLLER, SEEN, TRACE)
OF_BROKER = (READ, BROKER)
OF_REQUESTS = (READ, CONTROLLER, BROKER, TRACE, BEGUN, UNTIL)


@dataclass(frozen=True)
class LogKind(Kind):
    """A kind of violation of these logs."""

    needs: tuple[str, ...] = OF_CONTROLLER
    """What must have been seen before the property can be judged."""


KINDS = {
    "illegal-transition": LogKind("every transition is a row of its table", "the rows of the machine", needs=OF_STATES),
    "discontinuity": LogKind(
        "a transition leaves the state that the one before has entered", "fire: the source is the current state", needs=OF_STATES
    ),
    "impossible-seed": LogKind(
        "what a controller has not moved yet is unknown or as a start-up seeds it",
        "the initialisation rows",
        needs=(*OF_STATES, BEGUN),
    ),
    "snapshot-differs": LogKind(
        "the machines start in states that their transitions led to", "the initialisation rows", needs=(*OF_STATES, BEGUN, ELECTION)
    ),
    "leader-outside-isr": LogKind("a leader is in its ISR", "LeaderInIsr", ("KAFKA-708",)),
    "isr-outside-replicas": LogKind("a leader and its ISR are among the replicas", "LeaderInIsr, IsrInAssignment"),
    "empty-isr": LogKind("an ISR is never empty", "IsrNeverEmpty", ("KAFKA-5083", "KAFKA-708")),
    "wrong-creation": LogKind(
        "a partition starts at leader epoch 0 and version 0, led by its first live replica, with all live ones as ISR",
        "create_state_znode, election.first_leader_and_isr",
    ),
    "leader-epoch-back": LogKind(
        "an election and a removal raise the leader epoch, and nothing lowers it",
        "EpochsNeverGoBack",
        ("KAFKA-6082-unfenced-writes",),
    ),
    "version-back": LogKind(
        "a write raises the version of the state znode, and nothing lowers it", "EpochsNeverGoBack", ("KAFKA-6082-unfenced-writes",)
    ),
    "wrong-removal": LogKind(
        "a replica that leaves the ISR is neither in it nor leads any more; a last member stays",
        "election.leader_and_isr_without",
        ("KAFKA-708",),
    ),
    "two-leaders": LogKind(
        "a leader epoch has one leader",
        "OneLeaderInEachEpoch",
        ("KAFKA-6082-unfenced-writes", "KAFKA-532"),
        needs=(READ, CONTROLLER, BROKER),
    ),
    "two-contents": LogKind(
        "a version of the state znode has one content: leader, leader epoch and ISR",
        "the writes of the state znode: each raises its version",
        ("KAFKA-6082-unfenced-writes",),
        needs=(READ, CONTROLLER, BROKER),
    ),
    "two-controllers": LogKind(
        "a controller epoch has one controller",
        "OneControllerInEachEpoch",
        ("KAFKA-1096", "KAFKA-6082-two-step-election"),
        needs=(READ, CONTROLLER, BROKER),
    ),
    "missing-request": LogKind(
        "what a row sends is sent in its batch, to all that are registered",
        "the effects of the row",
        ("KAFKA-1188", "KAFKA-7482", "stopping-leader-not-told"),
        needs=(*OF_STATES, ENDED),
    ),
    "request-without-row": LogKind(
        "a LeaderAndIsr is sent by a row or a reassignment, a StopReplica that deletes by a row",
        "the effects of the rows",
        needs=OF_STATES,
    ),
    "request-lost": LogKind(
        "a channel delivers requests in order, and none between two that arrived is missing",
        "the channel: FIFO",
        ("KAFKA-1738",),
        needs=OF_REQUESTS,
    ),
    "request-never-sent": LogKind(
        "a broker receives what the controller of that epoch has sent", "the channel: FIFO", needs=OF_REQUESTS
    ),
    "told-otherwise": LogKind(
        "a broker becomes what its request said: leader or follower, at the leader epoch and with the ISR of the request",
        "BecomeLeader, BecomeFollower",
        needs=(*OF_BROKER, TRACE),
    ),
    "stale-controller-accepted": LogKind(
        "a broker refuses requests of a controller epoch older than one it has seen",
        "gates.answer_to_request",
        ("KAFKA-532", "expired-session-reads"),
        needs=OF_BROKER,
    ),
    "stale-leader-epoch-accepted": LogKind(
        "a broker takes a LeaderAndIsr with a larger leader epoch only",
        "gates.answer_to_leader_and_isr",
        ("KAFKA-7235-former-incarnation",),
        needs=OF_BROKER,
    ),
    "stale-stop-accepted": LogKind(
        "a broker refuses a StopReplica with an older leader epoch",
        "gates.answer_to_stop_replica",
        ("KAFKA-9539",),
        needs=OF_BROKER,
    ),
    "wrong-refusal": LogKind(
        "a broker refuses only what a gate refuses", "the gates of spec/decisions/fencing.py", ("KAFKA-13972",), needs=OF_BROKER
    ),
    "metadata-back": LogKind(
        "the metadata that one controller sends to a broker does not go back",
        "EpochsNeverGoBack",
        ("KAFKA-6082-unfenced-writes",),
        needs=OF_BROKER,
    ),
}
"""The kinds by name, in the order of a report."""


class Refusal(NamedTuple):
    """A change that a controller attempted and correctly refused itself."""

    machine: str
    source: int
    target: int
    legal: bool

"""The kinds of violations of a metadata log, beside the properties of spec/kraft: each with what must hold instead."""

from __future__ import annotations

from collections.abc import Mapping

from kafka_spec.conformance.outcome.violations import Kind
from kafka_spec.spec.kraft.properties.safety import SAFETY

BUG_ACTS, UNEXPLAINED, SNAPSHOT_DIFFERS, VOTERS_DIFFER = "bug-acts", "unexplained", "snapshot-differs", "snapshot-voters-differ"
TWO_LEADERS, VOTES_TWICE, EPOCH_BACK = "two-leaders-in-an-epoch", "votes-twice-in-an-epoch", "epoch-of-controller-back"
ROLE_WITHOUT_ROW, LEADER_DIFFERS = "wrong-change-of-role", "leader-differs-from-log"
FORMATTED_AGAIN = ("voter-formatted-again",)
"""The mistake of an operator after which a controller knows nothing of its votes."""
LEADER_BUGS = (
    *("voters-configured-from-one-to-three", "formatted-with-other-voters", "voters-skipped-after-truncation"),
    *FORMATTED_AGAIN,
)
"""The bugs of the quorum, and mistakes of its operators, that let two controllers lead."""
VOTER_BUGS = ("voters-dropped-by-snapshot", "voters-skipped-after-truncation", "voters-of-lost-log-stay")
"""The bugs of the quorum that write snapshots with other voters."""
LOG_KINDS: Mapping[str, Kind] = {
    UNEXPLAINED: Kind("each record is a step of an event of the model", "the events of spec/kraft"),
    "cause-differs": Kind("the controller's own log names the operation that an event is", "the explanations of the validator"),
    BUG_ACTS: Kind("no known bug acts on a record", "the cases of spec/kraft"),
    "refers-to-nothing": Kind("a record refers to what the log before it has", "ReplicationControlManager.replay"),
    "unreadable-record": Kind("each record is of a kind and version of Kafka 3.3 to 4.4", "MetadataRecordSerde"),
    "offsets-jump": Kind("offsets follow each other", "the log of the quorum"),
    "wrong-transaction": Kind("a transaction of the log begins once, and then ends or is aborted", "KIP-868"),
    "leader-epoch-of-quorum-back": Kind("the epoch of the quorum's leader never decreases in the log", "KIP-595"),
    "wrong-leader-change": Kind("an epoch of the quorum begins with the change of its leader", "KIP-595"),
    SNAPSHOT_DIFFERS: Kind(
        "a snapshot holds the image of the log before its end", "Kafka 3.9 MetadataImage", ("removed-configuration-stays",)
    ),
    VOTERS_DIFFER: Kind("a snapshot has the voters of the log before its end", "SnapshotsHaveVoters (KIP-853)", VOTER_BUGS),
    "nodes-differ": Kind(
        "what two nodes have of the log is equal, but for a tail that was never committed", "KIP-595: log matching"
    ),
    "epoch-checkpoint-differs": Kind(
        "leader-epoch-checkpoint has the first offset of each epoch in the log", "LeaderEpochFileCache"
    ),
    "quorum-state-differs": Kind("quorum-state has the newest epoch that the log knows, or a later one", "FileQuorumStateStore"),
    TWO_LEADERS: Kind("an epoch of the quorum has one leader, by what all controllers log", "OneLeaderInEachEpoch", LEADER_BUGS),
    VOTES_TWICE: Kind(
        "a controller votes for one candidate in an epoch", "QuorumState.transitionToUnattachedVotedState", FORMATTED_AGAIN
    ),
    EPOCH_BACK: Kind("a controller's epoch never goes back, also when it starts again", "FileQuorumStateStore", FORMATTED_AGAIN),
    ROLE_WITHOUT_ROW: Kind("a controller's role changes by a row of its table", "the rows of Quorum"),
    LEADER_DIFFERS: Kind("the leader of an epoch is the controller that wrote it in the metadata log", "KIP-595"),
    "broker-epoch": Kind(
        "a registration has a larger broker epoch than any before, and one that is not an offset after its record",
        "OneEpochForEachProcess; Kafka 3.9 ClusterControlManager.registerBroker",
    ),
    "registered-unfenced": Kind("a new process is fenced when it registers", "the row `register` of Registration"),
    "wrong-registration": Kind("the state of a registration changes by a row of its table", "the rows of Registration"),
    "joins-inactive": Kind("a broker joins an ISR only while it is active", "alter_partition.is_eligible (KIP-841)"),
    "unmarked-unclean-election": Kind(
        "a leader from outside the ISR and the ELR is marked as recovering", "partition_change.recovery_after (KIP-704)"
    ),
    "too-few-candidates": Kind(
        "with eligible leader replicas, ISR and ELR together keep min.insync.replicas members, unless one lost its records",
        "ReassignmentKeepsCandidates; partition_change.target_elr (KIP-966)",
    ),
    "wrong-directories": Kind("a partition has a directory for each replica", "KIP-858"),
    "wrong-order-of-removal": Kind("replicas that are removed come last, in ascending order", "PartitionReassignmentReplicas"),
    "twice": Kind("no list names a broker twice", "PartitionRegistration"),
    "wrong-beginning": Kind(
        "a partition starts with leader epoch 0 and partition epoch 0", "ReplicationControlManager.createTopic"
    ),
}
"""The kinds that only a log can show."""

KINDS: Mapping[str, Kind] = {**LOG_KINDS, **{one.name: Kind(one.summary, one.name) for one in SAFETY}}
"""All kinds by name, in the order of a report."""

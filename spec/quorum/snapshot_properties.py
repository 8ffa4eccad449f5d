"""The properties of snapshots: each has the voters of its batches, and a follower that is sent one can load it."""

from __future__ import annotations

from kafka_spec.spec.quorum.logs import voters_in_log
from kafka_spec.spec.quorum.replication import follows_leader_of_epoch
from kafka_spec.spec.quorum.snapshots import its_leader_sends_snapshot, loads_snapshot
from kafka_spec.spec.quorum.state import MetadataQuorum
from kafka_spec.spec.vocabulary.table import Constants, Property, invariant


def a_node_has_snapshot(s: MetadataQuorum, k: Constants) -> bool:
    """A node has a snapshot."""
    return any(s.nodes[node].snapshot > 0 for node in range(k.nodes))


def snapshots_have_voters(s: MetadataQuorum, k: Constants) -> bool:
    """The voters in a node's newest snapshot are the last in the batches that it stands for, or those of its formatting."""
    for node in range(k.nodes):
        mine = s.nodes[node]
        if mine.snapshot > 0 and mine.snapshot_voters != voters_in_log(s, node, mine.snapshot):
            return False
    return True


def is_sent_its_leaders_snapshot(s: MetadataQuorum, node: int) -> bool:
    """A node fetches from a leader that answers with a snapshot."""
    return follows_leader_of_epoch(s, node) and its_leader_sends_snapshot(s, node)


def a_snapshot_is_sent(s: MetadataQuorum, k: Constants) -> bool:
    """A leader answers a fetch with a snapshot."""
    return any(is_sent_its_leaders_snapshot(s, node) for node in range(k.nodes))


def snapshots_are_loaded(s: MetadataQuorum, k: Constants) -> bool:
    """A follower that is sent a snapshot can load it."""
    return all(loads_snapshot(s, k, node) for node in range(k.nodes) if is_sent_its_leaders_snapshot(s, node))


PROPERTIES: tuple[Property, ...] = (
    invariant(
        "SnapshotsHaveVoters",
        snapshots_have_voters,
        "a snapshot has the voters that the batches have for which it stands",
        "KIP-630; KIP-853",
        when=a_node_has_snapshot,
    ),
    invariant(
        "SnapshotsAreLoaded",
        snapshots_are_loaded,
        "a follower that is sent a snapshot can load it; else its process ends, now and after each start",
        "Kafka 4.3 KafkaRaftClient.handleFetchSnapshotResponse",
        when=a_snapshot_is_sent,
    ),
)

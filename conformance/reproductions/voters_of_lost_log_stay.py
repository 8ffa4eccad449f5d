"""FINDINGS, voters-of-lost-log-stay, on three real controllers of Kafka 4.1.2 or 4.4.0, with a proxy before each.

As in voters_skipped_after_truncation, but the second leader writes a snapshot after each commit, and deletes the log before it.
Controller 1 comes back with a longer log, which the snapshot replaces, and keeps the voters of that log: for it all three are
voters. The leader is cut off; controller 1 stands, and the third, which knows only of the first change, votes for it. Two leaders
commit, and a setting that was acknowledged is lost.

    python -m kafka_spec.conformance.reproductions.voters_of_lost_log_stay --kafka 4.4.0
"""

from __future__ import annotations

from kafka_spec.conformance.reproductions.controller_quorum import ControllerQuorum
from kafka_spec.conformance.reproductions.real_cluster import show_on_release
from kafka_spec.conformance.reproductions.voters_skipped_after_truncation import EAGER, FIRST, PATIENT, two_leaders
from kafka_spec.impl.kraft.quorum.snapshots import QuorumSnapshots

SNAPSHOTS = {
    "metadata.log.max.record.bytes.between.snapshots": 1,
    "metadata.max.retention.bytes": 1,
    "metadata.max.idle.interval.ms": 0,
}
"""A snapshot after each commit, of which the cleaner, once a minute, keeps one; no no-ops."""
CLEANED = 150
"""Seconds in which the cleaner deletes what is before the newest snapshot."""


def finding(version: str) -> bool:
    """Make it happen; return whether two leaders commit different batches at one offset."""
    return two_leaders(version, EAGER, {**PATIENT, **SNAPSHOTS}, wait_for_cleaner)


def wait_for_cleaner(quorum: ControllerQuorum, leader: int) -> None:
    """Wait until the log of the leader begins at a snapshot, which ends below that of the first."""
    folder = quorum.brokers.data(leader) / "__cluster_metadata-0"

    def begins_at_snapshot() -> bool:
        known = QuorumSnapshots(folder)
        return known.earliest == known.newest and known.end > 0

    quorum.wait(f"the log of controller {leader} begins at a snapshot", begins_at_snapshot, seconds=CLEANED)
    end = QuorumSnapshots(folder).end
    quorum.say(f"the snapshot ends at offset {end}, the log of controller {FIRST} at {quorum.log_end(FIRST)}")


if __name__ == "__main__":
    show_on_release(finding, __doc__)

"""The named decisions of Kafka with ZooKeeper, and of both worlds, as values of `k`: what differs between eras, and the bugs.

election.py, log.py and gates.py take them as arguments. The first member of each is the value in `fixed`. Each member states the
versions of Kafka that it applies to.
"""

from __future__ import annotations

import enum


class Checked(enum.IntEnum):
    """Whether a value is checked before it is accepted."""

    YES = 1
    NO = 0


class ControllerElection(enum.IntEnum):
    """How a broker becomes the controller."""

    ONE_MULTI = 0
    """/controller and the next controller epoch are written by one multi (2.1, KAFKA-6082)."""
    TWO_STEPS = 1
    """/controller is created first; the epoch is read and written later (up to 2.0)."""


class GivingUp(enum.IntEnum):
    """How a controller that gives up deletes /controller."""

    FENCED = 0
    """Only while its epoch is the newest (2.1, KAFKA-6082)."""
    UNCONDITIONAL = 1
    """Even if another controller owns it by then (up to 2.0)."""


class EpochWatch(enum.IntEnum):
    """What an old controller does when it sees /controller_epoch change."""

    IGNORED = 0
    """It keeps the epoch it was elected with (0.8.2, KAFKA-1096)."""
    ADOPTED = 1
    """It continues under the new epoch (up to 0.8.1)."""


class LastIsrMember(enum.IntEnum):
    """What happens to the last member of an ISR when its broker dies."""

    KEPT = 0
    """It stays in the ISR, without a leader (1.1, KAFKA-5083)."""
    DROPPED_IF_UNCLEAN = 1
    """It leaves if unclean election is enabled (0.8.2 to 1.0)."""
    DROPPED = 2
    """It leaves, and is still named as the leader (up to 0.7, KAFKA-708)."""


class ShrinkRecipients(enum.IntEnum):
    """The recipients of LeaderAndIsr when a dead replica has left the ISR."""

    ALL_REPLICAS = 0
    """All other replicas (0.8.2, KAFKA-1188)."""
    LEADER_ONLY = 1
    """The leader alone (up to 0.8.1)."""


class ShutdownRecipients(enum.IntEnum):
    """The recipients of LeaderAndIsr when a broker that shuts down has lost its leadership."""

    LIVE_OR_STOPPING = 0
    """The live replicas and the one that shuts down (up to 1.0; again since 2.1, KAFKA-7482)."""
    LIVE = 1
    """The live replicas, without the one that shuts down (1.1 to 2.0)."""


class OfflineLeaders(enum.IntEnum):
    """Which leaders a controller considers lost when a broker fails, so that it elects another."""

    NOT_ONLINE = 0
    """Those that are dead, and those that shut down (1.0 to 3.9)."""
    DEAD = 1
    """Those that are dead (up to 0.11)."""


class OfflineRecipients(enum.IntEnum):
    """The recipients of LeaderAndIsr when a partition whose leader was dead, or shuts down, has another."""

    LIVE_OR_STOPPING = 0
    """The live replicas and those that shut down: no version up to 3.9 does it; the checker found that it is needed."""
    LIVE = 1
    """The live replicas, without a leader that shuts down and is replaced by this election (0.8.2 to 3.9)."""


class DeadReplicas(enum.IntEnum):
    """What a new controller does with replicas whose brokers are dead."""

    TAKEN_OFFLINE = 0
    """It takes them offline, out of the ISR (2.3, KAFKA-3143)."""
    IGNORED = 1
    """They stay as they were seeded (up to 2.2)."""


class BadVersionHandling(enum.IntEnum):
    """What a leader does when its ISR write finds another version of the znode."""

    READ_BACK = 0
    """It reads the znode, and treats the write as successful if the znode has the new content (0.8.2, KAFKA-1382)."""
    SKIPPED = 1
    """It skips the write and keeps its version (up to 0.8.1)."""


class RefusedIsrWrite(enum.IntEnum):
    """What a leader does after an ISR write that was refused since the znode has another version."""

    KEPT_PENDING = 0
    """Both ISRs count, and no other change is tried, until the next LeaderAndIsr (2.8 to 3.9; 2.7 only through the controller)."""
    DROPPED = 1
    """It continues with the ISR that it had (up to 2.7 through ZooKeeper)."""


class FollowerEnds(enum.IntEnum):
    """What a broker that becomes leader knows of its followers' log ends."""

    FORGOTTEN = 0
    """Nothing: only fetches of this leader epoch count (up to 0.8.2)."""
    KEPT_IF_LEADER = 1
    """Nothing, unless it believes that it led before: then what fetches of its earlier leader epoch said (0.9 to 3.9)."""


class Truncation(enum.IntEnum):
    """Where a new follower truncates its log."""

    DIVERGENCE = 0
    """Where it diverges from its leader's log, found by comparing epochs (2.0, KIP-279)."""
    HIGH_WATERMARK = 1
    """At its own high watermark (up to 0.10)."""


class FollowerSkip(enum.IntEnum):
    """When a follower that applies a LeaderAndIsr keeps its log and its fetcher unchanged."""

    SAME_EPOCH = 0
    """When leader and leader epoch are the same (2.1). Such a request is refused before, so it never happens."""
    SAME_LEADER = 1
    """When the leader is the same, whatever happened between (up to 2.0.0, KAFKA-7164). 2.0.1 skips the next leader epoch too."""


class StopReplicaEpoch(enum.IntEnum):
    """Which leader epochs of a StopReplica are accepted."""

    AT_LEAST = 0
    """The replica's or a larger one (3.5, KAFKA-13972)."""
    LARGER = 1
    """A larger one (2.6 to 3.4, KIP-570)."""
    NONE = 2
    """Any: the request has none (up to 2.5)."""


class LeaderlessReplicas(enum.IntEnum):
    """What a controller does with a replica that has to go offline while leader and ISR of its partition are unknown."""

    TAKEN_OFFLINE = 0
    """It takes it offline (2.0, KAFKA-6650)."""
    STUCK = 1
    """Nothing: the replica stays as it is, and the deletion of its topic never starts (up to 1.1)."""


class AnswersCounted(enum.IntEnum):
    """Which answers of brokers a controller counts while it deletes a topic."""

    DELETIONS = 0
    """Those to a StopReplica with delete (2.6, KAFKA-9946)."""
    ALL = 1
    """Those to any StopReplica of the topic (no release: it was fixed before 2.6)."""


class LateAnswers(enum.IntEnum):
    """What happens to the answer of a broker that a controller has received and not handled, when it removes the broker."""

    DROPPED = 0
    """It is dropped. No version up to 3.9 does it; the checker found that it is needed."""
    COUNTED = 1
    """It counts, although it comes from an earlier process of the broker (0.8.2 to 3.9)."""


class FailedDeletions(enum.IntEnum):
    """What a controller does when a broker that is live answers that it could not delete a replica."""

    RETRIED = 0
    """It asks again. No version up to 3.9 does it; the checker found that it is needed."""
    HALTED = 1
    """It waits until a broker of the topic starts, a reassignment ends, or another controller takes over (0.8.2 to 3.9)."""


class IneligibleNames(enum.IntEnum):
    """Whether a controller forgets that a topic was ineligible for deletion when it has deleted it."""

    FORGOTTEN = 0
    """Yes. No version up to 3.9 does it; the checker found that it is needed."""
    KEPT = 1
    """No: a topic that is created under the same name is ineligible as soon as it is queued (0.8.2 to 3.9)."""


class DeletionThread(enum.IntEnum):
    """The actors that consider the deletion of a topic."""

    NONE = 0
    """The event that gives reason to it (1.1)."""
    RUNS = 1
    """A thread, which is woken, and runs when the controller handles no event (0.8.2 to 1.0)."""


class CreationDuringDeletion(enum.IntEnum):
    """Whether a topic can be created while the deletion of the one before it is not complete."""

    REFUSED = 0
    """No: /admin/delete_topics must not name it (3.1, KAFKA-13175)."""
    ALLOWED = 1
    """As soon as its znode is gone (0.8.2 to 3.0)."""


class AddedDuringDeletion(enum.IntEnum):
    """What a controller does with partitions that are added to a topic that is queued for deletion."""

    REFUSED = 0
    """It writes the assignment without them to the topic znode (2.0, KAFKA-6612)."""
    SKIPPED = 1
    """It leaves them there and does not know them; the next controller does (up to 1.1)."""


class DeletionOfReassigned(enum.IntEnum):
    """When a controller deletes a topic that is being reassigned."""

    AFTERWARDS = 0
    """When the reassignment has ended. No version up to 3.9 does it; the checker found that it is needed."""
    AT_ONCE = 1
    """At once, and it never forgets that the topic is being reassigned (0.8.2 to 3.9)."""


class Reassignment(enum.IntEnum):
    """Where ZooKeeper holds a reassignment that runs."""

    KIP_455 = 0
    """In the topic znode, which names the replicas that are added and removed; /admin/reassign_partitions is read too (2.4)."""
    ENLARGED_ASSIGNMENT = 1
    """In /admin/reassign_partitions; the topic znode names all replicas, old and new (up to 2.3)."""


class EndOfReassignment(enum.IntEnum):
    """When a reassignment that ends makes the target all replicas, for the controller and for the leader."""

    ANNOUNCED = 0
    """Before the other replicas leave: a leader that stays is informed under a new leader epoch (0.8.1, KAFKA-1097)."""
    AFTERWARDS = 1
    """After they have left, and nobody is informed (0.8.0)."""


class BumpedEpoch(enum.IntEnum):
    """Whether a controller remembers a leader epoch that it wrote without another change."""

    CACHED = 0
    """It does (2.4.1 and 2.5, KAFKA-9212)."""
    FORGOTTEN = 1
    """It sends it once, and later the one before (up to 2.4.0)."""


class ReplacedReassignment(enum.IntEnum):
    """What happens to the replicas that a reassignment had added when another target, or its origin, takes the target's place."""

    KEPT_TO_THE_END = 0
    """They leave at the end, with the others outside the new target: no version up to 3.9; the checker found that it is needed."""
    DROPPED_AT_ONCE = 1
    """They are stopped and deleted before the leader learns of it, even if no other replica is in sync (2.4 to 3.9)."""


class LostTarget(enum.IntEnum):
    """What a controller does if the target has left the ISR again when it is about to end a reassignment."""

    AWAITED = 0
    """It waits again: no version up to 3.9; the checker found that it is needed."""
    IGNORED = 1
    """It continues, and deletes the replicas outside the target, also those that alone are in sync (up to 3.9)."""


class RemovedFromZnode(enum.IntEnum):
    """What is left in /admin/reassign_partitions when a partition leaves it."""

    PARTITION = 0
    """All other partitions that the znode names."""
    ALL_NOT_BEGUN = 1
    """Those whose reassignment this controller has begun: what it has read and not begun is dropped (KAFKA-6193)."""


class OlderPlans(enum.IntEnum):
    """When a partition leaves /admin/reassign_partitions for which the API asks for another target."""

    REMOVED_FIRST = 0
    """Before the newer request begins: a controller that takes over finds no older one (2.4)."""
    REMOVED_AT_END = 1
    """When the newer one ends: a controller that takes over before goes back to the older one (KAFKA-9089)."""


class UnassignedBrokers(enum.IntEnum):
    """Whether a new controller, or one that sees a broker start, has brokers delete a replica that they are not assigned."""

    TOLD = 0
    """It has: no version up to 3.9, except in the migration to KRaft (KIP-866)."""
    NOT_TOLD = 1
    """It has not: the StopReplica of a former controller may never have arrived (up to 3.9)."""


class CountedMembers(enum.IntEnum):
    """Which members of its ISR a leader counts for its high watermark."""

    ISR = 0
    """All: no version up to 3.9; the checker found that it is needed."""
    ASSIGNED = 1
    """Those that its last LeaderAndIsr named as replicas (up to 3.9)."""


class FetchAnswers(enum.IntEnum):
    """Which delayed answers to its fetches a follower takes, if the offset is the one that it waits for."""

    OF_EPOCH = 0
    """Those of its leader epoch: a new one makes its fetcher truncate first (0.11, KIP-101)."""
    OF_OFFSET = 1
    """Any (up to 0.10)."""


class SuffixLoss(enum.IntEnum):
    """When a machine that crashes may lose the end of its log: an assumption about the world, not about Kafka."""

    OUTSIDE_ISR = 0
    """Only if the broker is not in the ISR."""
    OTHERS_HOLD = 1
    """Also in the ISR, while another live member of it holds all of the log."""
    ANY = 2
    """Always: an ISR of one member may lose records that only this member had."""

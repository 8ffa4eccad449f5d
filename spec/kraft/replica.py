"""A broker applies the metadata log: its metadata cache takes an image, then its replica becomes leader or follower.

Several batches may be applied at once, as if the images between had never been. A fenced broker applies images like any other.

Source: Kafka 3.9 BrokerMetadataPublisher.scala, ReplicaManager.applyDelta, Partition.makeLeader, Partition.makeFollower.
"""

from __future__ import annotations

from kafka_spec.spec.brokers import Broker
from kafka_spec.spec.decisions.election import members
from kafka_spec.spec.decisions.fencing import image_is_applied, image_settles_proposal
from kafka_spec.spec.decisions.kraft_variants import AppliedSettings
from kafka_spec.spec.decisions.log import log_ends_are_forgotten
from kafka_spec.spec.decisions.variants import Checked
from kafka_spec.spec.kraft.controller import forget_passed_images
from kafka_spec.spec.kraft.machines import LEADER, NO_ROLE, PROPOSAL, REPLICA_ROLE, SETTLED
from kafka_spec.spec.kraft.settings import least_isr
from kafka_spec.spec.kraft.state import BROKERS, UNKNOWN, FutureLog, KRaft, ProcessLife
from kafka_spec.spec.language.domain import NO_BROKERS, NONE, BrokerSet, append, contains, truncate
from kafka_spec.spec.vocabulary.table import Constants, ItemOf, Rule, fire

ANY_BROKER = {"broker": Broker(BROKERS)}

# ---------------------------------------------------------------------------------------------------------------------
# The high watermark


def note_committed(s: KRaft, leader: int) -> None:
    """Record for the properties what is below a leader's high watermark, unless an unclean election has replaced the leader."""
    leading = s.brokers[leader].replica
    if leading.topic_id == s.controller.partition.topic_id and leading.leader_epoch >= s.history.unclean_epoch:
        for offset in range(len(s.history.committed), leading.high_watermark):
            kept = leading.log[offset]
            append(s.history.committed, record=kept.record, epoch=kept.epoch, topic_id=kept.topic_id)


def raise_high_watermark(s: KRaft, k: Constants, leader: int) -> None:
    """Raise a leader's high watermark to the smallest log end of the maximal ISR; not while the ISR is below min.insync.replicas.

    Kafka 3.9: Partition.maybeIncrementLeaderHW (the limit since 3.7, KAFKA-15583).
    """
    leading = s.brokers[leader].replica
    in_sync = sum(contains(leading.isr, broker) for broker in range(k.brokers))
    assigned = sum(contains(leading.assigned, broker) for broker in range(k.brokers))
    least = least_isr(k, leading.min_isr_changed, assigned)
    if k.high_watermark_needs_min_isr == Checked.NO or in_sync >= least:
        reached = len(leading.log)
        for member in range(k.brokers):
            if member != leader and contains(leading.isr | leading.proposed, member) == 1:
                reached = min(reached, leading.ends[member])
        if reached > leading.high_watermark:
            leading.high_watermark = reached
            note_committed(s, leader)


# ---------------------------------------------------------------------------------------------------------------------
# Becoming leader and follower


def settle_proposal(s: KRaft, k: Constants, broker: int) -> None:
    """Drop a pending proposal: the image shows what has become of it."""
    s.brokers[broker].replica.proposed = NO_BROKERS
    if s.brokers[broker].replica.proposal != SETTLED:
        fire(s, k, PROPOSAL, (broker,), "supersede")


def forget_followers(s: KRaft, k: Constants, broker: int, kept: BrokerSet) -> None:
    """Forget what fetches said of the logs and broker epochs of followers, but for those that are kept."""
    for other in range(k.brokers):
        if contains(kept, other) == 0:
            forget_follower(s, broker, other)


def forget_follower(s: KRaft, broker: int, other: int) -> None:
    """Forget what fetches said of a follower's log and broker epoch."""
    s.brokers[broker].replica.ends[other] = UNKNOWN
    s.brokers[broker].replica.fetch_epochs[other] = UNKNOWN


def forget_request(s: KRaft, broker: int) -> None:
    """Forget the proposal that was sent: it is answered, or its answer will never count."""
    truncate(s.brokers[broker].requests, 0)
    s.brokers[broker].handled = 0


def make_leader(s: KRaft, k: Constants, broker: int) -> None:
    """Lead, or continue to lead, with the ISR of the image. A new leader epoch begins at the end of the log.

    Kafka 3.9: Partition.makeLeader.
    """
    if image_settles_proposal(
        s.metadata[s.brokers[broker].image].partition.partition_epoch,
        s.brokers[broker].replica.partition_epoch,
        k.proposal_survives_known_epoch,
    ):
        settle_proposal(s, k, broker)
    partition = s.metadata[s.brokers[broker].image].partition
    mine = s.brokers[broker].replica
    if partition.leader_epoch > mine.leader_epoch:
        mine.epoch_start = len(mine.log)
        led_before = 1 if mine.role == LEADER else 0
        if log_ends_are_forgotten(led_before, k.follower_ends):
            forget_followers(s, k, broker, NO_BROKERS)
    forget_followers(s, k, broker, members(partition.replicas))
    mine.topic_id = partition.topic_id
    mine.assigned = members(partition.replicas)
    mine.leader = broker
    mine.leader_epoch = partition.leader_epoch
    mine.partition_epoch = partition.partition_epoch
    mine.isr = partition.isr
    mine.fetching = 0
    fire(s, k, REPLICA_ROLE, (broker,), "become_leader")
    raise_high_watermark(s, k, broker)


def make_follower(s: KRaft, k: Constants, broker: int) -> None:
    """Follow the leader of the image, or nobody. The fetcher is restarted only in a new leader epoch; nothing is truncated yet.

    A broker that shuts down stops fetching where there is no leader, and where it has left the ISR.
    Kafka 3.9: Partition.makeFollower, ReplicaManager.applyLocalFollowersDelta.
    """
    settle_proposal(s, k, broker)
    partition = s.metadata[s.brokers[broker].image].partition
    mine = s.brokers[broker].replica
    if partition.leader_epoch > mine.leader_epoch:
        mine.fetching = 1 if partition.leader != NONE else 0
    if s.brokers[broker].life == ProcessLife.STOPPING:
        if partition.leader == NONE or contains(partition.isr, broker) == 0:
            mine.fetching = 0
    forget_followers(s, k, broker, NO_BROKERS)
    mine.topic_id = partition.topic_id
    mine.assigned = NO_BROKERS
    mine.leader = partition.leader
    mine.leader_epoch = partition.leader_epoch
    mine.partition_epoch = partition.partition_epoch
    mine.isr = NO_BROKERS
    mine.epoch_start = 0
    fire(s, k, REPLICA_ROLE, (broker,), "become_follower")


def stop_replica(s: KRaft, k: Constants, broker: int) -> None:
    """Forget what is not on disk: the replica neither leads nor follows."""
    mine = s.brokers[broker].replica
    mine.leader = NONE
    mine.leader_epoch = UNKNOWN
    mine.partition_epoch = UNKNOWN
    mine.assigned = NO_BROKERS
    mine.isr = NO_BROKERS
    mine.proposed = NO_BROKERS
    mine.epoch_start = 0
    mine.fetching = 0
    mine.min_isr_changed = 0
    forget_followers(s, k, broker, NO_BROKERS)
    fire(s, k, REPLICA_ROLE, (broker,), "stop")
    fire(s, k, PROPOSAL, (broker,), "stop")


def forget_copy(s: KRaft, broker: int) -> None:
    """There is no future log any more."""
    s.brokers[broker].copy = FutureLog.NONE
    s.brokers[broker].copied = 0


def delete_log(s: KRaft, broker: int) -> None:
    """Delete the log of a replica, with its topic id and its high watermark, and its future log."""
    forget_copy(s, broker)
    s.brokers[broker].replica.topic_id = UNKNOWN
    s.brokers[broker].replica.high_watermark = 0
    truncate(s.brokers[broker].replica.log, 0)


def is_replica(s: KRaft, broker: int) -> bool:
    """The broker is a replica by its image."""
    return contains(members(s.metadata[s.brokers[broker].image].partition.replicas), broker) == 1


def replica_is_not_assigned(s: KRaft, k: Constants, broker: int) -> bool:
    """The broker has a replica of a topic that its image does not have, or that it is not assigned (3.0, KAFKA-13198)."""
    mine = s.brokers[broker].replica
    if mine.topic_id == UNKNOWN:
        return False
    if mine.topic_id != s.metadata[s.brokers[broker].image].partition.topic_id:
        return True
    return k.removed_replica_deleted == Checked.YES and not is_replica(s, broker)


def take_settings(s: KRaft, broker: int) -> None:
    """Give the log of a replica the topic's settings, as the image has them."""
    if is_replica(s, broker):
        s.brokers[broker].replica.min_isr_changed = s.metadata[s.brokers[broker].image].partition.min_isr_changed


def apply_image(s: KRaft, k: Constants, broker: int) -> None:
    """Apply the partition of the broker's image, unless the replica has it, or newer, already.

    A replica that is not assigned is deleted first. The same partition epoch is applied again, since the answer to a proposal may
    have reported it (KAFKA-13790). Where the partition did not change between two images, nothing happens. A log that is created
    or opened has the settings of the image; one that exists gets them afterwards (DynamicConfigPublisher). A replica whose
    directory has failed stays offline.
    Kafka 3.9: TopicDelta.localChanges, ReplicaManager.applyDelta.
    """
    s.brokers[broker].applying = 0
    if s.brokers[broker].directory_failed == 1:
        return
    if replica_is_not_assigned(s, k, broker):
        stop_replica(s, k, broker)
        delete_log(s, broker)
    if k.settings_applied == AppliedSettings.WITH_REPLICA or s.brokers[broker].replica.role == NO_ROLE:
        take_settings(s, broker)
    partition = s.metadata[s.brokers[broker].image].partition
    if is_replica(s, broker) and image_is_applied(
        partition.partition_epoch, s.brokers[broker].replica.partition_epoch, k.equal_partition_epoch_applied
    ):
        if partition.leader == broker:
            make_leader(s, k, broker)
        else:
            make_follower(s, k, broker)


# ---------------------------------------------------------------------------------------------------------------------
# Rules


def broker_runs(s: KRaft, broker: int) -> bool:
    """The broker's process runs."""
    return s.brokers[broker].life != ProcessLife.DOWN


def broker_is_up(s: KRaft, broker: int) -> bool:
    """The broker runs, and does not ask to shut down."""
    return s.brokers[broker].life == ProcessLife.UP


def cache_is_not_ahead(s: KRaft, broker: int) -> bool:
    """The broker has finished applying its image."""
    return s.brokers[broker].applying == 0


def settings_are_outdated(s: KRaft, broker: int) -> bool:
    """The broker's replica follows its image, and its log does not have the topic's settings of that image."""
    mine = s.brokers[broker].replica
    if s.brokers[broker].applying == 1 or mine.role == NO_ROLE or not is_replica(s, broker):
        return False
    return mine.min_isr_changed != s.metadata[s.brokers[broker].image].partition.min_isr_changed


def settings_are_current(s: KRaft, broker: int) -> bool:
    """The log of the broker's replica has the topic's settings of the broker's image."""
    return not settings_are_outdated(s, broker)


def image_is_newer(s: KRaft, broker: int, image: int) -> bool:
    """The image is newer than the broker's."""
    return image > s.brokers[broker].image


def partition_differs(s: KRaft, broker: int, image: int) -> bool:
    """The partition of the image is not that of the broker's image."""
    old, new = s.metadata[s.brokers[broker].image].partition, s.metadata[image].partition
    return new.topic_id != old.topic_id or new.partition_epoch != old.partition_epoch


def take_image(s: KRaft, k: Constants, broker: int, image: int) -> None:
    """Replace the metadata cache by the image; apply the partition if it has changed, at once or in a step of its own."""
    changed = 1 if partition_differs(s, broker, image) else 0
    s.brokers[broker].image = image
    if changed == 1:
        s.brokers[broker].applying = 1
        if k.cache_ahead == 0:
            apply_image(s, k, broker)
    forget_passed_images(s, k)


TAKE_IMAGE = Rule(
    "TakeImage",
    actor="{broker}",
    params={**ANY_BROKER, "image": ItemOf("metadata", receives=False)},
    guards=(broker_runs, cache_is_not_ahead, settings_are_current, image_is_newer),
    effects=(take_image,),
    summary="{broker} applies the metadata log, up to the image at place {image} of those it has not gone beyond",
    reference="Kafka 3.9 BrokerMetadataPublisher.onMetadataUpdate, ReplicaManager.applyDelta",
)


def cache_is_ahead(s: KRaft, broker: int) -> bool:
    """The broker's metadata cache has an image that its replica does not have yet."""
    return s.brokers[broker].applying == 1


APPLY_IMAGE = Rule(
    "ApplyImage",
    actor="{broker}",
    params=ANY_BROKER,
    guards=(broker_runs, cache_is_ahead),
    effects=(apply_image,),
    summary="the replica of {broker} follows its metadata cache",
    reference="Kafka 3.9 ReplicaManager.applyDelta",
)


def apply_settings(s: KRaft, k: Constants, broker: int) -> None:
    """Give the log the topic's settings. A leader whose min.insync.replicas is smaller now may commit more, in `fixed`."""
    take_settings(s, broker)
    if s.brokers[broker].replica.role == LEADER and k.high_watermark_after_settings == Checked.YES:
        raise_high_watermark(s, k, broker)


APPLY_SETTINGS = Rule(
    "ApplySettings",
    actor="{broker}",
    params=ANY_BROKER,
    guards=(broker_runs, settings_are_outdated),
    effects=(apply_settings,),
    summary="the log of {broker} gets the topic's settings from its metadata cache",
    reference="Kafka 4.3 BrokerMetadataPublisher.onMetadataUpdate, DynamicConfigPublisher, TopicConfigHandler",
)

RULES = (TAKE_IMAGE, APPLY_IMAGE, APPLY_SETTINGS)

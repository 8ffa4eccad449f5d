"""Named bounds: how far to explore, and why. Separate from the rules.

A check is only as good as its bounds: two replicas hide the flaw of kip_279 completely, and kip_320_first_try needs three replicas
and epochs up to 2 to show its flaw. So there are several sets of bounds, and each states its purpose. The first set of a spec is
the default of a check.
"""

from kafka_spec.spec.table import BoundSet


def _replication(name: str, replicas: int, log_size: int, max_records: int, max_leader_epoch: int, why: str) -> BoundSet:
    values = {
        "replicas": replicas,
        "log_size": log_size,
        "max_records": max_records,
        "max_leader_epoch": max_leader_epoch,
    }
    return BoundSet(name, values, why)


REPLICATION = (
    _replication("small", 2, 2, 2, 2, "rejects high_watermark and kip_101 within ten thousand states"),
    _replication("tiny", 2, 1, 1, 1, "rejects high_watermark within a few hundred states; for a first look"),
    _replication("three_replicas", 3, 1, 1, 1, "the smallest that rejects kip_279: its flaw needs a third replica"),
    _replication("three_epochs", 3, 1, 1, 2, "the smallest that rejects kip_320_first_try, in the hundred thousands"),
    _replication("medium", 3, 2, 2, 2, "logs that can diverge in the middle; seven hundred thousand states"),
    _replication("large", 3, 3, 3, 2, "four million states: what a proof of kip_320 should rest on in CI"),
    _replication("huge", 3, 3, 3, 3, "some 65 million states: a quarter of an hour on a desk"),
)
"""The bounds of spec/replication."""

HAPPENINGS = (
    "crashes", "lossy_crashes", "bounces", "expiries", "repeats", "late_fetches", "late_fetch_answers", "lost_replies",
    "isr_shrinks", "controlled_shutdowns", "shutdown_retries", "preferred_elections", "reassignments", "failed_failovers",
    "metadata_repeats", "records", "additions", "rebalances", "unclean_elections", "deletions", "recreations", "deletion_errors",
    "late_stops",
)  # fmt: skip
"""The bounds of the control plane on events of the environment."""


def _control(
    name: str,
    why: str,
    *,
    brokers: int = 2,
    replicas: int = 2,
    partitions: int = 1,
    channel_depth: int = 12,
    settled: int = 1,
    unclean: int = 0,
    min_isr: int = 1,
    no_deletion: int = 0,
    imbalance: int = 10,
    **happens: int,
) -> BoundSet:
    """Return bounds of the control plane; an event that `happens` does not mention has the bound 0."""
    sizes = {"brokers": brokers, "replicas": replicas, "partitions": partitions, "channel_depth": channel_depth}
    values = {
        **sizes,
        "settled": settled,
        "unclean": unclean,
        "min_isr": min_isr,
        "no_deletion": no_deletion,
        "imbalance": imbalance,
    }
    return BoundSet(name, {**values, **dict.fromkeys(HAPPENINGS, 0), **happens}, why)


CONTROL = (
    _control("everyday", "a crash, a bounce and an expiry among two brokers", crashes=1, bounces=1, expiries=1),
    _control("first_look", "nothing fails: a controller, the topic, the first leader", settled=0),
    _control("expiry", "one session expires", expiries=1),
    _control("expiry_at_the_beginning", "a session expires before there is a controller", settled=0, expiries=1),
    _control("bounce", "one bounce", bounces=1),
    _control("bounce_at_the_beginning", "a bounce before there is a controller", settled=0, bounces=1),
    _control("shutdown", "one controlled shutdown", controlled_shutdowns=1),
    _control("lone_replica", "the only replica's broker crashes", replicas=1, crashes=1, unclean=1),
    _control("lossy", "a crash that loses a record", lossy_crashes=1, records=1),
    _control("lone_lossy", "the only replica crashes and loses a record", replicas=1, lossy_crashes=1, records=1),
    _control("lost_reply", "an ISR write without an answer", isr_shrinks=1, lost_replies=1, records=1),
    _control("lost_request", "a bounce, and a connection that breaks", bounces=1, repeats=1),
    _control("crash_and_expiry", "a crash and an expiry", crashes=1, expiries=1),
    _control("old_epochs", "a bounce and a crash around one record", bounces=1, crashes=1, records=1, isr_shrinks=1),
    _control("expired_leader", "a leader loses its session, then its process", crashes=1, expiries=1, records=1, isr_shrinks=1),
    _control("leader_shuts_down", "a leader shuts down while others fail", controlled_shutdowns=1, crashes=1, bounces=1),
    _control(
        "shutdown_again",
        "a leader cannot shut down before another replica is back, and tries again",
        controlled_shutdowns=1,
        shutdown_retries=1,
        bounces=1,
    ),
    _control("failed_failover", "a fail-over that ends with an error", settled=0, crashes=1, expiries=1, failed_failovers=1),
    _control(
        "shutdown_and_zombie",
        "a shutdown, a crash and an expiry",
        channel_depth=16,
        controlled_shutdowns=1,
        crashes=1,
        expiries=1,
    ),
    _control("reassigned", "one reassignment of a lone replica", replicas=1, reassignments=1),
    _control("reassigned_twice", "a reassignment is cancelled or replaced", replicas=1, reassignments=2),
    _control("reassigned_crash", "a reassignment and a crash", replicas=1, reassignments=1, crashes=1),
    _control("reassigned_bounce", "a reassignment and a bounce", replicas=1, reassignments=1, bounces=1),
    _control("reassigned_expiry", "a reassignment by a controller without a session", replicas=1, reassignments=1, expiries=1),
    _control("reassigned_shutdown", "a reassignment and a shutdown", replicas=1, reassignments=1, controlled_shutdowns=1),
    _control("reassigned_repeat", "a reassignment whose requests are sent twice", replicas=1, reassignments=2, repeats=1),
    _control("reassigned_preferred", "a preferred election in a reassignment", replicas=1, reassignments=2, preferred_elections=1),
    _control("reassigned_zombie", "a reassignment, a crash and an expiry", replicas=1, reassignments=1, crashes=1, expiries=1),
    _control("cancelled_crash", "a reassignment is cancelled, and a crash", replicas=1, reassignments=2, crashes=1),
    _control("cancelled_expiry", "two reassignments and an expiry", replicas=1, reassignments=2, expiries=1),
    _control("reassigned_with_shrink", "two replicas, one of which leaves", reassignments=1, isr_shrinks=1, records=1),
    _control("reassigned_records", "a record is written while replicas change", replicas=1, reassignments=1, crashes=1, records=1),
    _control("three_reassigned", "three brokers, a crash", brokers=3, replicas=1, reassignments=1, crashes=1),
    _control("three_moved", "two of three brokers, a crash", brokers=3, replicas=2, reassignments=1, crashes=1),
    _control("partitions_crash", "two partitions, and a crash", partitions=2, crashes=1),
    _control("partitions_zombie", "two partitions, a crash and an expiry", partitions=2, crashes=1, expiries=1),
    _control("partitions_records", "two partitions, a record and a bounce", partitions=2, bounces=1, records=1, isr_shrinks=1),
    _control("partitions_shutdown", "two partitions, and a shutdown", partitions=2, controlled_shutdowns=1),
    _control("partitions_deleted", "a topic of two partitions is deleted", partitions=2, channel_depth=16, deletions=1, expiries=1),
    _control("partitions_planned", "two partitions in one plan", partitions=2, replicas=1, reassignments=1),
    _control("partitions_reassigned", "two partitions, a crash", partitions=2, replicas=1, reassignments=1, crashes=1),
    _control("added", "a partition is added, a crash", partitions=2, additions=1, crashes=1),
    _control("added_from_the_beginning", "added to a topic nobody knows", partitions=2, settled=0, additions=1),
    _control(
        "added_zombie",
        "a partition is added to one of a lone replica, a zombie",
        partitions=2,
        replicas=1,
        additions=1,
        expiries=1,
        crashes=1,
    ),
    _control(
        "added_in_deletion", "a partition is added in a deletion", partitions=2, replicas=1, additions=1, deletions=1, crashes=1
    ),
    _control(
        "added_twice",
        "... and the topic is created again",
        partitions=2,
        replicas=1,
        additions=1,
        deletions=1,
        recreations=1,
        bounces=1,
    ),
    _control("added_reassigned", "added around a reassignment", partitions=2, replicas=1, additions=1, reassignments=1),
    _control("rebalanced", "a leader comes back", partitions=2, rebalances=1, bounces=1),
    _control("rebalanced_late", "two of two are led elsewhere", partitions=2, rebalances=1, crashes=1, imbalance=50),
    _control("rebalanced_reassigned", "a rebalance around a reassignment", rebalances=1, reassignments=1, bounces=1),
    _control(
        "unclean_on_request", "an operator elects from outside the ISR", unclean_elections=1, crashes=1, records=1, isr_shrinks=1
    ),
    _control("deletion_and_reassignment", "a reassigned topic is deleted", replicas=1, reassignments=1, deletions=1, recreations=1),
    _control("deletion_and_reassignment_crash", "... and a crash", replicas=1, reassignments=1, deletions=1, crashes=1),
    _control("deletion_and_reassignment_bounce", "... and a bounce", replicas=1, reassignments=1, deletions=1, bounces=1),
    _control(
        "recreation_of_reassigned",
        "a reassigned topic is deleted and created again, with a bounce and a record",
        replicas=1,
        reassignments=1,
        deletions=1,
        recreations=1,
        bounces=1,
        records=1,
    ),
    _control("preferred", "the preferred leader comes back", controlled_shutdowns=1, preferred_elections=1, expiries=1),
    _control("two_expiries", "two zombies, and a request sent twice", expiries=2, repeats=1),
    _control("late_fetch", "a fetch outlives its sender", late_fetches=1, lossy_crashes=1, crashes=1, records=1, isr_shrinks=1),
    _control("unclean", "unclean election, two records", unclean=1, records=2, crashes=1, bounces=1, isr_shrinks=1),
    _control(
        "lost_answers",
        "old epochs, and an ISR write without an answer",
        bounces=1,
        crashes=1,
        records=1,
        isr_shrinks=1,
        lost_replies=1,
    ),
    _control(
        "unanswered_expansion",
        "a follower joins the ISR without an answer, and leads before the leader tries again",
        settled=2,
        preferred_elections=1,
        records=2,
        isr_shrinks=1,
        lost_replies=1,
    ),
    _control(
        "late_answer",
        "an answer outlives two leader epochs, in which nobody crashes",
        late_fetch_answers=1,
        preferred_elections=1,
        expiries=1,
        records=2,
    ),
    _control(
        "min_isr",
        "min.insync.replicas is 2",
        min_isr=2,
        crashes=1,
        bounces=1,
        records=1,
        isr_shrinks=1,
    ),
    _control(
        "lossy_min_isr",
        "min.insync.replicas is 2, and a machine loses its log",
        min_isr=2,
        lossy_crashes=1,
        records=1,
        isr_shrinks=1,
    ),
    _control(
        "restart_unseen",
        "a restart behind an open channel, and the leader of another partition",
        settled=2,
        records=1,
        bounces=1,
        metadata_repeats=1,
        preferred_elections=1,
    ),
    _control(
        "two_records",
        "two records, a preferred election, and an ISR write without an answer",
        crashes=1,
        preferred_elections=1,
        records=2,
        isr_shrinks=1,
        lost_replies=1,
    ),
    _control("two_records_expired", "two records, and a leader without a session", crashes=1, expiries=1, records=2, isr_shrinks=1),
    _control("log_goals", "two logs that differ, two leaders alone", unclean=1, expiries=1, records=2, isr_shrinks=1),
    _control("unclean_zombie", "unclean election, a zombie", unclean=1, records=1, crashes=1, expiries=1, isr_shrinks=1),
    _control("goals", "from the beginning, with all that the goals need", settled=0, unclean=1, crashes=1, bounces=1, expiries=1),
    _control(
        "records",
        "everyday, a record, and a slow follower",
        channel_depth=16,
        crashes=1,
        bounces=1,
        expiries=1,
        records=1,
        isr_shrinks=1,
    ),
    _control("deletion", "the topic is deleted, and created again", deletions=1, recreations=1),
    _control("deletion_and_expiry", "a zombie in the middle of a deletion", deletions=1, recreations=1, expiries=1),
    _control("deletion_and_crash", "a crash around a deletion, and a record", deletions=1, recreations=1, crashes=1, records=1),
    _control("deletion_and_bounce", "a bounce around a deletion, and a record", deletions=1, recreations=1, bounces=1, records=1),
    _control("deletion_and_shutdown", "a shutdown around a deletion", deletions=1, recreations=1, controlled_shutdowns=1),
    _control("deletion_and_zombie", "a zombie and a crash around it", deletions=1, recreations=1, crashes=1, expiries=1),
    _control("late_stop", "a StopReplica that is processed late", controlled_shutdowns=1, crashes=1, late_stops=1),
    _control("late_stop_of_deletion", "a StopReplica that outlives its topic", deletions=1, recreations=1, late_stops=1),
    _control("deletion_fails", "a broker cannot delete, and a connection is lost", deletions=1, deletion_errors=1, repeats=1),
    _control("deletion_disabled", "delete.topic.enable=false", no_deletion=1, deletions=1, crashes=1),
    _control("deleted_twice", "the topic is deleted twice, and a crash", deletions=2, recreations=1, crashes=1),
    _control("three_deletion", "three replicas, a deletion, a crash", brokers=3, replicas=3, deletions=1, crashes=1),
    _control("three_crash", "three replicas, one crash", brokers=3, replicas=3, crashes=1),
    _control("three_zombie", "three replicas, a crash and an expiry", brokers=3, replicas=3, crashes=1, expiries=1),
    _control("three_bounce", "three replicas, a crash and a bounce", brokers=3, replicas=3, crashes=1, bounces=1),
    _control("three_shutdown", "three replicas, a shutdown, a crash", brokers=3, replicas=3, crashes=1, controlled_shutdowns=1),
    _control(
        "three_everyday",
        "everyday among three replicas: 47 million states",
        brokers=3,
        replicas=3,
        crashes=1,
        bounces=1,
        expiries=1,
    ),
    _control(
        "large",
        "all faults at once among three replicas: no machine completes it, so the families above split it",
        brokers=3,
        replicas=3,
        channel_depth=16,
        crashes=1,
        bounces=1,
        expiries=1,
        repeats=1,
        records=2,
        isr_shrinks=1,
    ),
    _control(
        "re_elected_leader",
        "a preferred election that the leader misses, and a crash",
        brokers=3,
        replicas=3,
        settled=2,
        crashes=1,
        preferred_elections=1,
        records=1,
    ),
    _control("three_records", "three replicas, two records", brokers=3, replicas=3, crashes=1, records=2, isr_shrinks=1),
)
"""The bounds of spec/control: families of scenarios, since all faults at once are too many states for any machine."""


KRAFT_HAPPENINGS = (
    "crashes", "lossy_crashes", "fences", "isr_shrinks", "controlled_shutdowns", "preferred_elections", "unclean_elections",
    "delayed_fetches", "lost_answers", "stale_answers", "re_registrations", "reassignments", "deletions", "recreations",
    "records",
)  # fmt: skip
"""The bounds of KRaft on events of the environment."""


def _kraft(
    name: str,
    why: str,
    *,
    brokers: int = 2,
    min_isr: int = 1,
    isr_size: int = 2,
    spares: int = 0,
    unclean: int = 0,
    lag: int = 12,
    cache_ahead: int = 0,
    **happens: int,
) -> BoundSet:
    """Return bounds of KRaft; an event that `happens` does not mention has the bound 0."""
    values = {
        "brokers": brokers,
        "min_isr": min_isr,
        "isr_size": isr_size,
        "spares": spares,
        "unclean": unclean,
        "lag": lag,
        "cache_ahead": cache_ahead,
    }
    return BoundSet(name, {**values, **dict.fromkeys(KRAFT_HAPPENINGS, 0), **happens}, why)


KRAFT = (
    _kraft("fence", "a running broker is fenced, among two brokers with a record", min_isr=2, fences=1, records=1),
    _kraft("first_look", "nothing fails: the second replica joins the ISR", isr_size=1, records=1),
    _kraft("two_fences", "two fences, two records", min_isr=2, fences=2, records=2),
    _kraft("shrink", "a slow follower, and a crash", crashes=1, isr_shrinks=1, records=1),
    _kraft("stale_answer", "a former controller refuses a proposal", fences=1, stale_answers=1, records=1),
    _kraft("lossy", "a crash that loses a record", min_isr=2, lossy_crashes=1, records=1),
    _kraft("lossy_and_fence", "a crash that loses a record, and a fence", min_isr=2, lossy_crashes=1, fences=1, records=1),
    _kraft("rejoin_lossy", "a replica outside the ISR loses a record while it joins", isr_size=1, lossy_crashes=1, records=1),
    _kraft(
        "answers",
        "a proposal whose member restarts, with answers that are lost or of the past, and a delayed fetch",
        isr_size=1,
        lossy_crashes=1,
        fences=1,
        delayed_fetches=1,
        stale_answers=1,
        lost_answers=1,
        records=1,
    ),
    _kraft("shutdown", "a controlled shutdown, a crash, a record", controlled_shutdowns=1, crashes=1, records=1),
    _kraft("two_shutdowns", "both brokers restart in order", min_isr=2, controlled_shutdowns=2, records=1),
    _kraft("two_crashes", "both brokers crash", min_isr=2, crashes=2, records=1),
    _kraft("two_lossy", "both brokers lose records", min_isr=2, lossy_crashes=2, fences=1, records=1),
    _kraft("fence_and_crash", "a fence and a crash", fences=1, crashes=1, records=1),
    _kraft("registers_again", "a running broker registers again", re_registrations=1, fences=1, records=1),
    _kraft("proposal_dropped", "a slow follower leaves and rejoins, and a fence", isr_shrinks=1, fences=1, records=2),
    _kraft(
        "cache_ahead", "the metadata cache is ahead of the replica", cache_ahead=1, fences=1, isr_shrinks=1, crashes=1, records=1
    ),
    _kraft("unclean", "unclean elections, two records", unclean=1, fences=1, crashes=1, records=2),
    _kraft("unclean_on_request", "an operator elects uncleanly", min_isr=2, unclean_elections=1, crashes=1, fences=1, records=1),
    _kraft("preferred", "the preferred replica leads again", fences=2, preferred_elections=1, records=2),
    _kraft("three_fence", "three replicas, a fence", brokers=3, isr_size=3, min_isr=2, fences=1, records=1),
    _kraft("three_join", "three replicas, of which one joins the ISR, and a fence", brokers=3, min_isr=2, fences=1, records=1),
    _kraft(
        "three_lossy", "three replicas, a crash that loses a record", brokers=3, isr_size=3, min_isr=2, lossy_crashes=1, records=1
    ),
    _kraft(
        "three_all",
        "three replicas that must all be in sync, a fence and a shrink",
        brokers=3,
        isr_size=3,
        min_isr=3,
        fences=1,
        isr_shrinks=1,
        records=1,
    ),
    _kraft(
        "three_shutdown",
        "three replicas, a controlled shutdown",
        brokers=3,
        isr_size=3,
        min_isr=2,
        controlled_shutdowns=1,
        records=1,
    ),
    _kraft(
        "three_lossy_and_fence",
        "three replicas, a crash that loses a record, and a fence: 1.3 million states",
        brokers=3,
        isr_size=3,
        min_isr=2,
        lossy_crashes=1,
        fences=1,
        records=1,
    ),
    _kraft("reassign_and_crash", "a reassignment among two brokers, and a crash", reassignments=1, crashes=1, records=1),
    _kraft(
        "reassign_and_fence", "two reassignments among two brokers, and a fence", min_isr=2, reassignments=2, fences=1, records=1
    ),
    _kraft("reassign_unclean", "reassignments with unclean elections", isr_size=1, unclean=1, reassignments=2, fences=1, records=1),
    _kraft(
        "cancel",
        "a reassignment to one more broker, which is cancelled, with unclean elections",
        spares=1,
        isr_size=1,
        unclean=1,
        reassignments=2,
        fences=1,
        records=1,
    ),
    _kraft(
        "three_cancel",
        "a reassignment to two more brokers, which is cancelled, with unclean elections",
        brokers=3,
        spares=2,
        isr_size=1,
        unclean=1,
        reassignments=2,
        fences=1,
        records=1,
    ),
    _kraft(
        "cancel_below_min_isr",
        "a reassignment that adds a broker while a replica is behind, which is cancelled",
        brokers=3,
        spares=1,
        isr_size=1,
        min_isr=2,
        reassignments=2,
    ),
    _kraft("three_reassign", "two reassignments among three brokers", brokers=3, spares=1, min_isr=2, reassignments=2, records=1),
    _kraft(
        "three_reassign_and_crash",
        "a reassignment among three brokers, and a crash",
        brokers=3,
        spares=1,
        min_isr=2,
        reassignments=1,
        crashes=1,
        records=1,
    ),
    _kraft(
        "three_reassign_and_fence",
        "a reassignment among three brokers, and a fence",
        brokers=3,
        spares=1,
        min_isr=2,
        reassignments=1,
        fences=1,
        records=1,
    ),
    _kraft(
        "three_behind",
        "a reassignment of three replicas, of which one is not in sync",
        brokers=3,
        min_isr=2,
        reassignments=1,
        records=1,
    ),
    _kraft(
        "delete_and_crash", "a topic is deleted and created again, and a crash", deletions=1, recreations=1, crashes=1, records=1
    ),
    _kraft(
        "delete_and_fence",
        "a topic is deleted and created again while a broker is fenced",
        isr_size=1,
        deletions=1,
        recreations=1,
        fences=1,
        records=2,
    ),
    _kraft(
        "delete_and_reassign",
        "a topic is reassigned, deleted and created again",
        reassignments=1,
        deletions=1,
        recreations=1,
        records=1,
    ),
)
"""The bounds of spec/kraft: families of scenarios."""


def _public(
    name: str, why: str, *, brokers: int = 2, min_isr: int = 1, isr_size: int = 1, losses: int = 0, fences: int = 0
) -> BoundSet:
    """Return bounds of the public model; one value, no shrinks of a leader."""
    sizes = {"brokers": brokers, "values": 1, "min_isr": min_isr, "isr_size": isr_size}
    limits = {"losses": losses, "fences": fences, "shrinks": 0, "metadata": 16, "in_flight": 10, "processed": 40}
    return BoundSet(name, {**sizes, **limits}, why)


PUBLIC_KRAFT = (
    _public("a1", "no fault: one replica joins the ISR"),
    _public("a2", "one fence", isr_size=2, fences=1),
    _public("a3", "one broker loses its log", isr_size=2, losses=1),
    _public("c4b", "one replica starts outside the ISR, and one broker loses its log", losses=1),
    _public("c5b", "one replica starts outside the ISR, and one fence", fences=1),
    _public("c1", "min.insync.replicas 2, one fence, one broker loses its log", isr_size=2, min_isr=2, losses=1, fences=1),
    _public("f1", "min.insync.replicas 2, one broker loses its log", isr_size=2, min_isr=2, losses=1),
    _public("e3", "three brokers, no fault", brokers=3, isr_size=2, min_isr=2),
)
"""The constants of runs of TLC on the public model, by the names in tests/oracles."""

"""The named decisions of KRaft, as values of `k`: the differences between eras of Kafka, and the bugs.

partition_change.py takes most of them as arguments. The first member of each is the value in `fixed`. Each member states the
versions of Kafka that it applies to.
"""

from __future__ import annotations

import enum


class BumpOnShrink(enum.IntEnum):
    """Which shrinks of the ISR raise the leader epoch."""

    NONE = 0
    """None: at metadata version 3.6-IV0 and later (KAFKA-15021)."""
    WRITTEN = 1
    """Before that version, those that are written (releases from 3.8 on)."""
    WANTED = 2
    """Before that version, those that are asked for, even where the last member stays (up to 3.7)."""


class LastKnownLeader(enum.IntEnum):
    """When the controller of KRaft remembers the last leader of a partition without one (KIP-966)."""

    WHEN_NO_LEADER = 0
    """When the leader is removed and none is remembered yet, until another is elected (4.1.1)."""
    WHEN_ISR_EMPTIES = 1
    """When the ISR becomes empty, whoever leads then, even nobody (4.0.0 to 4.1.0)."""


class ReassignmentCompletion(enum.IntEnum):
    """When the controller of KRaft completes a reassignment."""

    ALL_IN_ISR = 0
    """When all replicas of the target are in the ISR (3.8 to 4.2, KAFKA-15665)."""
    ADDED_IN_ISR = 1
    """When the replicas that are added are (up to 3.7)."""
    ADDED_IF_MANY = 2
    """When those that are added are, if they are as many as those that are removed; otherwise all (4.3, KAFKA-19975)."""


class ReassignmentLists(enum.IntEnum):
    """What the lists of added and removed replicas hold after a request to reassign, while another reassignment runs."""

    ACCUMULATED = 0
    """All that were added since the origin, and all that the new target does not name. No version does it; the checker found it."""
    KEPT_IF_EMPTY = 1
    """What the request alone adds to and removes from the present replicas; an empty list is not written (up to 4.4)."""


class EmptiedIsr(enum.IntEnum):
    """What becomes of a request to cancel a reassignment, when all ISR members are replicas that it adds."""

    REFUSED = 0
    """It is refused. No version does it where the topic allows unclean elections; the checker found it."""
    FIRST_REPLICA = 1
    """If the topic allows unclean elections, the first replica becomes the ISR, as if it held all records (up to 4.4)."""


class StrayReplicas(enum.IntEnum):
    """What a broker that starts does with the replica of a topic that is gone, or that it is not assigned."""

    DELETED_FIRST = 0
    """It deletes it before it applies the metadata (3.7, KAFKA-14616)."""
    DELETED_LAST = 1
    """Afterwards: where a topic of the same name exists, its new replica cannot be created until the next start (up to 3.6)."""
    OTHERS_DELETED = 2
    """It deletes those that it is assigned (before 3.0, KAFKA-13127)."""


class NewIncarnation(enum.IntEnum):
    """What a registration of a restarted broker does to the ISR of its partitions."""

    LEAVES_ISR = 0
    """The broker leaves it (4.0, KAFKA-18106)."""
    STAYS = 1
    """Nothing: the broker stays in an ISR that names it (up to 3.9)."""


class AppliedSettings(enum.IntEnum):
    """When the log of a replica gets the topic's settings of a delta that changes its partition too."""

    WITH_REPLICA = 0
    """In one step with its replica. No version does it; the checker found it."""
    AFTER_REPLICA = 1
    """Once the replicas of the broker have followed the delta (up to 4.4)."""
